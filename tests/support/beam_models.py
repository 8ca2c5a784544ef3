"""Cantilevers and blades with published or independent frequencies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.linalg as la

import assembly
from assembly.bodies.blades import BladeTable, rigid_section_mass
from assembly.bodies.body import Body
from assembly.system.frozen import FrozenSystem

REFERENCES = Path(__file__).parents[1] / "references"
ALLOY = assembly.Material(E=1e4, nu=0.0, rho=1.0)  # of Wright's cantilever
SHAPE = assembly.rectangle(0.3, 0.08)
BLADE_ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)


def flap_frequencies(body: Body, omega: float, count: int) -> np.ndarray:
    """Frequencies (rad/s) of the out-of-plane motion (uz, ry) of a beam along x spun about z."""
    system = body.freeze((0.0, 0.0, omega))
    assert system.dofs is not None
    flap = np.flatnonzero(np.isin(system.dofs.component, (2, 4)))
    K = system.stiffness[flap][:, flap].toarray()
    M = system.M[flap][:, flap].toarray()
    return np.sqrt(la.eigh(K, M, eigvals_only=True)[:count])


def flap_cantilever(elements: int, offset: float = 0.0) -> Body:
    """EI = 1 in flap, ρA = 1, L = 1: frequencies are Wright's μ, omega is his η."""
    section = assembly.Section(A=1.0, Iy=1e-4, Iz=1e-3, J=1e-4)
    return assembly.beam(
        1.0,
        section,
        ALLOY,
        elements,
        clamped="start",
        offset=offset,
        theory="euler-bernoulli",
        rotary_inertia=False,
    )


def wright(eta: int) -> np.ndarray:
    values = json.loads((REFERENCES / "A1_flap.json").read_text())["values"]
    return np.array([float(v) for v in values[f"delta=0,eta={eta}"]])


def frequencies(system: FrozenSystem, count: int, above: float = 1e-3) -> np.ndarray:
    """The lowest frequencies above a bound, rad/s, with Coriolis."""
    n = system.n
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    lower = -la.solve(M, np.hstack([K, C]))
    values = la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))
    return np.sort(values.imag[values.imag > above])[:count]


def section_matrices() -> tuple[np.ndarray, np.ndarray]:
    """The rectangle's stiffness and mass about its centroid, (6, 6) each."""
    K = np.linalg.inv(SHAPE.compliance(BLADE_ALLOY))
    J = BLADE_ALLOY.rho * SHAPE.second_moments
    return K, rigid_section_mass(BLADE_ALLOY.rho * SHAPE.A, 0.0, 0.0, J[None])[0]


def swept_table(stations: int = 7) -> BladeTable:
    """Swept, twisted and tapered, with coupled sections and centres of mass off the axis."""
    s = np.linspace(0.0, 1.0, stations)
    axis = np.stack([3.0 * s, 0.5 * s**2, -0.3 * s**3], axis=-1)
    K, _ = section_matrices()
    scale = np.sqrt(np.diag(K))
    coupling = np.zeros((6, 6))
    coupling[0, 3], coupling[3, 4], coupling[3, 5], coupling[1, 3] = 0.3, 0.25, -0.15, 0.1
    coupling[0, 4], coupling[0, 5], coupling[1, 2] = 0.1, -0.2, 0.15
    K = K + (coupling + coupling.T) * np.outer(scale, scale)
    taper = 1.0 - 0.4 * s
    J = BLADE_ALLOY.rho * (
        SHAPE.second_moments + SHAPE.A * np.outer([0, 0.02, -0.01], [0, 0.02, -0.01])
    )
    m = BLADE_ALLOY.rho * SHAPE.A * taper
    M = rigid_section_mass(m, 0.02, -0.01, J * taper[:, None, None])
    return BladeTable(s, axis, 0.7 * s - 0.4 * s**2, K * taper[:, None, None], M)
