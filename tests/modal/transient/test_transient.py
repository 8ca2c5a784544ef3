"""Transients: declared orders, energy, frequency of a rotating blade, restart, loads, bad input."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.typing import NDArray

import assembly
import modal
from assembly import gallery
from assembly.errors import InputError, StorageError
from assembly.linalg.factorization import SMALL
from assembly.system.frozen import FrozenSystem
from modal.checks.identification import identify
from modal.transient.equations import SecondOrderModel
from modal.transient.integrators.tableau import Tableau
from modal.transient.loads import Harmonic, Impulse, InertiaLoads, Tabulated
from modal.transient.measures import DisplacementNorm
from modal.transient.transient import integrate
from tests.support.varying_model import VaryingModel, end_state, reference

Array = NDArray[Any]


@pytest.mark.slow
@pytest.mark.parametrize(
    "formalism, method, tolerance",
    [("lagrange", None, 1e-4), ("hamilton", "midpoint", 1e-4), ("hamilton", "gauss4", 1e-8)],
)
def test_adaptive_steps_meet_their_tolerance(
    formalism: Any, method: str | None, tolerance: float
) -> None:
    model = VaryingModel()
    x0 = np.linspace(-1.0, 1.0, 8)
    exact = reference(model, x0, 2.0)
    response = integrate(
        model, (0.0, 2.0), x0, formalism, method=method, displacement_tolerance=tolerance,
        probes="all", loads=[InertiaLoads()],
    )  # fmt: skip
    norm = DisplacementNorm(SecondOrderModel(model), (0.0, 2.0))
    states = zip(
        response.time.values, response.displacement.values, response.velocity.values, strict=True
    )
    size = max(norm(t, q, v) for t, q, v in states)
    gap = end_state(response) - exact
    assert tolerance / 1e3 < norm(2.0, gap[:4], gap[4:]) / size < tolerance
    assert np.abs(gap[:4]).max() < tolerance * np.abs(response.displacement).max()


def test_states_are_measured_by_their_amplitudes() -> None:
    """Σ a² + ȧ²/(ω² + 1/T²) over the modes of K and M; a rigid mode counts by its drift T ȧ."""
    rng = np.random.default_rng(2)
    shapes = la.inv(rng.normal(size=(5, 5)))  # columns φ with φᵀMφ = 1
    M = la.inv(shapes @ shapes.T)
    omega, T = np.array([0.0, 0.7, 3.0, 40.0, 500.0]), 2.5
    K = M @ shapes @ np.diag(omega**2) @ shapes.T @ M
    norm = DisplacementNorm(SecondOrderModel(FrozenSystem(M=M, K=0.5 * (K + K.T))), (1.0, 1.0 + T))
    a, rate = rng.normal(size=5), omega * rng.normal(size=5) + 1.0
    due = np.sqrt((a**2 + rate**2 / (omega**2 + 1 / T**2)).sum())
    # The zero frequency is known to the round-off of the largest, 1e-16 · 500² and M’s condition.
    assert norm(1.0, shapes @ a, shapes @ rate) == pytest.approx(due, rel=1e-6)
    falling = SecondOrderModel(FrozenSystem(M=np.eye(1), K=[[-9.0]]))
    indefinite = DisplacementNorm(falling, (0.0, T))
    assert indefinite(0.0, np.array([3.0]), np.array([4.0 / T])) == pytest.approx(5.0)
    for made in (norm, indefinite):
        made.destroy()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_fast_modes_count_by_how_far_they_move(tolerance: float) -> None:
    """A beam let go under a tip load: every mode moves, the faster the less. With velocities in
    their own scale it took 513 and 1,025 steps."""
    beam = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.01), assembly.steel, 4, clamped="start", planar=True
    )
    system = beam.freeze(omega=(0.0, 0.0, 50.0))
    assert system.dofs is not None
    there = system.dofs.index(4, 1)
    tip = np.eye(system.n)[there]
    start = la.solve(system.stiffness.toarray(), tip), np.zeros(system.n)
    run = integrate(
        system,
        (0.0, 0.05),
        start,
        "hamilton",
        method="gauss6",
        displacement_tolerance=tolerance,
        probes="all",
    )
    equations = SecondOrderModel(system)
    exact = la.expm(equations.first_order(0.0) * 0.05) @ np.concatenate(start)
    gap = end_state(run) - exact
    norm = DisplacementNorm(equations, (0.0, 0.05))
    assert norm(0.05, gap[: system.n], gap[system.n :]) < tolerance * norm(0.0, *start)
    assert abs(gap[there]) < 2.0 * tolerance * start[0][there]
    assert run.sizes["time"] < {1e-2: 100, 1e-4: 500}[tolerance]


def test_gauss_tableau_is_the_textbook_one() -> None:
    # Hairer, Lubich & Wanner, Geometric Numerical Integration, table II.1.1.
    root = np.sqrt(3.0) / 6.0
    tableau = Tableau(2)
    np.testing.assert_allclose(tableau.a, [[0.25, 0.25 - root], [0.25 + root, 0.25]], atol=1e-15)
    np.testing.assert_allclose(tableau.b, [0.5, 0.5], atol=1e-15)


def blade(omega: float = 100.0) -> FrozenSystem:
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=20,
        clamped="start",
    )  # fmt: skip
    return beam.freeze(omega=(0.0, 0.0, omega))


def lowest_mode(system: FrozenSystem) -> tuple[float, Array, Array]:
    """ω, and right and left vectors on (q, q̇), of the lowest frequency, by LAPACK."""
    n = system.n
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:] = -np.linalg.solve(
        system.M.toarray(), np.hstack([system.stiffness.toarray(), system.damping.toarray()])
    )
    values, left, right = la.eig(A, left=True)
    k = int(np.argmin(np.where(values.imag > 0, np.abs(values), np.inf)))
    return float(values[k].imag), right[:, k], left[:, k]


@pytest.mark.parametrize(
    "formalism, method, order", [("lagrange", None, 2), ("hamilton", "gauss4", 4)]
)
def test_rotating_blade_keeps_energy_and_finds_its_frozen_frequency(
    formalism: Any, method: str | None, order: int
) -> None:
    system = blade()
    omega, right, left = lowest_mode(system)
    period = 2 * np.pi / omega
    errors = []
    counts = (500, 1000, 2000) if order == 2 else (20, 40, 80)
    for count in counts:
        response = integrate(
            system,
            (0.0, period),
            right,
            formalism,
            method=method,
            step=period / count,
            probes="all",
        )
        drift = abs(response.energy - response.energy[0]).max() / response.energy[0]
        assert float(drift) < 1e-9
        # The complex coordinate yᴴx of the mode turns as e^{iω_h t}: its phase is the frequency.
        x = np.hstack([response.displacement.values, response.velocity.values])
        phase = np.unwrap(np.angle(x @ left.conj()))
        found = np.polyfit(response.time.values, phase, 1)[0]
        errors.append(abs(found / omega - 1.0))
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(rates, order, atol=0.1)
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("formalism", ["lagrange", "hamilton"])
def test_a_solid_beyond_the_dense_and_small_solvers_keeps_its_energy(formalism: Any) -> None:
    system = gallery.block(12, 3, 3, element="hex20").freeze(omega=(0.0, 0.0, 100.0))
    assert system.n > SMALL  # MUMPS, one factorization for all steps
    modes = modal.solve(system, k=1)
    lam, shape = modes.eigenvalues[0], modes.right[:, 0]
    start = (shape.real, (lam * shape).real)
    step = 2 * np.pi / abs(lam) / 100
    response = integrate(system, (0.0, 40 * step), start, formalism, step=step, probes="all")
    assert float(np.abs(response.energy / response.energy[0] - 1.0).max()) < 1e-10
    # The midpoint rule turns a mode by 2 atan(ωh/2) a step, exactly.
    found = identify(response, modes, system).eigenvalue.values[0]
    assert found.imag * step == pytest.approx(2.0 * np.arctan(0.5 * lam.imag * step), rel=1e-8)


def test_resumed_run_equals_the_unbroken_one(tmp_path: Path) -> None:
    model, x0 = VaryingModel(), np.ones(8)
    options: Any = dict(probes="all", loads=[InertiaLoads()], displacement_tolerance=1e-3)
    whole = integrate(model, (0.0, 3.0), x0, **options)

    class Stopped(VaryingModel):
        calls = 0

        def freeze(self, t: float) -> FrozenSystem:
            self.calls += 1
            if self.calls > 80:
                raise KeyboardInterrupt
            return super().freeze(t)

    Stopped.__name__ = "VaryingModel"
    file = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        integrate(Stopped(), (0.0, 3.0), x0, checkpoint=file, checkpoint_interval=0.0, **options)
    resumed = integrate(model, (0.0, 3.0), x0, checkpoint=file, resume=True, **options)
    for name in ("time", "displacement", "velocity", "energy", "energy_defect"):
        np.testing.assert_array_equal(whole[name], resumed[name])
    with pytest.raises(StorageError, match="rho_infinity"):
        integrate(model, (0.0, 3.0), x0, checkpoint=file, resume=True, rho_infinity=0.9, **options)
    file.write_bytes(b"not a checkpoint")
    with pytest.raises(StorageError, match=r"run\.npz"):
        integrate(model, (0.0, 3.0), x0, checkpoint=file, resume=True, **options)


def oscillator(k: float = 4.0) -> FrozenSystem:
    return FrozenSystem(M=[[2.0]], K=[[2.0 * k]])


def test_impulse_leaves_its_momentum() -> None:
    # A blow much shorter than a period gives velocity I/m; m = 2 kg, ω = 2 rad/s.
    blow = Impulse(at=0, impulse=3.0, duration=1e-3)
    response = integrate(oscillator(), (0.0, 1e-3), loads=[blow], step=1e-6, every=1000)
    assert float(response.velocity[-1, 0]) == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("duration", [0.2, 0.01, 1e-4])
def test_adaptive_steps_do_not_pass_over_a_blow(duration: float) -> None:
    # After a half-sine of momentum I the motion is I/(mω) κ sin ω(t − middle) with
    # κ = cos(ω d/2) / (1 − (ω d/π)²), from Duhamel's integral; m = 2 kg, ω = 2 rad/s, I = 3 N·s.
    blow = Impulse(at=0, impulse=3.0, duration=duration, start=2.0)
    response = integrate(
        oscillator(),
        (0.0, 5.0),
        None,
        "hamilton",
        method="gauss4",
        loads=[blow],
        displacement_tolerance=1e-8,
    )
    kappa = np.cos(duration) / (1.0 - (2.0 * duration / np.pi) ** 2)
    due = 0.75 * kappa * np.sin(2.0 * (5.0 - 2.0 - duration / 2))
    assert float(response.displacement[-1, 0]) == pytest.approx(due, rel=1e-7)


def test_fixed_steps_too_long_for_a_blow_are_refused() -> None:
    blow = Impulse(at=0, impulse=3.0, duration=0.01, start=2.0)
    with pytest.raises(InputError, match="too long for an impulse"):
        integrate(oscillator(), (0.0, 5.0), loads=[blow], step=0.1)


def test_harmonic_load_gives_the_closed_form() -> None:
    # ẍ + 4 x = ½ sin 3t from rest: x = (½/(4 − 9)) (sin 3t − (3/2) sin 2t).
    load = Harmonic(at=0, amplitude=1.0, angular_frequency=3.0)
    response = integrate(
        oscillator(), (0.0, 5.0), formalism="hamilton", method="gauss4", loads=[load], step=0.01
    )
    t = response.time.values
    exact = -0.1 * (np.sin(3 * t) - 1.5 * np.sin(2 * t))
    np.testing.assert_allclose(response.displacement[:, 0], exact, atol=1e-9)
    assert float(abs(response.energy_defect).max()) < 1e-12


def test_tabulated_load_is_interpolated_and_zero_outside() -> None:
    load = Tabulated(at=0, times=[0.0, 1.0, 2.0], values=[0.0, 4.0, 0.0])
    forces = [load.force(t, oscillator())[0] for t in (-0.5, 0.5, 1.0, 1.75, 2.5)]
    assert forces == [0.0, 2.0, 4.0, 1.0, 0.0]


def test_callable_model_is_integrated() -> None:
    # Markus & Yamabe 1960: the solution e^{t/2} (cos t, −sin t).
    def A(t: float) -> Array:
        c, s = np.cos(t), np.sin(t)
        return np.array([[-1 + 1.5 * c * c, 1 - 1.5 * s * c], [-1 - 1.5 * s * c, -1 + 1.5 * s * s]])

    response = integrate(A, (0.0, 6.0), [1.0, 0.0], step=0.01)
    t = response.time.values
    exact = np.exp(t / 2)[:, None] * np.stack([np.cos(t), -np.sin(t)], axis=1)
    np.testing.assert_allclose(response.displacement, exact, rtol=0, atol=1e-7)
    assert float(abs(response.energy_defect).max()) < 1e-9 * float(response.energy.max())


def test_dataset_has_its_schema() -> None:
    system = blade(0.0)
    response = integrate(system, (0.0, 1e-4), step=1e-5, probes=[(20, "uy"), (10, "uz")])
    assert response.displacement.dims == ("time", "probe")
    assert list(response.probe.values) == ["beam 20 uy", "beam 10 uz"]
    for name in ("displacement", "velocity", "energy", "energy_defect", "time"):
        assert {"units", "long_name"} <= set(response[name].attrs)
    assert {"solver", "package_version", "date", "order"} <= set(response.attrs)


def test_the_default_step_resolves_modes_and_loads() -> None:
    # Order 2, 120 steps a cycle of the lowest modes: (2π/120)²/12 = 2.3e-4 of the frequency.
    response = integrate(oscillator(), (0.0, 2 * np.pi), ([1.0], [0.0]), probes="all")
    assert len(response.time) == 241  # two cycles of π s
    exact = np.cos(2.0 * response.time.values)
    assert float(np.abs(response.displacement[:, 0] - exact).max()) < 4 * np.pi * 3e-4
    # A load forty times faster than the oscillator is resolved as well.
    fast = Harmonic(at=0, amplitude=1.0, angular_frequency=80.0)
    response = integrate(oscillator(), (0.0, 1.0), loads=[fast], formalism="hamilton")
    assert float(response.time.diff("time").max()) <= 2 * np.pi / 80.0 / 119.0


class LiteralTransport(VaryingModel):
    """C without Ṁ: the literal 2012 form, which no Lagrangian has."""

    def freeze(self, t: float) -> FrozenSystem:
        return super().freeze(t).only("K", "K_epsilon", C=2 * self.G0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(model=VaryingModel(), t_span=(1.0, 0.0)), "t_span"),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), step=-1.0), "step"),
        (
            dict(model=VaryingModel(), t_span=(0.0, 1.0), step=0.1, displacement_tolerance=0.1),
            "one of the two",
        ),
        (
            dict(model=VaryingModel(), t_span=(0.0, 1.0), displacement_tolerance=2.0),
            "displacement_tolerance",
        ),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), formalism="newton"), "formalism"),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), method="gauss4"), "method"),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), rho_infinity=1.5), "rho_infinity"),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), initial=np.ones(5)), "initial"),
        (dict(model=VaryingModel(), t_span=(0.0, 1.0), probes=[9]), "no degree of freedom 9"),
        (dict(model=LiteralTransport(), t_span=(0.0, 1.0), formalism="hamilton"), "2 dM/dt"),
        (dict(model=3.0, t_span=(0.0, 1.0)), "model"),
        (dict(model=lambda t: np.ones((2, 3)), t_span=(0.0, 1.0)), "square"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        integrate(**arguments)
    assert "\n" not in str(caught.value)


def test_a_body_without_motion_is_refused() -> None:
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=2,
        clamped="start",
    )  # fmt: skip
    with pytest.raises(InputError, match="takes no time"):
        integrate(beam, (0.0, 1.0))
