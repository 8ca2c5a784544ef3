"""Some eigenpairs of small matrices, and solves that are done together: against LAPACK and one by
one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Combination, Kronecker, Lazy
from modal.eigen.hermitian import eigenpairs_in_order
from modal.eigen.solvers.skew import largest_of_skew
from modal.reduction.affine import AffineFamily
from modal.reduction.basis import Sketches
from modal.reduction.reference_operator import ReferenceOperator
from tests.support.chains import Chain


@pytest.mark.parametrize("n", [1, 2, 3, 20, 70])
@pytest.mark.parametrize("clustered", [False, True])
def test_eigenpairs_of_a_range_are_those_of_all(n: int, clustered: bool) -> None:
    """Against LAPACK's divide and conquer; half of the eigenvalues equal, or none."""
    rng = np.random.default_rng(n)
    Q = la.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
    values = rng.uniform(-1.0, 1.0, n)
    values[: n // 2] = 0.25 if clustered else values[: n // 2]
    H = (Q * values) @ Q.conj().T
    H = 0.5 * (H + H.conj().T)
    first, last = n // 3, min(n - 1, n // 3 + 9)
    found, vectors = eigenpairs_in_order(H, first, last)
    np.testing.assert_allclose(found, np.sort(values)[first : last + 1], atol=1e-13)
    np.testing.assert_allclose(H @ vectors, vectors * found, atol=1e-12)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(len(found)), atol=1e-12)


@pytest.mark.parametrize("size", [12, 60, 140])
def test_largest_of_a_skew_matrix(size: int) -> None:
    """Both ways, the complex one and that by the square, against all of LAPACK's eigenvalues."""
    A = np.random.default_rng(size).standard_normal((size, size))
    S = A - A.T
    tau, Y = largest_of_skew(S, 5)
    np.testing.assert_allclose(tau, np.sort(la.eigvalsh(1j * S))[::-1][:5], rtol=1e-12)
    np.testing.assert_allclose(S @ Y, -1j * tau * Y, atol=1e-9 * tau[0])


def test_solves_done_together_are_those_done_alone() -> None:
    model = Chain(15)
    family = AffineFamily(lambda p: model.freeze(**p), {"omega": 0.0})
    reference = ReferenceOperator(family, family.coefficients([dict(omega=0.1)]))
    rng = np.random.default_rng(2)
    one, other, block = (rng.standard_normal((model.n, count)) for count in (3, 2, 4))
    alone = [reference.solve(load) for load in (one, other, block)]
    first = reference.later(one, lambda x: 2.0 * x, steps=2)
    second = reference.later(other)
    before = reference.solves
    np.testing.assert_allclose(reference.solve(block), alone[2], rtol=1e-12)
    assert reference.solves == before + 9  # all of them at once
    np.testing.assert_allclose(second.solutions()[0], alone[1], rtol=1e-12)
    x, y = first.solutions()  # the second step now, since nothing else is solved
    np.testing.assert_allclose(x, alone[0], rtol=1e-12)
    np.testing.assert_allclose(y, reference.solve(2.0 * x), rtol=1e-12)
    assert reference.solves == before + 15
    theta = Sketches(reference).theta
    assert theta.shape == (model.n, 32) and np.isfinite(theta).all()
    reference.destroy()


def test_diagonals_and_products_without_the_matrix() -> None:
    rng = np.random.default_rng(5)
    m = sp.random(6, 6, 0.5, format="csr", random_state=3) + sp.identity(6, format="csr")
    kron = Kronecker(sp.csr_matrix(m), rng.standard_normal((3, 3)))
    lazy = Lazy(kron.shape, lambda: kron)
    total = Combination.of(18, [2.0, 1.0], [lazy, sp.identity(18, format="csr")])
    dense = total.tocsr().toarray()
    np.testing.assert_allclose(total.diagonal(), np.diag(dense))
    x = rng.standard_normal((18, 2))
    np.testing.assert_allclose(total @ x, dense @ x)
    np.testing.assert_array_equal(Combination((18, 18)) @ x, np.zeros((18, 2)))
