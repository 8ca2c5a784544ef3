"""Questions about a rotating body: too fast, or unsupported with its axis off the mass centre."""

from __future__ import annotations

import numpy as np

from assembly.bodies.body import Body
from assembly.materials.plausibility import ask, check_speed
from assembly.types import Array

OFF_AXIS = 1e-3  # distance of the centre of mass from the axis over the size of the body


def check_rotation(body: Body, omega: Array) -> None:
    """Asks about a body that turns too fast about an axis through the origin; omega (3,), rad/s."""
    speed = np.linalg.norm(np.cross(omega, body.dofs.coordinates), axis=1).max(initial=0.0)
    check_speed(float(speed), "omega", float(np.linalg.norm(omega)), "rad/s")


def check_support(body: Body, axis: Array) -> None:
    """Asks about an unsupported body that rotates about an axis off its centre of mass.

    axis: (3,), of the rotation, through the origin. A free body turns about its centre of mass: to
    turn about another point takes a force, so a clamp, a pin or a spring is missing.
    """
    if body.fixed.any():
        return
    along = body.dofs.rigid_fields()[:, :3]
    K = body.operators.K.tocsr()
    if np.abs(K @ along).max(initial=0.0) > 1e-9 * np.abs(K.data).max(initial=0.0):
        return  # springs to the frame hold it
    mass = np.diag(along.T @ (body.operators.M.tocsr() @ along)).max()
    unit = np.asarray(axis) / np.linalg.norm(axis)
    # The inertia loads of ω = 1 about the axis add up to m times the arm of the centre of mass.
    coefficients = np.concatenate([unit**2, unit[[0, 0, 1]] * unit[[1, 2, 2]], np.zeros(6)])
    arm = float(np.linalg.norm(along.T @ (body.statics.inertia_loads @ coefficients))) / mass
    if arm > OFF_AXIS * max(float(np.ptp(body.dofs.coordinates, axis=0).max()), arm):
        ask(
            "clamped",
            None,
            f"nothing holds the body, and its centre of mass is {arm:.3g} m from the axis it turns"
            " about; is `clamped` or `pinned` missing?",
        )
