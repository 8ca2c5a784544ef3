"""Results do not depend on the units: the same model in another unit of time and of mass.

In units of τ s and μ kg a mass matrix is M/μ, what multiplies velocities Cτ/μ, what multiplies
displacements Kτ²/μ, and every result is the one in s and kg times what its units say. τ and μ are
powers of two, so that the scaled numbers are rounded as those in s and kg.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import modal
from assembly import FrozenSystem
from tests.support.chains import KINDS, Chain

TIME, MASS = 2.0**-12, 2.0**7  # s, kg: the units of the scaled models
FACTOR = {"s": 1.0 / TIME, "kg": 1.0 / MASS, "Hz": TIME, "m": 1.0, "rad": 1.0, "1": 1.0}
FACTOR |= {"N": TIME**2 / MASS, "J": TIME**2 / MASS}
VELOCITY, DISPLACEMENT = ("C", "D"), ("K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
CLOSE = 1e-7
ROUGH = 20.0  # ratio of error bounds: the last bit may decide on the size of a basis
PARAMETERS = {"omega", "epsilon", "stretch"}


def factor(units: str) -> float:
    """What a number in these units is multiplied by."""
    out = 1.0
    for name, power in re.findall(r"([A-Za-z]+|1)(-?\d*)(?: |$)", units):
        out *= FACTOR[name] ** int(power or 1)
    return out


def in_other_units(system: FrozenSystem) -> FrozenSystem:
    powers = {"M": 0} | dict.fromkeys(VELOCITY, 1) | dict.fromkeys(DISPLACEMENT, 2)
    parts = {k: system.parts[k].scaled(TIME**power / MASS) for k, power in powers.items()}
    return FrozenSystem(**parts, rigid=system.rigid)


class Scaled:
    """A model whose parameters are pure numbers, or with times, in other units."""

    def __init__(self, model: Any) -> None:
        self.model = model
        if hasattr(model, "period"):
            self.period = model.period / TIME

    def freeze(self, t: float | None = None, **parameters: float) -> FrozenSystem:
        if t is None:
            return in_other_units(self.model.freeze(**parameters))
        return in_other_units(self.model.freeze(t * TIME))


class Pumped:
    """Three damped masses on springs that stretch twice a turn, and gyroscopic forces."""

    period = np.pi

    def freeze(self, t: float) -> FrozenSystem:
        J = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.5], [0.0, -0.5, 0.0]])
        K = np.diag([1.0, 4.3, 9.7]) + 0.3 * np.cos(2.0 * t) * np.diag([1.0, 0.5, 0.2])
        return FrozenSystem(M=np.eye(3), C=0.2 * J, D=0.02 * np.eye(3), K=K)


def assert_same(scaled: xr.Dataset, plain: xr.Dataset, close: float = CLOSE) -> None:
    """Every variable and coordinate, by its units."""
    assert set(scaled.variables) == set(plain.variables)
    for name, variable in plain.variables.items():
        found, values = scaled[name].values, variable.values
        if values.dtype.kind in "UTOb":
            assert name == "remark" or np.array_equal(found, values), name  # remarks hold numbers
            continue
        if name not in PARAMETERS:  # their table says rad/s; here they are pure numbers
            values = values * factor(variable.attrs["units"])
        size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        size = max(size, 1e-5) if name == "backward_error" else size  # round-off is no number
        within = close * (size + np.abs(values))
        if re.search("error|uncertainty|defect", str(name)):
            larger = np.maximum(np.abs(found), np.abs(values))
            within = close * size + (1.0 - 1.0 / ROUGH) * larger
        elif name == "growth_rate" and "error_bound" in plain:
            within = within + factor("s-1") * plain["error_bound"].values
        finite = np.isfinite(values)
        np.testing.assert_array_equal(found[~finite], values[~finite], err_msg=str(name))
        apart = np.abs(found[finite] - values[finite]) - np.asarray(within)[finite]
        assert apart.max(initial=0.0) <= 0.0, name


def lopsided(n: int) -> Chain:
    return Chain(3, n, damping=0.1, lopsided=0.2)


@pytest.mark.parametrize("backend", ["dense", "slepc", "scipy"])
@pytest.mark.parametrize("kind", KINDS)
def test_modes_and_their_errors(kind: str, backend: Any) -> None:
    """Eigenvalues and their bounds, rad/s; backward errors and condition numbers, none."""
    arguments, at = KINDS[kind]
    system = Chain(2, 60, **arguments).freeze(**at(0.6))
    plain, scaled = (modal.solve(s, k=5, backend=backend) for s in (system, in_other_units(system)))
    np.testing.assert_allclose(scaled.eigenvalues, TIME * plain.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(scaled.condition_number, plain.condition_number, rtol=1e-6)
    worst = 1e-12 * TIME * np.abs(plain.eigenvalues) * plain.condition_number
    assert np.all(scaled.error_bound <= worst)
    assert list(scaled.kind) == list(plain.kind) and scaled.solver == plain.solver


@pytest.mark.parametrize("n", [40, 400], ids=["all modes", "reduced basis"])
def test_verdicts_on_all_modes(n: int) -> None:
    system = lopsided(n).freeze(omega=0.7, epsilon=0.1)
    plain, scaled = modal.stability(system), modal.stability(in_other_units(system))
    assert (scaled.verdict, scaled.proof) == (plain.verdict, plain.proof)
    for name in ("angular_frequency", "growth"):
        limit = TIME * getattr(plain.box, name)
        assert getattr(scaled.box, name) == pytest.approx(limit, rel=1e-9)


def track(model: Any, unit: float) -> xr.Dataset:
    return modal.track(model, omega=np.linspace(0.0, 1.0, 9), k=4)


def track_over_time(model: Any, unit: float) -> xr.Dataset:
    return modal.track(model, times=np.linspace(0.0, np.pi, 33) / unit, k=3)


def stability_map(model: Any, unit: float) -> xr.Dataset:
    over = {"omega": np.linspace(0.2, 1.0, 4), "epsilon": np.linspace(-0.2, 0.2, 3)}
    return modal.stability_map(model, over=over, k=4)


def crosscheck(model: Any, unit: float) -> xr.Dataset:
    return modal.crosscheck(model, track_over_time(model, unit)).dataset


def transient(model: Any, unit: float) -> xr.Dataset:
    start = (np.array([1.0, 0.5, -0.3]), unit * np.array([0.0, 0.2, 0.1]))
    return modal.integrate(model, (0.0, 2.0 / unit), start, step=0.05 / unit, probes="all")


def response(model: Any, unit: float) -> xr.Dataset:
    frequencies = unit * np.linspace(0.001, 0.03, 12)
    force = {0: FACTOR["N"] if unit != 1.0 else 1.0}
    return modal.frequency_response(
        model.freeze(omega=0.4), frequencies, force, method="modal", probes=[0, 5]
    )


MADE: dict[str, tuple[Callable[[Any, float], xr.Dataset], Callable[[], Any]]] = {
    "track": (track, lambda: lopsided(120)),
    "track over time": (track_over_time, Pumped),
    "map": (stability_map, lambda: lopsided(120)),
    "cross-check": (crosscheck, Pumped),
    "transient": (transient, Pumped),
    "response": (response, lambda: lopsided(120)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_datasets(name: str) -> None:
    make, model = MADE[name]
    assert_same(make(Scaled(model()), TIME), make(model(), 1.0))


def test_floquet_exponents_and_their_errors() -> None:
    plain = modal.floquet(Pumped(), np.pi)
    scaled = modal.floquet(Scaled(Pumped()), np.pi / TIME)
    for name in ("exponents", "growth_rate", "frequency"):
        np.testing.assert_allclose(
            getattr(scaled, name), TIME * getattr(plain, name), rtol=1e-8, atol=1e-9 * TIME
        )
    np.testing.assert_allclose(scaled.error, TIME * plain.error, rtol=0.2, atol=1e-12 * TIME)


def test_state_space_models() -> None:
    """A per second; H(iω) in m/N: the same displacement for the same force."""
    system = lopsided(60).freeze(omega=0.4)
    models = [modal.state_space(s, [0], [5], k=6) for s in (system, in_other_units(system))]
    lam = [np.sort_complex(np.linalg.eigvals(m[0])) for m in models]
    np.testing.assert_allclose(lam[1], TIME * lam[0], rtol=1e-9)
    for w in (0.0, 0.03, 0.2):
        H = [
            (C @ np.linalg.solve(1j * w * unit * np.eye(len(A)) - A, B) + D).item()
            for (A, B, C, D), unit in zip(models, (1.0, TIME), strict=True)
        ]
        assert H[1] * FACTOR["N"] == pytest.approx(H[0], rel=1e-8)
