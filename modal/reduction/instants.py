"""Points of a model in the coordinates of its bases: small matrices, and the residuals of their
modes in the full model (modal/reduction/residuals.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.linalg as la

from assembly.types import Inexact
from modal.reduction.affine import Coefficients
from modal.reduction.basis import Projected
from modal.reduction.reduced_eigen import SmallModes, coordinate_frequencies
from modal.reduction.residuals import Roles, dual_squares, roles_of_modes, sketched
from modal.types import Array, Complex, Index


class SmallMatrices(ABC):
    """P points on r coordinates."""

    matrices: Array  # (3, P, r, r): M, C + D and all stiffness

    @property
    def mass(self) -> Array:
        """M, (P, r, r)."""
        return np.asarray(self.matrices[0])

    @property
    def damping(self) -> Array:
        """C + D."""
        return np.asarray(self.matrices[1])

    @property
    def stiffness(self) -> Array:
        """All stiffness."""
        return np.asarray(self.matrices[2])

    @cached_property
    def floor(self) -> float:
        """Below this |λ| a tolerance of eigenvalues is absolute, rad/s: a hundredth of the first
        frequency of the first point."""
        K = self.stiffness[0]
        squares = la.eigvalsh(0.5 * (K + K.T), self.mass[0])
        return 0.01 * float(coordinate_frequencies(squares)[0])

    @abstractmethod
    def taken(self, index: Index) -> Self:
        """Some of the points."""

    def __len__(self) -> int:
        return int(self.matrices.shape[1])


class Instants(SmallMatrices):
    """Points whose residuals are sketched.

    coefficients: of the operators of every part, by its name. resolved: rad/s, below which the
    bases hold every reference mode; inf where they span everything.
    """

    coefficients: Mapping[str, Coefficients]
    resolved: float

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The parts that have bases."""

    @abstractmethod
    def roles(self, name: str, q: Inexact, v: Inexact, a: Inexact, adjoint: bool = False) -> Roles:
        """What the operators of a part multiply, of displacement, velocity and acceleration
        (P, r, k)."""

    @abstractmethod
    def sketch(self, name: str, roles: Roles, transposed: bool = False) -> Inexact:
        """Θ and Ξ of the residuals of one part, (P, 2, p, k)."""

    @abstractmethod
    def sizes(self, name: str) -> tuple[Array, Array]:
        """`sizes` and `factors` of the products of a part (modal/reduction/product_sizes.py)."""

    @property
    def complement(self) -> Array:
        """δ₁, δ₂, δ₃ (3, P), s, on shapes that the bases do not hold: the range of the symmetric
        part of the damping relative to the stiffness, and the size of its skew part."""
        return np.zeros((3, len(self)))

    def dual_norms(self, lam: Complex, vectors: Complex, transposed: bool) -> Array:
        """√Σ_parts ‖K_ref⁻¹ρ‖_M ‖ρ‖_{M⁻¹} ≥ ‖ρ‖ dual to K_ref, (P, k), of modes, sketched."""
        motion = roles_of_modes(lam.conj() if transposed else lam, vectors)[::-1]
        square = sum(
            dual_squares(self.sketch(name, self.roles(name, *motion, transposed), transposed))
            for name in self.names
        )
        return np.sqrt(square)

    def pairing(self, modes: SmallModes) -> Complex:
        """wᴴ(2λM + E)u, (P, k)."""
        u, lam = modes.right, modes.eigenvalues[:, None, :]
        image = 2.0 * lam * np.matmul(self.mass, u) + np.matmul(self.damping, u)
        return np.asarray((modes.left.conj() * image).sum(axis=1))

    def mass_norm(self, vectors: Complex) -> Array:
        """√(uᴴMu), (P, k)."""
        square = (vectors.conj() * np.matmul(self.mass, vectors)).sum(axis=1).real
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def product_sizes(self, modes: SmallModes) -> Array:
        """A bound (P, k) of the sum of the moduli of all terms of wᴴT(λ)u."""
        size = np.abs(modes.eigenvalues)
        squares = []
        for vectors in (modes.right, modes.left):
            total = np.zeros(size.shape)
            for name, at in self.coefficients.items():
                x = self.roles(name, vectors, vectors, vectors, adjoint=True)[2]
                for power, part in ((2, at.mass), (1, at.damping), (0, at.stiffness)):
                    S = size_matrices(*self.sizes(name), part)
                    form = (x.conj() * np.matmul(S, x)).sum(axis=1).real
                    total += size**power * np.maximum(form, 0.0)
            squares.append(total)
        return np.asarray(np.sqrt(squares[0] * squares[1]))


@dataclass(frozen=True)
class BodyInstants(Instants):
    """Points of a body, which is one part. at: with a column for every projected operator."""

    projected: Projected
    at: Coefficients
    name: ClassVar[str] = "body"

    @property
    def names(self) -> tuple[str, ...]:
        """One."""
        return (self.name,)

    @property
    def coefficients(self) -> Mapping[str, Coefficients]:  # type: ignore[override]
        """The multipliers of the operators."""
        return {self.name: self.at}

    @property
    def floor(self) -> float:
        """A hundredth of the first elastic reference frequency."""
        rigid = self.projected.overlap.shape[0]
        return 0.01 * float(self.projected.frequency[min(rigid, self.projected.size - 1)])

    @property
    def resolved(self) -> float:  # type: ignore[override]
        """That of the basis."""
        return np.inf if self.projected.complete else self.projected.resolved

    @property
    def complement(self) -> Array:
        """As they are on the Ritz vectors of K_ref from `resolved` on."""
        frequency = self.projected.frequency
        outer = frequency >= self.resolved
        if not outer.any():
            return super().complement
        scale = np.outer(frequency[outer], frequency[outer])
        K, E = (A[:, outer][:, :, outer] / scale for A in (self.stiffness, self.damping))
        ratios, U = np.linalg.eigh(0.5 * (K + K.transpose(0, 2, 1)))
        root = U / np.sqrt(np.maximum(ratios, np.finfo(float).eps))[:, None]
        E = root.transpose(0, 2, 1) @ E @ root
        symmetric, skew = (0.5 * (E + sign * E.transpose(0, 2, 1)) for sign in (1.0, -1.0))
        values = np.linalg.eigvalsh(symmetric)
        return np.stack([values[:, 0], values[:, -1], np.abs(skew).sum(axis=2).max(axis=1)])

    @cached_property
    def matrices(self) -> Array:  # type: ignore[override]
        """Combinations of the projected operators."""
        J, r, _ = self.projected.matrices.shape
        flat = self.at.table.reshape(-1, J) @ self.projected.matrices.reshape(J, r * r)
        return np.asarray(flat.reshape(3, -1, r, r))

    def __len__(self) -> int:
        return len(self.at)

    def taken(self, index: Index) -> BodyInstants:
        """Some of the points."""
        return replace(self, at=self.at.take(index))

    def roles(self, name: str, q: Inexact, v: Inexact, a: Inexact, adjoint: bool = False) -> Roles:
        """The same."""
        return a, v, q

    def sketch(self, name: str, roles: Roles, transposed: bool = False) -> Inexact:
        """Those of the basis."""
        projected = self.projected
        sketches = projected.adjoint_sketches if transposed else projected.sketches
        return sketched(sketches, self.at, roles)

    def sizes(self, name: str) -> tuple[Array, Array]:
        """Those of the basis."""
        return self.projected.sizes, self.projected.factors


def size_matrices(sizes: Array, factors: Array, coefficients: Array) -> Array:
    """The sizes (P, r, r) of the terms that products with Σ_j c_j A_j sum, from c (P, J)."""
    G, r, _ = sizes.shape
    return np.asarray((np.abs(coefficients) @ factors @ sizes.reshape(G, r * r)).reshape(-1, r, r))


def form_round_off(projected: Projected, coefficients: Array) -> Array:
    """Round-off (P,) of the quadratic forms of Σ_j c_j A_j, c (P, J), relative to K_ref."""
    S = size_matrices(projected.sizes, projected.factors, coefficients)
    scaled = S / np.outer(projected.frequency, projected.frequency)
    return np.asarray(np.finfo(float).eps * np.abs(scaled).sum(axis=2).max(axis=1))
