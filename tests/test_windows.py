"""Modes near a target away from zero, and counts that do not come from an eigensolver."""

from __future__ import annotations

import numpy as np
import pytest
from quadratics import free, gyroscopic

from assembly import InputError
from assembly.errors import AccuracyError, ConvergenceError
from modal import solve
from modal.certify import certified, contour_count, inertia_count
from modal.solvers.dense import solve_dense
from modal.solvers.pairs import Pairs
from modal.state import Quadratic

STRUCTURES = {
    "conservative": {},
    "damped": dict(damping=0.3),
    "circulatory": dict(circulatory=0.5),
    "damped circulatory": dict(damping=0.3, circulatory=0.4),
    "indefinite": dict(shift=3.0),
}


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


def test_inertia_counts_the_frequencies_below() -> None:
    for seed in range(5):
        system = gyroscopic(40, seed)
        omega = solve(system, k=40, backend="dense").eigenvalues.imag
        for sigma in (0.5 * omega[0], 0.5 * (omega[3] + omega[4]), 0.5 * (omega[20] + omega[21])):
            assert inertia_count(Quadratic(system), sigma) == (omega < sigma).sum()


def test_contour_counts_every_eigenvalue_inside() -> None:
    for name, options in STRUCTURES.items():
        system = gyroscopic(30, seed=8, **options)
        lam = solve(system, k=60, backend="dense").eigenvalues
        size = np.unique(np.abs(lam).round(9))  # ±λ and λ, −λ̄ share a modulus
        for radius in (0.5 * (size[3] + size[4]), 1.001 * size[10]):
            inside = lam[np.abs(lam) < radius]
            expected = np.where(inside.imag > 0, 2, 1).sum()
            assert contour_count(Quadratic(system), radius) == expected, name


@pytest.mark.parametrize("backend", ["dense", "scipy", "slepc"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_certified_solution_says_so(name: str, backend: str) -> None:
    system = gyroscopic(50, seed=3, **STRUCTURES[name])
    assert solve(system, k=6, backend=backend).certified is None
    modes = solve(system, k=6, backend=backend, certify=True)
    assert modes.certified is True
    assert "certified" in str(modes)


def test_certificate_counts_free_bodies_too() -> None:
    for system in (free(50, 1, 3), free(50, 6, 4), free(50, 3, 5, coupled=True)):
        assert solve(system, k=6, certify=True).certified is True


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_what_a_search_missed_is_found(damping: float) -> None:
    """A backend that loses the second and third mode at first: the count brings them back."""
    quadratic = Quadratic(gyroscopic(40, seed=6, damping=damping))
    whole = solve_dense(quadratic, None)
    asked = []

    def forgetful(k: int, attempt: int) -> Pairs:
        asked.append(k)
        return whole if attempt else whole.take(np.delete(np.arange(10), [1, 2]))

    found = certified(quadratic, None, 6, forgetful)
    assert len(asked) == 2 and asked[1] >= 8
    np.testing.assert_array_equal(found.eigenvalues[:6], whole.eigenvalues[:6])


def test_what_cannot_be_found_or_is_doubled_is_an_error() -> None:
    quadratic = Quadratic(gyroscopic(40, seed=6))
    whole = solve_dense(quadratic, None)
    with pytest.raises(ConvergenceError, match="1 modes below") as caught:
        certified(quadratic, None, 6, lambda k, a: whole.take(np.delete(np.arange(12), 1)))
    assert isinstance(caught.value.partial, Pairs)
    with pytest.raises(AccuracyError, match="found twice"):
        certified(quadratic, None, 6, lambda k, a: whole.take(np.array([0, 1, 1, 2, 3, 4, 5, 6])))
