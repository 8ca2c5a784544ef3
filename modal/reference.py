"""The one reference operator of a sweep: K_ref, its factorization, and the first basis vectors.

K_ref is the symmetric part of the stiffness at the middle of the sweep's coefficients, with as much
mass added as makes it positive definite (rigid motions, softening). It is the preconditioner that
turns residuals into new basis vectors and the norm in which residuals are measured.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.errors import SingularSystemError
from assembly.factorization import Factorization
from modal.affine import AffineFamily, Coefficients

Array = NDArray[np.float64]

BLOCK = 8  # right-hand sides a solve of the starting Krylov space takes together
SHIFTS = 14  # tries before a stiffness is given up: up to 3e10 times the first


class Reference:
    """K_ref = Σ_j k_j sym(A_j) + σ M_ref, factorized once. `solves` counts right-hand sides.

    mass (n, n) sparse M_ref; weights (J,) k_j of the operators; shift σ, (rad/s)². Weights and
    shift that are given (by a sweep that goes on) are used as they are, and the factorization waits
    until it is needed. Raises SingularSystemError when no shift makes it positive definite (M is not).
    """

    def __init__(
        self, family: AffineFamily, at: Coefficients, chosen: tuple[Array, float] | None = None
    ) -> None:
        self.family = family
        self.mass = family.symmetric_part(middle(at.mass))
        self.solves = 0
        self._factor: Factorization | None = None
        if not float(self.mass.diagonal().min()) > 0.0:
            raise SingularSystemError(
                "M: must be positive definite, and has a diagonal entry that is not positive"
            )
        if chosen is None:
            self.weights, self.shift = self._choose(at)
        else:
            self.weights, self.shift = chosen

    def _choose(self, at: Coefficients) -> tuple[Array, float]:
        """The weights and shift of the first candidate that is positive definite.

        The middle of the sweep is nearest to all points; where it is too soft, the first point
        (often rest) comes next, then the middle with more and more mass.
        """
        K = self.family.symmetric_part(middle(at.stiffness))
        first = 1e-9 * float(np.mean(np.abs(K.diagonal()) / self.mass.diagonal()))
        start = first if self.family.rigid.shape[1] else 0.0
        candidates = [(middle(at.stiffness), start), (at.stiffness[0], start)]
        candidates += [(middle(at.stiffness), first * 30.0**k) for k in range(1, SHIFTS)]
        for weights, shift in candidates:
            try:
                self._factor = self._factorize(weights, shift)
            except SingularSystemError:
                continue
            return weights, shift
        raise SingularSystemError(
            f"no shift up to {candidates[-1][1]:.3g} (rad/s)² makes the stiffness positive definite"
        )

    def _factorize(self, weights: Array, shift: float) -> Factorization:
        K = self.family.symmetric_part(weights)
        return Factorization(K if shift == 0.0 else sp.csr_matrix(K + shift * self.mass), "spd")

    @property
    def factor(self) -> Factorization:
        """The factorization of K_ref; made now if weights and shift were given."""
        if self._factor is None:
            self._factor = self._factorize(self.weights, self.shift)
        return self._factor

    def solve(self, block: Array) -> Array:
        """K_ref⁻¹ block, (n, k)."""
        self.solves += block.shape[1]
        return np.asarray(self.factor.solve(np.ascontiguousarray(block)))

    def apply_mass(self, X: Array) -> Array:
        return np.asarray(self.mass @ X)

    def start(self, count: int) -> Array:
        """Approximate lowest modes of (K_ref, M_ref), (n, count), M-orthonormal.

        A block Krylov space of K_ref⁻¹M from a seeded random block, three times as large as what is
        kept.
        """
        n = self.family.n
        if n <= 3 * count:
            return orthonormal(np.eye(n), np.zeros((n, 0)), self)
        rng = np.random.default_rng(11)
        block = self.solve(self.apply_mass(rng.standard_normal((n, BLOCK))))
        V = np.zeros((n, 0))
        inverse = np.zeros((0, 0))  # Vᵀ M K_ref⁻¹ M V, the Ritz matrix of K_ref⁻¹M
        while V.shape[1] < min(3 * count, n - BLOCK):
            block = orthonormal(block, V, self)
            if block.shape[1] == 0:
                break
            V = np.hstack([V, block])
            MB = self.apply_mass(block)
            block = self.solve(MB)
            new = V.T @ self.apply_mass(block)
            side = len(inverse)
            grown = np.zeros((V.shape[1], V.shape[1]))
            grown[:side, :side] = inverse
            grown[:, side:] = new
            grown[side:, :] = new.T
            inverse = grown
        theta, Y = la.eigh(inverse)
        return np.asarray(V @ Y[:, np.argsort(-theta)[:count]])

    def destroy(self) -> None:
        if self._factor is not None:
            self._factor.destroy()
            self._factor = None


def middle(values: Array) -> Array:
    """Halfway between the extremes of every column."""
    return np.asarray(0.5 * (values.min(axis=0) + values.max(axis=0)))


def orthonormal(block: Array, V: Array, reference: Reference, drop: float = 1e-8) -> Array:
    """What the block adds to V, M-orthonormal; what is below `drop` of its size goes.

    Twice Gram–Schmidt, then the eigenvectors of the Gram matrix (rank-revealing), then once more.
    """
    size = np.sqrt(np.einsum("ij,ij->j", block, reference.apply_mass(block)))
    block = block[:, size > 0.0] / size[size > 0.0]
    for threshold in (drop, 1e-4):
        for _ in range(2):
            block = block - V @ (V.T @ reference.apply_mass(block))
        gram = block.T @ reference.apply_mass(block)
        theta, Y = la.eigh(0.5 * (gram + gram.T))
        kept = theta > threshold**2
        block = block @ (Y[:, kept] / np.sqrt(theta[kept]))
    return block
