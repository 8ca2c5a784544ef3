"""The box of the complex plane outside which no eigenvalue can be unstable.

For an eigenpair λ = r + iω, x of λ²M + λ(D + G) + S + N (D, S symmetric, G, N skew) with xᴴMx = 1
put d = xᴴDx, s = xᴴSx, ig = xᴴGx, in = xᴴNx; d, s, g, n are real. Then

    λ² + (d + ig)λ + s + in = 0,
    imaginary part: ω = −(gr + n)/(2r + d),      real part: r² + dr = ω² + gω − s.

With D ⪰ 0, γ = max |g|, κ = max |n|/d and σ = max(0, −min s), an eigenvalue with r > 0 has

    |ω| ≤ max(γ/2, κ) = W,     r ≤ √(W² + γW + σ),     s ≤ W² + γW,

since (|g|r + |n|)/(2r + d) lies between |g|/2 and |n|/d. Two classic results are special cases:
κ = Ω for the internal damping of a shaft that turns at Ω, and κ = Ω/2 for a full oil film.

At every point of a family of frozen systems the bounds come from a few fixed matrices: operators
whose coefficients keep their ratios over all points are added to one group, and a bound of a
group's ratio holds at every point. Sums of groups are bounded by the sum of their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Kronecker
from assembly.magnitudes import EQUAL
from modal.eigen.quadratic import Quadratic, parts_of
from modal.eigen.tolerances import ZERO
from modal.proofs.ratios import is_semidefinite, skew_ratio
from modal.reduction.affine import AffineFamily, Coefficients
from modal.types import Array, Index, Mask


@dataclass(frozen=True)
class Box:
    """The box that holds every unstable eigenvalue: |Im λ| ≤ angular_frequency, 0 < Re λ ≤ growth.

    Parameters
    ----------
    gyroscopic : float
        γ = max |xᴴGx| / xᴴMx, rad/s.
    circulatory : float
        κ = max |xᴴNx| / xᴴDx, rad/s; infinite where circulatory forces act that no damper resists.
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
        W = self.angular_frequency
        return float(np.sqrt(W * (W + self.gyroscopic) + self.softening))

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


@dataclass(frozen=True)
class Group:
    """Operators whose coefficients keep their ratios: factor(p) Σ_j weights_j A_j.

    Parameters
    ----------
    weights : ndarray, shape (J,)
        Coefficients of the family's operators at factor one.
    """

    weights: Array

    def factor(self, table: Array) -> Array:
        """The factor at every point, from the points' coefficients (P, J)."""
        j = int(np.abs(self.weights).argmax())
        return np.asarray(table[:, j] / self.weights[j])


def groups(table: Array, columns: Mask) -> list[Group]:
    """The groups of a table of coefficients (P, J), of the chosen columns (J,)."""
    proportional: list[Group] = []
    directions: list[Array] = []
    for j in np.flatnonzero(columns & (np.abs(table).max(axis=0, initial=0.0) > 0.0)):
        column = table[:, j]
        size = float(np.linalg.norm(column))
        for i, direction in enumerate(directions):
            along = float(direction @ column)
            if np.linalg.norm(column - along * direction) <= ZERO * size:
                proportional[i].weights[j] = along
                break
        else:
            directions.append(column / size)
            proportional.append(Group(np.zeros(table.shape[1])))
            proportional[-1].weights[j] = size
    return proportional


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
        self.family = family
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
            dissipative = [definite or self._is_dissipative(g, span.damping) for g in self._damping]
            self._dissipative = np.array(dissipative, dtype=bool)
        else:
            self._turning_ratios, self._ratios = stored["turning"], stored["circulatory"]
            self._dissipative, self._reference = stored["dissipative"] > 0.0, stored["damping"]

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

    def _gyroscopic_ratio(self, group: Group) -> float:
        """max |xᴴGx| / xᴴMx of a group; |w| itself for m ⊗ w̃ with the mass m ⊗ I."""
        mass = [self.family.terms[j].operator for j in np.flatnonzero(self._mass[0])]
        terms = [self.family.terms[j].operator for j in np.flatnonzero(group.weights)]
        if len(mass) == 1 and isinstance(mass[0], Kronecker):
            m, a = mass[0].m, mass[0].a * self._mass[0].max()
            if all(isinstance(term, Kronecker) and term.m is m for term in terms):
                weights = group.weights[group.weights != 0.0]
                w = sum(c * term.a for c, term in zip(weights, terms, strict=True))
                if np.array_equal(a, a[0, 0] * np.eye(len(a))):
                    return float(np.linalg.norm(w, 2) / a[0, 0])
        return skew_ratio(self._parts(group.weights)[1], self._parts(self._mass[0])[0])

    def _is_dissipative(self, group: Group, table: Array) -> bool:
        return bool(np.all(group.factor(table) >= 0.0)) and is_semidefinite(
            self._parts(group.weights)[0]
        )

    def _circulatory_ratios(self, table: Array) -> tuple[Array, Array]:
        """Reference factors of the damping groups; κ of each circulatory group relative to them."""
        factors = np.array([group.factor(table) for group in self._damping])
        reference = np.array([np.median(f[f > 0.0]) if np.any(f > 0.0) else 0.0 for f in factors])
        weights = sum((f * g.weights for f, g in zip(reference, self._damping, strict=True)), 0.0)
        ratios = np.full(len(self._circulatory), np.inf)
        if np.any(reference):
            damping = self._parts(np.asarray(weights))[0]
            for i, group in enumerate(self._circulatory):
                skew = self._parts(group.weights)[1]
                ratios[i] = skew_ratio(skew, damping)
        for i, group in enumerate(self._circulatory):
            if not np.isfinite(ratios[i]) and not self._parts(group.weights)[1].nnz:
                ratios[i] = 0.0
        return reference, ratios

    def at(self, at: Coefficients) -> PointBoxes:
        """The box of every point."""
        at = at.padded(len(self.family.terms))
        gyroscopic = np.zeros(len(at))
        circulatory = np.zeros(len(at))
        known = spanned(at.damping, self._turning + self._damping)
        skewed = np.array([term.symmetry != 1 for term in self.family.terms])
        known &= spanned(at.stiffness, self._circulatory, skewed)
        known &= np.all(at.mass == self._mass[0], axis=1) & (len(self._mass) == 1)
        for group, ratio in zip(self._turning, self._turning_ratios, strict=True):
            gyroscopic += np.abs(group.factor(at.damping)) * ratio
        strength = self._strength(at.damping)
        for group, ratio in zip(self._circulatory, self._ratios, strict=True):
            size = np.abs(group.factor(at.stiffness))
            with np.errstate(divide="ignore", invalid="ignore"):
                circulatory += np.where((size > 0.0) & (ratio > 0.0), size * ratio / strength, 0.0)
        dissipative = np.ones(len(at), dtype=bool)
        for group, positive in zip(self._damping, self._dissipative, strict=True):
            acts = group.factor(at.damping)
            dissipative &= (acts == 0.0) | (positive & (acts > 0.0))
        circulatory = np.where(known & dissipative, circulatory, np.inf)
        return PointBoxes(gyroscopic, circulatory, dissipative)

    def _strength(self, table: Array) -> Array:
        """t(p) with D(p) ⪰ t(p) D of the reference factors."""
        t = np.full(len(table), np.inf)
        for factor, group in zip(self._reference, self._damping, strict=True):
            if factor > 0.0:
                t = np.minimum(t, group.factor(table) / factor)
        return np.where(np.isfinite(t), t, 0.0)


def spanned(table: Array, of_groups: list[Group], columns: Mask | None = None) -> Mask:
    """Points (P,) whose coefficients (P, J), of some columns, are what the groups make of them."""
    combined = np.zeros_like(table)
    assigned = np.zeros(table.shape[1], dtype=bool)
    for group in of_groups:
        acts = np.flatnonzero((group.weights != 0.0) & ~assigned[: len(group.weights)])
        combined[:, acts] = group.factor(table)[:, None] * group.weights[acts]
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
    lowest = la.eigh(symmetric.toarray(), M.toarray(), eigvals_only=True, subset_by_index=[0, 0])
    return Box(skew_ratio(gyroscopic, M), kappa, max(0.0, -float(lowest[0])), dissipative)
