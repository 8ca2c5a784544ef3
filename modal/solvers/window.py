"""The modes nearest a target away from zero, with a proof that none nearer was left out.

The operator T of `shifted` ranks by |θ|, not by distance. An eigenvalue at distance d from τ, b =
|Im τ| > d, has |λ − Re τ| ≥ b − d and |λ − τ̄| ≤ d + 2b, so |θ| ≥ (b − d) / (d (d + 2b)): modes are
asked for until the least |θ| found is below that bound at the distance of the k-th nearest.
"""

from __future__ import annotations

import numpy as np

from assembly.errors import SingularSystemError
from assembly.null_chain import NullChain
from modal.solvers.krylov import Engine, solve_krylov
from modal.solvers.operator import InverseOperator
from modal.solvers.pairs import Pairs
from modal.solvers.shifted import ShiftedOperator
from modal.state import Quadratic

ASIDE = 1e-5  # relative step aside when the target is an eigenvalue
CLOSE = 1e7  # growth of a random state from which it is one: other eigenvalues would drown


def operator_at(quadratic: Quadratic, chain: NullChain | None, target: complex) -> ShiftedOperator:
    """T about the target, or a little above it when the target is an eigenvalue."""
    aside = target * (1.0 + ASIDE)
    try:
        operator = ShiftedOperator(quadratic, chain, target)
    except SingularSystemError:
        return ShiftedOperator(quadratic, chain, aside)
    if np.linalg.norm(operator.start(0)) < CLOSE * np.sqrt(operator.size):
        return operator
    operator.destroy()
    return ShiftedOperator(quadratic, chain, aside)


def solve_window(
    operator: ShiftedOperator, k: int, target: complex, engine: Engine, method: str, seed: int = 0
) -> tuple[Pairs, ShiftedOperator | InverseOperator]:
    """At least the k modes nearest the target (Im λ ≥ 0), nearest first, if there are so many.

    Also returns the operator that found them: another, the caller's to destroy, when the window
    reaches down to zero.
    """
    n, b = operator.quadratic.n, abs(operator.tau.imag)
    asked = k + 2
    while True:
        found = solve_krylov(operator, asked, engine, method, seed)
        distance = _reach(found, k, target)
        if asked >= n or 2 * len(found.eigenvalues) >= operator.rank or distance == 0.0:
            break
        if b > 0.0 and distance >= 0.9 * b:
            return _from_zero(operator, k, target, engine, method, seed)
        bound = (b - distance) / (distance + 2.0 * b) if b > 0.0 else 1.0
        if operator.gain(found.eigenvalues[:asked]).min() * distance <= operator.scale * bound:
            break
        asked = min(n, asked + max(2, k // 2))
    return found.nearest(target), operator


def _from_zero(
    operator: ShiftedOperator, k: int, target: complex, engine: Engine, method: str, seed: int
) -> tuple[Pairs, InverseOperator]:
    """From the smallest |λ| up, until all within the distance of the k-th nearest are in."""
    inverse = InverseOperator(operator.quadratic, operator.chain)
    n, asked = operator.quadratic.n, 2 * k + 2
    try:
        while True:
            found = solve_krylov(inverse, asked, engine, method, seed)
            reach = abs(target) + _reach(found, k, target)
            every = asked >= n or 2 * len(found.eigenvalues) >= inverse.rank
            if every or np.abs(found.eigenvalues[:asked]).max() >= reach:
                return found.nearest(target), inverse
            asked = min(n, 2 * asked)
    except BaseException:
        inverse.destroy()
        raise


def solve_beside(
    quadratic: Quadratic, zeros: int, k: int, step: float, engine: Engine, method: str, seed: int
) -> tuple[Pairs, ShiftedOperator]:
    """The k smallest |λ|, `zeros` zeros left out, from a shift to −step instead of zero.

    For an instant with a nearly defective pair next to zero: in the inverse about zero its
    coupling, ~1/|λ|², drowns the elastic modes; about a point |λ_elastic| away it does not. Modes
    are asked for until the farthest from −step is farther than the k-th can be.
    """
    operator = ShiftedOperator(quadratic, None, complex(-step))
    n, asked = quadratic.n, k + zeros + 2
    try:
        while True:
            found = solve_krylov(operator, asked, engine, method, seed).nearest(0.0)
            lam = found.eigenvalues
            every = asked >= n or 2 * len(lam) >= operator.rank
            wanted = lam[zeros : zeros + k]
            near = np.sort(np.abs(lam + step))[:asked]
            if every or near.max() >= np.abs(wanted).max(initial=0.0) + step:
                return found.take(np.arange(zeros, len(lam))), operator
            asked = min(n, asked + max(2, k // 2))
    except BaseException:
        operator.destroy()
        raise


def _reach(found: Pairs, k: int, target: complex) -> float:
    """The distance of the k-th nearest of those found."""
    return float(np.sort(np.abs(found.eigenvalues - target))[:k].max())
