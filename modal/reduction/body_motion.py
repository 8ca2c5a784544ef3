"""One body on a reduced basis, for what follows its motion in time: a spin-up, a swing.

The matrices of an instant are combinations of fixed ones, which are projected once. The basis is
that of a sweep (modal/reduction/body_space.py), trained on instants of the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import AccuracyError
from assembly.linalg.combination import Pattern
from assembly.system.frozen import PARTS, FrozenSystem
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.affine import (
    ROLES,
    AffineFamily,
    Coefficients,
    Point,
    multipliers,
    shares_operators,
)
from modal.reduction.body_space import BodySpace
from modal.reduction.instants import BodyInstants
from modal.reduction.projection import projections
from modal.reduction.reduced_motion import ReducedMotion
from modal.types import Array

PROBED = 3  # instants whose matrices tell whether they share their operators


class BodyMotion(ReducedMotion):
    """A model whose instants are combinations of fixed operators, on a basis V (n, r)."""

    space: BodySpace

    def __init__(
        self, freeze: Callable[[float], FrozenSystem], space: BodySpace, period: float | None
    ) -> None:
        super().__init__(space, period)
        self._freeze, self._basis = freeze, space.basis
        self._projected = space.projected  # without operators that other motions brought
        r = self._projected.size
        self._pattern = Pattern(r, np.tile(np.arange(r), r), np.arange(0, r * r + 1, r))

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """The frozen systems of the reduced model at several times, s."""
        at = np.atleast_1d(np.asarray(times, dtype=float))
        loads, rows, rigid = np.zeros((len(at), self._pattern.shape[0])), [], []
        for p, t in enumerate(at.tolist()):
            system = self._frozen(t)
            rows.append({name: self.space.family.row(system, (name,)) for name in PARTS})
            loads[p] = self.forces(system.Q)
            rigid.append(self.coordinates(system.rigid))
        flat = self._projected.matrices.reshape(len(self._projected.matrices), -1)
        values = {}
        for name in PARTS:
            table = multipliers([row[name] for row in rows], len(flat))
            if np.any(table):
                values[name] = table @ flat
        return FrozenSeries(at, self._pattern, values, loads, tuple(rigid))

    def _frozen(self, t: float) -> FrozenSystem:
        """The full system at t, whose operators are projected if they are new."""
        system, projected = self._freeze(t), self._projected
        family, known = self.space.family, len(projected.matrices)
        family.register(system)
        if len(family.terms) > known:
            basis, Z = self._basis, self._basis.rotation
            new = projections(family.terms[known:], (basis.V, basis.theta, basis.xi), basis.V)
            matrices = np.stack([Z.T @ parts[0] @ Z for parts in new])
            sketches = np.stack([np.stack(parts[1:]) @ Z for parts in new])
            self._projected = replace(
                projected,
                matrices=np.concatenate([projected.matrices, matrices]),
                sketches=np.concatenate([projected.sketches, sketches]),
            )
        return system

    def lift(self, q: Inexact) -> Inexact:
        """DOFs (n, ...) of the full model."""
        return self._basis.lift(q)

    def coordinates(self, q: Array) -> Array:
        """Coordinates (r, ...) of shapes (n, ...): the M-orthogonal projection."""
        return np.asarray(self._basis.rotation.T @ (self._basis.columns.MV.T @ q))

    def forces(self, f: Array) -> Array:
        """Vᵀf (r, ...) of generalised forces (n, ...)."""
        return np.asarray(self._basis.rotation.T @ (self._basis.columns.V.T @ f))

    def instants(self, times: Array) -> BodyInstants:
        """The motion at times, s."""
        systems = [self._frozen(float(t)) for t in times]
        rows = ([self.space.family.row(system, names) for system in systems] for names in ROLES)
        table = [multipliers(row, len(self._projected.matrices)) for row in rows]
        return BodyInstants(self._projected, Coefficients(np.array(table)))

    def on_parts(self, f: Array) -> dict[str, Array]:
        """The body is its one part."""
        return {BodyInstants.name: f}


def body_space(
    freeze: Callable[[Point], FrozenSystem],
    points: Sequence[Point],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
    free: bool = False,
) -> BodySpace | None:
    """The space of a model trained on some of its instants, without its factorization.

    shapes (n,): contained in the basis; forces (n,): whose static responses are. None of a model
    whose instants do not share their operators, or that is free to move unless `free`. Raises
    AccuracyError when the basis cannot be made accurate enough.
    """
    if not shares_operators(freeze, points[:: max(1, len(points) // PROBED)]):
        return None
    family = AffineFamily(freeze, points[0])
    at = family.coefficients(points)
    if family.rigid.shape[1] and not free:
        return None
    space = BodySpace(family, at.padded(len(family.terms)), k, accuracy)
    try:
        space.basis.include(np.column_stack([family.rigid, *shapes]))
        if len(forces):
            space.basis.grow(np.stack(forces, axis=1))
        space.refresh()
        if space.worst(space.train(at)) > 1.0:
            raise AccuracyError("reduced basis: an error bound stays too large along the motion")
    finally:
        space.destroy()
    return space
