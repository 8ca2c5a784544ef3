"""Random gyroscopic, damped and circulatory families of one parameter, and their true branches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from assembly import FrozenSystem

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class General:
    """M q̈ + (s G + D) q̇ + (K₀ + s K₁ + s N) q = 0: G and N skew, the others symmetric."""

    M: np.ndarray
    G: np.ndarray
    D: np.ndarray
    K0: np.ndarray
    K1: np.ndarray
    N: np.ndarray

    def freeze(self, s: float) -> FrozenSystem:
        return FrozenSystem(
            M=self.M, C=s * self.G, D=self.D, K=self.K0 + s * self.K1, K_D=s * self.N
        )

    def upper(self, s: float) -> np.ndarray:
        """All eigenvalues with Im λ > 0 by LAPACK on the companion matrix."""
        n = len(self.M)
        K = self.K0 + s * (self.K1 + self.N)
        lower = -np.linalg.solve(self.M, np.hstack([K, s * self.G + self.D]))
        lam = np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))
        return lam[lam.imag > 1e-9]

    def branches(self, s: np.ndarray, steps: int) -> np.ndarray | None:
        """λ (len(s), n) on their branches, by continuation in about `steps` even steps between the
        values; None when one becomes real on the way.
        """
        per = -(-steps // (len(s) - 1))
        parts = [np.linspace(a, b, per, endpoint=False) for a, b in pairwise(s)]
        found: list[np.ndarray] = []
        for n, value in enumerate(np.concatenate([*parts, s[-1:]])):
            lam = self.upper(value)
            if len(lam) != len(self.M):
                return None
            if n == 0:
                found.append(lam[np.argsort(np.abs(lam))])
                continue
            expected = found[-1] if n == 1 else 2.0 * found[-1] - found[-2]
            _, order = linear_sum_assignment(np.abs(expected[:, None] - lam[None, :]))
            found.append(lam[order])
        return np.array(found)[::per]


def general(seed: int, growth: float) -> General:
    """3 to 5 modes of 50 … 150 rad/s whose stiffness changes by `growth` (rad/s)²; damped for odd
    seeds, circulatory for two of three.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    L = np.tril(rng.normal(0.0, 0.2, (n, n)), -1) + np.diag(rng.uniform(0.7, 1.5, n))
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    frequencies = np.sort(rng.uniform(50.0, 150.0, n))
    S, G, N = rng.normal(size=(3, n, n))
    K0 = L @ Q @ np.diag(frequencies**2) @ Q.T @ L.T
    D = (seed % 2) * L @ Q @ np.diag(rng.uniform(0.2, 3.0, n)) @ Q.T @ L.T
    return General(
        M=L @ L.T,
        G=20.0 * L @ (G - G.T) @ L.T,
        D=D,
        K0=K0,
        K1=growth * L @ (S + S.T) @ L.T,
        N=100.0 * (seed % 3) * L @ (N - N.T) @ L.T,
    )
