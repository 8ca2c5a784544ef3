"""Events and rates are those of the motion: 7 instants and 100 tell the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import brentq

import assembly
import modal
from assembly import FrozenSystem
from studies import slider_crank
from studies.model_files.loading import load_model
from tests.support.families import lapack, random_family
from tests.support.paths import ROOT

J = np.array([[0.0, -1.0], [1.0, 0.0]])
MANUAL = ROOT / "docs" / "commands.md"


@dataclass(frozen=True)
class Model:
    """Any function of one parameter as a model."""

    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


@pytest.fixture(scope="module")
def manual_slider_crank(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The slider-crank of the manual's page on the command line, without its damped buffer."""
    blocks = re.findall(r"```toml\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.S)
    path = tmp_path_factory.mktemp("model") / "crank.toml"
    text = next(text for text in blocks if "[driver.motor]" in text)
    undamped = re.sub(r"\[bushing\.buffer\].*?\n\n", "", text, flags=re.S)
    assert "damping" not in undamped
    path.write_text(undamped, encoding="utf-8")
    return load_model(path).motion


def listed(tracks: xr.Dataset) -> list[tuple[str, tuple[int, ...], float]]:
    """Every event: what, of which modes, where."""
    found = modal.events(tracks)
    columns = (found[name].values for name in ("event", "event_mode", "partner", "event_at"))
    return [
        (str(e), tuple(sorted((int(m), int(p)))), float(x))
        for e, m, p, x in zip(*columns, strict=True)
    ]


def assert_same(found: list[Any], expected: list[Any], span: float) -> None:
    """The same events of the same modes, located to 2e-4 of the sweep."""
    assert sorted(e[:2] for e in found) == sorted(e[:2] for e in expected)
    for one, other in zip(sorted(found), sorted(expected), strict=True):
        assert one[2] == pytest.approx(other[2], abs=2e-4 * span)


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 200])
def test_undamped_slider_crank_of_the_manual(manual_slider_crank: Any, count: int) -> None:
    """Nothing is damped, so nothing grows: every change of energy is breathing."""
    times = np.linspace(0.0, 0.04, count)
    tracks = modal.track(manual_slider_crank, times=times, k=6, progress=False)
    assert set(tracks["event"].values.ravel().tolist()) == {"none"}
    assert listed(tracks) == []
    size = np.abs(tracks["eigenvalue"].values)
    assert np.nanmax(np.abs(tracks["growth_rate_action"].values) / size) < 1e-9
    assert np.nanmax(np.abs(tracks["growth_rate"].values)) > 5.0  # Re λ breathes all the same


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 81])
def test_undamped_slider_crank_of_two_elements_a_link(count: int) -> None:
    """Modes 4 and 5 veer four times a turn, as 400 instants show; nothing flutters."""
    model = slider_crank.model(elements=2)
    tracks = modal.track(model, times=np.linspace(0.0, 0.04, count), k=6, progress=False)
    assert "flutter onset" not in tracks["event"].values
    places = [0.002378, 0.013074, 0.026926, 0.037622]
    assert_same(listed(tracks), [("veering", (3, 4), t) for t in places], 0.04)
    size = np.abs(tracks["eigenvalue"].values)
    assert np.nanmax(np.abs(tracks["growth_rate_action"].values) / size) < 1e-9


@pytest.mark.slow
def test_rates_of_an_instant_do_not_depend_on_the_sampling() -> None:
    """σ and the coupling at the instants that three samplings share."""
    model = slider_crank.model(elements=2)
    few, some, many = (
        modal.track(model, times=np.linspace(0.0, 0.04, n), k=6, progress=False)
        for n in (9, 17, 65)
    )
    for name in ("growth_rate_corrected", "coupling"):
        expected = many[name].values[::8]
        np.testing.assert_allclose(few[name].values, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(some[name].values[::2], expected, rtol=1e-5, atol=1e-6)
    # The interval also looks along the track, a cubic between the instants: it converges with them.
    more = modal.track(model, times=np.linspace(0.0, 0.04, 129), k=6, progress=False)
    interval = many["frozen_interval"].values
    np.testing.assert_allclose(interval, more["frozen_interval"].values[::2], rtol=2e-3)
    assert np.all(few["frozen_interval"].values <= 1.2 * interval[::8])


def spinning_up(t: float) -> FrozenSystem:
    """A shaft with internal and external damping and its Euler term, Ω = 0.5 + 0.02 t."""
    s = 0.5 + 0.02 * t
    return FrozenSystem(
        M=np.eye(2),
        C=2.0 * s * J,
        D=0.04 * np.eye(2),
        K=np.eye(2),
        K_omega2=-s * s * np.eye(2),
        K_epsilon=0.02 * J,
        K_D=0.02 * s * J,
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 100])
def test_flutter_of_a_rotor_that_spins_up(count: int) -> None:
    """Onset at Ω = ω(1 + c_e/c_i) = 2, so t = 75 (A5 of the references), though Re λ is negative
    there: the Euler term only moves energy."""
    tracks = modal.track(Model(spinning_up), times=np.linspace(30.3, 130.0, count), k=2)
    ((event, _, place),) = [e for e in listed(tracks) if e[0] != "crossing"]
    assert event == "flutter onset"
    assert place == pytest.approx(75.0, abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 100])
def test_undamped_rotor_that_spins_up_and_down(count: int) -> None:
    """Two stiffnesses across, below the unstable speeds: no event, no growth of the action."""

    def freeze(t: float) -> FrozenSystem:
        s, rate = 0.8 + 0.5 * np.sin(0.2 * t), 0.1 * np.cos(0.2 * t)
        K = np.diag([4.0, 9.0]) - s * s * np.eye(2) + rate * J
        return FrozenSystem(M=np.eye(2), C=2.0 * s * J, K=K)

    tracks = modal.track(Model(freeze), times=np.linspace(0.0, 31.4, count), k=2)
    assert listed(tracks) == []
    assert np.abs(tracks["growth_rate_action"].values).max() < 1e-9


@pytest.mark.parametrize("count", [7, 120])
def test_crossing_of_forward_and_backward_whirl(count: int) -> None:
    """√(100² + g²) + g meets √(200² + g²) − g, g = Ω/10: the root by bisection."""
    K = np.kron(np.diag([1e4, 4e4]), np.eye(2))
    model = Model(lambda s: FrozenSystem(M=np.eye(4), C=0.2 * s * np.kron(np.eye(2), J), K=K))
    tracks = modal.track(model, s=np.linspace(1.0, 700.0, count), k=4)

    def apart(s: float) -> float:
        return float(0.2 * s + np.sqrt(1e4 + 0.01 * s**2) - np.sqrt(4e4 + 0.01 * s**2))

    ((event, _, place),) = listed(tracks)
    assert event == "crossing"
    assert place == pytest.approx(brentq(apart, 1.0, 700.0), abs=7e-3)


def test_two_crossings_inside_one_step() -> None:
    """Frequencies 100 and 100 + 5(s² − 0.04): the order is the same at both ends of the step."""
    model = Model(
        lambda s: FrozenSystem(M=np.eye(2), K=np.diag([1e4, (100.0 + 5.0 * (s**2 - 0.04)) ** 2]))
    )
    for count in (4, 41):
        found = listed(modal.track(model, s=np.linspace(-1.0, 1.1, count), k=2))
        assert_same(found, [("crossing", (0, 1), -0.2), ("crossing", (0, 1), 0.2)], 0.1)


def test_crossings_of_curved_frequencies_are_placed() -> None:
    """100 + 20 sin 6s meets 105 − 3s: the roots by bisection, to 2e-5 of the sweep."""

    def rising(s: float) -> float:
        return 100.0 + 20.0 * np.sin(6.0 * s)

    def freeze(s: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(2), K=np.diag([rising(s) ** 2, (105.0 - 3.0 * s) ** 2]))

    fine = np.linspace(0.0, 2.0, 400)
    apart = [rising(s) - 105.0 + 3.0 * s for s in fine]
    roots = [
        brentq(lambda s: rising(s) - 105.0 + 3.0 * s, fine[n], fine[n + 1])
        for n in np.flatnonzero(np.diff(np.sign(apart)))
    ]
    for count in (9, 30):
        found = listed(modal.track(Model(freeze), s=np.linspace(0.0, 2.0, count), k=2))
        assert [e[0] for e in found] == ["crossing"] * len(roots)
        np.testing.assert_allclose([e[2] for e in found], roots, atol=4e-5)


@pytest.mark.parametrize("count", [4, 5, 60])
def test_growth_that_begins_and_ends_inside_one_step(count: int) -> None:
    """One oscillator with Re λ = 0.005 − 0.405 s² + 0.81 s⁴, its four zeros in closed form."""

    def freeze(s: float) -> FrozenSystem:
        growth = 0.005 - 0.405 * s**2 + 0.81 * s**4
        return FrozenSystem(M=np.eye(1), D=[[-2.0 * growth]], K=[[100.0]])

    inner, outer = np.sqrt((0.405 + np.array([-1.0, 1.0]) * np.sqrt(0.405**2 - 0.0162)) / 1.62)
    tracks = modal.track(Model(freeze), s=np.linspace(-0.9, 1.1, count), k=1)
    alone = [(-1, 0)] * 4
    names = ["split", "flutter onset", "split", "flutter onset"]
    expected = list(zip(names, alone, [-outer, -inner, inner, outer], strict=True))
    assert_same(listed(tracks), expected, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 1e-3, 3e-2])
@pytest.mark.parametrize("seed", range(4))
def test_families_of_oscillators(gap: float, seed: int) -> None:
    """Crossings and one veering of each family, whatever the sampling."""
    family = random_family(np.random.default_rng(seed), gap)
    found = []
    for count in (7, 24, 90):
        s = np.linspace(0.0, 1.0, count)
        tracks = modal.track(family, s=s, k=len(family.start), solver=lapack)
        found.append(listed(tracks))
    for few in found[:2]:
        assert_same(few, found[2], 1.0)


def ziegler(damping: float, p: float) -> FrozenSystem:
    """Double pendulum under a follower load (Ziegler 1952)."""
    return FrozenSystem(
        M=[[3.0, 1.0], [1.0, 1.0]],
        D=damping * np.array([[2.0, -1.0], [-1.0, 1.0]]),
        K=[[2.0 - p, p - 1.0], [-1.0, 1.0]],
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 100])
@pytest.mark.parametrize("up", [True, False])
def test_flutter_and_divergence_of_the_damped_column(count: int, up: bool) -> None:
    """Onset from the roots of det(Mλ² + Dλ + K), multiplied out by hand."""
    c = 0.05

    def roots(p: float) -> np.ndarray:
        one, two = [3.0, 2.0 * c, 2.0 - p], [1.0, c, 1.0]
        three, four = [1.0, -c, p - 1.0], [1.0, -c, -1.0]
        return np.roots(np.polysub(np.polymul(one, two), np.polymul(three, four)))

    def oscillates(p: float) -> float:
        """Above zero while the growing pair is complex."""
        worst = roots(p)[np.argsort(-roots(p).real)[:2]]
        return float(((worst[0] - worst[1]) ** 2).real)

    begins = brentq(lambda p: roots(p).real.max(), 0.5, 2.0)
    diverges = brentq(lambda p: -oscillates(p), 4.0, 6.0)
    load = np.linspace(0.0, 6.0, count)[:: 1 if up else -1].copy()
    tracks = modal.track(Model(lambda p: ziegler(c, p)), s=load, k=2)
    where = {event: place for event, _, place in listed(tracks)}
    if up:
        assert where["flutter onset"] == pytest.approx(begins, abs=1e-4)
        assert where["divergence onset"] == pytest.approx(diverges, abs=1e-4)
    else:
        assert where["split"] == pytest.approx(begins, abs=1e-4)
        assert where["flutter onset"] == pytest.approx(diverges, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 100])
def test_campbell_diagram_of_a_blade(count: int) -> None:
    """The reduced basis: crossings of flap and chord bending where 400 speeds have them."""
    blade = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=8,
        clamped="start", theory="euler-bernoulli",
    )  # fmt: skip
    expected, tracks = (
        modal.track(blade, omega=np.linspace(0.0, 400.0, n), axis=(0, 0, 1), k=5)
        for n in (400, count)
    )
    assert_same(listed(tracks), listed(expected), 400.0)
    assert len(listed(expected)) >= 1


@pytest.mark.slow
def test_events_that_cannot_be_told_are_called_unresolved() -> None:
    """No extra instants allowed, steps as wide as the events: nothing is guessed."""
    model = slider_crank.model(elements=2)
    rules = modal.Rules(extra=0)
    tracks = modal.track(model, times=np.linspace(0.0, 0.04, 7), k=6, rules=rules)
    assert "unresolved" in tracks["event"].values
    assert "flutter onset" not in tracks["event"].values
