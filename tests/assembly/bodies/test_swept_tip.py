"""A rotating blade with a swept tip: measured frequencies, and an independent solution of the same
equations. The kink is a kink, without an arc."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg as la
from numpy.typing import NDArray

import assembly
from assembly.bodies.blades import BladeTable, rigid_section_mass
from tests.support.beam_models import REFERENCES, frequencies
from tests.support.swept_blade import RotatingBeam

Array = NDArray[np.float64]
RECORD = json.loads((REFERENCES / "swept_tip_blade.json").read_text())
GIVEN, MEASURED = RECORD["parameters"], RECORD["values"]
W, H, E, RHO = GIVEN["width"], GIVEN["height"], GIVEN["E"], GIVEN["rho"]
G, A, IY, IZ = E / (2.0 * (1.0 + GIVEN["nu"])), W * H, W * H**3 / 12.0, W**3 * H / 12.0
FORCES = np.array([E * A, G * A / GIVEN["shear_y"], G * A / GIVEN["shear_z"]])
MOMENTS = np.array([G * (IY + IZ) / GIVEN["torsion"], E * IY, E * IZ])
ROOT, KINK = GIVEN["root"], GIVEN["root"] + GIVEN["straight"]


def blade(sweep: float, refine: int, wagner: bool = False) -> assembly.Body:
    """Inches, pounds of force and seconds throughout. GXBeam has no Wagner term."""
    direction = np.array([np.cos(sweep), -np.sin(sweep), 0.0])
    corner = np.array([KINK, 0.0, 0.0])
    axis = np.stack([[ROOT, 0.0, 0.0], corner, corner, corner + GIVEN["tip"] * direction])
    s = np.array([0.0, GIVEN["straight"], GIVEN["straight"], GIVEN["straight"] + GIVEN["tip"]])
    stiffness = np.tile(np.diag(np.append(FORCES, MOMENTS)), (4, 1, 1))
    J = np.tile(RHO * np.diag([0.0, IZ, IY]), (4, 1, 1))
    mass = rigid_section_mass(RHO * A * np.ones(4), 0.0, 0.0, J)
    table = BladeTable(s, axis, 0.0 * s, stiffness, mass)
    return assembly.blade(table, refine=refine, clamped="start", wagner=wagner)


def spinning(body: assembly.Body, rpm: float, prestress: str) -> assembly.FrozenSystem:
    return body.freeze((0.0, 0.0, rpm * np.pi / 30.0), prestress=prestress)  # type: ignore[arg-type]


def across(sweep: float, rpm: float) -> Array:
    """Frequencies, Hz, of the motion across the plane (flap and torsion), which Coriolis forces do
    not couple to the motion in it."""
    system = spinning(blade(sweep, 12), rpm, "nonlinear")
    assert system.dofs is not None
    keep = np.flatnonzero(np.isin(system.dofs.component, (2, 3, 4)))
    rest = np.setdiff1d(np.arange(system.n), keep)
    K, M = system.stiffness.tocsr(), system.M.tocsr()
    assert abs(K[keep][:, rest]).max() < 1e-6 * abs(K).max()
    squares = la.eigh(K[keep][:, keep].toarray(), M[keep][:, keep].toarray(), eigvals_only=True)
    return np.asarray(np.sqrt(squares[:6]) / (2.0 * np.pi))


@pytest.mark.parametrize("number", range(4))
def test_measured_frequencies(number: int) -> None:
    """Epps and Chandra: within 10 % or 0.35 Hz, as other programs are; three bending modes at three
    speeds and the three coupled modes at 750 rpm."""
    sweep = np.radians(MEASURED["sweep"][number])
    for column, rpm in enumerate(MEASURED["rpm"]):
        found = across(float(sweep), rpm)
        expected = [MEASURED[f"bending_{k}"][number][column] for k in (1, 2, 3)]
        if rpm == 750:
            expected += MEASURED["coupled_750"][number]
        off = np.abs(found[: len(expected)] - expected)
        assert np.all(off < np.maximum(0.1 * np.array(expected), 0.35)), (found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "rpm"), [(45.0, 750.0), (20.0, 400.0)])
def test_the_equations_of_a_geometrically_exact_beam_by_collocation(
    degrees: float, rpm: float
) -> None:
    """Eight modes about the bent shape, in and across the plane, against Chebyshev polynomials.
    The stress alone, and Wagner's term, are far more off."""
    sweep = float(np.radians(degrees))
    exact = RotatingBeam(
        ROOT, ((GIVEN["straight"], 0.0), (GIVEN["tip"], -sweep)), FORCES, MOMENTS, RHO * A,
        RHO * np.array([IY + IZ, IY, IZ]), rpm * np.pi / 30.0,
    ).frequencies(8)  # fmt: skip

    def errors(refine: int, prestress: str = "nonlinear", wagner: bool = False) -> Array:
        system = spinning(blade(sweep, refine, wagner), rpm, prestress)
        return np.abs(frequencies(system, 8) / exact - 1.0)

    coarse, fine = errors(12), errors(24)
    assert fine.max() < 4e-4 and coarse.max() / fine.max() > 3.5
    assert errors(24, "linear").max() > 5.0 * fine.max()
    assert errors(24, wagner=True).max() > 5.0 * fine.max()
