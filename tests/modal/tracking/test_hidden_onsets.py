"""Onsets inside one step, beside other growing modes, and of modes that no track follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.linalg as la
import xarray as xr

import modal
from assembly import FrozenSystem


@dataclass(frozen=True)
class Model:
    """Any function of one parameter as a model."""

    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


def listed(tracks: xr.Dataset, *kinds: str) -> list[tuple[str, float]]:
    """Kind and place of the events of some kinds, each once."""
    found = modal.events(tracks)
    pairs = zip(found["event"].values, found["event_at"].values, strict=True)
    return [(str(kind), float(at)) for kind, at in pairs if kind in kinds]


MASSES = 30
LAPLACE = 2.0 * np.eye(MASSES) - np.eye(MASSES, k=1) - np.eye(MASSES, k=-1)
CROSSED = np.zeros((MASSES, MASSES))
CROSSED[10, 11], CROSSED[11, 10] = 1.0, -1.0


def unstable_masses(p: float) -> int:
    """Of the chain below, by LAPACK on its state matrix."""
    lower = -np.hstack([1e4 * LAPLACE + p * CROSSED, 0.05 * LAPLACE])
    values = la.eigvals(np.vstack([np.eye(MASSES, 2 * MASSES, MASSES), lower]))
    return int(((values.real > 1e-6) & (values.imag > 0.0)).sum())


@pytest.mark.parametrize(
    "count", [41, *(pytest.param(n, marks=pytest.mark.slow) for n in (21, 81, 101))]
)
def test_crossings_beside_growth_are_no_onsets(count: int) -> None:
    """Seven modes of a chain with one circulatory pair flutter, from 9,915 to 11,128 on; above,
    frequencies of growing and decaying modes cross again and again."""
    model = Model(
        lambda p: FrozenSystem(M=np.eye(MASSES), D=0.05 * LAPLACE, K=1e4 * LAPLACE, K_D=p * CROSSED)
    )
    tracks = modal.track(model, s=np.linspace(0.0, 2e4, count), k=MASSES, progress=False)
    onsets = listed(tracks, "flutter onset", "divergence onset", "split")
    assert [kind for kind, _ in onsets] == ["flutter onset"] * 7
    for n, (_, place) in enumerate(onsets):  # 0.2 is Rules.location of the sweep
        assert (unstable_masses(place - 0.4), unstable_masses(place + 0.4)) == (n, n + 1)
    assert unstable_masses(2e4) == 7
    s = tracks["s"].values
    for suffix in ("", "_2", "_3"):
        if "event" + suffix in tracks:
            for n, r in np.argwhere(tracks["event" + suffix].values != "none"):
                assert s[n - 1] <= tracks["event_at" + suffix].values[n, r] <= s[n]


@pytest.mark.parametrize("count", [4, 11, 60])
@pytest.mark.parametrize("damping", [0.0, 1e-3])
def test_a_lock_in_narrower_than_a_step(count: int, damping: float) -> None:
    """ẍ + (100 ± 5(s − 0.437)) x with ± 0.02 across: λ² + dλ + κ = 0 with κ = 100 ± i 5√(0.004² −
    x²), x = s − 0.437, grows where Im κ > d √(Re κ)."""

    def freeze(s: float) -> FrozenSystem:
        x = 5.0 * (s - 0.437)
        K = np.array([[100.0 + x, 0.02], [-0.02, 100.0 - x]])
        return FrozenSystem(M=np.eye(2), D=damping * np.eye(2), K=K)

    half = np.sqrt(0.004**2 - (0.2 * damping * 10.0) ** 2)
    tracks = modal.track(Model(freeze), s=np.linspace(0.0, 1.0, count), k=2)
    found = listed(tracks, "flutter onset", "split", "unresolved")
    assert [kind for kind, _ in found] == ["flutter onset", "split"]
    assert [place for _, place in found] == pytest.approx([0.437 - half, 0.437 + half], abs=2e-5)


@pytest.mark.parametrize("count", [2, 4, 12])
def test_a_peak_of_growth_between_two_instants(count: int) -> None:
    """Re λ = 0.03 − √(0.02² + (s − ½)²): its cubic between 0 and 1 stays at −0.24."""

    def freeze(s: float) -> FrozenSystem:
        growth = 0.03 - np.hypot(0.02, s - 0.5)
        return FrozenSystem(M=np.eye(1), D=[[-2.0 * growth]], K=[[100.0]])

    tracks = modal.track(Model(freeze), s=np.linspace(0.0, 1.0, count), k=1)
    half = np.sqrt(0.03**2 - 0.02**2)
    found = listed(tracks, "flutter onset", "split", "unresolved")
    assert [kind for kind, _ in found] == ["flutter onset", "split"]
    assert [place for _, place in found] == pytest.approx([0.5 - half, 0.5 + half], abs=2e-5)


def above(s: float) -> FrozenSystem:
    """Three oscillators; the one of 30 rad/s grows from s = 0.6 on."""
    D = np.diag([0.01, 0.02, 0.1 * (0.6 - s)])
    return FrozenSystem(M=np.eye(3), D=D, K=np.diag([100.0, 400.0, 900.0]))


def test_a_growing_mode_of_the_guard_is_reported() -> None:
    tracks = modal.track(Model(above), s=np.linspace(0.0, 1.0, 8), k=1)
    ((kind, place),) = listed(tracks, "flutter onset", "unresolved")
    assert kind == "flutter onset" and place == pytest.approx(0.6, abs=2e-5)
    assert tracks.sizes["mode"] == 2
    assert tracks["frequency"].values[-1] == pytest.approx(np.array([10.0, 30.0]) / (2.0 * np.pi))
    assert tracks["unstable_not_followed"].values[[0, -1]].tolist() == [0, 0]


def above_many(s: float) -> FrozenSystem:
    """The same beside so many stiffer ones that not all modes guard the window."""
    D = np.diag([0.01, 0.02, 0.1 * (0.6 - s), *np.full(14, 0.1)])
    stiff = 1e3 * np.arange(2.0, 16.0) ** 2
    return FrozenSystem(M=np.eye(17), D=D, K=np.diag([100.0, 400.0, 900.0, *stiff]))


@pytest.mark.parametrize("up", [True, False])
def test_an_unstable_mode_above_the_window_is_sought(up: bool) -> None:
    """The step in which it begins to grow is unresolved; a run without checks knows nothing."""
    s = np.linspace(0.0, 1.0, 12)[:: 1 if up else -1].copy()
    tracks = modal.track(Model(above_many), s=s, k=1, guard=1)
    beyond = tracks["unstable_not_followed"].values
    assert set(beyond[s > 0.6].tolist()) <= {1, -1} and set(beyond[s < 0.6].tolist()) <= {0, -1}
    step = int(np.flatnonzero(np.diff(np.sign(s - 0.6)))[0])
    assert sorted(beyond[[step, step + 1]].tolist()) == [0, 1]
    events = modal.events(tracks)
    assert events["event"].values.tolist() == ["unresolved"]
    assert events["event_mode"].values.tolist() == events["partner"].values.tolist() == [-1]
    assert min(s[step : step + 2]) < float(events["event_at"][0]) < max(s[step : step + 2])
    for known in (
        modal.track(Model(above_many), s=s, k=1, guard=1, checks=0),
        modal.track(Model(above_many), s=s, k=1, guard=1, rate=1.0),
    ):
        assert set(known["unstable_not_followed"].values.tolist()) == {-1}


def random_system(seed: int) -> Model:
    """Up to eight modes with gyroscopic, circulatory and indefinite damping forces."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    K = np.diag(np.sort(rng.uniform(1.0, 10.0, n)) ** 2)
    N, G, S, D = rng.standard_normal((4, n, n))
    N, G = rng.uniform(0.5, 4.0) * (N - N.T), 0.2 * (G - G.T)
    S, D = 1.5 * (S + S.T), 0.02 * D @ D.T + 0.05 * np.eye(n)

    def freeze(s: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(n), C=G, D=D, K=K + s * S, K_D=np.sin(3.0 * s) * N)

    return Model(freeze)


def growing(model: Model, s: float) -> int:
    """The number of growing modes, by LAPACK on the state matrix."""
    system = model.freeze(s)
    n = system.n
    lower = -np.hstack([system.stiffness.toarray(), system.damping.toarray()])
    values = la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))
    return int(((values.real > 1e-9) & (values.imag >= 0.0)).sum())


def true_onsets(model: Model) -> list[float]:
    """Where the number of growing modes rises, from 500 intervals, by bisection."""
    grid = np.linspace(0.0, 1.0, 501)
    numbers = [growing(model, s) for s in grid]
    out = []
    for i in np.flatnonzero(np.diff(numbers) > 0):
        a, b = grid[i : i + 2]
        for _ in range(20):
            middle = 0.5 * (a + b)
            a, b = (a, middle) if growing(model, middle) > numbers[i] else (middle, b)
        out.append(b)
    return out


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 10))]
)
def test_onsets_of_all_modes_are_found_whatever_k(seed: int) -> None:
    """None is missed and none is false, of modes above k and between stable values too."""
    model = random_system(seed)
    expected = true_onsets(model)
    for k in (2, model.freeze(0.0).n):
        tracks = modal.track(model, s=np.linspace(0.0, 1.0, 21), k=k, progress=False)
        places = {place for _, place in listed(tracks, "flutter onset", "divergence onset")}
        assert sorted(places) == pytest.approx(expected, abs=2e-5)
        assert not listed(tracks, "unresolved")
