"""Kane's element route of paper 805 against the library's matrices, which come from Lagrange's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import assembly
from assembly.kinematics import Kinematics
from tests.support.kane import KaneElement, RigidInstant, beam_interpolation, kane_element, turning

Array = NDArray[np.float64]

LENGTH, OFFSET, WIDTH, HEIGHT = 0.7, 0.15, 0.05, 0.03
ALLOY = assembly.Material(E=71e9, nu=0.33, rho=2780.0)
BOUND = 1e-12  # of each matrix's largest entry, as issue 6 asks


def motions() -> dict[str, RigidInstant]:
    angles = ((0.4, 31.0, -900.0), (-0.7, 12.0, 350.0), (1.1, -23.0, 640.0))
    plane = ((0.9, 44.0, -1500.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return {
        "space": turning(angles, (14.0, -6.0, 9.0)),
        "plane": turning(plane, (25.0, -8.0, 0.0)),
    }


def library(body: assembly.Body, motion: RigidInstant) -> tuple[dict[str, Array], Array]:
    """The named matrices over all unknowns, and the load, of the same instant in body axes."""
    now = Kinematics(motion.omega, motion.epsilon, motion.R.T @ motion.acceleration)
    parts = body.operators.parts(now)
    load = body.operators.inertia_loads @ now.coefficients()
    return {name: part.tocsr().toarray() for name, part in parts.items() if name != "K_G"}, load


def agree(found: KaneElement, parts: dict[str, Array], load: Array) -> None:
    # [k(ε)] is the skew part of what multiplies δ, [k(ω)] the symmetric one (628503, section 1).
    skew = 0.5 * (found.k_motion - found.k_motion.T)
    even = 0.5 * (found.k_motion + found.k_motion.T)
    for ours, theirs in (
        (found.m, parts["M"]),
        (found.c, parts["C"]),
        (skew, parts["K_epsilon"]),
        (even, parts["K_omega2"]),
        (found.load, load),
    ):
        assert np.abs(theirs).max() > 0.0 or np.abs(ours).max() == 0.0
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=BOUND * np.abs(theirs).max())


def gauss(count: int, low: float, high: float) -> tuple[Array, Array]:
    points, weights = np.polynomial.legendre.leggauss(count)
    return low + 0.5 * (high - low) * (points + 1.0), 0.5 * (high - low) * weights


def beam_by_kane(
    body: assembly.Body, shear: tuple[float, float], motion: RigidInstant
) -> KaneElement:
    """The chain of elements, integrated over its volume with section points, and assembled."""
    nodes = body.dofs.coordinates
    size = 6 * len(nodes)
    total = KaneElement(*(np.zeros((size, size)) for _ in range(3)), np.zeros(size))
    for e in range(len(nodes) - 1):
        start, L = nodes[e, 0], nodes[e + 1, 0] - nodes[e, 0]
        points, masses, shapes = [], [], []
        for xi, wx in zip(*gauss(4, 0.0, 1.0), strict=True):
            for y, wy in zip(*gauss(2, -WIDTH / 2.0, WIDTH / 2.0), strict=True):
                for z, wz in zip(*gauss(2, -HEIGHT / 2.0, HEIGHT / 2.0), strict=True):
                    points.append([start + xi * L, y, z])
                    masses.append(ALLOY.rho * wx * L * wy * wz)
                    shapes.append(beam_interpolation(xi, y, z, L, *shear))
        one = kane_element(np.array(points), np.array(masses), np.array(shapes), motion)
        rows = np.arange(6 * e, 6 * e + 12)
        for whole, part in ((total.m, one.m), (total.c, one.c), (total.k_motion, one.k_motion)):
            whole[np.ix_(rows, rows)] += part
        total.load[rows] += one.load
    return total


def shear_parameters(section: assembly.Section, L: float) -> tuple[float, float]:
    """Φ = 12 EI/(k G A L²) of bending in the x–y and in the x–z plane."""
    G = ALLOY.E / (2.0 * (1.0 + ALLOY.nu))
    return (
        12.0 * ALLOY.E * section.Iz / (section.shear_y * G * section.A * L**2),
        12.0 * ALLOY.E * section.Iy / (section.shear_z * G * section.A * L**2),
    )


@pytest.mark.parametrize("name", ["space", "plane"])
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_beams_in_space(theory: str, name: str) -> None:
    section, elements = assembly.rectangle(WIDTH, HEIGHT), 3
    body = assembly.beam(LENGTH, section, ALLOY, elements, offset=OFFSET, theory=theory)  # type: ignore[arg-type]
    shear = shear_parameters(section, LENGTH / elements) if theory == "timoshenko" else (0.0, 0.0)
    motion = motions()[name]
    agree(beam_by_kane(body, shear, motion), *library(body, motion))


def test_planar_beams() -> None:
    section, elements = assembly.rectangle(WIDTH, HEIGHT), 3
    body = assembly.beam(LENGTH, section, ALLOY, elements, offset=OFFSET, planar=True)
    motion = motions()["plane"]
    whole = beam_by_kane(body, shear_parameters(section, LENGTH / elements), motion)
    kept = np.flatnonzero(np.isin(np.arange(6 * (elements + 1)) % 6, (0, 1, 5)))
    planar = KaneElement(
        *(A[np.ix_(kept, kept)] for A in (whole.m, whole.c, whole.k_motion)), whole.load[kept]
    )
    agree(planar, *library(body, motion))


def test_bars_in_space() -> None:
    """Linear bars move in all three directions; their mass is on their axis."""
    from assembly.dofs import DofMap
    from assembly.elements.bar import BarFamily

    nodes = np.array([[0.1, -0.2, 0.3], [0.5, 0.4, -0.1]])
    dofs = DofMap.regular(nodes, (0, 1, 2))
    family = BarFamily(dofs, np.array([[0, 1]]), 1.0, 4.0)
    body = assembly.Body(dofs, (family,), np.zeros(6, dtype=bool))
    motion, L = motions()["space"], float(np.linalg.norm(nodes[1] - nodes[0]))
    xi, w = gauss(3, 0.0, 1.0)
    points = nodes[0] + xi[:, None] * (nodes[1] - nodes[0])
    shapes = np.stack([np.hstack([(1.0 - x) * np.eye(3), x * np.eye(3)]) for x in xi])
    agree(kane_element(points, 4.0 * L * w, shapes, motion), *library(body, motion))


def test_rigid_bodies() -> None:
    """A cloud of mass points carried by one node, u + φ × s."""
    rng = np.random.default_rng(5)
    points, masses = rng.standard_normal((12, 3)), rng.uniform(0.5, 2.0, 12)
    centre = masses @ points / masses.sum()
    s = points - centre
    spread = (s**2).sum(axis=1)[:, None, None] * np.eye(3) - s[:, :, None] * s[:, None]
    inertia = np.tensordot(masses, spread, axes=1)
    body = assembly.rigid_body(masses.sum(), inertia, centre=centre)
    shapes = np.zeros((12, 3, 6))
    shapes[:, :, :3] = np.eye(3)
    for axis in range(3):
        shapes[:, :, 3 + axis] = np.cross(np.eye(3)[axis], points)
    motion = motions()["space"]
    agree(kane_element(points, masses, shapes, motion), *library(body, motion))


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_elastic_forces_of_equation_19(theory: str) -> None:
    """[k]{δ}: work of the strains of the same interpolation, by quadrature."""
    section = assembly.rectangle(WIDTH, HEIGHT)
    body = assembly.beam(LENGTH, section, ALLOY, 1, theory=theory)  # type: ignore[arg-type]
    shear = shear_parameters(section, LENGTH) if theory == "timoshenko" else (0.0, 0.0)
    G, k = ALLOY.E / (2.0 * (1.0 + ALLOY.nu)), np.zeros((12, 12))
    h = 1e-3  # the interpolation is cubic in ξ: a fourth-order difference is exact

    def at(xi: float) -> Array:
        """(6, 12): u (3) and φ (3) at the axis; φ from the motion of points beside it."""
        u = beam_interpolation(xi, 0.0, 0.0, LENGTH, *shear)
        by_y = beam_interpolation(xi, 1.0, 0.0, LENGTH, *shear) - u
        by_z = beam_interpolation(xi, 0.0, 1.0, LENGTH, *shear) - u
        return np.vstack([u, by_y[2], by_z[0], -by_y[0]])

    for xi, w in zip(*gauss(4, 0.0, 1.0), strict=True):
        slope = (8.0 * (at(xi + h) - at(xi - h)) - (at(xi + 2 * h) - at(xi - 2 * h))) / (12.0 * h)
        slope, phi = slope / LENGTH, at(xi)[3:]
        strains = [
            (ALLOY.E * section.A, slope[0]),
            (G * section.J, slope[3]),
            (ALLOY.E * section.Iy, slope[4]),
            (ALLOY.E * section.Iz, slope[5]),
            (section.shear_y * G * section.A, slope[1] - phi[2]),
            (section.shear_z * G * section.A, slope[2] + phi[1]),
        ]
        if theory == "euler-bernoulli":
            assert all(np.abs(B).max() < 1e-9 for _, B in strains[4:])
            strains = strains[:4]
        k += sum(w * LENGTH * c * np.outer(B, B) for c, B in strains)
    found = body.operators.K.tocsr().toarray()
    # The difference quotient loses digits by round-off, ε/h.
    np.testing.assert_allclose(k, found, rtol=0.0, atol=1e-10 * np.abs(found).max())
