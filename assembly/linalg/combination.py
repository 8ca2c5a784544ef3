"""Linear combinations of fixed sparse matrices: the affine form of every matrix of an instant.

An instant of a motion changes coefficients only. Code that needs the matrix of one instant calls
`tocsr()`; code that sweeps (the reduced basis) reads `terms` and never forms it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.arguments import as_numbers
from assembly.errors import InputError
from assembly.linalg.symmetric import SMALL, Symmetric, symmetry_of
from assembly.types import Array, Index

LARGEST = 1e150  # entry of a matrix: the squares of larger ones overflow


class Kronecker:
    """The operator m ⊗ a of a scalar sparse matrix m (N, N) and a small dense a (d, d).

    Isotropic interpolations have M = m ⊗ I₃, G(w) = m ⊗ w̃, S = m ⊗ ω̃ω̃. The degrees of
    freedom are numbered node by node.
    """

    def __init__(self, m: sp.csr_matrix, a: Array) -> None:
        self.m, self.a = m, np.asarray(a, dtype=float)
        self.shape = (m.shape[0] * a.shape[0], m.shape[1] * a.shape[1])

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        rows, d = self.m.shape[0], self.a.shape[0]
        wide = other.reshape(self.m.shape[1], self.a.shape[1], -1)
        scalar = self.scalar
        if scalar is None:
            wide = np.einsum("ij,njk->nik", self.a, wide)
        product = self.m @ wide.reshape(self.m.shape[1], -1)
        if scalar not in (None, 1.0):
            product *= scalar
        return np.asarray(product.reshape((rows * d, *other.shape[1:])))

    @property
    def scalar(self) -> float | None:
        """α where a = α I, else None."""
        d = len(self.a)
        square = self.a.shape == (d, d) and np.array_equal(self.a, self.a[0, 0] * np.eye(d))
        return float(self.a[0, 0]) if square else None

    def diagonal(self) -> Array:
        """The diagonal of m ⊗ a."""
        return np.asarray(np.kron(self.m.diagonal(), np.diag(self.a)))

    def upper_triangle(self) -> sp.csr_matrix:
        """The entries on and above the diagonal, for symmetric m and a."""
        upper = sp.kron(sp.triu(self.m, format="csr"), self.a, format="csr")
        return sp.csr_matrix(upper if self.scalar is not None else sp.triu(upper, format="csr"))

    def tocsr(self) -> sp.csr_matrix:
        return sp.csr_matrix(sp.kron(self.m, self.a, format="csr"))

    def mirror_symmetry(self) -> int:
        """+1 symmetric, −1 skew, 0 neither."""
        small = 1 if np.array_equal(self.a, self.a.T) else -int(np.array_equal(self.a, -self.a.T))
        return symmetry_of(self.m) * small


class Pattern:
    """Where the entries of an instant's matrices are: one sparsity (n, n) that all of them share.

    indices, indptr: as in a CSR matrix.
    """

    def __init__(self, n: int, indices: Index, indptr: Index) -> None:
        self.shape = (n, n)
        self.indices, self.indptr = indices.astype(np.int32), indptr.astype(np.int32)
        if len(indices) > np.iinfo(np.int32).max:
            self.indices, self.indptr = indices, indptr

    def tocsr(self, values: Array) -> sp.csr_matrix:
        """The matrix of these values, without the zeros among them."""
        arrays = (values.copy(), self.indices.copy(), self.indptr.copy())
        matrix = sp.csr_matrix(arrays, shape=self.shape)
        matrix.eliminate_zeros()
        return matrix


class Patterned:
    """A matrix as its values on a pattern shared with others: a sum of such is a sum of rows."""

    def __init__(self, pattern: Pattern, values: Array) -> None:
        self.pattern, self.values, self.shape = pattern, values, pattern.shape

    @cached_property
    def _matrix(self) -> sp.csr_matrix:
        return self.pattern.tocsr(self.values)

    def tocsr(self) -> sp.csr_matrix:
        return self._matrix

    def __matmul__(self, other: Any) -> Any:
        return self._matrix @ other


class Lazy:
    """An operator computed at its first use and stored: most units of prestress are not needed."""

    def __init__(self, shape: tuple[int, int], make: Callable[[], Any]) -> None:
        self.shape, self._make = shape, make

    @cached_property
    def operator(self) -> Any:
        return self._make()

    def tocsr(self) -> sp.csr_matrix:
        return self.operator.tocsr()

    def diagonal(self) -> Array:
        """Its diagonal."""
        return diagonal_of(self.operator)

    def mirror_symmetry(self) -> int:
        """+1 symmetric, −1 skew, 0 neither."""
        return symmetry_of(self.operator)

    def __matmul__(self, other: Any) -> Any:
        return self.operator @ other


@dataclass(frozen=True)
class Combination:
    """Σ c_k A_k of operators of one shape. Terms whose coefficient is zero are dropped.

    The A_k are the same Python objects at every instant of a model. A sweep recognises them and
    projects each of them once.

    Parameters
    ----------
    shape : tuple of int
        Shape of the matrix.
    terms : tuple of (float, operator)
        Coefficients c_k and operators A_k: sparse matrices, or objects with `shape`, `@` and
        `tocsr()`.
    """

    shape: tuple[int, int]
    terms: tuple[tuple[float, Any], ...] = ()

    @classmethod
    def of(cls, n: int, coefficients: Iterable[float], operators: Sequence[Any]) -> Combination:
        """The combination of coefficients and operators of one length.

        Parameters
        ----------
        n : int
            The matrix is (n, n).
        coefficients : iterable of float
        operators : sequence of operators

        Returns
        -------
        Combination
        """
        pairs = zip(coefficients, operators, strict=True)
        return cls((n, n), tuple((float(c), A) for c, A in pairs if c != 0.0))

    @classmethod
    def wrap(cls, matrix: Any, n: int | None, name: str) -> Combination:
        """A combination from a matrix in any form.

        Parameters
        ----------
        matrix : None, array_like, sparse matrix or Combination
            None is zero.
        n : int or None
            The matrix must be (n, n); None: square, and not None itself.
        name : str
            Name in error messages.

        Returns
        -------
        Combination

        Raises
        ------
        InputError
            For another shape, or entries that are not real finite numbers.
        """
        if matrix is None and n is not None:
            return cls((n, n))
        combination: Combination = matrix
        if not isinstance(matrix, Combination):
            if getattr(getattr(matrix, "dtype", None), "kind", "f") == "c":
                raise InputError(
                    f"{name}: has complex entries; a frozen system is real, damping goes to D"
                )
            formed = hasattr(matrix, "tocsr")
            whole = matrix.tocsr() if formed else np.atleast_2d(as_numbers(matrix, name))
            sparse = sp.csr_matrix(whole)
            if not np.all(np.isfinite(sparse.data)):
                raise InputError(f"{name}: has entries that are not finite numbers")
            terms = ((1.0, sparse),) if sparse.count_nonzero() else ()
            combination = cls(sparse.shape, terms)
        n = combination.shape[0] if n is None else n
        if combination.shape != (n, n):
            raise InputError(f"{name}: expected shape ({n}, {n}), got {combination.shape}")
        return combination

    def __add__(self, other: Combination) -> Combination:
        if self.shape != other.shape:
            raise InputError(f"cannot add matrices of shapes {self.shape} and {other.shape}")
        return Combination(self.shape, self.terms + other.terms)

    def scaled(self, factor: float) -> Combination:
        """The combination times a factor."""
        if factor == 0.0:
            return Combination(self.shape)
        return Combination(self.shape, tuple((factor * c, A) for c, A in self.terms))

    @property
    def is_zero(self) -> bool:
        """Whether there are no terms."""
        return not self.terms

    @property
    def is_symmetric(self) -> bool:
        """Whether every term is symmetric."""
        return all(symmetry_of(A) == 1 for _, A in self.terms)

    @property
    def is_skew(self) -> bool:
        """Whether every term is skew."""
        return all(symmetry_of(A) == -1 for _, A in self.terms)

    def tocsr(self) -> sp.csr_matrix:
        """The matrix itself.

        Kronecker terms of one scalar matrix, and values on one pattern, are summed before they are
        expanded.

        Returns
        -------
        scipy.sparse.csr_matrix
        """
        return self._sum(lambda A: A.tocsr())

    def upper_triangle(self) -> sp.csr_matrix:
        """The entries on and above the diagonal, of a combination of symmetric operators.

        Returns
        -------
        scipy.sparse.csr_matrix
        """
        return self._sum(lambda A: Symmetric.of(A).upper)

    def diagonal(self) -> Array:
        """The diagonal, without forming the matrix.

        Returns
        -------
        ndarray, shape (n,)
        """
        diagonals = (c * diagonal_of(A) for c, A in self.terms)
        return np.asarray(sum(diagonals, np.zeros(self.shape[0])))

    def _sum(self, form: Callable[[Any], sp.csr_matrix]) -> sp.csr_matrix:
        """The sum of what `form` makes of the terms, those alike put together first."""
        merged = self.merged()
        if len(merged) > 1 and max(self.shape) <= SMALL:
            full = np.zeros(self.shape)
            for c, A in merged:
                full += c * form(A).toarray()
            return sp.csr_matrix(full)
        total: sp.csr_matrix | None = None
        for c, A in merged:
            part = form(A)
            if c != 1.0:
                part = part * c
            total = part if total is None else total + part
        if total is None:
            return sp.csr_matrix(self.shape)
        total.sum_duplicates()
        return sp.csr_matrix(total)

    def merged(self) -> list[tuple[float, Any]]:
        """The same sum, with one term for all Kronecker products of a scalar matrix."""
        terms: list[tuple[float, Any]] = []
        shared: dict[int, tuple[Pattern, Array]] = {}
        kron: dict[int, tuple[sp.csr_matrix, Array]] = {}
        for c, A in self.terms:
            inner = A.operator if isinstance(A, Lazy) else A
            if isinstance(inner, Kronecker):
                m, a = kron.get(id(inner.m), (inner.m, np.zeros_like(inner.a)))
                kron[id(inner.m)] = (m, a + c * inner.a)
            elif isinstance(inner, Patterned):
                pattern, values = shared.get(id(inner.pattern), (inner.pattern, 0.0))
                shared[id(inner.pattern)] = (pattern, values + c * inner.values)
            else:
                terms.append((c, inner))
        scalar: dict[int, sp.csr_matrix] = {}  # multiples of m ⊗ I: mass, geometric stiffness
        for m, a in kron.values():
            product = Kronecker(m, a)
            if product.scalar is None:
                terms.append((1.0, product))
            else:
                scalar[len(a)] = scalar.get(len(a), 0) + product.scalar * m
        terms += [(1.0, Kronecker(m, np.eye(d))) for d, m in scalar.items()]
        return terms + [(1.0, Patterned(*both)) for both in shared.values()]

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        """Σ c_k (A_k @ other): the matrix is not formed."""
        out: NDArray[Any] | None = None
        for c, A in self.terms:
            image = A @ other
            if c != 1.0:
                image = c * image
            out = image if out is None else out + image
        if out is None:
            return np.zeros((self.shape[0], *other.shape[1:]), dtype=np.result_type(other, float))
        return out


def diagonal_of(A: Any) -> Array:
    """The diagonal of an operator, which is formed where it does not give it itself."""
    return np.asarray(A.diagonal() if hasattr(A, "diagonal") else A.tocsr().diagonal())


def transpose_of(A: Any) -> Any:
    """The transpose of an operator; a Kronecker product stays one."""
    inner = A.operator if isinstance(A, Lazy) else A
    if isinstance(inner, Kronecker):
        return Kronecker(inner.m.T.tocsr(), inner.a.T)
    return inner.tocsr().T.tocsr()


def absolute_of(A: Any) -> Any:
    """|A| of an operator, entry by entry; a Kronecker product stays one."""
    inner = A.operator if isinstance(A, Lazy) else A
    if isinstance(inner, Kronecker):
        return Kronecker(abs(inner.m), np.abs(inner.a))
    return abs(inner.tocsr())


def within_range(matrix: sp.csr_matrix, name: str) -> sp.csr_matrix:
    """The matrix; InputError when an entry is not finite, or so large that products overflow."""
    largest = float(max(matrix.data.max(), -matrix.data.min())) if matrix.nnz else 0.0
    if not largest <= LARGEST:
        raise InputError(
            f"{name}: an entry has the size {largest:.3g}, which cannot be computed with (at most "
            f"{LARGEST:.0e}); are all data in SI units?"
        )
    return matrix
