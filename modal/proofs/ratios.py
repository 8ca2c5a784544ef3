"""The largest ratio |xᴴBx| / xᴴAx of a symmetric or skew B to a positive definite A.

Small: LAPACK. Large: Lanczos in the A inner product from a random start, widened by what it can
have missed. For a positive semidefinite operator k steps fall short of the largest eigenvalue by a
relative ε with a probability of at most 1.648 √n exp(−√ε (2k − 1)) (Kuczyński and Woźniakowski,
SIAM J. Matrix Anal. Appl. 13 (1992) 1094, theorem 4.2). For spectra of both signs ε is relative to
their width.

The theorem is for a start that is isotropic in the A inner product. The start used, A⁻¹ times a
vector with the standard deviations √diag A, is nearly that, with more weight on soft directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization, cholesky
from modal.eigen.tolerances import EPS, ROUND_OFF, SMALL, ZERO
from modal.types import Array, Complex

Product = Callable[[Array], Array]

STEPS = 40  # of Lanczos: a skew ratio is then within 20 %
FAILURE = 1e-6  # probability that a bound is too small
INVARIANT = 1e-10  # of a vector's size: what leaves an invariant space, or reaches a null space
LARGEST_MISS = 0.9  # ε beyond which more steps are needed: the bound is then ten times as wide


def skew_ratio(B: sp.csr_matrix, A: sp.csr_matrix) -> float:
    """max |xᴴBx| / xᴴAx of a skew B; infinite where B reaches what A leaves at zero.

    A: symmetric positive semidefinite; infinite too for a large A that is singular on the degrees
    of freedom that it acts on.
    """
    if B.nnz == 0:
        return 0.0
    rows = np.flatnonzero((np.diff(A.indptr) > 0) & (abs(A).sum(axis=1).A1 > 0.0))
    if len(np.setdiff1d(np.unique(B.nonzero()[0]), rows)):
        return np.inf
    if len(rows) < A.shape[0]:
        A, B = (sp.csr_matrix(matrix[rows][:, rows]) for matrix in (A, B))
    if len(rows) <= SMALL:
        return _dense_skew_ratio(B.toarray(), A.toarray())
    factor = cholesky(A)
    if factor is None:
        return np.inf
    with factor:
        scale = np.sqrt(A.diagonal())
        return lanczos(factor.solve, A.__matmul__, [lambda x: B @ x], scale, skew=True)[0][1]


def _dense_skew_ratio(B: Array, A: Array) -> float:
    """As `skew_ratio` for full matrices; infinite too for an A that is not semidefinite."""
    if not np.all(np.diag(A) > 0.0):
        return np.inf
    scale = 1.0 / np.sqrt(np.diag(A))
    A, B = A * np.outer(scale, scale), B * np.outer(scale, scale)
    if is_definite(A - ZERO * len(A) * np.eye(len(A))):
        L = la.cholesky(A, lower=True)
        half = la.solve_triangular(L, B, lower=True)
        return float(np.linalg.norm(la.solve_triangular(L, half.T, lower=True), 2))
    sizes, U = la.eigh(A)
    if sizes[0] < -_margin(len(A)):
        return np.inf
    nonzero = sizes > ZERO * len(A)
    if not nonzero.all():
        reach = np.abs(B @ U[:, ~nonzero]).max(initial=0.0)
        if reach > INVARIANT * np.abs(B).max():
            return np.inf
    half = U[:, nonzero] / np.sqrt(sizes[nonzero])
    return float(np.linalg.norm(half.T @ B @ half, 2))


def largest_ratio(B: sp.csr_matrix, A: sp.csr_matrix) -> float:
    """An upper bound of max xᵀBx / xᵀAx; B positive semidefinite, A positive definite."""
    n = A.shape[0]
    if n <= SMALL:
        return float(la.eigvalsh(B.toarray(), A.toarray())[-1])
    with Factorization(A, "spd") as factor:
        scale, products = np.sqrt(A.diagonal()), [B.__matmul__]
        return lanczos(factor.solve, A.__matmul__, products, scale, semidefinite=[True])[0][1]


def is_semidefinite(A: sp.csr_matrix) -> bool:
    """Whether a symmetric A is positive semidefinite to round-off of its own rows."""
    rows = np.flatnonzero(np.diff(A.indptr) > 0)
    if len(rows) < A.shape[0]:
        A = sp.csr_matrix(A[rows][:, rows])
    return not len(rows) or _has_cholesky(A, _margin(len(rows)))


def is_definite(A: sp.csr_matrix | Array | Complex) -> bool:
    """Whether a Hermitian A is positive definite beyond round-off: one Cholesky factorization."""
    return _has_cholesky(A, -_margin(A.shape[0]))


def _margin(n: int) -> float:
    """What round-off of a factor of size n can make of eigenvalues of a unit diagonal."""
    return 4.0 * min(n * EPS, ROUND_OFF)


def _has_cholesky(A: sp.csr_matrix | Array | Complex, shift: float) -> bool:
    """Whether A, scaled to a unit diagonal, and so much more of the identity is definite."""
    diagonal, n = A.diagonal().real, A.shape[0]
    if not np.all(diagonal > 0.0):
        return False
    if n <= SMALL:
        full = A if isinstance(A, np.ndarray) else A.toarray()
        (factorize,) = la.get_lapack_funcs(("potrf",), (full,))
        return bool(factorize(full + np.diag(shift * diagonal))[1] == 0)
    entries, scale, own = sp.coo_matrix(A), 1.0 / np.sqrt(diagonal), np.arange(n)
    row, column = entries.row, entries.col
    data = np.append(entries.data * (scale[row] * scale[column]), np.full(n, shift))
    row, column = np.append(row, own), np.append(column, own)
    if A.dtype.kind == "c":  # in real form
        data = np.concatenate([data.real, data.real, -data.imag, data.imag])
        row = np.concatenate([row, row + n, row, row + n])
        column = np.concatenate([column, column + n, column + n, column])
        n *= 2
    acts = np.flatnonzero(data)
    factor = cholesky(sp.csr_matrix((data[acts], (row[acts], column[acts])), (n, n)))
    if factor is not None:
        factor.destroy()
    return factor is not None


def lanczos(
    solve: Product,
    energy: Product,
    products: list[Product],
    scale: Array,
    *,
    skew: bool = False,
    semidefinite: Sequence[bool] = (),
    without: tuple[Array, Array] | None = None,
    steps: int = STEPS,
    enough: Sequence[float] = (),
) -> list[tuple[float, float]]:
    """Bounds (low, high) of xᴴBx / xᴴAx for several B, widened by what Lanczos can have missed.

    All B advance together, so that a step is one block solve.

    Parameters
    ----------
    solve : callable
        A⁻¹ times the columns (n, k).
    energy : callable
        A times the columns (n, 1). The images of the vectors are formed with it, not recurred: the
        errors of a recurrence multiply where vectors are nearly dependent.
    products : list of callable
        B times columns (n, 1), one callable for each B.
    scale : ndarray, shape (n,)
        Standard deviations of A times the random start, such as √diag A.
    skew : bool
        Whether every B is skew; the bounds are then of the modulus.
    semidefinite : sequence of bool
        Whether each B is positive semidefinite; its bounds are then closer. Empty: none is.
    without : tuple of ndarray, shape (n, m)
        X with XᵀAX = I, and AX: x is restricted to XᵀAx = 0.
    steps : int
        Steps of the iteration.
    enough : sequence of float
        Modulus of each B's bounds below which its iteration ends. Empty: zero.
    """
    n, count = len(scale), len(products)
    positive, limits = semidefinite or [False] * count, enough or [0.0] * count
    excluded = (np.zeros((n, 0)), np.zeros((n, 0))) if without is None else without
    steps = min(steps, n - excluded[0].shape[1])
    if steps < 1:
        return [(0.0, 0.0)] * count
    X, AX = ([np.zeros((n, steps), order="F") for _ in products] for _ in range(2))
    ritz = np.zeros((count, steps, steps))
    bounds = [(0.0, 0.0)] * count
    image = scale[:, None] * np.random.default_rng(41).standard_normal((n, count))
    done = np.zeros(count, dtype=int)
    for k in range(steps):
        active = np.flatnonzero(done == k)
        if not active.size:
            break
        for i, x in zip(active, np.asarray(solve(image[:, active])).T, strict=True):
            size = float(x @ image[:, i])
            for _ in range(2):
                for vectors, images in (excluded, (X[i][:, :k], AX[i][:, :k])):
                    x = x - vectors @ (images.T @ x)
            Ax = energy(x[:, None])[:, 0]
            remainder = float(x @ Ax)
            exact = not remainder > (INVARIANT * INVARIANT) * size
            if not exact:
                X[i][:, k], AX[i][:, k] = x / np.sqrt(remainder), Ax / np.sqrt(remainder)
                image[:, i] = products[i](X[i][:, k : k + 1])[:, 0]
                ritz[i, : k + 1, k] = X[i][:, : k + 1].T @ image[:, i]
                ritz[i, k, :k] = (-1.0 if skew else 1.0) * ritz[i, :k, k]
                done[i] = k + 1
            T = ritz[i, : done[i], : done[i]]
            missed = 0.0 if exact else _missed(done[i], n, skew)
            residual = INVARIANT * np.sqrt(size) if exact and k else 0.0
            bounds[i] = _widened(T, skew, positive[i], missed, residual)
            # Of unknown sign the width counts, which misses twice as much.
            sure = LARGEST_MISS if skew or positive[i] else 0.5 * LARGEST_MISS
            if missed < sure and max(np.abs(bounds[i])) <= limits[i]:
                done[i] = -1
    return bounds


def _missed(k: int, n: int, skew: bool) -> float:
    """The relative ε by which k steps can fall short."""
    k = k // 2 if skew else k  # a step of the squared operator takes two
    ratio = np.log(1.648 * np.sqrt(n) / FAILURE) / (2 * max(k, 1) - 1)
    return float(min(ratio**2, LARGEST_MISS))


def _widened(
    T: Array, skew: bool, semidefinite: bool, missed: float, residual: float
) -> tuple[float, float]:
    """Bounds from the Ritz matrix T of k steps that can have missed so much.

    residual: of an invariant space, at most; its Ritz values are no further from eigenvalues.
    """
    k = len(T)
    if k == 0:
        return 0.0, 0.0
    if skew:
        values = np.array([0.0, float(np.linalg.norm(T, 2))])
    else:
        values = la.eigvalsh(0.5 * (T + T.T))[[0, -1]]
    if missed == 0.0:
        return float(values[0] - residual), float(values[1] + residual)
    if skew:
        return 0.0, float(values[1] / np.sqrt(1.0 - missed))
    low, high = min(values[0], 0.0), max(values[1], 0.0)
    if semidefinite:  # the miss is relative to the largest ratio itself
        return 0.0, float(high / (1.0 - missed))
    # Ritz values of one sign do not say that B is semidefinite.
    margin = min(missed / max(1.0 - 2.0 * missed, 1e-2), 10.0) * (high - low)
    return float(low - margin), float(high + margin)
