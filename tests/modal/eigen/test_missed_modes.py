"""The block method of damped, overdamped and circulatory systems returns every one of the lowest
modes, with repeated ones as often as they are there."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly import FrozenSystem
from assembly.errors import ConvergenceError
from assembly.gallery import block
from modal import solve
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.block import BlockSolver
from modal.eigen.solvers.shape_basis import ShapeBasis, operators_of
from modal.eigen.solvers.symmetric_stiffness import SymmetricStiffness
from tests.support.damped_families import FAMILIES, damped_system

SAME = 1e-6  # relative difference of moduli of one mode in both solutions


def reference(system: FrozenSystem) -> np.ndarray:
    """The moduli |λ| with Im λ ≥ 0 of all modes in the order of `modal.solve`, by LAPACK.

    Of the inverse first-order form in the coordinates of the Cholesky factors of K, Kᵀ ≠ K too, and
    M, in which a symmetric D gives a symmetric block.
    """
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    n = len(M)
    S = 0.5 * (K + K.T)
    L, N = la.cholesky(S, lower=True), la.cholesky(M, lower=True)
    A = np.zeros((2 * n, 2 * n))  # states (Lᵀq, Nᵀv)
    P = la.solve_triangular(N, L, lower=True)
    Q = la.solve_triangular(L, (K - S), lower=True)
    Q = P @ la.solve_triangular(L, Q.T, lower=True).T
    A[:n, n:] = P.T
    A[n:, :n] = -P - Q
    A[n:, n:] = -la.solve_triangular(N, la.solve_triangular(N, C, lower=True).T, lower=True).T
    inverse, Y = la.eig(la.inv(A))
    Y, inverse = Y[:, np.abs(inverse) > 0.0], inverse[np.abs(inverse) > 0.0]
    lam = 1.0 / inverse
    upper = (lam.imag > 0.0) | (np.abs(lam.imag) <= 1e-9 * np.abs(lam))
    lam, Y = lam[upper], Y[:, upper]
    small = np.linalg.norm(Y[:n], axis=0) < np.linalg.norm(Y[n:], axis=0)
    q = np.where(
        small, la.solve_triangular(N.T, Y[n:]), la.solve_triangular(L.T, Y[:n])
    )  # either half is the shape
    stiffness, mass = (np.abs(np.einsum("ij,ij->j", q.conj(), B @ q)) for B in (K, M))
    slow = (lam.real < 0.0) & (np.abs(lam.imag) < 0.2 * np.abs(lam)) & bool(C.any())
    rank = np.where(slow, np.sqrt(stiffness / mass), np.abs(lam))
    return np.abs(lam)[np.lexsort((np.abs(lam), rank.round(9)))]


def verdict(system: FrozenSystem, k: int, seed: int) -> tuple[str, float]:
    """ "right", "missed" or "refused", and the largest relative difference of the k moduli."""
    solver = BlockSolver(Quadratic(system))
    try:
        found = np.sort(np.abs(solver.find(k, seed).eigenvalues[:k]))
    except ConvergenceError:
        return "refused", 0.0
    finally:
        solver.destroy()
    expected = np.sort(reference(system)[:k])
    if len(found) < len(expected):
        return "missed", np.inf
    error = float(np.max(np.abs(found / expected - 1.0)))
    return ("right" if error <= SAME else "missed"), error


@pytest.mark.parametrize("family", FAMILIES)
def test_none_of_the_lowest_modes_is_missed(family: str) -> None:
    """Against LAPACK on systems of 30 to 90 unknowns."""
    for seed in range(6):
        system = damped_system(family, seed, largest=90)
        assert verdict(system, 4 + seed, seed)[0] == "right", seed


def test_modes_that_accumulate_are_found() -> None:
    """Overdamped modes next to each other, three times each: not by a sparse method."""
    system = damped_system("repeated", 36)
    modes = solve(system, k=13)
    np.testing.assert_allclose(
        np.sort(np.abs(modes.eigenvalues)), np.sort(reference(system)[:13]), rtol=1e-10
    )


@pytest.mark.slow
def test_proportional_damping_and_spin_up_are_solved_by_the_block_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """aM + bK beside K, and an acceleration along the angular velocity: as LAPACK has it."""
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)
    body = block(11, 3, 3, "hex8").with_damping(a=6.0, b=1e-5)
    system = body.freeze(omega=(0.0, 0.0, 250.0), epsilon=(0.0, 0.0, 1e4))
    assert verdict(system, 6, 0)[0] == "right"
    modes = solve(system, k=6)
    assert modes.method == "block Rayleigh–Ritz"
    assert modes.backward_error.max() < 1.1e-11  # a tenth of what `solve` allows


def test_operators_of_the_projection_sum_to_the_quadratic() -> None:
    """ε not along ω: by products with the matrices."""
    system = block(4, 2, 2, "hex8").freeze(omega=(30.0, -80.0, 250.0), epsilon=(1e4, 2e3, -5e3))
    quadratic = Quadratic(system)
    none = np.zeros((system.n, 0))
    reference = SymmetricStiffness(quadratic, none, none)
    operators = operators_of(quadratic, reference)
    reference.destroy()
    assert set(operators) == {"mass", "gyroscopic", "circulatory"}
    q = np.random.default_rng(0).standard_normal((system.n, 3))
    lam = np.array([-3.0 + 400.0j])
    for transposed in (False, True):
        total = quadratic.stiffness_parts[0] @ q + sum(
            A.weight(lam, np.array([transposed])) * (A.matrix @ q) for A in operators.values()
        )
        Q = system.M * lam[0] ** 2 + system.damping * lam[0] + system.stiffness
        expected = (Q.T if transposed else Q) @ q
        np.testing.assert_allclose(total, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


def test_left_vectors_of_the_block_method_solve_the_transposed_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the backward error 1e-10 that docs/numerics.md states."""
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)
    body = block(11, 3, 3, "hex8").with_damping(a=6.0, b=1e-5)
    system = body.freeze(omega=(0.0, 0.0, 250.0), epsilon=(1e4, 0.0, 1e4))
    modes = solve(system, k=6)
    assert modes.method == "block Rayleigh–Ritz"
    quadratic = Quadratic(system)
    error = quadratic.transposed.backward_error(modes.eigenvalues, modes.left.conj())
    assert error.max() <= 1.1e-10
    reference_modes = solve(system, k=6, backend="scipy")
    np.testing.assert_allclose(modes.eigenvalues, reference_modes.eigenvalues, rtol=1e-11)
    np.testing.assert_allclose(modes.condition_number, reference_modes.condition_number, rtol=1e-5)


def test_stiffness_images_that_are_inaccurate_are_recomputed() -> None:
    """Shapes whose K q is given 1e-6 wrong: products with the matrices themselves decide."""
    quadratic = Quadratic(block(4, 2, 2, "hex8").freeze(omega=(30.0, -80.0, 250.0)))
    none = np.zeros((quadratic.n, 0))
    reference = SymmetricStiffness(quadratic, none, none)
    basis = ShapeBasis(quadratic, reference)
    rng = np.random.default_rng(1)
    for error in (0.0, 1e-6):
        load = rng.standard_normal((quadratic.n, 3))
        shapes, _ = reference.solve(load)
        noise = np.linalg.norm(shapes, axis=0) * rng.standard_normal(shapes.shape)
        basis.add(shapes + error * noise / np.sqrt(quadratic.n), load)
        basis.image("mass")
    assert not basis.verify()
    M, _, _ = basis.projected()
    images = reference.matrix @ basis.V
    reference.destroy()
    assert np.linalg.norm(basis.KV - images) < 1e-12 * np.linalg.norm(images)
    np.testing.assert_allclose(basis.V.T @ images, np.eye(6), atol=1e-10)
    exact = basis.V.T @ (quadratic.M @ basis.V)
    np.testing.assert_allclose(M, exact, atol=1e-12 * np.linalg.norm(exact))


def test_modes_of_a_heavily_damped_small_model_cost_one_eigensolution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D = bK with 1/b below the tenth mode, more DOFs than LAPACK serves by its cost: no Krylov."""
    from modal.eigen.solvers import engines

    monkeypatch.setattr(engines, "MOST_STEPS", None)  # a Krylov run would raise TypeError
    body = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 30, clamped="start")
    system = body.with_damping(b=1e-2).freeze()
    modes = solve(system, k=10)
    assert modes.method == "dense LAPACK" and system.n == 180
    np.testing.assert_allclose(
        np.sort(np.abs(modes.eigenvalues)), np.sort(reference(system)[:10]), rtol=1e-8
    )


@pytest.mark.parametrize("kind", ["light damping", "growth alone", "soft springs"])
def test_no_search_for_partners_that_are_known(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real eigenvalues whose shapes have the other one among the modes found, or at zero."""
    body = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 24)
    motion = dict(omega=(0.0, 0.0, 0.0))
    if kind == "growth alone":
        motion = dict(omega=(0.0, 0.0, 9.0), epsilon=(0.0, 0.0, 2000.0))
    else:
        body = body.with_damping(a=5.0)
    if kind == "soft springs":
        for node in (0, 12, 24):
            body = assembly.attach_spring(body, node, stiffness=10.0 * np.eye(6))
    system = body.freeze(**motion)
    due = solve(system, k=16, backend="dense").eigenvalues
    monkeypatch.setattr(import_module("modal.eigen.solve"), "_dense", None)
    monkeypatch.setattr(import_module("modal.eigen.solve"), "LAPACK", 1.0)
    found = solve(system, k=16)
    assert "LAPACK" not in found.solver and found.eigenvalues.real.min() < -1.0
    for lam in found.eigenvalues:  # those of equal size in any order
        assert np.abs(due - lam).min() < SAME * np.abs(lam)
    assert np.isclose(found.eigenvalues.sum(), due.sum(), rtol=SAME)
