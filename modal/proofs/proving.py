"""A reduced basis that holds all modes which can be unstable, with the proof behind the verdict at
every point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assembly.magnitudes import EQUAL
from modal.eigen.spectrum import overdamped
from modal.eigen.tolerances import SURE
from modal.proofs.box import FamilyBox, PointBoxes
from modal.proofs.completeness import ComplementForms, Completeness
from modal.proofs.judge import COUNT, ENERGY, MODES
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.body_space import BodySpace
from modal.reduction.error_bounds import ErrorBounds, error_bounds, round_off, unbounded
from modal.reduction.instants import Instants
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reference_operator import middle
from modal.reduction.space import SAMPLE, CertifiedModes, spread
from modal.types import Array, Complex, Index, Mask

PREFIX = "proof_"  # of the names under which the bounds are stored
REACH = 3.5  # the starting basis holds modes of K_ref up to this times W² + γW


class ProvingSpace(BodySpace):
    """A `BodySpace` whose number of certified modes covers the box of possible instability.

    Arguments as of `BodySpace`; k is the least number of modes. box: of the same points, where it
    has been found.
    """

    _completeness: Completeness | None = None  # None: no point has a box
    _forms: ComplementForms | None = None  # on the complement of the present basis
    _parent: ProvingSpace | None = None  # the shared space of a local one

    def __init__(
        self,
        family: AffineFamily,
        span: Coefficients,
        k: int,
        tolerance: float = 1e-6,
        threads: int = 1,
        stored: Mapping[str, NDArray[Any]] | None = None,
        box: FamilyBox | None = None,
        whole: int = 64,
    ) -> None:
        """whole: degrees of freedom up to which a basis that must prove more than boxes can holds
        everything."""
        span = span.padded(len(family.terms))
        forms = (family.diagonal(middle(table)) for table in (span.stiffness, span.mass))
        mean = float(np.mean(np.abs(np.divide(*forms))))
        self._highest = mean if family.n > whole else np.inf
        if stored is not None:
            bounds = {
                name.removeprefix(PREFIX): np.asarray(value, dtype=float)
                for name, value in stored.items()
                if name.startswith(PREFIX)
            }
            self.box = FamilyBox(family, span, bounds)
            super().__init__(family, span, k, tolerance, threads, stored=stored)
            if "complement" in bounds:
                self._completeness = Completeness(self.reference, span, stored=bounds)
            return
        self.box = box or FamilyBox(family, span)
        boxes = self.boxes(span)
        # The largest W² + γW of the points that have a box.
        stiffness = float(boxes.stiffness[np.isfinite(boxes.stiffness)].max(initial=0.0))
        highest = float(np.sqrt(REACH * stiffness))
        super().__init__(family, span, k, tolerance, threads, highest)
        if boxes.bounded.any():
            self._completeness = Completeness(self.reference, span, self.start, stiffness)
            if self.extra:
                self.basis.grow(self._loads(self._completeness, self.basis.images.fields))
                self.refresh()
        if family.n <= whole and self.box.damped and not boxes.bounded.all():
            self.fill()
        self._cover(span.take(spread(len(span), SAMPLE)))

    def fill(self) -> None:
        """Take all shapes into the basis."""
        self.basis.include(np.eye(self.family.n))
        self.refresh()

    def boxes(self, at: Coefficients) -> PointBoxes:
        """The boxes of points, none where most shapes of the mesh have a mode in it."""
        boxes = self.box.at(at)
        held = boxes.stiffness <= self._highest
        return replace(boxes, circulatory=np.where(held, boxes.circulatory, np.inf))

    def _loads(self, completeness: Completeness, fields: Array) -> Array:
        """What the operators make of rigid fields (n, m), from both sides, (n, ·).

        With K_ref⁻¹ of it in the basis nothing couples the fields with the complement: the modes
        that the frame prescribes are then those of the full problem, whatever λ.
        """
        unit = np.eye(fields.shape[1])
        return np.hstack([
            combined(self.family.terms, fields, row[:, None, None] * unit, adjoint)
            for row in completeness.combinations()
            for adjoint in (False, True)
        ])  # fmt: skip

    def _cover(self, at: Coefficients, most: int = 60) -> None:
        """Raise the number of certified modes to that of the modes in the box of the points, up to
        `most`."""
        boxes = self.boxes(at)
        radius = np.sqrt(boxes.angular_frequency**2 + boxes.stiffness)
        if not np.isfinite(radius).any():
            return
        modes, _ = self.selected(self.on(at), every=True)
        with np.errstate(invalid="ignore"):
            inside = np.abs(modes.eigenvalues) <= radius[:, None]
        inside &= ~overdamped(modes.eigenvalues)  # these are far from the side that is counted at
        last = np.flatnonzero(inside[np.isfinite(radius)].any(axis=0)).max(initial=-1)
        self.wanted = int(min(max(self.wanted, last + 1), most))

    def refresh(self) -> None:
        super().refresh()
        self._forms = None

    def accepted(self, found: CertifiedModes) -> Array:
        """As that of every space; no verdict rests on overdamped modes that have no bound."""
        ratio = super().accepted(found)
        without = unbounded(found.modes.eigenvalues, found.bounds.error_bound)
        return np.where(without, 0.0, ratio)

    @property
    def counts_all(self) -> bool:
        """Whether all modes are in the basis of the whole, and may decay."""
        return self.complete and self.box.damped

    def provable(self, at: Coefficients) -> Mask:
        """Points (P,) where a proof is possible: with a finite box, or all modes in the basis."""
        boxed = self.boxes(at).bounded & (self._completeness is not None)
        return boxed | (self._parent or self).counts_all

    def proved(self, at: Coefficients) -> tuple[CertifiedModes, NDArray[np.int8]]:
        """As `solve`, with what proves that no other mode is unstable (modal/proofs/judge.py)."""
        instants, whole = self.on(at), self.counts_all and self._parent is None
        boxes = self.boxes(instants.at)
        proof = (self._parent or self)._without_modes(boxes, instants.at)
        countable = (proof == MODES) & (whole | boxes.bounded & (self._completeness is not None))
        if not countable.any():
            return self.solve(at), proof
        every, prescribed = self.selected(instants, every=True)
        modes = every.first(self.wanted)
        bounds = error_bounds(instants, modes)
        first = prescribed[:, : self.wanted]
        found = CertifiedModes(instants, modes, bounds, first, every.without(prescribed))
        left = np.flatnonzero(countable & ~every.exact)
        if left.size:
            there = ErrorBounds(*(array[left] for array in vars(bounds).values()))
            counted = self._counted(
                instants.taken(left), boxes.take(left), every.points(left), there, prescribed[left],
                whole,
            )  # fmt: skip
            proof[left[counted]] = COUNT
        return found, proof

    def all_modes(self, found: CertifiedModes, index: Index) -> tuple[Complex, Array]:
        """All eigenvalues (p, m) of some of the points of a complete space, and their bounds; NaN
        where the frame prescribes them."""
        instants = found.instants.taken(index)
        if found.every is None:
            modes = SmallModes.without(*self.selected(instants, every=True))
        else:
            modes = found.every.points(index)
        return modes.eigenvalues, error_bounds(instants, modes).error_bound

    def _without_modes(self, boxes: PointBoxes, at: Coefficients) -> NDArray[np.int8]:
        """The proofs of points (P,) that need no modes: energy, or a box too small for any.

        Where the symmetric stiffness exceeds W² + γW times the mass, no mode can be unstable.
        """
        out = np.full(len(at), MODES, dtype=np.int8)
        if self._completeness is None:
            return out
        at = at.padded(len(self.projected.matrices))
        energy = boxes.circulatory == 0.0
        for code, index in ((COUNT, boxes.bounded & ~energy), (ENERGY, energy)):
            chosen = np.flatnonzero(index)
            if chosen.size:
                stiffness = np.zeros(len(at)) if code == ENERGY else boxes.stiffness
                there = self._completeness.exceeds(
                    self.forms(), self.projected, at.take(chosen), stiffness[chosen]
                )
                out[chosen[there]] = code
        return out

    def _counted(
        self,
        instants: Instants,
        boxes: PointBoxes,
        modes: SmallModes,
        bounds: ErrorBounds,
        prescribed: Mask,
        whole: bool,
    ) -> Mask:
        """Points (P,) whose unstable modes are all among the certified ones.

        modes: all modes of the reduced problem at every point, the certified ones, of `bounds`,
        first. prescribed (P, k): which of them the frame prescribes. whole: they are all there are.
        """
        known = bounds.right.shape[1]
        others = [(0, 0), (0, modes.eigenvalues.shape[1] - known)]
        residuals = tuple(
            np.pad(norms, others, constant_values=np.inf) for norms in (bounds.right, bounds.left)
        )
        bound, first = bounds.error_bound, modes.eigenvalues[:, :known]
        W = boxes.angular_frequency[:, None]
        near = (np.abs(first.real) <= bound) & (np.abs(first.imag) <= W + bound)
        near &= ~prescribed[:, :known] & ~unbounded(first, bound)
        pairing = instants.pairing(modes)
        rounded = round_off(modes, pairing, instants.product_sizes(modes)) * modes.condition
        noise = SURE * rounded[:, :known]
        hidden = near & (np.abs(first.real) > noise)
        floor = SURE * np.where(near, bound, 0.0).max(axis=1, initial=0.0)
        beyond = modes.eigenvalues[:, known:]
        least = SURE if whole else 1.0
        grows = (beyond.real > -least * rounded[:, known:]) & ~prescribed[:, known:]
        grows &= np.abs(beyond.imag) <= W * (1.0 + EQUAL)
        if whole:
            return np.asarray(~hidden.any(axis=1) & ~grows.any(axis=1))
        assert self._completeness is not None
        complete = self._completeness.complete(
            self.forms(), instants.body, instants.at, boxes, modes, pairing,
            residuals, prescribed, floor,
        )  # fmt: skip
        return np.asarray(complete & ~hidden.any(axis=1) & ~grows.any(axis=1))

    def local(self, at: Coefficients, guards: int = 4, apart: float = 0.8) -> Self:
        other = super().local(at, guards, apart)
        other._parent, other._forms = self, None
        return other

    def forms(self) -> ComplementForms:
        """The bounds on the complement of the present basis."""
        if self._forms is None:
            completeness, parent = self._completeness, self._parent
            assert completeness is not None
            if parent is None:
                self._forms = completeness.forms(self.projected)
            else:
                assert self.coordinates is not None
                self._forms = completeness.local(
                    parent.forms(), parent.projected, self.projected, self.coordinates
                )
        return self._forms

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        bounds = {} if self._completeness is None else self._completeness.arrays()
        bounds |= self.box.arrays()
        return super().arrays() | {PREFIX + name: value for name, value in bounds.items()}
