"""Whether a matrix is symmetric or skew, entry by entry; symmetric matrices stored by their upper
triangles, half the memory of both.

The scale of an entry pair is that of its own rows: a soft DOF counts next to a stiff one.
"""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.magnitudes import ENTRIES
from assembly.types import Array, Index

ROUND_OFF = 64.0 * float(np.finfo(float).eps)  # of an entry, or of the terms of a sum
SMALL = 200  # rows up to which full matrices are faster than sparse ones

_known: dict[int, tuple[weakref.ref[Any], int]] = {}


def is_symmetric(A: sp.csr_matrix, tolerance: float = ROUND_OFF) -> bool:
    """|a_ij − a_ji| ≤ tolerance √(r_i r_j) for all i, j, with r_i = max_j |a_ij|."""
    return _mirrors(A, -1.0, tolerance)


def is_skew(A: sp.csr_matrix) -> bool:
    """|a_ij + a_ji| ≤ ROUND_OFF √(r_i r_j) for all i, j, with r_i = max_j |a_ij|."""
    return _mirrors(A, 1.0, ROUND_OFF)


def symmetry_of(operator: Any) -> int:
    """+1 symmetric, −1 skew, 0 neither. Computed once for every operator object.

    Operators with parts (Kronecker, Lazy) answer for themselves by `mirror_symmetry()`.
    """
    entry = _known.get(id(operator))
    if entry is not None and entry[0]() is operator:
        return entry[1]
    if hasattr(operator, "mirror_symmetry"):
        symmetry = int(operator.mirror_symmetry())
    else:
        A = operator.tocsr()
        symmetry = 1 if is_symmetric(A) else -1 if is_skew(A) else 0
    number = id(operator)
    _known[number] = (weakref.ref(operator, lambda _: _known.pop(number, None)), symmetry)
    return symmetry


def _mirrors(
    A: sp.csr_matrix,
    sign: float,
    tolerance: float,
    large: int = 100_000,
    product: float = 10.0,
) -> bool:
    """Whether |a_ij ± a_ji| ≤ tolerance √(r_i r_j) for every entry.

    Of a large A the rows of S(A ± Aᵀ)S x are compared, S = diag(r)^(−1/2) and x random: the sum
    costs thirty products, and with an x of normal deviates no deviation hides in one.

    large: nonzeros from which the product is compared. product: round-off of its entries, in units
    of that of an entry.
    """
    n = A.shape[0]
    if A.nnz == 0:
        return True
    if n <= SMALL:
        full = A.toarray()
        d = _row_roots(np.abs(full).max(axis=1))
        return bool(np.all(np.abs(full + sign * full.T) <= tolerance * np.outer(d, d)))
    sizes = np.zeros(n)
    filled = np.flatnonzero(np.diff(A.indptr))
    sizes[filled] = np.maximum.reduceat(np.abs(A.data), A.indptr[filled])
    d = _row_roots(sizes)
    if A.nnz <= large:
        apart = (A + sign * A.T).tocoo()
        return bool(np.all(np.abs(apart.data) <= tolerance * d[apart.row] * d[apart.col]))
    x = np.random.default_rng(0).standard_normal(n) / d
    return bool(np.all(np.abs(A @ x + sign * (A.T @ x)) <= product * tolerance * d))


def _row_roots(sizes: Array) -> Array:
    """√r, and next to nothing for an empty row, so that no entry opposite passes."""
    return np.asarray(np.sqrt(np.maximum(sizes, np.finfo(float).tiny)))


def is_negative_on(A: Any, fields: Array) -> bool:
    """Whether xᵀAx < 0 beyond round-off for an x in the span of fields (n, m).

    A symmetric A is then not positive definite, which a factorization finds out at its full cost.
    """
    X = np.linalg.qr(fields)[0]
    energies = np.linalg.eigvalsh(X.T @ (A @ X))
    return bool(energies.min(initial=0.0) < -ROUND_OFF * np.abs(A.diagonal()).max(initial=0.0))


LARGE = 50_000  # DOFs from which memory decides how matrices are stored and factorized


class Symmetric:
    """A symmetric matrix (n, n) by the entries on and above its diagonal.

    Parameters
    ----------
    upper : csr_matrix (n, n)
        Entries on and above the diagonal.
    """

    def __init__(self, upper: sp.csr_matrix) -> None:
        self.upper, self.shape = upper, upper.shape
        self._diagonal: Array = upper.diagonal()

    @classmethod
    def of(cls, A: Any) -> Symmetric:
        """A symmetric operator or sparse matrix in this form."""
        if isinstance(A, Symmetric):
            return A
        if hasattr(A, "upper_triangle"):
            return cls(A.upper_triangle())
        return cls(upper_triangle(A.tocsr()))

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        product = self.upper @ other
        product += self.upper.T @ other
        diagonal = self._diagonal if other.ndim == 1 else self._diagonal[:, None]
        product -= diagonal * other
        return np.asarray(product)

    def diagonal(self) -> Array:
        """The diagonal (n,)."""
        return self._diagonal

    def tocsr(self) -> sp.csr_matrix:
        """Both triangles."""
        return sp.csr_matrix(self.upper + sp.triu(self.upper, 1, format="csr").T)

    def restricted(self, keep: Index) -> Symmetric:
        """The rows and columns `keep`, in ascending order."""
        return Symmetric(sp.csr_matrix(self.upper[keep][:, keep]))

    def mirror_symmetry(self) -> int:
        """+1: symmetric."""
        return 1


def upper_triangle(A: sp.csr_matrix) -> sp.csr_matrix:
    """The entries on and above the diagonal; no second copy of the whole is made."""
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    n = A.shape[0]
    counts = np.empty(n, dtype=np.int64)
    keep = np.empty(A.nnz, dtype=bool)
    for rows in row_runs(A.indptr):
        first, last = A.indptr[rows.start], A.indptr[rows.stop]
        lengths = np.diff(A.indptr[rows.start : rows.stop + 1])
        row_of_entry = np.repeat(np.arange(rows.start, rows.stop), lengths)
        keep[first:last] = A.indices[first:last] >= row_of_entry
        kept = row_of_entry[keep[first:last]] - rows.start
        counts[rows] = np.bincount(kept, minlength=rows.stop - rows.start)
    indptr = np.zeros(n + 1, dtype=A.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    return sp.csr_matrix((A.data[keep], A.indices[keep], indptr), shape=A.shape)


def row_runs(indptr: Index, entries: int = ENTRIES) -> list[slice]:
    """Runs of rows of at most about so many entries."""
    n, stored = len(indptr) - 1, int(indptr[-1])
    count = max(1, -(-stored // entries))
    edges = np.unique(np.linspace(0, n, count + 1).astype(int)).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]
