"""Second moments of a moving body's mass: its kinetic energy and momentum in one small matrix.

With the position x and the velocity ẋ of every mass point relative to a frame, in its axes,

    A = ∫ z zᵀ dm (7, 7),  z = (1, x, ẋ),

has all that the motion of the frame can bring in: the absolute velocity is B z with
B = [v_O, ω̃, I], so that the kinetic energy is ½ tr(B A Bᵀ), the momentum B A e₀ and the angular
momentum about the frame's origin the axial vector of the rows x of A Bᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assembly.elements.large_rotation import Masses
from assembly.kinematics import axial, skew
from assembly.types import Array

SIZE = 7


def point_moments(mass: Any, x: Array, v: Array) -> Array:
    """A (..., 7, 7) of scalar mass matrices (..., N, N), nodes at x (..., N, 3) with v alike."""
    z = np.concatenate([np.ones((*x.shape[:-1], 1)), x, v], axis=-1)
    return np.asarray(z.swapaxes(-1, -2) @ (mass @ z))


def section_moments(
    masses: Sequence[Masses], moved: Sequence[tuple[Any, Any]], weights: Any = 1.0
) -> Array:
    """A (P, E, 7, 7) of masses and how they have moved, with rates (`Masses.moved`); weights: of
    the sections."""
    total: Any = 0.0
    for part, (V, _) in zip(masses, moved, strict=True):
        one = 0.0 * V.value[:1]
        one[:, 0] = 1.0
        z = np.concatenate([one, V.value, V.rate])
        total = total + np.einsum("iksecp,jksecp->peij", weights * part.loads(z), z)
    return np.asarray(total)


def placed_moments(A: Array, r: Array, R: Array) -> Array:
    """A in the axes of a frame in which the part's own frame rests at r with the rotation R."""
    D = np.zeros((SIZE, SIZE))
    D[0, 0] = 1.0
    D[1:4, 0], D[1:4, 1:4], D[4:, 4:] = r, R, R
    return np.asarray(D @ A @ D.T)


def velocity_map(twist: Array) -> Array:
    """B (..., 3, 7) of the velocity v_O and the angular velocity ω of frames (..., 6), own axes."""
    wide = skew(twist[..., 3:])
    return np.concatenate([twist[..., :3, None], wide, np.eye(3) + 0.0 * wide], axis=-1)


def kinetic_energy(A: Array, twist: Array) -> Array:
    """½ ∫ |v|² dm (...,), J, of A (..., 7, 7) and twist (..., 6)."""
    B = velocity_map(twist)
    return np.asarray(0.5 * np.sum((B @ A) * B, axis=(-2, -1)))


def momenta(A: Array, twist: Array) -> tuple[Array, Array]:
    """Momenta (..., 3), N·s, and angular momenta about the frames' origins, N·m·s, own axes."""
    product = A @ velocity_map(twist).swapaxes(-1, -2)  # ∫ z vᵀ dm
    return product[..., 0, :], -axial(product[..., 1:4, :])
