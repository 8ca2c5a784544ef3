"""Rayleigh–Ritz on displacement shapes that grow by residuals, from one symmetric factorization.

The basis V grows by K_ref⁻¹ × residual of every unfinished Ritz pair, all in one block: MUMPS
solves a block of right-hand sides several times faster than one after the other. K_ref is the
symmetric part of the stiffness. Displacement and velocity are both free in span V, so the projected
problem is a quadratic of the same structure: conservative with a positive definite stiffness, its
eigenvalues are exactly imaginary. V holds right and left vectors, so the eigenvalues of other
instants are accurate to second order too. Damping, Coriolis and circulatory terms are in the
projection and in the residuals, not in the factorization: a basis does not depend on how large they
are, the number of its vectors does.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.projected import definite_modes, general_modes
from modal.eigen.solvers.second_order_krylov import extend
from modal.eigen.solvers.shape_basis import ShapeBasis, SymmetricStiffness, lengths
from modal.types import Array, Complex, Mask

RESIDUAL = 1e-8  # ‖Q(λ)x‖/‖Kx‖ of a finished pair
BACKWARD = 5e-13  # and its backward error, where that is the stricter
LEFT = 1e-10  # backward error of a finished left vector: its error in λ is multiplied by that of x
NOISE = 2e-15  # backward error that no basis improves on
ACCEPT = 1e-12  # backward error accepted when the basis stops growing
SETTLED = 1e-3  # ‖Q(λ)x‖/‖Kx‖ of a mode beyond those requested that may take the place of one
GUARD = 1  # modes beyond those requested: without them the last one converges more slowly
START = 4  # random shapes to start from, beyond the number requested
ROOM = 12  # columns for each requested mode, about
WIDTH = 12  # pairs, the lowest unfinished, whose residuals the basis grows by at a time
LARGE = 10_000  # DOFs below which rounds cost more than shapes, and all pairs are taken
WEAK = 1e-3  # of the largest: combinations of residuals that wait for a later round
ROUND_OFF = 1e-7  # of the largest: combinations that the Gram matrix does not resolve
SAME = 1e-9  # relative change of an eigenvalue that was finished before
SLOW = 12  # rounds after which none of them waits: the largest residuals alone converge slowly
ROUNDS = 60


class BlockSolver:
    """The search for the lowest modes of one instant; owns its factorization: call `destroy()`.

    Raises SingularSystemError when the symmetric part of K is not positive definite.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.quadratic = quadratic
        self.reference = SymmetricStiffness(quadratic)

    def destroy(self) -> None:
        self.reference.destroy()

    def find(self, k: int, seed: int = 0) -> Pairs:
        """The k modes of smallest |λ|, and GUARD more.

        Raises ConvergenceError, its `partial` the Pairs that converged.
        """
        return _Search(self.quadratic, self.reference, min(k, self.quadratic.n)).run(seed)


class _Search:
    def __init__(self, quadratic: Quadratic, reference: SymmetricStiffness, k: int) -> None:
        self.quadratic, self.reference, self.k = quadratic, reference, k
        self.count = min(quadratic.n, k + GUARD)
        self.basis = ShapeBasis(quadratic, reference, min(quadratic.n, ROOM * (k + GUARD)))
        self.exact = quadratic.conservative
        self.scale = 1.0 / np.sqrt(np.maximum(reference.matrix.diagonal(), np.finfo(float).tiny))

    def run(self, seed: int) -> Pairs:
        self._start(seed)
        finished = {False: np.zeros(0, dtype=complex), True: np.zeros(0, dtype=complex)}
        for round_ in range(ROUNDS):
            lam, Y, Z = self._ritz()
            loads, done = self._look(lam, Y, False, finished)
            if not loads.size and not self.exact:
                loads, left = self._look(lam, Z.conj(), True, finished)
                done &= left
            if not loads.size or self.basis.complete or round_ == ROUNDS - 1:
                break
            loads = self._compressed(loads, WEAK if round_ < SLOW else ROUND_OFF)
            if self.basis.add(self.reference.solve(loads), loads) == 0:
                break
        pairs = Pairs(
            lam,
            self.basis.shapes(Y),
            "Cholesky",
            "block Rayleigh–Ritz",
            self.reference.solves,
            None if self.exact else self.basis.shapes(Z),
        )
        if done[: self.k].all() or self.basis.complete:
            return pairs
        done = self.quadratic.backward_error(pairs.eigenvalues, pairs.right) <= ACCEPT
        if done[: self.k].all():
            return pairs
        raise ConvergenceError(
            f"{pairs.method}: stopped with {int(done[: self.k].sum())} of {self.k} modes converged",
            pairs.take(np.flatnonzero(done)),
        )

    def _start(self, seed: int) -> None:
        """Random shapes, so that no mode of a cluster is missed, and a Krylov space from them."""
        n, M = self.quadratic.n, self.quadratic.M
        load = M @ np.random.default_rng(seed).standard_normal((n, min(n, self.k + START)))
        if self.basis.add(self.reference.solve(load), load) == 0:
            raise ConvergenceError("block Rayleigh–Ritz: the stiffness is zero to round-off", None)
        extend(self.basis, self.count, seed)

    def _ritz(self) -> tuple[Complex, Complex, Complex]:
        M, C, K = self.basis.projected()
        if self.exact:
            lam, Y = definite_modes(M, C, self.count)
            return lam, Y, Y
        return general_modes(M, C, K, self.count)

    def _look(
        self, lam: Complex, Y: Complex, transposed: bool, finished: dict[bool, Complex]
    ) -> tuple[Array, Mask]:
        """Residuals of the lowest unfinished pairs, in parts, and which are finished.

        A pair finished once stays so: a larger basis does not make it worse.
        """
        done = _known(lam, finished[transposed])
        width = WIDTH if self.quadratic.n > LARGE else len(lam)
        while True:
            rest = np.flatnonzero(~done)[:width]
            residual, passed = self._evaluate(lam[rest], Y[:, rest], transposed, rest >= self.k)
            done[rest[passed]] = True
            if done.all() or not passed.all():
                break
        finished[transposed] = lam[done]
        if done[: self.k].all() and self.exact:
            return residual[:, :0], done
        return residual[:, np.tile(~passed, 2)], done

    def _evaluate(
        self, lam: Complex, Y: Complex, transposed: bool, guard: Mask
    ) -> tuple[Array, Mask]:
        """Q(λ)x of some pairs in parts, 1 where they just pass, and which of them pass."""
        residual, whole, length = self.basis.residual(lam, Y, transposed)
        size = lengths(residual)
        weight = self.quadratic.weights(lam) * length
        goal = LEFT * weight if transposed else np.minimum(RESIDUAL * whole, BACKWARD * weight)
        goal = np.maximum(goal, NOISE * weight)
        passed = size <= goal
        if not self.exact:
            passed |= guard & (size <= SETTLED * whole)
        return residual / np.tile(goal, 2), passed

    def _compressed(self, loads: Array, weak: float) -> Array:
        """The combinations of the loads larger than `weak` of the largest; the others wait."""
        scaled = loads * self.scale[:, None]
        sizes, U = la.eigh(scaled.T @ scaled)
        keep = sizes > weak**2 * sizes[-1]
        return np.asarray(loads @ (U[:, keep] / np.sqrt(sizes[keep])))


def _known(lam: Complex, finished: Complex) -> Mask:
    """Which eigenvalues are among those finished before, one to one."""
    known = np.zeros(len(lam), dtype=bool)
    for value in finished:
        distance = np.where(known, np.inf, np.abs(lam - value))
        nearest = int(distance.argmin())
        known[nearest] |= distance[nearest] <= SAME * abs(value)
    return known
