"""The rotor of the study, twice: six equations by hand, and a mechanism of rigid blades on hinges.

Data after C. E. Hammond, J. American Helicopter Society 19 (4), 1974.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import assembly

HUB_MASS = (8026.6, 3283.6)  # kg, along x and along y
HUB_STIFFNESS = (1240481.8, 1240481.8)  # N/m
HUB_DAMPING = (51078.7, 25539.3)  # N·s/m
BLADE_MASS, FIRST_MOMENT, INERTIA = 94.9, 289.1, 1084.7  # kg; kg·m, kg·m² about the lag hinge
HINGE = 0.3048  # m from the shaft
LAG_DAMPER = 4067.5  # N·m·s/rad
BLADES = ("b1", "b2", "b3", "b4")
Works = Sequence[bool]


class Equations:
    """The six equations of hub displacements x, y and lag angles ζ_1 … ζ_4.

    A point at r of blade b is at x + e cos ψ + r cos(ψ + ζ), y + e sin ψ + r sin(ψ + ζ). Lagrange's
    equations to first order: I ζ̈ + S(−ẍ sin ψ + ÿ cos ψ) + c ζ̇ + Ω²eS ζ = 0 and
    m ẍ − Σ d²/dt²(S ζ sin ψ) + … = 0, alike for y with cos ψ.
    """

    def __init__(self, omega: float, works: Works) -> None:
        self.omega, self.works, self.period = omega, tuple(works), 2.0 * np.pi / omega

    def freeze(self, t: float) -> assembly.FrozenSystem:
        """The frozen system at time t, s."""
        count, w, S = len(self.works), self.omega, FIRST_MOMENT
        psi = w * t + 2.0 * np.pi * np.arange(count) / count
        s, c, lag = np.sin(psi), np.cos(psi), np.arange(2, count + 2)
        M, C, D, K = (np.zeros((count + 2, count + 2)) for _ in range(4))
        M[:2, :2] = np.diag(HUB_MASS) + count * BLADE_MASS * np.eye(2)
        D[:2, :2], K[:2, :2] = np.diag(HUB_DAMPING), np.diag(HUB_STIFFNESS)
        M[lag, lag], K[lag, lag] = INERTIA, w**2 * HINGE * S
        D[lag, lag] = np.where(self.works, LAG_DAMPER, 0.0)
        M[0, lag] = M[lag, 0] = -S * s
        M[1, lag] = M[lag, 1] = S * c
        C[0, lag], C[1, lag] = -2.0 * w * S * c, -2.0 * w * S * s
        K[0, lag], K[1, lag] = w**2 * S * s, -(w**2) * S * c
        return assembly.FrozenSystem(M=M, C=C, D=D, K=K)


def equations(speed_rpm: float = 250.0, works: Works = (False, True, True, True)) -> Equations:
    """The rotor by its six equations.

    Parameters
    ----------
    speed_rpm : float
        Speed of the rotor, rpm.
    works : sequence of bool
        For each blade, whether its lag damper works.

    Returns
    -------
    Equations
        A model ``freeze(t)`` of the degrees of freedom x, y, ζ_1, ζ_2, …
    """
    return Equations(speed_rpm * np.pi / 30.0, works)


def model(speed_rpm: float = 250.0, works: Works = (False, True, True, True)) -> assembly.Mechanism:
    """The rotor as a mechanism: rigid blades on lag hinges of a hub that slides in its plane.

    Parameters
    ----------
    speed_rpm : float
        Speed of the rotor, rpm.
    works : sequence of bool
        For each blade, whether its lag damper works.

    Returns
    -------
    Mechanism
        With the blades "b1", "b2", …
    """
    heavy, light = HUB_MASS
    bodies = {
        "slide x": assembly.rigid_body(heavy - light, planar=True),
        "slide y": assembly.rigid_body(light, planar=True),
        "hub": assembly.rigid_body(0.0, planar=True),
    }
    joints = [
        assembly.prismatic("ground", (0, 0), "slide x", "origin", axis=(1, 0), name="x"),
        assembly.prismatic("slide x", "origin", "slide y", "origin", axis=(0, 1), name="y"),
        assembly.revolute("slide y", "origin", "hub", "origin", name="shaft"),
    ]
    drivers = [
        assembly.driver("x", 0.0, stiffness=HUB_STIFFNESS[0], damping=HUB_DAMPING[0]),
        assembly.driver("y", 0.0, stiffness=HUB_STIFFNESS[1], damping=HUB_DAMPING[1]),
        assembly.driver("shaft", speed_rpm * np.pi / 30.0),
    ]
    arm = FIRST_MOMENT / BLADE_MASS
    about_centre = INERTIA - FIRST_MOMENT * arm
    initial = {}
    for b, damped in enumerate(works):
        angle = 2.0 * np.pi * b / len(works)
        along = np.array([np.cos(angle), np.sin(angle)])
        name, hinge = f"b{b + 1}", HINGE * along
        bodies[name] = assembly.rigid_body(
            BLADE_MASS, about_centre, centre=(*(arm * along), 0.0), planar=True
        )
        joints.append(assembly.revolute("hub", tuple(hinge), name, "origin", name=f"lag {b + 1}"))
        damping = LAG_DAMPER if damped else 0.0
        drivers.append(assembly.driver(f"lag {b + 1}", 0.0, stiffness=0.0, damping=damping))
        initial[name] = (*hinge, 0.0)
    return assembly.Mechanism(bodies, joints, drivers, initial=initial, name="helicopter rotor")
