"""Points of a model in the coordinates of its bases: small matrices, and the residuals of their
motions in the full model.

Of displacements q, velocities v and accelerations a the residual of a part is

    ρ = Σ_j A_j V (m_j a + c_j v + k_j q)

with the coefficients m_j, c_j, k_j of the mass, the damping and the stiffness; for a mode v = λq
and a = λ²q. The sketches Θ and Ξ of every A_jV (modal/reduction/basis.py) give its norm without
work of order n.

In a mechanism the displacements of a link are δ = T q. With δ₁ = Ṫ q and δ₂ = T̈ q the equations
of a mode (λ, q) of the full mechanism are TᵀR with

    R = [λ²M + λ(C + D) + K] δ + [2λM + C + D] δ₁ + M δ₂

over the DOFs of all bodies, M … K block diagonal. Forces that the constraints take, S f at the
joints, drop out of TᵀR, so R is known up to these, and by the inequality of Cauchy and Schwarz

    ‖TᵀR‖²_{(TᵀK_refT)⁻¹} ≤ Σ_bodies min_f ‖R + S f‖²_{K_ref⁻¹}.

Of the adjoint problem ṪᵀX and T̈ᵀX are forces at the joints too: J T = 0 gives Ṫᵀ = TᵀSᵀ(…), so its
R is [λ̄²M + λ̄(C + D)ᵀ + Kᵀ] δ alone. Bodies that are not reduced satisfy their equations exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg as la

from assembly.types import Inexact
from modal.eigen.quadratic import times
from modal.reduction.affine import Coefficients
from modal.reduction.basis import Projected
from modal.reduction.reduced_eigen import SmallModes, coordinate_frequencies
from modal.types import Array, Complex, Index

BODY = "body"  # the name of the one part of a model that is no mechanism

# What the mass, the damping and the stiffness operators multiply, (P, r, k) each.
Roles = tuple[Inexact, Inexact, Inexact]


def motion_of_modes(lam: Complex, vectors: Complex) -> Roles:
    """Displacement, velocity and acceleration of modes λ (P, k) with vectors (P, r, k)."""
    row = lam[:, None, :]
    return vectors, row * vectors, row**2 * vectors


def dual_squares(sketch: Inexact) -> Array:
    """‖K_ref⁻¹ρ‖_M ‖ρ‖_{M⁻¹} ≥ ‖ρ‖², the squared norm dual to K_ref, (P, k), of Θρ and Ξρ."""
    norms = np.linalg.norm(sketch, axis=2)
    return np.asarray(norms[:, 0] * norms[:, 1])


@dataclass(frozen=True)
class SmallMatrices:
    """P points on r coordinates; matrices (3, P, r, r): M, C + D and all stiffness."""

    matrices: Array

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

    def taken(self, index: Index) -> SmallMatrices:
        """Some of the points."""
        return SmallMatrices(self.matrices[:, index])

    def __len__(self) -> int:
        return int(self.matrices.shape[1])


@dataclass(frozen=True)
class Instants(SmallMatrices):
    """Points whose residuals are sketched.

    projected: every part, by name. coefficients: of its operators. jets: T, Ṫ and T̈ of the links of
    a mechanism, (3, P, r, n); none of a body, whose coordinates are those of its basis.
    """

    projected: Mapping[str, Projected]
    coefficients: Mapping[str, Coefficients]
    jets: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of_body(cls, projected: Projected, at: Coefficients) -> Instants:
        """Points of a body: combinations of the projected operators."""
        J, r, _ = projected.matrices.shape
        at = at.padded(J)
        flat = at.table.reshape(-1, J) @ projected.matrices.reshape(J, r * r)
        return cls(flat.reshape(3, -1, r, r), {BODY: projected}, {BODY: at})

    @classmethod
    def joined(cls, parts: Sequence[Instants]) -> Instants:
        """The points of several, on the same bases."""
        names, matrices = parts[0].projected, [part.matrices for part in parts]
        at = {n: Coefficients.joined([part.coefficients[n] for part in parts]) for n in names}
        jets = {n: np.concatenate([part.jets[n] for part in parts], axis=1) for n in names}
        return cls(np.concatenate(matrices, axis=1), names, at, jets)

    @property
    def body(self) -> Projected:
        """The one part of a model that is no mechanism."""
        return self.projected[BODY]

    @property
    def at(self) -> Coefficients:
        """The multipliers of its operators."""
        return self.coefficients[BODY]

    @cached_property
    def floor(self) -> float:
        """Of a body a hundredth of its first elastic reference frequency."""
        if self.jets:
            return super().floor
        frequency, rigid = self.body.frequency, len(self.body.overlap)
        return 0.01 * float(frequency[min(rigid, len(frequency) - 1)])

    @property
    def resolved(self) -> float:
        """rad/s, below which the bases hold every reference mode; inf where they span all."""
        return min(projected.resolved for projected in self.projected.values())

    @property
    def complement(self) -> Array:
        """δ₁, δ₂, δ₃ (3, P), s, on shapes that the bases do not hold: the range of the symmetric
        part of the damping relative to the stiffness, and the size of its skew part. Of a body, as
        on the Ritz vectors of K_ref from `resolved` on, of the operators that are not held; else
        zeros."""
        frequency = np.zeros(0) if self.jets else self.body.frequency
        outer = frequency >= self.resolved
        if not outer.any():
            return np.zeros((3, len(self)))
        scale = np.outer(frequency[outer], frequency[outer])
        rest = np.where(self.body.held, 0.0, self.at.damping)
        damping = np.tensordot(rest, self.body.matrices[:, outer][:, :, outer], axes=1)
        K, E = self.stiffness[:, outer][:, :, outer] / scale, damping / scale
        ratios, U = np.linalg.eigh(0.5 * (K + K.transpose(0, 2, 1)))
        root = U / np.sqrt(np.maximum(ratios, np.finfo(float).eps))[:, None]
        E = root.transpose(0, 2, 1) @ E @ root
        symmetric, skew = (0.5 * (E + sign * E.transpose(0, 2, 1)) for sign in (1.0, -1.0))
        values = np.linalg.eigvalsh(symmetric)
        return np.stack([values[:, 0], values[:, -1], np.abs(skew).sum(axis=2).max(axis=1)])

    def taken(self, index: Index) -> Instants:
        """Some of the points."""
        at = {name: at.take(index) for name, at in self.coefficients.items()}
        jets = {name: jet[:, index] for name, jet in self.jets.items()}
        return Instants(self.matrices[:, index], self.projected, at, jets)

    def roles(self, name: str, motion: Roles, adjoint: bool = False) -> Roles:
        """What the operators of a part multiply, of displacement, velocity and acceleration
        (P, r, k)."""
        q, v, a = motion
        if name not in self.jets:
            return a, v, q
        T, rate, curvature = self.jets[name]
        if adjoint:
            return T @ a, T @ v, T @ q
        return T @ a + 2.0 * (rate @ v) + curvature @ q, T @ v + rate @ q, T @ q

    def sketch(self, name: str, roles: Roles, transposed: bool = False) -> Inexact:
        """Θ and Ξ of the residuals of one part, (P, 2, p, k)."""
        part, at = self.projected[name], self.coefficients[name]
        images = part.images[int(transposed)]
        J, two, p, r = images.shape
        flat = images.reshape(J, -1)
        out = np.zeros((len(at), two * p, roles[0].shape[2]), dtype=np.result_type(*roles))
        for table, vectors in zip(at.table, roles, strict=True):
            if np.any(table):
                out += (table @ flat).reshape(-1, two * p, r) @ vectors
        return out.reshape(len(at), two, p, -1)

    def residual(self, name: str, roles: Roles) -> Inexact:
        """x (J, r, P) of the residuals Σ_j A_j V x_j of one part, of one motion a point."""
        table = self.coefficients[name].table
        terms = (c.T[:, None, :] * x[..., 0].T for c, x in zip(table, roles, strict=True))
        return np.asarray(sum(terms))

    def dual_norms(self, lam: Complex, vectors: Complex, transposed: bool) -> Array:
        """√Σ_parts ‖K_ref⁻¹ρ‖_M ‖ρ‖_{M⁻¹} ≥ ‖ρ‖ dual to K_ref, (P, k), of modes, sketched."""
        motion = motion_of_modes(lam.conj() if transposed else lam, vectors)
        square = sum(
            dual_squares(self.sketch(name, self.roles(name, motion, transposed), transposed))
            for name in self.projected
        )
        return np.sqrt(square)

    def pairing(self, modes: SmallModes) -> Complex:
        """wᴴ(2λM + E)u, (P, k)."""
        u, lam = modes.right, modes.eigenvalues[:, None, :]
        image = 2.0 * lam * times(self.mass, u) + times(self.damping, u)
        return np.asarray(np.einsum("prk,prk->pk", modes.left.conj(), image))

    def mass_norm(self, vectors: Complex) -> Array:
        """√(uᴴMu), (P, k)."""
        square = np.einsum("prk,prk->pk", vectors.conj(), times(self.mass, vectors)).real
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def product_sizes(self, modes: SmallModes) -> Array:
        """A bound (P, k) of the sum of the moduli of all terms of wᴴT(λ)u."""
        k, size = modes.eigenvalues.shape[1], np.abs(modes.eigenvalues)
        vectors = np.concatenate([modes.right, modes.left], axis=2)
        squares = np.zeros((len(self), 2 * k))
        for name, at in self.coefficients.items():
            x = self.roles(name, (vectors, vectors, vectors), adjoint=True)[2]
            parts = np.concatenate([x.real, x.imag], axis=2)
            for power, table in ((2, at.mass), (1, at.damping), (0, at.stiffness)):
                S = size_matrices(self.projected[name], table)
                forms = np.einsum("prk,prk->pk", parts, S @ parts)
                form = forms[:, : 2 * k] + forms[:, 2 * k :]
                squares += np.tile(size**power, 2) * np.maximum(form, 0.0)
        return np.asarray(np.sqrt(squares[:, :k] * squares[:, k:]))


def size_matrices(projected: Projected, coefficients: Array) -> Array:
    """The sizes (P, r, r) of the terms that products with Σ_j c_j A_j sum, from c (P, J)."""
    G, r, _ = projected.sizes.shape
    flat = np.abs(coefficients) @ projected.factors @ projected.sizes.reshape(G, r * r)
    return np.asarray(flat.reshape(-1, r, r))


def form_round_off(projected: Projected, coefficients: Array) -> Array:
    """Round-off (P,) of the quadratic forms of Σ_j c_j A_j, c (P, J), relative to K_ref."""
    S = size_matrices(projected, coefficients)
    scaled = S / np.outer(projected.frequency, projected.frequency)
    return np.asarray(np.finfo(float).eps * np.abs(scaled).sum(axis=2).max(axis=1))
