"""Eigenpairs of batches of small quadratic pencils, and their rates without the energy that motion
and vibration exchange, against LAPACK on matrices made here."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose

from modal.reduction.reduced_eigen import solve_matrices, solve_points
from modal.tracking.variation import Derivatives, variations

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def definite(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    Q, _ = la.qr(rng.standard_normal((n, n)))
    return (Q * np.geomspace(low, high, n)) @ Q.T


def pencils(seed: int, count: int = 5, n: int = 7) -> Triple:
    """Damped, gyroscopic, circulatory."""
    rng = np.random.default_rng(seed)
    M = np.stack([definite(rng, n, 0.5, 2.0) for _ in range(count)])
    K = np.stack([definite(rng, n, 1e2, 1e6) for _ in range(count)])
    K += 3.0 * rng.standard_normal(K.shape)
    return M, 2.0 * rng.standard_normal(K.shape), K


def first_order(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> np.ndarray:
    n = len(M)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-la.solve(M, K), -la.solve(M, C)]])


def lowest_eigenpairs(
    M: np.ndarray, C: np.ndarray, K: np.ndarray, count: int
) -> tuple[np.ndarray, ...]:
    """Eigenvalues, right vectors of unit norm, left vectors."""
    modes = solve_matrices(np.stack([M, C, K]), count)
    unit = modes.right / np.linalg.norm(modes.right, axis=1, keepdims=True)
    return modes.eigenvalues, unit, modes.left


def check(M: np.ndarray, C: np.ndarray, K: np.ndarray, count: int, rtol: float) -> None:
    lam, q, u = lowest_eigenpairs(M, C, K, count)
    for p in range(len(M)):
        exact = la.eigvals(first_order(M[p], C[p], K[p]))
        exact = sorted(exact[exact.imag >= 0.0], key=abs)[:count]
        assert_allclose(lam[p], exact, rtol=rtol)
        T = [value**2 * M[p] + value * C[p] + K[p] for value in lam[p]]
        size = [
            abs(z) ** 2 * la.norm(M[p]) + abs(z) * la.norm(C[p]) + la.norm(K[p]) for z in lam[p]
        ]
        for i in range(count):
            assert la.norm(T[i] @ q[p, :, i]) < 1e-10 * size[i]
            assert la.norm(u[p, :, i].conj() @ T[i]) < 1e-10 * size[i] * la.norm(u[p, :, i])
        assert_allclose(np.linalg.norm(q[p], axis=0), 1.0)


def test_lowest_eigenpairs() -> None:
    check(*pencils(1), 4, 1e-11)


def test_double_eigenvalues_have_two_vectors() -> None:
    """Two equal parts: solves at a double eigenvalue would give nearly the same vector twice."""
    M, C, K = pencils(2, n=4)

    def twice(A: np.ndarray) -> np.ndarray:
        return np.stack([la.block_diag(one, one) for one in A])

    check(twice(M), twice(C), twice(K), 6, 1e-7)
    _, q, _ = lowest_eigenpairs(twice(M), twice(C), twice(K), 6)
    pairs = [q[p, :, i : i + 2] for p in range(len(q)) for i in (0, 2, 4)]
    assert max(np.linalg.cond(pair) for pair in pairs) < 100.0


@pytest.mark.parametrize("stiffness", [(-5.0, 0.0), (0.0, 0.0), (0.0, 4.0)])
def test_a_first_pencil_with_a_mode_of_no_stiffness(stiffness: tuple[float, float]) -> None:
    """At a critical speed K has a zero to the last digit: the rotor of docs/own_model.md."""
    M, C = np.stack([np.eye(2)] * 2), np.stack([[[0.02, -2.0], [2.0, 0.02]]] * 2)
    K = np.stack([np.diag(stiffness), np.diag([1.0, 3.0])])
    modes = solve_matrices(np.stack([M, C, K]), 4)
    for p in range(2):
        exact = la.eigvals(first_order(M[p], C[p], K[p]))
        exact = sorted(exact[exact.imag >= 0.0], key=lambda z: (abs(z), z.real))
        found = modes.eigenvalues[p, : len(exact)]
        found = sorted(found, key=lambda z: (abs(z), z.real))
        assert_allclose(found, exact, rtol=1e-6, atol=1e-7)


def motion(seed: int, breathing: float, damping: float = 0.0, n: int = 6) -> Derivatives:
    """Of an undamped Lagrangian with M(t), B(t), S(t) at an instant: C = Ṁ + B − Bᵀ, K = S + Ḃ …,
    so that C − Ṁ is skew and K − ½ d/dt skew C symmetric; plus damping."""
    rng = np.random.default_rng(seed)
    M, S = definite(rng, n, 0.5, 2.0), definite(rng, n, 1e2, 1e4)
    M1 = breathing * definite(rng, n, 0.1, 1.0)
    G, G1 = (A - A.T for A in rng.standard_normal((2, n, n)))
    C = M1 + G + damping * definite(rng, n, 0.5, 1.0)
    K = S + 0.5 * breathing * G1
    zero = np.zeros_like(M)
    first = (M1, breathing * G1, zero)
    value, first, second = (
        tuple(A[None] for A in triple) for triple in ((M, C, K), first, (zero, zero, zero))
    )
    return Derivatives(value, first, second, first)


def action_rates(at: Derivatives) -> tuple[np.ndarray, np.ndarray]:
    """λ without the exchanged energy, by `variations` and by LAPACK, (K,)."""
    (M, C, K), (M1, C1, _) = at.value, at.first
    lam, q, u = lowest_eigenpairs(M, C, K, 4)
    q = q / np.sqrt(np.abs(np.einsum("pik,pij,pjk->pk", q.conj(), M, q)))[:, None]
    found = variations(at, lam, q, u, 1.0).steady[0]
    C0, K0 = C[0] - M1[0], K[0] - 0.25 * (C1[0] - C1[0].T)
    exact = la.eigvals(first_order(M[0], C0, K0))
    return found, np.array(sorted(exact[exact.imag > 0.0], key=abs)[:4])


@pytest.mark.parametrize("seed", range(4))
def test_undamped_motion_has_no_rate_of_the_action(seed: int) -> None:
    """Frequencies from Rayleigh quotients, whose error is of second order in what motion adds."""
    errors = []
    for breathing in (0.2, 0.1):
        found, exact = action_rates(motion(seed, breathing))
        assert np.all(found.real == 0.0)
        errors.append(np.abs(found.imag / exact.imag - 1.0).max())
    assert errors[0] < 1e-4 and errors[1] < 0.35 * errors[0]


def test_damped_motion_has_the_rates_of_its_eigenvalues() -> None:
    """Damping, or a stiffness that is not definite, takes the eigenvalues themselves."""
    found, exact = action_rates(motion(7, 0.2, damping=0.3))
    assert np.all(found.real < -0.05)
    assert_allclose(found, exact, rtol=1e-9)


def test_null_fields_that_gyroscopic_forces_do_not_couple_leave_a_skew_problem() -> None:
    """K V = 0 and VᵀEV = 0: every other eigenvalue is exactly imaginary, and 2m zeros are left
    out. V is not a unit vector, and V and the other shapes are coupled as strongly as all."""
    rng = np.random.default_rng(5)
    r, m, k = 8, 2, 4
    Q, _ = la.qr(rng.standard_normal((r, r)))
    V, Z = Q[:, :m], Q[:, m:]
    K = Z @ definite(rng, r - m, 1e2, 1e6) @ Z.T
    E = 30.0 * rng.standard_normal((r, r))
    E -= E.T
    E -= V @ (V.T @ E @ V) @ V.T
    matrices, one = np.stack([np.eye(r), E, K])[:, None], np.ones(1, dtype=bool)
    none = np.zeros((r, 0))
    modes = solve_points(matrices, np.ones(r), one, k, prescribed=[(none, V)])
    exact = la.eigvals(first_order(np.eye(r), E, K))
    exact = np.sort(exact.imag[exact.imag > 1e-3])
    assert modes.exact.all() and np.all(modes.eigenvalues.real == 0.0)
    assert_allclose(modes.eigenvalues[0].imag, exact[:k], rtol=1e-9)
    lam, q, u = modes.eigenvalues[0], modes.right[0], modes.left[0]
    images = lam**2 * q + lam * (E @ q) + K @ q
    assert np.all(la.norm(images, axis=0) < 1e-12 * la.norm(K) * la.norm(q, axis=0))
    adjoint = lam.conj() ** 2 * u + lam.conj() * (E.T @ u) + K @ u
    assert np.all(la.norm(adjoint, axis=0) < 1e-12 * la.norm(K) * la.norm(u, axis=0))
