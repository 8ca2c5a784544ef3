"""prestress="first-order" of bodies: the derivative of "nonlinear" by the load, and its limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from assembly import Body, ConvergenceError, InputError, Kinematics, PlausibilityWarning
from assembly.bodies.attachments import attach_damper, attach_mass, attach_spring
from assembly.bodies.blades import BladeTable, rigid_section_mass
from assembly.dofs import DofMap
from assembly.elements.bar import BarFamily
from tests.support import continua
from tests.support.cases import with_slow
from tests.support.swept_blades import beam_blade, brick_blade

ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
SHAPE = assembly.rectangle(0.2, 0.05)
MU = (1e-4, 2e-4, 3e-4, 1e-4, 2e-4, 5e-5)
SHARES = np.arange(1, 6) / 5.0
SMALL: dict[Callable[..., Body], dict[str, Any]] = {
    beam_blade: {"elements": 6},
    brick_blade: {"cells": (5, 1, 1)},
}
MOTION = dict(omega=(3.0, -5.0, 8.0), epsilon=(40.0, 25.0, -60.0), acceleration=(20.0, -9.0, 12.0))


def clamped(body: Body) -> Body:
    return replace(body, fixed=body.dofs.node == 0)


def curved() -> Body:
    """A swept, twisted blade with its centres of mass and tension off the axis."""
    s = np.linspace(0.0, 1.0, 4)
    K = np.linalg.inv(SHAPE.compliance(ALLOY))
    K[0, 4] = K[4, 0] = 0.01 * K[0, 0]
    K[3, 4] = K[4, 3] = 0.2 * np.sqrt(K[3, 3] * K[4, 4])
    J = ALLOY.rho * (SHAPE.second_moments + SHAPE.A * np.outer([0, 0.02, -0.01], [0, 0.02, -0.01]))
    M = rigid_section_mass(ALLOY.rho * SHAPE.A, 0.02, -0.01, J)
    axis = np.stack([3.0 * s, 0.5 * s**2, -0.3 * s**3], axis=-1)
    table = BladeTable(s, axis, 0.7 * s, np.tile(K, (4, 1, 1)), np.tile(M, (4, 1, 1)), mu=MU)
    return clamped(assembly.blade(table)).with_damping(0.8, 1e-4)


def with_everything() -> Body:
    beam = assembly.beam(1.0, SHAPE, ALLOY, 3, theory="euler-bernoulli", pitch=(0.2, 0.8))
    body = attach_mass(beam, 3, 5.0, (0.3, 0.2, 0.4), (0.1, -0.2, 0.05))
    body = attach_spring(attach_spring(body, 0, stiffness=1e5), 0, 2, stiffness=1e6, damping=3.0)
    return clamped(attach_damper(body, 1, 10.0)).with_damping(2.0, 1e-4)


def pinned() -> Body:
    return assembly.beam(1.0, SHAPE, ALLOY, 3, pinned="start")


def offset() -> Body:
    """Elements on arms that hold them off the nodes."""
    return assembly.beam(
        1.0, SHAPE, ALLOY, 3, clamped="start", end_offsets=((0.1, 0.05, 0.02), (-0.1, 0.04, 0))
    )


def welded() -> Body:
    """A kinked frame, its members damped in different measure."""
    arm = assembly.beam(1.0, SHAPE, ALLOY, 2)
    far = arm.placed((1.0, 0.0, 0.0), 0.6).with_damping(b=1e-3)
    return assembly.weld([arm, far], clamped="beam.start")


def truss() -> Body:
    """Bars from three fixed nodes to one, and a fourth that hangs on it."""
    points = np.array([[0, 0, 0], [1, 0, 0.1], [0, 1, 0], [0.4, 0.3, 0.8], [0.5, -0.2, 1.2]])
    dofs = DofMap.regular(points, range(3))
    pairs = np.array([[0, 3], [1, 3], [2, 3], [0, 4], [1, 4], [3, 4]])
    family = BarFamily(dofs, pairs, EA=1e5, mass_per_length=2.0)
    return Body(dofs, (family,), fixed=dofs.node < 3).with_damping(b=1e-4)


# Dampers against the surroundings resist ω itself, not its products.
MOTIONS = {"masses, springs, dampers": dict(MOTION, omega=(0, 0, 0), velocity=(30.0, -50.0, 20.0))}


def loaded(motion: dict[str, Any], share: float) -> dict[str, Any]:
    """The motion under a share of its loads: products of ω, ε and a − g."""
    return {k: np.array(v) * (share**0.5 if k == "omega" else share) for k, v in motion.items()}


def slope_at_zero(values: list[np.ndarray], step: float) -> np.ndarray:
    """f′(0) from f at the shares 1/5 … 1 of a step, f(0) = 0, by the polynomial through them."""
    powers = (step * SHARES)[:, None] ** np.arange(1, len(SHARES) + 1)
    weights = np.linalg.inv(powers)[0]
    return np.asarray(np.tensordot(weights, values, 1))


BODIES: dict[str, Callable[[], Body]] = {
    "curved blade": curved,
    "masses, springs, dampers": with_everything,
    "pinned beam": pinned,
    "beam off its nodes": offset,
    "welded frame": welded,
    "truss": truss,
    "swept bricks": lambda: brick_blade(0.1, 0.6, cells=(3, 1, 1)).with_damping(1.0, 1e-4),
    "pinned hex8": lambda: continua.body("hex8", pinned=[0]),
    "tet10": lambda: continua.body("tet10", clamped="x0"),
    "q8": lambda: continua.body("q8", clamped="x0"),
    "pinned t3": lambda: continua.body("t3", pinned=[0]),
}
LONG = ("curved blade", "masses, springs, dampers", "beam off its nodes", "welded frame")


def changes(
    body: Body, motion: dict[str, Any], share: float, prestress: Any
) -> dict[str, np.ndarray]:
    """What a share of the load changes in K_G, M and D."""
    rest, system = body.freeze(), body.freeze(**loaded(motion, share), prestress=prestress)
    parts = {name: getattr(system, name).toarray() for name in ("K_G", "M", "D")}
    return {name: A - getattr(rest, name).toarray() for name, A in parts.items()}


@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
@pytest.mark.parametrize("name", with_slow(BODIES, LONG))
def test_is_the_derivative_of_nonlinear_by_the_load(name: str) -> None:
    """Against a polynomial through states of the nonlinear equilibrium, which Newton's method finds
    from the internal forces."""
    body, motion, step = BODIES[name](), MOTIONS.get(name, MOTION), 0.1
    nonlinear, first = (
        [changes(body, motion, share, prestress) for share in step * SHARES]
        for prestress in ("nonlinear", "first-order")
    )
    rest, found = body.freeze(), {}
    for part in first[0]:
        slope, found[part] = (
            step * slope_at_zero([values[part] for values in series], step)
            for series in (nonlinear, first)
        )
        # The weights of both series sum to 74, of differences of two matrices to one or two ε.
        size, round_off = abs(slope).max(), 1e-13 * abs(getattr(rest, part)).max()
        np.testing.assert_allclose(found[part], slope, rtol=0.0, atol=1e-7 * size + round_off)
    stress = changes(body, motion, step, "linear")["K_G"]
    assert abs(found["K_G"] - stress).max() > 0.1 * abs(stress).max()


@pytest.mark.parametrize("make", [beam_blade, brick_blade])
def test_squares_of_a_swept_twisted_blade_have_the_slope_of_nonlinear(
    make: Callable[..., Body],
) -> None:
    """dω²/d(Ω²) at rest; what the stress alone says is off by more than 5 %."""
    body, step = make(0.1, 0.6, **SMALL[make]), 10.0**2

    def slope(prestress: Any) -> np.ndarray:
        values = []
        for square in (0.0, *(step * SHARES)):
            system = body.freeze((0.0, 0.0, square**0.5), prestress=prestress)
            K, M = system.stiffness.toarray(), system.M.toarray()
            values.append(la.eigh(K, M, eigvals_only=True, subset_by_index=[0, 3]))
        return slope_at_zero([value - values[0] for value in values[1:]], step)

    nonlinear = slope("nonlinear")
    np.testing.assert_allclose(slope("first-order"), nonlinear, rtol=5e-3)
    assert abs(slope("linear") / nonlinear - 1.0).max() > 0.05


@pytest.mark.parametrize("make", [beam_blade, brick_blade])
def test_an_undamped_body_stays_conservative(make: Callable[..., Body]) -> None:
    """So that its modes are found on the imaginary axis, as those of linear prestress are."""
    system = make(0.01, 0.1, **SMALL[make]).freeze((0, 0, 20.0), prestress="first-order")
    assert system.is_conservative
    assert system.parts["D"].is_zero


@pytest.mark.slow
def test_sweep_of_a_solid_by_its_basis_is_that_of_full_solves() -> None:
    body, speeds = brick_blade(0.01, 0.1, depth=0.03), np.linspace(0.0, 200.0, 9)
    options = dict(axis=(0, 0, 1), k=4, prestress="first-order")
    tracks = modal.track(body, omega=speeds, tolerance=1e-6, **options)
    for speed, found in zip(speeds, tracks.eigenvalue.values, strict=True):
        system = body.freeze(speed, axis=(0, 0, 1), prestress="first-order")
        values = modal.solve(system, k=4).eigenvalues
        np.testing.assert_allclose(np.sort(found.imag), np.sort(values.imag), rtol=1e-6)
    linear = modal.track(body, omega=speeds, axis=(0, 0, 1), k=4)
    assert abs(tracks.frequency / linear.frequency - 1.0).max() > 1e-5


def test_map_has_the_growth_rates_of_frozen_systems() -> None:
    body = beam_blade(0.02, 0.2, depth=0.03, elements=4).with_damping(b=1e-6)
    grid = modal.stability_map(
        body, omega=[50.0, 150.0], epsilon=[0.0, 500.0], axis=(0, 0, 1), k=4,
        prestress="first-order",
    )  # fmt: skip
    for omega in (50.0, 150.0):
        for epsilon in (0.0, 500.0):
            system = body.freeze(omega, epsilon, axis=(0, 0, 1), prestress="first-order")
            growth = modal.solve(system, k=4).eigenvalues.real.max()
            cell = grid.sel(omega=omega, epsilon=epsilon)
            assert float(cell.growth_rate) == pytest.approx(growth, rel=1e-5)


def plate(clamped: Any) -> Body:
    return assembly.beam(1.0, assembly.rectangle(0.1, 0.005), assembly.steel, 8, clamped=clamped)


def squares(body: Body, acceleration: float, prestress: Any) -> np.ndarray:
    system = body.freeze(acceleration=(0.0, 0.0, acceleration), prestress=prestress)
    K, M = system.stiffness.toarray(), system.M.toarray()
    return np.asarray(la.eigh(K, M, eigvals_only=True, subset_by_index=[0, 2]))


@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
@pytest.mark.parametrize(("clamped", "acceleration"), [("start", 20.0), ("both", 5.0)])
def test_error_estimate_is_the_error_of_a_beam_bent_by_its_inertia(
    clamped: Any, acceleration: float
) -> None:
    """A cantilever loses what its load does on the bent shape, a beam held at both ends the force
    along it; never more than the estimate, against the equilibrium of "nonlinear"."""
    body = plate(clamped)
    estimate = body.first_order.error(Kinematics(acceleration=np.array([0.0, 0.0, acceleration])))
    exact = squares(body, acceleration, "nonlinear")
    error = abs(squares(body, acceleration, "first-order") / exact - 1.0).max()
    assert 0.2 * estimate < error < estimate


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
@pytest.mark.parametrize(
    ("make", "omega"), [(beam_blade, 100.0), (brick_blade, 30.0)], ids=["beams", "bricks"]
)
def test_a_bent_blade_is_better_than_by_its_stress_alone(
    make: Callable[..., Body], omega: float
) -> None:
    """Bending couples with stretch, and both with what cancels it: five times better here, where
    the coupling by itself took 13 % and 0.5 % off ω²."""
    body = make(0.1, 0.6)

    def lowest(prestress: Any) -> np.ndarray:
        system = body.freeze((0.0, 0.0, omega), prestress=prestress)
        K, M = system.stiffness.toarray(), system.M.toarray()
        return np.asarray(la.eigh(K, M, eigvals_only=True, subset_by_index=[0, 2]))

    exact = lowest("nonlinear")
    linear, first = (abs(lowest(p) / exact - 1.0).max() for p in ("linear", "first-order"))
    assert first < 0.2 * linear < 1e-3


def test_a_large_deflection_is_told() -> None:
    """A plate of 5 mm under loads across, whose membrane force first order leaves out."""
    with pytest.warns(PlausibilityWarning, match=r'about 5 % of ω² .* prestress="nonlinear"'):
        plate("both").freeze(acceleration=(0, 0, 20.0), prestress="first-order")
    with pytest.raises(ConvergenceError, match=r'too large for first order.*"nonlinear"'):
        plate("both").freeze(acceleration=(0, 0, 100.0), prestress="first-order")


def test_estimate_does_not_depend_on_units() -> None:
    """The same beam in metres and in millimetres and tonnes."""
    with pytest.warns(PlausibilityWarning):
        mm = assembly.Material(E=210e3, nu=0.3, rho=7.85e-9)
    bodies = (
        assembly.beam(1.0, assembly.rectangle(0.1, 0.005), assembly.steel, 4, clamped="start"),
        assembly.beam(1e3, assembly.rectangle(100.0, 5.0), mm, 4, clamped="start"),
    )
    first, second = (
        body.first_order.error(Kinematics(acceleration=np.array([0.0, 0.0, a])))
        for body, a in zip(bodies, (0.1, 100.0), strict=True)
    )
    assert first == pytest.approx(second, rel=1e-9)


def test_what_has_no_law_of_large_displacements_is_refused() -> None:
    body = assembly.from_matrices(
        np.eye(3), np.eye(3), coordinates=[[1.0, 0.0, 0.0]], dofs=[(0, 0), (0, 1), (0, 2)]
    )
    with pytest.raises(InputError, match='no "first-order"'):
        body.freeze(omega=(0, 0, 1.0), prestress="first-order")
