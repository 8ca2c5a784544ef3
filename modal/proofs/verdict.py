"""The verdict on all modes of one frozen system, with its proof."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import InputError
from assembly.magnitudes import check_count
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem, check_is_frozen
from assembly.system.null_chain import null_fields, pinned_dofs
from modal.eigen.prescribed import PrescribedMotion
from modal.eigen.quadratic import Quadratic, in_units
from modal.eigen.tolerances import EPS, HALF, SMALL, SURE, ZERO
from modal.proofs.all_modes import all_modes
from modal.proofs.box import Box, box_of
from modal.proofs.free_motion import without_translations
from modal.proofs.judge import (
    COUNT,
    ENERGY,
    LYAPUNOV,
    MODES,
    PROOFS,
    STABLE,
    UNDECIDED,
    WORDS,
    judge,
)
from modal.proofs.one_state import decays, examine, without_modes
from modal.proofs.ratios import is_definite
from modal.reduction.full_order import full_modes
from modal.types import Array, Complex, Mask

# Size up to which LAPACK finds all modes first.
ALL_MODES = 300

# Size up to which LAPACK finds all modes where nothing else decides, or all are asked for; only up
# to SMALL where no more than the fastest growth is open. It takes about 1e-8 n³ s of one core
# (measured from 100 to 1,000 degrees of freedom): half a minute here.
AFFORDABLE = 1500


@dataclass(frozen=True)
class Stability:
    """A verdict on all modes of a frozen system.

    Attributes
    ----------
    verdict : str
        "stable", "divergence", "flutter" or "undecided".
    proof : str
        Proof of the verdict. "energy": stiffness positive definite, damping that removes energy,
        no circulatory forces (Kelvin, Tait and Chetaev). "count": all modes in the box of possible
        instability were found. "lyapunov": a Lyapunov function. "mode": an unstable mode was found.
        "modes": only the lowest modes are known; the verdict is "undecided".
    growth_rate, error_bound : float
        Largest growth rate of the modes examined, and its error bound, 1/s; NaN without modes.
    critical_frequency : float
        Frequency of that mode, Hz.
    unstable_modes : int
        Modes examined that are unstable.
    examined_to : float
        Frequency, Hz, up to which all modes were examined: others may grow, or grow faster.
        Infinite where verdict and largest growth rate are those of all modes.
    box : Box
        Where an unstable eigenvalue must lie.
    eigenvalues : ndarray, shape (m,)
        Eigenvalues examined, rad/s, the lowest first.
    bounds : ndarray, shape (m,)
        Their error bounds, rad/s.
    mass_changes : bool
        Whether the mass changes with time (`FrozenSystem.mass_changes`). The verdict is then on the
        equation of the instant, whose growth rates hold while it lasts, and none on the motion.
    """

    verdict: str
    proof: str
    growth_rate: float
    error_bound: float
    critical_frequency: float
    unstable_modes: int
    examined_to: float
    box: Box
    eigenvalues: Complex
    bounds: Array
    mass_changes: bool = False

    def __str__(self) -> str:
        partial = bool(np.isfinite(self.examined_to))
        inside = int((np.abs(self.eigenvalues.imag) <= self.box.angular_frequency).sum())
        how = {
            "energy": "the stiffness is positive definite, damping takes energy, and no "
            "circulatory force acts",
            "count": f"all modes{' in the box' if self.box.is_bounded else ''}, {inside}, "
            "were found and counted"
            if len(self.eigenvalues)
            else "the stiffness leaves no mode in the box",
            "lyapunov": "a Lyapunov function decreases along every motion",
            "mode": f"{self.unstable_modes} unstable of {len(self.eigenvalues)} modes found"
            + (f"; others above {self.examined_to:.6g} Hz were not examined" * partial),
            "modes": f"of {len(self.eigenvalues)} modes found none is known to be unstable; "
            f"undecided above {self.examined_to:.6g} Hz",
        }
        lines = [f"{self.verdict} (proof: {self.proof}): {how[self.proof]}"]
        if self.mass_changes:
            lines = [
                "rate of an instant whose mass changes with time, no verdict on the motion: "
                + largest_rate(self),
                f"  {how[self.proof]}",
            ]
        elif np.isfinite(self.growth_rate):
            lines.append(
                f"  largest growth rate {self.growth_rate:.6g} ± {self.error_bound:.1e} 1/s "
                f"at {self.critical_frequency:.6g} Hz"
            )
        lines.append(f"  {self.box}")
        return "\n".join(lines)


def largest_rate(result: Stability) -> str:
    """The largest growth rate in words, with the frequency up to which it is the largest."""
    if not np.isfinite(result.growth_rate):
        return "no mode grows"
    words = (
        f"{result.growth_rate:+.6g} ± {result.error_bound:.1e} 1/s at "
        f"{result.critical_frequency:.6g} Hz"
    )
    if np.isfinite(result.examined_to):
        words += f"; modes above {result.examined_to:.6g} Hz were not examined"
    return words


def stability(system: FrozenSystem, k: int = 10) -> Stability:
    """The verdict on all modes of a frozen system, with its proof.

    Parameters
    ----------
    system : FrozenSystem
        The frozen system, of one body, a mechanism or matrices of your own.
    k : int
        Number of lowest modes to examine where nothing proves a statement on all modes; from
        `system.n` on all modes of up to 1,500 degrees of freedom.

    Returns
    -------
    Stability
        Verdict, proof, the box of possible instability and the modes examined. Where no proof
        covers all modes and none of those examined is unstable, the verdict is "undecided".

    Raises
    ------
    InputError
        `system` is no FrozenSystem, its mass matrix is not symmetric positive definite, or k is no
        positive whole number.
    FrozenMotionError
        An error of `modal.solve` where not even the lowest modes are found.

    Notes
    -----
    The methods, in rising cost: energy, one Cholesky factorization (Kelvin, Tait and Chetaev); the
    count of all modes in the box |Im λ| ≤ max(γ/2, κ) outside which no mode is unstable (`Box`); a
    Lyapunov function. docs/theory.md, "A verdict on all modes", derives them. Up to 300 degrees of
    freedom LAPACK finds all modes. Larger systems whose stiffness leaves no mode in the box need
    none; others are examined with a reduced basis, and by the lowest modes where that would cost
    more and one of these grows. LAPACK follows up to 1,500 where that leaves them undecided, and up
    to 500, or with k = `system.n`, where other modes may grow faster than those found: elsewhere
    `examined_to` is finite. "Stable" is never said where a growth rate is within its error bound.
    Motions that the kinematics of a free body's frame prescribe do not count; its other motions as
    a whole do.

    The mass of a mechanism changes as it moves, Ṁ = ½ (C + Cᵀ), and every instant of an undamped
    one grows or decays. The result is then that of the instant alone (`Stability.mass_changes`);
    over a period the Floquet exponents are the verdict on the motion.

    Examples
    --------
    Two masses of 1 kg on springs, coupled by circulatory forces. They flutter where n exceeds half
    the difference of the two stiffnesses, (9 − 4)/2 N/m:

    >>> import modal
    >>> from assembly import FrozenSystem
    >>> def masses(n):
    ...     return FrozenSystem(M=[[1.0, 0.0], [0.0, 1.0]], K=[[4.0, n], [-n, 9.0]])
    >>> modal.stability(masses(0.0)).proof
    'energy'
    >>> modal.stability(masses(3.0)).verdict
    'flutter'
    """
    check_is_frozen(system)
    check_count(k, "k")
    if not (system.symmetric_mass and is_definite(system.M)):
        raise InputError("M: expected a symmetric positive definite matrix")
    return replace(_decided(system, int(k)), mass_changes=system.mass_changes)


def _decided(system: FrozenSystem, k: int) -> Stability:
    """The verdict on the equation of the instant."""
    result = None
    if system.n > max(ALL_MODES, AFFORDABLE):
        unbounded = Box(np.inf, np.inf, np.inf)
        return _large(system, k) or _conclude(*full_modes(system, k), MODES, unbounded)
    if ALL_MODES < system.n > k:
        # The rounds of a basis of a quarter of the system cost as much as all modes.
        most = 0.25 * system.n
        result = _large(system, k, most)
        if result is not None and _is_fastest(system, k, most, result):
            result = replace(result, examined_to=np.inf)
        enough = system.n > SMALL and result is not None and result.unstable_modes > 0
        if result is not None and (enough or not np.isfinite(result.examined_to)):
            return result
    # Error bounds for about unit mass do not depend on units. Powers of two scale exactly.
    small = in_units(system, 2.0 ** -np.round(0.5 * np.log2(system.M.diagonal())))
    motion = None
    if small.rigid.shape[1]:
        free = without_translations(small)
        if free is None:
            return _without_modes(Box(0.0, 0.0, 0.0))
        small, motion = free
    quadratic = Quadratic(small)
    box = box_of(quadratic)
    if box.circulatory == 0.0 and _is_resisted(small, quadratic.stiffness_parts[0]):
        return _without_modes(box)
    if result is not None and system.n > SMALL and _is_beyond_precision(quadratic):
        return result
    decided = _by_all_modes(small, motion, box)
    return decided if result is None or decided.verdict != WORDS[UNDECIDED] else result


def _by_all_modes(system: FrozenSystem, motion: PrescribedMotion | None, box: Box) -> Stability:
    """By all modes, of LAPACK. motion: the prescribed fields."""
    modes = all_modes(system, motion)
    if modes.zeros > (0 if motion is None else motion.zero_eigenvalues):
        # The stiffness of some motion is zero by round-off: the sign of its λ² is not known.
        return replace(_conclude(modes.eigenvalues, modes.bounds, MODES, box), examined_to=0.0)
    proof = COUNT if modes.complete else MODES
    return _conclude(modes.eigenvalues, modes.bounds, proof, box, modes.on_axis)


def _is_beyond_precision(quadratic: Quadratic) -> bool:
    """Whether no growth is to be expected, but a decay that is less than what LAPACK's eigenvalues
    are off: ½ xᵀDx, to first order, of a shape of the symmetric stiffness."""
    if quadratic.reversible:
        return False
    K, D = quadratic.stiffness_parts[0], quadratic.damping_parts[0]
    squares, X = la.eigh(K.toarray(), quadratic.M.toarray())
    known = squares > ZERO * squares[-1]
    decay = 0.5 * (X * (D @ X)).sum(axis=0)[known] / np.sqrt(squares[known])
    # Of eigenvalues of the inverse.
    off = EPS * quadratic.n * np.sqrt(squares[known] / squares[known].min())
    return bool((decay >= -off).all() and (decay <= off).any())


def _is_resisted(system: FrozenSystem, symmetric: sp.csr_matrix) -> bool:
    """Whether the symmetric stiffness is positive definite, but for rigid motions at zero."""
    V = null_fields(system.rigid, system.M, system.stiffness, system.parts)
    free = np.setdiff1d(np.arange(system.n), pinned_dofs(V)) if V.shape[1] else slice(None)
    return is_definite(sp.csr_matrix(symmetric[free][:, free]))


def _large(system: FrozenSystem, k: int, most: float = np.inf) -> Stability | None:
    """Without modes, by a reduced basis of the system, of up to `most` vectors, then by Lyapunov's
    function; None where no basis serves."""
    bounds, box, proof = without_modes(system)
    if proof != MODES:
        return _without_modes(box, proof)
    examined = examine(system, k, most, bounds)
    if examined is None:
        return None
    result = _conclude(*examined)
    undecided = result.verdict == WORDS[UNDECIDED]
    if undecided and result.box.is_bounded and decays(Quadratic(system)):
        return replace(result, verdict=WORDS[STABLE], proof=PROOFS[LYAPUNOV], examined_to=np.inf)
    return result


def _is_fastest(system: FrozenSystem, k: int, most: float, found: Stability) -> bool:
    """Whether a reduced basis proves that no mode grows faster than the fastest of those found.

    One that grows faster than ρ is an unstable mode of the equation of μ = λ − ρ. Its damping is
    D + 2ρM: where that is positive, it has a box for any circulatory forces.
    """
    rate = found.growth_rate + SURE * found.error_bound
    partial = np.isfinite(found.examined_to) and found.unstable_modes > 0
    if not (partial and is_definite(Quadratic(system).damping_parts[0] + 2.0 * rate * system.M)):
        return False
    M, C = system.parts["M"], system.combined(DAMPING_PARTS)
    K = system.combined(STIFFNESS_PARTS) + C.scaled(rate) + M.scaled(rate**2)
    shifted = FrozenSystem(M, C + M.scaled(2.0 * rate), K, dofs=system.dofs)
    bounds, box, proof = without_modes(shifted)
    if box.angular_frequency > 2.0 * np.pi * found.examined_to:
        return False  # more modes than a basis has
    examined = examine(shifted, k, most, bounds) if proof == MODES else None
    if examined is None:
        return proof != MODES
    lam, bound, proof, *_ = examined
    return proof != MODES and bool((lam.real < -bound).all())


def _without_modes(box: Box, proof: int = ENERGY) -> Stability:
    """Stable, whatever the modes."""
    nothing, unknown = np.zeros(0), (np.nan, np.nan, np.nan)
    return Stability(
        WORDS[STABLE], PROOFS[proof], *unknown, 0, np.inf, box, nothing.astype(complex), nothing
    )


def _conclude(
    eigenvalues: Complex, bound: Array, proof: int, box: Box, settled: Mask | None = None
) -> Stability:
    """The verdict on the modes examined; without a proof others may be unstable.

    settled: modes that are known not to grow.
    """
    size = np.abs(eigenvalues)
    outside = np.abs(eigenvalues.imag) > box.angular_frequency + bound
    # Outside the box a growth rate of half of the digits is round-off.
    harmless = outside & (eigenvalues.real <= HALF * size)
    if settled is not None:
        harmless |= settled
    growth = np.where(harmless, np.minimum(eigenvalues.real, 0.0), eigenvalues.real)
    judged = judge(growth + 1j * eigenvalues.imag, bound, proof, harmless)
    examined = np.inf
    if proof == MODES:
        examined = float(size.max(initial=0.0) / (2.0 * np.pi))
    elif judged.proof == MODES:
        unsure = ~harmless & (np.abs(eigenvalues.real) <= bound)
        examined = float(size[unsure].min() / (2.0 * np.pi))
    return Stability(
        WORDS[judged.verdict], PROOFS[judged.proof], judged.growth_rate, judged.error_bound,
        judged.critical_frequency, judged.unstable_modes, examined, box, eigenvalues, bound,
    )  # fmt: skip
