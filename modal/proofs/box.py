"""The box of the complex plane outside which no eigenvalue can be unstable.

For an eigenpair λ = r + iω, x of λ²M + λ(D + G) + S + N (D, S symmetric, G, N skew) with xᴴMx = 1
put d = xᴴDx, s = xᴴSx, ig = xᴴGx, in = xᴴNx; d, s, g, n are real. Then

    λ² + (d + ig)λ + s + in = 0,
    imaginary part: ω = −(gr + n)/(2r + d),      real part: r² + dr = ω² + gω − s.

With D ⪰ 0, γ = max |g|, κ = max |n|/d and σ = max(0, −min s), an eigenvalue with r > 0 has

    |ω| ≤ max(γ/2, κ) = W,     r ≤ √(W² + γW + σ),     s ≤ W² + γW,

since (|g|r + |n|)/(2r + d) lies between |g|/2 and |n|/d. Two classic results are special cases:
κ = Ω for the internal damping of a shaft that turns at Ω, and κ = Ω/2 for a full oil film.

Where N acts on motions without damping κ is infinite. With |n| ≤ κ (d + δ) and s ≤ ρ (d + δ) for
some δ > 0 the imaginary part has d (|ω| − κ) + r (2|ω| − γ) ≤ κδ for |ω| > max(κ, γ/2), so that

    d ≤ κδ / (|ω| − κ) = d̂,     r ≤ κδ / (2|ω| − γ) = r̂,     s ≥ ω² − γ|ω| − r̂ (r̂ + d̂),

and |ω| ≤ W where the last is ρ (d̂ + δ): shapes of high frequency have damping in proportion to
their stiffness, more than circulatory forces supply. W takes the place of κ.

At every point of a family of frozen systems the bounds come from a few fixed matrices: operators
whose coefficients keep their ratios over all points are added to one group, and a bound of a
group's ratio holds at every point. Sums of groups are bounded by the sum of their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Kronecker
from assembly.magnitudes import EQUAL
from modal.eigen.quadratic import Quadratic, parts_of
from modal.eigen.tolerances import EPS, ZERO
from modal.proofs.ratios import is_definite, is_semidefinite, skew_ratio
from modal.reduction.affine import AffineFamily, Coefficients
from modal.types import Array, Index, Mask

Matrix: TypeAlias = sp.csr_matrix | Array


@dataclass(frozen=True)
class Box:
    """The box that holds every unstable eigenvalue: |Im λ| ≤ angular_frequency, 0 < Re λ ≤ growth.

    Parameters
    ----------
    gyroscopic : float
        γ = max |xᴴGx| / xᴴMx, rad/s.
    circulatory : float
        κ = max |xᴴNx| / xᴴDx, rad/s, or the frequency above which damping in proportion to
        stiffness resists N; infinite where circulatory forces act that no damper resists.
    softening : float
        σ, (rad/s)²: no xᴴSx / xᴴMx is below −σ.
    dissipative : bool
        Whether damping supplies energy to no motion, D ⪰ 0. Otherwise κ is infinite.

    Notes
    -----
    M is the mass matrix, D and G are the symmetric and skew parts of all that multiplies the
    velocity, S and N those of all that multiplies the displacement. With W = max(γ/2, κ) an
    eigenvalue λ with Re λ > 0 has |Im λ| ≤ W and Re λ ≤ √(W² + γW + σ); docs/theory.md, "A verdict
    on all modes", derives it. Its special cases are the classic bounds of a whirl frequency: κ = Ω
    for internal damping of a shaft at the speed Ω, κ = Ω/2 for a full oil film.

    Examples
    --------
    >>> import modal
    >>> box = modal.Box(gyroscopic=6.0, circulatory=4.0, softening=9.0)
    >>> box.angular_frequency, box.growth
    (4.0, 7.0)
    """

    gyroscopic: float
    circulatory: float
    softening: float
    dissipative: bool = True

    @property
    def angular_frequency(self) -> float:
        """W, the largest |Im λ| of an unstable eigenvalue, rad/s."""
        return max(0.5 * self.gyroscopic, self.circulatory)

    @property
    def growth(self) -> float:
        """The largest Re λ that is possible, 1/s."""
        return float(np.sqrt(self.stiffness + self.softening))

    @property
    def stiffness(self) -> float:
        """W² + γW: the shape of an unstable mode has xᴴSx / xᴴMx up to this, (rad/s)²."""
        W = self.angular_frequency
        return W * (W + self.gyroscopic)

    @property
    def is_bounded(self) -> bool:
        """Whether κ is finite, so that the box limits the frequency of an unstable mode."""
        return bool(np.isfinite(self.circulatory))

    def __str__(self) -> str:
        if not self.dissipative:
            return "no box: damping gives energy to some motions"
        if not self.is_bounded:
            return (
                "no box: circulatory forces act where no damper does; a mode of any frequency can "
                "be unstable"
            )
        return (
            "an unstable mode would have a frequency up to "
            f"{self.angular_frequency / (2 * np.pi):.6g} Hz and grow at {self.growth:.6g} 1/s "
            f"or less (gyroscopic {self.gyroscopic:.4g} rad/s, "
            f"circulatory {self.circulatory:.4g} rad/s)"
        )


def groups(table: Array, columns: Mask) -> Array:
    """Groups of operators whose coefficients keep their ratios over all points: the coefficients
    (G, J) of each group at factor one.

    table (P, J): the coefficients of the points. columns (J,): the operators that are grouped.
    """
    proportional: list[Array] = []
    directions: list[Array] = []
    for j in np.flatnonzero(columns & (np.abs(table).max(axis=0, initial=0.0) > 0.0)):
        column = table[:, j]
        size = float(np.linalg.norm(column))
        for weights, direction in zip(proportional, directions, strict=True):
            along = float(direction @ column)
            if np.linalg.norm(column - along * direction) <= ZERO * size:
                weights[j] = along
                break
        else:
            directions.append(column / size)
            proportional.append(np.zeros(table.shape[1]))
            proportional[-1][j] = size
    return np.array(proportional).reshape(-1, table.shape[1])


def factors(of_groups: Array, table: Array) -> Array:
    """The factor of every group at every point, (P, G), from the points' coefficients (P, J)."""
    largest = np.abs(of_groups).argmax(axis=1)
    return np.asarray(table[:, largest] / of_groups[np.arange(len(of_groups)), largest])


@dataclass(frozen=True)
class PointBoxes:
    """γ and κ (P,), rad/s, of points; κ is infinite where nothing is known.

    dissipative (P,): whether damping is known to supply energy to no motion.
    """

    gyroscopic: Array
    circulatory: Array
    dissipative: Mask

    @property
    def angular_frequency(self) -> Array:
        """W, rad/s, outside of which no Im λ of an unstable mode is."""
        return np.maximum(0.5 * self.gyroscopic, self.circulatory)

    @property
    def stiffness(self) -> Array:
        """W² + γW, (rad/s)²: the largest xᴴSx / xᴴMx of an unstable mode."""
        W = self.angular_frequency
        return np.asarray(W * (W + self.gyroscopic))

    @property
    def bounded(self) -> Mask:
        """Points (P,) whose box is finite."""
        return np.isfinite(self.circulatory)

    def first(self, lowest: float) -> Box:
        """The box of the first point; lowest: about the least xᵀSx / xᵀMx, (rad/s)²."""
        gyroscopic, circulatory = float(self.gyroscopic[0]), float(self.circulatory[0])
        return Box(gyroscopic, circulatory, max(0.0, -lowest), bool(self.dissipative[0]))

    def take(self, index: Index | slice) -> PointBoxes:
        return PointBoxes(self.gyroscopic[index], self.circulatory[index], self.dissipative[index])


class FamilyBox:
    """Bounds that hold at every point of a family whose coefficients are combinations of `span`.

    Points outside the groups of `span` (an operator that did not act there) get an infinite κ.
    stored: the `arrays` of an earlier one, which are then not computed again.
    """

    def __init__(
        self, family: AffineFamily, span: Coefficients, stored: Mapping[str, Array] | None = None
    ) -> None:
        span = span.padded(len(family.terms))
        symmetry = np.array([term.symmetry for term in family.terms])
        self.family, self._resisted = family, np.inf
        self._mass = np.unique(span.mass, axis=0)
        self._turning = groups(span.damping, symmetry != 1)
        self._circulatory = groups(span.stiffness, symmetry != 1)
        self._damping = groups(span.damping, symmetry != -1)
        if stored is None:
            self._turning_ratios = np.array([self._gyroscopic_ratio(g) for g in self._turning])
            self._reference, self._ratios = self._circulatory_ratios(span.damping)
            # One group with a ratio has been factorized as positive definite.
            ratios = self._ratios[np.isfinite(self._ratios)]
            definite = len(self._damping) == 1 and bool(np.any(ratios > 0.0))
            positive = (factors(self._damping, span.damping) >= 0.0).all(axis=0)
            dissipative = [
                definite or (acts and is_semidefinite(self._parts(weights)[0]))
                for weights, acts in zip(self._damping, positive, strict=True)
            ]
            self._dissipative = np.array(dissipative, dtype=bool)
        else:
            self._turning_ratios, self._ratios = stored["turning"], stored["circulatory"]
            self._dissipative, self._reference = stored["dissipative"] > 0.0, stored["damping"]

    @property
    def damped(self) -> bool:
        """Whether any damping acts."""
        return len(self._damping) > 0

    def resist(self, at: Coefficients, trials: int = 4) -> None:
        """Find W of the only point from damping that grows with the stiffness.

        trials: of δ. W is about least where κ, which falls with δ by a power from ½ to 1, is √(ρδ).
        """
        at = at.padded(len(self.family.terms))
        M, D = self._parts(at.mass[0])[0], self._parts(at.damping[0])[0]
        S, N = self._parts(at.stiffness[0])
        box = self.at(at)
        if not (box.dissipative[0] and D.diagonal().min() > 0.0):
            return
        shift = float((S.diagonal() / D.diagonal()).max())
        for _ in range(trials):
            damping = sp.csr_matrix(D + shift * M)
            slope = 2.0 * float((S.diagonal() / damping.diagonal()).max())
            if not is_definite(sp.csr_matrix(slope * damping - S)):
                shift *= 30.0
                continue
            ratio = skew_ratio(N, damping)
            W = highest_growing(float(box.gyroscopic[0]), ratio, slope, shift)
            self._resisted = min(self._resisted, W)
            last, shift = shift, (ratio / slope**0.5) ** 0.8 * shift**0.6
            if 0.3 * last < shift < 3.0 * last:
                return

    def arrays(self) -> dict[str, Array]:
        """The bounds, to be kept with a stored map."""
        return {
            "turning": self._turning_ratios,
            "circulatory": self._ratios,
            "dissipative": self._dissipative.astype(float),
            "damping": self._reference,
        }

    def _parts(self, weights: Array) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Symmetric and skew part of Σ w_j A_j."""
        terms = self.family.terms
        return parts_of(
            self.family.n, [(weights[j], terms[j].operator) for j in np.flatnonzero(weights)]
        )

    def _gyroscopic_ratio(self, group: Array) -> float:
        """max |xᴴGx| / xᴴMx of a group; |w| itself for m ⊗ w̃ with the mass m ⊗ I."""
        mass = [self.family.terms[j].operator for j in np.flatnonzero(self._mass[0])]
        terms = [self.family.terms[j].operator for j in np.flatnonzero(group)]
        if len(mass) == 1 and isinstance(mass[0], Kronecker):
            m, a = mass[0].m, mass[0].a * self._mass[0].max()
            if all(isinstance(term, Kronecker) and term.m is m for term in terms):
                weights = group[group != 0.0]
                w = sum(c * term.a for c, term in zip(weights, terms, strict=True))
                if np.array_equal(a, a[0, 0] * np.eye(len(a))):
                    return float(np.linalg.norm(w, 2) / a[0, 0])
        return skew_ratio(self._parts(group)[1], self._parts(self._mass[0])[0])

    def _circulatory_ratios(self, table: Array) -> tuple[Array, Array]:
        """Reference factors of the damping groups; κ of each circulatory group relative to them."""
        acting = factors(self._damping, table).T
        reference = np.array([np.median(f[f > 0.0]) if np.any(f > 0.0) else 0.0 for f in acting])
        damping = self._parts(reference @ self._damping)[0] if np.any(reference) else None
        ratios = np.full(len(self._circulatory), np.inf)
        for i, group in enumerate(self._circulatory):
            skew = self._parts(group)[1]
            if damping is not None:
                ratios[i] = skew_ratio(skew, damping)
            elif not skew.nnz:
                ratios[i] = 0.0
        return reference, ratios

    def at(self, at: Coefficients) -> PointBoxes:
        """The box of every point."""
        at = at.padded(len(self.family.terms))
        known = spanned(at.damping, np.vstack([self._turning, self._damping]))
        skewed = np.array([term.symmetry != 1 for term in self.family.terms])
        known &= spanned(at.stiffness, self._circulatory, skewed)
        known &= np.all(at.mass == self._mass[0], axis=1) & (len(self._mass) == 1)
        gyroscopic = np.abs(factors(self._turning, at.damping)) @ self._turning_ratios
        acts, used = factors(self._damping, at.damping), self._reference > 0.0
        # t(p) with D(p) ⪰ t(p) D of the reference factors.
        strength = (acts[:, used] / self._reference[used]).min(axis=1, initial=np.inf)
        strength = np.where(np.isfinite(strength), strength, 0.0)[:, None]
        size, ratios = np.abs(factors(self._circulatory, at.stiffness)), self._ratios
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where((size > 0.0) & (ratios > 0.0), size * ratios / strength, 0.0)
        circulatory = terms.sum(axis=1)
        dissipative = ((acts == 0.0) | (self._dissipative & (acts > 0.0))).all(axis=1)
        circulatory = np.where(np.isfinite(circulatory), circulatory, self._resisted)
        circulatory = np.where(known & dissipative, circulatory, np.inf)
        return PointBoxes(gyroscopic, circulatory, dissipative)


def highest_growing(gyroscopic: float, ratio: float, slope: float, shift: float) -> float:
    """W of the head of this file from γ, κ, ρ and δ, up to 5 % more; infinite without κ."""
    W = 1.01 * max(ratio, 0.5 * gyroscopic)
    while 0.0 < W < np.inf:
        damping, growth = ratio * shift / (W - ratio), ratio * shift / (2.0 * W - gyroscopic)
        stiffness = W * (W - gyroscopic) - growth * (growth + damping)
        if stiffness > slope * (damping + shift):
            break
        W *= 1.05
    return W


def spanned(table: Array, of_groups: Array, columns: Mask | None = None) -> Mask:
    """Points (P,) whose coefficients (P, J), of some columns, are what the groups make of them."""
    combined = np.zeros_like(table)
    assigned = np.zeros(table.shape[1], dtype=bool)
    for weights, factor in zip(of_groups, factors(of_groups, table).T, strict=True):
        acts = np.flatnonzero((weights != 0.0) & ~assigned[: len(weights)])
        combined[:, acts] = factor[:, None] * weights[acts]
        assigned[acts] = True
    chosen = np.ones(table.shape[1], dtype=bool) if columns is None else columns
    size = np.abs(table).max(axis=0, initial=0.0) + np.abs(combined).max(axis=0, initial=0.0)
    return np.asarray(np.all((np.abs(table - combined) <= EQUAL * size)[:, chosen], axis=1))


def box_of(quadratic: Quadratic) -> Box:
    """The box of a small system."""
    damping, gyroscopic = quadratic.damping_parts
    symmetric, circulatory = quadratic.stiffness_parts
    M, dissipative = quadratic.M, is_semidefinite(damping)
    kappa = skew_ratio(circulatory, damping) if dissipative else np.inf
    lowest = la.eigvalsh(symmetric.toarray(), M.toarray())
    return Box(skew_ratio(gyroscopic, M), kappa, max(0.0, -float(lowest[0])), dissipative)


def is_empty(M: Matrix, C: Matrix, K: Matrix, lowest: float, share: float = 0.95) -> bool:
    """Whether no mode of a system grows, by both sides of a frequency W below its lowest, rad/s.

    Of λ = r + iω with r ≥ 0, Re xᴴQ(λ)x = r² + rd + s − ω² − ωg is positive for |ω| ≤ W where
    S − W²M + iWG is positive definite, and Re λ̄xᴴQ(λ)x = |λ|²(r + d) + rs + ωn for |ω| ≥ W where
    WD + iN is too. A box with S > (W² + γW)M is a special case. These are the Hermitian parts of
    K − W²M + iWC and WC + iK.
    """
    W = share * lowest
    sides = W * C + 1j * K, K - W**2 * M + (1j * W) * C
    return all(is_definite(A + A.conj().T) for A in sides) and is_definite(M)


def stay_apart(M: sp.csr_matrix, K: sp.csr_matrix) -> bool:
    """Whether every λ² of λ²M + S + N is real, negative and simple: no mode grows.

    −λ² lie within ν = max |xᴴNx| / xᴴMx of the eigenvalues of (S, M) (Bauer and Fike), and one of
    them alone within ν of one of these that is further than 2ν from the others: it is real.
    """
    squares = la.eigvalsh(0.5 * (K + K.T).toarray(), M.toarray())
    rounding = len(squares) * EPS * float(np.abs(squares).max())
    reach = skew_ratio(sp.csr_matrix(0.5 * (K - K.T)), M) + rounding
    return bool(np.diff(squares, prepend=-squares[0]).min() > 2.0 * reach)
