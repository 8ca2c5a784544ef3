"""Seeded random instants of every structure, and a 50-digit reference, shared by the tests of the
solvers."""

from __future__ import annotations

import mpmath
import numpy as np

from assembly import FrozenSystem
from modal.eigen.mode_count import Circle, missing_inside
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.determinant import Determinant
from modal.types import Complex

# Options of `gyroscopic`, one set for every structure an instant can have.
STRUCTURES: dict[str, dict[str, float]] = {
    "conservative": {},
    "damped": dict(damping=0.3),
    "circulatory": dict(circulatory=0.5),
    "damped circulatory": dict(damping=0.3, circulatory=0.4),
    "indefinite": dict(shift=3.0),
}


def gyroscopic(
    n: int, seed: int, damping: float = 0.0, circulatory: float = 0.0, shift: float = 0.0
) -> FrozenSystem:
    """Random M, K positive definite (K − shift I), C skew; optional damping D ≥ 0 and circulatory
    K(ε)."""
    r = np.random.default_rng(seed)

    def square() -> np.ndarray:
        return r.standard_normal((n, n))

    A, B, G = square(), square(), square()
    extra = {}
    if damping:
        W = square()
        extra["D"] = damping * (W @ W.T) / n
    if circulatory:
        W = square()
        extra["K_epsilon"] = circulatory * (W - W.T)
    return FrozenSystem(
        M=A @ A.T / n + np.eye(n),
        C=G - G.T,
        K=B @ B.T + 0.1 * np.eye(n) - shift * np.eye(n),
        **extra,
    )


def free(n: int, m: int, seed: int, coupled: bool = False) -> FrozenSystem:
    """As `gyroscopic` with m rigid fields V, K V = 0; VᵀCV = 0 unless coupled."""
    r = np.random.default_rng(seed)
    A, B, G = (r.standard_normal((n, n)) for _ in range(3))
    V = r.standard_normal((n, m))
    Q = np.linalg.qr(V)[0]
    P = np.eye(n) - Q @ Q.T
    C = G - G.T
    if not coupled:
        C = C - Q @ (Q.T @ C @ Q) @ Q.T
    K = P @ (B @ B.T) @ P
    return FrozenSystem(M=A @ A.T / n + np.eye(n), C=C, K=0.5 * (K + K.T), rigid=V)


def upper_spectrum(system: FrozenSystem, digits: int = 50) -> np.ndarray:
    """All eigenvalues with Im λ ≥ 0, sorted by modulus, by mpmath's QR method at the given
    precision."""
    n = system.n
    with mpmath.workdps(digits):
        M, C, K = (
            mpmath.matrix(A.toarray().tolist())
            for A in (system.M, system.damping, system.stiffness)
        )
        A = mpmath.zeros(2 * n)
        bottom = mpmath.inverse(M) * _wide(K, C)
        for i in range(n):
            A[i, n + i] = 1
            for j in range(2 * n):
                A[n + i, j] = -bottom[i, j]
        values = [complex(v) for v in mpmath.eig(A, left=False, right=False)]
    # A real eigenvalue keeps an imaginary part from the round-off of the largest, of either sign.
    noise = 10.0 ** (-0.6 * digits) * max(abs(v) for v in values)
    found = np.array([v for v in values if v.imag >= -noise])
    return found[np.argsort(np.abs(found))]


def _wide(K: mpmath.matrix, C: mpmath.matrix) -> mpmath.matrix:
    n = K.rows
    out = mpmath.zeros(n, 2 * n)
    for i in range(n):
        for j in range(n):
            out[i, j], out[i, n + j] = K[i, j], C[i, j]
    return out


def contour_count(quadratic: Quadratic, circle: Circle, known: Complex) -> int:
    """Number of eigenvalues inside a circle, with multiplicity: those known, and those missing."""
    missing = missing_inside(Determinant(quadratic).log, circle, known)
    return missing + int(circle.contains(known).sum())
