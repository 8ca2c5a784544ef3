"""Elastic drives and free hinges against closed forms and published values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from modal.data.variables import TRACKS
from studies import robot_arm
from studies.reporting.output import OutputFolder
from studies.robot_arm.study import VARIABLES
from tests.support import helicopter
from tests.support.dataset_checks import assert_as_xarray_users_expect, assert_described
from tests.support.two_link_arm import Arm

SPIN = 37.0
HINGE, MASS, CENTRE, INERTIA = 0.3, 4.0, 0.9, 0.7  # m, kg, m from the hinge, kg m² about the centre


def lag_hinge(stiffness: float, damping: float = 0.0, rate: float = SPIN) -> assembly.Mechanism:
    blade = assembly.rigid_body(MASS, INERTIA, centre=(CENTRE, 0, 0), planar=True)
    return assembly.Mechanism(
        {"hub": assembly.rigid_body(0.0, planar=True), "blade": blade},
        [
            assembly.revolute("ground", (0, 0), "hub", "origin", name="shaft"),
            assembly.revolute("hub", (HINGE, 0), "blade", "origin", name="lag"),
        ],
        [
            assembly.driver("shaft", rate),
            assembly.driver("lag", 0.0, stiffness=stiffness, damping=damping),
        ],
        initial={"blade": (HINGE, 0, 0)},
    )


@pytest.mark.parametrize("stiffness", [0.0, 900.0])
def test_a_lag_hinge_vibrates_against_centrifugal_force(stiffness: float) -> None:
    """ω² = (e S/I) Ω² + k/I, S and I about the hinge (Johnson, Helicopter Theory, 1980)."""
    about = INERTIA + MASS * CENTRE**2
    system = lag_hinge(stiffness).freeze(0.013)
    modes = modal.solve(system, k=1)
    expected = np.sqrt(HINGE * MASS * CENTRE / about * SPIN**2 + stiffness / about)
    assert_allclose(modes.eigenvalues, [1j * expected], rtol=1e-14)
    assert list(modes.kind) == ["elastic"]
    assert system.rigid.shape == (1, 0)
    assert modal.stability(system).verdict == "stable"


def test_a_rigid_drive_has_no_mode_of_its_own() -> None:
    with pytest.raises(assembly.InputError, match="no DOFs left"):
        lag_hinge(900.0).freeze(0.0, driven=True)


def test_a_blade_without_dampers_is_marginal_at_rest() -> None:
    """No spring, no rotation: nothing resists, and the mode stays at zero among the elastic
    ones."""
    system = lag_hinge(0.0, rate=0.0).freeze(0.0)
    assert system.rigid.shape == (1, 0)
    assert system.stiffness.nnz == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rpm", "works", "growth"),
    [
        (100, True, -1.870724),
        (250, True, -0.329525),
        (100, False, -0.153865),
        (250, False, 0.322031),
    ],
)
def test_a_helicopter_rotor_of_rigid_blades(rpm: float, works: bool, growth: float) -> None:
    """Largest Floquet growth rates of Hammond's rotor, with all lag dampers and with one out."""
    model = helicopter.rotor(rpm, (works, True, True, True))
    assert model.period == pytest.approx(60.0 / rpm, rel=1e-14)
    exponents = modal.floquet(model, model.period).exponents
    assert float(exponents.real.max()) == pytest.approx(growth, abs=1e-6)


@pytest.fixture(scope="module", params=[0.0, 9.81], ids=["weightless", "heavy"])
def arm(request: pytest.FixtureRequest) -> Arm:
    return Arm(gravity=request.param)


def test_a_two_link_arm_with_elastic_gears(arm: Arm) -> None:
    """All matrices about the moving arm from the derivatives of Lagrange's equations."""
    t = 0.37
    system = arm.mechanism().freeze(t)
    M, C, K = arm.linearized(t)
    assert_allclose(system.M.toarray(), M, rtol=0, atol=1e-13 * np.abs(M).max())
    assert_allclose(system.damping.toarray(), C, rtol=0, atol=1e-12 * np.abs(C).max())
    assert_allclose(system.stiffness.toarray(), K, rtol=0, atol=1e-12 * np.abs(K).max())


def test_the_gears_of_a_resting_arm_give_its_first_modes(arm: Arm) -> None:
    """Two frequencies in closed form, and the sag under the weight."""
    model = arm.mechanism(moving=False)
    system = model.freeze(0.0)
    expected = arm.frequencies_at_rest()
    modes = modal.solve(system, k=2)
    assert_allclose(np.sort(modes.eigenvalues.imag), expected, rtol=1e-12)
    assert list(modes.kind) == ["elastic", "elastic"]
    torques = arm.weight_torques(0.0)
    assert_allclose(list(model.driving(0.0).values()), torques, rtol=1e-12, atol=1e-12)


def test_the_drives_of_a_moving_arm_work_against_their_dampers(arm: Arm) -> None:
    t = 0.37
    found = arm.mechanism().driving(t)
    expected = arm.inverse_dynamics(t)
    assert_allclose(list(found.values()), expected, rtol=1e-11)


def test_deflections_in_equilibrium() -> None:
    """One arm of weight P at the distance a: the gear k deflects by x with k x = −P a cos φ + P a
    sin φ x (the stiffness of the weight at the undeflected arm)."""
    k, weight, reach, angle = 500.0, 60.0, 0.7, 0.4
    arm = assembly.rigid_body(weight / 9.81, 0.1, centre=(reach, 0, 0), planar=True)
    law = assembly.Uniform(0.0, start=angle)
    model = assembly.Mechanism(
        {"arm": arm},
        [assembly.revolute("ground", (0, 0), "arm", "origin", name="gear")],
        [assembly.driver("gear", law, stiffness=k)],
        gravity=(0, -9.81, 0),
    )
    moment = weight * reach
    expected = -moment * np.cos(angle) / (k - moment * np.sin(angle))
    assert_allclose(model.deflections(0.0)["gear"], [expected], rtol=1e-12)


def test_a_free_hinge_is_held_at_its_mean_motion() -> None:
    """The drive's torque balances the weight, so that nothing is left to deflect."""
    model = lag_hinge(0.0)
    assert_allclose(model.freeze(0.1).Q, 0.0, atol=1e-10)
    assert_allclose(model.deflections(0.1)["lag"], [0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (dict(stiffness=-1.0), "stiffness must be a finite number"),
        (dict(stiffness=np.nan), "stiffness must be a finite number"),
        (dict(stiffness=1.0, damping=-2.0), "damping must be a finite number"),
        (dict(stiffness="soft"), "stiffness must be a finite number"),
        (dict(stiffness=1.0, held=False), "exclude each other"),
    ],
)
def test_drives_that_cannot_be(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(assembly.MechanismError, match=complaint):
        assembly.driver("A", 1.0, **options)  # type: ignore[arg-type]


def test_a_stiffness_that_turns_negative_is_named_with_its_time() -> None:
    blade = assembly.rigid_body(MASS, INERTIA, centre=(CENTRE, 0, 0), planar=True)
    model = assembly.Mechanism(
        {"blade": blade},
        [assembly.revolute("ground", (0, 0), "blade", "origin", name="A")],
        [assembly.driver("A", 1.0, stiffness=lambda t: 1.0 - t)],
    )
    assert model.freeze(0.5).K[0, 0] == pytest.approx(0.5)
    with pytest.raises(assembly.MechanismError, match="stiffness at t = 2 s"):
        model.freeze(2.0)


@pytest.mark.slow
def test_the_study_of_a_robot_arm(tmp_path: Path) -> None:
    """Gears make its first frequency; with rigid links it is the closed form, at rest."""
    out = OutputFolder(tmp_path / "out", "robot-arm")
    tracks = robot_arm.main(elements=2, modes=2, instants=5, out=out)
    assert len(out.views) == 1 and len(out.views[0].states) == 5
    assert_described(modal.read_dataset(out.path / "tracks.nc"), TRACKS)
    gears = modal.read_dataset(out.path / "gears.nc")
    assert_described(gears, VARIABLES)
    assert_as_xarray_users_expect(gears, tmp_path)
    both, links, joints = gears["first_frequency"].values[:, [0, -1]]
    assert_allclose(both, tracks["frequency"].values[[0, -1], 0])
    assert (links > 2.0 * both).all()
    # Dunkerley's lower bound with both, and each alone above.
    assert (both < joints).all()
    assert (both > 1.0 / np.sqrt(1.0 / links**2 + 1.0 / joints**2)).all()
    for figure in ("tracks", "gears", "shapes"):
        assert (out.path / f"{figure}.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
def test_rigid_links_on_gears_are_stiff_links_on_gears() -> None:
    """The closed form of the study is what its arm tends to when its links do not bend."""
    stiff = assembly.Material(E=7e15, nu=0.33, rho=assembly.aluminium.rho)
    arm = robot_arm.model(gears=(4e4, 1.5e4), damping=(0, 0), material=stiff, elements=1)
    found = modal.solve(arm.freeze(0.0), k=2).frequency
    expected = robot_arm.rigid_links(5.0, (4e4, 1.5e4), robot_arm.study.ARM.folded)
    assert_allclose(found, expected, rtol=1e-6)
