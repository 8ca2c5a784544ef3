"""The small eigenproblems of many points at once: (λ²M_p + λE_p + K_p) q = 0 of order r, dense.

Conservative points with positive definite K_p = LLᵀ: in the coordinates (Lᵀq, v) the state matrix
is the skew S = [[0, Lᵀ], [−L, −E]], −iS is Hermitian, and every eigenvalue comes out exactly
imaginary. Others: the state matrix in the coordinates (Ω q, v), Ω the reference frequencies, which
is skew but for what motion adds. All coordinates are M-orthonormal (M_p = I unless mass varies,
which a Cholesky factor then absorbs). The translations that the frame prescribes decouple, and
their defective ±iΩ and zeros would spoil the vectors of other modes: they are taken out before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from modal.eigen.quadratic import times
from modal.eigen.solvers.dense import eigenpairs_in_order
from modal.eigen.spectrum import overdamped, separated, sizes
from modal.eigen.tolerances import HALF, WEAK, ZERO
from modal.types import Array, Complex, Index, Mask

BY_MODE = ("eigenvalues", "right", "left", "condition")  # arrays whose last axis is of modes


@dataclass(frozen=True)
class SmallModes:
    """The k lowest eigenpairs of P points, one of each conjugate pair.

    eigenvalues (P, k) rad/s; right, left (P, r, k): q and w with wᴴ(λ²M + λE + K) = 0; condition
    (P, k) of λ as an eigenvalue of the scaled state matrix; spread (P,): the largest |λ| of the
    point, for round-off; exact (P,): True where eigenvalues are exactly imaginary by structure. NaN
    fills modes that do not exist.
    """

    eigenvalues: Complex
    right: Complex
    left: Complex
    condition: Array
    spread: Array
    exact: Mask

    def take(self, index: Index) -> SmallModes:
        """The modes index (P, k′) of every point."""
        return self._each(
            lambda A: np.take_along_axis(A, index if A.ndim == 2 else index[:, None, :], -1)
        )

    def without(self, left_out: Mask) -> SmallModes:
        """The same with NaN in place of some modes (P, k)."""
        return self._each(
            lambda A: np.where(left_out if A.ndim == 2 else left_out[:, None, :], np.nan, A)
        )

    def first(self, k: int) -> SmallModes:
        """The first k modes of every point."""
        return self._each(lambda A: A[..., :k])

    def filled(self, k: int) -> SmallModes:
        """With NaN up to k modes a point."""
        missing = k - self.eigenvalues.shape[1]
        if missing <= 0:
            return self
        return self._each(
            lambda A: np.pad(A, [(0, 0)] * (A.ndim - 1) + [(0, missing)], constant_values=np.nan)
        )

    def beside(self, others: SmallModes) -> SmallModes:
        """With the modes of others of the same points behind."""
        arrays = ((name, getattr(self, name), getattr(others, name)) for name in BY_MODE)
        return replace(others, **{n: np.concatenate(pair, axis=-1) for n, *pair in arrays})

    def _each(self, part: Callable[[NDArray[Any]], NDArray[Any]]) -> SmallModes:
        return replace(self, **{name: part(getattr(self, name)) for name in BY_MODE})

    def lifted(self, basis: Array) -> SmallModes:
        """Vectors in the coordinates (n, …) of a basis (n, r)."""
        return replace(self, right=times(basis, self.right), left=times(basis, self.left))

    def points(self, index: Index | Mask | slice) -> SmallModes:
        """Those of some of the points."""
        return SmallModes(*(array[index] for array in vars(self).values()))

    @classmethod
    def joined(cls, parts: Sequence[SmallModes]) -> SmallModes:
        """The points of several, as wide as the widest."""
        most = max(part.eigenvalues.shape[1] for part in parts)
        tables = (vars(part.filled(most)).values() for part in parts)
        return cls(*map(np.concatenate, zip(*tables, strict=True)))


def solve_points(
    matrices: Sequence[Array] | Array,
    frequency: Array,
    conservative: Mask,
    k: int,
    threads: int = 1,
    every: bool = False,
    prescribed: Sequence[tuple[Array, Array]] = (),
    size: int = 25,
) -> SmallModes:
    """The k lowest eigenpairs of P problems; every: all, k at least, where not exact.

    matrices (3, P, r, r): M, E and K where M is about I and K about Ω², frequency (r,).
    conservative (P,): M and K are symmetric and E is skew. prescribed: of every point,
    orthonormal columns (r, t) that decouple, whose modes are left out, and (r, m) beside them with
    K V = 0 and VᵀEV = 0, whose zeros are left out where the others are exact. size: points whose
    matrices are formed together, a few megabytes.
    """
    starts = range(0, len(conservative), size)

    def batch(start: int) -> SmallModes:
        index = slice(start, start + size)
        return _solve_batch(
            [A[index] for A in matrices], frequency, conservative[index], k, every,
            prescribed[index],
        )  # fmt: skip

    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            return SmallModes.joined(list(pool.map(batch, starts)))
    return SmallModes.joined([batch(start) for start in starts])


def _solve_batch(
    matrices: Sequence[Array], frequency: Array, conservative: Mask, k: int, every: bool,
    prescribed: Sequence[tuple[Array, Array]],
) -> SmallModes:  # fmt: skip
    M, E, K = matrices
    r = len(frequency)
    # L⁻¹ of M = LLᵀ.
    inverse = None if np.abs(M - np.eye(r)).max() < 1e-12 else np.linalg.inv(np.linalg.cholesky(M))
    if inverse is not None:
        E, K = (inverse @ A @ inverse.transpose(0, 2, 1) for A in (E, K))
    if prescribed:
        counts, parts = np.array([T.shape[1] for T, _ in prescribed]), []
        groups = [np.flatnonzero(counts == t) for t in np.unique(counts)]
        for group in groups:
            Z, outside = _outside(np.stack([prescribed[p][0] for p in group]), frequency)
            E_Z, K_Z = (Z.transpose(0, 2, 1) @ A[group] @ Z for A in (E, K))
            null = [z.T @ prescribed[p][1] for p, z in zip(group, Z, strict=True)]
            found = _structured(E_Z, K_Z, outside, conservative[group], k, every, null)
            parts.append(found.lifted(Z))
        modes = SmallModes.joined(parts).points(np.argsort(np.concatenate(groups)))
    else:
        modes = _structured(E, K, frequency, conservative, k, every)
    return modes if inverse is None else modes.lifted(inverse.transpose(0, 2, 1))


def _outside(T: Array, frequency: Array) -> tuple[Array, Array]:
    """Orthonormal complements Z (P, r, r − t) of columns T (P, r, t), ZᵀΩ²Z diagonal, and its
    square roots."""
    Z = np.linalg.qr(T, mode="complete")[0][:, :, T.shape[2] :]
    squares, U = np.linalg.eigh(Z.transpose(0, 2, 1) @ (frequency[:, None] ** 2 * Z))
    return Z @ U, np.sqrt(squares)


def _structured(
    E: Array, K: Array, frequency: Array, conservative: Mask, k: int, every: bool,
    null: Sequence[Array] = (),
) -> SmallModes:  # fmt: skip
    """Each point by its structure; frequency (r,)."""
    frequency = np.broadcast_to(frequency, K.shape[:2])
    null = null or [np.zeros((K.shape[1], 0))] * len(K)
    out: list[SmallModes | None] = [
        _skew(E[p], K[p], null[p], k) if conservative[p] else None for p in range(len(K))
    ]
    rest = [p for p, found in enumerate(out) if found is None]
    if rest:
        general = _general(E[rest], K[rest], frequency[rest], k, every)
        for i, p in enumerate(rest):
            out[p] = general.points(slice(i, i + 1))
    return SmallModes.joined([found for found in out if found is not None])


def solve_matrices(matrices: Array, k: int, every: bool = False) -> SmallModes:
    """The k lowest eigenpairs of P problems (3, P, r, r) of their own, of any structure, or all.

    Solved in coordinates in which every M is I and the symmetric part of K diagonal at the first.
    """
    M, C, K = matrices
    squares, Z = la.eigh(0.5 * (K[0] + K[0].T), M[0])
    frequency, none = coordinate_frequencies(squares), np.zeros(len(M), dtype=bool)
    X = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ M @ Z)).transpose(0, 2, 1)
    E, K = (X.transpose(0, 2, 1) @ A @ X for A in (C, K))
    unit = np.broadcast_to(np.eye(len(Z)), E.shape)
    return solve_points((unit, E, K), frequency, none, k, every=every).lifted(X)


def coordinate_frequencies(squares: Array) -> Array:
    """Square roots of the moduli of ascending eigenvalues (r,) of (K, M), none next to zero."""
    moduli = np.abs(squares)
    least = WEAK**2 * float(moduli[min(3, len(squares) - 1)] or moduli.max() or 1.0)
    return np.asarray(np.sqrt(np.maximum(moduli, least)))


def _skew(E: Array, K: Array, V: Array, k: int) -> SmallModes | None:
    """Conservative: E skew, K symmetric. None when K is not positive definite but for orthonormal
    V (r, m) with KV = 0, VᵀEV = 0.

    With q = Va + Zb the rows of V, divided by λ, read a = −VᵀEZ b/λ. What is left for b has the
    same structure, with ZᵀKZ + (VᵀEZ)ᵀVᵀEZ as stiffness.
    """
    if V.shape[1]:
        Z = la.qr(V)[0][:, V.shape[1] :]
        B = V.T @ E @ Z
        found = _skew(Z.T @ E @ Z, Z.T @ K @ Z + B.T @ B, V[:0, :0], k)
        if found is None:
            return None
        shapes = Z @ found.right - V @ (B @ found.right) / found.eigenvalues[:, None]
        return replace(found, right=shapes, left=shapes)
    r = len(K)
    L, info = la.lapack.dpotrf(0.5 * (K + K.T), lower=1, clean=1)
    if info != 0:
        return None
    H = np.zeros((2 * r, 2 * r), dtype=complex)
    H[:r, r:] = -1j * L.T
    H[r:, :r] = 1j * L
    H[r:, r:] = 0.5j * (E - E.T)
    count = min(k, r)
    # The lower triangle alone is read: the eigenvalues of −iS are real by construction.
    omega, Z = eigenpairs_in_order(H, r, r + count - 1)
    if omega[0] <= 0.0:
        return None
    q = Z[r:] / (1j * omega)
    spread = float(np.linalg.norm(L) + np.linalg.norm(E))
    modes = SmallModes(
        (1j * omega)[None], q[None], q[None], np.ones((1, count)), np.array([spread]),
        np.array([True]),
    )  # fmt: skip
    return modes.filled(k)


def _general(E: Array, K: Array, frequency: Array, k: int, every: bool) -> SmallModes:
    """Any E and K (P, r, r), frequency (P, r). numpy's batched LAPACK lets other threads run,
    scipy's does not."""
    P, r, _ = K.shape
    A = np.zeros((P, 2 * r, 2 * r))
    A[:, np.arange(r), r + np.arange(r)] = frequency
    A[:, r:, :r] = -K / frequency[:, None, :]
    A[:, r:, r:] = -E
    found = RealEigenpairs.of(A)
    upper = found.values.imag >= 0.0
    size = np.where(upper, _sizes(A, found, frequency), np.inf)
    count = max(k, int(upper.sum(axis=1).max())) if every else k
    order = np.lexsort((found.values.real, found.values.imag, size), axis=1)[:, :count]
    lam, X, Y = found.columns(order)
    missing = ~np.take_along_axis(upper, order, 1)
    pairing = np.abs((Y.conj() * X).sum(axis=1))
    condition = np.linalg.norm(X, axis=1) * np.linalg.norm(Y, axis=1)
    condition = condition / np.maximum(pairing, np.finfo(float).tiny)
    modes = SmallModes(
        np.where(missing, np.nan, lam), X[:, :r] / frequency[:, :, None], Y[:, r:],
        np.where(missing, np.nan, condition), found.norms, np.zeros(P, dtype=bool),
    )  # fmt: skip
    return modes.filled(k)


@dataclass(frozen=True)
class RealEigenpairs:
    """All eigenpairs of real matrices (P, n, n), as LAPACK orders them.

    values (P, n). Of a pair, which is in a row, the columns of `right` (P, n, n) are the real and
    the imaginary part of x = a + ib, and the rows w_a and w_b of `left` make (w_a + iw_b)/2. norms
    (P,): of the matrices.
    """

    values: Complex
    right: Array
    left: Array
    norms: Array

    @classmethod
    def of(cls, A: Array) -> RealEigenpairs:
        """Left vectors are the inverse of the right ones; a double real eigenvalue is two."""
        lam, X = (part.astype(complex, copy=False) for part in np.linalg.eig(A))
        right = np.where((lam.imag < 0.0)[:, None], -X.imag, X.real)
        regular = np.isfinite(np.linalg.slogdet(right)[1])
        left = np.zeros_like(right)
        left[regular] = np.linalg.inv(right[regular])
        # The inverse of the eigenvectors of a defective matrix is round-off: left ones by LAPACK.
        large = HALF * np.linalg.norm(left, axis=(1, 2)) > 1.0
        for p in np.flatnonzero(~regular | large):
            lam[p], Y, Z = la.eig(A[p], left=True, right=True, check_finite=False)
            second, twice = lam[p].imag < 0.0, np.where(lam[p].imag == 0.0, 1.0, 2.0)
            right[p] = np.where(second, -Z.imag, Z.real)
            left[p] = (twice * np.where(second, -Y.imag, Y.real)).T
        found = cls(lam, right, left, np.linalg.norm(A, axis=(1, 2)))
        p, j = np.nonzero((lam.imag > 0.0) & (lam.imag <= HALF * np.abs(lam)))
        if p.size:
            pair = np.stack([j, j + 1], axis=1)
            lam[p[:, None], pair], right[p[:, None], :, pair], left[p[:, None], pair] = (
                found._separated(p, pair)
            )
        return found

    def _separated(self, p: Index, pair: Index) -> tuple[Complex, Array, Array]:
        """Some pairs (N, 2) of matrices p (N,), those of a double real eigenvalue separated; their
        values, columns and rows."""
        rows = p[:, None]
        parts = self.right[rows, :, pair], self.left[rows, pair]
        x, y = (part[:, 0] + 1j * part[:, 1] for part in parts)
        X, Y = (np.stack([each, each.conj()], axis=2) for each in (x, 0.5 * y))
        lam, X, Y = separated(self.values[rows, pair], X, Y, self.norms[p])
        double = (lam.imag == 0.0)[:, :1, None]
        columns, others = X.real.swapaxes(1, 2), Y.real.swapaxes(1, 2)
        return lam, np.where(double, columns, parts[0]), np.where(double, others, parts[1])

    def columns(self, index: Index) -> tuple[Complex, Complex, Complex]:
        """Values (P, k), right and left vectors (P, n, k) of some of each matrix, index (P, k)."""
        lam = np.take_along_axis(self.values, index, 1)
        sign = np.sign(lam.imag)
        real, imaginary = index - (sign < 0.0), index + (sign > 0.0)
        right, rows = self.right.swapaxes(1, 2), np.arange(len(lam))[:, None]
        X, Y = (
            table[rows, real] + 1j * sign[:, :, None] * table[rows, imaginary]
            for table in (right, self.left)
        )
        Y *= np.where(sign == 0.0, 1.0, 0.5)[:, :, None]
        return lam, X.swapaxes(1, 2), Y.swapaxes(1, 2)


def _sizes(A: Array, found: RealEigenpairs, frequency: Array) -> Array:
    """By which the modes of state matrices are ordered (modal/eigen/spectrum.py), (P, 2r)."""
    r, lam = frequency.shape[1], found.values
    out = np.abs(lam)
    E = -A[:, r:, r:]
    damping = np.abs(E + E.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
    damped = damping > ZERO * np.abs(E).max(axis=(1, 2), initial=0.0)
    slow = overdamped(lam) & (lam.imag >= 0.0) & damped[:, None]
    count = int(slow.sum(axis=1).max(initial=0))
    if count:
        # As many of each point: the rest are others.
        index = np.argsort(~slow, axis=1, kind="stable")[:, :count]
        some, state, _ = found.columns(index)
        q, v = state[:, :r], state[:, r:]
        # The larger half of a state carries its shape with the smaller error.
        by_q = (np.linalg.norm(q, axis=1) >= np.linalg.norm(v, axis=1))[:, None]
        shapes = np.where(by_q, q / frequency[:, :, None], v)
        images = times(-A[:, r:, :r] * frequency[:, None, :], shapes)
        forms = ((shapes.conj() * images).sum(axis=1), (np.abs(shapes) ** 2).sum(axis=1))
        there = np.take_along_axis(slow, index, 1)
        np.put_along_axis(out, index, np.where(there, sizes(some, *forms), np.abs(some)), 1)
    return out
