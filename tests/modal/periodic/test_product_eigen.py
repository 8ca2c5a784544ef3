"""Eigenvalues of products of matrices, their error bounds, and the bounds of one matrix."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg as la

from modal.periodic import product_eigen
from modal.periodic.product_eigen import eigenvalue_bounds, product_modes

EPS = float(np.finfo(float).eps)


def by_mpmath(factors: np.ndarray) -> np.ndarray:
    """log |μ| of the product, largest first, in 400 digits."""
    with mpmath.workdps(400):
        product = mpmath.eye(factors.shape[1])
        for F in factors:
            product = mpmath.matrix(F.tolist()) * product
        values = mpmath.eig(product, left=False, right=False)
        return np.sort([float(mpmath.log(abs(v))) for v in values])[::-1]


def product(seed: int, n: int, p: int, spread: float) -> np.ndarray:
    """Random factors between random bases, with moduli over e^−spread … 1, some in pairs."""
    rng = np.random.default_rng(seed)
    bases = [np.eye(n) + 0.4 * rng.normal(size=(n, n)) / np.sqrt(n) for _ in range(p)]
    bases.append(bases[0])
    turn = rng.uniform(0.0, 1.0)
    middle = np.diag(np.exp(rng.uniform(-spread, 0.0, size=n) / p))
    middle[1, 1] = middle[0, 0]
    middle[:2, :2] = middle[0, 0] * np.array(
        [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    )
    return np.array([bases[i + 1] @ middle @ np.linalg.inv(bases[i]) for i in range(p)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n, p, spread", [(4, 1, 2.0), (5, 12, 60.0), (6, 120, 700.0)])
def test_all_moduli_to_their_bounds(seed: int, n: int, p: int, spread: float) -> None:
    factors = product(seed, n, p, spread)
    modes = product_modes(factors, np.zeros(p))
    gap = np.abs(modes.logs.real - by_mpmath(factors))
    assert np.all(gap <= modes.error)
    assert modes.error.max() < 1e-7
    # A vector comes back multiplied, after every factor has taken its size away.
    x, log = modes.vectors[:, 0], 0.0
    for F in factors:
        x = F @ x
        log += np.log(np.linalg.norm(x))
        x = x / np.linalg.norm(x)
    assert log == pytest.approx(modes.logs[0].real, abs=1e-10)
    assert abs(np.vdot(x, modes.vectors[:, 0])) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_errors_of_the_factors_are_covered(seed: int) -> None:
    """Every factor is changed by a random matrix of the stated relative norm."""
    rng, size = np.random.default_rng(seed), 1e-7
    factors = product(seed, 5, 15, 80.0)
    changed = factors.copy()
    for F in changed:
        E = rng.normal(size=F.shape)
        F += size * np.linalg.norm(F, 2) * E / np.linalg.norm(E, 2)
    modes = product_modes(factors, np.full(15, size))
    other = product_modes(changed, np.zeros(15))
    assert np.all(np.abs(modes.logs.real - other.logs.real) <= modes.error)
    assert modes.error.max() < 1e-2


def test_bounds_in_coordinates_of_unlike_sizes_are_those_of_the_worst_changes() -> None:
    """Turns by 0.7 and 1.6 rad between coordinates 1e4 apart, as of displacements in the energy of
    stiffer shapes: yᴴE_i x of unit vectors is largest for E_i = ‖E_i‖ y xᴴ."""
    sizes, size, p = np.diag([1e4, 1.0, 1e4, 1.0]), 1e-13, 64
    turns = [0.3 * np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0.7, 1.6)]
    F = sizes @ la.block_diag(*turns) @ np.linalg.inv(sizes)
    modes = product_modes(np.repeat(F[None], p, axis=0), np.full(p, size))
    values, left, right = la.eig(F, left=True)
    changes = (size + 4 * EPS) * np.linalg.norm(F, 2) / 0.3
    for n, value in enumerate(values):
        due = p * changes / abs(np.vdot(left[:, n], right[:, n]))
        mode = np.argmin(abs(modes.logs.imag - np.angle((value / 0.3) ** p)))
        assert modes.logs[mode].real == pytest.approx(p * np.log(0.3), abs=modes.error[mode])
        assert 0.999 * due <= modes.error[mode] <= 1.5 * due


def test_below_round_off_of_its_factor_a_multiplier_has_an_upper_bound() -> None:
    # One factor alone cannot show e^−60 beside 1 under a change of 1e-12.
    modes = product_modes(np.diag([1.0, np.exp(-60.0)])[None], np.array([1e-12]))
    assert modes.error[0] < 1e-10 and np.isinf(modes.error[1])
    assert -60.0 < modes.logs[1].real < np.log(1e-11)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_defective_eigenvalue_moves_by_a_root(size: int) -> None:
    """The corner of a Jordan block of m equal eigenvalues, changed by δ, moves them by δ^(1/m)."""
    change, others = 1e-9, np.diag([0.5, 0.2])
    P = np.zeros((size + 2, size + 2))
    P[:size, :size] = np.eye(size) + np.eye(size, k=1)
    P[size:, size:] = others
    bounds = eigenvalue_bounds(P, np.diag(P).astype(complex), change)
    corner = P.copy()
    corner[size - 1, 0] += change
    moved = np.abs(np.linalg.eigvals(corner)[:, None] - 1.0).min()
    due = change ** (1.0 / size)
    assert moved == pytest.approx(due, rel=1e-2)
    assert np.all((due <= bounds[:size]) & (bounds[:size] < 10.0 * due))
    assert np.all(bounds[size:] < 1e-7)


@pytest.mark.parametrize("dofs", [3, 6])
def test_multipliers_of_rigid_motions_move_by_a_square_root(dofs: int) -> None:
    """A free body drifts: 1 with Jordan blocks of size two. A change of δ moves it by √(δ‖N‖), and
    not by the sixth or twelfth root; beside it other multipliers, in coordinates of no meaning."""
    rng, change, drift = np.random.default_rng(dofs), 1e-10, 4.0
    N, n = 2 * dofs, 2 * dofs + 6
    inside = np.eye(n)
    inside[:dofs, dofs:N] = drift * np.eye(dofs)
    inside[N:, N:] = la.block_diag(
        *([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]] for x in (0.7, 1.4, 2.1))
    )
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    P = Q @ inside @ Q.T
    values = np.linalg.eigvals(P).astype(complex)
    rigid = np.abs(values - 1.0) < 0.1
    bounds = eigenvalue_bounds(P, values, change)
    due = np.sqrt(change * drift)
    assert rigid.sum() == N
    assert np.all((due <= bounds[rigid]) & (bounds[rigid] < 2.0 * due))
    assert np.all(bounds[~rigid] < 10.0 * change)
    corner = np.zeros((n, n))
    corner[dofs, 0] = change
    moved = np.abs(np.linalg.eigvals(P + Q @ corner @ Q.T) - 1.0)
    assert np.sort(moved)[N - 1] == pytest.approx(due, rel=0.1)
    for _ in range(20):
        E = rng.normal(size=P.shape)
        moved = np.linalg.eigvals(P + change * E / np.linalg.norm(E, 2))
        assert np.all(np.abs(values[:, None] - moved).min(axis=1) <= bounds + 50.0 * EPS)


def test_clusters_that_cannot_give_a_lesser_bound_are_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []
    reordered = product_eigen.ztrsen
    monkeypatch.setattr(
        product_eigen, "ztrsen", lambda *a, **b: (tried.append(sum(a[0])), reordered(*a, **b))[1]
    )
    P = np.triu(np.random.default_rng(0).normal(size=(20, 20))) + np.diag(3.0 * np.arange(20.0))
    bounds = eigenvalue_bounds(P, np.diag(P).astype(complex), 1e-10)
    assert tried == [1] * 20 and np.all((bounds >= 1e-10) & (bounds <= 1e-5))


@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_for_random_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    P = np.triu(rng.normal(size=(6, 6))) + np.diag([3.0, 3.0, 1.0, 1.001, 0.2, -1.0])
    change = 10.0 ** rng.uniform(-12.0, -3.0)
    values = np.linalg.eigvals(P).astype(complex)
    bounds = eigenvalue_bounds(P, values, change)
    for _ in range(20):
        E = rng.normal(size=P.shape)
        moved = np.linalg.eigvals(P + change * E / np.linalg.norm(E, 2))
        assert np.all(np.abs(values[:, None] - moved).min(axis=1) <= bounds + 50.0 * EPS)


@pytest.mark.parametrize("seed", range(40))
def test_moduli_beyond_round_off_of_every_factor(seed: int) -> None:
    """Factors X_i D X_{i−1}⁻¹ whose D spans up to e^250: what is seen is right, what is not has an
    upper bound. The errors are those of making the factors."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 6)), int(rng.integers(1, 12))
    logs = -rng.uniform(0.0, 1.0, size=n) * 10.0 ** rng.uniform(1.0, 2.4)
    bases = [np.eye(n) + 0.4 * rng.normal(size=(n, n)) / np.sqrt(n) for _ in range(p)]
    bases.append(bases[0])
    factors = [bases[i + 1] @ np.diag(np.exp(logs)) @ np.linalg.inv(bases[i]) for i in range(p)]
    modes = product_modes(np.array(factors), np.full(p, 2e-14 * n * n))
    due, found, seen = p * logs, modes.logs.real, np.isfinite(modes.error)
    gap = np.abs(found[seen][:, None] - due)
    assert seen.any() and np.all(gap.min(axis=1) <= modes.error[seen])
    rest = np.delete(due, gap.argmin(axis=1))
    assert rest.size == 0 or rest.max() <= found[~seen].max()


def test_changes_whose_products_are_larger_than_they_are_leave_bounds_of_the_norm() -> None:
    """Two changes that meet in a coordinate which one factor lets grow by 1e5 and its neighbours
    let fall as much: by each alone the eigenvalues 1, −1 and −0.3 move by less."""
    graded, root, last = 0.01, 0.1, np.sqrt(0.3 / 1e5) / 0.01
    diagonals = [
        (graded, 1.0, graded), (1.0 / root, -1.0 / root, -last), (1.0, 1.0, 1e5),
        (1.0 / root, 1.0 / root, last), (1.0, graded, graded),
    ]  # fmt: skip
    factors = np.array([np.diag(row) for row in diagonals])
    after = np.abs(np.prod(diagonals[2:], axis=0)).max()
    before = np.abs(np.prod(diagonals[:3], axis=0)).max()
    changes = np.array([0.0, 0.51 / after, 0.0, 0.51 / before, 0.0])
    modes = product_eigen._block_modes(factors, changes)
    factors[1, 2, 1], factors[3, 1, 2] = -changes[1], changes[3]
    moved = np.linalg.eigvals(np.linalg.multi_dot(factors[::-1])).astype(complex)
    assert np.abs(np.log(-moved)).min() > 0.012
    for log, error in zip(modes.logs, modes.error, strict=True):
        assert np.abs(np.log(moved / np.exp(log))).min() <= error
    assert np.log(np.abs(moved)).max() <= modes.logs.real.max()
