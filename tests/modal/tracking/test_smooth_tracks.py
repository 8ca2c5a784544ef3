"""Tracks of small mechanisms from one basis of all instants, against full solves of each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from assembly.errors import AccuracyError
from assembly.gallery import four_bar
from modal.reduction import interpolated_motion
from modal.reduction.interpolated_motion import InterpolatedMotion, ProjectedMotion
from modal.tracking import smooth_space
from studies import slider_crank


def damped() -> assembly.Mechanism:
    return slider_crank.model(elements=14, rayleigh=(2.0, 1e-6), speed_rpm=900.0)


def link(length: float) -> assembly.Body:
    section = assembly.rectangle(0.02, 0.01)
    return assembly.beam(length, section, assembly.steel, 3, planar=True)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [damped(), four_bar(link)], ids=["slider-crank", "four bars"])
def test_tracks_of_one_basis_are_those_of_full_solves(machine: assembly.Mechanism) -> None:
    """Every variable of the track, by SLEPc at every instant (backend="slepc")."""
    assert machine.period is not None
    times = np.linspace(0.0, machine.period, 13)
    quick = modal.track(machine, times=times, k=3, guard=1, progress=False)
    exact = modal.track(machine, times=times, k=3, guard=1, backend="slepc", progress=False)
    assert quick.attrs["solver"].startswith("basis of")
    size = np.abs(exact.eigenvalue.values)
    assert np.all(np.abs(quick.eigenvalue.values - exact.eigenvalue.values) <= 1e-8 * size)
    sigma = np.abs(exact.growth_rate_corrected.values).max()
    found = quick.growth_rate_corrected.values
    assert_allclose(found, exact.growth_rate_corrected.values, atol=1e-5 * sigma)
    assert_allclose(quick.mac.values, exact.mac.values, atol=1e-7)
    interval, other = quick.frozen_interval.values, exact.frozen_interval.values
    assert_allclose(interval[1:-1], other[1:-1], rtol=1e-3)
    # At the ends the full solves have one-sided differences; the motion is periodic.
    assert_allclose(interval[0], interval[-1], rtol=1e-6)
    assert_allclose(interval[0], 0.5 * (other[0] + other[-1]), rtol=1e-2)
    bound = quick.condition_number * quick.backward_error * size
    assert np.all(np.abs(quick.eigenvalue - exact.eigenvalue) <= bound + 1e-10 * size)


def test_a_basis_of_all_degrees_of_freedom_has_all_modes() -> None:
    """There are fewer than the window and its guard would hold, as full solves list them too."""
    machine = slider_crank.model(elements=1, rayleigh=(2.0, 1e-6), speed_rpm=900.0)
    assert machine.period is not None
    times = np.linspace(0.0, machine.period, 13)
    quick = modal.track(machine, times=times, k=6, progress=False)
    exact = modal.track(machine, times=times, k=6, backend="dense", progress=False)
    assert quick.attrs["solver"].startswith("basis of 6 vectors")
    assert_allclose(quick.eigenvalue.values, exact.eigenvalue.values, rtol=1e-9)


def arm(links: int, elements: int, height: float) -> assembly.Mechanism:
    """Links in a row, stiff along themselves, that motors swing slowly."""
    section = assembly.rectangle(height, height)
    beam = assembly.beam(0.5, section, assembly.steel, elements, planar=True)
    names = [f"link {i}" for i in range(links)]
    laws = [assembly.Harmonic(0.4, 0.1, float(i), 0.3) for i in range(links)]
    angles = np.cumsum([law.at(0.0)[0] for law in laws])
    steps = 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = np.cumsum([np.zeros(2), *steps], axis=0)
    joints = [
        assembly.revolute(names[i - 1], "end", names[i], "start", name=f"J{i}")
        if i
        else assembly.revolute("ground", (0, 0), names[0], "start", name="J0")
        for i in range(links)
    ]
    motors = [assembly.driver(f"J{i}", law) for i, law in enumerate(laws)]
    initial = {name: (*places[i], angles[i]) for i, name in enumerate(names)}
    bodies = dict.fromkeys(names, beam)
    return assembly.Mechanism(bodies, joints, motors, initial=initial, period=20.0 * np.pi)


@pytest.mark.parametrize("links, elements, height", [(2, 2, 0.02), (10, 8, 0.01)])
def test_low_modes_of_stiff_chains_are_accurate(links: int, elements: int, height: float) -> None:
    """Against LAPACK: λ² is 1e-9 of the largest, so that the vectors must be far better than λ."""
    machine, times = arm(links, elements, height), np.linspace(0.0, 20.0 * np.pi, 13)
    found = modal.track(machine, times=times, k=4, progress=False)
    assert found.attrs["solver"].startswith("basis of")
    size = np.abs(found.eigenvalue)
    bound = (found.condition_number * found.backward_error * size).values
    for p in (0, 5, 9):
        system = machine.freeze(float(times[p]))
        M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
        n = len(M)
        inverse = np.eye(2 * n, k=-n)
        inverse[:n] = -np.linalg.solve(K, np.hstack([C, M]))
        exact = 1.0 / np.linalg.eigvals(inverse)
        off = np.abs(found.eigenvalue.values[p][:, None] - exact).min(axis=1)
        assert np.all(off <= bound[p] + 1e-7 * size.values[p])
        assert np.all(bound[p] <= 1e-4 * size.values[p])


def test_full_solves_freeze_the_values_beside_one_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches an instant: itself, and the four values of its stencil."""
    batches: list[int] = []
    frozen = assembly.Mechanism.freeze_many

    def counted(self: assembly.Mechanism, times: np.ndarray, *options: object) -> object:
        batches.append(len(times))
        return frozen(self, times, *options)

    monkeypatch.setattr(assembly.Mechanism, "freeze_many", counted)
    machine, times = arm(2, 2, 0.02), np.linspace(0.0, 0.1, 4)
    tracks = modal.track(machine, times=times, k=2, backend="slepc", checks=0, progress=False)
    assert batches == [1, 4] * (4 + tracks.attrs["extra_instants"])


def test_a_full_solve_finds_a_wrong_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = damped()
    right = ProjectedMotion.__call__

    def wrong(self: ProjectedMotion, times: np.ndarray) -> tuple[np.ndarray, ...]:
        M, C, K = right(self, times)
        return M, C, 1.001 * K

    monkeypatch.setattr(ProjectedMotion, "__call__", wrong)
    # The residuals show it first; without them the full solve of an instant does.
    monkeypatch.setattr(smooth_space, "SAFETY", 0.0)
    monkeypatch.setattr(smooth_space, "EPS", 0.0)
    with pytest.raises(AccuracyError, match="of the full problem is not"):
        modal.track(machine, times=np.linspace(0.0, 0.02, 9), k=3, guard=1, progress=False)


def test_matrices_off_a_polynomial_are_those_of_the_motion() -> None:
    """Trigonometric over a turn, Chebyshev over a part of it and where a force varies."""
    machine = damped()
    assert machine.matrix_period == machine.period
    assert machine.period is not None
    for end in (machine.period, 0.3 * machine.period):
        smooth = InterpolatedMotion.of(machine, 0.0, end)
        assert smooth is not None
        for t in np.array([0.123, 0.777]) * end:
            one, exact = smooth.freeze(float(t)), machine.freeze(float(t))
            for name in ("M", "damping", "stiffness"):
                A, B = getattr(one, name).toarray(), getattr(exact, name).toarray()
                assert np.abs(A - B).max() <= 1e-12 * np.abs(B).max()
            assert_allclose(one.Q, exact.Q, atol=1e-11 * np.abs(exact.Q).max())


def test_a_jump_has_no_polynomial() -> None:
    arm = assembly.Mechanism(
        {"arm": link(1.0)},
        [assembly.revolute("ground", (0, 0), "arm", "start", name="A")],
        [assembly.driver("A", 30.0)],
        loads=[assembly.Load("arm", "end", lambda t: (1e4 * float(t > 0.05), 0.0))],
    )
    assert arm.matrix_period is None
    assert InterpolatedMotion.of(arm, 0.0, 0.2) is None


def test_a_stiffness_of_time_ends_the_period_of_the_matrices() -> None:
    def arm(stiffness: object) -> assembly.Mechanism:
        return assembly.Mechanism(
            {"arm": link(1.0)},
            [assembly.revolute("ground", (0, 0), "arm", "start", name="A")],
            [assembly.driver("A", 30.0, stiffness=stiffness)],  # type: ignore[arg-type]
        )

    steady, varied = arm(1e4), arm(lambda t: 1e4 + 1e3 * np.sin(7.0 * t))
    assert steady.matrix_period == steady.period is not None
    assert varied.matrix_period is None


def test_the_numbers_of_the_samples_that_are_needed_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = slider_crank.model(elements=2)
    smooth = InterpolatedMotion.of(machine, 0.0, machine.period)
    assert smooth is not None and smooth.interpolant.instants <= 128
    width = smooth.interpolant.table.shape[1]
    monkeypatch.setattr(interpolated_motion, "MOST_NUMBERS", 128 * width)
    again = InterpolatedMotion.of(machine, 0.0, machine.period)
    assert again is not None
    np.testing.assert_array_equal(again.interpolant.table, smooth.interpolant.table)
    monkeypatch.setattr(interpolated_motion, "MOST_NUMBERS", 31 * width)
    assert InterpolatedMotion.of(machine, 0.0, machine.period) is None
