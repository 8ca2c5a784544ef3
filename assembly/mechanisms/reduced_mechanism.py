"""A mechanism whose large bodies are replaced by reduced ones: the same motion, few coordinates.

Joints, drivers, loads, closure and reactions are those of the full mechanism, and the same
displacements are eliminated at the joints. Its frozen systems are the Galerkin projections
WᵀM_rW, WᵀC_rW, WᵀK_rW of those of the full one, W constant, at every instant and exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.linalg as la

from assembly.bodies.body import Body
from assembly.bodies.reduced import ReducedBody
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.mechanism import Mechanism
from assembly.mechanisms.reactions import InverseDynamics
from assembly.mechanisms.transformation import Partition
from assembly.types import Array, Index, Inexact


class ReducedMechanism(Mechanism):
    """A mechanism with reduced bodies in place of some.

    full: the mechanism. links: reduced bodies by name, whose `slaves` are those of `like` where
    drivers are held as `driven` says. like: a mechanism of the same bodies and joints, by default
    `full` itself; joints eliminate the DOFs that they eliminate in it.
    """

    def __init__(
        self,
        full: Mechanism,
        links: Mapping[str, ReducedBody],
        driven: bool | None = None,
        like: Mechanism | None = None,
    ) -> None:
        bodies: dict[str, Body] = {**full.bodies, **links}
        applied = replace(full.topology.applied, bodies=tuple(bodies.values()))
        self.topology = replace(full.topology, bodies=bodies, applied=applied)
        self.full, self.bodies, self.name, self.gravity = full, bodies, full.name, full.gravity
        self.closure = full.closure
        self.dynamics = InverseDynamics(self.topology, self.closure, self.gravity)
        self._preferred = {}
        elastic = (full if like is None else like).elastic(driven)
        self._wide = ElasticReduction(full.topology, elastic.held, elastic.partition, elastic.frame)
        slaves = np.concatenate(
            [
                first + (np.arange(len(own)) if name in links else own)
                for (name, own), first in zip(
                    link_slaves(like or full, driven).items(),
                    self.topology.offsets[:-1],
                    strict=True,
                )
            ]
        )
        found = np.searchsorted(self.topology.touched, np.sort(slaves))
        partition = Partition(found, np.setdiff1d(np.arange(len(self.topology.touched)), found))
        self._reductions = {
            tuple(elastic.held.tolist()): ElasticReduction(
                self.topology, elastic.held, partition, elastic.frame
            )
        }

    def is_large(self, body: str) -> bool:
        """No body is: those that were are reduced."""
        return False

    def coordinates(self, q: Array, driven: bool | None = None) -> Array:
        """Independent DOFs (n, ...) of this mechanism from those of the full one, (N, ...), for
        shapes that its bases contain."""
        own, wide = self.elastic(driven), self._wide
        values = np.zeros((int(self.full.topology.offsets[-1]), *q.shape[1:]))
        values[wide.masters] = q
        parts = []
        for body, part in zip(
            self.bodies.values(), np.split(values, self.full.topology.offsets[1:-1]), strict=True
        ):
            parts.append(body.coordinates(part) if isinstance(body, ReducedBody) else part)
        return np.asarray(np.concatenate(parts)[own.masters])

    def recover(self, t: float, q: Inexact, driven: bool | None = None) -> dict[str, Inexact]:
        """All degrees of freedom of every body of the full mechanism."""
        out = super().recover(t, q, driven)
        links = {n: body for n, body in self.bodies.items() if isinstance(body, ReducedBody)}
        return out | {name: body.lift(out[name]) for name, body in links.items()}

    def lift(self, q: Inexact, driven: bool | None = None) -> Inexact:
        """Independent DOFs of the full mechanism (N, ...) from those of this one, (n, ...)."""
        own, wide = self.elastic(driven), self._wide
        values = np.zeros((int(self.topology.offsets[-1]), *q.shape[1:]), dtype=q.dtype)
        values[own.masters] = q
        parts = np.split(values, self.topology.offsets[1:-1])
        whole = [
            body.lift(part) if isinstance(body, ReducedBody) else part
            for body, part in zip(self.bodies.values(), parts, strict=True)
        ]
        return np.asarray(np.concatenate(whole)[wide.masters])

    def on_bodies(self, f: Array) -> dict[str, Array]:
        """Generalised forces (P, N, k) on the full mechanism over the DOFs of its reduced bodies,
        (P, n, k) each."""
        wide, offsets = self._wide, self.full.topology.offsets
        values = np.zeros((len(f), int(offsets[-1]), f.shape[2]))
        values[:, wide.masters] = f
        parts = np.split(values, offsets[1:-1], axis=1)
        links = zip(self.bodies.items(), parts, strict=True)
        return {name: part for (name, body), part in links if isinstance(body, ReducedBody)}

    def forces(self, f: Array, driven: bool | None = None) -> Array:
        """Generalised forces (n,) of those (N,) on the full mechanism: the transpose of `lift`."""
        own, offsets = self.elastic(driven), self.full.topology.offsets
        values = np.zeros(int(offsets[-1]))
        values[self._wide.masters] = f
        parts = [
            body.turn.T @ (body.shapes.T @ part) if isinstance(body, ReducedBody) else part
            for body, part in zip(
                self.bodies.values(), np.split(values, offsets[1:-1]), strict=True
            )
        ]
        return np.asarray(np.concatenate(parts)[own.masters])

    def embedding(self, before: ReducedMechanism) -> Array:
        """Coordinates (n, m) of the shapes of an earlier one, whose bases these contain."""
        own, old = self.elastic(None), before.elastic(None)
        blocks = []
        for name, body in self.bodies.items():
            earlier = before.bodies[name]
            if isinstance(body, ReducedBody) and isinstance(earlier, ReducedBody):
                wide = np.zeros((body.size, earlier.size))
                wide[: earlier.size] = earlier.turn
                blocks.append(np.linalg.solve(body.turn, wide))
            else:
                blocks.append(np.eye(earlier.size))
        whole = la.block_diag(*blocks)
        return np.asarray(whole[np.ix_(own.masters, old.masters)])


def link_slaves(full: Mechanism, driven: bool | None = None) -> dict[str, Index]:
    """The DOFs of every body, by their numbers in it, that joints eliminate."""
    elastic, offsets = full.elastic(driven), full.topology.offsets
    slaves = np.sort(full.topology.touched[elastic.partition.slaves])
    return {
        name: slaves[(slaves >= offsets[i]) & (slaves < offsets[i + 1])] - offsets[i]
        for i, name in enumerate(full.bodies)
    }
