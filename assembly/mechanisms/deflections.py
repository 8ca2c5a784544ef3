"""Deflections of bushings: values, rates, gradients and second derivatives (docs/theory.md, "Joints
that give").

The deflection is x = (p, φ): p = R_aᵀ(x_b − x_a) the displacement of the second point from the
first in the axes of the first point, φ = log ρ the rotation vector of ρ = R_ab Nᵀ, N the relative
rotation R_ab at zero deflection. Rotations θ_a, θ_b of the two points make R_ab into exp(−θ̃_a) R_ab
exp(θ̃_b), that is exp(ψ̃) R_ab with

    ψ = −θ_a + R_ab θ_b − ½ θ_a × R_ab θ_b + …,

and φ becomes φ + A ψ + ½ A′[A ψ] ψ + …, with A = I − ½ φ̃ + c φ̃² the inverse of the left Jacobian of
the rotation vector, c = (1 − ½θ cot ½θ)/θ², and A′[η] its derivative along η.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.elements.large_rotation import (
    jacobian,
    spin_inverse_matrix,
    spin_inverse_transposed,
)
from assembly.elements.taylor import Taylor, matrix_product
from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.mechanisms.bushings import Bushing
from assembly.mechanisms.conditions import Condition, triads
from assembly.mechanisms.joint_rows import Evaluated, Frames, JointRows
from assembly.types import Array, Index


@dataclass(frozen=True)
class Deflected:
    """All bushings at one instant or at several (...), `size` rows each.

    x, rate (..., rows): deflection and its rate. gradient (2, ..., rows, 12): by the motions of the
    two points in body axes, and its rate; rigid (..., rows, 12): by those of the two frames.
    translation: the displacements; phi (..., b, 3), R (..., b, 3, 3): rotation vector, R_ab.
    """

    x: Array
    rate: Array
    gradient: Array
    rigid: Array
    translation: Evaluated
    phi: Array
    R: Array


class Deflections:
    """The deflections of bushings as rows that follow those of the joints.

    bodies (b, 2), points and levers (b, 2, 3): as for `JointRows`, one for every bushing.
    """

    def __init__(
        self,
        bushings: tuple[Bushing, ...],
        bodies: Index,
        points: Array,
        levers: Array,
        planar: bool,
    ) -> None:
        self.bushings, self.planar = bushings, planar
        self.size = 3 if planar else 6
        self.turns = [2] if planar else [0, 1, 2]  # components of φ that count
        self.moves = self.size - len(self.turns)
        axes = np.eye(3)[: self.moves]
        each = np.repeat(np.arange(len(bushings)), self.moves)
        self.translation = JointRows(
            [Condition(b.name, e, carried=True) for b in bushings for e in axes],
            bodies[each],
            points[each],
            levers[each],
        )
        pairs = (triads(bushing.joint()) for bushing in bushings)
        self._N = np.array([A @ B.T for A, B in pairs]).reshape(-1, 3, 3)
        # Rows of x in the order of bushings: displacements, then rotations, of each.
        count = len(bushings) * self.size
        place = np.arange(count).reshape(len(bushings), self.size)
        self._moving, self._turning = place[:, : self.moves], place[:, self.moves :]

    def __len__(self) -> int:
        return len(self.bushings) * self.size

    def rows(self, number: int) -> slice:
        """The rows of one bushing."""
        return slice(number * self.size, (number + 1) * self.size)

    def evaluate(self, frames: Frames, t: ArrayLike) -> Deflected:
        """All deflections of moving frames at times t (...); MechanismError beyond half a turn."""
        e = self.translation.evaluate(frames, t)
        R = Taylor(e.relative.data[:, ..., :: self.moves, :, :])
        turned = (R.value @ self._N.swapaxes(-1, -2)).reshape(-1, 3, 3)
        phi = Rotation.from_matrix(turned).as_rotvec().reshape(R.value.shape[:-1])
        self._check(phi, t)
        spin = R.rate @ R.value.swapaxes(-1, -2)
        omega = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        dphi = spin_inverse_transposed(phi, omega)
        A = spin_inverse_matrix(Taylor.of(phi, dphi, 0.0 * phi)).transposed
        moving, leading = self._moving.ravel(), phi.shape[:-2]
        x = np.zeros((2, *leading, len(self)))
        x[..., moving] = e.value.data[:2]
        x[0][..., self._turning] = phi[..., self.turns]
        x[1][..., self._turning] = dphi[..., self.turns]
        gradient = np.zeros((2, *leading, len(self), 12))
        gradient[..., moving, :] = self.translation.node_gradient(e).data[:2]
        turning = np.zeros((2, *phi.shape, 12))
        turning[..., 3:6], turning[..., 9:] = -A.data[:2], matrix_product(A, R).data[:2]
        gradient[..., self._turning, :] = turning[..., self.turns, :]
        rigid = gradient[0].copy()
        rigid[..., moving, :] = self.translation.rigid_gradient(e).value
        return Deflected(x[0], x[1], gradient, rigid, e, phi, R.value)

    def hessian(self, at: Deflected) -> Array:
        """∂²x by the displacement and rotation vectors of the two points, (..., rows, 12, 12)."""
        A, R = spin_inverse_matrix(at.phi).swapaxes(-1, -2), at.R
        change = jacobian(spin_inverse_matrix, at.phi)
        twice = np.einsum("...jkl,...li->...kij", change, A)
        twice = 0.5 * (twice + twice.swapaxes(-1, -2))
        turned = twice @ R[..., None, :, :]
        H = np.zeros((*at.phi.shape, 12, 12))
        H[..., 3:6, 3:6] = twice
        H[..., 3:6, 9:] = 0.5 * skew(A) @ R[..., None, :, :] - turned
        H[..., 9:, 3:6] = H[..., 3:6, 9:].swapaxes(-1, -2)
        H[..., 9:, 9:] = R.swapaxes(-1, -2)[..., None, :, :] @ turned
        out = np.zeros((*at.x.shape, 12, 12))
        out[..., self._moving.ravel(), :, :] = self.translation.node_hessian(at.translation)
        out[..., self._turning, :, :] = H[..., self.turns, :, :]
        return out

    def _check(self, phi: Array, t: ArrayLike, most: float = 3.0) -> None:
        """most: rad; a bushing with rotational stiffness must turn less than half a turn."""
        angle = np.linalg.norm(phi, axis=-1)
        for *when, number in np.argwhere(angle > most).tolist():
            bushing = self.bushings[number]
            turning = bushing.carries(self.size) if self.planar else bushing.acts(self.size)
            if np.any(turning[self.moves :]):
                raise MechanismError(
                    f"bushing {bushing.name} is turned by {angle[(*when, number)]:.3g} rad at "
                    f"t = {np.asarray(t)[tuple(when)]:.6g} s: one with rotational stiffness takes "
                    "less than half a turn; use the stiffness and damping of a driver"
                )
