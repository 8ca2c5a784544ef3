"""Random families of oscillators whose branches are known in closed form: they cross, or veer with
a known gap.

In hidden coordinates the squared frequencies over s ∈ [0, 1] are the eigenvalues of

    H(s) = blockdiag([[a₀ + b₀s, κ], [κ, a₁ + b₁s]], a₂ + b₂s, a₃ + b₃s, …)

The first two meet inside the interval: with κ = 0 they cross, with κ ≠ 0 they veer, their branches
are m ± √(d² + κ²), and the least distance of frequencies is found on that formula. The others cross
whatever they meet. A random mass matrix M = LLᵀ and a random rotation hide the structure: K = L V H
Vᵀ Lᵀ, and the rotation V(s) = V₀ exp(sW) goes on turning every shape along the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import modal
from assembly import FrozenSystem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """A model with freeze(s). start, slope (n,): of the squared frequencies; coupling κ, (rad/s)².

    mass (n, n) = factor factorᵀ; rotation (n, n) V₀; turning (n, n) W, skew.
    """

    start: Array
    slope: Array
    coupling: float
    factor: Array
    rotation: Array
    turning: Array

    def freeze(self, s: float) -> FrozenSystem:
        """The oscillators at s."""
        H = np.diag(self.start + self.slope * s)
        H[0, 1] = H[1, 0] = self.coupling
        mixing = self.factor @ self.rotation @ la.expm(s * self.turning)
        return FrozenSystem(M=self.factor @ self.factor.T, K=mixing @ H @ mixing.T)

    def branches(self, s: Array) -> Array:
        """Frequencies of every mode on its own branch, (len(s), n) rad/s; 0 and 1 are the pair that
        meets."""
        squares = self.start + np.outer(s, self.slope)
        if self.coupling != 0.0:
            mean, half = (
                0.5 * (squares[:, 0] + squares[:, 1]),
                0.5 * (squares[:, 0] - squares[:, 1]),
            )
            root = np.sqrt(half**2 + self.coupling**2)
            squares[:, 0], squares[:, 1] = mean - root, mean + root
        return np.asarray(np.sqrt(squares))

    def gap(self) -> float:
        """The least distance of the pair's frequencies, rad/s."""
        if self.coupling == 0.0:
            return 0.0
        meet = (self.start[0] - self.start[1]) / (self.slope[1] - self.slope[0])

        def distance(s: float) -> float:
            low, high = self.branches(np.array([s]))[0, :2]
            return float(high - low)

        width = 10.0 * abs(self.coupling / (self.slope[1] - self.slope[0]))
        found = minimize_scalar(
            distance,
            bounds=(meet - width, meet + width),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return float(found.fun)


def lapack(system: FrozenSystem, k: int) -> modal.Modes:
    """The k lowest modes of M q̈ + K q = 0 by LAPACK: quick, and independent of `modal.solve`."""
    squares, X = la.eigh(system.K.toarray(), system.M.toarray())
    lam = 1j * np.sqrt(squares[:k])
    right = X[:, :k].astype(complex)
    # yᴴ(2λM)x = 1 with y along x, which is real and of unit mass
    left = right / (2.0 * lam).conj()
    zero, one = np.zeros(len(lam)), np.ones(len(lam))
    kind = np.full(len(lam), "elastic")
    return modal.Modes(lam, right, left, zero, one, kind, 0, "none", "lapack", "eigh")


def random_family(rng: np.random.Generator, relative_gap: float) -> Family:
    """A family whose pair meets with the gap relative_gap × frequency; 0 for a crossing."""
    n = int(rng.integers(3, 7))
    meet, level = rng.uniform(0.2, 0.8), rng.uniform(50.0, 150.0) ** 2
    slopes = level * rng.uniform(0.3, 0.8, 2) * np.array([1.0, -1.0])
    start = level - slopes * meet
    others = level * rng.uniform(0.2, 3.0, n - 2)
    other_slopes = (
        np.minimum(np.abs(rng.normal(0.0, 0.4, n - 2)), 0.8)
        * others
        * rng.choice([-1.0, 1.0], n - 2)
    )
    V, _ = np.linalg.qr(rng.normal(size=(n, n)))
    L = np.asarray(
        np.tril(rng.normal(0.0, 0.3, (n, n)), -1) + np.diag(rng.uniform(0.5, 2.0, n)), dtype=float
    )
    # √(level + κ) − √(level − κ) ≈ κ / √level is the gap
    coupling = relative_gap * level * rng.choice([-1.0, 1.0])
    W = np.triu(rng.normal(0.0, 0.3, (n, n)), 1)
    return Family(
        np.concatenate([start, others]),
        np.concatenate([slopes, other_slopes]),
        float(coupling),
        L,
        V,
        W - W.T,
    )


def families(count: int, seed: int = 0, least: float = 1e-4, most: float = 3e-2) -> list[Family]:
    """Half of them cross, half veer with relative gaps spread evenly over the decades from `least`
    to `most`."""
    rng = np.random.default_rng(seed)
    gaps = np.exp(rng.uniform(np.log(least), np.log(most), count))
    gaps[::2] = 0.0
    return [random_family(rng, gap) for gap in gaps]


def right_share(found: Array, truth: Array) -> float:
    """Part of the values of tracks (T, n) that lie on the branch their track started on."""
    start = np.array([int(np.argmin(np.abs(truth[0] - f))) for f in found[0]])
    own = np.abs(found - truth[:, start]) <= 1e-7 * truth[:, start]
    return float(own.mean())
