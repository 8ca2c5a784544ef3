"""Floquet modes: frequencies and participations of harmonics, tracks, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import InputError
from tests.support.rotor_blades import LAG_DAMPER, HingedRotor


class Spun:
    """Two equal springs, k + d and k − d, in axes that turn at w: seen from axes that do not.

    In the turning axes (u, v) the equations are constant: ü − 2wv̇ + (k + d − w²) u = 0 and
    v̈ + 2wu̇ + (k − d − w²) v = 0.
    """

    def __init__(self, k: float, d: float, w: float) -> None:
        self.k, self.d, self.w, self.period = k, d, w, 2.0 * np.pi / w

    def freeze(self, t: float) -> assembly.FrozenSystem:
        c, s = np.cos(2.0 * self.w * t), np.sin(2.0 * self.w * t)
        return assembly.FrozenSystem(
            M=np.eye(2), K=self.k * np.eye(2) + self.d * np.array([[c, s], [s, -c]])
        )

    def exact(self) -> np.ndarray:
        """ν of the turning axes: (k + d − w² − ν²)(k − d − w² − ν²) = 4w²ν²."""
        a, b = self.k + self.d - self.w**2, self.k - self.d - self.w**2
        return np.sqrt(np.roots([1.0, -(a + b + 4.0 * self.w**2), a * b]).real)


@pytest.mark.parametrize("rate", [0.3, 1.1])
def test_harmonics_of_an_elliptic_shaft(rate: float) -> None:
    """A whirl of ν in the turning axes is heard at ν ± w: two harmonics, amplitudes by hand."""
    model = Spun(4.0, 0.6, rate)
    found = modal.floquet(model, model.period)
    for nu in model.exact():
        # v = i r u: forward and backward parts are (1 ∓ r)/2, at ν + w and ν − w.
        r = -(model.k + model.d - rate**2 - nu**2) / (2.0 * rate * nu)
        forward, backward = abs(1.0 - r), abs(1.0 + r)
        heard = np.sort([abs(nu + rate), abs(nu - rate)]) / (2.0 * np.pi)
        strongest = abs(nu + rate) if forward > backward else abs(nu - rate)
        mode = int(np.argmin(abs(found.frequency - strongest / (2.0 * np.pi))))
        assert found.frequency[mode] == pytest.approx(strongest / (2.0 * np.pi), rel=1e-8)
        shares = found.participation.isel(mode=mode)
        used = shares.values > 1e-6
        np.testing.assert_allclose(np.sort(shares["frequency"].values[used]), heard, rtol=1e-8)
        expected = np.sort([forward, backward]) / (forward + backward)
        np.testing.assert_allclose(np.sort(shares.values[used]), expected, rtol=1e-6)


def test_participations_of_groups() -> None:
    """Hub and blades of one mode move in different harmonics: those of the two frames."""
    model = HingedRotor(26.0, (900.0,) * 3)
    found = modal.floquet(model, model.period)
    groups = found.participation_of({"hub": [0, 1], "blades": [2, 3, 4]})
    coupled = np.abs(found.orbits[0, :2]).max(axis=0) > 1e-6
    np.testing.assert_allclose(groups.sum("harmonic")[:, coupled], 1.0)
    strongest = groups["harmonic"].values[groups.values.argmax(axis=-1)]
    assert np.any(coupled & (strongest[0] != strongest[1]))
    with pytest.raises(InputError, match="tail"):
        found.participation_of({"tail": [7]})


def test_a_mode_over_the_period_satisfies_the_equations() -> None:
    """x = p e^{λt}: p closes, and M ẍ + C ẋ + K x = 0 by Fourier differentiation of p."""
    model = HingedRotor(26.0, (0.0, *(LAG_DAMPER,) * 3))
    found = modal.floquet(model, model.period)
    for mode in range(len(found.exponents)):
        p = found.orbit(mode)
        count, lam = p.sizes["time"], found.eigenvalues[mode]
        rates = 2j * np.pi * np.fft.fftfreq(count, model.period / count)[:, None]
        first, second = (
            np.fft.ifft((lam + rates) ** order * np.fft.fft(p.values, axis=0), axis=0)
            for order in (1, 2)
        )
        for n in (0, count // 3):
            system = model.freeze(float(p["time"][n]))
            terms = [
                system.M @ second[n],
                system.damping @ first[n],
                system.stiffness @ p.values[n],
            ]
            size = max(abs(term).max() for term in terms)
            assert abs(sum(terms)).max() < 1e-7 * size


def test_decaying_modes_are_not_lost_in_the_growing_ones() -> None:
    """Constant coefficients: every mode has one harmonic, also beside a decay of e⁻⁹⁰ a period."""
    system = assembly.FrozenSystem(M=np.eye(2), D=np.diag([0.02, 30.0]), K=np.diag([4.0, 400.0]))
    found = modal.floquet(system, 6.0)
    exact = [complex(-0.01, np.sqrt(4.0 - 1e-4)), complex(-15.0, np.sqrt(400.0 - 225.0))]
    for value in exact:
        assert abs(found.eigenvalues - value).min() < 1e-7 * abs(value)
    assert found.participation.max("harmonic").min() > 1.0 - 1e-7


@pytest.mark.slow
def test_tracks_of_an_unstable_rotor() -> None:
    """The growth rates are those of single analyses, and the modes go on through crossings."""
    speeds = np.linspace(20.0, 29.0, 4)

    def rotor(omega: float) -> HingedRotor:
        return HingedRotor(omega, (0.0, *(LAG_DAMPER,) * 3))

    tracks = modal.track_periodic(rotor, lambda omega: 2.0 * np.pi / omega, omega=speeds, k=6)
    assert np.isfinite(tracks["growth_rate"].values).all()
    for n, speed in enumerate(speeds):
        model = rotor(speed)
        found = modal.floquet(model, model.period)
        largest = tracks["growth_rate"].values[n].max()
        assert largest == pytest.approx(found.growth_rate.max(), abs=1e-8)
        np.testing.assert_allclose(
            np.sort(tracks["growth_rate"].values[n]), np.sort(found.exponents.real)[::2], atol=1e-7
        )
    steps = np.abs(np.diff(tracks["frequency"].values, axis=0))
    assert steps.max() < 0.8  # Hz from 3 rad/s to the next: no jump by the rotor's 3 to 5 Hz


@pytest.mark.parametrize("arguments", [dict(), dict(a=[1.0], b=[1.0]), dict(omega=[2.0, 1.0, 3.0])])
def test_tracks_take_one_parameter(arguments: dict[str, list[float]]) -> None:
    with pytest.raises(InputError):
        modal.track_periodic(HingedRotor, 1.0, **arguments)


@pytest.mark.slow
def test_a_mode_that_ends_at_a_resonance_is_lost() -> None:
    """1 + d cos 2t: at d = 0 one oscillation, from d > 0 on two real exponents."""

    class Pumped:
        def __init__(self, drive: float) -> None:
            self.drive = drive

        def freeze(self, t: float) -> assembly.FrozenSystem:
            return assembly.FrozenSystem(M=np.eye(1), K=[[1.0 + self.drive * np.cos(2.0 * t)]])

    tracks = modal.track_periodic(Pumped, np.pi, drive=[0.0, 0.5], k=1)
    assert np.isnan(tracks["eigenvalue"].values[:, 0]).tolist() == [False, True]
    assert "1 lost somewhere" in repr(tracks).splitlines()[0]
