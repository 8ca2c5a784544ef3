"""Where flutter, divergence and overdamping begin and end, on each track once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import modal
from assembly import FrozenSystem
from modal.tracking.onsets import find_onsets


@dataclass(frozen=True)
class Model:
    """Any function of one parameter as a model."""

    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


def happened(tracks: xr.Dataset) -> dict[str, list[tuple[float, int]]]:
    """Where (parameter) and on which track each event stands."""
    events: dict[str, list[tuple[float, int]]] = {}
    for n, r in np.argwhere(tracks["event"].values != "none"):
        found = events.setdefault(str(tracks["event"].values[n, r]), [])
        found.append((float(tracks["s"].values[n]), int(r)))
    return events


def ziegler(damping: float) -> Model:
    """Double pendulum of masses 2m, m under a follower load p (Ziegler 1952), joints k = c/damping.

    3φ̈₁ + φ̈₂ + …: M = [[3, 1], [1, 1]], K = [[2 − p, p − 1], [−1, 1]], D = damping [[2, −1],
    [−1, 1]].
    """
    return Model(
        lambda p: FrozenSystem(
            M=[[3.0, 1.0], [1.0, 1.0]],
            D=damping * np.array([[2.0, -1.0], [-1.0, 1.0]]),
            K=[[2.0 - p, p - 1.0], [-1.0, 1.0]],
        )
    )


def exponents(damping: float, p: float) -> np.ndarray:
    """Roots of det(Mλ² + Dλ + K), the polynomial multiplied out by hand."""
    c = damping
    one, two = [3.0, 2.0 * c, 2.0 - p], [1.0, c, 1.0]
    three, four = [1.0, -c, p - 1.0], [1.0, -c, -1.0]
    return np.roots(np.polysub(np.polymul(one, two), np.polymul(three, four)))


def test_damped_column_flutters_once_and_diverges_once() -> None:
    """Its frequencies draw together, part and cross while it flutters: none of it is an onset."""
    c, p = 0.05, np.linspace(0.0, 6.0, 25)
    begins = brentq(lambda load: exponents(c, load).real.max(), 0.5, 2.0)
    tracks = modal.track(ziegler(c), s=p, k=2)
    events = happened(tracks)
    ((place, row),) = events["flutter onset"]
    assert place == p[np.flatnonzero(p > begins)[0]]
    assert tracks["partner"].sel(s=place).values[row] == -1
    # the growing pair becomes real where the largest real part belongs to a real root
    worst = [exponents(c, load)[np.argmax(exponents(c, load).real)] for load in p]
    still = np.flatnonzero(np.abs(np.imag(worst)) < 1e-9)
    assert events["divergence onset"] == [(p[still[0]], row)]
    assert "split" not in events
    other = 1 - row  # the stable mode is overdamped before that
    (damped,) = [place for place, r in events["critical damping"] if r == other]
    real = [np.sum(np.abs(exponents(c, load).imag) < 1e-9) == 2 for load in p]
    assert damped == p[np.flatnonzero(real)[0]]


def test_on_the_way_back_the_same_ends() -> None:
    c, p = 0.05, np.linspace(6.0, 0.0, 25)
    begins = brentq(lambda load: exponents(c, load).real.max(), 0.5, 2.0)
    tracks = modal.track(ziegler(c), s=p, k=2)
    events = happened(tracks)
    ((place, row),) = events["split"]
    assert place == p[np.flatnonzero(p < begins)[0]]
    ((_, fluttering),) = events["flutter onset"]  # out of divergence
    assert fluttering == row


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("up", [True, False])
def test_critical_damping_leaves_the_slow_root_on_the_track(up: bool, k: int) -> None:
    """λ = −s ± √(s² − 1): the oscillation goes on as the root that decays least, and out of it."""
    s = np.linspace(0.55, 1.5, 10)[:: 1 if up else -1].copy()
    model = Model(lambda v: FrozenSystem(M=np.eye(1), D=[[2.0 * v]], K=[[1.0]]))
    tracks = modal.track(model, s=s, k=k)
    slow = -s + np.sqrt((s**2 - 1.0).astype(complex))
    np.testing.assert_allclose(tracks["eigenvalue"].values[:, 0], slow, rtol=1e-9)
    critical = s[np.flatnonzero(np.diff(np.sign(s - 1.0)))[0] + 1]
    assert happened(tracks) == {"critical damping": [(critical, 0)]}
    if k == 2:
        fast = tracks["eigenvalue"].values[:, 1]
        np.testing.assert_allclose(fast[s > 1.0], (-s - np.sqrt(s**2 - 1.0 + 0j))[s > 1.0])
        assert np.all(np.isnan(fast[s < 1.0]))


@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_a_shaft_diverges_between_its_two_frequencies(damping: float) -> None:
    """Damping aside unstable for 1 < Ω < 1.2 (A5): the onset is on the growing root's track."""
    J, I = np.array([[0.0, -1.0], [1.0, 0.0]]), np.eye(2)
    speeds = np.linspace(0.51, 1.51, 41)

    def shaft(s: float) -> FrozenSystem:
        K = np.diag([1.0, 1.44]) - s**2 * I
        return FrozenSystem(M=I, C=2.0 * s * J, D=damping * I, K=K)

    tracks = modal.track(Model(shaft), s=speeds, k=2)
    begun = happened(tracks)["divergence onset"]
    first = speeds[speeds > 1.0][0]
    assert {place for place, _ in begun} == {first}
    growing = tracks["growth_rate"].sel(s=first).values[[row for _, row in begun]]
    assert growing.max() > 0.0
    assert "critical damping" not in happened(tracks)


@settings(deadline=None, max_examples=30)
@given(
    error=st.floats(1e-6, 1e-3), size=st.floats(-1.0, 1.0), level=st.sampled_from([0.9, 1.1, 3.0])
)
def test_a_rate_inside_its_error_is_no_onset(error: float, size: float, level: float) -> None:
    """Re λ goes from −1 to ± level × error bound: an onset only above the bound."""
    sign = 1.0 if size >= 0.0 else -1.0
    lam = np.array([-1.0, sign * level * error])[:, None] + 100.0j
    onsets = list(find_onsets(lam, np.full((2, 1), error), np.ones(1, dtype=bool)))
    above = sign > 0.0 and level * error > error + 1e-8 * 100.0
    assert [kind for _, _, kind in onsets] == (["flutter onset"] if above else [])


@pytest.mark.parametrize("level", [0.5, 2.0])
def test_a_real_value_inside_its_error_is_no_divergence(level: float) -> None:
    """λ passes zero on the real axis, to `level` × its error bound."""
    lam = np.array([-1.0, level * 1e-3], dtype=complex)[:, None]
    onsets = find_onsets(lam, np.full((2, 1), 1e-3), np.ones(1, dtype=bool))
    assert [kind for _, _, kind in onsets] == (["divergence onset"] if level > 1.0 else [])


class SlowOnset:
    """Re λ = 1e-4 (t − 0.37) 1/s at 10 rad/s."""

    def freeze(self, t: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(1), C=[[-2e-4 * (t - 0.37)]], K=[[100.0]])


def test_an_onset_is_sought_where_the_growth_rate_exceeds_its_error() -> None:
    """With 1e-5 1/s of error and 1e-7 of round-off it is 0.1 s after it is zero."""

    def uncertain(system: FrozenSystem, k: int) -> modal.Modes:
        modes = modal.solve(system, k=1)
        return replace(modes, backward_error=np.full(len(modes.eigenvalues), 1e-6))

    times = np.linspace(0.0, 2.0, 9)
    tracks = modal.track(SlowOnset(), times=times, k=1, guard=0, solver=uncertain)
    (onset,) = modal.events(tracks)["event_at"].values
    assert onset == pytest.approx(0.37 + 0.1 + 0.001, abs=1e-4)
    assert tracks.attrs["extra_instants"] <= 3
