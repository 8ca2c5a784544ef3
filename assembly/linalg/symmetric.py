"""Symmetric sparse matrices stored by their upper triangles: half the memory of both."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.magnitudes import ENTRIES as ENTRIES
from assembly.types import Array, Index

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
