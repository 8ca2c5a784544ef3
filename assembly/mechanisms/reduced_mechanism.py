"""A mechanism whose large bodies are replaced by reduced ones: the same motion, few coordinates.

Joints, drivers, loads, closure and reactions are those of the full mechanism, and the same
displacements are eliminated at the joints. Its frozen systems are the Galerkin projections
WᵀM_rW, WᵀC_rW, WᵀK_rW of those of the full one, W constant, at every instant and exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.bodies.body import Body
from assembly.bodies.reduced import ReducedBody
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.mechanism import Mechanism
from assembly.mechanisms.reactions import InverseDynamics
from assembly.mechanisms.topology import Topology
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
        self.topology = full.topology.with_bodies(bodies)
        self.full, self.bodies, self.name, self.gravity = full, bodies, full.name, full.gravity
        self.closure = full.closure
        self.dynamics = InverseDynamics(self.topology, self.closure, self.gravity)
        self._preferred = {}
        elastic = (full if like is None else like).elastic(driven)
        self._wide = ElasticReduction(full.topology, elastic.held, elastic.partition, elastic.frame)
        gone = link_slaves(like or full, driven).items()
        each = zip(gone, self.topology.offsets[:-1], strict=True)
        slaves = np.concatenate(
            [first + (np.arange(len(own)) if name in links else own) for (name, own), first in each]
        )
        found = np.searchsorted(self.topology.touched, np.sort(slaves))
        partition = Partition(found, np.setdiff1d(np.arange(len(self.topology.touched)), found))
        own_reduction = ElasticReduction(self.topology, elastic.held, partition, elastic.frame)
        self._reductions = {tuple(elastic.held.tolist()): own_reduction}

    def is_large(self, body: str) -> bool:
        """No body is: those that were are reduced."""
        return False

    def coordinates(self, q: Array, driven: bool | None = None) -> Array:
        """Independent DOFs (n, ...) of this mechanism from those of the full one, (N, ...), for
        shapes that its bases contain."""
        found = self._by_body(self.full.topology, self._wide, q, ReducedBody.coordinates)
        return np.asarray(found[self.elastic(driven).masters])

    def lift(self, q: Inexact, driven: bool | None = None) -> Inexact:
        """Independent DOFs of the full mechanism (N, ...) from those of this one, (n, ...)."""
        found = self._by_body(self.topology, self.elastic(driven), q, ReducedBody.lift)
        return np.asarray(found[self._wide.masters])

    def forces(self, f: Array, driven: bool | None = None) -> Array:
        """Generalised forces (n,) of those (N,) on the full mechanism: the transpose of `lift`."""

        def on_coordinates(body: ReducedBody, part: Array) -> Array:
            return np.asarray(body.turn.T @ (body.shapes.T @ part))

        found = self._by_body(self.full.topology, self._wide, f, on_coordinates)
        return np.asarray(found[self.elastic(driven).masters])

    def _by_body(
        self,
        topology: Topology,
        elastic: ElasticReduction,
        x: Inexact,
        convert: Callable[[ReducedBody, Any], Any],
    ) -> Inexact:
        """Values at the independent DOFs (n, ...) of `topology`, those of reduced bodies
        converted, at all DOFs of the other mechanism."""
        values = np.zeros((int(topology.offsets[-1]), *x.shape[1:]), dtype=x.dtype)
        values[elastic.masters] = x
        parts = zip(self.bodies.values(), np.split(values, topology.offsets[1:-1]), strict=True)
        return np.concatenate(
            [convert(body, part) if isinstance(body, ReducedBody) else part for body, part in parts]
        )

    def on_bodies(self, f: Array) -> dict[str, Array]:
        """Generalised forces (P, N, k) on the full mechanism over the DOFs of its reduced bodies,
        (P, n, k) each."""
        offsets = self.full.topology.offsets
        values = np.zeros((len(f), int(offsets[-1]), f.shape[2]))
        values[:, self._wide.masters] = f
        links = zip(self.bodies.items(), np.split(values, offsets[1:-1], axis=1), strict=True)
        return {name: part for (name, body), part in links if isinstance(body, ReducedBody)}

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
