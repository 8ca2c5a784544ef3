"""The modes nearest a target, with a proof that none nearer was left out.

About zero the operator T of `shift_invert` ranks by distance. Away from it T ranks by |θ|. Of all λ
within a distance d of τ, d < b = |Im τ|, the λ at d straight below τ has the smallest |θ|,
(b − d) / (d (2b − d)): it is the farthest, and the modulus of the Möbius map (λ − Re τ)/(λ − τ̄) is
the least there. More modes are requested until the least |θ| obtained is below that at the distance
of the k-th nearest. For a wide window it is cheaper to take all modes from zero up.
"""

from __future__ import annotations

import numpy as np

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.engines import Engine
from modal.eigen.solvers.krylov import solve_krylov
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.tolerances import COARSE
from modal.types import Complex


class Window:
    """The search for the modes nearest a target; owns its factorization: call `destroy()`."""

    def __init__(
        self,
        quadratic: Quadratic,
        chain: NullChain | None,
        target: complex,
        engine: Engine,
        method: str,
        wide: float = 0.35,
    ) -> None:
        """wide: d/b from which more ω have |θ| above the bound than lie below b + d, about."""
        self.target, self.engine, self.method = target, engine, method
        # The target may be an eigenvalue.
        shifted = ShiftInvert(quadratic, chain, target * (1.0 + COARSE))
        self.operator, self.count = shifted, 0
        self.aside = abs(shifted.tau - target)
        self.height = abs(shifted.tau.imag) or np.inf  # b; T about a real τ ranks by distance
        self.wide = wide

    def find(self, k: int, seed: int = 0, growth: float = 4.0) -> Pairs:
        """At least the k nearest modes (Im λ ≥ 0), nearest first, if there are so many.

        growth: of the number asked for at a time, at most. Raises ConvergenceError when all were
        asked for and some did not come.
        """
        n, shifted = self.operator.quadratic.n, self.operator
        self.count = k + 1  # modes of the transposed problem that the nearest ones are among
        if self.target == 0.0:  # T about zero ranks by distance
            return solve_krylov(shifted, k, self.engine, self.method, seed)
        asked = k + k // 12 + 2
        while True:
            found = solve_krylov(self.operator, asked, self.engine, self.method, seed)
            self.count = len(found.eigenvalues)
            distance = float(np.sort(np.abs(found.eigenvalues - self.target))[:k].max())
            if found.total >= self.operator.rank or distance == 0.0:
                return found.nearest(self.target)
            if asked >= n and (self.height == np.inf or self.operator is not shifted):
                raise ConvergenceError(
                    f"{self.method}: {found.total} of {self.operator.rank} eigenvalues found, the "
                    f"{k} nearest {self.target:.6g} rad/s perhaps not among them",
                    found.nearest(self.target),
                )
            # T has θ = 0 at a zero eigenvalue, which no search with it shows.
            if distance >= self.wide * self.height or asked >= n:
                self._look_from_zero()
                asked = 2 * k + 2
                continue
            short = self._short(found.eigenvalues[:asked], distance)
            if short <= 1.0:
                return found.nearest(self.target)
            asked = min(n, int(min(short, growth) * asked) + 2)

    def _short(self, seen: Complex, distance: float) -> float:
        """How many times as many show all up to the distance, about; these do if not above 1."""
        if self.operator.tau == 0.0:
            return float((abs(self.target) + distance) / np.abs(seen).max()) ** 2
        bound = least_gain(distance + self.aside, self.height)
        return float(self.operator.gain(seen).min() / (self.operator.scale * bound))

    def _look_from_zero(self) -> None:
        """With the inverse about zero; if K is singular, about τ as long as there is a bound."""
        try:
            inverse = ShiftInvert(self.operator.quadratic, self.operator.chain)
        except SingularSystemError:
            if self.wide == 1.0:
                raise
            self.wide = 1.0
            return
        self.operator.destroy()
        self.operator, self.wide = inverse, np.inf

    def adjoint(self, seed: int = 0) -> Pairs:
        """As many modes of the transposed problem, by the same operator and factor.

        Fewer where the method stops short.
        """
        other = self.operator.transposed()
        return solve_krylov(other, self.count, self.engine, self.method, seed, complete=False)

    def destroy(self) -> None:
        self.operator.destroy()


def least_gain(d: float, b: float) -> float:
    """The least |θ| of the λ no farther than d from τ, d < b = |Im τ|; b infinite: of a real τ."""
    return (b - d) / (d * (2.0 * b - d)) if np.isfinite(b) else 1.0 / d
