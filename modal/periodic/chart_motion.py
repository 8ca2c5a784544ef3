"""The motions of a chart on one space of shapes: their accelerations at equal parts of the period.

The space is spanned by the frozen modes of instants of several motions and the static response to
their Coriolis forces, as that of `modal.floquet(method="reduced")`. In the modal coordinates of the
mean of these instants, with displacements scaled by their frequencies, a motion is

    η̈ = H(τ) (ω η, η̇),   H = −M⁻¹ [K ω⁻¹, C + D]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.errors import AccuracyError
from modal.periodic.galerkin import GalerkinModel, independent_shapes, residual_error
from modal.periodic.product_eigen import LOST
from modal.periodic.slow_motion import highest_waves
from modal.periodic.tolerances import FEWEST, INDEPENDENT, LEAST, MOST_FROZEN, SMOOTH, WORK
from modal.reduction.interpolation import CHECKS, fourier_interpolant, irregular
from modal.reduction.motion import ReducedMotion
from modal.reduction.tolerances import GUARD, WHOLE
from modal.transient.equations import SecondOrderModel
from modal.types import Array, Complex, Index

Motion = tuple[Any, float]  # a model and the period of its motion, s
Motions = Callable[[Mapping[str, float]], Motion]

INSTANTS = 6  # of a motion, whose frozen modes span the space
SHARE = 0.5  # of the distance of slow and fast frequencies: highest harmonic of the elimination


@dataclass(frozen=True)
class ChartMotion:
    """shapes (n, r) of the modal coordinates; frequencies ω (r,), rad/s; parts of a period, which
    begins at `start`, s."""

    shapes: Array
    frequencies: Array
    parts: int
    start: float = 0.0

    @classmethod
    def of(
        cls,
        motions: Motions,
        points: Sequence[Mapping[str, float]],
        k: int,
        start: float = 0.0,
        independent: float = INDEPENDENT,
        instants: int = INSTANTS,
        whole: bool = False,
    ) -> ChartMotion:
        """For the k slowest modes of motions at points that span a box of parameters.

        independent: least singular value of the space, of the largest, in the energy norm.
        instants: of a motion, whose frozen modes span the space. whole: the space is the whole one.

        Raises AccuracyError where the matrices are not smooth in time.
        """
        samples = []
        for point in points:
            model, period = motions(point)
            times = start + period * np.arange(instants) / instants
            samples.append(SecondOrderModel(model).matrices(times))
        M, C, K = (np.concatenate(part) for part in zip(*samples, strict=True))
        K = 0.5 * (K + K.swapaxes(1, 2))
        longest, n = max(motions(point)[1] for point in points), M.shape[1]
        work = longest * stepping_work(M.mean(axis=0), K.mean(axis=0), n)
        whole = whole or n <= WHOLE or work <= WORK
        V = np.eye(n) if whole else _space(M, C, K, k + GUARD, independent)
        squares, Phi = la.eigh(V.T @ K.mean(axis=0) @ V, V.T @ M.mean(axis=0) @ V)
        # In units of less than the motion's own rate rigid motions would grow out of proportion.
        least = (2.0 * np.pi / longest) ** 2
        found = cls(V @ Phi, np.sqrt(np.maximum(np.abs(squares), least)), FEWEST, start)
        resolved = found.resolved(motions, points)
        if resolved is None:
            raise AccuracyError("the matrices of the motion are not smooth in time")
        return resolved

    def resolved(
        self, motions: Motions, points: Sequence[Mapping[str, float]]
    ) -> ChartMotion | None:
        """With so many parts of the period that the accelerations of the points are resolved; None
        where the largest number is too small."""
        parts = FEWEST
        while parts <= MOST_FROZEN:
            found = replace(self, parts=parts)
            if all(found._resolves(motions(point)) for point in points):
                return found
            parts *= 2
        return None

    def _resolves(self, motion: Motion) -> bool:
        """Whether the accelerations at the parts are those all over the period: their highest
        waves are small, and the polynomial through them holds between the parts."""
        H, (_, period) = accelerations_of(self.matrices(motion)), motion
        if highest_waves(H) > SMOOTH:
            return False
        between = irregular(CHECKS)  # on no grid: aliases differ
        there = accelerations_of(self.matrices(motion, between))
        gap = np.abs(fourier_interpolant(H, 0.0, period).many(period * between) - there).max()
        return bool(gap <= 10.0 * SMOOTH * np.abs(H).max())

    def matrices(self, motion: Motion, phases: Array | None = None) -> Array:
        """[M, K ω⁻¹, C + D] (J, r, 3r) at the parts of the period, or at other phases."""
        model, period = motion
        phases = np.arange(self.parts) / self.parts if phases is None else phases
        V, equations = self.shapes, SecondOrderModel(model)
        M, C, K = (V.T @ (A @ V) for A in equations.matrices(self.start + period * phases))
        return np.concatenate([M, K / self.frequencies, C], axis=2)

    def lifted(self, vectors: Complex) -> Complex:
        """(q, q̇) (2n, m) of vectors (2r, m) of (ω η, η̇)."""
        r = len(self.frequencies)
        q = self.shapes @ (vectors[:r] / self.frequencies[:, None])
        return np.vstack([q, self.shapes @ vectors[r:]])

    def projected(self, matrices: Array, every: ChartMotion) -> Array:
        """[M, K ω⁻¹, C + D] (J, r, 3r) from those of `every`, on all shapes (J, n, 3n)."""
        part = np.linalg.solve(every.shapes, self.shapes)
        M, K, C = (part.T @ A for A in np.split(matrices, 3, axis=2))
        scaled = every.frequencies[:, None] * part / self.frequencies
        return np.concatenate([M @ part, K @ scaled, C @ part], axis=2)

    @property
    def is_whole(self) -> bool:
        """Whether the shapes are all degrees of freedom of the models."""
        return self.shapes.shape[0] == self.shapes.shape[1]

    def untrained(self) -> tuple[int, ...]:
        """Parts of the period, about a third and two thirds of it, that are far from the instants
        whose frozen modes span the space and its bases: multiples of a twelfth."""
        return self.parts * 7 // 24, self.parts * 17 // 24

    def missed(self, motion: Motion, H: Array, vectors: Complex, part: int) -> Array:
        """Estimated errors (m,), 1/s, of exponents with vectors (2r, m) at a part of the period,
        where the accelerations are H (r, 2r), by what shapes and bases miss of the model."""
        model, period = motion
        displaced, rate = np.split(vectors, 2)
        moved: tuple[Complex, ...] = (displaced / self.frequencies[:, None], rate, H @ vectors)
        source, shapes = model, self.shapes
        if not isinstance(model, ReducedMotion):
            source, shapes = GalerkinModel(model, self.shapes), np.eye(len(H))
        t = self.start + period * part / self.parts
        states = ((shapes @ x)[None] for x in moved)
        return residual_error(source, np.array([t]), *states)[1]


def lasting_speed(values: Complex, period: float) -> float:
    """Largest |λ|, rad/s, of eigenvalues (S, N) of frozen instants that do not decay, beside the
    slowest, to the square of round-off within a period; 0 of none."""
    decay = values.real - values.real.max(axis=1, keepdims=True, initial=-np.inf)
    return float(np.abs(values[decay * period >= 2.0 * LOST]).max(initial=0.0))


def states_of(frequencies: Array, H: Array) -> Array:
    """A (..., 2r, 2r) of x' = A x, x = (ω η, η̇), from H (..., r, 2r)."""
    r = len(frequencies)
    A = np.zeros((*H.shape[:-2], 2 * r, 2 * r))
    A[..., :r, r:] = np.diag(frequencies)
    A[..., r:, :] = H
    return A


def accelerations_of(matrices: Array) -> Array:
    """H (J, r, 2r) of [M, K ω⁻¹, C + D] (J, r, 3r)."""
    r = matrices.shape[1]
    return np.asarray(-np.linalg.solve(matrices[..., :r], matrices[..., r:]))


def matrix_sizes(matrices: Array) -> Array:
    """What errors of [M, K ω⁻¹, C + D] are relative to, (1, 1, 3r): the largest of M and K, and
    of their geometric mean for C + D."""
    M, K, C = (float(np.abs(part).max()) for part in np.split(matrices, 3, axis=2))
    # K ω⁻¹ is of the size ω, as C would be of a mode with strong damping.
    sizes = np.array([M, K, max(C, 1e-3 * K)])
    return np.repeat(sizes, matrices.shape[1])[None, None, :]


def stepping_work(M: Array, K: Array, number: int) -> float:
    """n³ × frequency of the frozen mode of that number, rad/s, of M and K (n, n): the cost of steps
    in all coordinates that resolve it, per second."""
    squares = np.sort(np.abs(la.eigvalsh(0.5 * (K + K.T), M)))
    return float(len(M) ** 3 * np.sqrt(squares[min(number, len(M)) - 1]))


def _space(M: Array, C: Array, K: Array, count: int, independent: float) -> Array:
    """Shapes (n, r) that span the lowest modes of all instants (P, n, n), and their static
    responses to Coriolis forces; orthonormal in energy."""
    norm = K.mean(axis=0)
    squares = la.eigh(norm, M.mean(axis=0), eigvals_only=True, subset_by_index=[0, 3])
    norm = norm + max(LEAST * float(squares[-1]), -2.0 * float(squares[0])) * M.mean(axis=0)
    factor = la.cho_factor(norm)
    columns = []
    for mass, velocity, stiffness in zip(M, C, K, strict=True):
        values, modes = la.eigh(stiffness, mass, subset_by_index=[0, min(count, len(mass)) - 1])
        forces = velocity @ (modes * np.sqrt(np.abs(values)))
        columns += [modes, la.cho_solve(factor, forces)]
    X = np.hstack(columns)
    lengths = np.sqrt(np.maximum((X * (norm @ X)).sum(axis=0), np.finfo(float).tiny))
    # Responses to Coriolis forces count by their size beside the mode.
    width = columns[0].shape[1]
    own = lengths.reshape(-1, 2, width)[:, :1].repeat(2, axis=1).ravel()
    return independent_shapes(X / own, norm, independent)


@dataclass(frozen=True)
class Spectra:
    """Eigenvalues λ (S, 2r) of frozen instants all over a box of parameters, and the shares of the
    m lowest undamped shapes in theirs, (r, S, 2r): overdamped modes say nothing by their |λ|."""

    values: Complex
    shares: Array

    @classmethod
    def of(cls, motion: ChartMotion, samples: list[Array]) -> Spectra:
        """Of [M, K ω⁻¹, C + D] (J, r, 3r) of motions."""
        chosen = np.concatenate([some[:: max(1, len(some) // INSTANTS)] for some in samples])
        values, vectors = np.linalg.eig(states_of(motion.frequencies, accelerations_of(chosen)))
        M, K, _ = np.split(chosen, 3, axis=2)
        K = K * motion.frequencies
        lowest = np.stack([la.eigh(k + k.T, m)[1] for m, k in zip(M, K, strict=True)])
        displaced = vectors[:, : M.shape[1]] / motion.frequencies[:, None]
        parts = np.abs(lowest.swapaxes(1, 2) @ M @ displaced) ** 2
        return cls(values, (parts / parts.sum(axis=1, keepdims=True)).cumsum(axis=1).swapaxes(0, 1))

    def fastest(self, k: int, period: float = 0.0) -> float:
        """Largest |λ|, rad/s, of the k modes with the smallest; of those only which do not decay,
        beside the slowest, to less than round-off within a period, and that twice over."""
        order = np.argsort(np.abs(self.values), axis=1, kind="stable")[:, : 2 * k]
        slow = np.take_along_axis(self.values, order, axis=1)
        return lasting_speed(slow, period)

    def split(self, m: int) -> tuple[Complex, Complex]:
        """λ of the modes of the m lowest shapes (S, 2m), and of the others."""
        order = np.argsort(-self.shares[m - 1], axis=1, kind="stable")
        slow, fast = np.split(np.take_along_axis(self.values, order, axis=1), [2 * m], axis=1)
        return slow, fast

    def gap(self, m: int) -> float:
        """Least distance of the modes of the m lowest shapes from the others, rad/s; 0 where there
        are none."""
        if m >= len(self.shares):
            return 0.0
        slow, fast = self.split(m)
        return float(np.abs(slow[:, :, None] - fast[:, None]).min())

    def lasting(self, period: float) -> int:
        """How many shapes there are, at least, so that the others decay to less than the round-off
        of what neither grows nor decays, and that twice over."""
        rest = (self.split(m)[1].real.max(initial=-np.inf) for m in range(1, len(self.shares) + 1))
        return next(m for m, growth in enumerate(rest, 1) if growth * period <= 2.0 * LOST)

    def slow(self, k: int, rate: float, apart: float = 40.0) -> int:
        """How many modes to keep, at least k, so that the others are so many rates of the motion
        from them; all where none are."""
        r = len(self.shares)
        return next((m for m in range(k, r) if self.gap(m) >= apart * rate), r)


def slow_first(r: int, m: int) -> Index:
    """The order of (ω η, η̇) with the first m coordinates of both in front."""
    first, rest = np.arange(m), np.arange(m, r)
    return np.concatenate([first, r + first, rest, r + rest])
