"""A reduced basis that holds all modes which can be unstable, with the proof at every point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from modal.eigen.spectrum import overdamped
from modal.proofs.codes import MODES
from modal.proofs.completeness import ComplementForms
from modal.proofs.points import Prover
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import Projected
from modal.reduction.body_space import BodySpace
from modal.reduction.error_bounds import error_bounds, unbounded
from modal.reduction.space import SAMPLE, CertifiedModes, spread
from modal.types import Array


class ProvingSpace(BodySpace):
    """A `BodySpace` whose number of certified modes covers the box of possible instability.

    Arguments as of `BodySpace`; k is the least number of modes.
    """

    _forms: ComplementForms | None = None
    _parent: Projected | None = None

    def __init__(
        self,
        family: AffineFamily,
        span: Coefficients,
        k: int,
        tolerance: float = 1e-6,
        threads: int = 1,
        stored: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        span = span.padded(len(family.terms))
        if stored is not None:
            super().__init__(family, span, k, tolerance, threads, stored=stored)
            self.prover = Prover(family, span, self.reference, stored)
            return
        self.prover = Prover(family, span)
        super().__init__(family, span, k, tolerance, threads, self.prover.reach())
        self.prover.start(self.reference, self.start)
        if self.extra:
            self.basis.grow(self.prover.loads(self.basis.images.fields))
            self.refresh()
        self._cover(span.take(spread(len(span), SAMPLE)))

    def _cover(self, at: Coefficients, most: int = 60) -> None:
        """Raise the number of certified modes to that of the modes in the box of the points, up to
        `most`."""
        boxes = self.prover.box.at(at)
        radius = np.sqrt(boxes.angular_frequency**2 + boxes.stiffness)
        if not np.isfinite(radius).any():
            return
        modes, _ = self.selected(self.on(at), every=True)
        with np.errstate(invalid="ignore"):
            inside = np.abs(modes.eigenvalues) <= radius[:, None]
        inside &= ~overdamped(modes.eigenvalues)  # these are far from the side that is counted at
        last = np.flatnonzero(inside[np.isfinite(radius)].any(axis=0)).max(initial=-1)
        self.wanted = int(min(max(self.wanted, last + 1), most))

    def accepted(self, found: CertifiedModes) -> Array:
        """As that of every space; no verdict rests on overdamped modes that have no bound."""
        ratio = super().accepted(found)
        without = unbounded(found.modes.eigenvalues, found.bounds.error_bound)
        return np.where(without, 0.0, ratio)

    def proved(self, at: Coefficients) -> tuple[CertifiedModes, NDArray[np.int8]]:
        """As `solve`, with what proves that no other mode is unstable (modal/proofs/codes.py)."""
        instants = self.on(at)
        shared = self.projected if self._parent is None else self._parent
        proof = self.prover.without_modes(shared, instants.at)
        if not np.any((proof == MODES) & self.prover.provable(instants.at)):
            return self.solve(at), proof
        every, prescribed = self.selected(instants, every=True)
        modes = every.first(self.wanted)
        bounds = error_bounds(instants, modes)
        counted = self.prover.proofs(self._complement(), instants, every, bounds, prescribed)
        found = CertifiedModes(instants, modes, bounds, prescribed[:, : self.wanted])
        return found, np.where(proof != MODES, proof, counted)

    def local(self, at: Coefficients, guard: int = 1) -> Self:
        other = super().local(at, guard)
        other._parent, other._forms = self.projected, None
        return other

    def _complement(self) -> ComplementForms:
        """The bounds on the complement of the present basis."""
        if self._parent is None:
            return self.prover.forms(self.projected)
        if self._forms is None:
            assert self.coordinates is not None
            self._forms = self.prover.local(self._parent, self.projected, self.coordinates)
        return self._forms

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return super().arrays() | self.prover.arrays()
