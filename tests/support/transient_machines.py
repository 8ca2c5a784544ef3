"""Machines whose nonlinear transients are compared with another program."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import assembly
import modal
from assembly.motion.laws import FunctionLaw

Array = NDArray[np.float64]

# A slender aluminium rod between a crank and a slider: the rod bends by a tenth of a crank.
SLIDER_CRANK = dict(
    crank=0.15,
    rod=0.3,
    omega=150.0,
    slider=0.05,
    width=0.01,
    height=0.004,
    E=7e10,
    nu=0.33,
    rho=2780.0,
    duration=2.0 * np.pi / 150.0,
)


def sections(p: dict[str, float]) -> dict[str, float]:
    """Stiffness and mass per length, for programs that take these; shear as `assembly` has it."""
    section = (
        assembly.circle(p["diameter"])
        if "diameter" in p
        else assembly.rectangle(p["height"], p["width"])
    )
    A, bend, G = section.A, section.Iz, 0.5 * p["E"] / (1.0 + p["nu"])
    return dict(
        EA=p["E"] * A, EI=p["E"] * bend, GA=section.shear_y * G * A, rho_A=p["rho"] * A,
        rho_I=p["rho"] * bend,
    )  # fmt: skip


def slider_crank(p: dict[str, float], elements: int) -> assembly.Mechanism:
    """Crank and rod along x at the start; the slider a mass on the x axis."""
    material = assembly.Material(E=p["E"], nu=p["nu"], rho=p["rho"])
    section = assembly.rectangle(p["height"], p["width"])
    rod = assembly.beam(p["rod"], section, material, elements, planar=True)
    r, L = p["crank"], p["rod"]
    return assembly.Mechanism(
        {
            "crank": assembly.rigid_body(0.1, 1e-4, planar=True),
            "rod": rod,
            "slider": assembly.rigid_body(p["slider"], 1e-6, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
            assembly.revolute("crank", (r, 0), "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", p["omega"])],
        initial={"rod": (r, 0, 0), "slider": (r + L, 0, 0)},
    )


def middle_of_rod(
    machine: assembly.Mechanism, p: dict[str, float], step: float, count: int
) -> tuple[Array, xr.Dataset]:
    """Its displacement (count + 1, 2) in the axes of the rod's rigid motion, started undeformed."""
    n = machine.freeze(0.0).n
    response = modal.integrate(
        machine,
        (0.0, p["duration"]),
        (np.zeros(n), np.zeros(n)),
        nonlinear=True,
        step=step,
        rho_infinity=0.9,
        probes="all",
    )
    body = machine.bodies["rod"]
    middle = (body.dofs.node.max()) // 2
    times = np.linspace(0.0, p["duration"], count + 1)
    columns = [body.dofs.index(middle, c) for c in (0, 1)]
    q = np.stack(
        [np.interp(times, response.time, x) for x in response.displacement.values.T], axis=1
    )
    shapes = [machine.recover(t, x)["rod"][columns] for t, x in zip(times, q, strict=True)]
    return np.real(np.array(shapes)), response


def seen_from_rod(machine: assembly.Mechanism, positions: Array, p: dict[str, float]) -> Array:
    """Displacements of positions (count + 1, 2) of the middle in the same axes."""
    out = []
    for t, x in zip(np.linspace(0.0, p["duration"], len(positions)), positions, strict=True):
        origin, R = machine.position(float(t))["rod"]
        out.append((R.T[:2, :2] @ (x - origin[:2])) - [0.5 * p["rod"], 0.0])
    return np.array(out)


# A round aluminium rod on a hub, tilted out of the plane of its rotation: its tip bends by a tenth
# of its length.
ARM = dict(
    length=1.0, hub=0.1, tilt=0.4, diameter=0.01, E=7e10, nu=0.33, rho=2780.0, omega=30.0, rise=0.3,
    duration=0.5,
)  # fmt: skip


def spin_up_angle(t: float, p: dict[str, float]) -> tuple[float, float, float]:
    """Angle and rates of the spin-up of Simo & Vu-Quoc (1986), in p["rise"] s to p["omega"]."""
    k, rate = 2.0 * np.pi / p["rise"], p["omega"] / p["rise"]
    if t >= p["rise"]:
        return p["omega"] * (t - 0.5 * p["rise"]), p["omega"], 0.0
    return (
        rate * (0.5 * t * t + (np.cos(k * t) - 1.0) / k**2),
        rate * (t - np.sin(k * t) / k),
        rate * (1.0 - np.cos(k * t)),
    )


def arm(p: dict[str, float], elements: int) -> assembly.MovingBody:
    """The rod, clamped in a frame that spins up about z."""
    body = assembly.beam(
        p["length"],
        assembly.circle(p["diameter"]),
        assembly.Material(E=p["E"], nu=p["nu"], rho=p["rho"]),
        elements,
        clamped="start",
        theory="euler-bernoulli",
        start=(p["hub"], 0.0, 0.0),
        direction=(np.cos(p["tilt"]), 0.0, np.sin(p["tilt"])),
    )
    return assembly.moving(body, assembly.Turning(FunctionLaw(lambda t: spin_up_angle(t, p))))


def tip_of_arm(
    model: assembly.MovingBody, p: dict[str, float], step: float, count: int
) -> tuple[Array, xr.Dataset]:
    """Displacement (count + 1, 3) of the tip in the turning frame."""
    tip = int(model.body.dofs.node.max())
    response = modal.integrate(
        model,
        (0.0, p["duration"]),
        nonlinear=True,
        step=step,
        rho_infinity=0.9,
        probes=[(tip, "ux"), (tip, "uy"), (tip, "uz")],
    )
    times = np.linspace(0.0, p["duration"], count + 1)
    columns = response.displacement.values.T
    return np.stack([np.interp(times, response.time, x) for x in columns], axis=1), response


def seen_from_hub(positions: Array, p: dict[str, float]) -> Array:
    """Displacements (count + 1, 3) of the tip at positions in fixed axes, in the turning frame."""
    tip = positions[0]
    angles = [spin_up_angle(t, p)[0] for t in np.linspace(0.0, p["duration"], len(positions))]
    out = []
    for angle, x in zip(angles, positions, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        out.append(np.array([c * x[0] + s * x[1], c * x[1] - s * x[0], x[2]]) - tip)
    return np.array(out)
