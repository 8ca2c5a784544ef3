"""Transients and Floquet exponents of large bodies on reduced bases, against full order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg as spla
import xarray as xr

import assembly
import modal
from assembly.errors import ConvergenceError
from assembly.gallery import block
from assembly.motion.moving import MovingBody
from modal.reduction import motion as motions
from modal.reduction.motion import BodyMotion, body_space
from modal.transient import transient
from modal.transient.reduced_transient import on_basis
from modal.types import Array
from tests.support.full_monodromy import distances, full_logs

SPAN, STEP = (0.0, 0.005), 5e-5


def moving(kind: str, clamped: str | None = "x0") -> MovingBody:
    body = block(6, 2, 2, size=(1.0, 0.1, 0.1), clamped=clamped)
    motions = {
        "ramp": assembly.ramp(5000.0, omega=50.0, axis=(0.0, 0.2, 1.0)),
        "swing": assembly.swing(0.5, 60.0),
        "spin": assembly.spin(200.0),
    }
    return assembly.moving(body, motions[kind])


@pytest.fixture
def in_full_order(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a function without bases."""

    def run(work: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(motions, "LARGE_BODY", 10**9)
            return work()

    monkeypatch.setattr(motions, "LARGE_BODY", 40)
    return run


def size(model: MovingBody, found: xr.DataArray) -> float:
    """The largest √(qᵀMq)."""
    x = found.values
    return float(np.sqrt(np.maximum((x * (model.freeze(0.0).M @ x.T).T).sum(axis=1), 0.0)).max())


def loads(model: MovingBody, name: str) -> tuple[Any, ...]:
    tip = (int(model.freeze(0.0).dofs.node.max()), "uy")  # type: ignore[union-attr]
    return {
        "none": (),
        "harmonic": (modal.Harmonic(tip, 10.0, 300.0),),
        "impulse": (modal.Impulse(tip, 1.0, 0.002, 0.001),),
        "inertia": (modal.InertiaLoads(),),
        "base": (modal.base_motion(model, modal.ShockPulse(100.0, 0.005), direction=(0, 1, 0)),),
    }[name]


def shapes(model: MovingBody) -> tuple[Array, Array]:
    """The first modes, bent and moving."""
    modes = modal.solve(model.freeze(0.0), k=3)
    q = modes.right @ np.array([1.0, 0.5, 0.3])[: modes.right.shape[1]]
    v = (modes.right * modes.eigenvalues) @ np.array([1.0, 0.2, 0.1])
    return 1e-5 * q.real, 1e-5 * v.real


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "clamped"),
    [
        ("ramp", "none", "x0"),
        ("swing", "harmonic", "x0"),
        ("ramp", "impulse", "x0"),
        ("swing", "inertia", "x0"),
        ("spin", "base", "x0"),
        ("swing", "none", None),  # free to move
        ("spin", "harmonic", None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*clamped")
def test_a_transient_on_a_basis_states_its_error(
    kind: str, name: str, clamped: str | None, in_full_order: Any
) -> None:
    model = moving(kind, clamped)
    start = shapes(model) if name == "none" else None
    acting = loads(model, name)

    def run() -> xr.Dataset:
        return modal.integrate(model, SPAN, start, loads=acting, step=STEP, probes="all")

    reduced, full = run(), in_full_order(run)
    assert reduced.attrs["basis"].startswith("reduced basis of")
    assert "basis" not in full.attrs
    assert reduced.attrs["loads"] == full.attrs["loads"]
    assert list(reduced.probe.values) == list(full.probe.values)
    error = size(model, reduced.displacement - full.displacement)
    error /= size(model, full.displacement)
    assert error <= reduced.attrs["basis_error"] <= 0.01
    work = np.abs(reduced.energy - full.energy).max()
    assert work <= 0.01 * full.energy.max()


def test_a_basis_holds_what_the_moving_start_bends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coriolis forces on a shape of the start bend it into others from the first moment on."""
    monkeypatch.setattr(motions, "LARGE_BODY", 40)
    model = moving("swing")
    here = model.freeze(0.0)
    start = modal.solve(here, k=6).right[:, -1].real
    bent = spla.spsolve(here.stiffness.tocsc(), here.damping @ start)
    reduced = on_basis(model, SPAN, (start, 0.0 * start), (), None)
    assert reduced is not None
    held = reduced.motion.lift(reduced.motion.coordinates(bent))
    np.testing.assert_allclose(held, bent, rtol=0.0, atol=1e-6 * np.abs(bent).max())


@pytest.mark.slow
def test_a_tolerance_holds_for_steps_and_basis_together(in_full_order: Any) -> None:
    model, span = moving("ramp"), (0.0, 1e-3)
    start = shapes(model)

    def run(tolerance: float) -> xr.Dataset:
        return modal.integrate(model, span, start, displacement_tolerance=tolerance, probes="all")

    found = run(1e-2)
    assert found.attrs["basis"].startswith("reduced basis of")
    stated = found.attrs["displacement_error_estimate"]
    assert found.attrs["basis_error"] <= stated <= 1e-2 == found.attrs["displacement_tolerance"]
    exact = in_full_order(lambda: run(1e-4)).displacement
    last = exact[-1:].copy(data=found.displacement.values[-1:] - exact.values[-1:])
    assert size(model, last) <= (stated + 1e-4) * size(model, exact)


@pytest.mark.slow
def test_a_shape_that_no_small_basis_holds_is_integrated_in_full_order(
    in_full_order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cross-sections that bend without rotating move thickness modes, beyond any small basis."""
    model = moving("spin")
    system = model.freeze(0.0)
    assert system.dofs is not None
    x = system.dofs.coordinates[system.dofs.node, 0]
    bent = np.where(system.dofs.component == 1, 1e-4 * x**2, 0.0)
    span = (0.0, 4e-5)
    plain = modal.integrate(model, span, (bent, 0.0 * bent), step=2e-6)
    assert plain.attrs["basis_error"] > 1e-2
    reduced = on_basis(model, span, (bent, 0.0 * bent), (), None)
    assert reduced is not None
    assert reduced.missed_at_start() > 1e-2
    found = modal.integrate(model, span, (bent, 0.0 * bent), displacement_tolerance=1e-2)
    assert "basis" not in found.attrs
    assert found.attrs["displacement_error_estimate"] <= 1e-2
    monkeypatch.setattr(transient, "LARGEST", 0)
    with pytest.raises(ConvergenceError, match=r"reduced basis .* the error is") as raised:
        modal.integrate(model, span, (bent, 0.0 * bent), displacement_tolerance=1e-2)
    assert raised.value.partial.attrs["basis_error"] > 1e-2


@pytest.mark.slow
def test_a_run_on_a_basis_is_resumed_bit_by_bit(tmp_path: Path, in_full_order: Any) -> None:
    model, file = moving("ramp"), tmp_path / "run.npz"
    start = shapes(model)

    class Stopped(MovingBody):
        """Interrupted in the middle of the run."""

        def freeze(self, t: float) -> assembly.FrozenSystem:
            if file.exists():
                raise KeyboardInterrupt
            return super().freeze(t)

    options: dict[str, Any] = dict(step=STEP, loads=loads(model, "harmonic"), checkpoint=file)
    whole = modal.integrate(model, SPAN, start, **options)
    file.unlink()
    Stopped.__name__ = "MovingBody"  # which is among the settings of the run
    stopped = Stopped(model.body, model.motion)
    with pytest.raises(KeyboardInterrupt):
        modal.integrate(stopped, SPAN, start, checkpoint_interval=0.0, **options)
    assert file.exists()
    resumed = modal.integrate(model, SPAN, start, resume=True, **options)
    assert np.array_equal(resumed.displacement, whole.displacement)
    assert np.array_equal(resumed.energy_defect, whole.energy_defect)


class Series:
    """The matrices of several instants, in full order."""

    def __init__(self, model: MovingBody) -> None:
        self.model = model

    def freeze_many(self, times: Any) -> SimpleNamespace:
        systems = [self.model.freeze(float(t)) for t in times]
        names = dict(mass="M", damping="damping", stiffness="stiffness")
        return SimpleNamespace(
            **{
                key: np.stack([getattr(s, n).toarray() for s in systems])
                for key, n in names.items()
            }
        )


@pytest.mark.slow
@pytest.mark.parametrize("damping", [(0.0, 0.0), (20.0, 1e-6)])
def test_exponents_of_a_swinging_body_agree_with_full_order(
    damping: tuple[float, float], in_full_order: Any
) -> None:
    body = block(4, 1, 1, size=(1.0, 0.05, 0.05)).with_damping(*damping)
    model = assembly.moving(body, assembly.swing(0.6, 300.0))
    period = model.period
    assert period is not None
    found = modal.floquet(model, period, k=2)
    assert found.basis.startswith("reduced basis of")
    exact = full_logs(Series(model), period, 2)  # type: ignore[arg-type]
    apart = distances(found.exponents * period, exact) / period
    assert np.all(apart <= found.error)
    assert found.error.max() <= 1e-5 * np.abs(found.eigenvalues).max()


@pytest.mark.slow
def test_operators_that_appear_later_are_projected(in_full_order: Any) -> None:
    """The Euler terms of a motion that accelerates between two instants of the training."""

    def pulse(t: float) -> float:
        return (
            1e4 * float(np.exp(-(((t - 0.00261) / 5e-5) ** 2))) if abs(t - 0.00261) < 2e-4 else 0.0
        )

    body = block(6, 2, 2, size=(1.0, 0.1, 0.1))

    class Jolt:
        period = None

        def freeze(self, t: float) -> assembly.FrozenSystem:
            return body.freeze(omega=(0.0, 0.0, 50.0), epsilon=(0.0, 0.0, pulse(t)))

    start = shapes(moving("spin"))

    def run() -> xr.Dataset:
        return modal.integrate(Jolt(), SPAN, start, step=2e-5, probes="all")

    reduced, full = run(), in_full_order(run)
    assert reduced.attrs["basis"].startswith("reduced basis of")
    error = size(moving("spin"), reduced.displacement - full.displacement)
    assert error <= 1e-3 * size(moving("spin"), full.displacement)


@pytest.mark.slow
def test_a_chart_of_a_body_agrees_with_its_points(in_full_order: Any) -> None:
    """Fast shapes, which the chart knows badly, do not spoil the bounds of the slow ones."""
    body = block(6, 1, 1, size=(1.0, 0.05, 0.05)).with_damping(5.0, 1e-6)

    def swinging(amplitude: float, rate: float) -> MovingBody:
        return assembly.moving(body, assembly.swing(amplitude, rate))

    chart = modal.hill_chart(
        swinging, lambda amplitude, rate: 2.0 * np.pi / rate, k=2, progress=False,
        amplitude=[0.2, 0.5, 0.8], rate=[150.0, 200.0, 250.0],
    )  # fmt: skip
    assert np.all(chart.source == "reduced")
    for amplitude, rate in ((0.2, 150.0), (0.8, 200.0), (0.5, 250.0)):
        point = chart.sel(amplitude=amplitude, rate=rate)
        exact = full_logs(Series(swinging(amplitude, rate)), 2.0 * np.pi / rate, 2)  # type: ignore[arg-type]
        growth = float(exact.real.max()) * rate / (2.0 * np.pi)
        assert abs(growth - float(point.growth_rate)) <= float(point.error_bound) <= 0.05


def test_motions_that_share_a_basis_may_bring_operators_of_their_own() -> None:
    body = block(4, 1, 1, size=(1.0, 0.05, 0.05))

    def turning(axis: tuple[float, float, float]) -> Any:
        return lambda t: body.freeze(omega=100.0 * t * np.array(axis))

    still = turning((0.0, 0.0, 1.0))
    found = body_space(lambda point: still(point["t"]), [{"t": 0.1}, {"t": 0.5}], 3, 1e-6)
    assert found is not None
    space, at = found
    assert space.train_for_good(at) <= 1.0
    for axis in ((1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 1.0)):
        motion = BodyMotion(turning(axis), space, None)
        V = motion.lift(np.eye(space.projected.size))
        small, full = motion.freeze(0.7), turning(axis)(0.7)
        for name in ("M", "C", "K", "K_omega2", "K_G"):
            exact = V.T @ (getattr(full, name) @ V)
            found = getattr(small, name).toarray()
            assert np.allclose(found, exact, atol=1e-9 * np.abs(exact).max() + 1e-12)
