"""The quadratic eigenproblem of a frozen system, its first-order form, and its backward errors.

    Q(λ) x = (λ² M + λ C + K) x = 0

C is the sum of the Coriolis and damping matrices, K the sum of all stiffness (docs/theory.md, "One
body in a moving frame"). The first-order pencil is A z = λ B z with z = (x, λx),
A = [[0, I], [−K, −C]], B = diag(I, M). A left vector yᴴQ(λ) = 0 gives the left vector
(Cᵀy + λ̄Mᵀy, y) of the pencil, so the pairing of the pencil is yᴴ(2λM + C)x.

An operator that is symmetric or skew (assembly/linalg/symmetric.py) counts as that, so that its
round-off is no damping and no circulatory force; only others are split into the two parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.linalg.combination import Combination
from assembly.linalg.symmetric import ROUND_OFF, SMALL, symmetry_of
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.eigen.tolerances import HALF, ZERO
from modal.types import Array, Complex, Mask


class Quadratic:
    """M, C, K (n, n) of one instant with what is known of their structure.

    What the parts of the instant say decides, not the sums: a circulatory part may be far below the
    round-off of the stiffest DOFs and yet make soft ones unstable.
    """

    def __init__(
        self,
        system: FrozenSystem,
        matrices: tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix] | None = None,
    ) -> None:
        """matrices: M, C and K of the same structure, in place of those of the system."""
        self.system, self._derived = system, matrices is not None
        self.M, self.C, self.K = matrices or (system.M, system.damping, system.stiffness)
        self.n = self.M.shape[0]
        self._images: tuple[Complex, ...] = ()

    @cached_property
    def damping_parts(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Symmetric and skew part of C."""
        return self._parts(DAMPING_PARTS, self.C)

    @cached_property
    def stiffness_parts(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Symmetric and skew part of K."""
        return self._parts(STIFFNESS_PARTS, self.K)

    @cached_property
    def elastic_stiffness(self) -> sp.csr_matrix:
        """Symmetric part of the stiffness without what motion and loads add to it."""
        return self._parts(("K",), self.system.K)[0]

    def _parts(
        self, names: tuple[str, ...], matrix: sp.csr_matrix
    ) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        assert not self._derived
        return parts_of(self.n, self.system.combined(names).terms, matrix)

    @cached_property
    def conservative(self) -> bool:
        """M and K symmetric, C skew, so the spectrum is symmetric to the imaginary axis (P3)."""
        return self.system.symmetric_mass and self.system.is_conservative

    @cached_property
    def reversible(self) -> bool:
        """The spectrum is symmetric to the imaginary axis: conservative, or nothing in C."""
        return self.conservative or self.C.count_nonzero() == 0

    @property
    def accumulation(self) -> float:
        """About where the overdamped modes of a mesh accumulate, 1/b, rad/s.

        A random shape has most of its energy in the highest frequencies of the mesh: there the
        damping forces are b times the elastic ones.
        """
        shape = np.random.default_rng(17).standard_normal(self.n)
        damping, elastic = (float(shape @ (A @ shape)) for A in (self.C, self.K))
        return abs(elastic) / max(damping, float(np.finfo(float).tiny))

    @property
    def symmetric_stiffness(self) -> bool:
        return self.system.symmetric_stiffness

    @property
    def symmetric(self) -> bool:
        """M, C and K all symmetric: the left vectors are the conjugate right ones."""
        system = self.system
        return system.symmetric_mass and system.symmetric_damping and self.symmetric_stiffness

    @cached_property
    def transposed(self) -> Quadratic:
        """Mᵀ, Cᵀ, Kᵀ: its right vectors are the conjugates of the left vectors here."""
        # The transpose of a CSR matrix is a CSC matrix of the same arrays: nothing is copied.
        M = self.M if self.system.symmetric_mass else self.M.T
        C = self.C if self.system.symmetric_damping else self.C.T
        K = self.K if self.symmetric_stiffness else self.K.T
        made = Quadratic(self.system, (M, C, K))
        made.norms = self.norms
        return made

    @cached_property
    def scaling(self) -> Array:
        """d (n,) that makes the diagonal of M/‖M‖ + K/‖K‖ one in the degrees of freedom q/d.

        Lengths and rotations then compare (van der Sluis, Numer. Math. 14 (1969) 14).
        """
        m, _, k = self.norms
        stiffness, mass = np.abs(self.K.diagonal()), np.abs(self.M.diagonal())
        diagonal = stiffness / max(k, np.finfo(float).tiny) + mass / m
        return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))

    @property
    def has_mixed_units(self) -> bool:
        """Whether half of the digits are lost in the units that the degrees of freedom have.

        Normwise methods resolve only the stiffest degrees of freedom of such a system.
        """
        return bool(self.scaling.max() > 1.0 / np.sqrt(HALF) * self.scaling.min())

    @cached_property
    def scaled(self) -> Quadratic:
        """The quadratic in the degrees of freedom q/d, d = `scaling`; its eigenvalues are equal."""
        M, C, K = (diagonally_scaled(A, self.scaling) for A in (self.M, self.C, self.K))
        return Quadratic(self.system, (M, C, K))

    @cached_property
    def norms(self) -> tuple[float, float, float]:
        """Upper bounds √(‖·‖₁‖·‖∞) of the 2-norms of M, C, K."""
        mirrored = self.conservative
        return bound(self.M, mirrored), bound(self.C, mirrored), bound(self.K, mirrored)

    @cached_property
    def frequency_scale(self) -> float:
        """√(‖K‖/‖M‖), rad/s.

        The scaling of Fan, Lin and Van Dooren, SIAM J. Matrix Anal. Appl. 26 (2004) 252.
        """
        m, _, k = self.norms
        return float(np.sqrt(k / m)) if m > 0.0 and k > 0.0 else 1.0

    def images(self, X: Complex) -> tuple[Complex, Complex, Complex]:
        """MX, CX and KX, (n, k) each.

        Those of the last X are kept: every check of the same vectors asks for them.
        """
        if not self._images or not (self._images[0] is X or np.array_equal(self._images[0], X)):
            self._images = (X, *(times(A, X) for A in (self.M, self.C, self.K)))
        _, MX, CX, KX = self._images
        return MX, CX, KX

    def residual(self, eigenvalues: Complex, X: Complex) -> Complex:
        """Q(λ_j) x_j for every column, (n, k)."""
        lam = eigenvalues[None, :]
        MX, CX, KX = self.images(X)
        return np.asarray(MX * lam**2 + CX * lam + KX)

    def terms(self, eigenvalues: Complex, X: Complex) -> Array:
        """(|λ|²|M| + |λ||C| + |K|)|x| for every column, (n, k): what the residual's terms sum."""
        size, sizes = np.abs(eigenvalues), np.abs(X)
        inertia = (abs(self.M) @ sizes) * size**2 + (abs(self.C) @ sizes) * size
        return np.asarray(inertia + abs(self.K) @ sizes)

    def weights(self, eigenvalues: Complex) -> Array:
        """|λ|²‖M‖ + |λ|‖C‖ + ‖K‖ for every eigenvalue."""
        m, c, k = self.norms
        size = np.abs(eigenvalues)
        return np.asarray(size**2 * m + size * c + k)

    def infinite(self, eigenvalues: Complex) -> Mask:
        """Eigenvalues that are infinite to round-off: (∞, x) has backward error ‖Mx‖/(‖M‖‖x‖).

        Q(λ)x = 0 bounds it by (|λ|‖C‖ + ‖K‖)/(|λ|²‖M‖). Such λ come from a nearly singular M, and
        round-off in M moves them anywhere.
        """
        m, c, k = self.norms
        size = np.abs(eigenvalues)
        with np.errstate(over="ignore"):
            return np.asarray(size * c + k <= ZERO * size**2 * m)

    def backward_error(self, eigenvalues: Complex, X: Complex) -> Array:
        """‖Q(λ)x‖₂ / ((|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖₂) of every pair.

        Tisseur, Linear Algebra Appl. 309 (2000) 339, Theorem 1.
        """
        size = np.linalg.norm(X, axis=0) * self.weights(eigenvalues)
        residual = np.linalg.norm(self.residual(eigenvalues, X), axis=0)
        return np.asarray(residual / np.where((size == 0.0) & (residual == 0.0), 1.0, size))

    def pairing(self, eigenvalues: Complex, left: Complex, right: Complex) -> Complex:
        """yᴴ(2λM + C)x of every column, (k,)."""
        MX, CX, _ = self.images(right)
        derivative = MX * (2.0 * eigenvalues) + CX
        return np.asarray((left.conj() * derivative).sum(axis=0))


def diagonally_scaled(A: sp.csr_matrix, d: Array) -> sp.csr_matrix:
    """diag(d) A diag(d); a symmetric or skew A stays so to the last digit."""
    scaled = A.copy()
    scaled.data = A.data * (np.repeat(d, np.diff(A.indptr)) * d[A.indices])
    return scaled


def in_units(system: FrozenSystem, d: Array) -> FrozenSystem:
    """The system in the degrees of freedom q/d; its operators stay symmetric or skew."""
    parts: dict[str, Any] = {}
    for name, part in system.parts.items():
        scaled = [diagonally_scaled(A.tocsr(), d) for _, A in part.terms]
        parts[name] = Combination.of(system.n, [weight for weight, _ in part.terms], scaled)
    return FrozenSystem(**parts, rigid=system.rigid / d[:, None], parameters=system.parameters)


def times(A: Any, X: Complex) -> Complex:
    """A X of a real A, sparse or full, and a complex block, without a complex copy of A."""
    if sp.issparse(A) and A.shape[0] <= SMALL and 4 * A.nnz > A.shape[0] ** 2:
        A = A.toarray()
    wide = A @ np.ascontiguousarray(X, dtype=complex).view(float)  # (n, 2k): Re x_1, Im x_1, …
    return np.asarray(wide.view(complex))


def in_parts(X: NDArray[np.inexact[Any]]) -> Array:
    """(n, 2k): the real parts of the columns of X (n, k), then the imaginary parts."""
    return np.hstack([X.real, X.imag])


def from_parts(wide: NDArray[np.inexact[Any]]) -> Complex:
    """X (n, k) from `in_parts`."""
    k = wide.shape[1] // 2
    return np.asarray(wide[:, :k] + 1j * wide[:, k:])


def companion(
    M: NDArray[Any], C: NDArray[Any], K: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Dense A and B (2n, 2n) of the first-order form."""
    zero, one = np.zeros_like(M), np.eye(len(M))
    return np.block([[zero, one], [-K, -C]]), np.block([[one, zero], [zero, M]])


def bound(A: sp.csr_matrix, mirrored: bool = False) -> float:
    """√(‖A‖₁‖A‖∞) ≥ ‖A‖₂; mirrored: A is symmetric or skew, its two norms the same."""
    if A.nnz == 0:
        return 0.0
    sizes = np.abs(A.data)
    filled = np.flatnonzero(np.diff(A.indptr))
    rows = np.add.reduceat(sizes, A.indptr[filled])
    if mirrored:
        return float(rows.max())
    columns = np.bincount(A.indices, weights=sizes)
    return float(np.sqrt(columns.max()) * np.sqrt(rows.max()))


def parts_of(
    n: int, terms: Iterable[tuple[float, Any]], matrix: sp.csr_matrix | None = None
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The symmetric and the skew part of Σ c_j A_j, (n, n), from its terms (c_j, A_j).

    matrix: the sum, where it is formed already.
    """
    sums: dict[int, Combination] = {kind: Combination((n, n)) for kind in (1, -1, 0)}
    for weight, operator in terms:
        kind = symmetry_of(operator)
        sums[kind] = sums[kind] + Combination((n, n), ((weight, operator),))
    if matrix is not None and sum(not part.is_zero for part in sums.values()) == 1:
        zero = sp.csr_matrix((n, n))
        if not sums[1].is_zero:
            return matrix, zero
        if not sums[-1].is_zero:
            return zero, matrix
    symmetric, skew = sums[1].tocsr(), sums[-1].tocsr()
    if not sums[0].is_zero:
        general = sums[0].tocsr()
        symmetric = symmetric + _half(general, 1.0)
        skew = skew + _half(general, -1.0)
    return sp.csr_matrix(symmetric), sp.csr_matrix(skew)


def _half(A: sp.csr_matrix, sign: float) -> sp.csr_matrix:
    """(A ± Aᵀ)/2 without entries that are round-off to `is_symmetric` or `is_skew`."""
    if A.shape[0] <= SMALL:
        full = A.toarray()
        rows = np.sqrt(np.maximum(np.abs(full).max(axis=1), np.abs(full).max(axis=0)))
        part = 0.5 * (full + sign * full.T)
        part[2.0 * np.abs(part) <= ROUND_OFF * np.outer(rows, rows)] = 0.0
        return sp.csr_matrix(part)
    rows = np.sqrt(abs(A).maximum(abs(A.T)).max(axis=1).toarray().ravel())
    half = sp.coo_matrix(0.5 * (A + sign * A.T))
    significant = 2.0 * np.abs(half.data) > ROUND_OFF * rows[half.row] * rows[half.col]
    return sp.csr_matrix(
        (half.data[significant], (half.row[significant], half.col[significant])), shape=half.shape
    )
