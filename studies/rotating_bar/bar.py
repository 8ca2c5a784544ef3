"""The bar of Vlase, Nicolescu & Marin (2020), example a: a transient of it, and closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg as la
import xarray as xr

import assembly
import modal
from assembly.types import Array
from modal.transient.loads import Load

Formalism = Literal["lagrange", "hamilton"]


@dataclass(frozen=True)
class Paper:
    """Vlase, Nicolescu & Marin (2020), example a and section c."""

    length: float = 1.0  # m
    mass: float = 1.0  # kg
    area: float = 0.2e-4  # m²
    young: float = 210e9  # Pa
    omega: float = 15.0  # rad/s
    excitation: float = 200.0  # rad/s: period π/100 s
    sections: tuple[float, ...] = (1e-5, 2e-5, 4e-5, 6e-5)  # m², figures 9–12
    speeds: tuple[float, ...] = (15.0, 75.0, 150.0)  # rad/s; varied there without its values
    excitations: tuple[float, ...] = (100.0, 200.0, 300.0)  # 50/π, 100/π, 150/π Hz, figure 13
    masses: tuple[float, ...] = (1.0, 0.5, 0.25)  # kg, figure 14
    nodes: tuple[int, ...] = (3, 7, 10)  # of 11, drawn in figures 2 and 3


PAPER = Paper()


def model(
    elements: int = 10,
    area: float = PAPER.area,
    mass: float = PAPER.mass,
    damping_ratio: float = 0.0,
) -> assembly.Body:
    """The bar, held at the axis; internal damping b K with `damping_ratio` in the first mode."""
    material = assembly.Material(E=PAPER.young, nu=0.3, rho=mass / (area * PAPER.length))
    body = assembly.bar(PAPER.length, area, material, elements, clamped="start", name="bar")
    first = 0.5 * np.pi * wave_speed(area, mass) / PAPER.length
    return body.with_damping(b=2.0 * damping_ratio / first)


def wave_speed(area: float = PAPER.area, mass: float = PAPER.mass) -> float:
    """c = √(E/ρ), m/s."""
    return float(np.sqrt(PAPER.young * area * PAPER.length / mass))


def frozen(body: assembly.Body, omega: float = PAPER.omega) -> assembly.FrozenSystem:
    """The bar turning about z at `omega` (rad/s)."""
    return body.freeze(omega=(0.0, 0.0, omega))


def transient(
    system: assembly.FrozenSystem, force: float, excitation: float, duration: float,
    formalism: Formalism, method: str | None, step: float,
) -> xr.Dataset:  # fmt: skip
    """From rest under the centrifugal load and force · sin(excitation · t) at the free end."""
    tip = modal.Harmonic(at=system.n - 1, amplitude=force, angular_frequency=excitation)
    loads: list[Load] = [tip, modal.InertiaLoads()]
    span = (0.0, duration)
    return modal.integrate(
        system, span, formalism=formalism, method=method, step=step, loads=loads, probes="all"
    )


def element_frequencies(elements: int, omega: float, count: int) -> Array:
    """Natural frequencies (rad/s) of a fixed–free chain of linear bar elements that turns.

    Row j of the chain, K/M = (c/h)² 6 (1 − cos θ)/(2 + cos θ) with θ = (2n − 1)π/2N, less the
    centrifugal ω²; the same formula made references/A3_axial_bar.json.
    """
    theta = (2 * np.arange(1, count + 1) - 1) * np.pi / (2 * elements)
    h = PAPER.length / elements
    squared = (wave_speed() / h) ** 2 * 6.0 * (1.0 - np.cos(theta)) / (2.0 + np.cos(theta))
    return np.asarray(np.sqrt(squared - omega**2))


def continuum_frequencies(omega: float, count: int) -> Array:
    """√(((2n − 1)πc/2L)² − ω²), rad/s, of ρü − Eu″ − ρω²u = 0, fixed–free."""
    n = np.arange(1, count + 1)
    squared = ((2 * n - 1) * np.pi * wave_speed() / (2.0 * PAPER.length)) ** 2
    return np.asarray(np.sqrt(squared - omega**2))


def response(system: assembly.FrozenSystem, push: Array, frequency: float, times: Array) -> Array:
    """q(t), (len(times), n), of M q̈ + D q̇ + S q = Q + push sin(frequency t) from rest: the closed
    form of `transient`, with a push of the last degree of freedom.

    push: (n,) N. D must be diagonal in the modes of (S, M); a multiple of K is, because the
    centrifugal part of S is −ω²M for a bar that only stretches. Modal superposition: every mode is
    a damped oscillator under a constant and a harmonic force, solved in closed form.
    """
    M, S, D = (A.toarray() for A in (system.M, system.stiffness, system.damping))
    squared, shapes = la.eigh(S, M)
    decay = 0.5 * np.einsum("ik,ij,jk->k", shapes, D, shapes)
    steady, swing = shapes.T @ system.Q, shapes.T @ push
    root = np.sqrt(decay.astype(complex) ** 2 - squared)
    first, second = -decay + root, -decay - root
    gain = swing / (squared - frequency**2 + 2j * decay * frequency)
    # η = a/ω² + Im(H e^{iΩt}) + c₁e^{r₁t} + c₂e^{r₂t}, with η(0) = η'(0) = 0.
    at_rest = steady / squared + gain.imag
    moving = (1j * frequency * gain).imag
    c1 = (second * at_rest - moving) / (first - second)
    c2 = -at_rest - c1
    t = times[:, None]
    eta = steady / squared + (gain * np.exp(1j * frequency * t)).imag
    eta = eta + (c1 * np.exp(first * t) + c2 * np.exp(second * t)).real
    return np.asarray(eta @ shapes.T)
