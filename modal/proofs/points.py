"""The proof behind the verdict at every point of a sweep that is solved from a reduced basis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.magnitudes import EQUAL
from modal.eigen.tolerances import SURE
from modal.proofs.box import FamilyBox, PointBoxes
from modal.proofs.codes import COUNT, ENERGY, MODES
from modal.proofs.completeness import ComplementForms, Completeness
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import Projected
from modal.reduction.error_bounds import ErrorBounds, round_off, unbounded
from modal.reduction.instants import Instants
from modal.reduction.mass_basis import MassBasis
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Index, Mask

PREFIX = "proof_"  # of the names under which the bounds are stored
REACH = 2.5  # the starting basis holds modes of K_ref up to this times W² + γW


class Prover:
    """Proofs for the points of one family.

    Parameters
    ----------
    family : AffineFamily
        The operators.
    span : Coefficients
        Points whose coefficients span those of all points to come.
    reference, arrays : optional
        Of an earlier one: its reference operator and `arrays`, which are not computed again.
    """

    _completeness: Completeness | None = None  # from `start` or `stored`; None: no point has a box

    def __init__(
        self, family: AffineFamily, span: Coefficients, reference: ReferenceOperator | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:  # fmt: skip
        stored = (
            None
            if arrays is None
            else {
                name.removeprefix(PREFIX): np.asarray(value, dtype=float)
                for name, value in arrays.items()
                if name.startswith(PREFIX)
            }
        )
        self.family, self.span = family, span
        self.box = FamilyBox(family, span, stored)
        if stored is not None and reference is not None and "complement" in stored:
            self._completeness = Completeness(reference, span, stored=stored)
        self._forms: ComplementForms | None = None
        self._projected: Projected | None = None

    def reach(self) -> float:
        """Frequency, rad/s, up to which the basis is to hold all modes of K_ref."""
        return float(np.sqrt(REACH * self._largest_stiffness()))

    def _largest_stiffness(self) -> float:
        """The largest W² + γW of the points that have a box, (rad/s)²."""
        stiffness = self.box.at(self.span).stiffness
        return float(stiffness[np.isfinite(stiffness)].max(initial=0.0))

    def start(self, reference: ReferenceOperator, basis: MassBasis) -> None:
        """Compute the bounds on the complement of the first vectors of the basis, where any point
        has a finite box."""
        if np.isfinite(self.box.at(self.span).circulatory).any():
            stiffness = self._largest_stiffness()
            self._completeness = Completeness(reference, self.span, basis, stiffness)

    def loads(self, fields: Array) -> Array:
        """What the operators make of rigid fields (n, m), from both sides, (n, ·).

        With K_ref⁻¹ of it in the basis nothing couples the fields with the complement: the modes
        that the frame prescribes are then those of the full problem, whatever λ.
        """
        completeness = self._completeness
        weights = [] if completeness is None else completeness.combinations()
        operators = self.family.terms
        return np.hstack(
            [np.zeros((len(fields), 0))]
            + [
                combined(operators, fields, row[:, None, None] * np.eye(fields.shape[1]), adjoint)
                for row in weights
                for adjoint in (False, True)
            ]
        )

    def provable(self, at: Coefficients) -> Mask:
        """Points (P,) with a finite box, in which a proof is possible."""
        return np.isfinite(self.box.at(at).circulatory) & (self._completeness is not None)

    def forms(self, projected: Projected) -> ComplementForms:
        """The bounds on the complement of a basis; those of the last one are stored."""
        if self._projected is not projected or self._forms is None:
            assert self._completeness is not None
            self._projected, self._forms = projected, self._completeness.forms(projected)
        return self._forms

    def without_modes(self, projected: Projected, at: Coefficients) -> NDArray[np.int8]:
        """The proofs of points (P,) that need no modes: energy, or a box too small for any.

        Where the symmetric stiffness exceeds W² + γW times the mass, no mode can be unstable.
        """
        boxes, completeness = self.box.at(at), self._completeness
        out = np.full(len(at), MODES, dtype=np.int8)
        at = at.padded(len(projected.matrices))
        bounded, energy = np.isfinite(boxes.circulatory), boxes.circulatory == 0.0
        for code, index in ((COUNT, bounded & ~energy), (ENERGY, energy)):
            chosen = np.flatnonzero(index)
            if completeness is not None and chosen.size:
                stiffness = np.zeros(len(at)) if code == ENERGY else boxes.stiffness
                there = completeness.exceeds(
                    self.forms(projected), projected, at.take(chosen), stiffness[chosen]
                )
                out[chosen[there]] = code
        return out

    def local(self, shared: Projected, smaller: Projected, Q: Array) -> ComplementForms:
        """The bounds on the complement of the columns Q (r, s) of the shared one."""
        assert self._completeness is not None
        return self._completeness.local(self.forms(shared), shared, smaller, Q)

    def proofs(
        self,
        forms: ComplementForms,
        instants: Instants,
        modes: SmallModes,
        certificate: ErrorBounds,
        prescribed: Mask,
    ) -> NDArray[np.int8]:
        """What proves that all unstable modes of the points (P,) are among the first ones.

        Parameters
        ----------
        modes : SmallModes
            All modes of the reduced problem at every point, the certified ones first.
        certificate : Certificate
            Of the first modes.
        prescribed : ndarray of bool, shape (P, k)
            Which of the modes the frame prescribes.
        """
        completeness, at = self._completeness, instants.at
        assert completeness is not None
        boxes = self.box.at(at)
        out = np.full(len(at), MODES, dtype=np.int8)
        left = np.flatnonzero(np.isfinite(boxes.circulatory) & ~modes.exact)
        if left.size:
            done = self._counted(
                completeness, forms, instants.taken(left), boxes.take(left), modes.points(left),
                certificate, left, prescribed[left],
            )  # fmt: skip
            out[left[done]] = COUNT
        return out

    def _counted(
        self,
        completeness: Completeness,
        forms: ComplementForms,
        instants: Instants,
        boxes: PointBoxes,
        modes: SmallModes,
        certificate: ErrorBounds,
        index: Index,
        prescribed: Mask,
    ) -> Mask:
        known = certificate.right.shape[1]
        residuals = []
        for norms in (certificate.right, certificate.left):
            full = np.full(modes.eigenvalues.shape, np.inf)
            full[:, :known] = norms[index]
            residuals.append(full)
        bound, first = certificate.error_bound[index], modes.eigenvalues[:, :known]
        W = boxes.angular_frequency[:, None]
        near = (np.abs(first.real) <= bound) & (np.abs(first.imag) <= W + bound)
        near &= ~prescribed[:, :known] & ~unbounded(first, bound)
        pairing = instants.pairing(modes)
        rounded = round_off(modes, pairing, instants.product_sizes(modes)) * modes.condition
        noise = SURE * rounded[:, :known]
        hidden = near & (np.abs(first.real) > noise)
        floor = SURE * np.where(near, bound, 0.0).max(axis=1, initial=0.0)
        beyond = modes.eigenvalues[:, known:]
        grows = (beyond.real > -rounded[:, known:]) & ~prescribed[:, known:]
        others = grows & (np.abs(beyond.imag) <= W * (1.0 + EQUAL))
        complete = completeness.complete(
            forms,
            instants.body,
            instants.at,
            boxes,
            modes,
            pairing,
            (residuals[0], residuals[1]),
            prescribed,
            floor,
        )
        return np.asarray(complete & ~hidden.any(axis=1) & ~others.any(axis=1))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What another one needs to give the same proofs."""
        bounds = {} if self._completeness is None else self._completeness.arrays()
        return {PREFIX + name: value for name, value in (bounds | self.box.arrays()).items()}
