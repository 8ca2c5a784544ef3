"""Floquet multipliers of a mechanism in full order: Gauss steps of order 12 on its equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.mechanisms.mechanism import Mechanism
from modal.types import Array, Complex

STAGES, FEWEST = 6, 32
RESOLUTION = 1.3  # |λ| h of the k-th frozen mode: its phase is then right to about 1e-11


def full_logs(mechanism: Mechanism, period: float, k: int) -> Complex:
    """log μ (2n,) of all degrees of freedom, in steps that resolve the k slowest frozen modes."""
    nodes, weights, a = _tableau()
    series = mechanism.freeze_many(period * np.arange(8) / 8)
    fastest = max(
        float(la.eigvalsh(0.5 * (K + K.T), M, subset_by_index=[k - 1, k - 1])[0]) ** 0.5
        for M, K in zip(series.mass, series.stiffness, strict=True)
    )
    steps = max(FEWEST, int(np.ceil(fastest * period / RESOLUTION)))
    h = period / steps
    first = mechanism.freeze_many([0.0])
    _, V = la.eigh(0.5 * (first.stiffness[0] + first.stiffness[0].T), first.mass[0])
    n, s = V.shape[1], STAGES
    total = np.eye(2 * n)
    for j in range(steps):
        series = mechanism.freeze_many(h * (j + nodes))
        M, C, K = (V.T @ (A @ V) for A in (series.mass, series.damping, series.stiffness))
        matrix = np.zeros((s, n, s, n))
        for i in range(s):
            matrix[i, :, i] = M[i]
            for k in range(s):
                matrix[i, :, k] += h * a[i, k] * C[i] + h * h * (a @ a)[i, k] * K[i]
        load = -np.concatenate([K, C + h * nodes[:, None, None] * K], axis=2)
        found = la.solve(matrix.reshape(s * n, s * n), load.reshape(s * n, 2 * n))
        A = found.reshape(s, n, 2 * n)
        step = np.eye(2 * n)
        step[:n, n:] += h * np.eye(n)
        step[:n] += h * h * np.tensordot(weights @ a, A, 1)
        step[n:] += h * np.tensordot(weights, A, 1)
        total = step @ total
    return np.asarray(np.log(la.eigvals(total).astype(complex)))


def _tableau() -> tuple[Array, Array, Array]:
    """Nodes, weights and coefficients of Gauss collocation on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(STAGES)
    c, k = 0.5 * (points + 1.0), np.arange(STAGES)
    a = la.solve((c[:, None] ** k).T, (c[:, None] ** (k + 1) / (k + 1)).T).T
    return c, 0.5 * weights, a


def distances(logs: Complex, exact: Complex) -> Array:
    """From each log μ to the nearest of `exact`, Im on its circle."""
    apart = logs[:, None] - exact[None, :]
    return np.asarray(np.hypot(apart.real, np.abs(np.exp(1j * apart.imag) - 1.0)).min(axis=1))
