"""Random chains of masses that turn: well-conditioned, dense spectra by LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem


class Chain:
    """A random chain of n masses, turning: M + ωG, K + ω²S + εG + ωH, D; well-conditioned matrices.

    H is neither symmetric nor skew (a circulatory and damping-like operator) and can be left out.
    """

    def __init__(
        self, seed: int, n: int = 160, damping: float = 0.0, lopsided: float = 0.0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.damping, self.lopsided = n, damping, lopsided
        springs = 1.0 + rng.random(n + 1)
        main = springs[:-1] + springs[1:]
        self.K = sp.csr_matrix(sp.diags([main, -springs[1:-1], -springs[1:-1]], [0, 1, -1]))
        off = 0.2 * rng.random(n - 1)
        self.M = sp.csr_matrix(sp.diags([1.0 + rng.random(n), off, off], [0, 1, -1]))
        skew = rng.standard_normal(n - 1)
        self.G = sp.csr_matrix(sp.diags([skew, -skew], [1, -1]))
        soft = rng.standard_normal(n)
        self.S = sp.csr_matrix(sp.diags([-0.3 + 0.2 * soft], [0]))
        self.H = sp.csr_matrix(sp.diags([rng.standard_normal(n - 2)], [2]))
        self.scale = float(
            np.sqrt(la.eigh(self.K.toarray(), self.M.toarray(), eigvals_only=True)[0])
        )

    def freeze(self, omega: float = 0.0, epsilon: float = 0.0) -> FrozenSystem:
        w, e = self.scale * omega, self.scale**2 * epsilon

        def of(*terms: tuple[float, Any]) -> Combination:
            return Combination.of(self.n, [c for c, _ in terms], [A for _, A in terms])

        return FrozenSystem(
            M=of((1.0, self.M)),
            C=of((2.0 * w, self.G)),
            D=of((self.damping * self.scale, self.M)),
            K=of((1.0, self.K)),
            K_epsilon=of((e, self.G)),
            K_omega2=of((w**2, self.S)),
            K_D=of((self.lopsided * w * self.scale, self.H)),
        )


def exact(system: FrozenSystem, count: int) -> np.ndarray:
    """Eigenvalues of smallest |λ|, Im λ ≥ 0, by LAPACK on the whole first-order form."""
    n = system.n
    A = np.zeros((2 * n, 2 * n))
    factor = la.cho_factor(system.M.toarray())
    A[:n, n:] = np.eye(n)
    A[n:, :n] = -la.cho_solve(factor, system.stiffness.toarray())
    A[n:, n:] = -la.cho_solve(factor, system.damping.toarray())
    lam = la.eigvals(A)
    lam = lam[lam.imag >= 0.0]
    return lam[np.argsort(np.abs(lam))][:count]


KINDS: dict[str, tuple[dict[str, float], Callable[[float], dict[str, float]]]] = {
    "conservative": ({}, lambda s: dict(omega=s)),
    "euler": ({}, lambda s: dict(omega=s, epsilon=0.4 * (1.0 - s))),
    "damped": (dict(damping=0.1), lambda s: dict(omega=s, epsilon=0.3)),
    "lopsided": (dict(damping=0.05, lopsided=0.3), lambda s: dict(omega=s, epsilon=-0.2)),
}
