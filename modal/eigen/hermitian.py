"""Some eigenpairs of a small Hermitian matrix.

LAPACK's zheevr leaves its fast method, multiple relatively robust representations (Dhillon and
Parlett, Linear Algebra Appl. 387 (2004) 1), for bisection and inverse iteration where not all
eigenpairs are asked for. Here dstemr, which takes a range, follows the reduction to tridiagonal
form: up to twice as fast, but not with double eigenvalues.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.types import Array, Complex


def eigenpairs_in_order(H: Complex, first: int, last: int) -> tuple[Array, Complex]:
    """The eigenpairs number first … last of H (n, n), ascending from 0; its lower triangle is used.

    Returns
    -------
    values : ndarray, shape (last − first + 1,)
    vectors : ndarray, shape (n, last − first + 1)
        Orthonormal.
    """
    n, count, lapack = len(H), last - first + 1, la.lapack
    by_index = 2  # dstemr: the eigenvalues number … to …
    if n > 1:
        room = int(lapack.zhetrd_lwork(n, lower=1)[0].real)
        reflectors, d, e, tau, failed = lapack.zhetrd(H, lower=1, lwork=room)
        if not failed:
            e = np.append(e, 0.0)
            _, values, Z, failed = lapack.dstemr(d, e, by_index, 0.0, 0.0, first + 1, last + 1)
        if not failed:
            vectors = np.asfortranarray(Z[:, :count], dtype=complex)
            vectors[1:] = lapack.zunmqr(
                "L", "N", reflectors[1:, :-1], tau, vectors[1:], lwork=room
            )[0]
            return values[:count], vectors
    values, vectors = np.linalg.eigh(H)
    return values[first : last + 1], vectors[:, first : last + 1]


def largest_of_skew(S: Array, count: int) -> tuple[Array, Complex]:
    """The `count` largest τ > 0, descending, and vectors of S y = −iτ y for a real skew S."""
    tau, y = eigenpairs_in_order(1j * S, len(S) - count, len(S) - 1)
    return tau[::-1], y[:, ::-1]
