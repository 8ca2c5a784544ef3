"""Bounds on the change of the eigenvalues of a matrix under a perturbation of given norm.

A well separated eigenvalue changes by ‖E‖/|yᴴx|; one of a cluster of m nearly equal ones, which may
be defective, by up to the m-th root of it. For each eigenvalue the clusters of its nearest
neighbours are tried in turn: the perturbation of the cluster's own m × m matrix from Stewart's
theorem, the eigenvalues of that matrix from Henrici's (G. W. Stewart and J. Sun, Matrix
Perturbation Theory, 1990, theorems V.2.7 and IV.1.9).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.linalg.lapack import ztrsen
from scipy.optimize import linear_sum_assignment

from modal.types import Array, Complex

LARGEST_CLUSTER = 4
SHARP = 1e-9  # of |μ|: a bound at which larger clusters are not tried
SEPARATION = 0.5  # of LAPACK's estimate of sep, which may be too large


def eigenvalue_bounds(P: Array, values: Complex, change: float) -> Array:
    """Bound on the distance of each of `values` (m,), P's eigenvalues, from one of P + E.

    P (m, m); change: ‖E‖₂.
    """
    m = len(P)
    if m == 1:
        return np.array([change])
    T, _ = la.schur(P, output="complex")
    _, place = linear_sum_assignment(np.abs(values[:, None] - np.diag(T)[None, :]))
    whole = _henrici(T, change)
    return np.array([_bound(T, int(i), change, whole) for i in place])


def _bound(T: Complex, i: int, change: float, whole: float) -> float:
    m = len(T)
    diagonal = np.diag(T)
    nearest = np.argsort(np.abs(diagonal - diagonal[i]), kind="stable")
    best = whole
    for size in range(1, min(LARGEST_CLUSTER, m - 1) + 1):
        select = np.zeros(m, dtype=np.int32)
        select[nearest[:size]] = 1
        ordered, _, _, _, _, sep, info = ztrsen(
            select, T, np.eye(m), job="V", wantq=0, lwork=2 * m * m
        )
        if info != 0:
            continue
        coupling = float(la.norm(ordered[:size, size:], 2)) + change
        apart = SEPARATION * sep - 2.0 * change
        if apart <= 0.0 or 4.0 * change * coupling >= apart * apart:
            continue
        inside = change + coupling * 2.0 * change / apart
        best = min(best, _henrici(ordered[:size, :size], inside))
        if best <= SHARP * abs(diagonal[i]):
            break
    return best


def _henrici(T: Complex, change: float) -> float:
    """Largest shift of an eigenvalue of the upper triangular T (m, m) under ‖E‖₂ = change."""
    m = len(T)
    departure = float(la.norm(np.triu(T, 1), 2)) if m > 1 else 0.0
    with np.errstate(over="ignore"):
        theta = change * float(np.sum(departure ** np.arange(m, dtype=float)))
        return float(max(theta, theta ** (1.0 / m)))
