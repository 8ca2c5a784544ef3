"""The reduced basis of one link of a mechanism, from one factorization (docs/numerics.md,
"Mechanisms").

The basis starts from the rigid motions and lowest free modes of the link, the responses to the unit
forces and moments of its joints and loads (attachment modes), and the responses to the twelve unit
inertia loads. It grows by K_ref⁻¹ × residual of the mechanism. K_ref = K + σM, σ far below the
first elastic frequency, is factorized once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.bodies.body import Body
from assembly.bodies.reduced import Key, ReducedBody, fixed_operators
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import ReducedBasis, Sketches
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Index

MODES = 24  # free elastic modes of the starting basis
DEPENDENT = 1e-10  # relative size of a joint's load that repeats others


class LinkBasis(ReducedBasis):
    """V (n, r) of one body, with all its fixed matrices projected and sketched.

    loads (n, k): unit forces and moments of joints and loads, each with its geometric stiffness.
    ties (n, m): loads by which joints and applied forces may act in the equations of the vibration.
    units: the unit kinematics that occur. rotations: matrices (n, n) of unit moments on best-fit
    rotations, by the numbers of joint points. Coordinates are those of V.
    """

    def __init__(
        self,
        body: Body,
        loads: Array,
        ties: Array,
        units: tuple[int, ...],
        rotations: Mapping[int, tuple[Any, ...]],
    ) -> None:
        self.body, self.loads = body, loads
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
        family = AffineFamily.of_operators(list(operators.values()), fields, body.dofs)
        table = np.zeros((3, 1, len(operators)))
        table[0, 0, self.numbers["M", 0]] = table[2, 0, self.numbers["K", 0]] = 1.0
        reference = ReferenceOperator(family, Coefficients(table))
        count = min(MODES + fields.shape[1], body.size)
        sketches = Sketches(reference)
        super().__init__(family, reference, reference.start(count), sketches)
        squares, _ = self.ritz()
        self.resolved = float(np.sqrt(squares[min(count, len(squares)) - 1]))
        inertia = body.operators.inertia_loads[:, list(units)]
        self.ties = _independent(ties)
        self.include(self.solve(np.hstack([self.ties, _independent(inertia)])))

    @property
    def rotation(self) -> Array:  # type: ignore[override]
        """Its coordinates are those of V."""
        return np.eye(self.size)

    @property
    def size(self) -> int:
        """Number of shapes."""
        return self.columns.size

    def free(self, residuals: Array) -> Array:
        """Residuals (n, q) less the forces at the ties in them."""
        return np.asarray(residuals - self.ties @ (self._balance @ (self.V.T @ residuals)))

    def hold(self, slaves: Index) -> None:
        """Let the basis contain the unit displacements of some DOFs."""
        new = np.setdiff1d(slaves, self._held)
        self._held = np.union1d(self._held, new).astype(np.intp)
        units = np.zeros((self.body.size, len(new)))
        units[new, np.arange(len(new))] = 1.0
        self.include(units)

    def reduced(self, slaves: Index) -> ReducedBody:
        """The body in the coordinates of the basis, the displacements of `slaves` among them."""
        loads = self.loads.shape[1]
        return ReducedBody.of(self.body, self.V, slaves, self.numbers, self.matrices, loads)

    @property
    def _balance(self) -> Array:
        """(VᵀS)⁺ (m, r): with the forces −S f, f = (VᵀS)⁺Vᵀρ, a residual ρ is orthogonal to V."""
        return np.linalg.pinv(self.V.T @ self.ties)

    def free_sketches(self, transposed: bool) -> Array:
        """Θ and Ξ of A_jV, or of A_jᵀV, (J, 2, p, r), less the forces at the ties in them.

        A residual ρ is known up to forces S f at the ties, by which the constraints act. For a mode
        of the reduced mechanism some of these make Vᵀ(ρ + S f) = 0. As K_ref⁻¹S is in the basis,
        this is the smallest of all ρ + S f in the norm dual to K_ref.
        """
        if self._free[0] != self.size:
            forces, balance = self.sketches @ self.ties, self._balance
            self._free = (
                self.size,
                tuple(
                    np.asarray(images - np.einsum("spm,jmr->jspr", forces, balance @ matrices))
                    for images, matrices in (
                        (self.sketched, self.matrices),
                        (self.transposed, self.matrices.transpose(0, 2, 1)),
                    )
                ),
            )
        return self._free[1][int(transposed)]

    # Number of shapes that the sketches without forces at the ties are of, and these.
    _free: tuple[int, tuple[Array, ...]] = (0, ())


def _independent(forces: Array) -> Array:
    """The columns scaled to unit size, those that repeat others left out."""
    size = np.linalg.norm(forces, axis=0)
    scaled = forces[:, size > 0.0] / size[size > 0.0]
    if not scaled.shape[1]:
        return np.asarray(scaled)
    _, R, order = la.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.asarray(scaled[:, order[: int((diagonal > DEPENDENT * diagonal[0]).sum())]])
