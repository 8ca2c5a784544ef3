"""The reduced basis of one link of a mechanism, from one factorization (docs/numerics.md,
"Mechanisms").

The basis starts from the rigid motions and lowest free modes of the link, the responses to the unit
forces and moments of its joints and loads (attachment modes), and the responses to the twelve unit
inertia loads. It grows by K_ref⁻¹ × residual of the mechanism. K_ref = K + σM, σ far below the
first elastic frequency, is factorized once.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.bodies.reduced import Key, ReducedBody, fixed_operators
from modal.reduction.affine import AffineFamily, Coefficients, Term
from modal.reduction.basis import ReducedBasis, Sketches
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Index

MODES = 24  # free elastic modes of the starting basis
DEPENDENT = 1e-10  # relative size of a joint's load that repeats others


class LinkBasis:
    """V (n, r) of one body, with all its fixed matrices projected and sketched.

    loads (n, k): unit forces and moments of joints and loads, each with its geometric stiffness.
    ties (n, m): loads by which joints and applied forces may act in the equations of the vibration.
    units: the unit kinematics that occur. rotations: matrices (n, n) of unit moments on best-fit
    rotations, by the numbers of joint points. `version` counts how often the basis has grown.
    """

    def __init__(
        self,
        body: Body,
        loads: Array,
        ties: Array,
        units: tuple[int, ...],
        rotations: Mapping[int, tuple[Any, ...]],
    ) -> None:
        self.body, self.loads, self.version = body, loads, 0
        operators = fixed_operators(body, loads, units)
        operators |= {
            (f"rotation {point}", axis): matrix
            for point, matrices in rotations.items()
            for axis, matrix in enumerate(matrices)
        }
        self.numbers: dict[Key, int] = {key: k for k, key in enumerate(operators)}
        # Number of the matrix of a unit moment, by joint point and axis.
        self.rotations = {
            (point, axis): self.numbers[f"rotation {point}", axis]
            for point in rotations
            for axis in range(3)
        }
        self._held = np.zeros(0, dtype=np.intp)
        fields = body.dofs.rigid_fields()
        fields = fields[:, np.abs(fields).max(axis=0) > 0.0]
        self.family = AffineFamily.of_operators(list(operators.values()), fields, body.dofs)
        rows = [np.zeros((1, len(operators))) for _ in range(3)]
        rows[0][0, self.numbers["M", 0]] = rows[2][0, self.numbers["K", 0]] = 1.0
        self.reference = ReferenceOperator(self.family, Coefficients(*rows))
        count = min(MODES + fields.shape[1], body.size)
        sketches = Sketches(self.reference)
        start = self.reference.start(count)
        self.basis = ReducedBasis(self.family, self.reference, start, sketches)
        self.resolved = self._highest(count)
        inertia = body.operators.inertia_loads[:, list(units)]
        self.ties = _independent(ties)
        responses = self.reference.solve(np.hstack([self.ties, _independent(inertia)]))
        self.include(np.hstack([fields, responses]))

    def _highest(self, count: int) -> float:
        """The frequency, rad/s, up to which the starting basis holds all modes of K_ref."""
        frequency = self.basis.projected().frequency
        return float(frequency[min(count, len(frequency)) - 1])

    @cached_property
    def stiffest(self) -> float:
        """The mean of K_jj/M_jj, (rad/s)²: about the square of the highest frequency."""
        K, M = (self.family.terms[self.numbers[name, 0]].operator.tocsr() for name in "KM")
        return float(np.mean(np.abs(K.diagonal()) / M.diagonal()))

    @property
    def terms(self) -> Sequence[Term]:
        """The fixed matrices."""
        return self.family.terms

    @property
    def V(self) -> Array:
        """The shapes, (n, r)."""
        return self.basis.V

    @property
    def rotation(self) -> Array:
        """Its coordinates are those of V."""
        return np.eye(self.size)

    @property
    def size(self) -> int:
        """Number of shapes."""
        return self.basis.columns.size

    def include(self, vectors: Array) -> int:
        """Add what the vectors (n, q) bring; the number of new directions."""
        added = self.basis.include(vectors)
        self._forget(added)
        return added

    def free(self, residuals: Array) -> Array:
        """Residuals (n, q) less the forces at the ties in them."""
        return np.asarray(residuals - self.ties @ (self._balance @ (self.V.T @ residuals)))

    def solve(self, block: Array) -> Array:
        """K_ref⁻¹ block, (n, q)."""
        return self.reference.solve(block)

    def grow(self, residuals: Array) -> int:
        """Add K_ref⁻¹ residuals (n, q), less the forces at the ties in them."""
        return self.include(self.solve(self.free(residuals)))

    def _forget(self, added: int) -> None:
        if added:
            self.version += 1
            self.__dict__.pop("sketched", None)

    def branch(self) -> LinkBasis:
        """A basis that grows on its own from here; this one stays as it is."""
        other = copy.copy(self)
        other.basis = copy.copy(self.basis)
        return other

    def without_sketches(self) -> LinkBasis:
        """A copy that grows on its own, without sketches."""
        other = self.branch()
        other.basis = self.basis.without_sketches()
        return other

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> LinkBasis:
        """The basis whose `arrays` were kept."""
        other = self.branch()
        other.basis = ReducedBasis.restored(self.family, self.reference, arrays)
        other._forget(1)
        return other

    def hold(self, slaves: Index) -> None:
        """Let the basis contain the unit displacements of some DOFs."""
        new = np.setdiff1d(slaves, self._held)
        self._held = np.union1d(self._held, new).astype(np.intp)
        units = np.zeros((self.body.size, len(new)))
        units[new, np.arange(len(new))] = 1.0
        self.include(units)

    def reduced(self, slaves: Index) -> ReducedBody:
        """The body in the coordinates of the basis, the displacements of `slaves` among them."""
        return ReducedBody.of(
            self.body,
            self.basis.columns.V,
            slaves,
            self.numbers,
            self.basis.matrices,
            self.loads.shape[1],
        )

    @property
    def _balance(self) -> Array:
        """(VᵀS)⁺ (m, r): with the forces −S f, f = (VᵀS)⁺Vᵀρ, a residual ρ is orthogonal to V."""
        return np.linalg.pinv(self.basis.columns.V.T @ self.ties)

    @cached_property
    def sketched(self) -> tuple[Array, Array]:
        """Θ and Ξ of A_jV and of A_jᵀV, (J, 2, p, r) each, less the forces at the ties in them.

        A residual ρ is known up to forces S f at the ties, by which the constraints act. For a mode
        of the reduced mechanism some of these make Vᵀ(ρ + S f) = 0. As K_ref⁻¹S is in the basis,
        this is the smallest of all ρ + S f in the norm dual to K_ref.
        """
        basis = self.basis
        sketches = np.stack([basis.theta.T, basis.xi.T])
        return self._free(sketches, basis.sketched, basis.matrices), self._free(
            sketches, basis.transposed, basis.matrices.transpose(0, 2, 1)
        )

    def sketched_forces(self, forces: Array) -> Array:
        """Θ and Ξ of forces (P, n, k), less those at the ties in them, (P, 2, p, k)."""
        basis = self.basis
        sketches = np.stack([basis.theta.T, basis.xi.T])
        shares = self._balance @ (basis.columns.V.T @ forces)
        return np.asarray(sketches @ (forces - self.ties @ shares)[:, None])

    def _free(self, sketches: Array, images: Array, matrices: Array) -> Array:
        """Sketched images (J, 2, p, r) without the part of the ties; matrices (J, r, r)."""
        forces = sketches @ self.ties
        return np.asarray(images - np.einsum("spm,jmr->jspr", forces, self._balance @ matrices))


def _independent(forces: Array) -> Array:
    """The columns scaled to unit size, those that repeat others left out."""
    size = np.linalg.norm(forces, axis=0)
    scaled = forces[:, size > 0.0] / size[size > 0.0]
    if not scaled.shape[1]:
        return np.asarray(scaled)
    _, R, order = la.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.asarray(scaled[:, order[: int((diagonal > DEPENDENT * diagonal[0]).sum())]])
