"""Rotors with rigid blades on lag hinges, written out by hand (after Hammond, 1974)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import assembly

LAG_DAMPER = 4067.5


class HingedRotor:
    """Blades on lag hinges of a hub that moves in its plane: unknowns x, y, ζ_1 … ζ_N.

    Blade b of mass m_b, first moment S and inertia I about the hinge at e turns at Ω. From the
    kinetic energy of a point at r of the blade,
    x_p = x + e cos ψ + r cos(ψ + ζ), y_p = y + e sin ψ + r sin(ψ + ζ), to second order.
    """

    def __init__(
        self,
        omega: float,
        dampers: Sequence[float] = (LAG_DAMPER,) * 4,
        *,
        hub: tuple[float, float] = (8026.6, 3283.6),
        stiffness: tuple[float, float] = (1240481.8, 1240481.8),
        damping: tuple[float, float] = (51078.7, 25539.3),
        springs: float = 0.0,
    ) -> None:
        self.omega, self.dampers = omega, np.array(dampers)
        self.hub, self.stiffness, self.damping, self.springs = hub, stiffness, damping, springs
        self.period = 2.0 * np.pi / omega

    def freeze(self, t: float) -> assembly.FrozenSystem:
        mass, S, inertia, e, w = 94.9, 289.1, 1084.7, 0.3048, self.omega
        N = len(self.dampers)
        psi = w * t + 2.0 * np.pi * np.arange(N) / N
        M, C, D, K = (np.zeros((N + 2, N + 2)) for _ in range(4))
        M[:2, :2] = np.diag(np.array(self.hub) + N * mass)
        lag = np.arange(2, N + 2)
        M[lag, lag], K[lag, lag], D[lag, lag] = inertia, w**2 * e * S + self.springs, self.dampers
        M[0, lag] = M[lag, 0] = -S * np.sin(psi)
        M[1, lag] = M[lag, 1] = S * np.cos(psi)
        C[0, lag], C[1, lag] = -2.0 * w * S * np.cos(psi), -2.0 * w * S * np.sin(psi)
        K[0, lag], K[1, lag] = w**2 * S * np.sin(psi), -(w**2) * S * np.cos(psi)
        D[:2, :2], K[:2, :2] = np.diag(self.damping), np.diag(self.stiffness)
        return assembly.FrozenSystem(M=M, C=C, D=D, K=K)


def blades(count: int) -> list[list[int]]:
    """The unknowns of each blade."""
    return [[2 + b] for b in range(count)]
