"""One body on a reduced basis, for what follows its motion in time: a spin-up, a swing.

The matrices of an instant are combinations of fixed ones, which are projected once. The basis is
that of a sweep (modal/reduction/reducer.py), trained on instants of the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.projection import projections
from modal.reduction.reduced_motion import ReducedMotion
from modal.reduction.reducer import Reducer
from modal.reduction.residuals import dual_squares, sketched
from modal.types import Array

PROBED = 3  # instants whose matrices tell whether they share their operators


class BodyMotion(ReducedMotion):
    """A model whose instants are combinations of fixed operators, on a basis V (n, r)."""

    def __init__(
        self, freeze: Callable[[float], FrozenSystem], reducer: Reducer, period: float | None
    ) -> None:
        self._freeze, self._period = freeze, period
        self._family, self._basis = reducer.family, reducer.basis
        self._reference = reducer.reference
        found = reducer.projected  # without the operators that other motions of the basis brought
        # By operator: VᵀA_jV (J, r, r), and the sketches Θ A_j V and Ξ A_j V (J, 2, p, r).
        self._matrices = found.matrices
        self._sketches = found.sketches
        r = found.size
        self._pattern = Pattern(r, np.tile(np.arange(r), r), np.arange(0, r * r + 1, r))
        self._description = f"reduced basis of {r} vectors, accuracy {reducer.tolerance:g}"

    @property
    def period(self) -> float | None:
        """Period of the motion, s."""
        return self._period

    @property
    def description(self) -> str:
        """The size of the basis."""
        return self._description

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """The frozen systems of the reduced model at several times, s."""
        at = np.atleast_1d(np.asarray(times, dtype=float))
        loads, rows, rigid = np.zeros((len(at), self._pattern.shape[0])), [], []
        for p, t in enumerate(at.tolist()):
            system = self._frozen(t)
            rows.append({name: self._family.row(system, (name,)) for name in PARTS})
            loads[p] = self.forces(system.Q)
            rigid.append(self.coordinates(system.rigid))
        flat = self._matrices.reshape(len(self._matrices), -1)
        values = {}
        for name in PARTS:
            table = multipliers([row[name] for row in rows], len(flat))
            if np.any(table):
                values[name] = table @ flat
        return FrozenSeries(at, self._pattern, values, loads, tuple(rigid))

    def _frozen(self, t: float) -> FrozenSystem:
        """The full system at t, whose operators are projected if they are new."""
        system = self._freeze(t)
        family, known = self._family, len(self._matrices)
        family.register(system)
        if len(family.terms) > known:
            basis, Z = self._basis, self._basis.rotation
            V = basis.columns.V
            new = projections(family.terms[known:], (V, basis.theta, basis.xi), V)
            matrices = np.stack([Z.T @ parts[0] @ Z for parts in new])
            sketches = np.stack([np.stack(parts[1:]) @ Z for parts in new])
            self._matrices = np.concatenate([self._matrices, matrices])
            self._sketches = np.concatenate([self._sketches, sketches])
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

    def missing(
        self, times: Array, q: Inexact, v: Inexact, a: Inexact, f: Array | None = None
    ) -> tuple[Array, Array]:
        """The size of what the basis misses, (P, k) each: in the energy norm, √J, and in the norm
        of the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, r, k); f: forces
        on the full model (P, n, k)."""
        systems = [self._frozen(float(t)) for t in times]
        rows = ([self._family.row(system, names) for system in systems] for names in ROLES)
        at = Coefficients(*(multipliers(row, len(self._sketches)) for row in rows))
        residual = sketched(self._sketches, at, (a, v, q))
        if f is not None:
            residual = np.asarray(residual - self._basis.sketches @ f[:, None])
        return UNDERESTIMATE * np.sqrt(dual_squares(residual)), UNDERESTIMATE * np.linalg.norm(
            residual[:, 0], axis=1
        )

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return self._reference.round_off(sizes)


def body_reducer(
    freeze: Callable[[Point], FrozenSystem],
    points: Sequence[Point],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
    free: bool = False,
) -> Reducer | None:
    """The reducer of a model trained on some of its instants, without its factorization.

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
    reducer = Reducer(family, at.padded(len(family.terms)), k, accuracy)
    try:
        reducer.basis.include(np.column_stack([family.rigid, *shapes]))
        if len(forces):
            reducer.basis.grow(np.stack(forces, axis=1))
        reducer.projected = reducer.basis.projected()
        if not reducer.train(at):
            raise AccuracyError("reduced basis: an error bound stays too large along the motion")
    finally:
        reducer.destroy()
    return reducer
