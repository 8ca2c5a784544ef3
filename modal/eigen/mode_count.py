"""Counts of eigenvalues without an eigensolver, and the search for modes that a solver missed.

Definite conservative systems: the Hermitian L(σ) = K − σ²M + iσC has as many negative eigenvalues
as there are ω in (0, σ), because each eigenvalue of L decreases through zero once
(docs/numerics.md, "Counting"). Every other system: the argument principle, the winding of det Q(z)
around a circle.

With every known eigenvalue divided out, h(z) = det Q(z) / ∏(z − λ_j) winds around zero once for
each eigenvalue inside that is not among the λ_j. Where none is missing, ln h is analytic inside, so
its phase is the harmonic conjugate of ln|h|, whose values are not known up to 2π only: a polynomial
p fitted to ln|h| takes along the large and smooth part of the phase, that of the thousands of
eigenvalues far outside (832 rad in a quarter turn for a Rayleigh-damped block of 3,780 DOFs),
which can alter no winding, and the phase of g = h exp(−p) is next to constant.

What cannot happen unseen. A missed zero of multiplicity m close to the circle turns the phase of g
by up to 2πm within an arc of its distance δ: between two points, 2π are nothing. But it is a
logarithm in ln|g| too, m ln|z − μ|, which the neighbouring points see from afar, and p cannot take
it up with a third as many terms as there are points. So an arc is passed only when g changes over
both of its halves, each of length s, by less than MODULUS in ln|g| and TURN in phase; the first
asks for δ > s√m or so, and then the phase turns by less than √m, far from 2π. m zeros far from the
circle turn it evenly, by mπ/count per step of a half circle: invisible for m = 2 count, 4 count, …
only, and then by Jensen's formula |h| is too small inside: it is looked at there as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.determinant import Determinant
from modal.eigen.solvers.shift_invert import factorize, real_form
from modal.eigen.spectrum import Pairs, overdamped
from modal.eigen.tolerances import ATTEMPTS, COARSE, HALF
from modal.types import Array, Complex, Mask

FIRST, MOST = 16, 256  # steps of half a circle that p is fitted to
MODULUS = 0.3  # largest change of ln|g| over half an arc that is passed
TURN = np.pi / 3  # and of its phase
POINTS = 4000  # factorizations after which it is given up


@dataclass(frozen=True)
class Circle:
    """|z − centre| = radius, rad/s."""

    centre: complex
    radius: float

    def contains(self, points: Complex) -> Mask:
        return np.asarray(np.abs(points - self.centre) < self.radius)

    def __str__(self) -> str:
        return f"|λ − {self.centre:.6g}| = {self.radius:.6g} rad/s"


def missing_inside(
    log_det: Callable[[complex], complex], circle: Circle, known: Complex, deficit: float = 0.5
) -> int:
    """Eigenvalues inside the circle, with multiplicity, less those known that are inside.

    log_det(z): ln det Q(z), its imaginary part up to 2π. known: as many as are known, inside and
    outside, repeated as often as they occur; closed under conjugation when the centre is real.
    deficit: of ln|g| inside, that is none; 2 FIRST zeros missed half-way in make twice as much.
    Raises AccuracyError when the phase cannot be followed, as with an eigenvalue on the circle.
    """
    path = _Path(log_det, circle, known)
    count = FIRST
    while True:
        p = path.fit(count)
        steps = path.steps(count)
        arcs = list(pairwise((np.arange(0, steps + 1, 2) / steps).tolist()))
        turns = [path.turn(p, *arc) for arc in arcs]
        hard = [arc for arc, turn in zip(arcs, turns, strict=True) if turn is None]
        if count < MOST and 2 * len(hard) > len(arcs):
            count *= 2
            continue
        winding = path.winding(sum(t for t in turns if t is not None) + path.follow(p, hard))
        if winding or path.deficit(p) < deficit:
            return winding
        if count == MOST:
            raise AccuracyError(f"det Q is smaller inside {circle} than what winds around it")
        count *= 2


class _Path:
    """ln h along the circle, or its upper half when the rest is the conjugate, at t in [0, 1]."""

    def __init__(
        self, log_det: Callable[[complex], complex], circle: Circle, known: Complex
    ) -> None:
        self.log_det, self.circle, self.known = log_det, circle, known
        self.mirrored = circle.centre.imag == 0.0
        self.span = np.pi if self.mirrored else 2.0 * np.pi
        self.values: dict[float, complex] = {}

    def steps(self, count: int) -> int:
        return count if self.mirrored else 2 * count

    def at(self, t: float) -> complex:
        """ln h, the imaginary part up to 2π."""
        if t not in self.values:
            if len(self.values) == POINTS:
                raise AccuracyError(f"the phase of det Q on {self.circle} cannot be followed")
            self.values[t] = self._log(np.exp(1j * self.span * t))
        return self.values[t]

    def _log(self, w: complex) -> complex:
        offset = self.circle.radius * w
        z = self.circle.centre + offset
        relative = (self.circle.centre - self.known + offset) / self.circle.radius
        try:
            value = self.log_det(z)
        except SingularSystemError as fault:
            raise AccuracyError(f"on {self.circle}: {fault}") from None
        if not relative.all():
            raise AccuracyError(f"the eigenvalue {z:.6g} lies on {self.circle}")
        return complex(value - np.log(relative).sum())

    def fit(self, count: int, share: int = 3) -> Complex:
        """c of p = Σ c_k w^k, w = (z − centre)/radius, with Re p next to ln|h|.

        share: points to a term of p.
        """
        t = np.arange(self.steps(count) + 1) / self.steps(count)
        size = np.array([self.at(x).real for x in t])
        k = np.arange(count // share + 1)
        powers = np.exp(1j * self.span * t[:, None] * k)
        if self.mirrored:
            return np.asarray(np.linalg.lstsq(powers.real, size, rcond=None)[0], dtype=complex)
        real = np.linalg.lstsq(np.hstack([powers.real, -powers.imag[:, 1:]]), size, rcond=None)[0]
        c = real[: len(k)].astype(complex)
        c[1:] += 1j * real[len(k) :]
        return np.asarray(c)

    def turn(self, p: Complex, a: float, b: float) -> float | None:
        """The change of arg g from a to b, None when it is not safe to say."""
        middle = 0.5 * (a + b)
        ln_g = [
            self.at(t) - np.polyval(p[::-1], np.exp(1j * self.span * t)) for t in (a, middle, b)
        ]
        first, second = (_wrap(x) for x in np.diff(ln_g))
        if all(abs(x.real) < MODULUS and abs(x.imag) < TURN for x in (first, second)):
            return float(first.imag + second.imag)
        return None

    def follow(self, p: Complex, arcs: list[tuple[float, float]]) -> float:
        """The change of arg g over arcs that are not safe to pass whole: their halves' halves …"""
        rotated, stack = 0.0, list(arcs)
        while stack:
            a, b = stack.pop()
            turn = self.turn(p, a, b)
            if turn is not None:
                rotated += turn
            elif b - a <= HALF:
                raise AccuracyError(f"an eigenvalue lies on {self.circle}")
            else:
                middle = 0.5 * (a + b)
                stack += [(a, middle), (middle, b)]
        return rotated

    def winding(self, rotated: float) -> int:
        number = rotated / self.span
        if abs(number - round(number)) > 1e-3:
            raise AccuracyError(f"the winding number {number:.4f} of det Q is not a whole number")
        return round(number)

    def deficit(self, p: Complex) -> float:
        """|ln|g|| at a point inside, half-way in, far from the known."""
        w = 0.5 * np.exp(2j * np.pi * (np.arange(8) + 0.5) / 8.0)
        z = self.circle.centre + self.circle.radius * w
        gap = np.abs(z[:, None] - self.known[None, :]).min(axis=1, initial=np.inf)
        best = w[np.argmax(gap)]
        return float(abs(self._log(complex(best)).real - np.polyval(p[::-1], best).real))


def _wrap(change: complex) -> complex:
    """The same logarithm with its imaginary part in [−π, π)."""
    return complex(change.real, (change.imag + np.pi) % (2.0 * np.pi) - np.pi)


def conjugated(upper: Complex, zeros: int = 0) -> Complex:
    """All eigenvalues from one of each pair, Im λ ≥ 0, and as many zeros."""
    return np.concatenate([upper, upper[upper.imag > 0.0].conj(), np.zeros(zeros, complex)])


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
    with suppress(SingularSystemError):
        factor, structure = factorize(quadratic, chain)
        factor.destroy()
        return structure == "spd"
    return False


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
    *before, last = (Circle(target, inner + move * step) for move in moves)
    for circle in before:
        with suppress(AccuracyError, SingularSystemError):
            return circle, missing_from(circle, found)
    return last, missing_from(last, found)


def _gap(distance: Array, least: float, most: float = 1e-2) -> tuple[float, float]:
    """The first of these distances with a gap above it, and a step into the gap: at most this
    part of the distance."""
    for here, above in pairwise(distance):
        size = max(here, least)
        if above - here > 2.0 * COARSE * size:
            return float(here), float(min(0.5 * (above - here), most * size))
    return float(distance[-1]), float(most * max(distance[-1], least))
