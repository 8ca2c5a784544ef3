"""Projections of operators that share one scalar mass, against products with each operator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from assembly.linalg.combination import Kronecker
from modal.reduction.affine import Term
from modal.reduction.projection import combined, projections


@pytest.mark.parametrize("columns", [0, 1, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_shared_products_are_those_of_each_operator(columns: int, transposed: bool) -> None:
    """A basis without sketches has L with no columns at all."""
    rng = np.random.default_rng(3)
    m = sp.random(7, 7, 0.5, random_state=1)
    m = sp.csr_matrix(m + m.T)
    skew = np.cross(np.eye(3), [0.3, -1.0, 2.0])
    terms = [
        Term(Kronecker(m, np.eye(3))),
        Term(Kronecker(m, skew)),
        Term(sp.csr_matrix(sp.eye(21))),
    ]
    L, X = rng.standard_normal((21, columns)), rng.standard_normal((21, 5))
    for term, (found,) in zip(terms, projections(terms, [L], X, transposed), strict=True):
        A = term.operator.tocsr().T if transposed else term.operator.tocsr()
        np.testing.assert_allclose(found, L.T @ (A @ X), atol=1e-13)
        assert found.shape == (columns, 5)
    V, x = rng.standard_normal((21, 4)), rng.standard_normal((3, 4, 2))
    expected = sum(
        (t.operator.tocsr().T if transposed else t.operator.tocsr()) @ V @ y
        for t, y in zip(terms, x, strict=True)
    )
    np.testing.assert_allclose(combined(terms, V, x, transposed), expected, atol=1e-12)
