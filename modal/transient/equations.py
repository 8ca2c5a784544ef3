"""The full, unfrozen equations of a model, for the integrators and Floquet analysis.

A model is a `FrozenSystem` (constant coefficients), an object with `freeze(t)` that returns one
(time-varying M, C, K, Q), or a plain callable A(t) for x' = A(t) x, dense.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.arguments import as_numbers
from assembly.errors import InputError, SingularSystemError
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient.step_matrices import OnPattern, SharedPattern
from modal.transient.tolerances import REMEMBERED
from modal.types import Array

CONSERVATIVE_STIFFNESS = tuple(name for name in STIFFNESS_PARTS if name != "K_D")
GROUPS = (("M",), DAMPING_PARTS, STIFFNESS_PARTS, CONSERVATIVE_STIFFNESS)
ROLES = (("M",), ("C",), CONSERVATIVE_STIFFNESS, ("D",), ("K_D",))


class Instant:
    """The matrices of one instant, split for the balance of energy.

    M q̈ + V q̇ + S q = F with V = C + D; S = S_s + S_n, where S_s is the symmetric part of all
    stiffness that a potential can carry and S_n the rest (Euler, circulatory).
    """

    def __init__(self, system: FrozenSystem) -> None:
        self.system = system

    @cached_property
    def M(self) -> Any:
        """The mass matrix."""
        return self.system.M

    @cached_property
    def velocity(self) -> Any:
        """V = C + D."""
        return self.system.damping

    @cached_property
    def stiffness(self) -> Any:
        """S, everything on the displacement."""
        return self.system.stiffness

    @cached_property
    def conservative(self) -> Any:
        """S without the part K_D."""
        return self.system.combined(CONSERVATIVE_STIFFNESS).tocsr()

    @cached_property
    def potential(self) -> Any:
        """S_s."""
        return 0.5 * (self.conservative + self.conservative.T)

    @cached_property
    def coriolis(self) -> Any:
        """C without the damping D."""
        return self.system.C

    @cached_property
    def dissipation(self) -> Any:
        """D."""
        return self.system.D

    @cached_property
    def circulatory(self) -> Any:
        """The part K_D of the stiffness."""
        return self.system.K_D

    @cached_property
    def gyroscopic(self) -> Any:
        """G, half the skew part of C: the momentum is p = M q̇ + G q (docs/theory.md, "Sources":
        Vlase, Nicolescu & Marin 2020, eq. 8)."""
        return 0.25 * (self.coriolis - self.coriolis.T)


class SecondOrderModel:
    """M(t) q̈ + [C(t) + D(t)] q̇ + K(t) q = Q(t) of a model with n degrees of freedom. Instants are
    assembled on demand."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.constant = isinstance(model, FrozenSystem)
        self._freeze = freezer(model)
        self._n: int | None = None
        self._recent = lru_cache(maxsize=REMEMBERED)(self._instant)

    def at(self, t: float) -> Any:
        """The instant at time t, s. Raises InputError when the number of DOFs changes."""
        return self._recent(0.0 if self.constant else t)

    def _instant(self, t: float) -> Instant:
        system = self._freeze(t)
        self._n = self._n or system.n
        if system.n != self._n:
            raise InputError(
                f"model: freeze({t:.6g}) has another number of degrees of freedom than before"
            )
        return Instant(system)

    def several(self, times: Array) -> list[Instant]:
        """The instants at times (P,), s: together where the model can freeze many."""
        if self.constant or not hasattr(self.model, "freeze_many"):
            return [self.at(float(t)) for t in times]
        series = self.model.freeze_many(times)
        return [Instant(series[n]) for n in range(len(times))]

    def first_orders(self, times: Array) -> Array:
        """A at times (P,), dense (P, 2n, 2n)."""
        if self.constant or not hasattr(self.model, "freeze_many"):
            return np.stack([self.first_order(float(t)) for t in times])
        series = self.model.freeze_many(times)
        return dense_state_matrices(series.mass, series.damping, series.stiffness)

    def first_order(self, t: float) -> Array:
        """A(t) = [[0, I], [−M⁻¹K, −M⁻¹(C + D)]], dense (2n, 2n), on x = (q, q̇)."""
        here = self.at(t)
        parts = (A.toarray()[None] for A in (here.M, here.velocity, here.stiffness))
        return np.asarray(dense_state_matrices(*parts)[0])


class TabulatedInstant(Instant):
    """The matrices of one instant on a shared pattern.

    roles: those of ROLES. freeze: the frozen system.
    """

    def __init__(self, roles: Iterable[OnPattern], freeze: Callable[[], FrozenSystem]) -> None:
        self.M, self.coriolis, self.conservative, self.dissipation, self.circulatory = roles
        self._freeze = freeze

    @cached_property
    def system(self) -> FrozenSystem:  # type: ignore[override]
        """The frozen system."""
        return self._freeze()

    @cached_property
    def velocity(self) -> Any:
        """V = C + D."""
        return self.coriolis + self.dissipation

    @cached_property
    def stiffness(self) -> Any:
        """S, everything on the displacement."""
        return self.conservative + self.circulatory


class TabulatedModel(SecondOrderModel):
    """M q̈ + (C + D) q̇ + K q = Q of a motion whose matrices are read off a checked polynomial, on
    one sparsity pattern."""

    def __init__(self, motion: InterpolatedMotion) -> None:
        super().__init__(motion)
        self.motion, self.pattern = motion, SharedPattern(motion.pattern)
        entries = motion.on_entries(*ROLES)
        table = np.zeros((*entries.table.shape[:2], len(self.pattern.rows)))
        table[:, :, self.pattern.places] = entries.table
        self._values = replace(entries, table=table)

    def _instant(self, t: float) -> TabulatedInstant:
        roles = (OnPattern(self.pattern, row) for row in self._values(t))
        return TabulatedInstant(roles, partial(self.motion.freeze, t))


class FirstOrderModel:
    """x' = A(t) x of a plain callable, dense; every value is checked for its shape and
    finiteness."""

    def __init__(self, matrix: Callable[[float], Any], t0: float = 0.0) -> None:
        self._matrix = matrix
        self.n = 0
        self.n = self.first_order(t0).shape[0]

    def first_order(self, t: float) -> Array:
        """A(t), (n, n)."""
        A = as_numbers(self._matrix(float(t)), f"A(t) at t = {t:.6g}")
        size = self.n or (A.shape[0] if A.ndim else 0)
        if A.shape != (size, size) or size == 0:
            raise InputError(f"A(t): expected a square matrix, got shape {A.shape} at t = {t:.6g}")
        if not np.all(np.isfinite(A)):
            raise InputError(f"A(t): has entries that are not finite numbers at t = {t:.6g}")
        return A


def dense_state_matrices(M: Array, V: Array, K: Array) -> Array:
    """[[0, I], [−M⁻¹K, −M⁻¹V]] (P, 2n, 2n) of stacks (P, n, n); SingularSystemError when an M is
    not positive definite."""
    P, n, _ = M.shape
    try:
        np.linalg.cholesky(M)
    except la.LinAlgError:
        raise SingularSystemError(f"the {n}×{n} mass matrix is not positive definite") from None
    # Displacements and rotations differ in size: with a unit diagonal M is well conditioned.
    scale = 1.0 / np.sqrt(np.diagonal(M, axis1=1, axis2=2))[..., None]
    unit = scale * M * scale.swapaxes(1, 2)
    A = np.zeros((P, 2 * n, 2 * n))
    A[:, :n, n:] = np.eye(n)
    A[:, n:] = -scale * np.linalg.solve(unit, scale * np.concatenate([K, V], axis=2))
    return A


def is_second_order(model: Any) -> bool:
    """True for a frozen system or an object with `freeze`; False for a plain callable A(t).

    Raises InputError for anything else.
    """
    if isinstance(model, FrozenSystem) or hasattr(model, "freeze"):
        return True
    if callable(model):
        return False
    raise InputError(
        "model: expected a FrozenSystem, an object with freeze(t), or a callable A(t), "
        f"got {type(model).__name__}"
    )


def instants(model: Any, times: Array) -> list[FrozenSystem | Array]:
    """The frozen systems at times (P,), s, or A(t) of a callable."""
    if is_second_order(model):
        equations = SecondOrderModel(model)
        return [equations.at(float(t)).system for t in times]
    matrices = FirstOrderModel(model, float(times[0]))
    return [matrices.first_order(float(t)) for t in times]


def freezer(model: Any) -> Callable[[float], FrozenSystem]:
    """`model.freeze` as a function of time alone; InputError when it does not take a time."""
    if isinstance(model, FrozenSystem):
        return lambda t: model
    parameters = inspect.signature(model.freeze).parameters.values()
    named = {p.name for p in parameters}
    if "t" in named:
        return lambda t: model.freeze(t=t)
    first = next(iter(parameters), None)
    if first is not None and first.name == "time":
        return lambda t: model.freeze(t)
    raise InputError(
        f"model: {type(model).__name__}.freeze takes no time; give the body a motion, or freeze it "
        "at a constant one and pass the frozen system"
    )
