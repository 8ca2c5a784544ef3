"""Maps of small models whose points have matrices of their own."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
from assembly import gallery
from assembly.mechanisms.mechanism import Mechanism
from modal.maps import methods
from modal.maps.grid import Grid
from modal.maps.methods import FullMethod, StackMethod
from modal.maps.stability_maps import stability_map
from modal.maps.stacks import StackFamily, SystemStack
from modal.proofs.all_modes import beyond_precision
from modal.proofs.box import is_empty, stay_apart
from modal.proofs.verdict import stability
from modal.tracking.smooth_space import SmoothFamily, SmoothSpace

SECTION = assembly.rectangle(0.02, 0.01)


class Linkage:
    """A four-bar linkage at a speed, rad/s, and a position, turns."""

    def __init__(self, elements: int, b: float) -> None:
        self.elements, self.b = elements, b

    @cache  # noqa: B019
    def mechanism(self, speed: float) -> Mechanism:
        def link(length: float) -> assembly.Body:
            beam = assembly.beam(length, SECTION, assembly.steel, self.elements, planar=True)
            return beam.with_damping(b=self.b)

        return gallery.four_bar(link, speed=speed)

    def freeze(self, speed: float, turn: float) -> assembly.FrozenSystem:
        return self.mechanism(speed).freeze(turn * 2.0 * np.pi / speed)


AXES = dict(speed=np.array([20.0, 30.0, 40.0]), turn=np.linspace(0.0, 1.0, 8, endpoint=False))


@pytest.mark.parametrize(("elements", "k"), [(2, 6), (8, 6), (1, 12)])  # 12: three more than all
@pytest.mark.parametrize("b", [1e-5, 1e-3])
def test_a_map_of_a_mechanism_agrees_with_its_points_one_by_one(
    elements: int, k: int, b: float
) -> None:
    model = Linkage(elements, b)
    found = stability_map(model, over=AXES, k=k, progress=False)
    assert found.attrs["solver"] == StackMethod.solver
    one_by_one = FullMethod(Grid(model, AXES, {}), k)
    for i, speed in enumerate(AXES["speed"]):
        for j, turn in enumerate(AXES["turn"]):
            alone = one_by_one.verdict(dict(speed=speed, turn=turn))
            here = found.isel(speed=i, turn=j)
            assert int(here.verdict) == alone.verdict
            bound = float(here.error_bound) + alone.error_bound
            assert abs(float(here.growth_rate) - alone.growth_rate) <= bound
            size = np.hypot(alone.growth_rate, 2.0 * np.pi * alone.critical_frequency)
            assert float(here.error_bound) <= 1.01e-6 * size


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_slow_modes_beside_fast_overdamped_ones(seed: int) -> None:
    """λ from 1 to 10⁸: LAPACK errs by up to 10⁻⁸ of the slow ones. Newton's method with 200
    digits."""
    n = 6
    rng, one = np.random.default_rng(seed), np.zeros(1, dtype=int)
    d = np.diag(np.logspace(0.0, 4.0, n))
    K, C = (d @ (X @ X.T / n + 0.3 * np.eye(n)) @ d for X in rng.standard_normal((2, n, n)))
    matrices = np.eye(n), C, K
    family = SmoothFamily(SystemStack(np.stack(matrices)[:, None]), lambda point: None, "")  # type: ignore[arg-type,return-value]
    space = SmoothSpace(family, one, 2, 1e-6, whole=n)
    found = space.completed().solve(one, every=True)
    with mpmath.workdps(200):
        M, C, K = (mpmath.matrix(A.tolist()) for A in matrices)
        for value, bound in zip(
            found.modes.eigenvalues[0], found.bounds.error_bound[0], strict=True
        ):
            z, q, u = mpmath.mpc(complex(value)), *[mpmath.matrix(rng.random(n))] * 2
            for _ in range(3):
                Q, S = z * z * M + z * C + K, 2 * z * M + C
                q, u = mpmath.lu_solve(Q, S * q), mpmath.lu_solve(Q.H, S.H * u)
                q, u = q / mpmath.norm(q), u / mpmath.norm(u)
                z -= (u.H * Q * q)[0] / (u.H * S * q)[0]
            assert float(abs(z - mpmath.mpc(complex(value)))) <= bound <= 1e-6 * abs(value)


def test_points_of_a_mechanism_are_frozen_and_judged_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    freeze_many = Mechanism.freeze_many

    def counted(self: Mechanism, times: Any, *options: Any, **named: Any) -> Any:
        calls.append(len(np.asarray(times)))
        return freeze_many(self, times, *options, **named)

    def refused(*arguments: Any) -> Any:
        raise AssertionError("a point was judged by itself")

    monkeypatch.setattr(Mechanism, "freeze_many", counted)
    monkeypatch.setattr(methods, "stability", refused)
    monkeypatch.setattr(FullMethod, "verdict", refused)
    found = stability_map(Linkage(8, 1e-5), over=AXES, progress=False)
    assert found.verdict.size == 24 and (found.verdict == 0).all()
    assert calls.count(8) == 3 and sum(calls) <= 24 + 8  # and what a map asks of single points


@pytest.mark.parametrize("b", [0.0, 1e-3, 1e-2])
def test_all_modes_are_found_only_where_a_proof_needs_them(
    monkeypatch: pytest.MonkeyPatch, b: float
) -> None:
    """Growth rates below the tolerance, of undamped links, take a sharper basis; boxes prove that
    light damping is enough, and not that heavier damping is."""
    solve, calls = SmoothSpace.solve, list[tuple[bool, float]]()

    def counted(self: SmoothSpace, points: Any, every: bool = False) -> Any:
        calls.append((every, self.tolerance))
        return solve(self, points, every)

    monkeypatch.setattr(SmoothSpace, "solve", counted)
    axes = AXES | dict(turn=AXES["turn"][:2])
    found = stability_map(Linkage(8, b), over=axes, checks=0, progress=False)
    assert (found.verdict == (0 if b else 2)).all()
    # Some points are asked for boxes; where these prove nothing, for all their modes.
    (first, _), *others = calls if b == 1e-3 else calls[:1] + calls[2:]
    assert not first and others and all(every == (b > 1e-3) for every, _ in others)
    assert b == 1e-3 or calls[1][0]
    assert b or min(tolerance for _, tolerance in others) < 1e-7


@pytest.mark.parametrize("k", [3, 6])
def test_a_point_of_singular_stiffness_is_solved_by_itself(k: int) -> None:
    """Also where there are fewer modes than asked for."""

    class Soft:
        def freeze(self, spring: float, damping: float) -> assembly.FrozenSystem:
            K = np.diag([spring, 4.0, 9.0])
            return assembly.FrozenSystem(M=np.eye(3), D=damping * np.eye(3), K=K)

    springs, damping = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3])
    axes = dict(spring=springs, damping=damping)
    found = stability_map(Soft(), over=axes, k=k, progress=False)
    assert np.all(found.verdict.sel(spring=-1.0) == 1)  # divergence
    assert np.all(found.verdict.sel(spring=0.0) != 0)
    assert np.all(found.verdict.sel(spring=[1.0, 2.0]) == 0)


def test_a_mode_without_a_bound_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = SmoothSpace.solve

    def lost(self: SmoothSpace, points: Any, every: bool = False) -> Any:
        found = solve(self, points, every)
        found.bounds.error_bound[:, 2:] = np.nan
        return found

    class Damped:
        def freeze(self, spring: float, damping: float) -> assembly.FrozenSystem:
            K = np.diag([spring, 4.0, 9.0])
            return assembly.FrozenSystem(M=np.eye(3), D=damping * np.eye(3), K=K)

    monkeypatch.setattr(methods, "is_empty", lambda *matrices: False)
    monkeypatch.setattr(methods, "on_all_modes", lambda found, *rest: found)
    axes = dict(spring=np.linspace(1.0, 2.0, 4), damping=np.linspace(0.1, 0.3, 3))
    known = stability_map(Damped(), over=axes, k=2, checks=0, progress=False)
    assert np.all(known.verdict == 0)
    monkeypatch.setattr(SmoothSpace, "solve", lost)
    found = stability_map(Damped(), over=axes, k=2, checks=0, progress=False)
    assert np.all(found.verdict == -1)


def test_an_empty_box_holds_no_unstable_mode() -> None:
    rng = np.random.default_rng(3)
    empty = 0
    for _ in range(200):
        n = int(rng.integers(1, 9))
        A = rng.standard_normal((3, n, n))
        M, S, D = (X @ X.T + 0.1 * np.eye(n) for X in A)
        G, N = (X - X.T for X in rng.standard_normal((2, n, n)))
        size = 10.0 ** rng.uniform(-3.0, 1.0, 3)
        C, K = size[0] * D + size[1] * G, S + size[2] * N
        state = np.block([[np.zeros((n, n)), np.eye(n)], [-la.solve(M, K), -la.solve(M, C)]])
        lam = la.eigvals(state)
        if is_empty(M, C, K, np.abs(lam).min()):
            empty += 1
            assert lam.real.max() < 0.0
    assert 20 < empty < 180
    circulatory = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert not is_empty(np.eye(2), np.zeros((2, 2)), np.eye(2), 1.0)
    assert not is_empty(np.eye(2), 1e-3 * np.eye(2), np.eye(2) + 0.1 * circulatory, 1.0)
    assert is_empty(np.eye(2), np.eye(2), np.eye(2) + 0.1 * circulatory, 1.0)
    # A fast whirl does not widen the box: γ = 20 rad/s, and all of S is below (γ/2)² M.
    whirling = 0.1 * np.eye(2) + 20.0 * circulatory
    assert is_empty(np.eye(2), whirling, np.eye(2) + 1e-3 * circulatory, 0.05)
    large = [sp.csr_matrix(sp.kron(sp.identity(300), A)) for A in (np.eye(2), whirling, np.eye(2))]
    assert is_empty(*large, 0.05)
    assert not is_empty(*large, 0.1)


def test_modes_that_stay_apart_are_on_the_axis() -> None:
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(200):
        n = int(rng.integers(1, 9))
        X, Y, Z = rng.standard_normal((3, n, n))
        M, K = X @ X.T + np.eye(n), Y @ Y.T + 10.0 ** rng.uniform(-3.0, 1.0) * (Z - Z.T)
        if stay_apart(sp.csr_matrix(M), sp.csr_matrix(K)):
            apart += 1
            squares = la.eigvals(K, M)
            assert squares.real.min() > 0.0
            assert np.abs(squares.imag).max() == 0.0
    assert 20 < apart < 180
    circulatory = sp.csr_matrix([[0.0, 1.0], [-1.0, 0.0]])
    stiffness, mass = sp.csr_matrix(np.diag([1.0, 2.0])), sp.identity(2, format="csr")
    assert stay_apart(mass, stiffness + 0.49 * circulatory)
    assert not stay_apart(mass, stiffness + 0.51 * circulatory)  # it flutters there


def test_an_undamped_row_at_rest_needs_no_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError

    blade = assembly.beam(1.0, SECTION, assembly.steel, 4, clamped="start", planar=True)
    monkeypatch.setattr(methods, "stability", fail)
    axes = dict(omega=np.array([0.0]), epsilon=np.linspace(1.0, 20.0, 4))
    found = stability_map(blade, over=axes, axis=(0, 0, 1), k=2, progress=False)
    assert np.all(found.verdict == 0)


def test_a_row_of_tiles_is_frozen_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mechanism once, and what is frozen is what its instants are."""
    made: list[StackFamily] = []
    create = StackFamily.__init__

    def noted(self: StackFamily, *arguments: Any) -> None:
        create(self, *arguments)
        made.append(self)

    monkeypatch.setattr(StackFamily, "__init__", noted)
    axes = AXES | dict(turn=np.linspace(0.0, 1.0, 23, endpoint=False))
    model = Linkage(2, 1e-5)
    stability_map(model, over=axes, checks=0, progress=False)
    (family,) = made
    assert len(family.points) == 3 * 23
    for number in (0, 22, 23, 68):
        point = family.points[number]
        alone = model.mechanism(point["speed"]).freeze(point["turn"] * 2.0 * np.pi / point["speed"])
        whole = family.motion.matrices(np.array([number]))[:, 0]
        again = family.system(number)
        for A, there, here in zip(
            whole,
            (alone.M, alone.damping, alone.stiffness),
            (again.M, again.damping, again.stiffness),
            strict=True,
        ):
            assert np.abs(A - there).max() <= 1e-12 * np.abs(A).max()
            assert np.abs(A - here).max() == 0.0


def test_patterns_need_the_same_eliminated_dofs() -> None:
    @cache
    def link(length: float) -> assembly.Body:
        return assembly.beam(length, SECTION, assembly.steel, 2, planar=True)

    first, same, other = (gallery.four_bar(link, speed=v).elastic(None) for v in (20.0, 30.0, 40.0))
    J = len(other.topology.touched)
    moved = np.setdiff1d(np.arange(J), other.partition.slaves)[: len(other.partition.slaves)]
    other.partition = type(other.partition)(moved, np.setdiff1d(np.arange(J), moved))
    for reduction, shared in ((same, True), (other, False)):
        reduction.share(first)
        assert (reduction.pattern(True) is first.pattern(True)) == shared


class Shaken:
    """Oscillators, the first without damping; the others are damped, and driven by n."""

    D = np.diag([0.0, 1e-3, 1e-3])

    def freeze(self, n: float, stiffness: float) -> assembly.FrozenSystem:
        N = np.zeros((3, 3))
        N[1, 2], N[2, 1] = n, -n
        K = np.diag([stiffness, 4.0, 9.0])
        return assembly.FrozenSystem(M=np.eye(3), D=self.D, K=K, K_D=N)


def test_lapack_is_not_asked_what_it_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mode without damping beside circulatory forces: undecided, as by LAPACK, unless another
    mode grows."""
    model, asked = Shaken(), list[float]()

    def noted(system: assembly.FrozenSystem, k: int) -> Any:
        asked.append(system.parts["K_D"].tocsr()[1, 2])
        return stability(system, k)

    monkeypatch.setattr(methods, "stability", noted)
    axes = dict(n=np.array([0.001, 0.002, 3.0]), stiffness=np.array([1.0, 2.0, 3.0, 5.0]))
    for k in (1, 3):
        found = stability_map(model, over=axes, k=k, checks=0, progress=False)
        assert np.all(found.verdict.sel(n=[0.001, 0.002]) == -1)
        assert np.all(found.verdict.sel(n=3.0) == 2)
        assert not asked  # flutter above the lowest mode too comes from the modes of the tile
    for n in axes["n"][:2]:
        assert stability(model.freeze(float(n), 1.0), 3).verdict == "undecided"


def test_symmetry_decides_on_modes_that_are_alone_on_the_axis() -> None:
    """Circulatory forces between modes far apart, of more than a third one's distance."""

    class Coupled:
        def freeze(self, n: float, stiffness: float) -> assembly.FrozenSystem:
            N = np.zeros((3, 3))
            N[0, 1], N[1, 0] = n, -n
            K = np.diag([1.0, 4.0, stiffness])
            assert n > 1.5 or not stay_apart(sp.identity(3, format="csr"), sp.csr_matrix(K + N))
            return assembly.FrozenSystem(M=np.eye(3), K=K, K_D=N)

    axes = dict(n=np.array([1.2, 1.3, 1.6]), stiffness=np.array([4.4, 4.5]))
    found = stability_map(Coupled(), over=axes, k=3, checks=0, progress=False)
    assert found.verdict.values.tolist() == [[0, 0], [0, 0], [2, 2]]


def test_growth_beyond_precision() -> None:
    """Sharp: the last digit of an eigenvalue, round-off of another, a neighbour on the axis."""
    eps = np.finfo(float).eps

    def judged(*eigenvalues: complex) -> list[bool]:
        each = np.array([[*eigenvalues, np.nan]] * 2)
        answer: list[bool] = beyond_precision(each, np.array([False, True])).tolist()
        return answer

    damped, double = 3.0j - 0.1, 1j * (1.0 + 60.0 * eps)
    assert judged(1j, damped) == [True, False]
    assert judged(1j + 0.9 * eps, damped) == judged(1j - 0.9 * eps, damped) == [True, False]
    assert judged(1j - 1.1 * eps, damped) == [False, False]
    assert judged(1j, double, damped) == [True, True]
    assert judged(1j, 1j * (1.0 + 70.0 * eps), damped) == [True, False]
    assert judged(1j, 3.0j + 3.0 * 60.0 * eps) == [True, False]
    assert judged(1j, 3.0j + 3.0 * 70.0 * eps) == [False, False]


def test_a_basis_of_few_points_serves_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is grown on five at a time, and accepted where the bounds of all hold."""
    solve, counts = SmoothSpace.solve, list[int]()

    def counted(self: SmoothSpace, points: Any, every: bool = False) -> Any:
        counts.append(len(points))
        return solve(self, points, every)

    model = Linkage(8, 1e-5)
    points = [
        dict(speed=v, turn=turn)
        for v in (20.0, 150.0)
        for turn in np.linspace(0.0, 1.0, 16, endpoint=False).tolist()
    ]
    family = StackFamily(lambda point: model.freeze(**point), points, model.freeze(**points[0]).n)
    all_points: Any = np.arange(len(points))
    space = SmoothSpace(family, all_points[:1], 6, 1e-10)
    monkeypatch.setattr(SmoothSpace, "solve", counted)
    found = space.train_on_few(all_points, 5)
    assert counts.count(32) < len(counts) and set(counts) <= {*range(1, 6), 32}
    assert space.accepted(found).shape[0] == 32 and space.worst(found) <= 1.0
