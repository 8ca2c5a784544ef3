"""The full, unfrozen equations of a model, for the integrators and Floquet analysis.

A model is a `FrozenSystem` (constant coefficients), an object with `freeze(t)` that returns one
(time-varying M, C, K, Q), or a plain callable A(t) for x' = A(t) x, dense.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.arguments import as_numbers
from assembly.errors import InputError, SingularSystemError
from assembly.linalg.combination import within_range
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSeries, FrozenSystem
from modal.eigen.tolerances import EPS, HALF
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import Interpolant, Sampled, SeparatedArrays, one_by_one
from modal.transient.step_matrices import OnPattern, SharedPattern
from modal.transient.tolerances import NEGLIGIBLE, REMEMBERED
from modal.types import Array

CONSERVATIVE_STIFFNESS = tuple(name for name in STIFFNESS_PARTS if name != "K_D")
GROUPS = (("M",), DAMPING_PARTS, STIFFNESS_PARTS, CONSERVATIVE_STIFFNESS)
ROLES = (("M",), ("C",), CONSERVATIVE_STIFFNESS, ("D",), ("K_D",))


class SecondOrderModel:
    """M(t) q̈ + [C(t) + D(t)] q̇ + K(t) q = Q(t) of a model with n degrees of freedom. Instants are
    assembled on demand.

    grid: a time and a distance, s, of instants of which a polynomial gives several at a time.
    """

    grid: tuple[float, float] | None = None

    def __init__(self, model: Any) -> None:
        self.model = model
        self.constant = isinstance(model, FrozenSystem)
        self._freeze = freezer(model)
        self._n: int | None = None
        self._recent = lru_cache(maxsize=REMEMBERED)(self._instant)
        self._potentials = lru_cache(maxsize=REMEMBERED)(lambda t: potential(self.at(t)))

    def at(self, t: float) -> Any:
        """The frozen system at time t, s, or its matrices on a pattern. Raises InputError when the
        number of DOFs changes."""
        return self._recent(0.0 if self.constant else t)

    def system(self, t: float) -> FrozenSystem:
        """The frozen system at time t, s."""
        system: FrozenSystem = self.at(t)
        return system

    def potential(self, t: float) -> Any:
        """The stiffness of the potential at time t, s."""
        return self._potentials(0.0 if self.constant else t)

    def _instant(self, t: float) -> Any:
        system = self._freeze(t)
        self._n = self._n or system.n
        if system.n != self._n:
            raise InputError(
                f"model: freeze({t:.6g}) has another number of degrees of freedom than before"
            )
        return system

    def several(self, times: Array) -> list[FrozenSystem]:
        """The frozen systems at times (P,), s: together where the model can freeze many."""
        if self.constant or not hasattr(self.model, "freeze_many"):
            return [self.at(float(t)) for t in times]
        series = self.model.freeze_many(times)
        return [series[n] for n in range(len(times))]

    def matrices(self, times: Array) -> list[Array]:
        """M, C + D and all stiffness at times (P,), dense (P, n, n) each."""
        if not self.constant and hasattr(self.model, "freeze_many"):
            series = self.model.freeze_many(times)
        else:
            series = FrozenSeries.of(self.several(times), times)
        found = [series.mass, series.damping, series.stiffness]
        for name, stack in zip(("M", "C + D", "K"), found, strict=True):
            largest = int(np.abs(stack).max(axis=(1, 2)).argmax())
            within_range(sp.csr_matrix(stack[largest]), name)
        return found

    def first_orders(self, times: Array) -> Array:
        """A at times (P,), dense (P, 2n, 2n)."""
        return dense_state_matrices(*self.matrices(times))

    def first_order(self, t: float) -> Array:
        """A(t) = [[0, I], [−M⁻¹K, −M⁻¹(C + D)]], dense (2n, 2n), on x = (q, q̇)."""
        here = self.at(t)
        parts = (A.toarray()[None] for A in (here.M, here.damping, here.stiffness))
        return np.asarray(dense_state_matrices(*parts)[0])


@dataclass(frozen=True)
class TabulatedInstant:
    """Matrices of one instant on a shared pattern, by the names of a frozen system; all stiffness
    but K_D is `conservative`."""

    M: OnPattern
    C: OnPattern
    conservative: OnPattern
    D: OnPattern
    K_D: OnPattern

    @cached_property
    def damping(self) -> OnPattern:
        """C + D."""
        return self.C + self.D

    @cached_property
    def stiffness(self) -> OnPattern:
        """Everything on the displacement."""
        return self.conservative + self.K_D


class TabulatedModel(SecondOrderModel):
    """M q̈ + (C + D) q̇ + K q = Q of a motion whose matrices are read off a checked polynomial, on
    one sparsity pattern."""

    def __init__(self, motion: InterpolatedMotion) -> None:
        super().__init__(motion)
        self.motion = motion
        entries, self.pattern = on_pattern(motion, *ROLES)
        self._values = SeparatedArrays(entries)
        self._systems = lru_cache(maxsize=REMEMBERED)(motion.freeze)
        self._together = lru_cache(maxsize=2)(self._block)

    def system(self, t: float) -> FrozenSystem:
        """The frozen system at time t, s."""
        return self._systems(t)

    def at(self, t: float) -> TabulatedInstant:
        if self.grid is not None:
            place = (t - self.grid[0]) / self.grid[1]
            if abs(place - round(place)) <= NEGLIGIBLE:
                block, number = divmod(round(place), REMEMBERED)
                return self._together(block)[number]
        found: TabulatedInstant = super().at(t)
        return found

    def _instant(self, t: float) -> TabulatedInstant:
        return self._on([part[0] for part in self._values.many(np.array([t]))])

    def _block(self, number: int) -> list[TabulatedInstant]:
        """The instants of so many places of the grid as are kept."""
        start, distance = self.grid or (0.0, 0.0)
        times = start + distance * (number * REMEMBERED + np.arange(REMEMBERED))
        return [self._on(row) for row in zip(*self._values.many(times), strict=True)]

    def _on(self, values: Sequence[Array]) -> TabulatedInstant:
        """values: of each role, (entries,)."""
        return TabulatedInstant(*(OnPattern(self.pattern, part) for part in values))


def on_pattern(
    motion: InterpolatedMotion, *groups: tuple[str, ...]
) -> tuple[Interpolant, SharedPattern]:
    """The sums of named parts over a motion, as values on a symmetric pattern."""
    entries, pattern = motion.on_entries(*groups), SharedPattern(motion.pattern)
    table = np.zeros((*entries.table.shape[:2], len(pattern.rows)))
    table[:, :, pattern.places] = entries.table
    return replace(entries, table=table), pattern


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


def potential(here: FrozenSystem | TabulatedInstant) -> Any:
    """The symmetric part of the stiffness without K_D, which a potential can carry. The rest of the
    stiffness, Euler and circulatory, does work."""
    S: Any
    if isinstance(here, TabulatedInstant):
        S = here.conservative
    else:
        S = here.combined(CONSERVATIVE_STIFFNESS).tocsr()
    return 0.5 * (S + S.T)


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
        return [equations.at(float(t)) for t in times]
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


Matrix = Callable[[float], Array]


@dataclass(frozen=True)
class Balanced:
    """L A(t) L⁻¹ with a constant L (N, N), `root`, and its inverse; many(times) at times (m,) is
    (m, N, N).

    Displacements and velocities become comparable; eigenvalues do not change.
    """

    many: Sampled
    root: Array
    inverse: Array

    @classmethod
    def diagonal(cls, matrix: Matrix, t: float) -> Balanced:
        """Scaled by the powers of two that balance A(t)."""
        values = np.asarray(matrix(t), dtype=float)
        _, (scale, _) = la.matrix_balance(values, permute=False, separate=True)
        return cls._of(matrix, np.diag(1.0 / scale), np.diag(scale))

    @classmethod
    def energy(cls, matrix: Matrix, here: FrozenSystem) -> Balanced:
        """In the coordinates whose 2-norm is the energy of an instant: A of an undamped model is
        nearly skew there, and its propagation nearly orthogonal. Half of the digits of soft shapes
        are free of the round-off of stiff ones."""
        root = energy_root(here.M.toarray(), potential(here).toarray(), HALF)
        return cls._of(matrix, root, la.inv(root))

    @classmethod
    def _of(cls, matrix: Matrix, root: Array, inverse: Array) -> Balanced:
        # The table of a polynomial is transformed once, other matrices at every evaluation.
        if isinstance(matrix, Interpolant):
            return cls(matrix.mapped(root, inverse).many, root, inverse)
        return cls(one_by_one(lambda t: root @ matrix(t) @ inverse), root, inverse)


def energy_root(M: Array, S: Array, softest: float = EPS) -> Array:
    """A square root L (2n, 2n) of the energy of an instant on x = (q, q̇): ‖L x‖² is twice it.

    |S|, the absolute value of the symmetric stiffness, makes it a norm beyond a divergence too;
    eigenvalues below `softest` of the largest are replaced by that. Rotated so that the rates of
    the first n coordinates are multiples of the last.
    """
    sizes, shapes = la.eigh(S)
    floor = softest * np.abs(sizes).max()
    stiffness = np.sqrt(np.maximum(np.abs(sizes), floor))[:, None] * shapes.T
    mass = la.cholesky(M)
    left, _, right = la.svd(la.solve_triangular(mass, stiffness.T, trans="T").T)
    return np.asarray(la.block_diag(left.T @ stiffness, right @ mass))
