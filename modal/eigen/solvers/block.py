"""Rayleigh–Ritz on displacement shapes that grow by residuals, from one symmetric factorization.

The basis V starts as a block Krylov space of K_ref⁻¹M and grows by K_ref⁻¹ × residual of every
unfinished Ritz vector, right and left, all in one block: MUMPS solves a block of right-hand sides
several times faster than one after the other. K_ref is the symmetric part of the stiffness, or the
elastic stiffness (symmetric_stiffness.py).
Displacement and velocity are both free in span V, so the projected problem is a quadratic of the
same structure: conservative with a positive definite stiffness, its eigenvalues are exactly
imaginary. V holds right and left vectors, so the eigenvalues of other instants are accurate to
second order too. Damping, Coriolis and circulatory terms are in the projection and in the
residuals, not in the factorization: a basis does not depend on how large they are, the number of
its vectors does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assembly.errors import ConvergenceError
from assembly.system.null_chain import NullChain
from modal.eigen.prescribed import mass_orthonormal
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.dense import definite_but_for, lowest
from modal.eigen.solvers.shape_basis import ShapeBasis, lengths, lift
from modal.eigen.solvers.symmetric_stiffness import SymmetricStiffness
from modal.eigen.spectrum import Pairs
from modal.eigen.tolerances import ATTEMPTS, EPS, GROUP, HALF, LEFT, ROUNDS, WEAK, ZERO
from modal.types import Array, Complex, Mask


class BlockSolver:
    """The search for the lowest modes of one instant; owns its factorization: call `destroy()`.

    chain: the zero eigenvalues to remove; its null fields are those of the symmetric part of K too.
    rigid (n, r): null fields of the elastic stiffness. Raises SingularSystemError as
    `SymmetricStiffness`.
    """

    def __init__(
        self, quadratic: Quadratic, chain: NullChain | None = None, rigid: Array | None = None
    ) -> None:
        self.quadratic, self.chain = quadratic, chain
        none = np.zeros((quadratic.n, 0))
        null = none if chain is None else chain.null
        self.reference = SymmetricStiffness(quadratic, null, none if rigid is None else rigid)
        self.exact = quadratic.conservative and self.reference.definite
        # The left vectors are the right ones or their conjugates: their residuals say no more.
        self.one_sided = self.exact or quadratic.symmetric
        diagonal = np.abs(self.reference.matrix.diagonal())
        floor = EPS * diagonal.max(initial=np.finfo(float).tiny)
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, floor))

    def destroy(self) -> None:
        self.reference.destroy()

    def find(self, k: int, seed: int = 0, accuracy: float = 10.0 * ZERO) -> Pairs:
        """The k lowest modes, and one more.

        accuracy: backward error of a finished right vector.
        Raises ConvergenceError, its `partial` the Pairs that converged.
        """
        self.k, self.accuracy, self.noise = min(k, self.quadratic.n), accuracy, 8.0 * EPS
        # One beyond those requested: without it the last one converges more slowly.
        self.count = min(self.quadratic.n, k + 1)
        self.basis = ShapeBasis(self.quadratic, self.reference)
        self.most = float(np.inf) if self.exact else self._largest()
        self._start(seed)
        self.basis.verify()
        none = np.zeros(0, dtype=complex)
        finished = {False: none, True: none}
        before, ritz, stalled = none, (none, none, none), 0
        for round_ in range(ROUNDS):
            known, found = finished[False], self._ritz()
            loads, done = self._look(*found, finished)
            sizes = np.linalg.norm(loads, axis=0)
            inside = np.abs(known) < (1.0 - GROUP) * np.abs(found[0]).max(initial=0.0)
            apart = np.abs(known[:, None] - found[0]).min(axis=1, initial=np.inf)
            lost = np.any(inside & (apart > HALF * np.abs(known)))
            grown = before.size and sizes.max(initial=0.0) > 10.0 * before.max()
            if grown and (lost or self.noise * before.max() <= ZERO):
                # What was added is round-off, large in shapes of next to no stiffness, and the same
                # loads would bring it again.
                stalled = ATTEMPTS if self.noise == ZERO else stalled
                self.noise, found = ZERO, ritz
                self.basis.cut(len(found[1]))
                loads, done = self._look(*found, finished)
                sizes = np.linalg.norm(loads, axis=0)
            elif sizes.size and sizes.shape == before.shape and sizes.max() > 0.9 * before.max():
                # The residuals no longer shrink: they are round-off, or modes hardly apart.
                self.noise, stalled = ZERO, stalled + 1
            before, ritz = sizes, found
            if not loads.size and not self.basis.verify():
                finished = {False: none, True: none}
                continue
            if not loads.size or self.basis.complete or stalled == ATTEMPTS or round_ == ROUNDS - 1:
                break
            loads = self._compressed(loads)
            if self.basis.m > self.most:
                Y, Z = self.basis.restarted(self.special, *found[1:])
                found = ritz = found[0], Y, Z
            if self.basis.grow(loads) == 0:
                if self.noise == ZERO:
                    break
                self.noise = ZERO  # what is left are errors of the projected problem
        lam, Y, Z = found
        right, left = self.basis.shapes(Y), None if self.one_sided else self.basis.shapes(Z)
        name, method, solves = self.reference.name, "block Rayleigh–Ritz", self.reference.solves
        pairs = Pairs(lam, right, name, method, solves, left, self.accuracy)
        left_over = pairs.take(np.flatnonzero(~done[: self.k]))
        errors = self.quadratic.backward_error(left_over.eigenvalues, left_over.right)
        # The few that are near one are refined by themselves.
        if self.basis.complete or np.all(errors <= GROUP):
            return pairs
        raise ConvergenceError(
            f"{pairs.method}: stopped with {int(done[: self.k].sum())} of {self.k} modes converged",
            pairs.take(np.flatnonzero(done)),
        )

    def _largest(self) -> float:
        """Shapes from which the basis is restarted: six a pair, four of which a restart keeps at
        most, and more where its projected problem, 200 m³ flops, costs less than a round of
        solves and products, about 24 m a degree of freedom and pair."""
        return float(max(6.0 * self.count, np.sqrt(0.12 * self.quadratic.n * self.count)))

    def _start(self, seed: int, beyond: int = 2, blocks: int = 3) -> None:
        """A block Krylov space of K_ref⁻¹M, so wide that no mode of a cluster is missed.

        Where a step gives fewer new shapes, random ones take the place of the others. Shapes of
        zero eigenvalues, rigid fields and shapes of negative stiffness come first.

        beyond: random shapes beyond the number requested. blocks: of the Krylov space.
        """
        for shapes in self._special():
            self.basis.add(shapes, self.reference.apply(shapes))
            self.basis.verify()  # so that they stay in this order, whatever is recomputed later
        special = self.special = self.basis.m
        n, rng = self.quadratic.n, np.random.default_rng(seed)
        width, new = min(n, self.k + beyond), 0
        while self.basis.m < min(n, special + blocks * width):
            loads = self.basis.image("mass")[:, self.basis.m - new :]
            if new < width:
                random = rng.standard_normal((n, width - new))
                loads = np.hstack([loads, self.quadratic.M @ random])
            new = self.basis.grow(loads)
            if new == 0:
                break
        if self.basis.m == special:
            raise ConvergenceError("block Rayleigh–Ritz: the stiffness is zero to round-off", None)

    def _special(self) -> Iterator[Array]:
        """Null fields, shapes of no stiffness, and the second vectors of chains."""
        if self.chain is not None:
            yield mass_orthonormal(self.quadratic.M, self.chain.null)[0]
        if not self.reference.definite:
            yield self.reference.special
        if self.chain is not None:
            n, m = self.chain.null.shape
            second = np.hstack([self.chain.right[:n, m:], self.chain.left[n:, m:]])
            if second.any():
                yield second

    def _ritz(self) -> tuple[Complex, Complex, Complex]:
        M, C, K = self.basis.projected()
        chain, damped = self.chain, not self.quadratic.reversible
        null = 0 if chain is None else chain.null.shape[1]
        K[:null], K[:, :null] = 0.0, 0.0
        if self.exact:
            found = definite_but_for(np.eye(len(K), null), M, C, K, self.count)
            if found is not None:
                return 1j * found[0], found[1], found[1]
        zeros = 0 if chain is None else chain.count
        return lowest(M, C, K, self.count, damped, null, zeros)

    def _look(
        self, lam: Complex, Y: Complex, Z: Complex, finished: dict[bool, Complex]
    ) -> tuple[Array, Mask]:
        """Residuals of the unfinished pairs, right and left, in parts, and which are finished.

        A vector finished once stays so: a larger basis does not make it worse.
        """
        sides = (False,) if self.one_sided else (False, True)
        done = {side: _known(lam, finished[side]) for side in sides}
        rest = {side: np.flatnonzero(~done[side]) for side in sides}
        index = np.concatenate([rest[side] for side in sides])
        transposed = np.repeat(sides, [len(rest[side]) for side in sides])
        vectors = np.where(transposed, Z.conj()[:, index], Y[:, index])
        residual, passed = self._evaluate(lam[index], vectors, transposed, index >= self.k)
        for side in sides:
            done[side][index[passed & (transposed == side)]] = True
            finished[side] = lam[done[side]]
        both = done[False] & done[sides[-1]]
        if both[: self.k].all() and self.exact:
            return residual[:, :0], both
        return residual[:, np.tile(~passed, 2)], both

    def _evaluate(
        self, lam: Complex, Y: Complex, transposed: Mask, guard: Mask
    ) -> tuple[Array, Mask]:
        """Q(λ)x of some pairs in parts, 1 where they just pass, and which of them pass."""
        residual, whole, length = self.basis.residual(lam, Y, transposed)
        size = lengths(residual)
        weight = self.quadratic.weights(lam) * length
        right = np.minimum(GROUP * whole, self.accuracy * weight)
        goal = np.maximum(np.where(transposed, LEFT * weight, right), self.noise * weight)
        passed = size <= goal
        if not self.exact:
            passed |= guard & (size <= WEAK * whole)
        return residual / np.tile(goal, 2), passed

    def _compressed(self, loads: Array) -> Array:
        """The combinations of the loads that are not weak beside the largest; the others wait."""
        scaled = loads * self.scale[:, None]
        sizes, U = np.linalg.eigh(scaled.T @ scaled)
        keep = sizes > WEAK**2 * sizes[-1]
        return lift(loads, U[:, keep] / np.sqrt(sizes[keep]))


def _known(lam: Complex, finished: Complex) -> Mask:
    """Which eigenvalues are among those finished before, one to one."""
    known = np.zeros(len(lam), dtype=bool)
    for value in finished:
        distance = np.where(known, np.inf, np.abs(lam - value))
        nearest = int(distance.argmin())
        known[nearest] |= distance[nearest] <= HALF * abs(value)
    return known
