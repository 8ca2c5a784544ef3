"""The lever's eigenvalues over a turn, and how much of their change each term makes."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from studies.wind_pump.machine import GRAVITY, Pump
from studies.wind_pump.rigid import joint_forces, motion

Array = NDArray[np.float64]

VARIANTS = ("all terms", "without K_G", "without transport", "K alone")
TERMS = ("C", "K(ε)", "K(ω²)", "K_G", "transport")
STIFFNESS_TERMS = {"C": "C", "K(ε)": "K_epsilon", "K(ω²)": "K_omega2", "K_G": "K_G"}


def eigenvalues_over_turn(
    mechanism: assembly.Mechanism, times: Array, modes: int, progress: bool = False
) -> xr.Dataset:
    """Eigenvalues of every variant, and the frequency shift of every term alone.

    The shift of a term is that of M and K at the same instant with this term added; "transport" is
    what Ṫ and T̈ change of C and K. Their sum and `together`, the shift of all at once, differ by
    what the terms do to each other.
    """
    pairs = np.empty((len(VARIANTS), len(times), modes), dtype=complex)
    shift = np.empty((len(TERMS), len(times), modes))
    together = np.empty((len(times), modes))
    for k, t in enumerate(tqdm(times, desc="instants", disable=not progress)):
        whole, literal = mechanism.freeze(t), mechanism.freeze(t, transport=False)
        unstressed = mechanism.freeze(t, prestress=None)
        base = literal.only("K")
        for i, system in enumerate((whole, unstressed, literal, base)):
            pairs[i, k] = lowest(system, modes)
        resting = pairs[-1, k].imag
        for i, term in enumerate(TERMS):
            shift[i, k] = lowest(_with(term, literal, whole), modes).imag - resting
        together[k] = pairs[0, k].imag - resting
    hertz = 1.0 / (2.0 * np.pi)
    return xr.Dataset(
        {
            "eigenvalue": (("variant", "time", "mode"), pairs),
            "frequency": (("variant", "time", "mode"), hertz * pairs.imag),
            "shift": (("term", "time", "mode"), hertz * shift),
            "together": (("time", "mode"), hertz * together),
        },
        coords={
            "variant": list(VARIANTS),
            "term": list(TERMS),
            "time": times,
            "mode": np.arange(modes),
        },
    )


def _with(term: str, literal: FrozenSystem, whole: FrozenSystem) -> FrozenSystem:
    """M and K of the instant with one term."""
    if term == "transport":
        # What Ṫ adds: 2 TᵀMṪ to C, and K_transport.
        C = whole.C - literal.C
        return literal.only("K", C=C, K_transport=whole.parts["K_transport"])
    return literal.only("K", STIFFNESS_TERMS[term])


def lowest(system: FrozenSystem, modes: int) -> NDArray[np.complex128]:
    """The eigenvalues of smallest |λ|, (modes,), rad/s."""
    return modal.solve(system, k=modes, backend="dense").eigenvalues


def axial_force(pump: Pump, t: float, x: Array) -> Array:
    """N(x), N, pull positive, along the lever from B, from the reduced equations' joint forces.

    Balance of the part from B to x along the lever: N = ∫₀ˣ ρA (a − g)·u dx − F_B·u.
    """
    now = motion(pump, t)
    forces, _ = joint_forces(pump, t)
    beta, (rate, _) = now.angles[0], now.angle_rates
    u = np.array([np.cos(beta), np.sin(beta)])
    phi = now.q[0]
    of_B = -pump.l1 * pump.omega**2 * np.array([np.cos(phi), np.sin(phi)])
    per_length = pump.lever_mass / pump.l2
    gravity = np.array([0.0, -GRAVITY])
    along = (of_B - gravity) @ u * x - 0.5 * rate**2 * x**2
    return np.asarray(per_length * along - forces[2:4] @ u)


def stress_shift(pump: Pump, times: Array, mode: int = 1) -> Array:
    """First-order frequency shift by the axial force, (len(times),), Hz, with the shape
    w = sin(nπx/l₂) of a pinned beam: δ(ω²) = ∫N w'² dx / ∫ρA w² dx. Checks K_G by hand.
    """
    points, weights = np.polynomial.legendre.leggauss(12)
    x = 0.5 * pump.l2 * (points + 1.0)
    wave = mode * np.pi / pump.l2
    per_length = pump.lever_mass / pump.l2
    omega = 2.0 * np.pi * pinned_frequency(pump, mode)
    out = np.empty(len(times))
    for k, t in enumerate(times):
        work = 0.5 * pump.l2 * weights @ (axial_force(pump, t, x) * (wave * np.cos(wave * x)) ** 2)
        out[k] = work / (0.5 * per_length * pump.l2) / (2.0 * omega)
    return out / (2.0 * np.pi)


def pinned_frequency(pump: Pump, mode: int = 1) -> float:
    """(nπ/l₂)² √(EI/ρA) / 2π, Hz: the lever pinned at both ends and at rest, Euler–Bernoulli."""
    section, steel = pump.section, assembly.steel
    stiffness = np.sqrt(steel.E * section.Iz / (steel.rho * section.A))
    return float((mode * np.pi / pump.l2) ** 2 * stiffness / (2.0 * np.pi))
