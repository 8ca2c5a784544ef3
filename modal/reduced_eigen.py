"""The small eigenproblems of many points at once: (λ²M_p + λE_p + K_p) q = 0 of order r, dense.

Conservative points with positive definite K_p = LLᵀ: in the coordinates (Lᵀq, v) the state matrix
is the skew S = [[0, Lᵀ], [−L, −E]], −iS is Hermitian, and every eigenvalue comes out exactly
imaginary. Others: the state matrix in the coordinates (Ω q, v), Ω the reference frequencies, which
is skew but for what motion adds. All coordinates are M-orthonormal (M_p = I unless mass varies,
which a Cholesky factor then absorbs).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import ConvergenceError
from modal.affine import Coefficients
from modal.basis import Projected

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

BATCH = 50  # points whose matrices are formed together: a few megabytes


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
    exact: NDArray[np.bool_]

    def take(self, index: NDArray[np.intp]) -> SmallModes:
        """The modes index (P, k′) of every point."""
        pick = index[:, None, :]
        return replace(
            self,
            eigenvalues=np.take_along_axis(self.eigenvalues, index, 1),
            right=np.take_along_axis(self.right, pick, 2),
            left=np.take_along_axis(self.left, pick, 2),
            condition=np.take_along_axis(self.condition, index, 1),
        )

    def points(self, index: NDArray[np.intp] | slice) -> SmallModes:
        return SmallModes(
            self.eigenvalues[index],
            self.right[index],
            self.left[index],
            self.condition[index],
            self.spread[index],
            self.exact[index],
        )

    @classmethod
    def joined(cls, parts: list[SmallModes]) -> SmallModes:
        names = ("eigenvalues", "right", "left", "condition", "spread", "exact")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def solve_points(
    projected: Projected,
    at: Coefficients,
    conservative: NDArray[np.bool_],
    k: int,
    threads: int = 1,
) -> SmallModes:
    """The k eigenpairs of smallest |λ| at every point of `at`."""
    starts = range(0, len(at), BATCH)

    def batch(start: int) -> SmallModes:
        index = slice(start, min(start + BATCH, len(at)))
        return _solve_batch(projected, at.take(index), conservative[index], k)

    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            return SmallModes.joined(list(pool.map(batch, starts)))
    return SmallModes.joined([batch(start) for start in starts])


def _solve_batch(
    projected: Projected, at: Coefficients, conservative: NDArray[np.bool_], k: int
) -> SmallModes:
    r = projected.size
    flat = projected.matrices.reshape(len(projected.matrices), r * r)
    E, K = ((c @ flat).reshape(-1, r, r) for c in (at.damping, at.stiffness))
    N = _mass_factors(projected, at, flat)
    out: list[SmallModes] = []
    for p in range(len(at)):
        factor = None if N is None else N[p]
        e, s = (
            (E[p], K[p])
            if factor is None
            else (_congruence(factor, E[p]), _congruence(factor, K[p]))
        )
        found = _skew(e, s, k) if conservative[p] else None
        found = found or _general(e, s, projected.frequency, k)
        out.append(found if factor is None else _unscaled(found, factor))
    return SmallModes.joined(out)


def _mass_factors(projected: Projected, at: Coefficients, flat: Array) -> Array | None:
    """Cholesky factors N of M_p = NNᵀ, or None where the mass is the reference's at every point."""
    r = projected.size
    reference = np.eye(r).ravel()
    rows = np.unique(at.mass, axis=0)
    if all(np.abs(row @ flat - reference).max() < 1e-12 for row in rows):
        return None
    return np.asarray(np.linalg.cholesky((at.mass @ flat).reshape(-1, r, r)))


def _congruence(N: Array, A: Array) -> Array:
    """N⁻¹ A N⁻ᵀ."""
    half = la.solve_triangular(N, A, lower=True, check_finite=False)
    return np.asarray(la.solve_triangular(N, half.T, lower=True, check_finite=False).T)


def _unscaled(modes: SmallModes, N: Array) -> SmallModes:
    back = [
        la.solve_triangular(N, X[0], lower=True, trans="T", check_finite=False)[None]
        for X in (modes.right, modes.left)
    ]
    return replace(modes, right=back[0], left=back[1])


def _skew(E: Array, K: Array, k: int) -> SmallModes | None:
    """Conservative: E skew, K symmetric. None when K is not positive definite."""
    r = len(K)
    L, info = la.lapack.dpotrf(0.5 * (K + K.T), lower=1, clean=1)
    if info != 0:
        return None
    H = np.zeros((2 * r, 2 * r), dtype=complex)
    H[:r, r:] = -1j * L.T
    H[r:, :r] = 1j * L
    H[r:, r:] = 0.5j * (E - E.T)
    count = min(k, r)
    # zheevr reads the lower triangle only: the eigenvalues of −iS are real by construction.
    omega, Z = la.eigh(
        H, subset_by_index=[r, r + count - 1], driver="evr", overwrite_a=True, check_finite=False
    )
    if omega[0] <= 0.0:
        return None
    q = Z[r:] / (1j * omega)
    spread = float(np.linalg.norm(L) + np.linalg.norm(E))
    return _filled(1j * omega, q, q, np.ones(count), spread, True, k)


def _general(E: Array, K: Array, frequency: Array, k: int) -> SmallModes:
    r = len(K)
    A = np.zeros((2 * r, 2 * r))
    A[np.arange(r), r + np.arange(r)] = frequency
    A[r:, :r] = -K / frequency
    A[r:, r:] = -E
    spread = float(np.linalg.norm(A))
    real, imag, left, right, info = la.lapack.dgeev(A)
    if info != 0:
        raise ConvergenceError(f"LAPACK dgeev stopped at eigenvalue {info} of {2 * r}")
    upper = np.flatnonzero(imag >= 0.0)
    size = np.hypot(real[upper], imag[upper])
    order = upper[np.lexsort((real[upper], imag[upper], size))][:k]
    lam = real[order] + 1j * imag[order]
    X, Y = (_unpacked(packed, order, imag) for packed in (right, left))
    pairing = np.abs(np.einsum("ij,ij->j", Y.conj(), X))
    condition = (
        np.linalg.norm(X, axis=0)
        * np.linalg.norm(Y, axis=0)
        / np.maximum(pairing, np.finfo(float).tiny)
    )
    return _filled(lam, X[:r] / frequency[:, None], Y[r:], condition, spread, False, k)


def _unpacked(packed: Array, order: NDArray[np.intp], imag: Array) -> Complex:
    """Columns of LAPACK's real packing: a pair's real and imaginary parts are neighbours."""
    turn = np.where(imag[order] > 0.0, 1j, 0.0)
    after = np.minimum(order + 1, packed.shape[1] - 1)
    return np.asarray(packed[:, order] + turn * packed[:, after])


def _filled(
    lam: Complex,
    right: Complex,
    left: Complex,
    condition: Array,
    spread: float,
    exact: bool,
    k: int,
) -> SmallModes:
    missing = k - len(lam)
    if missing > 0:
        lam = np.pad(lam, (0, missing), constant_values=np.nan)
        condition = np.pad(condition, (0, missing), constant_values=np.nan)
        right, left = (
            np.pad(X, ((0, 0), (0, missing)), constant_values=np.nan) for X in (right, left)
        )
    return SmallModes(
        lam[None], right[None], left[None], condition[None], np.array([spread]), np.array([exact])
    )
