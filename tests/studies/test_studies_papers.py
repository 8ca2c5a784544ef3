"""The papers' studies, run small: their numbers against closed forms and independent routes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as la
import xarray as xr
from PIL import Image

import modal
from assembly.errors import InputError, MechanismError
from studies import measured_motion, rotating_bar, two_zeros, wind_pump
from studies.__main__ import main as command_line
from studies.measured_motion.data import QUANTITIES
from studies.reporting.output import OutputFolder
from studies.rotating_bar.bar import frozen, model, response
from studies.two_zeros.data import COEFFICIENTS, closed_form, rigid_pair
from studies.two_zeros.machines import effective_inertia
from studies.two_zeros.transformation import small_case, text
from studies.wind_pump.machine import Pump, joint_forces, mechanism, motion
from tests.support.dataset_checks import assert_described

# Real machines: no value of them is questioned.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("error::assembly.PlausibilityWarning"),
]

# rotating-bar (paper 1401, example a and section c)


@pytest.fixture(scope="module")
def bar() -> xr.Dataset:
    return rotating_bar.main(duration=0.01, step=1e-5, timing_repeats=1, timing_duration=4e-4)


def test_rotating_bar_has_the_frequencies_of_the_reference(bar: xr.Dataset) -> None:
    """References A3: linear elements, fixed–free, at 15 rad/s and the continuum's."""
    table = [3222.45020770912, 9747.10111730224, 16512.0903472897, 23679.0265422962]
    np.testing.assert_allclose(bar["natural"].sel(omega=15.0), table, rtol=1e-12)
    continuum = [3219.13957776668, 9657.51192545443, 16095.8656346465, 22534.2166812172]
    np.testing.assert_allclose(bar["natural_continuum"].sel(omega=15.0), continuum, rtol=1e-13)
    ratio = bar["natural"].sel(omega=15.0) / bar["natural_misprint"]
    # ω₁² = k − Ω² against k/2 − Ω²: √2 but for Ω².
    np.testing.assert_allclose(ratio, np.sqrt(2.0), rtol=2e-5)


def test_lagrange_and_hamilton_give_one_response(bar: xr.Dataset) -> None:
    moved, exact = bar["displacement"], bar["displacement_exact"]
    size = float(abs(exact).max())
    both = abs(moved.sel(scheme="lagrange") - moved.sel(scheme="hamilton"))
    assert float(both.max()) < 1e-12 * size
    assert float(abs(moved.sel(scheme="hamilton, order 6") - exact).max()) < 1e-5 * size
    assert float(abs(moved.sel(scheme="lagrange") - exact).max()) < 2e-3 * size
    energy = bar["energy_defect"].pipe(abs).max("time") / bar["energy"].max("time")
    assert float(energy.max()) < 1e-11
    for name in ("section", "excitation", "mass"):
        assert float(bar[f"tip_by_{name}_error"].max()) < 5e-3


def test_the_closed_form_of_the_response_solves_the_equations() -> None:
    system = frozen(model(6, damping_ratio=0.03))
    push = np.arange(1.0, 7.0)
    # The fastest mode has a period of 0.15 ms; sixth-order differences of step 0.5 µs.
    h, t0 = 5e-7, 3.1e-4
    t = t0 + h * np.arange(-3, 4)
    q = response(system, push, 200.0, t)
    first = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / (60.0 * h)
    second = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * h**2)
    v, a = first @ q, second @ q
    force = system.Q + push * np.sin(200.0 * t0)
    left = system.M @ a + system.damping @ v + system.stiffness @ q[3]
    np.testing.assert_allclose(left, force, rtol=0.0, atol=1e-5 * np.abs(force).max())
    np.testing.assert_allclose(response(system, push, 200.0, np.zeros(1)), 0.0, atol=1e-18)


def test_rotating_bar_times_both_formalisms_and_says_what_it_shows(bar: xr.Dataset) -> None:
    assert float(bar["seconds"].min()) > 0.0 and bar["seconds"].sizes["elements"] == 5
    calls = bar["evaluations"].sel(formalism="hamilton") / bar["evaluations"].sel(
        formalism="lagrange"
    )
    # The method and its tolerance are the same; only the error norm's scaling differs.
    assert 0.5 < float(calls.min()) and float(calls.max()) < 2.0
    report = rotating_bar.report(bar)
    assert "Table 3" in report and "√2" in report
    assert_described(bar, rotating_bar.data.VARIABLES)


def test_rotating_bar_has_the_derivatives_of_table_1(bar: xr.Dataset) -> None:
    """Complex-step derivatives of the terms, integrated apart from the library. As printed the
    elastic term is half of what it is."""
    assert bar["derivative_error"].sizes["lagrangian_term"] == 12
    assert float(bar["derivative_error"].max()) < 1e-14
    assert float(bar["derivative_misprint"]) == pytest.approx(0.5, rel=1e-12)
    assert "−kδ" in rotating_bar.report(bar)


# two-zeros (paper 628503)


@pytest.fixture(scope="module")
def zeros() -> xr.Dataset:
    return two_zeros.main(modes=3, instants=12, large_elements=40)


@pytest.mark.slow
def test_the_printed_quotient_fails_where_coriolis_is_large(zeros: xr.Dataset) -> None:
    error = zeros["rayleigh_error"]
    assert float(abs(error.sel(quotient="true")).max()) < 1e-10
    printed = error.sel(example="spinning shaft", quotient="printed, complex shape")
    # In the shaft's own axes ω₀ is seen as ω₀ ∓ Ω, and −ω²m − ωγ + k = 0 has the roots whose
    # product is k/m = (ω₀ − Ω)(ω₀ + Ω): the printed quotient is the geometric mean of the two.
    pair = zeros["rayleigh_frequency"].sel(example="spinning shaft").values[:2]
    expected = np.sqrt(pair[0] * pair[1]) / pair - 1.0
    np.testing.assert_allclose(printed.values[:2], expected, rtol=1e-6)
    np.testing.assert_allclose(pair[1] - pair[0], 2.0 * 200.0, rtol=1e-3)


def test_the_count_of_zeros_is_twice_the_mobility_less_the_rank(zeros: xr.Dataset) -> None:
    np.testing.assert_array_equal(zeros["zeros_found"], zeros["zeros_formula"])
    literal = zeros.sel(equations="literal")
    assert literal["mobility"].values.tolist() == [1, 1, 2, 3]
    # VᵀCV is skew, so its rank is even: 0, 0, 2, 2.
    assert literal["zeros_found"].values.tolist() == [2, 2, 2, 4]
    assert float((zeros["zeros_spread"] / zeros["first_other"]).max()) < 1e-2
    apart = zeros["deflated_sparse"] / zeros["deflated_dense"] - 1.0
    assert float(abs(apart).max()) < 1e-10
    # 40 elements a link are closer to the limit than 12: the lower modes barely move.
    coarse = zeros["deflated_sparse"].values[:2]
    np.testing.assert_allclose(zeros["deflated_large"].values[:2], coarse, rtol=1e-3)
    assert zeros.attrs["large_zeros_removed"] == 2


def test_the_papers_transformation_step_by_step() -> None:
    case = small_case()
    n = len(case.M)
    for step in (case.first, case.second):
        np.testing.assert_allclose(step.A @ step.x, 0.0, atol=1e-10)
        np.testing.assert_allclose(step.B[:, step.pivot], 0.0, atol=1e-10)
        # (2.21): T⁻¹ has the signs of the column turned.
        np.testing.assert_allclose(step.B, la.solve(step.T, step.A @ step.T), atol=1e-9)
    assert case.second.B22.shape == (2 * n - 2, 2 * n - 2)
    # Independent: nonzero roots of det(λ²M + λC + K) through the polynomial in λ.
    points = np.exp(2j * np.pi * np.arange(4 * n) / (4 * n)) * 5.0
    values = [la.det(z**2 * case.M + z * case.C + case.K) for z in points]
    coefficients = np.fft.fft(values) / (4 * n) / 5.0 ** np.arange(4 * n)
    roots = np.roots(coefficients[: 2 * n + 1].real[::-1])
    roots = roots[np.abs(roots) > 0.1]
    found = np.sort(np.abs(case.eigenvalues))
    np.testing.assert_allclose(found, np.sort(np.abs(roots)), rtol=1e-7)
    assert "2n − 2 = 6" in text(case)


@pytest.mark.slow
def test_the_equations_projected_on_the_rigid_motion_are_the_rigid_mechanism(
    zeros: xr.Dataset,
) -> None:
    """J, J'ω and ½J''ω² from closed-form velocities: K_G, K(ω²), K(ε) and transport at once."""
    for name in COEFFICIENTS:
        exact = zeros[f"{name}_exact"]
        assert float(abs(zeros[name] - exact).max() / abs(exact).max()) < 1e-8
    # The Fourier derivatives of J against differences of J itself.
    h, angle = 1e-3, np.array([0.7, 2.0, 4.4])
    slope = (effective_inertia(1500.0, angle + h) - effective_inertia(1500.0, angle - h)) / (2 * h)
    omega = 1500.0 * 2.0 * np.pi / 60.0
    np.testing.assert_allclose(closed_form(1500.0, angle, omega)[:, 1], slope * omega, rtol=1e-5)
    grid = 2.0 * np.pi * np.arange(64) / 64
    roots = rigid_pair(1500.0, grid)
    J, damping, stiffness = closed_form(1500.0, grid, omega).T
    np.testing.assert_allclose(roots.sum(axis=0).real, -damping / J, atol=1e-6)
    np.testing.assert_allclose(np.prod(roots, axis=0).real, stiffness / J, rtol=1e-9, atol=1e-4)


@pytest.mark.slow
def test_the_frozen_interval_is_no_longer_than_a_five_percent_change(zeros: xr.Dataset) -> None:
    """Against the eigenvalues later in the same turn, where nothing is mixed."""
    from studies.slider_crank import machine as slider_crank_model
    from studies.two_zeros.data import interval_over_turn

    found = interval_over_turn(600.0, 1, 97)
    seen = found["interval"].values[:, 0]
    mechanism = slider_crank_model.model(elements=8, speed_rpm=600.0)
    times = np.linspace(0.0, mechanism.period, 97)
    lam = modal.track(mechanism, times=times, k=1, progress=False)["eigenvalue"].values[:, 0]
    # Two turns of it, four values between two instants: the change is smooth.
    turns = np.concatenate([lam[:-1], lam])
    at = np.arange(len(turns)) / 96.0
    fine = np.linspace(0.0, 2.0, 4 * 192 + 1)
    path = np.interp(fine, at, turns.real) + 1j * np.interp(fine, at, turns.imag)
    assert (seen > 0.0).all()
    for n in range(0, 96, 5):
        change = path[4 * n :] - lam[n]
        over = (np.abs(change) > 0.05 * abs(lam[n])) | (
            np.abs(change.real) > max(0.05 * abs(lam[n].real), 1e-4 * abs(lam[n]))
        )
        true = fine[4 * n + int(np.argmax(over))] - fine[4 * n] if over.any() else np.inf
        assert seen[n] <= 1.05 * true + 0.5 / 96.0
        assert seen[n] >= 0.01 * min(true, 1.0)
    assert np.isfinite(zeros["interval"].values).any()


def test_what_the_motions_terms_do_to_the_pair(zeros: xr.Dataset) -> None:
    pair = zeros["pair"]
    size = abs(pair).max(("angle", "zero"))
    assert float(size.sel(variant="C, K")) < 1e-2
    softened = pair.sel(variant="with K(ω²)").values
    # Centrifugal softening alone: a divergence that does not exist.
    assert softened.real.max() > 50.0
    assert abs(pair.sel(variant="with all three").values.real).max() < 1.0
    assert_described(zeros, two_zeros.data.VARIABLES)


# wind-pump (paper 805)


@pytest.fixture(scope="module")
def pump() -> xr.Dataset:
    return wind_pump.main(instants=13)


def test_pump_kinematics_and_forces(pump: xr.Dataset) -> None:
    assert float(pump["difference_check"].max()) < 1e-9
    scale = float(abs(pump["joint_force"]).max())
    gap = abs(pump["joint_force"] - pump["joint_force_general"]).max()
    assert float(gap) < 1e-11 * scale
    for drive in ("motor_torque", "slide_force"):
        for route in ("general", "projected"):
            np.testing.assert_allclose(pump[f"{drive}_{route}"], pump[drive], atol=1e-11 * scale)


def test_pump_shows_the_operation_counts_of_table_1(pump: xr.Dataset) -> None:
    """All rows of the paper's table are 48 (n + 1), 20 (n + 1) and 2 n."""
    n = pump["lever_elements"].values
    rules = [48 * (n + 1), 20 * (n + 1), 2 * n]
    np.testing.assert_array_equal(pump["differentiations"].values, rules)
    np.testing.assert_allclose(pump["differentiations_by_rule"].values, rules)
    assert "48 (n + 1)" in wind_pump.report(pump)


def test_pump_loop_closes_and_power_balances() -> None:
    """Independent: the loop's vectors, and drive power = rate of kinetic and potential energy."""
    p, h = Pump(), 1e-5

    def energy(t: float) -> float:
        now = motion(p, t)
        v = now.A @ now.rate
        from studies.wind_pump.machine import masses

        weights = masses(p)
        lift = weights[[1, 4, 7]] @ now.centres[[1, 4, 7]]
        return float(0.5 * weights @ v**2 + 9.81 * lift)

    for t in (0.02, 0.11, 0.31):
        now = motion(p, t)
        beta, chi = now.angles
        ends = p.l1 * np.exp(1j * now.q[0]) + p.l2 * np.exp(1j * beta) + p.h * np.exp(1j * chi)
        assert abs(ends - (now.q[1] + 1j * p.e)) < 1e-14
        _, drives = joint_forces(p, t)
        power = drives @ now.rate
        assert power == pytest.approx((energy(t + h) - energy(t - h)) / (2.0 * h), rel=1e-6)


def test_pump_lever_frequencies_and_their_terms(pump: xr.Dataset) -> None:
    # Rotary inertia, shear and the swing's mass take less than half a percent off.
    resting = pump["frequency"].sel(variant="K alone").mean("time")
    np.testing.assert_allclose(resting, pump["pinned_frequency"], rtol=5e-3)
    assert np.all(resting.values < pump["pinned_frequency"].values)
    stress = pump["shift"].sel(term="K_G")
    by_hand = pump["shift_by_hand"]
    assert float(abs(stress - by_hand).max() / abs(stress).max()) < 5e-3
    others = abs(pump["shift"].drop_sel(term="K_G")).sum("term").max()
    assert float(abs(stress).max()) > 50.0 * float(others)
    # −ω² acts on a transverse mode through the mass that moves: δf = −f (ω_lever/ω)²/2 at most.
    spin = pump["angular_velocity"].sel(link="lever").values
    f = float(resting[0])
    expected = -f * 0.5 * (spin / (2.0 * np.pi * f)) ** 2
    shift = pump["shift"].sel(term="K(ω²)", mode=0).values
    np.testing.assert_allclose(shift, expected, atol=0.02 * np.abs(expected).max())
    assert_described(pump, wind_pump.data.VARIABLES)


def test_pump_that_cannot_turn_is_refused() -> None:
    with pytest.raises(MechanismError, match="does not close"):
        wind_pump.main(l2=0.2)


def test_pump_frozen_at_two_degrees_of_mobility() -> None:
    free = mechanism(Pump(), driven=False).freeze(0.05)
    assert free.rigid.shape[1] == 2


# measured-motion (paper 1401, example b)


@pytest.fixture(scope="module")
def measured() -> xr.Dataset:
    return measured_motion.main(instants=7, repeats=4, modes=1, response_turn=0.05)


def in_deviations(measured: xr.Dataset, name: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Error of a quantity, and what smoothing alone makes of it, over the standard deviation."""
    deviation = measured[f"{name}_deviation"]
    error = measured[f"{name}_fitted"] - measured[f"{name}_true"]
    return abs(error) / deviation, abs(measured[f"{name}_smoothing"]) / deviation


@pytest.mark.slow
def test_measured_motion_is_fitted_within_its_uncertainty(measured: xr.Dataset) -> None:
    ratio, smoothing = (
        xr.concat(parts, "quantity")
        for parts in zip(*(in_deviations(measured, name) for name in QUANTITIES), strict=True)
    )
    # 140 errors of unit deviation: the rms is near one, the largest below four.
    assert 0.6 < float(np.sqrt((ratio**2).mean())) < 1.5
    assert float(ratio.max()) < 4.5
    assert float(smoothing.max()) < 0.5
    np.testing.assert_allclose(measured["noise_found"], 1e-4, rtol=0.1)
    found = measured["marker_speed"].sel(marker=1, extreme="max")
    printed = measured["marker_speed_paper"].sel(marker=1, extreme="max")
    np.testing.assert_allclose(found, printed, rtol=1e-3)


@pytest.mark.slow
def test_noise_comes_through_to_the_frequency_in_proportion(measured: xr.Dataset) -> None:
    predicted = measured["swept_predicted"].values
    np.testing.assert_allclose(predicted[1:] / predicted[:-1], 10.0, rtol=0.15)
    assert np.all(measured["swept_error"].values < 3.0 * predicted)
    error = abs(measured["frequency_fitted"] - measured["frequency_true"])
    assert float((error / measured["frequency_deviation"]).max()) < 4.5


@pytest.mark.slow
def test_both_formalisms_along_a_fitted_motion(measured: xr.Dataset) -> None:
    moved = measured["deflection"]
    size = float(abs(moved).max())
    apart = abs(moved.sel(run="Lagrange") - moved.sel(run="Hamilton")).max()
    assert float(apart) < 1e-8 * size
    assert float(measured["energy_balance"].max()) < 1e-5
    assert_described(measured, measured_motion.data.VARIABLES)


# The command line, the animation and the report


@pytest.mark.slow
def test_a_run_leaves_one_page_that_needs_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pump"
    assert command_line(["run", "wind-pump", "--set", "instants=9", "--out", str(out)]) == 0
    assert "general mechanism" in capsys.readouterr().out
    page = (out / "report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert page.count("data:image/gif;base64,") == 1
    assert not re.search(r'(src|href)="(?!data:)', page)
    written = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<td>instants</td><td>9</td>" in page and "$" not in written
    assert page.count('id="fm-views"') == 1 and len(page) < 8_000_000
    with Image.open(out / "wind-pump.gif") as picture:
        assert picture.n_frames > 20
    assert (out / "wind-pump.gif").stat().st_size < 400_000
    assert modal.read_dataset(out / "wind-pump.nc").sizes["time"] == 9


def test_a_report_escapes_what_it_is_given(tmp_path: Path) -> None:
    from studies.cli import html_report
    from studies.registry import study

    out = OutputFolder(tmp_path / "out", "rotating-bar")
    out.write_text("note.txt", "a < b & c")
    html_report.write(out, study("rotating-bar"), {"force": 2.0}, xr.Dataset(), "x < y")
    page = (out.path / "report.html").read_text("utf-8")
    assert "x &lt; y" in page and "a &lt; b &amp; c" in page
    assert "frozen-motion run rotating-bar --set force=2.0" in page


@pytest.mark.parametrize(
    ("study", "settings"),
    [
        (rotating_bar, {"elements": 1}),
        (two_zeros, {"instants": 2}),
        (wind_pump, {"speed_rpm": -1.0}),
        (measured_motion, {"noise": 0.0}),
    ],
)
def test_settings_that_cannot_be_are_refused(study: object, settings: dict[str, float]) -> None:
    with pytest.raises(InputError):
        study.main(**settings)  # type: ignore[attr-defined]
