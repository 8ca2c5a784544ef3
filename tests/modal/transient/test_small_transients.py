"""Free vibration of small mechanisms to a tolerance: `integrate(displacement_tolerance=...)`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import solve_ivp

import modal
from assembly.errors import InputError
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient import small_transient
from modal.transient.decoupled import Frames, propagated
from modal.transient.small_steps import SmallMotion, phase_error, steps
from studies import slider_crank


@cache
def machine(elements: int = 5, **options: Any) -> Any:
    return slider_crank.model(elements=elements, **options)


def started(mechanism: Any) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and velocity of the first frozen mode at the start."""
    first = modal.solve(mechanism.freeze(0.0), k=1)
    shape, value = first.right[:, 0], first.eigenvalues[0]
    return shape.real, (value * shape).real


def sizes(mechanism: Any, q: np.ndarray) -> np.ndarray:
    M = mechanism.freeze(0.0).M
    return np.asarray(np.sqrt(((M @ q.T).T * q).sum(axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elements", "damping", "tolerances", "count"),
    [(10, 0.0, (0.5, 0.3), 768), (5, 1e-5, (1e-3, 1e-4), 1536)],
)
def test_the_tolerance_holds_against_steps_at_full_order(
    elements: int,
    damping: float,
    tolerances: tuple[float, float],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large tolerances on a poor first basis, whose estimated error is then that of the run."""
    monkeypatch.setattr(small_transient, "WEAK", 1e-2)
    mechanism = machine(elements, rayleigh=(0.0, damping))
    span, start = (0.0, 0.25 * mechanism.period), started(mechanism)
    exact = modal.integrate(
        mechanism, span, start, "hamilton", method="gauss6", step=span[1] / count, probes="all",
        every=count // 16,
    )  # fmt: skip
    size = sizes(mechanism, exact.displacement.values).max()
    for tolerance in tolerances:
        found = modal.integrate(
            mechanism, span, start, displacement_tolerance=tolerance, probes="all"
        )
        stated = found.attrs["displacement_error_estimate"]
        assert stated <= tolerance
        shapes, whole = (int(word) for word in found.attrs["basis"].split() if word.isdigit())
        assert shapes < whole or elements == 5
        same = found.isel(time=slice(None, None, found.attrs["steps"] // 16))
        np.testing.assert_allclose(same.time.values, exact.time.values, atol=1e-12)
        far = same.displacement.values - exact.displacement.values
        assert sizes(mechanism, far).max() <= stated * size
        defect = np.abs(found.energy_defect.values).max()
        assert defect <= tolerance * found.energy.values.max()


def test_the_number_of_steps_follows_the_tolerance_and_every_thins_the_records() -> None:
    mechanism = machine()
    span, start = (0.0, 0.25 * mechanism.period), started(mechanism)
    many = modal.integrate(mechanism, span, start, displacement_tolerance=1e-4, probes=[3])
    few = modal.integrate(mechanism, span, start, displacement_tolerance=1e-2, probes=[3])
    thin = modal.integrate(mechanism, span, start, displacement_tolerance=1e-4, probes=[3], every=7)
    assert len(few.time) < 0.5 * len(many.time)
    assert many.attrs["steps"] == len(many.time) - 1
    np.testing.assert_array_equal(thin.time.values[:-1], many.time.values[:-1:7])
    assert thin.time.values[-1] == many.time.values[-1] == span[1]
    np.testing.assert_array_equal(thin.energy.values[:-1], many.energy.values[:-1:7])


def test_a_wrong_tolerance_ends_in_one_line() -> None:
    with pytest.raises(InputError, match="between 0 and 1, got 2"):
        modal.integrate(machine(), (0.0, 0.01), None, displacement_tolerance=2.0)


def test_steps_have_order_eight_and_do_the_work_of_the_motion() -> None:
    """Against an explicit method with tight tolerance, of another family."""
    mechanism = machine(3)
    motion = InterpolatedMotion.of(mechanism, 0.0, mechanism.period)
    assert motion is not None
    M, _, K = (A[0] for A in motion.matrices(np.array([0.0])))
    V = la.eigh(0.5 * (K + K.T), M, subset_by_index=[0, 3])[1]
    small, span = SmallMotion.of(motion, V), (0.0, 0.1 * mechanism.period)
    x = np.array([1.0, 0.3, 0.1, 0.0, 0.0, 900.0, 0.0, 0.0])

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        m, c, k = (V.T @ A[0] @ V for A in motion.matrices(np.array([t])))
        return np.concatenate([x[4:], -la.solve(m, c @ x[4:] + k @ x[:4])])

    exact = solve_ivp(slope, span, x, method="DOP853", rtol=1e-12, atol=1e-12).y[:4, -1]
    errors = []
    for count in (60, 120):
        run = steps(small, span, x, count)
        errors.append(np.linalg.norm(run.q[-1] - exact))
        energy = small.energy(run.times, run.q, run.v)
        assert np.abs(energy - energy[0] - run.work).max() <= 5e-3 * np.ptp(energy)
    assert 7.5 <= np.log2(errors[0] / errors[1]) <= 8.7


def test_the_error_of_the_phase_is_that_of_the_pade_approximant() -> None:
    """z⁹ (4!)² / (8! 9!), of the diagonal Padé approximant of degree 4 (Hairer and Wanner,
    Solving Ordinary Differential Equations II, IV.3), for small z = ωh; unresolved beyond 6."""
    leading = 24.0**2 / (40320.0 * 362880.0)
    for omega in (0.5, 1.0):
        assert phase_error(np.array([omega]), 1.0)[0] == pytest.approx(leading * omega**9, rel=0.05)
    assert np.isinf(phase_error(np.array([7.0]), 1.0)[0])


def test_the_stated_error_holds_where_frequencies_change() -> None:
    """Of a turn, at all records, by Radau collocation and decoupled groups: phases err by what was
    lost while the modes turned faster than they do now."""
    mechanism = machine(3)
    span, ratios = (0.0, mechanism.period), []
    motion = InterpolatedMotion.of(mechanism, *span)
    assert motion is not None
    first = Frames.of(motion.matrices, np.zeros(1)).shapes[0]
    for mode in (0, 1):
        start = (first[:, mode], 0.0 * first[:, mode])
        runs = {
            tolerance: modal.integrate(
                mechanism, span, start, displacement_tolerance=tolerance, probes="all"
            )
            for tolerance in (3e-2, 1e-3, 1e-4)
        }
        times = np.unique(np.concatenate([run.time.values for run in runs.values()]))
        exact = propagated(motion.matrices, span, np.hstack(start), times, 1e-6, 1).states
        frames = Frames.of(motion.matrices, times)
        size = max(la.norm(frames.amplitudes(i, x, 1.0)[0]) for i, x in enumerate(exact))
        for tolerance, run in runs.items():
            assert run.attrs["solver"] == "gauss8"
            places = np.searchsorted(times, run.time.values)
            states = np.hstack([run.displacement.values, run.velocity.values])
            error = max(
                la.norm(frames.amplitudes(i, x - exact[i], 1.0)[0])
                for i, x in zip(places, states, strict=True)
            )
            stated = run.attrs["displacement_error_estimate"] * size
            assert error <= stated <= tolerance * size
            ratios.append(stated / error)
    assert min(ratios) < 2.0


def test_decoupled_groups_take_the_basis_where_its_steps_cost_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against full order, on a poor basis, whose error is most of what is stated."""
    monkeypatch.setattr(small_transient.Trial, "refined", lambda *options: None)
    monkeypatch.setattr(small_transient, "WEAK", 1e-2)
    mechanism = machine(10)
    span, start = (0.0, 0.1 * mechanism.period), started(mechanism)
    motion = InterpolatedMotion.of(mechanism, *span)
    assert motion is not None
    for tolerance in (0.3, 1e-3):
        run = modal.integrate(
            mechanism, span, start, displacement_tolerance=tolerance, probes="all"
        )
        times = run.time.values
        exact = propagated(motion.matrices, span, np.hstack(start), times, 1e-6, 1).states
        frames = Frames.of(motion.matrices, times)
        size, error = (
            max(la.norm(frames.amplitudes(i, x, 1.0)[0]) for i, x in enumerate(states))
            for states in (
                exact, exact - np.hstack([run.displacement.values, run.velocity.values])
            )
        )  # fmt: skip
        stated = run.attrs["displacement_error_estimate"]
        shapes, whole = (int(word) for word in run.attrs["basis"].split() if word.isdigit())
        assert shapes < whole
        assert error <= stated * size <= tolerance * size
        assert stated * size < 3.0 * error
