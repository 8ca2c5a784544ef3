"""Solvers of one instant: every structure, all backends, left vectors, bad input."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pytest

import assembly
from assembly import FrozenSystem, InputError
from assembly.errors import AccuracyError, ConvergenceError
from modal import Modes, solve
from modal.eigen.solvers import block, engines
from tests.support.paths import REFERENCES
from tests.support.quadratics import gyroscopic, upper_spectrum

BACKENDS = ("dense", "scipy", "slepc")
STRUCTURES = {
    "conservative": {},
    "damped": dict(damping=0.3),
    "circulatory": dict(circulatory=0.5),
    "damped circulatory": dict(damping=0.3, circulatory=0.4),
    "indefinite": dict(shift=3.0),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_small_problems_against_fifty_digits(name: str) -> None:
    system = gyroscopic(8, seed=3, **STRUCTURES[name])
    found = solve(system, k=16, backend="dense")
    reference = upper_spectrum(system)
    assert len(found) == len(reference)
    order = lambda z: np.lexsort((z.imag.round(6), z.real.round(6)))  # noqa: E731
    np.testing.assert_allclose(
        found.eigenvalues[order(found.eigenvalues)], reference[order(reference)], rtol=1e-10
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", STRUCTURES)
def test_backends_agree_and_vectors_solve_both_sides(name: str, backend: str) -> None:
    system = gyroscopic(60, seed=5, **STRUCTURES[name])
    modes = solve(system, k=8, backend=backend)
    reference = solve(system, k=8, backend="dense")
    np.testing.assert_allclose(modes.eigenvalues, reference.eigenvalues, rtol=1e-9)
    assert modes.backward_error.max() <= 1e-12
    M, C, K = system.M.toarray(), system.damping.toarray(), system.stiffness.toarray()
    for lam, x, y in zip(modes.eigenvalues, modes.right.T, modes.left.T, strict=True):
        Q = lam**2 * M + lam * C + K
        size = np.linalg.norm(Q, 2)
        assert np.linalg.norm(Q @ x) <= 1e-10 * size * np.linalg.norm(x)
        assert np.linalg.norm(y.conj() @ Q) <= 1e-10 * size * np.linalg.norm(y)
        assert y.conj() @ (2 * lam * M + C) @ x == pytest.approx(1.0, rel=1e-8)
        assert (x.conj() @ M @ x).real == pytest.approx(1.0, rel=1e-12)


def test_condition_number_bounds_the_change_of_an_eigenvalue() -> None:
    """Tisseur's condition number against finite changes of M, C, K of relative size 1e-7."""
    system = gyroscopic(20, seed=2, damping=0.2, circulatory=0.1)
    modes = solve(system, k=5, backend="dense")
    r = np.random.default_rng(0)
    worst = 0.0
    for _ in range(20):
        changed = {}
        for name, A in (("M", system.M), ("C", system.damping), ("K", system.stiffness)):
            E = r.standard_normal(A.shape)
            changed[name] = A.toarray() + 1e-7 * E / np.linalg.norm(E, 2) * np.linalg.norm(
                A.toarray(), 2
            )
        moved = solve(FrozenSystem(**changed), k=5, backend="dense").eigenvalues
        ratio = np.abs(moved - modes.eigenvalues) / (
            1e-7 * np.abs(modes.eigenvalues) * modes.condition_number
        )
        worst = max(worst, ratio.max())
    assert 1e-3 < worst <= 1.01


@pytest.mark.parametrize("backend", BACKENDS)
def test_asking_for_more_modes_than_exist_returns_all(backend: str) -> None:
    system = gyroscopic(6, seed=1)
    assert len(solve(system, k=50, backend=backend)) == 6
    assert len(solve(FrozenSystem(M=[[2.0]], K=[[8.0]]), k=5, backend=backend)) == 1


def test_report_names_what_was_used() -> None:
    text = str(solve(gyroscopic(30, seed=1), k=3))
    assert "Cholesky" in text and "slepc" in text and len(text.splitlines()) == 5


@pytest.mark.parametrize("bad", [dict(k=0), dict(k=2.5), dict(backend="magma"), dict(backend=None)])
def test_bad_arguments_are_named(bad: dict) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        solve(gyroscopic(6, seed=1), **bad)


def test_nlevp_wiresaw() -> None:
    """Betcke et al., NLEVP: gyroscopic problem of a moving wire, n = 10."""
    data = json.loads((REFERENCES / "B_nlevp.json").read_text())["values"]
    for speed in (0.01, 0.5, 0.9):
        expected = np.array(data[f"wiresaw1(n=10,v={speed})"]["eigs[re,im]"], dtype=float)
        expected = np.sort(expected[expected[:, 1] > 0, 1])
        n = 10
        j = np.arange(1, n + 1)
        K = np.diag(j**2 * np.pi**2 * (1 - speed**2) / 2)
        C = np.zeros((n, n))
        for a in range(n):
            for b in range(n):
                if (a + b) % 2:
                    C[a, b] = 4 * (a + 1) * (b + 1) / ((a + 1) ** 2 - (b + 1) ** 2) * speed
        for backend in BACKENDS:
            modes = solve(FrozenSystem(M=np.eye(n) / 2, C=C, K=K), k=n, backend=backend)
            np.testing.assert_allclose(modes.eigenvalues.imag, expected, rtol=1e-9)
            assert np.all(modes.eigenvalues.real == 0.0)


def test_a_stopped_krylov_run_hands_over_what_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    system = gyroscopic(150, seed=4, damping=0.3)
    exact = solve(system, k=12, backend="dense").eigenvalues
    monkeypatch.setattr(engines, "MOST_STEPS", 1)
    monkeypatch.setattr(block, "ROUNDS", 1)
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)  # no LAPACK
    with pytest.raises(ConvergenceError, match="of 12 modes") as caught:
        solve(system, k=12, backend="slepc")
    partial = caught.value.partial
    assert isinstance(partial, Modes) and 0 < len(partial) < 12
    for value in partial.eigenvalues:
        assert np.abs(exact / value - 1.0).min() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_krylov_schur_takes_over_from_a_stopped_block_run(
    monkeypatch: pytest.MonkeyPatch, damping: float
) -> None:
    system = gyroscopic(600, seed=4, damping=damping)
    expected = solve(system, k=8)
    assert expected.method == "block Rayleigh–Ritz"
    monkeypatch.setattr(block, "ROUNDS", 1)
    modes = solve(system, k=8)
    assert modes.method == "SLEPc Krylov–Schur"
    np.testing.assert_allclose(modes.eigenvalues, expected.eigenvalues, rtol=1e-9)


def test_result_that_fails_its_check_is_not_handed_out() -> None:
    with pytest.raises(AccuracyError, match="backward error"):
        solve(gyroscopic(60, seed=5), k=4, backward_error=1e-40)


def test_factorization_follows_the_structure() -> None:
    wanted = {"conservative": "Cholesky", "indefinite": "LDLᵀ", "circulatory": "LU"}
    for name, factor in wanted.items():
        modes = solve(gyroscopic(120, seed=5, **STRUCTURES[name]), k=3, backend="scipy")
        assert modes.factorization == factor


def test_a_schur_form_lapack_cannot_reorder_is_tried_in_another_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """xTREXC's "too close to swap" once, then always; any other PETSc error is handed on."""
    PETSc = pytest.importorskip("petsc4py.PETSc")
    from modal.eigen.solvers import engines

    real, sizes = engines._krylov_schur, list[int]()
    A = np.diag(np.arange(1.0, 61.0))

    def run(failures: int, code: int) -> np.ndarray:
        sizes.clear()

        def stubborn(apply, start, count, tolerance, ncv, restarts):  # type: ignore[no-untyped-def]
            sizes.append(ncv)
            if len(sizes) <= failures:
                raise PETSc.Error(code)
            return real(apply, start, count, tolerance, ncv, restarts)

        monkeypatch.setattr(engines, "_krylov_schur", stubborn)
        found = engines.krylov_schur(lambda x: A @ x, np.ones(60), 2, 1e-12).basis
        return np.linalg.eigvalsh(found.T @ A @ found)

    np.testing.assert_allclose(run(1, engines.PETSC_ERR_LIB)[-2:], [59.0, 60.0], rtol=1e-10)
    assert len(set(sizes)) == 2
    with pytest.raises(ConvergenceError, match="projected problem"):
        run(100, engines.PETSC_ERR_LIB)
    with pytest.raises(PETSc.Error):
        run(1, 55)


def test_a_factorization_that_delays_many_pivots_gets_more_room() -> None:
    """Next to the zeros of a slender free beam MUMPS needs more than three times its estimate."""
    section, length = assembly.circle(1.0449e-3), 0.12712
    body = assembly.beam(length, section, assembly.aluminium, 403, start=(-0.5 * length, 0.0, 0.0))
    modes = solve(body.freeze(omega=(0.0, 0.0, 40.343), epsilon=(0.0, 0.0, -9029.4)), k=4)
    assert modes.backward_error.max() < 1e-10
