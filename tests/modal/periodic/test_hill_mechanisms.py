"""Hill charts of mechanisms on shared shapes: known tongues, and full Floquet analyses."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assembly
from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism import Mechanism
from modal import floquet, solve
from modal.maps.grid import Grid
from modal.periodic import chart_panel
from modal.periodic.chart_method import ChartMethod, with_bases
from modal.periodic.chart_motion import ChartMotion, lasting_speed
from modal.periodic.chart_panel import Panel
from modal.periodic.collocation import Multipliers, refinements
from modal.periodic.hill import hill_chart
from modal.periodic.slow_motion import slow_motion
from modal.proofs.judge import COUNT, Verdict
from modal.reduction.interpolation import ParameterPolynomial
from modal.transient.integrators.tableau import Tableau
from modal.types import Array
from studies.slider_crank.machine import model
from tests.support.floquet_cases import mathieu_tongues
from tests.support.full_growth import full_growth
from tests.support.shaken_pendulum import RATE, pendulum

UNDECIDED, STABLE, DIVERGENCE, FLUTTER = -1, 0, 1, 2


@pytest.mark.slow
def test_shaken_pendulum_has_the_tongues_of_mathieu() -> None:
    a, q = np.linspace(0.3, 4.6, 14), np.array([0.2, 0.9, 1.4])
    chart = hill_chart(pendulum, 2.0 * np.pi / RATE, a=a, q=q)
    assert set(chart.source.values.ravel()) == {"reduced"}
    for j, strength in enumerate(q):
        odd, even = mathieu_tongues(a, strength)
        due = np.where(odd, FLUTTER, np.where(even, DIVERGENCE, STABLE))
        # The slow exponents alone prove nothing of the others: stable or undecided (−1).
        np.testing.assert_array_equal(np.maximum(chart.verdict.values[:, j], STABLE), due)
        np.testing.assert_allclose(
            chart.critical_frequency.values[odd, j], 0.5 * RATE / (2 * np.pi)
        )


def slider_crank(speed_rpm: float, damping: float) -> Mechanism:
    return model(
        speed_rpm=speed_rpm, elements=4, elastic_crank=False, rayleigh=(0.0, 1e-6 * damping)
    )


def turning(speed_rpm: float, damping: float) -> float:
    return 60.0 / speed_rpm


def worst_ratio(chart: Any, family: Any, points: list[tuple[int, int]]) -> float:
    """Largest difference of growth rates from the full monodromy, by the stated bounds."""
    ratios = []
    for i, j in points:
        place = {name: float(chart[name][n]) for name, n in zip(chart.dims, (i, j), strict=True)}
        full = full_growth(family(**place), turning(**place), 1200)
        difference = abs(float(chart.growth_rate[i, j]) - full)
        ratios.append(difference / float(chart.error_bound[i, j]))
    return max(ratios)


@pytest.mark.slow
def test_speed_by_damping_agrees_with_full_floquet_within_the_bounds() -> None:
    speeds, dampings = np.linspace(1500.0, 9000.0, 6), np.linspace(0.2, 3.0, 4)
    chart = hill_chart(slider_crank, turning, k=2, speed_rpm=speeds, damping=dampings)
    assert set(chart.source.values.ravel()) == {"reduced"}
    assert float(chart.error_bound.max()) < 0.5
    assert worst_ratio(chart, slider_crank, [(0, 1), (3, 0), (5, 3)]) <= 1.0


def test_shapes_are_not_shared_where_no_exponent_measures_their_error() -> None:
    """All modes decay by e^-1000 over a period: the points are analysed in full."""
    axes = dict(speed_rpm=np.linspace(50.0, 70.0, 3), damping=np.linspace(900.0, 1100.0, 3))
    method = ChartMethod(Grid(elastic, axes, {}), turning, 2, (), 1)
    assert method.prepare() == {} and not method.panels


@pytest.mark.slow
def test_crank_ratio_agrees_with_full_floquet_within_the_bounds() -> None:
    def family(crank: float, slider: float) -> Mechanism:
        return model(
            crank=crank, slider_mass=slider, speed_rpm=4000.0, elements=4, elastic_crank=False,
            rayleigh=(2.0, 1e-6),
        )  # fmt: skip

    cranks, masses = np.linspace(0.1, 0.11, 5), np.linspace(0.2, 1.5, 4)
    chart = hill_chart(family, 0.015, k=2, crank=cranks, slider=masses)
    assert set(chart.source.values.ravel()) == {"reduced"}
    for i, j in [(0, 3), (3, 1)]:
        point = dict(crank=float(cranks[i]), slider=float(masses[j]))
        difference = abs(float(chart.growth_rate[i, j]) - full_growth(family(**point), 0.015, 600))
        assert difference <= float(chart.error_bound[i, j])


def elastic(speed_rpm: float, damping: float) -> Mechanism:
    return model(speed_rpm=speed_rpm, elements=3, rayleigh=(0.0, 1e-6 * damping))


@pytest.mark.slow
def test_panels_with_fast_shapes_eliminated_agree_with_all_shapes() -> None:
    speeds, dampings = np.linspace(300.0, 1200.0, 4), np.linspace(0.5, 4.0, 4)
    grid = Grid(elastic, dict(speed_rpm=speeds, damping=dampings), {})
    shared = ChartMethod(grid, turning, 2, (), 1)
    arrays = shared.prepare()
    assert min(len(panel.frequencies) for panel in shared.panels) <= 6
    again = ChartMethod(grid, turning, 2, (), 1)
    again.restore(arrays)
    tile = (slice(1, 2), slice(0, 4))
    mine, restored = shared.tile(tile), again.tile(tile)
    np.testing.assert_array_equal(mine["growth_rate"], restored["growth_rate"])
    point = dict(speed_rpm=float(speeds[1]), damping=float(dampings[2]))
    full = full_growth(elastic(**point), turning(**point), 1600)
    assert abs(mine["growth_rate"][2] - full) <= mine["error_bound"][2]


def test_slow_motion_of_constant_matrices_has_their_slow_eigenvalues() -> None:
    rng = np.random.default_rng(5)
    fast = np.diag([0.0, 0.0, 40.0, 60.0])
    A = np.zeros((8, 8))
    stiffness = np.diag([1.0, 4.0, 1600.0, 3600.0]) + rng.normal(size=(4, 4))
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    A[:4, 4:], A[4:, :4], A[4:, 4:] = np.eye(4), -stiffness, -0.01 * fast
    found = slow_motion(np.repeat(A[order][:, order][None], 8, axis=0), 4, 1.0, 3)
    assert found is not None
    due = np.linalg.eigvals(A)
    due = np.sort_complex(due[np.argsort(np.abs(due))[:4]])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(found.B[0])), due, atol=1e-9)


@pytest.mark.parametrize(("parts", "made"), [(32, False), (256, True)])
def test_panels_are_made_of_slow_motions_that_their_parts_resolve(parts: int, made: bool) -> None:
    """The fast shape follows a coupling of 7 waves a period: the slow motion has 14 and more."""
    period, frequencies = 2.0 * np.pi, np.array([1.0, 40.0])
    coupling = 300.0 * np.cos(7.0 * np.arange(parts) * period / parts)
    motion = ChartMotion(np.eye(2), frequencies, parts)

    def accelerations(point: Array) -> Array:
        H = np.zeros((parts, 2, 4))
        H[:, [0, 1], [0, 1]] = -frequencies
        H[:, 0, 1], H[:, 1, 0] = coupling / 40.0, coupling * (1.0 + 0.01 * point[0])
        return H

    box = np.array([0.0]), np.array([1.0])
    panel = chart_panel.panel_of(motion, accelerations, lambda _: period, box, 1, 1.0, 15, False)
    assert (panel is not None) == made


@dataclass(frozen=True)
class Beats:
    """Two coupled masses, one on a spring that is modulated once in 2π s."""

    a: float
    q: float

    def freeze(self, t: float) -> assembly.FrozenSystem:
        K = np.array([[self.a + self.q * np.cos(t), 0.2], [0.2, 2.0]])
        return assembly.FrozenSystem(M=np.eye(2), D=0.05 * np.eye(2), K=K)


@pytest.mark.slow
def test_unfinished_chart_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes: dict[str, Any] = dict(a=np.linspace(0.3, 4.6, 4), q=np.linspace(0.2, 1.4, 4))
    whole = hill_chart(Beats, 2.0 * np.pi, **axes)
    assert set(whole.source.values.ravel()) == {"reduced"}
    computed = []
    multipliers = Panel.multipliers

    def counted(self: Panel, point: Any, *options: Any) -> Any:
        computed.append(tuple(point))
        if len({p for p in computed}) > 9:
            raise KeyboardInterrupt
        return multipliers(self, point, *options)

    store = tmp_path / "chart.zarr"
    monkeypatch.setattr(Panel, "multipliers", counted)
    with pytest.raises(KeyboardInterrupt):
        hill_chart(Beats, 2.0 * np.pi, store=store, **axes)
    computed.clear()
    again = hill_chart(Beats, 2.0 * np.pi, store=store, resume=True, **axes)
    assert 0 < len(set(computed)) <= 8
    np.testing.assert_array_equal(again.growth_rate, whole.growth_rate)
    np.testing.assert_array_equal(again.verdict, whole.verdict)


def damped_rod(elements: int) -> assembly.Body:
    section = assembly.rectangle(0.01, 0.02)
    rod = assembly.beam(0.30, section, assembly.steel, elements, planar=True)
    return rod.with_damping(b=3e-6)


def buffered(rod: assembly.Body, speed_rpm: float, mass: float) -> Mechanism:
    """A slider-crank with a rigid crank, whose slider works against a buffer."""
    return Mechanism(
        {
            "crank": assembly.rigid_body(0.5, 1e-3, planar=True),
            "rod": rod,
            "slider": assembly.rigid_body(mass, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
            assembly.revolute("crank", (0.1, 0), "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", speed_rpm * np.pi / 30.0)],
        bushings=[
            assembly.bushing(
                "ground", (0.4, 0), "slider", (0, 0), stiffness=(2e4, 0, 0), name="buffer"
            )
        ],
        initial={"rod": (0.1, 0, 0), "slider": (0.4, 0, 0)},
    )


@pytest.mark.slow
def test_a_chart_of_large_links_is_on_their_bases() -> None:
    """A rod of 68 elements: within the bounds of `floquet` of it, and near all DOFs of six."""
    fine, coarse = damped_rod(68), damped_rod(6)
    speeds, masses = np.linspace(4000.0, 6000.0, 3), np.linspace(0.2, 0.4, 3)
    chart = hill_chart(
        lambda speed_rpm, mass: buffered(fine, speed_rpm, mass),
        lambda speed_rpm, mass: 60.0 / speed_rpm,
        k=2, speed_rpm=speeds, mass=masses,
    )  # fmt: skip
    assert set(chart.source.values.ravel()) == {"reduced"}
    assert float(chart.error_bound.max()) < 0.01 * abs(float(chart.growth_rate.mean()))
    for i, j in [(0, 2), (2, 1)]:
        period, place = 60.0 / speeds[i], (float(speeds[i]), float(masses[j]))
        growth, bound = float(chart.growth_rate[i, j]), float(chart.error_bound[i, j])
        found = floquet(buffered(fine, *place), period, k=2)
        assert abs(growth - found.growth_rate.max()) <= bound + found.error[0]
        full = full_growth(buffered(coarse, *place), period, 200)
        assert growth == pytest.approx(full, rel=1e-3)


@pytest.mark.slow
def test_bases_of_links_hold_the_modes_of_every_motion_of_a_chart() -> None:
    """Grown at two corners, at a speed and an instant between: the full mechanism's eigenvalues."""
    fine = damped_rod(68)

    def motions(point: Any) -> tuple[Mechanism, float]:
        return buffered(fine, point["speed_rpm"], point["mass"]), 60.0 / point["speed_rpm"]

    corners = [dict(speed_rpm=3000.0, mass=0.2), dict(speed_rpm=6000.0, mass=0.4)]
    between = dict(speed_rpm=4300.0, mass=0.3)
    reduced, period = with_bases(motions, corners, 2)(between)
    full, _ = motions(between)
    assert period == 60.0 / 4300.0 and reduced.freeze(0.0).n < full.freeze(0.0).n // 3
    for t in (0.13 * period, 0.71 * period):
        exact = solve(full.freeze(t), k=2).eigenvalues
        np.testing.assert_allclose(solve(reduced.freeze(t), k=2).eigenvalues, exact, rtol=1e-7)
    small, _ = with_bases(lambda point: (buffered(damped_rod(4), 3000.0, 0.3), 0.02), [{}], 2)({})
    assert isinstance(small, Mechanism)  # nothing to reduce


def test_a_chart_whose_points_have_links_of_their_own_is_not_on_one_basis() -> None:
    def motions(point: Any) -> tuple[Mechanism, float]:
        return buffered(damped_rod(68), point["speed_rpm"], 0.3), 60.0 / point["speed_rpm"]

    points = [dict(speed_rpm=3000.0), dict(speed_rpm=4000.0)]
    with pytest.raises(AccuracyError, match="other links"):
        with_bases(motions, points, 2)


def test_modes_that_the_steps_do_not_resolve_are_not_known() -> None:
    """Their multipliers are those of other frequencies, and next to others by chance."""
    frequencies, period = np.array([0.3, 40.2]), 2.0 * np.pi

    def half(phases: Array) -> Array:
        wave = 0.1 * np.cos(2.0 * np.pi * phases)
        H = np.zeros((len(phases), 2, 4))
        H[:, 0, 0], H[:, 1, 1] = -frequencies
        H[:, 0, 1], H[:, 1, 0] = wave[:, None].T * frequencies[:, None]
        return H

    for steps, resolved in ((32, 2), (400, 4)):
        found = next(refinements(half, frequencies, period, steps))
        assert int(np.isfinite(found.errors).sum()) == resolved
        assert np.allclose(np.sort(found.speeds), np.repeat(frequencies, 2), rtol=0.02)
        known = found.logs[np.isfinite(found.errors)]
        assert np.abs(known.real).max() <= 1e-9


def test_steps_of_a_slow_mode_damp_what_is_overdamped() -> None:
    """Gauss steps alias it to about unity, so that round-off hides a slow mode that decays."""
    frequencies, period, damping = np.array([1.0, 1e4]), 2.0 * np.pi, 6.0

    def half(phases: Array) -> Array:
        rows = np.hstack([-np.diag(frequencies), -np.diag([damping, 1e5])])
        return np.repeat(rows[None], len(phases), axis=0)

    slow = -0.5 * damping + np.sqrt(0.25 * damping**2 - 1.0)
    found = next(refinements(half, frequencies, period, 20, Tableau(5, radau=True)))
    known = np.isfinite(found.errors)
    error = np.abs(found.logs[known] - slow * period)
    assert known.sum() == 1 and np.all(error <= found.errors[known])
    assert found.errors[known] < 1e-6
    # Of fast modes that the steps damp nothing is known.
    assert found.complete_to <= 2.5 * 20 / period
    aliased = next(refinements(half, frequencies, period, 20))
    assert aliased.logs.real.max() > 0.5 * slow * period


def test_modes_that_are_lost_to_round_off_in_a_period_need_no_steps() -> None:
    """Twice over, beside the slowest, at every instant: −2 log ε = 72."""
    first, later = [-1.0 + 10.0j, -70.0 + 0.0j, -74.0 + 0.0j], [-9.0 + 5.0j, -8.0, -200.0]
    values = np.array([first, later])
    assert lasting_speed(values, 1.0) == 70.0
    assert lasting_speed(values, 0.98) == 74.0
    assert lasting_speed(values, 0.0) == 200.0


@pytest.mark.slow
def test_a_point_of_a_chart_does_not_depend_on_the_points_before() -> None:
    """So that a chart whose points have bases of their own is continued bit by bit."""

    def chart(rod: assembly.Body) -> ChartMethod:
        grid = Grid(lambda speed_rpm: buffered(rod, speed_rpm, 0.2), {}, {})
        return ChartMethod(grid, lambda speed_rpm: 60.0 / speed_rpm, 2, (), 1)

    alone = chart(damped_rod(70)).verdict({"speed_rpm": 300.0})
    after = chart(damped_rod(70))
    after.verdict({"speed_rpm": 6000.0})
    assert after.verdict({"speed_rpm": 300.0}) == alone


def test_slow_coordinates_of_very_many_steps_decouple(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two coordinates, one of 4e5 rad a period: no steps are made of the fast one."""
    frequencies, period = np.array([3.0, 4e5]), 1.0
    waves = np.cos(2.0 * np.pi * np.arange(32) / 32)[:, None, None]
    H = np.hstack([-np.diag(frequencies), -0.2 * np.eye(2)])[None] * (1.0 + 0.01 * waves)
    constant = ParameterPolynomial(np.zeros(2), np.zeros(2), (0, 0), H[None])
    monkeypatch.setattr(chart_panel, "refinements", None)
    found = next(Panel(constant, frequencies, 4e5).multipliers(np.zeros(2), period))
    np.testing.assert_allclose(found.logs.real, -0.1, atol=1e-4)
    assert found.errors.max() < 1e-5 and np.isinf(found.complete_to)


def test_steps_end_where_only_round_off_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mode 2 is lost beside mode 1, which the steps do not damp: more steps only add round-off."""
    made = list[int]()

    def of_steps(self: Panel, *_: Any) -> Iterator[Multipliers]:
        logs, one = np.array([-40.0, -41.0], dtype=complex), np.ones(2)
        for number in range(9):
            made.append(number)
            yield Multipliers(logs, 50.0 * 2.0**number * one, one, np.eye(2), one, np.inf)

    monkeypatch.setattr(Panel, "multipliers", of_steps)
    method, panel = a_panel()
    verdict = method._from_panel(np.zeros(2), panel)
    assert verdict is not None and verdict.verdict == UNDECIDED and len(made) == 2


def test_points_of_too_many_steps_have_an_analysis_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No multipliers of a whole panel whose modes do not decouple; before, all steps allowed."""
    monkeypatch.setattr(chart_panel, "decoupled_modes", lambda *_: None)
    method, panel = a_panel(fastest=1e9)
    assert next(panel.multipliers(np.zeros(2), 1.0), None) is None
    assert method._from_panel(np.zeros(2), panel) is None
    own = Verdict(-1.0, 0.0, 0.0, 0, STABLE, COUNT, 1.0)
    monkeypatch.setattr(ChartMethod, "verdict", lambda *_: own)
    method.panels = [panel]
    columns = method.tile((slice(0, 1), slice(0, 1)))
    assert columns["source"].tolist() == [1] and columns["growth_rate"].tolist() == [-1.0]


def a_panel(fastest: float = 3.0) -> tuple[ChartMethod, Panel]:
    """A whole panel of two coordinates, and the method of a chart of one point."""
    frequencies = np.array([3.0, 1e3])
    H = np.repeat(np.hstack([-np.diag(frequencies), -0.2 * np.eye(2)])[None], 32, axis=0)
    constant = ParameterPolynomial(np.zeros(2), np.zeros(2), (0, 0), H[None])
    grid = Grid(lambda a, b: None, dict(a=np.zeros(1), b=np.zeros(1)), {})
    return ChartMethod(grid, 1.0, 2, (), 1), Panel(constant, frequencies, fastest, whole=True)
