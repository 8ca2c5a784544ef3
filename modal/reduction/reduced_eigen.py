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
        return replace(self, right=basis @ self.right, left=basis @ self.left)

    def points(self, index: Index | slice) -> SmallModes:
        """Those of some of the points."""
        return SmallModes(*(array[index] for array in vars(self).values()))

    @classmethod
    def joined(cls, parts: Sequence[SmallModes]) -> SmallModes:
        """The points of several."""
        return cls(*map(np.concatenate, zip(*(vars(p).values() for p in parts), strict=True)))


def solve_points(
    matrices: Array,
    frequency: Array,
    conservative: Mask,
    k: int,
    threads: int = 1,
    every: bool = False,
    prescribed: Sequence[tuple[Array, Array]] = (),
    size: int = 25,
) -> SmallModes:
    """The k lowest eigenpairs of P problems; every: all, where not exact.

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
            matrices[:, index], frequency, conservative[index], k, every, prescribed[index]
        )

    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            return SmallModes.joined(list(pool.map(batch, starts)))
    return SmallModes.joined([batch(start) for start in starts])


def _solve_batch(
    matrices: Array, frequency: Array, conservative: Mask, k: int, every: bool,
    prescribed: Sequence[tuple[Array, Array]],
) -> SmallModes:  # fmt: skip
    M, E, K = matrices
    r = len(frequency)
    # L⁻¹ of M = LLᵀ.
    inverse = None if np.abs(M - np.eye(r)).max() < 1e-12 else np.linalg.inv(np.linalg.cholesky(M))
    if inverse is not None:
        E, K = (inverse @ A @ inverse.transpose(0, 2, 1) for A in (E, K))
    wide = 2 * r if every else k
    if prescribed:
        counts, parts = np.array([T.shape[1] for T, _ in prescribed]), []
        groups = [np.flatnonzero(counts == t) for t in np.unique(counts)]
        for group in groups:
            Z, outside = _outside(np.stack([prescribed[p][0] for p in group]), frequency)
            E_Z, K_Z = (Z.transpose(0, 2, 1) @ A[group] @ Z for A in (E, K))
            null = [z.T @ prescribed[p][1] for p, z in zip(group, Z, strict=True)]
            found = _structured(E_Z, K_Z, outside, conservative[group], k, wide, null)
            parts.append(found.lifted(Z))
        modes = SmallModes.joined(parts).points(np.argsort(np.concatenate(groups)))
    else:
        modes = _structured(E, K, frequency, conservative, k, wide)
    return modes if inverse is None else modes.lifted(inverse.transpose(0, 2, 1))


def _outside(T: Array, frequency: Array) -> tuple[Array, Array]:
    """Orthonormal complements Z (P, r, r − t) of columns T (P, r, t), ZᵀΩ²Z diagonal, and its
    square roots."""
    Z = np.linalg.qr(T, mode="complete")[0][:, :, T.shape[2] :]
    squares, U = np.linalg.eigh(Z.transpose(0, 2, 1) @ (frequency[:, None] ** 2 * Z))
    return Z @ U, np.sqrt(squares)


def _structured(
    E: Array, K: Array, frequency: Array, conservative: Mask, k: int, wide: int,
    null: Sequence[Array] = (),
) -> SmallModes:  # fmt: skip
    """Each point by its structure, `wide` columns; frequency (r,)."""
    frequency = np.broadcast_to(frequency, K.shape[:2])
    null = null or [np.zeros((K.shape[1], 0))] * len(K)
    out: list[SmallModes | None] = [
        _skew(E[p], K[p], null[p], k, wide) if conservative[p] else None for p in range(len(K))
    ]
    rest = [p for p, found in enumerate(out) if found is None]
    if rest:
        general = _general(E[rest], K[rest], frequency[rest], wide)
        for i, p in enumerate(rest):
            out[p] = general.points(slice(i, i + 1))
    return SmallModes.joined([found for found in out if found is not None])


def solve_matrices(matrices: Array, k: int) -> SmallModes:
    """The k lowest eigenpairs of P problems (3, P, r, r) of their own, of any structure.

    Solved in the coordinates in which M is I and the symmetric part of K diagonal at the first.
    """
    M, _, K = matrices[:, 0]
    squares, Z = la.eigh(0.5 * (K + K.T), M)
    frequency, none = coordinate_frequencies(squares), np.zeros(matrices.shape[1], dtype=bool)
    return solve_points(Z.T @ matrices @ Z, frequency, none, k).lifted(Z)


def coordinate_frequencies(squares: Array) -> Array:
    """Square roots of the moduli of ascending eigenvalues (r,) of (K, M), none next to zero."""
    moduli = np.abs(squares)
    least = WEAK**2 * float(moduli[min(3, len(squares) - 1)] or moduli.max() or 1.0)
    return np.asarray(np.sqrt(np.maximum(moduli, least)))


def _skew(E: Array, K: Array, V: Array, k: int, wide: int) -> SmallModes | None:
    """Conservative: E skew, K symmetric, `wide` columns. None when K is not positive definite but
    for orthonormal V (r, m) with KV = 0, VᵀEV = 0.

    With q = Va + Zb the rows of V, divided by λ, read a = −VᵀEZ b/λ. What is left for b has the
    same structure, with ZᵀKZ + (VᵀEZ)ᵀVᵀEZ as stiffness.
    """
    if V.shape[1]:
        Z = la.qr(V)[0][:, V.shape[1] :]
        B = V.T @ E @ Z
        found = _skew(Z.T @ E @ Z, Z.T @ K @ Z + B.T @ B, V[:0, :0], k, 0)
        if found is None:
            return None
        shapes = Z @ found.right - V @ (B @ found.right) / found.eigenvalues[:, None]
        return replace(found, right=shapes, left=shapes).filled(wide)
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
    return modes.filled(wide)


def _general(E: Array, K: Array, frequency: Array, k: int) -> SmallModes:
    """Any E and K (P, r, r), frequency (P, r). numpy's batched LAPACK lets other threads run,
    scipy's does not."""
    P, r, _ = K.shape
    A = np.zeros((P, 2 * r, 2 * r))
    A[:, np.arange(r), r + np.arange(r)] = frequency
    A[:, r:, :r] = -K / frequency[:, None, :]
    A[:, r:, r:] = -E
    spread = np.linalg.norm(A, axis=(1, 2))
    lam, X, Y = _lowest(A, spread, k, frequency)
    pairing = np.abs(np.einsum("prk,prk->pk", Y.conj(), X))
    condition = np.linalg.norm(X, axis=1) * np.linalg.norm(Y, axis=1)
    condition = condition / np.maximum(pairing, np.finfo(float).tiny)
    condition[np.isnan(lam)] = np.nan
    modes = SmallModes(
        lam, X[:, :r] / frequency[:, :, None], Y[:, r:], condition, spread,
        np.zeros(P, dtype=bool),
    )  # fmt: skip
    return modes.filled(k)


def eigenpairs(A: Array) -> tuple[Complex, Complex, Complex]:
    """All eigenvalues, right and left vectors of matrices (P, n, n), as LAPACK orders them.

    Of a pair x = a ± ib, which is in a row, rows w_a and w_b of the inverse of all real and
    imaginary parts make the left ones (w_a ± iw_b)/2.
    """
    lam, X = (part.astype(complex) for part in np.linalg.eig(A))
    first, second = (lam.imag > 0.0)[:, None], (lam.imag < 0.0)[:, None]
    parts = np.where(second, -X.imag, X.real)
    regular = np.isfinite(np.linalg.slogdet(parts)[1])
    W = parts.copy()
    W[regular] = np.linalg.inv(parts[regular]).transpose(0, 2, 1)
    pair = np.where(first, W, np.roll(W, 1, axis=2)) + 1j * np.where(second, -W, np.roll(W, -1, 2))
    Y = np.where(first | second, 0.5 * pair, W)
    # The inverse of the eigenvectors of a defective matrix is round-off: left ones by LAPACK.
    for p in np.flatnonzero(~regular | (HALF * np.linalg.norm(Y, axis=(1, 2)) > 1.0)):
        lam[p], Y[p], X[p] = la.eig(A[p], left=True, right=True, check_finite=False)
    return lam, X, Y


def _lowest(A: Array, spread: Array, k: int, frequency: Array) -> tuple[Complex, Complex, Complex]:
    """The k lowest eigenpairs of matrices (P, 2r, 2r) from all of them; NaN for none."""
    lam, X, Y = separated(*eigenpairs(A), spread)
    upper = lam.imag >= 0.0
    size = np.where(upper, _sizes(A, lam, X, frequency), np.inf)
    order = np.lexsort((lam.real, lam.imag, size), axis=1)[:, :k]
    lam = np.where(np.take_along_axis(upper, order, 1), np.take_along_axis(lam, order, 1), np.nan)
    X, Y = (np.take_along_axis(vectors, order[:, None, :], 2) for vectors in (X, Y))
    return lam, X, Y


def _sizes(A: Array, lam: Complex, X: Complex, frequency: Array) -> Array:
    """By which the modes of state matrices are ordered (modal/eigen/spectrum.py), (P, 2r)."""
    r = frequency.shape[1]
    out = np.abs(lam)
    E = -A[:, r:, r:]
    damping = np.abs(E + E.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
    damped = damping > ZERO * np.abs(E).max(axis=(1, 2), initial=0.0)
    some = np.flatnonzero(damped & overdamped(lam).any(axis=1))
    if some.size:
        q, v = X[some, :r], X[some, r:]
        # The larger half of a state carries its shape with the smaller error.
        by_q = np.linalg.norm(q, axis=1) >= np.linalg.norm(v, axis=1)
        shapes = np.where(by_q[:, None], q / frequency[some][:, :, None], v)
        images = -(A[some, r:, :r] * frequency[some][:, None]) @ shapes
        forms = ((shapes.conj() * images).sum(axis=1), (np.abs(shapes) ** 2).sum(axis=1))
        out[some] = sizes(lam[some], *forms)
    return out
