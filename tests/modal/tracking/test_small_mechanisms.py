"""Fast paths for small mechanisms, each against the path that it takes the place of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import assembly
import modal
from assembly import FrozenSystem
from modal.periodic.collocation import step_maps
from modal.periodic.periodic_modes import harmonics, propagated
from modal.proofs.all_modes import all_modes
from modal.reduction.interpolation import (
    chebyshev_interpolant,
    one_by_one,
    periodic_interpolant,
)
from modal.tracking.following import Follower
from modal.transient.equations import Balanced, SecondOrderModel
from studies import slider_crank


def test_all_modes_of_one_lapack_solution_are_those_of_refined_ones() -> None:
    """`modal.solve(backend="dense")` refines every pair by inverse iteration."""
    mechanism = slider_crank.model(elements=6, rayleigh=(0.0, 5e-6))
    system = mechanism.freeze(0.011)
    found = all_modes(system)
    order = np.argsort(np.abs(found.eigenvalues))
    eigenvalues, bounds = found.eigenvalues[order], found.bounds[order]
    exact = modal.solve(system, k=2 * system.n, backend="dense").eigenvalues
    exact = exact[np.argsort(np.abs(exact))]
    assert len(eigenvalues) == len(exact)
    assert np.all(np.abs(eigenvalues - exact) <= bounds + 1e-9 * np.abs(exact))
    assert np.all(bounds <= 1e-5 * np.abs(eigenvalues))


def test_derivatives_of_interpolants() -> None:
    """d/dt of exp(sin t) and its square, from the formulas."""

    def A(t: float) -> np.ndarray:
        return np.exp(np.sin(t)) * np.array([[1.0, np.exp(np.sin(t))]])

    times = np.array([0.3, 1.7, 2.9])
    e, c = np.exp(np.sin(times)), np.cos(times)
    rates = np.stack([c * e, 2.0 * c * e * e], axis=1)[:, None, :]
    periodic = periodic_interpolant(one_by_one(A), 0.0, 2.0 * np.pi)
    chebyshev = chebyshev_interpolant(one_by_one(A), 0.0, 3.0)
    for smooth in (periodic, chebyshev):
        assert smooth is not None
        assert_allclose(smooth.derivative.many(times), rates, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_shapes_of_decoupled_floquet_modes_are_those_of_propagated_ones() -> None:
    """Periodic parts and frequencies, against the propagation of all of them together."""
    mechanism = slider_crank.model(elements=2, elastic_crank=False)
    period = mechanism.period
    assert period is not None
    found = modal.floquet(mechanism, period)
    equations = SecondOrderModel(mechanism)
    assert found.interpolated is not None
    A = Balanced.energy(found.interpolated, equations.at(0.0))
    known = np.abs(found.eigenvalues.imag) < 2.0 * np.pi * 9000.0

    def maps(count: int) -> Iterator[Any]:
        return (step.__matmul__ for step in step_maps(A.many, 0.0, period, count))

    start, n = A.root @ found.vectors, len(found.vectors) // 2
    fastest = float(np.abs(np.linalg.eigvals(A.many(np.zeros(1))[0])).max())
    states = propagated(maps, start, found.exponents, known, period, fastest)[:, :, known]
    exact = A.inverse[:n] @ states
    orbits = found.orbits[:, :, known]
    (fewer, number), (more, numbers) = harmonics(orbits), harmonics(exact)
    same, i, j = np.intersect1d(number, numbers, return_indices=True)
    assert len(same) >= 256
    size = np.abs(more).max()
    assert np.abs(fewer[i] - more[j]).max() <= 1e-4 * size


def test_a_stiff_mode_that_no_step_resolves_costs_no_steps() -> None:
    """Two oscillators of 1 and 2000 rad/s; the fast one moves by 1e-6 of the slow one. The slow
    displacement is cos t."""
    system = FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4e6]), C=np.zeros((2, 2)))
    options = dict(formalism="hamilton", method="gauss4", probes="all")
    start = (np.array([1.0, 1e-6]), np.zeros(2))
    run = modal.integrate(system, (0.0, 20.0), start, displacement_tolerance=1e-5, **options)
    assert abs(run.displacement.values[-1, 0] - np.cos(20.0)) <= 1e-5
    assert len(run.time) < 600
    assert 0.0 < run.attrs["displacement_error_estimate"] <= 2e-5


def test_a_fast_mode_with_a_share_of_the_motion_is_resolved() -> None:
    system = FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4e4]), C=np.zeros((2, 2)))
    start = (np.array([1.0, 0.1]), np.zeros(2))
    run = modal.integrate(
        system, (0.0, 2.0), start, "hamilton", method="gauss6", displacement_tolerance=1e-4,
        probes="all",
    )  # fmt: skip
    end = np.array([np.cos(2.0), 0.1 * np.cos(400.0)])
    assert np.linalg.norm(run.displacement.values[-1] - end) <= 1e-4


def test_a_beam_map_of_small_systems_has_the_verdicts_of_single_states() -> None:
    """Every point of a map that assembles its own matrices, against `modal.stability`."""

    class Family:
        def freeze(self, n: float, d: float) -> assembly.FrozenSystem:
            return FrozenSystem(M=np.eye(2), K=[[4.0, n], [-n, 9.0]], D=d * np.eye(2))

    n, d = np.array([0.0, 2.0, 3.0]), np.array([0.01, 0.1])
    grid = modal.stability_map(Family(), n=n, d=d, k=2, progress=False)
    for i, a in enumerate(n):
        for j, b in enumerate(d):
            single = modal.stability(Family().freeze(a, b))
            assert ("stable", "divergence", "flutter")[int(grid.verdict[i, j])] == single.verdict


@pytest.mark.parametrize("kind", ["mechanism", "damped mechanism", "blade", "free beam"])
def test_steps_matched_together_are_those_matched_one_by_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With crossings, veerings and critical damping; the steps without are not taken one by one."""
    if "mechanism" in kind:
        damping = (0.0, 1e-4) if "damped" in kind else (0.0, 5e-6)
        model: Any = slider_crank.model(elements=3, rayleigh=damping)
        swept: dict[str, Any] = dict(times=np.linspace(0.0, 0.04, 60))
    else:
        free = "free" in kind
        section = assembly.rectangle(0.05, 0.04)
        model = assembly.beam(1.0, section, assembly.steel, 6, clamped=None if free else "start")
        swept = dict(omega=np.linspace(0.0, 900.0, 60), axis=(0, 0, 1))
    taken: list[float] = []
    follow = Follower._step

    def step(follower: Follower, a: Any, b: Any, *rest: Any) -> Any:
        taken.append(b.at)
        return follow(follower, a, b, *rest)

    monkeypatch.setattr(Follower, "_step", step)
    together, few = modal.track(model, k=6, **swept), len(taken)
    monkeypatch.setattr(Follower, "_together", lambda *_: None)
    single = modal.track(model, k=6, **swept)
    assert len(taken) - 2 * few >= 20
    xr.testing.assert_allclose(together, single, rtol=1e-9)
