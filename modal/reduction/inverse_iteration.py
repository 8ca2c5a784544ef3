"""A few eigenpairs of many small quadratic problems: all eigenvalues, vectors of the lowest only.

The eigenvalues of the state matrix come from the QR iteration, which finds all of them, without
vectors. One solve with T(λ) = λ² + λE + K at a computed λ gives a vector to round-off (Peters and
Wilkinson, SIAM Rev. 21 (1979) 339), where no other eigenvalue is near; it is half the size of the
state matrix.
"""

from __future__ import annotations

import numpy as np

from modal.types import Array, Complex, Mask

APART = 1e-6  # of |λ|: other eigenvalues are at least so far from one that is taken
ROUND_OFF = 1e6 * np.finfo(float).eps  # of the state matrix: the same
BACKWARD = 64.0 * np.finfo(float).eps  # of the state matrix: backward error of a vector, at most


def lowest_eigenpairs(
    A: Array, E: Array, K: Array, frequency: Array, spread: Array, k: int
) -> tuple[Complex, Complex, Complex, Mask]:
    """The k eigenpairs of smallest |λ|, Im λ ≥ 0, of P problems.

    Parameters
    ----------
    A : ndarray, shape (P, 2r, 2r)
        State matrices [[0, Ω], [−KΩ⁻¹, −E]], in the coordinates (Ωq, λq).
    E, K : ndarray, shape (P, r, r)
    frequency : ndarray, shape (P, r)
        The diagonal of Ω.
    spread : ndarray, shape (P,)
        Norms of A.

    Returns
    -------
    lam : ndarray, shape (P, k)
    right, left : ndarray, shape (P, 2r, k)
        Vectors of A, of unit norm.
    sound : ndarray of bool, shape (P,)
        False where there are fewer than k, where eigenvalues are too near each other for their
        vectors, or a vector is not found to round-off; nothing of these points is to be used.
    """
    every = np.linalg.eigvals(A)
    P, r = K.shape[:2]
    size = np.where(every.imag >= 0.0, np.abs(every), np.inf)
    order = np.lexsort((every.real, every.imag, size), axis=1)[:, :k]
    lam = np.take_along_axis(every, order, 1).astype(complex)
    gap = np.abs(lam[:, :, None] - every[:, None, :])
    np.put_along_axis(gap, order[:, :, None], np.inf, axis=2)
    far = APART * np.abs(lam) + ROUND_OFF * spread[:, None]
    sound = np.isfinite(np.take_along_axis(size, order, 1)).all(axis=1)
    sound &= (gap.min(axis=2) > far).all(axis=1)
    row = lam[:, :, None, None]
    T = row * E[:, None] + K[:, None]
    T[..., np.arange(r), np.arange(r)] += (lam**2)[:, :, None]
    starts = np.random.default_rng(31).standard_normal((2, r, 1)) + 0j
    vectors = []
    for B, start in zip((T, T.conj().swapaxes(2, 3)), starts / np.linalg.norm(starts), strict=True):
        try:
            x = np.linalg.solve(B, np.broadcast_to(start, (P, k, r, 1)))[..., 0].swapaxes(1, 2)
        except np.linalg.LinAlgError:
            none = np.zeros((P, 2 * r, k), dtype=complex)
            return lam, none, none.copy(), np.zeros(P, dtype=bool)
        size = np.linalg.norm(x, axis=1)
        sound &= (size * np.abs(lam) * BACKWARD * spread[:, None] >= 1.0).all(axis=1)
        vectors.append(x / size[:, None, :])
    q, w = vectors
    right = np.concatenate([frequency[:, :, None] * q, lam[:, None, :] * q], axis=1)
    upper = (lam.conj()[:, None, :] * w + E.swapaxes(1, 2) @ w) / frequency[:, :, None]
    left = np.concatenate([upper, w], axis=1)
    right, left = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (right, left))
    return lam, right, left, sound
