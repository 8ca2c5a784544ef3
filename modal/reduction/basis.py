"""A basis shared by all points of a sweep: projected operators and sketched residuals.

A point costs no work of order n: its reduced matrices are Σ_j c_j VᵀA_jV, and the two norms of its
residual r = Σ_j γ_j A_j V x that the error bound needs are taken through random sketches fixed
before the sweep,

    ‖Θ A_j V …‖ ≈ ‖K_ref⁻¹ r‖_M   (Θᵀ = K_ref⁻¹ √(c₁ diag M / p) ξ),     M ≤ c₁ diag M
    ‖Ξ A_j V …‖ ≈ ‖r‖_{M⁻¹}       (Ξᵀ = √(c₂ diag M⁻¹ / p) ξ′),          M⁻¹ ≤ c₂ diag M⁻¹

with ξ standard normal, p columns (Balabanov & Nouy, Adv. Comput. Math. 45 (2019) 2969, of such
sketches). A sketch is linear in r, so unlike a Gram matrix it loses no digits to squaring:
residuals are seen down to round-off. P(χ²_p/p < 1/4) bounds the chance that a norm comes out less
than half its value: 6e-7 at p = 32.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.linalg.combination import Kronecker
from modal.eigen.prescribed import RigidImages, mass_orthonormal
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.mass_basis import MassBasis
from modal.reduction.projection import ProductSizes, projections
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Index

SKETCHES = 32
UNDERESTIMATE = 2.0  # by which a sketched norm may be too small (see above)


@dataclass(frozen=True)
class Projected:
    """What a point needs, nothing of order n.

    matrices (J, r, r): VᵀA_jV. sketches (J, 2, p, r): Θ A_j V and Ξ A_j V; adjoint_sketches: the
    same of A_jᵀ (equal up to sign where A_j has a symmetry). symmetry (J,). sizes (G, r, r),
    factors (J, G): the size of the terms that products with A_j sum is at most Σ_g factors[j, g]
    sizes[g] (modal/reduction/projection.py). frequency (r,): square
    roots of the Ritz values of K_ref, in whose M-orthonormal coordinates all is. overlap (m, r):
    RᵀM V of the M-orthonormal rigid fields. resolved: rad/s, below which the basis holds every
    reference mode.
    """

    matrices: Array
    sketches: Array
    adjoint_sketches: Array
    symmetry: Index
    sizes: Array
    factors: Array
    frequency: Array
    overlap: Array
    resolved: float
    complete: bool

    @property
    def size(self) -> int:
        return int(self.matrices.shape[1])

    def on(self, Z: Array, frequency: Array, resolved: float, complete: bool) -> Projected:
        """Everything on the columns of Z (r, s), in which ZᵀK_ref Z is the squares of
        `frequency`."""
        return replace(
            self,
            matrices=Z.T @ (self.matrices @ Z),
            sketches=self.sketches @ Z,
            adjoint_sketches=self.adjoint_sketches @ Z,
            sizes=Z.T @ (self.sizes @ Z),
            overlap=self.overlap @ Z,
            frequency=frequency,
            resolved=resolved,
            complete=complete,
        )


class ReducedBasis:
    """V (n, r), M-orthonormal and real, with every operator projected; `grow` adds vectors.

    matrices (J, r, r): VᵀA_jV. sketched, transposed (J, 2, p, r): Θ and Ξ of A_jV and of A_jᵀV.
    sizes (G, r, r): of the terms that products with groups of operators sum. ties (n, m):
    independent forces by which constraints may act on a part of a mechanism; K_ref⁻¹ of them is in
    the basis. resolved: rad/s, below which it holds every mode of K_ref.
    """

    def __init__(
        self,
        family: AffineFamily,
        reference: ReferenceOperator,
        sketches: Sketches,
        ties: Array | None = None,
    ) -> None:
        self.family, self.reference, self.resolved = family, reference, 0.0
        # One memory order: products with a restored basis round as those with a new one do.
        self.theta, self.xi = np.asfortranarray(sketches.theta), np.asfortranarray(sketches.xi)
        self.ties = np.zeros((family.n, 0)) if ties is None else ties
        self.columns = MassBasis(reference.mass)
        count, p = len(family.terms), self.theta.shape[1]
        self.matrices = np.zeros((count, 0, 0))
        self.products = ProductSizes.of(family.terms, reference.mass.diagonal())
        self.sizes = np.zeros((len(self.products.weights), 0, 0))
        self.sketched = np.zeros((count, 2, p, 0))
        self.transposed = np.zeros((count, 2, p, 0))
        self._overlap = np.zeros((0, 0))
        self._images: RigidImages | None = None
        fields, self._rigid = mass_orthonormal(reference.mass, family.rigid)
        if fields.shape[1]:
            self._append(fields, self._rigid)

    @classmethod
    def of(
        cls,
        family: AffineFamily,
        at: Coefficients,
        ties: Array | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> Self:
        """The basis without vectors but the rigid fields, K_ref at the middle of some points; or
        that whose `arrays` were stored, bit by bit, which factorizes nothing until it grows."""
        if arrays is None:
            reference = ReferenceOperator(family, at)
            return cls(family, reference, Sketches.random(reference), ties)
        reference = ReferenceOperator(family, at, (arrays["weights"], float(arrays["shift"][0])))
        made = cls(family, reference, Sketches(arrays["theta"], arrays["xi"]), ties)
        made.columns = MassBasis(reference.mass)
        made.columns.append(arrays["V"], arrays["MV"])
        made.resolved, made._overlap = float(arrays["resolved"][0]), arrays["overlap"]
        made.matrices, made.sizes, made.sketched, made.transposed = (
            arrays[name] for name in ("matrices", "sizes", "sketched", "transposed")
        )
        return made

    def without_sketches(self) -> Self:
        """A copy that grows on its own, without sketches."""
        made = copy.copy(self)
        none = np.zeros((self.family.n, 0))
        made.theta, made.xi = none, none
        made.sketched, made.transposed = self.sketched[:, :, :0], self.transposed[:, :, :0]
        return made

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What `of` takes."""
        return {
            "V": self.columns.V, "MV": self.columns.MV, "theta": self.theta, "xi": self.xi,
            "resolved": np.array([self.resolved]),
            "matrices": self.matrices, "sizes": self.sizes, "sketched": self.sketched,
            "transposed": self.transposed, "overlap": self._overlap,
            "weights": self.reference.weights, "shift": np.array([self.reference.shift]),
        }  # fmt: skip

    @property
    def V(self) -> Array:
        """The vectors, (n, r)."""
        return self.columns.V

    @property
    def sketches(self) -> Array:
        """Θ and Ξ, (2, p, n)."""
        return np.stack([self.theta.T, self.xi.T])

    @property
    def complete(self) -> bool:
        """True when V spans everything: the reduced problem is the problem."""
        return self.columns.size == self.family.n

    @property
    def size(self) -> int:
        """Number of vectors."""
        return self.columns.size

    @property
    def _balance(self) -> Array:
        """(VᵀS)⁺ (m, r): with the forces −S f, f = (VᵀS)⁺Vᵀρ, a residual ρ is orthogonal to V."""
        return np.linalg.pinv(self.V.T @ self.ties)

    def free(self, residuals: Array) -> Array:
        """Residuals (n, q) less the forces at the ties in them."""
        if not self.ties.shape[1]:
            return residuals
        return np.asarray(residuals - self.ties @ (self._balance @ (self.V.T @ residuals)))

    def sketched_forces(self, forces: Array) -> Array:
        """Θ and Ξ of `free` forces (P, n, k), (P, 2, p, k)."""
        return np.asarray(self.sketches @ self.free(forces)[:, None])

    def solve(self, block: Array) -> Array:
        """K_ref⁻¹ block, (n, q)."""
        return self.reference.solve(block)

    def grow(self, residuals: Array) -> int:
        """Add K_ref⁻¹ of `free` residuals (n, q); returns how many directions were new."""
        return self.include(self.solve(self.free(residuals)))

    def include_lowest(self, count: int) -> MassBasis:
        """Add the `count` lowest modes of K_ref, and note up to which frequency all are there."""
        start = self.reference.start(count)
        if self.size:
            self.include(start.V)
        else:
            self._append(start.V, start.MV)
        squares = self.ritz()[0]
        self.resolved = float(np.sqrt(max(squares[min(count, len(squares)) - 1], 0.0)))
        return start

    def include(self, vectors: Array) -> int:
        """Add what the vectors (n, q) bring; returns how many directions were new."""
        fresh, product = self.columns.directions(vectors)
        self._append(fresh, product)
        return int(fresh.shape[1])

    def _append(self, fresh: Array, product: Array) -> None:
        old, new = self.columns.size, fresh.shape[1]
        self.columns = copy.copy(self.columns)
        self.columns.append(fresh, product)
        V = self.columns.V
        count = len(self.family.terms)
        p = self.theta.shape[1]
        matrices = np.zeros((count, old + new, old + new))
        matrices[:, :old, :old] = self.matrices
        sketched = np.zeros((count, 2, p, new))
        transposed = np.zeros_like(sketched)
        left, terms = (V, self.theta, self.xi), self.family.terms
        for j, (term, parts) in enumerate(zip(terms, projections(terms, left, fresh), strict=True)):
            matrices[j, :, old:], *sketched[j] = parts
            if term.symmetry:
                matrices[j, old:, :old] = term.symmetry * matrices[j, :old, old:].T
                corner = matrices[j, old:, old:]
                matrices[j, old:, old:] = 0.5 * (corner + term.symmetry * corner.T)
                transposed[j] = term.symmetry * sketched[j]
        plain = [j for j, term in enumerate(terms) if not term.symmetry]
        images = projections([terms[j] for j in plain], left, fresh, transposed=True)
        for j, (whole, *parts) in zip(plain, images, strict=True):
            matrices[j, old:, :old] = whole[:old].T
            transposed[j] = parts
        sizes = np.zeros((len(self.products.weights), old + new, old + new))
        sizes[:, :old, :old] = self.sizes
        for size, weights in zip(sizes, self.products.weights, strict=True):
            size[:, old:] = V.T @ (weights[:, None] * fresh)
            size[old:, :old] = size[:old, old:].T
        self.matrices, self.sizes = matrices, sizes
        self.sketched = np.concatenate([self.sketched, sketched], axis=3)
        self.transposed = np.concatenate([self.transposed, transposed], axis=3)
        self._overlap = self._rigid.T @ V
        if self.family.rigid.shape[1]:
            self._without_rigid()

    @property
    def images(self) -> RigidImages:
        """The products of the operators of the basis with the rigid fields; the last are stored."""
        count = len(self.matrices)
        if self._images is None or len(self._images.inner) != count:
            operators = [term.operator for term in self.family.terms[:count]]
            self._images = RigidImages(self.reference.mass, self.family.rigid, operators)
        return self._images

    def _without_rigid(self) -> None:
        """Remove what round-off makes of operators that annihilate the rigid fields."""
        inside = self._overlap.T @ self._overlap
        for j in np.flatnonzero(self.images.annihilates):
            A = self.matrices[j] - self.matrices[j] @ inside
            self.matrices[j] = A - inside @ A
            for sketches in (self.sketched, self.transposed):
                sketches[j] -= sketches[j] @ inside

    def ritz(self) -> tuple[Array, Array]:
        """Ritz values (r,) of (K_ref, M), ascending, and their vectors (r, r)."""
        K = np.tensordot(self.reference.weights, self._symmetric(), axes=1)
        squares, Z = la.eigh(K + self.reference.shift * np.eye(len(K)))
        return squares, Z

    def projected(self) -> Projected:
        """The projections: in the coordinates of the Ritz vectors of K_ref, or, with ties, in those
        of V, the sketches of residuals less the forces at the ties.

        A residual ρ is known up to forces S f at the ties, by which the constraints act. For a mode
        of the whole model some of these make Vᵀ(ρ + S f) = 0. As K_ref⁻¹S is in the basis, this is
        the smallest of all ρ + S f in the norm dual to K_ref.
        """
        symmetry = np.array([term.symmetry for term in self.family.terms], dtype=np.intp)
        sketched, transposed = self.sketched, self.transposed
        if self.ties.shape[1]:
            forces, balance = self.sketches @ self.ties, self._balance
            sketched, transposed = (
                images - np.einsum("spm,jmr->jspr", forces, balance @ matrices)
                for images, matrices in (
                    (sketched, self.matrices),
                    (transposed, self.matrices.transpose(0, 2, 1)),
                )
            )
        whole = Projected(
            self.matrices, sketched, transposed, symmetry, self.sizes, self.products.factors,
            np.ones(self.size), self._overlap, self.resolved, self.complete,
        )  # fmt: skip
        if self.ties.shape[1]:
            self.rotation = np.eye(self.size)
            return whole
        squares, self.rotation = self.ritz()
        frequency = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        made = whole.on(self.rotation, frequency, self.resolved, self.complete)
        for j in np.flatnonzero(symmetry):
            A = made.matrices[j]
            made.matrices[j] = 0.5 * (A + symmetry[j] * A.T)
        return made

    def _symmetric(self) -> Array:
        return 0.5 * (self.matrices + self.matrices.transpose(0, 2, 1))

    def lift(self, coordinates: NDArray[np.inexact[Any]]) -> NDArray[np.inexact[Any]]:
        """Full vectors (n, …) of coordinates (r, …), those of the last `projected`."""
        return np.asarray(self.columns.V @ (self.rotation @ coordinates))


@dataclass(frozen=True)
class Sketches:
    """Θᵀ and Ξᵀ (n, p): see the head of this file."""

    theta: Array
    xi: Array

    @classmethod
    def random(cls, reference: ReferenceOperator) -> Sketches:
        """Of SKETCHES columns, seeded: a sweep repeats bit by bit."""
        n = reference.family.n
        rng = np.random.default_rng(23)
        mass, diagonal = reference.mass, reference.mass.diagonal()
        if isinstance(mass, Kronecker) and mass.scalar is not None:
            low, high = mass_bounds(mass.m, mass.m.diagonal())  # those of m ⊗ I are those of m
        else:
            low, high = mass_bounds(mass, diagonal)
        random = rng.standard_normal((n, SKETCHES))
        random *= np.sqrt(high * diagonal / SKETCHES)[:, None]
        xi = rng.standard_normal((n, SKETCHES))
        xi *= np.sqrt(1.0 / (low * diagonal * SKETCHES))[:, None]
        return cls(reference.solve(random), xi)


def mass_bounds(mass: Any, diagonal: Array, steps: int = 30) -> tuple[float, float]:
    """Extreme eigenvalues of diag(M)⁻¹M, widened by a tenth: Lanczos, fully orthogonalised."""
    scale = 1.0 / np.sqrt(diagonal)
    n = len(diagonal)
    Q = np.zeros((n, min(steps, n)), order="F")
    q = np.random.default_rng(5).standard_normal(n)
    image = np.zeros_like(Q)
    found = 0
    for k in range(Q.shape[1]):
        for _ in range(2):
            q = q - Q[:, :k] @ (Q[:, :k].T @ q)
        size = np.linalg.norm(q)
        if size < 1e-10 * np.sqrt(n):
            break
        Q[:, k] = q / size
        image[:, k] = scale * (mass @ (scale * Q[:, k]))
        q, found = image[:, k].copy(), k + 1
    theta = la.eigvalsh(Q[:, :found].T @ image[:, :found])
    return max(0.9 * float(theta[0]), 1e-6), 1.1 * float(theta[-1])
