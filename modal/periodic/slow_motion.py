"""The slow part of a periodic second-order system, exact: its fast shapes eliminated.

x' = A(t) x with x = (slow, fast). The slow solutions lie in fast = L(t) slow, where

    L' = A_fs + A_ff L − L A_ss − L A_sf L,       slow' = B slow,   B = A_ss + A_sf L

(the Riccati equation of block diagonalization: P. V. Kokotović, SIAM Review 17, 1975). As the slow
coordinates are displacements and their velocities, B is again a second-order system. L is periodic
and is found by iteration: the slow modes of the frozen instants first, then with L', as in
superadiabatic bases (modal/periodic/decoupling.py). Harmonics of L above a share of the distance of
slow and fast frequencies are left out: the iteration does not contract there, and they are
exponentially small.

In fixed coordinates the slow shapes of a machine that changes its posture turn away from themselves
within a period, and no elimination of fast shapes in these coordinates is smooth. Moving
coordinates q = Φ(t) y with Φ(t) = (slow, fast) are orthonormal in M(t): each block spans the frozen
modes of its part, and turns no more than its span does (parallel transport). What a block has
turned by after a period, a rotation, is taken back evenly over the period, so that Φ is periodic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.fft as fft
import scipy.linalg as la
import scipy.sparse as sp

from assembly.types import Inexact
from modal.eigen.tolerances import HALF, ROUNDS
from modal.periodic.magnus import exponential
from modal.periodic.tolerances import ACCURACY, WORST_CONDITION
from modal.reduction.interpolation import Sampled
from modal.types import Array, Complex


def periodic_frames(shapes: Inexact, duals: Inexact) -> Complex | None:
    """Frames (J, n, g), at equal parts of a period, of spaces that vectors (J, n, g) span; None
    where a frame is singular after the period.

    duals (J, g, n): with the vectors they make the projectors on the spaces, which carry a frame
    from instant to instant (T. Kato, J. Phys. Soc. Japan 5, 1950). What it is turned and stretched
    by after the period is taken back at a constant rate.
    """
    count, (first, *steps) = len(shapes), duals @ np.roll(shapes, 1, axis=0)
    every = accumulate([*steps, first], lambda x, step: step @ x, initial=np.eye(len(first)))
    *turns, turned = every
    if not np.linalg.cond(turned) <= WORST_CONDITION:
        return None
    # One vector is most of what there is, and SciPy's function takes a millisecond.
    rate = (np.log(turned + 0j) if turned.size == 1 else la.logm(turned)) / count
    back = exponential(-np.arange(count)[:, None, None] * rate)
    return np.asarray(shapes @ (np.stack(turns) @ back))


def highest_waves(values: Inexact) -> float:
    """The largest of the highest quarter of the Fourier coefficients of values (J, n, m), at equal
    parts of a period, over the largest of all."""
    size = np.abs(np.fft.fft(values, axis=0)).max(axis=(1, 2))
    middle, part = len(size) // 2, len(size) // 8
    return float(size[middle - part : middle + part + 1].max() / size.max())


def falls(before: float, now: float, level: float, times: float) -> bool:
    """Whether the highest waves, which the last doubling of the instants made of those before, fall
    to a level with so many times as many: coefficients fall geometrically, so that every doubling
    has the factor of the last one twice."""
    return bool(now * (now / before) ** (2.0 * (times - 1.0)) <= level)


def interleaved(values: Inexact, between: Inexact) -> Any:
    """Values (J, ...), each followed by the one between it and the next."""
    return np.stack([values, between], axis=1).reshape(-1, *values.shape[1:])


def real_part(values: Complex) -> Array:
    """In one piece: products of views of numbers far apart take twenty times as long."""
    return np.ascontiguousarray(values.real)


def derivative(values: Inexact, period: float, later: float = 0.0) -> Any:
    """Of the trigonometric polynomial through values (J, n, m) at equal parts of a period, there or
    a share of a part later."""
    count, rate = len(values), 2.0 * np.pi / period
    waves = np.fft.fftfreq(count, 1.0 / count)
    slopes = 1j * rate * waves * np.exp(2j * np.pi * later * waves / count)
    slopes[count // 2] = -rate * (count // 2) * np.sin(np.pi * later)  # of a cosine
    return filtered(values, slopes)


def filtered(values: Inexact, factors: Array | Complex) -> Any:
    """Values (J, n, m) at equal parts of a period, their waves multiplied by factors (J,), those of
    opposite waves conjugate. SciPy's transforms take a fifth of the time of NumPy's."""
    if np.iscomplexobj(values):
        return fft.ifft(factors[:, None, None] * fft.fft(values, axis=0), axis=0)
    waves = fft.rfft(values, axis=0)
    return fft.irfft(factors[: len(waves), None, None] * waves, len(values), axis=0)


def halfway(values: Complex) -> Complex:
    """Values (m, N, N) of the trigonometric polynomial halfway to the next instants."""
    turns = np.exp(1j * np.pi * np.fft.fftfreq(len(values)))
    turns[len(values) // 2] = 0.0  # the highest wave is a cosine
    return np.asarray(filtered(values, turns))


def resampled(values: Complex, period: float, points: int = 12) -> Sampled:
    """The trigonometric polynomial through values (m, n, n) at equally spaced instants from 0: by
    Lagrange's through so many of four times as many of its values, which are that to round-off."""
    for _ in range(2):
        values = interleaved(values, halfway(values))
    count, nodes, shape = len(values), np.arange(points), values.shape[1:]
    apart = nodes[:, None] - nodes + np.eye(points)
    scale, flat = apart.prod(axis=1), values.reshape(count, -1)

    def many(times: Array) -> Any:
        places = times * (count / period)
        first = np.floor(places).astype(np.intp) - (points // 2 - 1)
        # Products of the distances from all nodes before one, and after it.
        from_nodes = np.ones((2, points, len(times)))
        np.cumprod((places - first) - nodes[:-1, None], axis=0, out=from_nodes[0, 1:])
        np.cumprod((places - first) - nodes[:0:-1, None], axis=0, out=from_nodes[1, 1:])
        weights = (from_nodes[0] * from_nodes[1, ::-1]).T / scale
        columns, ends = (first[:, None] + nodes) % count, np.arange(len(times) + 1) * points
        parts = (weights.ravel(), columns.ravel(), ends)
        return (sp.csr_matrix(parts, shape=(len(times), count)) @ flat).reshape(-1, *shape)

    return many


def moving_frame(shapes: Array, duals: Array, slow: int) -> Array | None:
    """Φ (J, r, r) at equal parts of a period, its first `slow` columns the slow shapes.

    shapes (J, r, r): of (K, M), slowest first; duals: shapesᵀ M. None where a block does not come
    back to itself by a rotation.
    """
    blocks = []
    for part in (slice(slow), slice(slow, None)):
        frames = periodic_frames(shapes[:, :, part], duals[:, part])
        if frames is None or np.abs(frames.imag).max(initial=0.0) > HALF * np.abs(frames).max():
            return None
        blocks.append(real_part(frames))
    return np.concatenate(blocks, axis=2)


def moving_states(A: Array, frame: Array, frequencies: Array, period: float) -> tuple[Array, Array]:
    """T and A_z of x' = A x, x = T z, z' = A_z z, (J, 2r, 2r) each.

    x = (ω η, η̇) and z = (υ y, ẏ) with η = Φ y; frequencies: ω and υ (2, r), rad/s.
    """
    count, r = frame.shape[:2]
    rate = derivative(frame, period)
    T = np.zeros((count, 2 * r, 2 * r))
    first, second = frequencies
    T[:, :r, :r] = first[:, None] * frame / second
    T[:, r:, :r], T[:, r:, r:] = rate / second, frame
    return T, np.linalg.solve(T, A @ T - derivative(T, period))


@dataclass(frozen=True)
class SlowMotion:
    """B (J, 2m, 2m) at equal parts of a period, and L (J, n − 2m, 2m)."""

    B: Array
    L: Array


def slow_motion(
    A: Array,
    slow: int,
    period: float,
    harmonics: int,
    spectrum: tuple[Complex, Complex] | None = None,
) -> SlowMotion | None:
    """The slow motion of A (J, n, n) whose first `slow` rows are the slow states.

    harmonics: of L, at most. spectrum: eigenvalues (J, n) and vectors (J, n, n) of about A, by
    default its own. None where slow and fast frequencies do not stay apart.
    """
    A, J, s = np.ascontiguousarray(A), len(A), slow
    values, vectors = np.linalg.eig(A) if spectrum is None else spectrum
    frozen = _frozen(values, vectors, s)
    if frozen is None:
        return None
    ss, sf, fs, ff = A[:, :s, :s], A[:, :s, s:], A[:, s:, :s], A[:, s:, s:]
    retained = np.abs(np.fft.fftfreq(J, 1.0 / J)) <= min(harmonics, J // 2 - 1)
    size, first = float(np.abs(ss).max()), None
    L, solve = filtered(frozen[0], retained), frozen[1]
    for _ in range(ROUNDS):
        B = ss + sf @ L
        residual = fs + ff @ L - L @ B - derivative(L, period)
        Z = filtered(solve(-residual), retained)
        L = L + Z
        change = float(np.abs((sf @ Z).mean(axis=0)).max())
        first = change if first is None else first
        if not change <= first / np.sqrt(ACCURACY):
            return None
        if change <= ACCURACY * size:
            break
    return SlowMotion(ss + sf @ L, L)


def _frozen(
    values: Complex, vectors: Complex, s: int
) -> tuple[Array, Callable[[Array], Array]] | None:
    """L (J, f, s) of the frozen slow motion, the invariant subspace [I; L], and the solution
    Z (J, f, s) of F Z − Z B = R for R (J, f, s), F and B the fast and slow blocks.

    From eigenvalues (J, n) and vectors (J, n, n) of A; None where slow and fast ones are not apart.
    Slow modes are those that consist most of the slow coordinates: by |λ| overdamped modes would
    come between them.
    """
    own, others = (np.linalg.norm(part, axis=1) for part in (vectors[:, :s], vectors[:, s:]))
    order = np.argsort(others / np.maximum(own, np.finfo(float).tiny), axis=1, kind="stable")
    # Of a conjugate pair, which LAPACK puts one after the other, the real and the imaginary part.
    W: Array = np.where(values.imag[:, None] >= 0.0, vectors.real, vectors.imag)
    W = np.take_along_axis(W, order[:, None], axis=2)
    right = np.take_along_axis(vectors[:, :s], order[:, None, :s], axis=2)
    values = np.take_along_axis(values, order, axis=1)
    signs, distances = np.sign(values.imag), values[:, s:, None] - values[:, None, :s]
    torn = signs[:, :s].sum(axis=1).any()
    if torn or not (np.linalg.cond(right).max() <= WORST_CONDITION and distances.all()):
        return None
    left = np.linalg.inv(right)
    L = W[:, s:, :s] @ np.linalg.inv(W[:, :s, :s])
    shapes = W[:, s:, s:] - L @ W[:, :s, s:]
    duals = np.linalg.inv(shapes)
    # Coefficients of a pair are real and imaginary parts of one row, that of its first mode.
    second = signs[:, s:, None] < 0.0
    count = int((~second).sum(axis=1).max())
    first = np.argsort(second, axis=1, kind="stable")[:, :count]
    pairs, distances = np.roll(second, -1, axis=1), np.take_along_axis(distances, first, axis=1)

    def solve(R: Array) -> Array:
        rows = duals @ R
        rows = rows + 1j * np.where(pairs, np.roll(rows, -1, axis=1), 0.0)
        some = (np.take_along_axis(rows, first, axis=1) @ right / distances) @ left
        np.put_along_axis(rows, first, some, axis=1)
        return np.asarray(shapes @ np.where(second, np.roll(rows.imag, 1, axis=1), rows.real))

    return L, solve
