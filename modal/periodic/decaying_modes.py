"""Proof that all but the slowest modes of periodic motions decay, over a box of parameters.

V = xᵀ S x with S(t) periodic, negative on 2m directions and positive on the others. Where

    R = 2 s S − dS/dt − S A − Aᵀ S

is positive definite at all times, V e^{−2st} falls along every solution of x' = A x, and by the
inertia theorem of Stein's equation (H. K. Wimmer, J. Math. Anal. Appl. 42, 1973) exactly 2m
exponents have a real part above s, and all others one below.

S is a function of the frozen mass and stiffness: minus the energy of the m slowest frozen modes,
plus that of the others, each with 2 f(ω²) q̇ᵀMq for the damping. Its derivative is written with
difference quotients (Ju. L. Daleckii and S. G. Krein, 1965), so modes may cross on either side of
m. S is that of the middle of the box; R is affine in the accelerations and in the rate of the
motion, and positive definite all over the box where it is at the coefficients of Bernstein of their
polynomials. A box of the grid of a Hill chart without a proof is halved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import scipy.linalg as la
from scipy.optimize import nnls
from scipy.special import binom

from modal.eigen.tolerances import GROUP, ROUNDS
from modal.periodic.chart_motion import ChartMotion, Motions, accelerations_of
from modal.periodic.slow_motion import derivative
from modal.reduction.interpolation import (
    ParameterPolynomial,
    parameter_polynomial,
    tensor_coefficients,
)
from modal.reduction.tolerances import GUARD
from modal.types import Array

# Least eigenvalue of R, the parts of single modes scaled to unity, beside its change from instant
# to instant: for errors of the polynomials.
MARGIN = 0.1

Triple = tuple[Array, Array, Array]

FEW = 8  # instants at which a number of slow modes is tried first


@dataclass(frozen=True)
class FrozenForms:
    """S of any number m of slow modes at J parts of a period, in the frozen modes q = Φ y, q̇ = Φ v.

    squares ω², f and its derivative by ω² (J, n); shapes Φ and Φ⁻¹, ΦᵀM'Φ and ΦᵀK'Φ (J, n, n) with
    derivatives by 2πt/T.
    """

    squares: Array
    f: Array
    slope: Array
    shapes: Array
    inverse: Array
    inertia: Array
    stiffness: Array
    _known: dict[int, tuple[Triple, Triple]] = field(default_factory=dict)

    @classmethod
    def of(cls, M: Array, C: Array, K: Array, every: int = 1) -> FrozenForms | None:
        """Of matrices (J, n, n) at equal parts of a period; None where a mode has no stiffness.

        every: of how many instants one is looked at.
        """
        K = 0.5 * (K + K.swapaxes(1, 2))
        rates = [derivative(A, 2.0 * np.pi)[::every] for A in (M, K)]
        M, C, K = M[::every], C[::every], K[::every]
        modes = [la.eigh(k, m) for k, m in zip(K, M, strict=True)]
        x, shapes = (np.stack(part) for part in zip(*modes, strict=True))
        if x.min() <= 0.0:
            return None
        omega, damping = np.sqrt(x), np.maximum((shapes * (C @ shapes)).sum(axis=1), 0.0)
        fitted = nnls(_terms(x) / omega.reshape(-1, 1), (damping / omega).ravel())[0]
        slope = (_bent(1.001 * x, fitted) - _bent(0.999 * x, fitted)) / (0.002 * x)
        back = shapes.swapaxes(1, 2)
        inertia, stiffness = (back @ rate @ shapes for rate in rates)
        return cls(x, _bent(x, fitted), slope, shapes, back @ M, inertia, stiffness)

    def in_modes(self, H: Array) -> tuple[Array, Array]:
        """v̇ by y and by v (J, n, n) of q̈ = H (q, q̇), H (J, n, 2n)."""
        on_y, on_v = (self.inverse @ part @ self.shapes for part in np.split(H, 2, axis=2))
        return on_y, on_v

    def separating_rate(
        self, m: int, on_y: Array, on_v: Array, rate: float, between: bool = True
    ) -> float | None:
        """s, 1/s, below 2m exponents and above the others; None where R is not positive definite.

        on_y, on_v: of `in_modes`. rate: 2π/T, rad/s. between: the instants too between these.
        """
        n = self.squares.shape[1]
        at, (a, f, b), changes = np.arange(n), *self._energies(m)
        yy, yv, vv = (rate * change for change in changes)
        Q = np.empty((len(a), 2 * n, 2 * n))  # dS/dt + S A + Aᵀ S
        Q[:, :n, :n] = yy + _twice(f[:, :, None] * on_y)
        Q[:, :n, n:] = yv + f[:, :, None] * on_v + (b[:, :, None] * on_y).swapaxes(1, 2)
        Q[:, n:, n:] = vv + _twice(b[:, :, None] * on_v)
        Q[:, at, n + at] += a
        Q[:, n + at, n + at] += 2.0 * f
        Q[:, n:, :n] = Q[:, :n, n:].swapaxes(1, 2)
        # The growth of V of every mode alone: the eigenvalues of S⁻¹ Q of its two rows.
        first, mixed, last = Q[:, at, at], Q[:, at, n + at], Q[:, n + at, n + at]
        det = a * b - f * f
        half = 0.5 * (first * b + last * a - 2.0 * mixed * f) / det
        root = np.sqrt(np.maximum(half**2 - (first * last - mixed**2) / det, 0.0))
        least = 0.5 * float(np.min((half - root)[:, :m], initial=0.0))
        most = 0.5 * float(np.max((half + root)[:, m:], initial=-np.inf))
        if not most < least:
            return None
        s, R = 0.5 * (least + most) if m else 0.0, -Q
        for rows, columns, block in ((0, 0, a), (n, n, b), (0, n, f), (n, 0, f)):
            R[:, rows + at, columns + at] += 2.0 * s * block
        margins = np.array([la.eigvalsh(r, subset_by_index=[0, 0])[0] for r in _scaled(R)])
        change = np.abs(margins - np.roll(margins, 1)).max()
        return s if float(margins.min()) >= MARGIN + between * change else None

    def _energies(self, m: int) -> tuple[Triple, Triple]:
        """The parts of S, ω², f and 1 with their signs (J, n), and their changes (J, n, n)."""
        if m not in self._known:
            one = np.where(np.arange(self.squares.shape[1]) < m, -1.0, 1.0) + 0.0 * self.squares
            parts = one * self.squares, one * self.f, one
            slopes = one, one * self.slope, 0.0 * one
            a, f, b = (self.change(g, slope) for g, slope in zip(parts, slopes, strict=True))
            self._known.clear()  # of one m: they are large
            self._known[m] = parts, (a, f, b)
        return self._known[m]

    def change(self, g: Array, slope: Array) -> Array:
        """ΦᵀS'Φ (J, n, n) of S = Φ⁻ᵀ g(ω²) Φ⁻¹: g and dg/dω² (J, n)."""
        x, inertia = self.squares, self.inertia
        apart = x[:, :, None] - x[:, None, :]
        same = np.abs(apart) <= GROUP * x[:, None, :]
        quotient = (g[:, :, None] - g[:, None, :]) / np.where(same, 1.0, apart)
        quotient = np.where(same, slope[:, None, :], quotient)
        out = quotient * (self.stiffness - x[:, None, :] * inertia) + g[:, None, :] * inertia
        return 0.5 * _twice(out)


def _terms(squares: Array) -> Array:
    """1, ω and ω² (modes, 3): what damping is fitted by."""
    x = squares.ravel()
    return np.stack([np.ones_like(x), np.sqrt(x), x], axis=1)


def _bent(squares: Array, fitted: Array, sharpness: int = 8) -> Array:
    """f(ω²): d/2 of underdamped modes, 2ω²/d of overdamped ones.

    sharpness: of the bend of f at critical damping, where f < ω must hold.
    """
    half = 0.5 * (_terms(squares) @ fitted).reshape(squares.shape)
    bend = 1.0 + (half**2 / squares) ** sharpness
    return np.asarray(half / bend ** (1.0 / sharpness))


def _twice(A: Array) -> Array:
    return np.asarray(A + A.swapaxes(1, 2))


def _scaled(R: Array) -> Array:
    """R (J, 2n, 2n) with the parts of the n modes alone, rows i and n + i, scaled to unity."""
    n = R.shape[1] // 2
    at = np.arange(n)
    first = np.sqrt(R[:, at, at])
    mixed = R[:, at, n + at] / first
    last = np.sqrt(R[:, n + at, n + at] - mixed**2)
    for _ in range(2):  # the rows, then the columns
        above = R[:, :n] / first[:, :, None]
        below = (R[:, n:] - mixed[:, :, None] * above) / last[:, :, None]
        R = np.concatenate([above, below], axis=1).swapaxes(1, 2)
    return R


def bernstein(polynomial: ParameterPolynomial, low: Array, high: Array) -> Array:
    """Coefficients (nodes, ...) over a box inside that of the polynomial: its values there are
    means of them, with weights that are not negative."""
    degrees = np.where(high > low, polynomial.degrees, 0).tolist()
    places = [0.5 - 0.5 * np.cos(np.pi * np.arange(d + 1) / max(d, 1)) for d in degrees]
    points = itertools.product(*places)
    values = np.stack([polynomial(low + (high - low) * np.array(u)) for u in points])
    bases = []
    for u in places:
        i = np.arange(len(u))
        bases.append(binom(i[-1], i) * u[:, None] ** i * (1.0 - u[:, None]) ** i[::-1])
    return tensor_coefficients(values, bases)


def on_all_shapes(
    motion: ChartMotion, motions: Motions, points: Sequence[Mapping[str, float]]
) -> ChartMotion | None:
    """The motions on all shapes, modes of the mean matrices of the one at the last point.

    None where the matrices are not smooth in time on them.
    """
    n = len(motion.shapes)
    every = replace(motion, shapes=np.eye(n), frequencies=np.ones(n))
    M, K, _ = np.split(every.matrices(motions(points[-1])).mean(axis=0), 3, axis=1)
    squares, shapes = la.eigh(0.5 * (K + K.T), M)
    every = replace(every, shapes=shapes, frequencies=np.sqrt(np.abs(squares)))
    found = every.resolved(motions, points)
    return None if found is None else replace(found, parts=max(found.parts, motion.parts))


def decaying_boxes(
    motion: ChartMotion,
    evaluate: Callable[[Array], Array],
    rate: Callable[[Array], float],
    axes: Sequence[Array],
    k: int,
    tolerance: float,
) -> Array:
    """Low and high ends of boxes of the grid, a number m of modes, and a rate s, 1/s: 2m exponents
    are above s there and all others below, (boxes, 2d + 2).

    evaluate(point): [M, K ω⁻¹, C + D] of `motion`, all shapes. rate(point): 2π/T, rad/s. k: of m,
    about. tolerance: of polynomials, of the largest entries.
    """
    low, high = (np.array([end(values) for values in axes]) for end in (np.min, np.max))

    def moved(x: Array) -> Array:
        H = accelerations_of(evaluate(x))
        return np.concatenate([H, np.full_like(H[:, :1], rate(x))], axis=1)

    def sizes(values: Array) -> Array:
        largest = np.full((1, values.shape[1], 1), np.abs(values[:, :-1]).max())
        largest[:, -1] = np.abs(values[:, -1]).max()
        return largest

    accelerations = parameter_polynomial(moved, low, high, tolerance, sizes)
    grid = [np.unique(values) for values in axes]
    ends = itertools.product(*({values[0], values[-1]} for values in grid))
    corners = [np.array(end) for end in ends]
    boxes, proved = [grid], []
    for _ in range(min(ROUNDS, int(np.prod([len(values) for values in grid])))):
        if not boxes or accelerations is None:
            break
        box = boxes.pop(0)
        low, high = (np.array([values[end] for values in box]) for end in (0, -1))
        found = _proof(motion, evaluate, accelerations, (low, high), k)
        if found is not None:
            proved.append([*low, *high, *found])
        elif box is grid and not any(
            _proof(motion, evaluate, accelerations, (x, x), k) for x in corners
        ):
            break  # where damping is largest and the motion slowest there is none
        elif np.any(high > low):
            sizes_of = np.maximum(np.abs(low), np.abs(high))
            axis = int(np.argmax((high - low) / np.where(high > low, sizes_of, 1.0)))
            for half in np.array_split(box[axis], 2):
                boxes.append([*box[:axis], half, *box[axis + 1 :]])
    return np.array(proved).reshape(-1, 2 * len(grid) + 2)


def _proof(
    motion: ChartMotion,
    evaluate: Callable[[Array], Array],
    accelerations: ParameterPolynomial,
    box: tuple[Array, Array],
    k: int,
) -> tuple[int, float] | None:
    """m and s of a box: of the m that pass at a few instants, the first that does at all."""
    matrices = evaluate(0.5 * (box[0] + box[1]))
    # Verdicts with more than k have to resolve these modes too.
    numbers: Iterable[tuple[int, float]] = [(m, np.nan) for m in range(k + GUARD + 1)]
    few = max(len(matrices) // FEW, 1)
    for every in (few, 1):
        some = replace(accelerations, table=accelerations.table[:, ::every])
        numbers = _rates(motion, matrices, some, box, [m for m, _ in numbers], every)
    return next(iter(numbers), None)


def _rates(
    motion: ChartMotion,
    matrices: Array,
    accelerations: ParameterPolynomial,
    box: tuple[Array, Array],
    numbers: Sequence[int],
    every: int,
) -> Iterator[tuple[int, float]]:
    """Of these m those that one in so many instants says are proved, and s."""
    M, K, C = np.split(matrices, 3, axis=2)
    forms = FrozenForms.of(M, C, K * motion.frequencies, every) if numbers else None
    if forms is None:
        return
    units = np.concatenate([motion.frequencies, np.ones_like(motion.frequencies)])
    ends = bernstein(accelerations, *box)

    @cache
    def in_modes(number: int) -> tuple[Array, Array]:
        return forms.in_modes(ends[number][:, :-1] * units)

    for m in numbers:
        s = -np.inf
        for number, end in enumerate(ends):
            rate = float(end[0, -1, 0])
            there = forms.separating_rate(m, *in_modes(number), rate, between=every == 1)
            if there is None:
                break
            s = max(s, there)
        else:
            yield m, s
