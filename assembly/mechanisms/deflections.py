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

from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.mechanisms.bushings import Bushing
from assembly.mechanisms.conditions import Condition
from assembly.mechanisms.joint_axes import triads
from assembly.mechanisms.joint_rows import Evaluated, Frames, JointRows
from assembly.types import Array, Index

SMALL = 0.25  # rad below which c and its derivative come from their series
SERIES = np.array([1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000])
HALF_TURN = 3.0  # rad: a bushing with rotational stiffness must turn less


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
        R, dR = e.relative.data[:2, ..., :: self.moves, :, :]
        turned = (R @ self._N.swapaxes(-1, -2)).reshape(-1, 3, 3)
        phi = Rotation.from_matrix(turned).as_rotvec().reshape(R.shape[:-1])
        self._check(phi, t)
        spin = dR @ R.swapaxes(-1, -2)
        omega = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        A = inverse_jacobian(phi)
        dphi = (A @ omega[..., None])[..., 0]
        dA = derivative(phi, dphi)
        moving, leading = self._moving.ravel(), phi.shape[:-2]
        x = np.zeros((2, *leading, len(self)))
        x[..., moving] = e.value.data[:2]
        x[0][..., self._turning] = phi[..., self.turns]
        x[1][..., self._turning] = dphi[..., self.turns]
        gradient = np.zeros((2, *leading, len(self), 12))
        gradient[..., moving, :] = self.translation.node_gradient(e).data[:2]
        turning = np.zeros((2, *phi.shape, 12))
        turning[0, ..., 3:6], turning[1, ..., 3:6] = -A, -dA
        turning[0, ..., 9:], turning[1, ..., 9:] = A @ R, dA @ R + A @ dR
        gradient[..., self._turning, :] = turning[..., self.turns, :]
        rigid = gradient[0].copy()
        rigid[..., moving, :] = self.translation.rigid_gradient(e).value
        return Deflected(x[0], x[1], gradient, rigid, e, phi, R)

    def hessian(self, at: Deflected) -> Array:
        """∂²x by the displacement and rotation vectors of the two points, (..., rows, 12, 12)."""
        A, R = inverse_jacobian(at.phi), at.R
        change = np.stack([derivative(at.phi, e) for e in np.eye(3)], axis=-3)
        twice = np.einsum("...lkj,...li->...kij", change, A)
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

    def _check(self, phi: Array, t: ArrayLike) -> None:
        angle = np.linalg.norm(phi, axis=-1)
        for *when, number in np.argwhere(angle > HALF_TURN).tolist():
            bushing = self.bushings[number]
            turning = bushing.carries(self.size) if self.planar else bushing.acts(self.size)
            if np.any(turning[self.moves :]):
                raise MechanismError(
                    f"bushing {bushing.name} is turned by {angle[(*when, number)]:.3g} rad at "
                    f"t = {np.asarray(t)[tuple(when)]:.6g} s: one with rotational stiffness takes "
                    "less than half a turn; use the stiffness and damping of a driver"
                )


def inverse_jacobian(phi: Array) -> Array:
    """A (..., 3, 3) with φ̇ = A ω, ω the angular velocity in the axes before the rotation φ."""
    wide, (c, _) = skew(phi), _factors(phi)
    return np.asarray(np.eye(3) - 0.5 * wide + c[..., None, None] * wide @ wide)


def derivative(phi: Array, along: Array) -> Array:
    """A′[η] (..., 3, 3): the derivative of A at φ along η."""
    wide, other, (c, e) = skew(phi), skew(np.broadcast_to(along, phi.shape)), _factors(phi)
    growth = e * np.einsum("...i,...i->...", phi, np.broadcast_to(along, phi.shape))
    mixed = other @ wide + wide @ other
    return np.asarray(
        -0.5 * other + growth[..., None, None] * wide @ wide + c[..., None, None] * mixed
    )


def _factors(phi: Array) -> tuple[Array, Array]:
    """c and (dc/dθ)/θ of rotation vectors (..., 3)."""
    angle = np.linalg.norm(phi, axis=-1)
    small = angle < SMALL
    s, a = angle**2, np.where(small, 1.0, angle)
    cot = 1.0 / np.tan(0.5 * a)
    powers = s[..., None] ** np.arange(6)
    # Bernoulli numbers |B₂ₖ|/(2k)! of ½θ cot ½θ.
    c = np.where(small, powers @ SERIES, (1.0 - 0.5 * a * cot) / a**2)
    slope = -2.0 / a**3 + cot / (2.0 * a**2) + (1.0 + cot**2) / (4.0 * a)
    e = np.where(small, powers[..., :5] @ (2.0 * np.arange(1, 6) * SERIES[1:]), slope / a)
    return c, e
