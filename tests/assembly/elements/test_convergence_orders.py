"""Orders of convergence of all elements, integrators and interpolations, against exact solutions.

A case names what is refined, its error on a mesh of n elements or steps, two meshes, and the order
that is expected. A case without an exact solution has the difference of two meshes as its error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse.linalg as spla
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

import assembly
import modal
from assembly import gallery
from modal.periodic import magnus
from modal.periodic.collocation import GAUSS, second_order_monodromy
from modal.reduction.interpolation import one_by_one
from modal.transient.integrators.tableau import Tableau
from tests.support.beam_models import (
    REFERENCES,
    flap_cantilever,
    flap_frequencies,
    frequencies,
    swept_table,
    wright,
)
from tests.support.continua import PLANES, SOLIDS
from tests.support.floquet_cases import mathieu
from tests.support.tumble import exact, tumble
from tests.support.varying_model import METHODS, VaryingModel, end_state, reference

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """error: on n elements or steps, one number or several. order: expected, ± within; a pair is
    its least and largest value. finest: bound of the error on the finer mesh."""

    name: str
    error: Callable[[int], ArrayLike]
    meshes: tuple[int, int]
    order: float | tuple[float, float]
    within: float = 0.25
    finest: float = np.inf

    def limits(self) -> tuple[float, float]:
        if isinstance(self.order, tuple):
            return self.order
        return self.order - self.within, self.order + self.within


# Plane and solid elements: with the normal displacement of every face held and the tangential one
# free, the shear field u = (b sin(πx/a)cos(πy/b), −a cos(πx/a)sin(πy/b)), in proportion to the wave
# numbers, is a mode of a box: ω² = (G/ρ)(π²/a² + π²/b²). Degree p gives order 2p.

SIDES = 1.0, 0.7
SHEAR_MODE = float(
    np.sqrt(assembly.steel.G / assembly.steel.rho * sum((np.pi / side) ** 2 for side in SIDES))
)
ORDER = {"tet4": 2, "tet10": 4, "hex8": 2, "hex20": 4, "t3": 2, "t6": 4, "q4": 2, "q8": 4}


def continuum(element: str) -> Case:
    a, b = SIDES

    def error(n: int) -> float:
        if element in SOLIDS:
            body = gallery.block(n, n, 1, element, (a, b, a / n), clamped=None)
        else:
            body = gallery.sheet(n, n, element, (a, b), clamped=None, state="strain")
        fixed = np.zeros(body.size, dtype=bool)
        for face, nodes in body.sets.items():
            fixed[body.dofs.of_nodes(nodes, ["xyz".index(face[0])])] = True
        system = replace(body, fixed=fixed).freeze()
        near = spla.eigsh(
            system.K, 3, system.M, sigma=0.99 * SHEAR_MODE**2, return_eigenvectors=False
        )
        return float(abs(np.sqrt(near) / SHEAR_MODE - 1.0).min())

    meshes = (6, 12) if ORDER[element] == 4 else (10, 20)
    return Case(element, error, meshes, ORDER[element], finest=2e-2)


# Bars and beams.

BAR = json.loads((REFERENCES / "A3_axial_bar.json").read_text())["values"]
FLAP_ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)


def rotating_bar(clamped: Any, key: str) -> Case:
    """Against the closed form of the continuous bar at 15 rad/s."""
    continuous = np.array([float(v) for v in BAR[key]])[:3]
    dense = assembly.Material(E=210e9, nu=0.3, rho=50000.0)

    def error(n: int) -> Array:
        system = assembly.bar(1.0, 0.2e-4, dense, n, clamped=clamped).freeze((0.0, 0.0, 15.0))
        squares = la.eigh(system.stiffness.toarray(), system.M.toarray(), eigvals_only=True)
        return np.sqrt(squares[:3]) / continuous - 1.0

    return Case(f"bar, clamped {clamped}", error, (64, 128), 2, 0.02)


def cubic_beam(eta: int) -> Case:
    """Against Wright's table; from above, by Rayleigh and Ritz."""

    def error(n: int) -> Array:
        above = flap_frequencies(flap_cantilever(n), float(eta), 3) / wright(eta)[:3] - 1.0
        assert np.all(above > 0.0)
        return above

    return Case(f"beam, Euler–Bernoulli, η = {eta}", error, (8, 16), (3.8, 4.4))


def flap(theory: Any, order: int) -> Case:
    """Four in bending; two where the shear strain of inertia loads counts."""

    def mesh(n: int) -> Array:
        body = assembly.beam(
            0.8, assembly.rectangle(0.09, 0.03), FLAP_ALLOY, n, clamped="start", offset=0.25,
            theory=theory, rotary_inertia=theory == "timoshenko",
        )  # fmt: skip
        return flap_frequencies(body, 400.0, 3)

    # Order four reaches the round-off of the first mode by 64 elements: coarser meshes show it.
    n = 16 if order == 2 else 8
    return Case(f"beam, flap, {theory}", lambda k: mesh(k) - mesh(2 * k), (n, 2 * n), order, 0.35)


def curved_blade(spin: tuple[float, float, float]) -> Case:
    """Stretch, twist and shear of inertia loads inside an element are not interpolated: order two.

    Their h² is small beside bending's h⁴ on coarse meshes, where the order is still above two.
    """
    table = swept_table()

    def mesh(n: int) -> Array:
        return frequencies(assembly.blade(table, refine=n, clamped="start").freeze(spin), 4)

    relative = lambda n: mesh(n) / mesh(2 * n) - 1.0  # noqa: E731
    return Case(f"blade, spin {spin[2]:g}", relative, (2, 4), (1.9, 3.0), finest=1e-3)


# Time.


START = np.linspace(-1.0, 1.0, 8)


@cache
def exact_end() -> Array:
    return reference(VaryingModel(), START, 3.0)


def integrator(formalism: Any, method: str | None, rho: float, order: int) -> list[Case]:
    """The end state against DOP853 at 1e-13, and the energy defect."""
    label = f"{method or formalism}, ρ∞ = {rho:g}"

    def run(count: int, x0: Array, **options: Any) -> Any:
        response = modal.integrate(
            VaryingModel(), (0.0, 3.0), x0, formalism, method=method, rho_infinity=rho,
            step=3.0 / count, loads=[modal.InertiaLoads()], **options,
        )  # fmt: skip
        assert response.attrs["order"] == order
        return response

    def error(count: int) -> float:
        end = end_state(run(count, START, probes="all"))
        return float(np.abs(end - exact_end()).max())

    def defect(count: int) -> float:
        response = run(count, np.ones(8))
        return float(abs(response.energy_defect).max() / response.energy.max())

    steps = {2: (150, 300), 4: (40, 80), 6: (20, 40)}[order]
    return [
        Case(f"integrator: {label}", error, steps, order, 0.15),
        Case(f"energy: {label}", defect, (30, 60), (0.9 * order, np.inf)),
    ]


def floquet_steps() -> Case:
    """One period of Mathieu's equation by Magnus steps, against DOP853."""
    A = mathieu(3.0, 1.0)
    period = solve_ivp(
        lambda t, x: (A(t) @ x.reshape(2, 2)).ravel(), (0, np.pi), np.eye(2).ravel(),
        method="DOP853", rtol=1e-13, atol=1e-14,
    ).y[:, -1].reshape(2, 2)  # fmt: skip
    many, span = one_by_one(A), np.array([[0.0, np.pi]])
    error = lambda n: np.abs(next(magnus._products(many, span, n)) - period).max()  # noqa: E731
    return Case("Magnus steps", error, (8, 16), 6, 0.3)


def second_order_steps() -> list[Case]:
    """One period of two damped gyroscopic oscillators on springs that vary, against DOP853.

    In the coordinates (ω η, η̇) of the steps, that of the reference in (η, η̇).
    """
    omega, J = np.array([1.0, 2.3]), np.array([[0.0, 1.0], [-1.0, 0.0]])

    def accelerations(phases: Array) -> Array:
        c = np.cos(2.0 * np.pi * np.asarray(phases))[:, None, None]
        K = np.diag(omega**2) + c * np.array([[0.4, 0.2], [0.3, -0.5]])
        C = 0.3 * J + 0.1 * np.eye(2) + 0.2 * c * J
        return np.concatenate([-K / omega, -C], axis=-1)

    scale = np.concatenate([omega, np.ones(2)])

    def rate(t: float, x: Array) -> Array:
        rows = accelerations(np.array([t / np.pi]))[0] * scale
        return (np.vstack([np.eye(4)[2:], rows]) @ x.reshape(4, 4)).ravel()

    start = np.eye(4).ravel()
    end = solve_ivp(rate, (0.0, np.pi), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    exact = scale[:, None] * end.reshape(4, 4) / scale

    def error(n: int, rule: Tableau = GAUSS) -> float:
        found = second_order_monodromy(accelerations, omega, np.pi, n, rule)
        return float(np.abs(found - exact).max())

    def damped(n: int) -> float:
        return error(n, Tableau(5, radau=True))

    def states(times: Array) -> Array:
        upper = np.tile(np.hstack([np.zeros((2, 2)), np.diag(omega)]), (len(times), 1, 1))
        return np.concatenate([upper, accelerations(times / np.pi)], axis=1)

    def sharp(n: int) -> float:
        found = next(magnus._products(states, np.array([[0.0, np.pi]]), n, True))
        return float(np.abs(found - exact).max())

    return [
        Case("second-order steps of charts", error, (8, 16), 6, 0.3),
        Case("L-stable second-order steps of charts", damped, (4, 8), 9, 0.3),
        Case("second-order steps of whole monodromies", sharp, (2, 4), 16, 1.5),
    ]


def sampled_motion(name: str, order: float) -> Case:
    """Cubic splines: ω to third order in the step, ε and a_O to second."""

    def error(n: int) -> float:
        t = np.linspace(0.0, 2.0, n + 1)
        r, R = tumble(t)
        quaternions = R.as_quat() * np.where(np.arange(n + 1) % 3 == 0, -1.0, 1.0)[:, None]
        # Midway between samples, where interpolation is at its worst.
        s = 1.0 + 0.5 * (t[1] - t[0])
        now = assembly.Sampled(t, r, quaternions).at(s)
        return float(np.abs(getattr(now, name) - getattr(exact(s), name)).max())

    finest = 1e-4 if name == "omega" else np.inf
    return Case(f"sampled motion, {name}", error, (40, 80), (order - 0.3, np.inf), finest=finest)


CASES = [
    *(continuum(element) for element in SOLIDS + PLANES),
    rotating_bar("start", "omega_n_Omega15_rad_s"),
    rotating_bar("both", "fixed_fixed_Omega15"),
    *(cubic_beam(eta) for eta in (0, 6, 12)),
    flap("timoshenko", 2),
    flap("euler-bernoulli", 4),
    curved_blade((0.0, 0.0, 0.0)),
    curved_blade((0.0, 15.0, 30.0)),
    *(case for method in METHODS for case in integrator(*method)),
    floquet_steps(),
    *second_order_steps(),
    sampled_motion("omega", 3.0),
    sampled_motion("epsilon", 2.0),
    sampled_motion("acceleration", 2.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error_shrinks_with_the_expected_order(case: Case) -> None:
    coarse, fine = (np.asarray(case.error(n)) for n in case.meshes)
    low, high = case.limits()
    order = np.log2(np.abs(coarse / fine))
    assert np.all((order > low) & (order < high)), order
    assert np.all(np.abs(fine) < case.finest)
