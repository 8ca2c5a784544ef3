"""The one reference operator of a sweep: K_ref, its factorization, and the first basis vectors.

K_ref is the symmetric part of the stiffness at the middle of the sweep's coefficients, with as much
mass added as makes it positive definite (rigid motions, softening). It is the preconditioner that
turns residuals into new basis vectors and the norm in which residuals are measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg as la

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization, cholesky
from modal.eigen.solvers.shape_basis import lift
from modal.eigen.tolerances import BLOCK
from modal.eigen.tolerances import ROUND_OFF as ZERO_PIVOT
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.mass_basis import MassBasis
from modal.types import Array

ROUND_OFF = 8.0 * np.finfo(float).eps  # of a product, relative to the norms of its factors


class ReferenceOperator:
    """K_ref = Σ_j k_j sym(A_j) + σ M_ref, factorized once. `solves` counts right-hand sides.

    mass (n, n) operator M_ref of the operators' mass_weights (J,); weights (J,) k_j; shift σ,
    (rad/s)². Weights and shift that are given (by a sweep that goes on) are used as they are, and
    the factorization waits until it is needed. Raises SingularSystemError when no shift serves (M
    is not positive definite).
    """

    def __init__(
        self,
        family: AffineFamily,
        at: Coefficients,
        chosen: tuple[Array, float] | None = None,
        least: float = 0.0,
    ) -> None:
        """least: the shift, (rad/s)², that is tried first."""
        self.family = family
        self.mass_weights = middle(at.mass)
        self.mass = family.mass_operator(self.mass_weights)
        self.solves = 0
        self._factor: Factorization | None = None
        self._first: Array | None = None
        if not float(self.mass.diagonal().min()) > 0.0:
            raise SingularSystemError(
                "M: must be positive definite, and has a diagonal entry that is not positive"
            )
        if chosen is None:
            self._choose(at, least)
        else:
            self.weights, self.shift = chosen
            self._square = self._mean_square(self.weights)

    def _choose(self, at: Coefficients, least: float) -> None:
        """Take the weights and shift of the first candidate that is positive definite.

        The middle of the sweep is nearest to all points; where it is too soft, the first point
        (often rest) comes next, then the middle with more and more mass.
        """
        for weights, shift in self._candidates(at, least):
            self.weights, self.shift, self._square = weights, shift, self._mean_square(weights)
            self._factor = self._factorize()
            if self._factor is not None and self._lowest() > ZERO_PIVOT * self._square:
                return
            self.destroy()
        raise SingularSystemError(
            f"no shift up to {shift:.3g} (rad/s)² makes the stiffness positive definite"
        )

    def _candidates(self, at: Coefficients, least: float) -> Iterator[tuple[Array, float]]:
        center = middle(at.stiffness)
        free = self.family.rigid.shape[1] > 0
        start = max(least, 1e-9 * self._mean_square(center) if free else 0.0)
        yield center, start
        if len(at) > 1:
            yield at.stiffness[0], start
        # K + σM is positive definite for a σ of the size of K/M, if M is.
        scale = self._mean_square(center)
        shift = start or 1e-9 * scale
        while shift < self.family.n * scale:
            shift *= 30.0
            yield center, shift

    def _lowest(self) -> float:
        """At most a few times the lowest eigenvalue of (K_ref, M_ref) where it is round-off.

        Round-off can make a Cholesky factor of a singular stiffness, as of a shaft that nothing but
        cross-coupled films holds. K_ref⁻¹M then makes its null vector of every random shape.
        """
        loads = self.mass @ self._random()
        self._first = shapes = self.solve(loads)
        energy, mass = ((shapes * load).sum(axis=0) for load in (loads, self.mass @ shapes))
        return float((energy / mass).min())

    def _random(self) -> Array:
        return np.random.default_rng(11).standard_normal((self.family.n, BLOCK))

    def _mean_square(self, weights: Array) -> float:
        """The mean of |K_jj|/M_jj, (rad/s)²."""
        diagonal = self.family.diagonal(weights)
        return float(np.mean(np.abs(diagonal) / self.mass.diagonal()))

    def round_off(self, sizes: Array) -> Array:
        """Of Rayleigh quotients of some sizes |λ|, rad/s, per unit condition.

        Products K v are wrong by ε‖K‖‖v‖, which changes λ² by about ε times the mean of K_jj/M_jj.
        """
        return ROUND_OFF * self._square / (2.0 * np.maximum(sizes, np.finfo(float).tiny))

    def _factorize(self) -> Factorization | None:
        """The factor of K_ref; None where it is not positive definite."""
        K = self.family.symmetric_upper(self.weights + self.shift * self.mass_weights)
        dofs = self.family.dofs
        return cholesky(K, None if dofs is None else dofs.rigid_motions)

    @property
    def factor(self) -> Factorization:
        """The factorization of K_ref; made now if weights and shift were given."""
        if self._factor is None:
            self._factor = self._factorize()
        if self._factor is None:
            raise SingularSystemError("the reference stiffness is not positive definite")
        return self._factor

    def solve(self, block: Array) -> Array:
        """K_ref⁻¹ block, (n, k)."""
        self.solves += block.shape[1]
        return np.asarray(self.factor.solve(block))

    def start(self, count: int, width: float = 2.4) -> MassBasis:
        """Approximate lowest modes of (K_ref, M_ref), `count` of them.

        A block Krylov space of K_ref⁻¹M from a seeded random block, so many times wider than
        what is kept.
        """
        n = self.family.n
        space = MassBasis(self.mass)
        if n <= width * count:
            space.append(*space.directions(np.eye(n)))
            return space
        block, self._first = self._first, None  # K_ref⁻¹M of seeded random shapes, (n, BLOCK)
        if block is None:
            block = self.solve(self.mass @ self._random())
        inverse = np.zeros((0, 0))  # Vᵀ M K_ref⁻¹ M V, the Ritz matrix of K_ref⁻¹M
        while space.size < min(width * count, n - BLOCK):
            block, product = space.directions(block)
            if block.shape[1] == 0:
                break
            space.append(block, product)
            block = self.solve(product)
            new = space.MV.T @ block
            side = len(inverse)
            grown = np.zeros((space.size, space.size))
            grown[:side, :side] = inverse
            grown[:, side:] = new
            grown[side:, :] = new.T
            inverse = grown
        theta, Y = la.eigh(inverse)
        Y = Y[:, np.argsort(-theta)[:count]]
        kept = MassBasis(self.mass)
        kept.append(lift(space.V, Y), lift(space.MV, Y))
        return kept

    def destroy(self) -> None:
        self._first = None
        if self._factor is not None:
            self._factor.destroy()
            self._factor = None


def middle(values: Array) -> Array:
    """Halfway between the extremes of every column."""
    return np.asarray(0.5 * (values.min(axis=0) + values.max(axis=0)))
