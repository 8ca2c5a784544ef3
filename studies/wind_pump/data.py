"""The wind-pump study's data: kinematics and forces by two routes, the lever's eigenvalues over a
turn and how much of their change each term makes, the operation counts of the paper.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from tqdm import tqdm

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from modal.data.variables import Table, Variable
from modal.types import Array, Complex
from studies.reporting.protocol import dataset_of
from studies.wind_pump.machine import FORCES, Pump, central_differences, joint_forces, motion

_LINKS, _VARIANTS, _TIME = ("time", "link"), ("variant", "time", "mode"), ("time",)
_REDUCED, _GENERAL = "by the reduced equations (A43)", "by the general mechanism"
_PROJECTED = "by the projection (A46)"

VARIABLES: Table = {
    "angle": Variable("angle", "rad", _LINKS),
    "angular_velocity": Variable("angular velocity", "rad s-1", _LINKS),
    "angular_acceleration": Variable("angular acceleration", "rad s-2", _LINKS),
    "difference_check": Variable(
        "largest relative difference from finite differences", "1", ("checked",)
    ),
    "joint_force": Variable(f"joint force {_REDUCED}", "N", ("time", "force")),
    "joint_force_general": Variable(f"joint force {_GENERAL}", "N", ("time", "force")),
    "motor_torque": Variable(f"torque of the motor {_REDUCED}", "N m", _TIME),
    "motor_torque_general": Variable(f"torque of the motor {_GENERAL}", "N m", _TIME),
    "motor_torque_projected": Variable(f"torque of the motor {_PROJECTED}", "N m", _TIME),
    "slide_force": Variable(f"force of the slide's drive {_REDUCED}", "N", _TIME),
    "slide_force_general": Variable(f"force of the slide's drive {_GENERAL}", "N", _TIME),
    "slide_force_projected": Variable(f"force of the slide's drive {_PROJECTED}", "N", _TIME),
    "eigenvalue": Variable("eigenvalue", "rad s-1", _VARIANTS),
    "frequency": Variable("frequency", "Hz", _VARIANTS),
    "shift": Variable("frequency shift by one term", "Hz", ("term", "time", "mode")),
    "together": Variable("frequency shift by all terms", "Hz", ("time", "mode")),
    "shift_by_hand": Variable(
        "first-order shift by the axial force of a pinned beam", "Hz", ("time", "mode")
    ),
    "differentiations": Variable(
        "differentiations to set up the equations, printed in the paper's Table 1",
        "1",
        ("formalism", "lever_elements"),
    ),
    "differentiations_by_rule": Variable(
        "the same by a straight line through the first and the last",
        "1",
        ("formalism", "lever_elements"),
    ),
    "lever_elements": Variable("number of elements of the lever", "1"),
    "pinned_frequency": Variable(
        "frequency of the lever pinned at both ends, at rest", "Hz", ("mode",)
    ),
}

# The paper's Table 1 over the elements of the lever, and its rule: per node and constant, every row
# is one straight line.
TABLE_1 = {
    "Lagrange": ((288, 528, 768, 1008, 1248, 1488, 1968), "48 (n + 1)"),
    "Gibbs–Appell": ((120, 220, 320, 420, 520, 620, 820), "20 (n + 1)"),
    "Kane": ((10, 20, 30, 40, 50, 60, 80), "2 n"),
}


def operations() -> xr.Dataset:
    """How many differentiations each formalism needs to set up the equations: the printed counts,
    and those of the straight line through the first and the last.
    """
    n, printed = np.array([5, 10, 15, 20, 25, 30, 40]), np.array([c for c, _ in TABLE_1.values()])
    slope = (printed[:, -1] - printed[:, 0]) / (n[-1] - n[0])
    return dataset_of(
        VARIABLES,
        differentiations=printed,
        differentiations_by_rule=printed[:, :1] + slope[:, None] * (n - n[0]),
        formalism=list(TABLE_1),
        lever_elements=n,
    )


def rigid_motion(pump: Pump, times: Array) -> xr.Dataset:
    """Angles of lever and swing and their derivatives by the loop closure, with the largest
    difference from finite differences, relative to the largest value.
    """
    motions = [motion(pump, t) for t in times]
    step = 2.0 * np.pi / pump.omega / 600.0
    angles = np.array([m.angles for m in motions])
    rates = np.array([m.angle_rates for m in motions])
    accelerations = np.array([m.angle_accelerations for m in motions])
    centres = np.array([m.a for m in motions])
    checks: dict[str, tuple[Array, Callable[[float], Array]]] = {
        "angular velocity": (rates, lambda t: motion(pump, t).angles),
        "angular acceleration": (accelerations, lambda t: motion(pump, t).angle_rates),
        "acceleration": (centres, lambda t: _velocities(pump, t)),
    }
    gaps = []
    for values, integral in checks.values():
        derived = np.array([central_differences(integral, t, step)[0] for t in times])
        gaps.append(np.abs(derived - values).max() / np.abs(values).max())
    return dataset_of(
        VARIABLES,
        angle=angles,
        angular_velocity=rates,
        angular_acceleration=accelerations,
        difference_check=gaps,
        time=times,
        link=["lever", "swing"],
        checked=list(checks),
    )


def by_hand(pump: Pump, times: Array, modes: int) -> xr.Dataset:
    """Frequencies of the lever pinned at both ends, and their shift by the axial force."""
    half_waves = np.arange(1, modes + 1)
    return dataset_of(
        VARIABLES,
        shift_by_hand=np.stack([stress_shift(pump, times, n) for n in half_waves], axis=1),
        pinned_frequency=[pinned_frequency(pump, n) for n in half_waves],
        time=times,
        mode=np.arange(modes),
    )


def _velocities(pump: Pump, t: float) -> Array:
    """Velocities (10,) of the paper's {a}: A q̇, since A is the derivative of the places by q."""
    now = motion(pump, t)
    return np.asarray(now.A @ now.rate)


def forces_both_ways(pump: Pump, pumping: assembly.Mechanism, times: Array) -> xr.Dataset:
    """Joint forces and drives by the reduced equations (A43)–(A46) and by the general mechanism."""
    reduced, projected, general = (np.empty((len(times), n)) for n in (10, 2, 10))
    for k, t in enumerate(times):
        reduced[k], projected[k] = joint_forces(pump, t)
        reactions, drives = pumping.reactions(t), pumping.driving(t)
        general[k, :8] = np.concatenate([reactions[name].force[:2] for name in "ABCD"])
        general[k, 8:] = drives["A"], drives["guide"]
    values = {}
    for suffix, both in {"": reduced, "_general": general}.items():
        values[f"joint_force{suffix}"] = both[:, :8]
        values[f"motor_torque{suffix}"], values[f"slide_force{suffix}"] = both[:, 8:].T
    values["motor_torque_projected"], values["slide_force_projected"] = projected.T
    return dataset_of(VARIABLES, **values, time=times, force=list(FORCES[:8]))


VARIANTS = ("all terms", "without K_G", "without transport", "K alone")
# The part of the frozen system that is each term; "transport" is what Ṫ adds.
TERMS = {"C": "C", "K(ε)": "K_epsilon", "K(ω²)": "K_omega2", "K_G": "K_G", "transport": ""}


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
    return dataset_of(
        VARIABLES,
        eigenvalue=pairs,
        frequency=hertz * pairs.imag,
        shift=hertz * shift,
        together=hertz * together,
        variant=list(VARIANTS),
        term=list(TERMS),
        time=times,
        mode=np.arange(modes),
    )


def _with(term: str, literal: FrozenSystem, whole: FrozenSystem) -> FrozenSystem:
    """M and K of the instant with one term."""
    if term == "transport":
        # What Ṫ adds: 2 TᵀMṪ to C, and K_transport.
        C = whole.C - literal.C
        return literal.only("K", C=C, K_transport=whole.parts["K_transport"])
    return literal.only("K", TERMS[term])


def lowest(system: FrozenSystem, modes: int) -> Complex:
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
    gravity = np.array([0.0, -pump.gravity])
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
