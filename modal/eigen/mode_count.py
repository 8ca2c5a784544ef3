"""Counts of eigenvalues without an eigensolver, and the search for modes that a solver missed.

Definite conservative systems: the Hermitian L(σ) = K − σ²M + iσC has as many negative eigenvalues
as there are ω in (0, σ), because each eigenvalue of L decreases through zero once
(docs/numerics.md, "Counting"). Every other system: the argument principle, the winding of det Q(z)
around a circle (modal/eigen/winding.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.determinant import Determinant
from modal.eigen.solvers.shift_invert import factorize, real_form
from modal.eigen.spectrum import Pairs, overdamped
from modal.eigen.tolerances import ATTEMPTS, COARSE
from modal.eigen.winding import Circle, conjugated, missing_inside
from modal.types import Array

Count = Callable[[Circle, Pairs], int]


def inertia_count(quadratic: Quadratic, sigma: float) -> int:
    """Number of ω in (0, σ) of a definite conservative instant, by MUMPS's LDLᵀ of L(σ).

    Of a semidefinite one each pair of zero eigenvalues counts once. Real form of size 2n, whose
    negative inertia is twice that of L. Raises AccuracyError when σ is an eigenvalue, or next to
    one.
    """
    try:
        with Factorization(real_form(quadratic, 1j * sigma), "symmetric", small=0) as factor:
            negative = factor.negative_pivots
    except SingularSystemError as fault:
        raise AccuracyError(f"no inertia at σ = {sigma:.6g} rad/s: {fault}") from fault
    if negative % 2:
        raise AccuracyError(f"the inertia at σ = {sigma:.6g} rad/s is odd: σ is an eigenvalue")
    return negative // 2


def certified(
    quadratic: Quadratic,
    chain: NullChain | None,
    k: int,
    target: complex,
    find: Callable[[int, int], Pairs],
) -> Pairs:
    """At least the k modes nearest the target, complete by count; what was missed is searched for.

    Near zero complete up to the first overdamped mode, unless these are all modes.

    Eigenvalues that are infinite to round-off (a nearly singular M) are outside every circle.
    find(k, seed) is a backend's search. Raises AccuracyError when it finds more than there are,
    ConvergenceError when after several searches some are still missing.
    """
    zeros = 0 if chain is None else chain.count
    count = _by_inertia if is_definite(quadratic, chain) else _by_winding
    missing_from = count(quadratic, zeros)
    asked, missing = k, 0
    for attempt in range(ATTEMPTS):
        found = find(asked, attempt)
        distance = np.abs(found.eigenvalues - target)
        finite = ~quadratic.infinite(found.eigenvalues)
        distance = np.sort(distance[finite] if finite.any() else distance)
        wanted = k
        if target == 0.0 and found.total + zeros < 2 * quadratic.n:
            # Overdamped modes of higher shapes lie beyond the first overdamped one.
            edge = np.abs(found.eigenvalues[overdamped(found.eigenvalues)]).min(initial=np.inf)
            wanted = min(k, int((distance < edge).sum()))
            if wanted == 0:
                raise AccuracyError("no count of eigenvalues: the slowest mode is overdamped")
        circle, missing = _counted(
            missing_from, found, distance, wanted, complex(target), zeros > 0
        )
        if missing == 0:
            return found
        if missing < 0:
            raise AccuracyError(f"{-missing} of the eigenvalues inside {circle} were found twice")
        asked = min(2 * quadratic.n, asked + missing + 2)
    raise ConvergenceError(f"{missing} eigenvalues inside {circle} could not be found", found)


def is_definite(quadratic: Quadratic, chain: NullChain | None) -> bool:
    """Conservative with K positive definite, but for the null space of the chain."""
    if not quadratic.conservative:
        return False
    try:
        factor, structure = factorize(quadratic, chain)
    except SingularSystemError:
        return False
    factor.destroy()
    return structure == "spd"


def _by_inertia(quadratic: Quadratic, zeros: int) -> Count:
    """All eigenvalues are on the axis: those inside have ω between the circle's two ends on it.

    Half of the zeros move to small ω > 0 when K is made positive definite by a little; of a circle
    that reaches below zero the mirror images of modes that are in it are not looked for.
    """

    def missing(circle: Circle, found: Pairs) -> int:
        half = np.sqrt(circle.radius**2 - circle.centre.real**2)
        low, high = circle.centre.imag - half, circle.centre.imag + half
        below = inertia_count(quadratic, low) if low > 0.0 else zeros // 2
        there = inertia_count(quadratic, high) - below
        return there - int(circle.contains(found.eigenvalues).sum())

    return missing


def _by_winding(quadratic: Quadratic, zeros: int) -> Count:
    determinant = Determinant(quadratic)

    def missing(circle: Circle, found: Pairs) -> int:
        return missing_inside(determinant.log, circle, conjugated(found.eigenvalues, zeros))

    return missing


def _counted(
    missing_from: Count,
    found: Pairs,
    distance: Array,
    k: int,
    target: complex,
    loose: bool,
    moves: Sequence[float] = (1.0, 0.6, 1.4),
) -> tuple[Circle, int]:
    """A circle that holds the k nearest of those found, and how many it holds besides them.

    distance: of the found to the target, ascending. loose: there are zeros, which the circle keeps
    away from too: det Q has them to round-off only. moves: of the step into the gap, for a radius
    that an eigenvalue turns out to be on.
    """
    beyond = distance[min(k, len(distance)) - 1 :]
    if loose:
        beyond = np.sort(np.append(beyond, max(abs(target), beyond[0])))
    inner, step = _gap(beyond, COARSE * abs(target))
    for move in moves:
        circle = Circle(target, inner + move * step)
        try:
            return circle, missing_from(circle, found)
        except (AccuracyError, SingularSystemError):
            if move == moves[-1]:
                raise
    raise AssertionError("unreachable")


def _gap(distance: Array, least: float, most: float = 1e-2) -> tuple[float, float]:
    """The first of these distances with a gap above it, and a step into the gap: at most this
    part of the distance."""
    for here, above in pairwise(distance):
        size = max(here, least)
        if above - here > 2.0 * COARSE * size:
            return float(here), float(min(0.5 * (above - here), most * size))
    return float(distance[-1]), float(most * max(distance[-1], least))
