"""The rotating bar of Vlase, Nicolescu & Marin (2020), example a, and one transient of it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr

import assembly
import modal

LENGTH, MASS, AREA, YOUNG, OMEGA = 1.0, 1.0, 0.2e-4, 210e9, 15.0  # m, kg, m², Pa, rad/s
EXCITATION = 200.0  # rad/s: period π/100 s


def model(
    elements: int = 10, area: float = AREA, mass: float = MASS, damping_ratio: float = 0.0
) -> assembly.Body:
    """The bar, held at the axis; internal damping b K with `damping_ratio` in the first mode."""
    material = assembly.Material(E=YOUNG, nu=0.3, rho=mass / (area * LENGTH))
    body = assembly.bar(LENGTH, area, material, elements, clamped="start", name="bar")
    first = 0.5 * np.pi * wave_speed(area, mass) / LENGTH
    return body.with_damping(b=2.0 * damping_ratio / first)


def wave_speed(area: float = AREA, mass: float = MASS) -> float:
    """c = √(E/ρ), m/s."""
    return float(np.sqrt(YOUNG * area * LENGTH / mass))


def frozen(body: assembly.Body, omega: float = OMEGA) -> assembly.FrozenSystem:
    """The bar turning about z at `omega` (rad/s)."""
    return body.freeze(omega=(0.0, 0.0, omega))


def transient(
    system: assembly.FrozenSystem,
    force: float,
    excitation: float,
    duration: float,
    formalism: Literal["lagrange", "hamilton"],
    method: str | None,
    step: float,
) -> xr.Dataset:
    """From rest under the centrifugal load and force · sin(excitation · t) at the free end."""
    tip = modal.Harmonic(at=system.n - 1, amplitude=force, angular_frequency=excitation)
    return modal.integrate(
        system,
        (0.0, duration),
        formalism=formalism,
        method=method,
        step=step,
        loads=[tip, modal.InertiaLoads()],
        probes="all",
    )
