"""The check of a sweep at drawn points: what it finds out, and that it needs no factorization."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import modal.reduction.full_order as module
from assembly.errors import AccuracyError
from modal.eigen.quadratic import in_parts
from modal.reduction.affine import AffineFamily
from modal.reduction.basis import ReducedBasis, random_sketches
from modal.reduction.body_space import BodySpace
from modal.reduction.error_bounds import ErrorBounds
from modal.reduction.full_order import full_order_modes, random_shapes, spot_check, unmatched
from modal.reduction.instants import BODY
from modal.reduction.space import CertifiedModes
from tests.support.affine_families import Planar
from tests.support.chains import KINDS, Chain, exact
from tests.support.reduced_sweep import sweep

K = 6


def reducer_of(model: Any, points: list[dict[str, float]], k: int = K) -> BodySpace:
    """A space trained on the points."""
    family = AffineFamily(lambda p: model.freeze(**p), points[-1])
    at = family.coefficients(points)
    made = BodySpace(family, at, k, 1e-6)
    assert made.worst(made.train(at)) <= 1.0
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [0, 3])
def test_refinement_from_little_equals_lapack(kind: str, given: int) -> None:
    """From no mode, or three, and the random start: LAPACK's eigenvalues, within sharp bounds."""
    arguments, at = KINDS[kind]
    model = Chain(12, **arguments)
    points = [at(s) for s in (0.0, 0.5, 1.0)]
    reducer = reducer_of(model, points)
    for point in points:
        here = reducer.family.coefficients([point])
        modes = reducer.solve(here).modes
        shapes = np.hstack([modes.right[0][:, :given], modes.left[0][:, :given]])
        reference = reducer.reference
        basis = ReducedBasis(reducer.family, reference, random_sketches(reference))
        basis.include(in_parts(reducer.basis.lift(shapes)))
        basis.resolved = reducer.basis.resolved
        poor = copy.copy(reducer)
        poor.parts = {BODY: basis}
        random = {BODY: random_shapes(basis)}
        found = full_order_modes(poor.without_sketches(), here, K, random)
        expected = exact(model.freeze(**point), K)
        error = np.abs(found.eigenvalues - expected)
        assert np.all(error <= found.error_bound + 1e-12 * np.abs(expected))
        assert np.all(found.error_bound <= 1.001e-6 * np.abs(expected))
    reducer.destroy()


def without(reducer: BodySpace, monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    """The space no longer gives one of its modes, but the next one."""
    original = BodySpace.solve

    def solve(self: BodySpace, at: Any) -> Any:
        self.wanted = K + 1
        found = original(self, at)
        self.wanted = K
        index = np.delete(np.arange(K + 1), lost)[None]
        tables = (getattr(found.bounds, field.name) for field in fields(ErrorBounds))
        bounds = ErrorBounds(*(np.take_along_axis(table, index, 1) for table in tables))
        prescribed = np.take_along_axis(found.prescribed, index, 1)
        return CertifiedModes(found.instants, found.modes.take(index), bounds, prescribed)

    monkeypatch.setattr(BodySpace, "solve", solve)


@pytest.mark.parametrize("lost", range(K - 1))
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_mode_is_found_out(kind: str, lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, at = KINDS[kind]
    reducer = reducer_of(Chain(13, **arguments), [at(s) for s in (0.0, 0.4, 0.9)])
    assert spot_check(reducer, [at(0.4)], 1) == 1
    without(reducer, monkeypatch, lost)
    with pytest.raises(AccuracyError, match="is not within the error bound of any"):
        spot_check(reducer, [at(0.4)], 1)
    reducer.destroy()


def test_fast_roots_of_which_nothing_is_claimed_are_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Overdamped pairs of which the fast roots have no bound; a slow root that is lost shows."""
    model, points = Chain(13, damping=50.0), [dict(omega=s) for s in (0.0, 0.4, 0.9)]
    family = AffineFamily(lambda p: model.freeze(**p), points[-1])
    space = BodySpace(family, family.coefficients(points), K, 1e-6)
    found = space.train(family.coefficients(points))
    no_bound = np.isinf(found.bounds.error_bound[1])
    assert 0 < no_bound[:-1].sum() < K - 1
    assert (found.modes.eigenvalues[1, no_bound].real < -space.basis.resolved).all()
    assert spot_check(space, points[1:2], 1) == 1
    monkeypatch.setattr(module, "full_order_modes", lambda *_: None)  # those of a full solve too
    assert spot_check(space, points[1:2], 1) == 1
    monkeypatch.undo()
    without(space, monkeypatch, int(np.flatnonzero(~no_bound)[0]))
    with pytest.raises(AccuracyError, match="is not within the error bound of any"):
        spot_check(space, points[1:2], 1)
    space.destroy()


def test_half_of_a_double_mode_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round shaft at rest, λ = ±in² twice each: both halves lie within the bound of one."""
    n4 = np.arange(1.0, 41.0) ** 4
    reducer = reducer_of(Planar(np.column_stack([n4, n4])), [dict(omega=w) for w in (0.0, 0.5)])
    assert spot_check(reducer, [dict(omega=0.0)], 1) == 1
    without(reducer, monkeypatch, 2)
    with pytest.raises(AccuracyError, match="reduced basis"):
        spot_check(reducer, [dict(omega=0.0)], 1)
    reducer.destroy()


def test_a_bent_eigenvalue_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """One eigenvalue off by three times the tolerance, its bound unchanged."""
    reducer = reducer_of(Chain(14, damping=0.1), [dict(omega=s) for s in (0.1, 0.5, 0.9)])
    original = BodySpace.solve

    def solve(self: BodySpace, at: Any) -> Any:
        found = original(self, at)
        found.modes.eigenvalues[0, 1] *= 1.0 + 3e-6
        return found

    monkeypatch.setattr(BodySpace, "solve", solve)
    with pytest.raises(AccuracyError, match="reduced basis"):
        spot_check(reducer, [dict(omega=0.5)], 1)
    reducer.destroy()


def test_a_wrong_projection_is_found_out() -> None:
    """The projected stiffness off by 1e-4, as is the basis that the check starts from."""
    reducer = reducer_of(Chain(14, damping=0.1), [dict(omega=s) for s in (0.1, 0.5, 0.9)])
    stiffness = int(np.argmax(reducer.reference.weights))
    reducer.basis.on_vectors.matrices[stiffness] *= 1.0 + 1e-4
    reducer.projected = reducer.basis.projected()
    with pytest.raises(AccuracyError, match="reduced basis"):
        spot_check(reducer, [dict(omega=0.5)], 1)
    reducer.destroy()


@pytest.mark.parametrize("lost", range(K - 1))
def test_a_mode_that_the_basis_lacks_is_found_out(lost: int) -> None:
    """A basis of the lowest ten modes at the point itself but one."""
    arguments, at = KINDS["conservative"]
    reducer = reducer_of(Chain(40, **arguments), [at(s) for s in (0.0, 0.4, 0.9)], K + 4)
    here = reducer.family.coefficients([at(0.4)])
    modes = reducer.solve(here).modes.take(np.delete(np.arange(K + 4), lost)[None])
    reducer.wanted = K
    full = in_parts(reducer.basis.lift(modes.right[0]))
    family, reference = reducer.family, reducer.reference
    basis = ReducedBasis(family, reference, random_sketches(reference))
    basis.resolved = reducer.basis.resolved
    basis.include(full)
    reducer.parts = {BODY: basis}
    reducer.projected = reducer.basis.projected()
    with pytest.raises(AccuracyError, match="is not within the error bound of any"):
        spot_check(reducer, [at(0.4)], 1)
    reducer.destroy()


def test_operators_that_are_not_the_points_own_are_found_out() -> None:
    """The family takes an operator that changed in place for the one it projected."""
    model = Chain(15)
    points = [dict(omega=s) for s in (0.1, 0.5, 0.9)]
    reducer = reducer_of(model, points)
    other = Chain(15)
    other.K = other.K * 1.001
    reducer.family.freeze = lambda p: other.freeze(**p)
    reducer.family.coefficients = lambda p: at  # type: ignore[method-assign]
    at = AffineFamily(lambda p: model.freeze(**p), points[0]).coefficients([points[1]])
    with pytest.raises(AccuracyError, match="reduced basis"):
        spot_check(reducer, [points[1]], 1)
    reducer.destroy()


@pytest.mark.parametrize("kind", KINDS)
def test_the_check_of_a_sweep_needs_no_solve_of_its_own(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any) -> Any:
        raise AssertionError("a full solve")

    arguments, at = KINDS[kind]
    model = Chain(16, **arguments)
    points = [at(s) for s in np.linspace(0.0, 1.0, 30)]
    monkeypatch.setattr(module, "full_modes", forbidden)
    sweep(lambda p: model.freeze(**p), points, k=K, checks=3)


def test_matching_is_one_to_one() -> None:
    """Of two equal eigenvalues each needs one of its own; the last may be missing."""
    bound = np.full(3, 1e-3)
    double, single = np.array([1j, 1j, 2j]), np.array([1j, 2j, 3j])
    assert unmatched(double, bound, single, bound, 0.0) is None
    assert unmatched(single, bound, double, bound, 0.0) == 1j
    assert unmatched(double, bound, double + 1e-3, bound, 0.0) is None
    # Either of a pair of conjugates may have been found.
    found = np.array([-0.1 + 1j, 2j, 3j])
    assert unmatched(found, bound, found.conj(), bound, 0.0) is None
    assert unmatched(found, bound, -found.conj(), bound, 0.0) == 0.1 + 1j


def test_a_point_without_any_bound_is_left_to_a_full_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is claimed nothing can be wrong: maps far beyond their divergence met this."""
    arguments, at = KINDS["conservative"]
    space = reducer_of(Chain(12, **arguments), [at(s) for s in (0.0, 0.5, 1.0)])
    points = [at(0.3), at(0.7)]
    assert spot_check(space, points, 2) == 2
    solve = space.solve

    def without(at: Any) -> CertifiedModes:
        found = solve(at)
        infinite = np.full(found.bounds.error_bound.shape, np.inf)
        return replace(found, bounds=replace(found.bounds, error_bound=infinite))

    monkeypatch.setattr(space, "solve", without)
    assert spot_check(space, points, 2) == 0
