"""Modes near a target away from zero."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import assembly
from assembly import FrozenSystem, InputError
from assembly.errors import ConvergenceError
from assembly.gallery import block
from modal import Modes, solve
from modal.eigen.solvers import engines
from tests.support.quadratics import STRUCTURES, free, gyroscopic


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["scipy", "slepc"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_modes_nearest_a_target_are_those_of_the_whole_spectrum(name: str, backend: str) -> None:
    system = gyroscopic(60, seed=5, **STRUCTURES[name])
    for target in (3j, 8j, -0.2 + 4j, 0.3j, 30j, -2.0):
        modes = solve(system, k=6, backend=backend, target=target)
        reference = solve(system, k=6, backend="dense", target=target)
        np.testing.assert_allclose(modes.eigenvalues, reference.eigenvalues, rtol=1e-9)
        assert modes.backward_error.max() <= 1e-12
        assert np.all(np.diff(np.abs(modes.eigenvalues - target)) >= -1e-9)


def test_target_in_the_lower_half_plane_is_its_conjugate() -> None:
    system = gyroscopic(30, seed=2, damping=0.1)
    above, below = (solve(system, k=3, target=t).eigenvalues for t in (2j, -2j))
    np.testing.assert_allclose(above, below, rtol=1e-12)


def test_target_that_is_an_eigenvalue() -> None:
    system = gyroscopic(30, seed=2)
    exact = solve(system, k=6, backend="dense").eigenvalues
    found = solve(system, k=1, target=exact[4]).eigenvalues
    np.testing.assert_allclose(found, exact[4:5], rtol=1e-9)


@pytest.mark.parametrize("bad", ["fast", float("nan"), complex("inf")])
def test_bad_target_is_named(bad: object) -> None:
    with pytest.raises(InputError, match="target"):
        solve(gyroscopic(6, seed=1), target=bad)  # type: ignore[arg-type]


def test_wide_windows_take_few_solves() -> None:
    """Targets from the lowest modes up: right, and no more than 40 solves a mode."""
    system = block(6, 3, 3, "hex8").freeze(omega=(0.0, 0.0, 300.0))
    every = solve(system, k=system.n, backend="dense").eigenvalues
    for share in (0.08, 0.2, 0.4, 0.9):
        target = 1j * share * every[150].imag
        modes = solve(system, k=10, target=target, backend="scipy")
        exact = every[np.argsort(np.abs(every - target))[:10]]
        np.testing.assert_allclose(modes.eigenvalues, exact, rtol=1e-9)
        assert modes.solves <= 400


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dense", "scipy", "slepc"])
@pytest.mark.parametrize("coupled", [False, True])
def test_zeros_of_imported_matrices_are_not_modes_near_a_target(
    backend: str, coupled: bool
) -> None:
    """Matrices that come without their rigid fields: as with them, and without scattered zeros."""
    whole = free(30, 3, 5, coupled=coupled)
    bare = FrozenSystem(M=whole.M, C=whole.damping, K=whole.stiffness)
    lowest = abs(solve(whole, k=1).eigenvalues[0])
    for target in (0.3j * lowest, 2j * lowest, -0.2 * lowest):
        expected = solve(whole, k=6, backend="dense", target=target)
        modes = solve(bare, k=6, backend=backend, target=target)
        assert modes.deflated == expected.deflated > 0
        np.testing.assert_allclose(modes.eigenvalues, expected.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_window_search_that_stops_short_hands_over_what_converged(
    damping: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = gyroscopic(150, seed=4, damping=damping)
    exact = solve(system, k=300, backend="dense").eigenvalues
    monkeypatch.setattr(engines, "MOST_STEPS", 1)
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)  # no LAPACK
    with pytest.raises(ConvergenceError, match=r"of 1[0-9] modes") as caught:
        solve(system, k=12, backend="slepc", target=3.0j)
    partial = caught.value.partial
    assert isinstance(partial, Modes) and 0 < len(partial) < 14
    for value in partial.eigenvalues:
        assert np.abs(exact / value - 1.0).min() < 1e-9


@pytest.mark.parametrize("backend", ["scipy", "slepc"])
def test_the_farthest_mode_from_zero_is_found_from_above_all(backend: str) -> None:
    """An arm of two free links, seen from above its whole spectrum: the highest mode is nearest."""
    section = assembly.rectangle(0.03, 0.03)
    links = {n: assembly.beam(x, section, assembly.steel, 2) for n, x in (("a", 1.0), ("b", 0.7))}
    joints = [
        assembly.revolute("ground", (0, 0, 0), "a", "start", axis=(0, 0, 1), name="A"),
        assembly.revolute("a", "end", "b", "start", axis=(0, 0, 1), name="B"),
    ]
    drivers = [assembly.driver("A", 20.0, held=False), assembly.driver("B", 0.5, held=False)]
    system = assembly.Mechanism(links, joints, drivers).freeze(t=0.01)
    every = solve(system, k=2 * system.n, backend="dense").eigenvalues
    target = 1.1j * np.abs(every).max()
    nearest = every[np.argsort(np.abs(every - target))[:6]]
    found = solve(system, k=6, backend=backend, target=target).eigenvalues
    np.testing.assert_allclose(np.sort(found.imag), np.sort(nearest.imag), rtol=1e-9)
