"""A pendulum on a spring, its pivot shaken along it: a mechanism with Mathieu's equation."""

from __future__ import annotations

import numpy as np

import assembly
from assembly.mechanisms.mechanism import Mechanism

RATE = 8.0  # rad/s
MASS, ARM, INERTIA = 0.7, 0.4, 0.03


def pendulum(a: float, q: float) -> Mechanism:
    """A pendulum on a torsion spring, its pivot shaken along it: Mathieu's equation in Ωt/2.

    I θ'' + (k + m l s Ω² cos Ωt) θ = 0: a = 4k / (I Ω²), q = −2 m l s / I.
    """
    inertia = INERTIA + MASS * ARM**2
    stroke = 0.5 * q * inertia / (MASS * ARM)

    def shaken(t: float) -> tuple[float, float, float]:
        c, s = np.cos(RATE * t), np.sin(RATE * t)
        return stroke * c, -stroke * RATE * s, -stroke * RATE**2 * c

    return Mechanism(
        {
            "slider": assembly.rigid_body(0.1, 1e-3, planar=True),
            "pendulum": assembly.rigid_body(MASS, INERTIA, centre=(ARM, 0.0, 0.0), planar=True),
        },
        [
            assembly.prismatic("ground", (0.0, 0.0), "slider", (0.0, 0.0), axis=(1, 0), name="S"),
            assembly.revolute("slider", (0.0, 0.0), "pendulum", (0.0, 0.0), name="P"),
        ],
        [
            assembly.driver("S", shaken),
            assembly.driver("P", 0.0, stiffness=0.25 * a * inertia * RATE**2),
        ],
        period=2.0 * np.pi / RATE,
    )
