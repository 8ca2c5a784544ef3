"""Counts that do not come from an eigensolver, and what they find missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq

from assembly import FrozenSystem
from assembly.errors import AccuracyError, ConvergenceError
from assembly.gallery import block
from assembly.linalg.factorization import Factorization
from modal import solve
from modal.eigen import mode_count
from modal.eigen.mode_count import (
    FIRST,
    Circle,
    certified,
    conjugated,
    inertia_count,
    missing_inside,
)
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers import determinant
from modal.eigen.solvers.dense import solve_dense
from modal.eigen.solvers.determinant import Determinant
from modal.eigen.spectrum import Pairs
from modal.types import Complex
from tests.support.quadratics import STRUCTURES, contour_count, free, gyroscopic

INSTANTS: dict[str, Callable[[], FrozenSystem]] = {
    **{name: partial(gyroscopic, 30, 8, **options) for name, options in STRUCTURES.items()},
    "free": partial(free, 30, 3, 4),
    "free, coupled": partial(free, 30, 3, 5, coupled=True),
}


def always(pairs: Pairs) -> Callable[[int, int], Pairs]:
    """A search with one result."""
    return lambda k, attempt: pairs


def spectrum(system: FrozenSystem) -> Complex:
    """Both of each pair, and the zeros, by LAPACK."""
    modes = solve(system, k=2 * system.n, backend="dense")
    return conjugated(modes.eigenvalues, modes.deflated)


def circles(every: Complex) -> list[Circle]:
    """About zero, a point of each axis and one of neither, through wide gaps and through any."""
    made = []
    size = np.abs(every).max()
    for wide, centre in enumerate((0.0, -0.1 * size, 0.3j * size, (0.05 + 0.2j) * size)):
        distance = np.unique(np.abs(every - centre).round(9))  # a pair about zero shares its own
        gaps = np.diff(distance[: len(distance) // 2])
        j = int(np.argmax(gaps / distance[1 : len(gaps) + 1])) if wide % 2 else 9
        made.append(Circle(centre, float(distance[j] + 0.5 * gaps[j])))
    return made


class Counted:
    """ln det Q(z) that counts how often it is asked for."""

    def __init__(self, quadratic: Quadratic) -> None:
        self.determinant, self.calls = Determinant(quadratic), 0

    def log(self, z: complex) -> complex:
        self.calls += 1
        return self.determinant.log(z)


@pytest.mark.parametrize("small", [0, 10**6])
def test_log_determinant_is_that_of_dense_elimination(
    monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """With PETSc's order and with SuperLU's own; an unsymmetric and a sparse instant."""
    monkeypatch.setattr(determinant, "SMALL", small)
    sparse = block(3, 2, 2, "hex8").freeze(omega=(0.0, 0.0, 300.0), epsilon=(0.0, 0.0, 1e4))
    for system, scale in ((gyroscopic(41, 1, damping=0.3, circulatory=0.5), 3.0), (sparse, 5e4)):
        quadratic = Quadratic(system)
        M, C, K = (A.toarray() for A in (quadratic.M, quadratic.C, quadratic.K))
        for z in scale * np.array([0.7 + 0.2j, -1.0 + 1e-3j, 1j, 2.0]):
            sign, size = np.linalg.slogdet(K + z * C + z**2 * M)
            value = Determinant(quadratic).log(complex(z))
            assert value.real == pytest.approx(size, rel=1e-12)
            assert abs(np.exp(1j * value.imag) - sign) < 1e-9


def test_inertia_counts_the_frequencies_below() -> None:
    for seed in range(5):
        system = gyroscopic(40, seed)
        omega = solve(system, k=40, backend="dense").eigenvalues.imag
        for sigma in (0.5 * omega[0], 0.5 * (omega[3] + omega[4]), 0.5 * (omega[20] + omega[21])):
            assert inertia_count(Quadratic(system), sigma) == (omega < sigma).sum()


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-9])
def test_inertia_next_to_a_cluster(gap: float) -> None:
    """Five equal frequencies and free motion with six zeros: right on either side of the cluster.

    Free: three of the zeros count, as the pairs they are (modal/eigen/mode_count.py).
    """
    whole = free(40, 3, 4)
    omega = solve(whole, k=40, backend="dense").eigenvalues.imag
    five = sp.diags(np.full(5, omega[6] ** 2))
    M, C, K = (
        sp.block_diag([A, extra], format="csr")
        for A, extra in (
            (whole.M, sp.identity(5)),
            (whole.damping, sp.csr_matrix((5, 5))),
            (whole.stiffness, five),
        )
    )
    quadratic = Quadratic(FrozenSystem(M=M, C=C, K=K))
    assert inertia_count(quadratic, omega[6] * (1.0 - gap)) == 3 + 6
    assert inertia_count(quadratic, omega[6] * (1.0 + gap)) == 3 + 6 + 6


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTANTS)
def test_contour_counts_every_eigenvalue_inside(name: str) -> None:
    """Nothing known beforehand, everything known, and half of it: always LAPACK's number."""
    system = INSTANTS[name]()
    every = spectrum(system)
    for circle in circles(every):
        inside = int(circle.contains(every).sum())
        half = conjugated(every[every.imag >= 0.0][::2])
        for known in (np.zeros(0, complex), every, half):
            assert contour_count(Quadratic(system), circle, known) == inside, str(circle)


@pytest.mark.parametrize("name", INSTANTS)
def test_a_complete_count_takes_few_factorizations(name: str) -> None:
    """17 points on a half circle and 33 on a whole one, one inside, a few where modes are near."""
    system = INSTANTS[name]()
    every = spectrum(system)
    for circle in circles(every):
        known = every[np.abs(every - circle.centre) < 1.3 * circle.radius]
        if circle.centre.imag == 0.0:
            known = conjugated(known[known.imag >= 0.0])
        log_det = Counted(Quadratic(system))
        assert missing_inside(log_det.log, circle, known) == 0
        assert log_det.calls <= (34 if circle.centre.imag == 0.0 else 66)


def oscillators(eigenvalues: Complex) -> Quadratic:
    """Damped oscillators with the given λ, Im λ > 0, and their conjugates."""
    M = sp.identity(len(eigenvalues), format="csr")
    C = sp.diags(-2.0 * eigenvalues.real, format="csr")
    K = sp.diags(np.abs(eigenvalues) ** 2, format="csr")
    return Quadratic(FrozenSystem(M=M, D=C, K=K))


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5])
def test_members_of_a_cluster_at_the_circle_do_not_hide(gap: float) -> None:
    """One, two or three of five equal eigenvalues missed just inside the circle: each is counted.

    Two turn the phase by 2π within an arc of the gap, which the phase at a few points cannot show
    (with MODULUS infinite, that is by the phase alone, this fails).
    """
    rng = np.random.default_rng(5)
    others = 1j * np.linspace(0.1, 3.0, 25) * np.exp(1j * rng.uniform(0.0, 0.1, 25))
    others = others[np.abs(np.abs(others) - 1.0) > 0.05]
    for _ in range(2):
        cluster = np.full(5, (1.0 - gap) * np.exp(1j * rng.uniform(0.2, 3.0)))
        every = np.concatenate([cluster, others])
        log_det = Determinant(oscillators(every)).log
        for missed in (1, 2, 3):
            known = conjugated(every[missed:])
            assert missing_inside(log_det, Circle(0.0, 1.0), known) == 2 * missed
        assert missing_inside(log_det, Circle(0.0, 1.0 - 2.0 * gap), known) == 0
        around = Circle(0.3j, float(np.abs(cluster[0] - 0.3j)) / (1.0 - gap))
        assert missing_inside(log_det, around, known) == 3 * int(
            around.contains(conjugated(cluster[:1])).sum()
        )


@pytest.mark.parametrize("pairs", [FIRST, 2 * FIRST])
def test_what_winds_evenly_does_not_hide(pairs: int) -> None:
    """As many zeros far inside as there are points turn the phase by 2π from each to the next."""
    zeros = np.full(pairs, 1e-3j)
    log_det = Determinant(oscillators(zeros)).log
    assert missing_inside(log_det, Circle(0.0, 1.0), np.zeros(0, complex)) == 2 * pairs


def test_rayleigh_damping_turns_the_phase_but_not_the_count() -> None:
    """The smooth phase of all that is far outside, ~n β|λ| = 60 rad, is not taken for winding."""
    still = block(6, 3, 3, "hex8").freeze(omega=(0.0, 0.0, 300.0))
    system = FrozenSystem(
        M=still.M, C=still.damping, K=still.stiffness, D=2.0 * still.M + 1e-5 * still.stiffness
    )
    every = conjugated(solve(system, k=2 * system.n, backend="dense").eigenvalues)
    upper = every[every.imag > 0.0]
    upper = upper[np.argsort(np.abs(upper))]
    circle = Circle(0.0, 0.5 * float(np.abs(upper[9]) + np.abs(upper[10])))
    quadratic = Quadratic(system)
    for lost in (0, 1, 3):
        log_det = Counted(quadratic)
        known = conjugated(np.delete(upper[:13], np.arange(2, 2 + lost)))
        assert missing_inside(log_det.log, circle, known) == 2 * lost
        assert log_det.calls <= 40


def test_a_circle_through_an_unknown_eigenvalue_is_refused() -> None:
    lam = 1j * np.array([1.0, 2.0, 3.0])
    with pytest.raises(AccuracyError, match="lies on"):
        contour_count(oscillators(lam), Circle(0.0, 2.0), conjugated(lam[[0, 2]]))


@pytest.mark.parametrize("target", [None, 3j, -0.2 + 4j, 0.3j, -2.0])
@pytest.mark.parametrize("name", STRUCTURES)
def test_certified_solution_says_so(name: str, target: complex | None) -> None:
    system = gyroscopic(50, seed=3, **STRUCTURES[name])
    reference = solve(system, k=6, backend="dense", target=target)
    assert reference.certified is None
    for backend in ("dense", "scipy", "slepc"):
        modes = solve(system, k=6, backend=backend, target=target, certify=True)
        assert modes.certified is True
        assert "certified" in str(modes)
        np.testing.assert_allclose(modes.eigenvalues, reference.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("target", [None, 0.5j, 20j])
def test_certificate_counts_free_bodies_too(target: complex | None) -> None:
    for system in (free(50, 1, 3), free(50, 6, 4), free(50, 3, 5, coupled=True)):
        assert solve(system, k=6, certify=True, target=target).certified is True


@pytest.mark.parametrize("target", [None, 0.5j, -0.3])
@pytest.mark.parametrize("what", ["damped", "circulatory", "indefinite"])
def test_certificate_counts_zeros_of_every_structure(what: str, target: complex | None) -> None:
    """By winding, around null chains of three mobilities: what is added acts on elastic shapes."""
    body = free(40, 3, 4)
    rng = np.random.default_rng(1)
    V = np.linalg.qr(body.rigid)[0]
    W = rng.standard_normal((40, 40))
    W -= V @ (V.T @ W)
    extra: dict[str, dict[str, Any]] = {
        "damped": dict(D=0.05 * W @ W.T),
        "circulatory": dict(K_epsilon=0.3 * (W[:, :20] @ W[:, 20:].T - W[:, 20:] @ W[:, :20].T)),
        "indefinite": dict(K_omega2=-0.3 * W @ W.T),
    }
    system = FrozenSystem(
        M=body.M, C=body.damping, K=body.stiffness, rigid=body.rigid, **extra[what]
    )
    modes = solve(system, k=6, certify=True, target=target)
    assert modes.certified is True and modes.deflated == 6
    reference = solve(system, k=6, backend="dense", target=target)
    np.testing.assert_allclose(modes.eigenvalues, reference.eigenvalues, rtol=1e-8)


def test_the_circle_keeps_away_from_the_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first radius, 1 % above the third distance, would be that of six zeros.

    Round-off scatters those of det Q: they would be followed to no end, and the circle be moved.
    """
    plain, calls = Determinant.log, []

    def counting(self: Determinant, z: complex) -> complex:
        calls.append(z)
        return plain(self, z)

    monkeypatch.setattr(Determinant, "log", counting)
    size = np.concatenate([np.zeros(3), [1.0, 2.0, 4.0, 5.0, 6.0]])
    lam = size * (1j * np.sqrt(1.0 - 1e-6) - 1e-3)
    M, C, K = (A.toarray() for A in (oscillators(lam).M, oscillators(lam).C, oscillators(lam).K))
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    C, K = (turn @ A @ turn.T for A in (C, K))
    system = FrozenSystem(M=M, D=0.5 * (C + C.T), K=0.5 * (K + K.T), rigid=turn[:, :3])
    target = 1j * brentq(lambda t: 1.01 * abs(lam[5] - 1j * t) - t, 1.0, 3.0, xtol=1e-15)
    chain = system.null_chain
    assert chain is not None and chain.count == 6
    found = solve_dense(Quadratic(system), chain).nearest(target)
    assert certified(Quadratic(system), chain, 3, target, always(found)) is found
    assert len(calls) <= 66


TARGETS = [0.0, 0.4j, 1.5j, -0.8, -0.1 + 1.2j]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_what_a_search_missed_is_found(damping: float, target: complex) -> None:
    """A backend that loses the second and third nearest at first: the count brings them back.

    By inertia and by winding; circles about zero, above it, across it, about real and other points.
    """
    quadratic = Quadratic(gyroscopic(40, seed=6, damping=damping))
    whole = solve_dense(quadratic, None).nearest(target)
    asked = []

    def forgetful(k: int, attempt: int) -> Pairs:
        asked.append(k)
        return whole if attempt else whole.take(np.delete(np.arange(10), [1, 2]))

    found = certified(quadratic, None, 6, target, forgetful)
    assert len(asked) == 2 and asked[1] >= 8
    np.testing.assert_array_equal(found.eigenvalues[:6], whole.eigenvalues[:6])


def test_overdamped_modes_can_be_more_than_unknowns() -> None:
    """Six unknowns, twelve real eigenvalues, eight asked for, one lost at first."""
    lam = -np.arange(1.0, 13.0)
    C, K = sp.diags(-lam[:6] - lam[6:], format="csr"), sp.diags(lam[:6] * lam[6:], format="csr")
    M, target = sp.identity(6, format="csr"), -0.7
    quadratic = Quadratic(FrozenSystem(M=M, D=C, K=K))
    whole = solve_dense(quadratic, None).nearest(target)

    def forgetful(k: int, attempt: int) -> Pairs:
        first = whole.take(np.arange(k))
        return first if attempt else first.take(np.delete(np.arange(k), 2))

    found = certified(quadratic, None, 8, target, forgetful)
    np.testing.assert_allclose(found.eigenvalues[:8], lam[:8], rtol=1e-12)
    with pytest.raises(AccuracyError, match="the slowest mode is overdamped"):
        certified(quadratic, None, 8, 0.0, lambda k, attempt: whole.take(np.arange(k)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_what_cannot_be_found_or_is_doubled_is_an_error(damping: float, target: complex) -> None:
    quadratic = Quadratic(gyroscopic(40, seed=6, damping=damping))
    whole = solve_dense(quadratic, None).nearest(target)
    with pytest.raises(ConvergenceError, match="could not be found") as caught:
        certified(quadratic, None, 6, target, lambda k, a: whole.take(np.delete(np.arange(12), 1)))
    assert isinstance(caught.value.partial, Pairs)
    twice = whole.take(np.array([0, 1, 1, 2, 3, 4, 5, 6]))
    with pytest.raises(AccuracyError, match="found twice"):
        certified(quadratic, None, 6, target, always(twice))


def test_an_eigenvalue_on_the_circle_moves_the_circle() -> None:
    """The first radius, 1 % above the third of those found, is that of an eigenvalue not found."""
    size = np.array([1.0, 2.0, 3.0, 3.0 + 0.01 * 3.0, 4.0, 5.0])
    quadratic = oscillators(size * (1j - 1e-3) / abs(1j - 1e-3))
    found = solve_dense(quadratic, None).take(np.array([0, 1, 2, 4, 5]))
    with pytest.raises(AccuracyError, match="lies on"):
        contour_count(quadratic, Circle(0.0, size[3]), conjugated(found.eigenvalues))
    assert certified(quadratic, None, 3, 0.0, always(found)) is found


def test_an_odd_inertia_moves_the_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round-off can make the inertia odd where σ is an eigenvalue; here the first one always is."""
    counts: list[int] = []

    class Odd(Factorization):
        @property
        def negative_pivots(self) -> int:
            counts.append(super().negative_pivots + (not counts))
            return counts[-1]

    monkeypatch.setattr(mode_count, "Factorization", Odd)
    quadratic = Quadratic(gyroscopic(20, seed=3))
    whole = solve_dense(quadratic, None)
    assert certified(quadratic, None, 5, 0.0, always(whole)) is whole
    assert [count % 2 for count in counts] == [1, 0]
