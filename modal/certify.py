"""Counts of eigenvalues that do not come from an eigensolver, and the search for what is missing.

Definite conservative instants: the Hermitian L(σ) = K − σ²M + iσC has as many negative eigenvalues
as there are ω in (0, σ) (each eigenvalue of L falls through zero once; DESIGN.md, section 3). Every
other instant: the argument principle, the winding of det Q(z) around |z| = σ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.factorization import Factorization
from assembly.null_chain import NullChain
from modal.solvers.pairs import Pairs
from modal.solvers.shifted import real_form
from modal.solvers.stiffness import factorize
from modal.state import Complex, Quadratic

ATTEMPTS = 8
STEP = 1e-2  # how far above the last wanted modulus the count is taken, at most, relative
GAP = 1e-5  # and at least
TURN = np.pi / 3  # largest change of phase that counts as followed
DEPTH = 40


def inertia_count(quadratic: Quadratic, sigma: float) -> int:
    """Number of ω in (0, σ) of a definite conservative instant, by MUMPS's LDLᵀ of L(σ).

    Of a semidefinite one each pair of zero eigenvalues counts once. Real form of size 2n, whose
    negative inertia is twice that of L.
    """
    with Factorization(real_form(quadratic, 1j * sigma), "symmetric", small=0) as factor:
        negative = factor.negative_pivots
    if negative % 2:
        raise AccuracyError(f"the inertia at σ = {sigma:.6g} rad/s is odd: σ is an eigenvalue")
    return negative // 2


def contour_count(
    quadratic: Quadratic, radius: float, known: Complex | None = None, points: int = 32
) -> int:
    """Number of eigenvalues with |λ| < radius, with multiplicity, by the winding of det Q.

    det Q(z̄) is the conjugate of det Q(z), so half the circle is followed. Intervals are halved
    until the phase of a half turns by less than π/3 and the halves agree with the whole. Near an
    eigenvalue the phase turns by π within an arc of its distance to the circle: the first points
    are set closer about those that are known. One complex sparse LU a point: for instants that
    inertia does not cover. Raises AccuracyError when the phase cannot be followed, as with an
    eigenvalue on the circle.
    """
    angles = _angles(radius, np.zeros(0, complex) if known is None else known, points)
    points = len(angles) - 1
    phases = [_phase(quadratic, radius * np.exp(1j * a)) for a in angles]
    turned = 0.0
    stack = [(angles[j], angles[j + 1], phases[j], phases[j + 1], 0) for j in range(points)]
    while stack:
        a, b, at_a, at_b, depth = stack.pop()
        middle = 0.5 * (a + b)
        between = _phase(quadratic, radius * np.exp(1j * middle))
        first, second, whole = _wrap(between - at_a), _wrap(at_b - between), _wrap(at_b - at_a)
        if max(abs(first), abs(second)) < TURN and abs(first + second - whole) < 1e-6:
            turned += whole
        elif depth == DEPTH:
            raise AccuracyError(f"an eigenvalue lies on the circle |λ| = {radius:.6g} rad/s")
        else:
            stack += [(a, middle, at_a, between, depth + 1), (middle, b, between, at_b, depth + 1)]
    count = turned / np.pi
    if abs(count - round(count)) > 1e-3:
        raise AccuracyError(f"the winding number {count:.4f} of det Q is not a whole number")
    return round(count)


def certified(
    quadratic: Quadratic, chain: NullChain | None, k: int, find: Callable[[int, int], Pairs]
) -> Pairs:
    """At least the k smallest modes, complete by count; what a first search missed is searched for.

    find(k, seed) is a backend's search. Raises AccuracyError when it finds more than there are,
    ConvergenceError when after several searches some are still missing.
    """
    definite = is_definite(quadratic, chain)
    zeros = 0 if chain is None else chain.count
    asked, missing = k, 0
    for attempt in range(ATTEMPTS):
        found = find(asked, attempt)
        sigma = _above(np.sort(np.abs(found.eigenvalues)), k)
        inside = found.eigenvalues[np.abs(found.eigenvalues) < sigma]
        if definite:
            # Half of the zeros move to small ω > 0 when K is made positive definite by a little.
            there = inertia_count(quadratic, sigma) - zeros // 2
            missing = there - len(inside)
        else:
            points = max(32, 8 * len(inside))
            there = contour_count(quadratic, sigma, found.eigenvalues, points) - zeros
            missing = there - int(np.where(inside.imag > 0.0, 2, 1).sum())
        if missing == 0:
            return found
        if missing < 0:
            raise AccuracyError(
                f"{-missing} of the eigenvalues below {sigma:.6g} rad/s were found twice"
            )
        asked = min(quadratic.n, asked + missing + 2)
    raise ConvergenceError(f"{missing} modes below {sigma:.6g} rad/s could not be found", found)


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


def _above(moduli: NDArray[np.float64], k: int) -> float:
    """A radius just above the k-th modulus, in a gap of those found."""
    for j in range(min(k, len(moduli)) - 1, len(moduli) - 1):
        if moduli[j + 1] - moduli[j] > 2.0 * GAP * moduli[j]:
            return float(min(0.5 * (moduli[j] + moduli[j + 1]), moduli[j] * (1.0 + STEP)))
    return float(moduli[-1] * (1.0 + STEP))


def _angles(radius: float, known: Complex, points: int) -> NDArray[np.float64]:
    """Angles in (0, π): even, and about eigenvalues near the circle as close as these are."""
    angles = [np.linspace(0.0, np.pi, points + 1)]
    offset = np.abs(np.abs(known) / radius - 1.0)
    for value, gap in zip(known[offset < 0.2], offset[offset < 0.2], strict=True):
        angles.append(abs(np.angle(value)) + gap * np.array([-8.0, -2.0, -0.5, 0.5, 2.0, 8.0]))
    every = np.concatenate(angles)
    return np.asarray(np.unique(every[(every >= 0.0) & (every <= np.pi)]))


def _phase(quadratic: Quadratic, z: complex) -> float:
    """arg det Q(z)."""
    Q = sp.csc_matrix(quadratic.K + z * quadratic.C + z**2 * quadratic.M)
    try:
        lu = spla.splu(Q, permc_spec="MMD_AT_PLUS_A")
    except RuntimeError:
        raise AccuracyError(f"{z:.6g} rad/s, on the circle, is an eigenvalue") from None
    odd = (_parity(lu.perm_r) + _parity(lu.perm_c)) % 2
    phase = float(np.angle(lu.U.diagonal()).sum() + np.pi * odd)
    if not np.isfinite(phase):
        raise AccuracyError(f"det Q({z:.6g}) is not a finite number")
    return phase


def _parity(permutation: NDArray[np.intp]) -> int:
    """Number of transpositions modulo two: the size less the number of cycles."""
    count, labels = len(permutation), sp.csgraph.connected_components
    graph = sp.coo_matrix((np.ones(count), (np.arange(count), permutation)), shape=(count, count))
    return int((count - labels(graph)[0]) % 2)


def _wrap(angle: float) -> float:
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)
