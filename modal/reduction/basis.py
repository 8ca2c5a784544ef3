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
from modal.reduction.mass_basis import CLEAR, MassBasis
from modal.reduction.projection import ProductSizes, projections
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Index, Mask

SKETCHES = 32
UNDERESTIMATE = 2.0  # by which a sketched norm may be too small (see above)


@dataclass(frozen=True)
class Projected:
    """What a point needs, nothing of order n.

    matrices (J, r, r): VᵀA_jV. images (2, J, 2, p, r): Θ A_j V and Ξ A_j V, then those of A_jᵀ
    (equal up to sign where A_j has a symmetry). symmetry (J,). sizes (G, r, r),
    factors (J, G): the size of the terms that products with A_j sum is at most Σ_g factors[j, g]
    sizes[g] (modal/reduction/projection.py). frequency (r,): square
    roots of the Ritz values of K_ref, in whose M-orthonormal coordinates all is. overlap (m, r):
    RᵀM V of the M-orthonormal rigid fields. resolved: rad/s, below which the basis holds every
    reference mode; inf where it spans everything. held (J,): K_ref⁻¹ of the ranges of A_j and A_jᵀ
    is in the basis: A_j vanishes on the shapes orthogonal to it in K_ref.
    """

    matrices: Array
    images: Array
    symmetry: Index
    sizes: Array
    factors: Array
    frequency: Array
    overlap: Array
    resolved: float
    held: Mask

    @property
    def size(self) -> int:
        return int(self.matrices.shape[1])

    def on(self, Z: Array, frequency: Array, resolved: float) -> Projected:
        """Everything on the columns of Z (r, s), in which ZᵀK_ref Z is the squares of
        `frequency`."""
        return replace(
            self,
            matrices=Z.T @ (self.matrices @ Z),
            images=self.images @ Z,
            sizes=Z.T @ (self.sizes @ Z),
            overlap=self.overlap @ Z,
            frequency=frequency,
            resolved=resolved,
        )


class ReducedBasis:
    """V (n, r), M-orthonormal and real, with every operator projected; `grow` adds vectors.

    sketches (2, p, n): Θ and Ξ. ties (n, m): independent forces by which constraints may act on a
    part of a mechanism; K_ref⁻¹ of them is in the basis. resolved: rad/s, below which it holds
    every mode of K_ref.
    """

    def __init__(
        self,
        family: AffineFamily,
        reference: ReferenceOperator,
        sketches: Array,
        ties: Array | None = None,
    ) -> None:
        self.family, self.reference, self.resolved = family, reference, 0.0
        self.sketches = sketches
        self.ties = np.zeros((family.n, 0)) if ties is None else ties
        self.columns = MassBasis(reference.mass)
        self.products = ProductSizes.of(family.terms, reference.mass.diagonal())
        count, groups = self.products.factors.shape
        self._projected = Projected(
            np.zeros((count, 0, 0)), np.zeros((2, count, *sketches.shape[:2], 0)),
            np.array([term.symmetry for term in family.terms], dtype=np.intp),
            np.zeros((groups, 0, 0)), self.products.factors, np.zeros(0), np.zeros((0, 0)), 0.0,
            np.zeros(count, dtype=bool),
        )  # fmt: skip
        self._images: RigidImages | None = None
        fields, self._rigid = mass_orthonormal(reference.mass, family.rigid)
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
            return cls(family, reference, random_sketches(reference), ties)
        reference = ReferenceOperator(family, at, (arrays["weights"], float(arrays["shift"][0])))
        made = cls(family, reference, np.stack([arrays["theta"].T, arrays["xi"].T]), ties)
        made.columns = MassBasis(reference.mass)
        made.columns.append(arrays["V"], arrays["MV"])
        made.resolved = float(arrays["resolved"][0])
        made._projected = replace(
            made._projected,
            matrices=arrays["matrices"],
            sizes=arrays["sizes"],
            images=np.stack([arrays["sketched"], arrays["transposed"]]),
            overlap=arrays["overlap"],
            held=arrays.get("held", made._projected.held),  # none of earlier versions
        )
        return made

    def without_sketches(self) -> Self:
        """A copy that grows on its own, without sketches."""
        made = copy.copy(self)
        made.sketches = self.sketches[:, :0]
        made._projected = replace(self.on_vectors, images=self.on_vectors.images[..., :0, :])
        return made

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What `of` takes."""
        (theta, xi), on_vectors = self.sketches, self.on_vectors
        return {
            "V": self.columns.V, "MV": self.columns.MV, "theta": theta.T, "xi": xi.T,
            "resolved": np.array([self.resolved]),
            "matrices": on_vectors.matrices, "sizes": on_vectors.sizes,
            "sketched": on_vectors.images[0], "transposed": on_vectors.images[1],
            "overlap": on_vectors.overlap, "held": on_vectors.held,
            "weights": self.reference.weights, "shift": np.array([self.reference.shift]),
        }  # fmt: skip

    @property
    def V(self) -> Array:
        """The vectors, (n, r)."""
        return self.columns.V

    @property
    def tests(self) -> tuple[Array, ...]:
        """V, Θᵀ and Ξᵀ: by what operators are multiplied from the left."""
        return self.V, *(sketch.T for sketch in self.sketches)

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

    def hold(self, ranges: Mapping[int, Array]) -> None:
        """Add K_ref⁻¹ of the ranges (n, r) of operators A_j and A_jᵀ, by j."""
        self.grow(np.hstack(list(ranges.values())))
        held = self._projected.held.copy()
        held[list(ranges)] = True
        self._projected = replace(self._projected, held=held)

    def include_lowest(self, count: int) -> MassBasis:
        """Add the `count` lowest modes of K_ref, and note up to which frequency all are there."""
        start = self.reference.start(count)
        if self.size:
            beyond = 1.0 - ((self.columns.MV.T @ start.V) ** 2).sum(axis=0)
            self.include(start.V[:, beyond > CLEAR**2])
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
        self.columns = copy.copy(self.columns)
        self.columns.append(fresh, product)

    @property
    def on_vectors(self) -> Projected:
        """All projections on V itself: vectors are projected together when these are needed."""
        if self._projected.size < self.size:
            self._project()
        return self._projected

    def _project(self) -> None:
        before, V, terms = self._projected, self.V, self.family.terms
        old, size = before.size, self.size
        fresh = V[:, old:]
        matrices = np.zeros((len(terms), size, size))
        matrices[:, :old, :old] = before.matrices
        images = np.zeros((*before.images.shape[:-1], size - old))
        every = projections(terms, self.tests, fresh)
        for j, (term, parts) in enumerate(zip(terms, every, strict=True)):
            matrices[j, :, old:], *images[0, j] = parts
            if term.symmetry:
                matrices[j, old:, :old] = term.symmetry * matrices[j, :old, old:].T
                corner = matrices[j, old:, old:]
                matrices[j, old:, old:] = 0.5 * (corner + term.symmetry * corner.T)
                images[1, j] = term.symmetry * images[0, j]
        plain = [j for j, term in enumerate(terms) if not term.symmetry]
        adjoint = projections([terms[j] for j in plain], self.tests, fresh, transposed=True)
        for j, (whole, *parts) in zip(plain, adjoint, strict=True):
            matrices[j, old:, :old] = whole[:old].T
            images[1, j] = parts
        sizes = np.zeros((len(before.sizes), size, size))
        sizes[:, :old, :old] = before.sizes
        for on_basis, weights in zip(sizes, self.products.weights, strict=True):
            on_basis[:, old:] = V.T @ (weights[:, None] * fresh)
            on_basis[old:, :old] = on_basis[:old, old:].T
        self._projected = replace(
            before,
            matrices=matrices,
            sizes=sizes,
            images=np.concatenate([before.images, images], axis=-1),
            overlap=self._rigid.T @ V,
        )
        if self.family.rigid.shape[1]:
            self._without_rigid()

    @property
    def images(self) -> RigidImages:
        """The products of the operators of the basis with the rigid fields; the last are stored."""
        count = len(self._projected.matrices)
        if self._images is None or len(self._images.inner) != count:
            operators = [term.operator for term in self.family.terms[:count]]
            self._images = RigidImages(self.reference.mass, self.family.rigid, operators)
        return self._images

    def _without_rigid(self) -> None:
        """Remove what round-off makes of operators that annihilate the rigid fields."""
        made = self._projected
        inside, matrices = made.overlap.T @ made.overlap, made.matrices
        for j in np.flatnonzero(self.images.annihilates):
            A = matrices[j] - matrices[j] @ inside
            matrices[j] = A - inside @ A
            made.images[:, j] -= made.images[:, j] @ inside

    def ritz(self) -> tuple[Array, Array]:
        """Ritz values (r,) of (K_ref, M), ascending, and their vectors (r, r)."""
        matrices = self.on_vectors.matrices
        symmetric = 0.5 * (matrices + matrices.transpose(0, 2, 1))
        K = np.tensordot(self.reference.weights, symmetric, axes=1)
        squares, Z = la.eigh(K + self.reference.shift * np.eye(len(K)))
        return squares, Z

    def projected(self) -> Projected:
        """The projections: in the coordinates of the Ritz vectors of K_ref, or, with ties, in those
        of V, the sketches of residuals less the forces at the ties.

        A residual ρ is known up to forces S f at the ties, by which the constraints act. For a mode
        of the whole model some of these make Vᵀ(ρ + S f) = 0. As K_ref⁻¹S is in the basis, this is
        the smallest of all ρ + S f in the norm dual to K_ref.
        """
        resolved, made = np.inf if self.complete else self.resolved, self.on_vectors
        if self.ties.shape[1]:
            forces, balance = self.sketches @ self.ties, self._balance
            both = np.stack([made.matrices, made.matrices.transpose(0, 2, 1)])
            images = made.images - np.einsum("spm,tjmr->tjspr", forces, balance @ both)
            self.rotation, frequency = np.eye(self.size), np.ones(self.size)
            return replace(made, images=images, frequency=frequency, resolved=resolved)
        squares, self.rotation = self.ritz()
        frequency = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        made = made.on(self.rotation, frequency, resolved)
        for j in np.flatnonzero(made.symmetry):
            A = made.matrices[j]
            made.matrices[j] = 0.5 * (A + made.symmetry[j] * A.T)
        return made

    def lift(self, coordinates: NDArray[np.inexact[Any]]) -> NDArray[np.inexact[Any]]:
        """Full vectors (n, …) of coordinates (r, …), those of the last `projected`."""
        return np.asarray(self.columns.V @ (self.rotation @ coordinates))


def random_sketches(reference: ReferenceOperator) -> Array:
    """Θ and Ξ (2, p, n), see the head of this file, of SKETCHES seeded columns: a sweep repeats bit
    by bit."""
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
    return np.stack([reference.solve(random).T, xi.T])


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
