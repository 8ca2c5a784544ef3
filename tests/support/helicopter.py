"""A helicopter rotor on lag hinges as a mechanism of rigid blades (data after Hammond, 1974)."""

from __future__ import annotations

import numpy as np

import assembly

HUB = ((8026.6, 1240481.8, 51078.7), (3283.6, 1240481.8, 25539.3))  # along x, y: kg, N/m, N·s/m
BLADE_MASS, FIRST_MOMENT, INERTIA = 94.9, 289.1, 1084.7  # kg, and kg·m, kg·m² about the hinge
HINGE = 0.3048  # m from the shaft
LAG_DAMPER = 4067.5  # N·m·s/rad


def rotor(rpm: float, dampers: tuple[bool, ...] = (True, True, True, True)) -> assembly.Mechanism:
    """Blades of the given lag dampers on a hub whose masses along x and y differ.

    One carriage slides along x, a second along y on the first; the hub turns on the second.
    """
    (mass_x, stiff_x, damp_x), (mass_y, stiff_y, damp_y) = HUB
    bodies = {
        "slide x": assembly.rigid_body(mass_x - mass_y, planar=True),
        "slide y": assembly.rigid_body(mass_y, planar=True),
        "hub": assembly.rigid_body(0.0, planar=True),
    }
    joints = [
        assembly.prismatic("ground", (0, 0), "slide x", "origin", axis=(1, 0), name="x"),
        assembly.prismatic("slide x", "origin", "slide y", "origin", axis=(0, 1), name="y"),
        assembly.revolute("slide y", "origin", "hub", "origin", name="shaft"),
    ]
    drivers = [
        assembly.driver("x", 0.0, stiffness=stiff_x, damping=damp_x),
        assembly.driver("y", 0.0, stiffness=stiff_y, damping=damp_y),
        assembly.driver("shaft", rpm * np.pi / 30.0),
    ]
    arm = FIRST_MOMENT / BLADE_MASS
    about_centre = INERTIA - FIRST_MOMENT * arm
    initial = {}
    for k, works in enumerate(dampers):
        angle = 2.0 * np.pi * k / len(dampers)
        along = np.array([np.cos(angle), np.sin(angle)])
        name, hinge = f"b{k + 1}", HINGE * along
        bodies[name] = assembly.rigid_body(
            BLADE_MASS, about_centre, centre=(*(arm * along), 0.0), planar=True
        )
        joints.append(assembly.revolute("hub", hinge, name, "origin", name=f"lag {k + 1}"))
        damping = LAG_DAMPER if works else 0.0
        drivers.append(assembly.driver(f"lag {k + 1}", 0.0, stiffness=0.0, damping=damping))
        initial[name] = (*hinge, 0.0)
    return assembly.Mechanism(bodies, joints, drivers, initial=initial, name="helicopter rotor")
