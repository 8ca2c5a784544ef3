"""The systems of the two-zeros study, from one to three degrees of mobility."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import assembly
from assembly import FrozenSystem
from assembly.types import Array
from studies.slider_crank import machine as slider_crank_model
from studies.wind_pump import machine as wind_pump_model


def pinned_beam(speed: float = 30.0) -> FrozenSystem:
    """A beam that turns (rad/s) about a pin at its start: one degree of mobility."""
    section = assembly.rectangle(0.02, 0.01)
    beam = assembly.beam(0.5, section, assembly.steel, 8, pinned="start", planar=True)
    return beam.freeze(omega=(0.0, 0.0, speed))


def slider_crank(elements: int = 8, speed_rpm: float = 1500.0) -> assembly.Mechanism:
    """The slider-crank, no drive holding its elastic degrees of freedom: one degree of mobility."""
    return slider_crank_model.model(elements=elements, speed_rpm=speed_rpm, driven=False)


def chain(links: int = 3, speed: float = 30.0) -> assembly.Mechanism:
    """Links in an open chain, each turned against the one before: as many degrees of mobility."""
    section = assembly.rectangle(0.02, 0.01)
    names = [f"link {k + 1}" for k in range(links)]
    bodies = {
        name: assembly.beam(0.3, section, assembly.steel, 4, planar=True, name=name)
        for name in names
    }
    joints, drivers = [], []
    for k, name in enumerate(names):
        before, end = ("ground", (0.0, 0.0)) if k == 0 else (names[k - 1], "end")
        joints.append(assembly.revolute(before, end, name, "start", name=f"J{k + 1}"))
        law = assembly.Uniform(rate=speed * (1.0 - 0.6 * k), start=0.4 * k)
        drivers.append(assembly.driver(f"J{k + 1}", law, held=False))
    return assembly.Mechanism(bodies, joints, drivers, period=2.0 * np.pi / speed, name="chain")


def instant(mechanism: assembly.Mechanism, transport: bool = False) -> FrozenSystem:
    """A mechanism that no drive holds where it has no symmetry."""
    return mechanism.freeze(0.013, transport=transport)


# By whether transport terms count.
SYSTEMS: dict[str, Callable[[bool], FrozenSystem]] = {
    "pinned beam": lambda transport: pinned_beam(),
    "slider-crank": lambda transport: instant(slider_crank(), transport),
    "wind pump": lambda transport: instant(
        wind_pump_model.mechanism(wind_pump_model.Pump(), driven=False), transport
    ),
    "chain of three links": lambda transport: instant(chain(), transport),
}


def spinning_shaft() -> FrozenSystem:
    """A round steel shaft clamped at both ends and spinning about its axis, in its own axes.

    A case where the Coriolis matrix is not small: a whirl ω₀ is seen as ω₀ ± Ω from the shaft.
    """
    section = assembly.circle(0.02)
    shaft = assembly.beam(1.2, section, assembly.steel, 16, clamped="both", name="shaft")
    return shaft.freeze(omega=(200.0, 0.0, 0.0))


def effective_inertia(speed_rpm: float, angles: Array) -> Array:
    """J(φ) = 2T/φ̇², kg m², of the slider-crank with rigid links, from its closed-form motion."""
    model = slider_crank(speed_rpm=speed_rpm)
    crank, rod, slider = model.bodies.values()
    crank_length = float(np.ptp(crank.dofs.coordinates[:, 0]))
    rod_length = float(np.ptp(rod.dofs.coordinates[:, 0]))

    def moments(body: assembly.Body) -> tuple[float, float]:
        """Mass and moment of inertia about the start, from the assembled mass matrix."""
        fields = body.dofs.rigid_fields()
        M = body.operators.M.tocsr()
        return float(fields[:, 0] @ (M @ fields[:, 0])), float(fields[:, 5] @ (M @ fields[:, 5]))

    _, about_A = moments(crank)
    mass, about_B = moments(rod)
    slide, _ = moments(slider)
    lean = -np.arcsin(crank_length / rod_length * np.sin(angles))
    lean_rate = -crank_length / rod_length * np.cos(angles) / np.cos(lean)
    # Velocity of B, then of the rod's centre and of the slider, per unit crank speed.
    vB = crank_length * np.stack([-np.sin(angles), np.cos(angles)])
    n = np.stack([-np.sin(lean), np.cos(lean)])
    centre = vB + 0.5 * rod_length * lean_rate * n
    end = vB + rod_length * lean_rate * n
    about_centre = about_B - 0.25 * mass * rod_length**2
    return np.asarray(
        about_A
        + mass * (centre**2).sum(axis=0)
        + about_centre * lean_rate**2
        + slide * (end**2).sum(axis=0)
    )
