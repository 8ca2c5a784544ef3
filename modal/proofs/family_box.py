"""The box of possible instability at every point of a family of frozen systems.

The bounds of modal/proofs/box.py come from a few fixed matrices: operators whose coefficients keep
their ratios over all points are added to one group, and a bound of a group's ratio holds at every
point. Sums of groups are bounded by the sum of their bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.combination import Kronecker
from modal.eigen.mirror_parts import parts_of
from modal.proofs.ratios import is_semidefinite, skew_ratio
from modal.reduction.affine import AffineFamily, Coefficients
from modal.types import Array, Index, Mask

PROPORTIONAL = 1e-12  # of a column's size: two columns of coefficients with one ratio


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
            if np.linalg.norm(column - along * direction) <= PROPORTIONAL * size:
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
                try:
                    ratios[i] = skew_ratio(skew, damping)
                except SingularSystemError:
                    ratios[i] = np.inf
        for i, group in enumerate(self._circulatory):
            if not np.isfinite(ratios[i]) and not self._parts(group.weights)[1].nnz:
                ratios[i] = 0.0
        return reference, ratios

    def at(self, at: Coefficients) -> PointBoxes:
        """The box of every point."""
        at = at.padded(len(self.family.terms))
        gyroscopic = np.zeros(len(at))
        circulatory = np.zeros(len(at))
        known = _spanned(at.damping, self._turning + self._damping)
        known &= _spanned(at.stiffness, self._circulatory, self._skewed)
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

    @property
    def _skewed(self) -> Mask:
        return np.array([term.symmetry != 1 for term in self.family.terms])


def _spanned(table: Array, of_groups: list[Group], columns: Mask | None = None) -> Mask:
    """Points (P,) whose coefficients are what the groups' factors make of them."""
    combined = np.zeros_like(table)
    assigned = np.zeros(table.shape[1], dtype=bool)
    for group in of_groups:
        acts = group.weights != 0.0
        combined[:, acts & ~assigned] = (group.factor(table)[:, None] * group.weights)[
            :, acts & ~assigned
        ]
        assigned |= acts
    chosen = np.ones(table.shape[1], dtype=bool) if columns is None else columns
    difference = np.abs(table - combined)[:, chosen]
    return np.asarray(np.all(difference <= PROPORTIONAL * 1e3 * np.abs(table[:, chosen]), axis=1))
