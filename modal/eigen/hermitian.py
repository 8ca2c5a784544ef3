"""Some eigenpairs of a small symmetric or Hermitian matrix.

LAPACK's ?syevr and ?heevr leave their fast method, multiple relatively robust representations
(Dhillon and Parlett, Linear Algebra Appl. 387 (2004) 1), for bisection and inverse iteration where
not all eigenpairs are asked for. Here ?stemr, which takes a range, follows the reduction to
tridiagonal form: two to three times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from modal.types import Array

BLOCK = 32  # columns of the reduction together


def eigenpairs_in_order(A: NDArray[Any], first: int, last: int) -> tuple[Array, NDArray[Any]]:
    """The eigenpairs number first … last of A (n, n), ascending from 0; its lower triangle is used.

    Returns
    -------
    values : ndarray, shape (last − first + 1,)
    vectors : ndarray, shape (n, last − first + 1)
        Orthonormal.
    """
    n, lapack = len(A), la.lapack
    if n == 1:
        return np.array([A[0, 0].real]), np.ones((1, 1), dtype=A.dtype)
    is_complex = np.iscomplexobj(A)
    reduce = lapack.zhetrd if is_complex else lapack.dsytrd
    apply = lapack.zunmqr if is_complex else lapack.dormqr
    reflectors, d, e, tau, failed = reduce(A, lower=1, lwork=BLOCK * n)
    if not failed:
        by_index = 2
        _, values, Z, failed = lapack.dstemr(
            d, np.append(e, 0.0), by_index, 0.0, 0.0, first + 1, last + 1
        )
    if failed:
        return la.eigh(A, subset_by_index=[first, last], check_finite=False)  # type: ignore[no-any-return]
    count = last - first + 1
    vectors = np.asfortranarray(Z[:, :count], dtype=A.dtype)
    vectors[1:] = apply("L", "N", reflectors[1:, :-1], tau, vectors[1:], lwork=BLOCK * n)[0]
    return values[:count], vectors
