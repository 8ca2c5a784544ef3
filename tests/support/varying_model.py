"""A small model all of whose matrices vary, the integrators there are, and a reference solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from assembly.system.frozen import FrozenSystem

Array = NDArray[Any]

# Formalism, method, ρ∞ and declared order of every integrator.
METHODS = [
    ("lagrange", None, 1.0, 2),
    ("lagrange", None, 0.5, 2),
    ("lagrange", None, 0.0, 2),
    ("hamilton", "midpoint", 1.0, 2),
    ("hamilton", "gauss4", 1.0, 4),
    ("hamilton", "gauss6", 1.0, 6),
]


class VaryingModel:
    """A Lagrangian model of four unknowns whose M, G, K, D, N and Q are all there and vary.

    L = ½ q̇ᵀM(t)q̇ + q̇ᵀG(t)q − ½ qᵀK(t)q with skew G gives
    M q̈ + (Ṁ + 2G) q̇ + (K + Ġ) q; D and N are added to it.
    """

    n = 4

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        A, B, E, F, G, N = (rng.normal(size=(self.n, self.n)) for _ in range(6))
        self.M0, self.M1 = A @ A.T + 4 * np.eye(self.n), 0.1 * B @ B.T
        self.K0, self.K1 = 4 * E @ E.T + 5 * np.eye(self.n), 0.3 * F @ F.T
        self.G0, self.N = 0.5 * (G - G.T), 0.1 * (N - N.T)

    def freeze(self, t: float) -> FrozenSystem:
        M, M_rate = self.M0 + self.M1 * np.cos(t), -self.M1 * np.sin(t)
        G, G_rate = self.G0 * (1 + 0.5 * np.sin(t)), 0.5 * self.G0 * np.cos(t)
        return FrozenSystem(
            M=M,
            C=M_rate + 2 * G,
            K=self.K0 + self.K1 * np.sin(2 * t),
            K_epsilon=G_rate,
            D=0.02 * self.K1,
            K_D=self.N,
            Q=np.arange(1.0, self.n + 1) * np.sin(3 * t),
        )


def reference(model: Any, x0: Array, t1: float) -> Array:
    """The state at t1 by scipy's DOP853 at 1e-13 on the first-order form, an independent method."""
    n = len(x0) // 2

    def slope(t: float, x: Array) -> Array:
        s = model.freeze(t)
        force = s.Q - s.damping @ x[n:] - s.stiffness @ x[:n]
        return np.concatenate([x[n:], np.linalg.solve(s.M.toarray(), force)])

    return solve_ivp(slope, (0, t1), x0, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


def end_state(response: Any) -> Array:
    return np.concatenate([response.displacement[-1], response.velocity[-1]])
