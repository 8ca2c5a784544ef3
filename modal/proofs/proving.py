"""A reduced basis that holds all modes which can be unstable, with the proof at every point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from modal.proofs.codes import MODES
from modal.proofs.completeness import ComplementForms
from modal.proofs.points import Prover
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import Projected
from modal.reduction.error_bounds import ErrorBounds, error_bounds
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reducer import SOUNDINGS, Reducer, spread
from modal.types import Mask

MOST = 60  # modes of a point that are certified so that its box is covered


class ProvingReducer(Reducer):
    """A `Reducer` whose number of certified modes covers the box of possible instability.

    Arguments as of `Reducer`; k is the least number of modes.
    """

    prover: Prover

    def __init__(
        self,
        family: AffineFamily,
        span: Coefficients,
        k: int,
        tolerance: float = 1e-6,
        threads: int = 1,
    ) -> None:
        self.prover = Prover(family, span.padded(len(family.terms)))
        super().__init__(family, span, k, tolerance, threads, self.prover.reach())
        self.prover.start(self.reference, self.start)
        if self.extra:
            self.basis.grow(self.prover.loads(self.basis.images.fields))
            self.projected = self.basis.projected()
        self._cover(span.take(spread(len(span), SOUNDINGS)))

    def _set(self, family: AffineFamily, k: int, tolerance: float, threads: int) -> None:
        super()._set(family, k, tolerance, threads)
        self._forms: ComplementForms | None = None
        self._parent: Projected | None = None

    def _cover(self, at: Coefficients) -> None:
        """Raise the number of certified modes to that of the modes in the box of the points."""
        boxes = self.prover.box.at(at)
        radius = np.sqrt(boxes.angular_frequency**2 + boxes.stiffness)
        if not np.isfinite(radius).any():
            return
        modes = self.solved(at, every=True)[0]
        with np.errstate(invalid="ignore"):
            inside = np.abs(modes.eigenvalues) <= radius[:, None]
        count = inside[np.isfinite(radius)].sum(axis=1).max(initial=0)
        self.wanted = int(min(max(self.wanted, count), MOST))

    def proved(self, at: Coefficients) -> tuple[SmallModes, ErrorBounds, Mask, NDArray[np.int8]]:
        """As `solve`, with what proves that no other mode is unstable (modal/proofs/codes.py)."""
        at = at.padded(len(self.projected.matrices))
        shared = self.projected if self._parent is None else self._parent
        proof = self.prover.without_modes(shared, at)
        if not np.any((proof == MODES) & self.prover.provable(at)):
            return *self.solve(at), proof
        every, prescribed = self.solved(at, every=True)
        modes = every.first(self.wanted)
        certificate = error_bounds(self.projected, at, modes)
        counted = self.prover.proofs(
            self._complement(), self.projected, at, every, certificate, prescribed
        )
        proof = np.where(proof != MODES, proof, counted)
        return modes, certificate, prescribed[:, : self.wanted], proof

    def local(self, at: Coefficients, guard: int = 1) -> Self:
        other = super().local(at, guard)
        other._parent, other._forms = self.projected, None
        return other

    def _complement(self) -> ComplementForms:
        """The bounds on the complement of the present basis."""
        if self._parent is None:
            return self.prover.forms(self.projected)
        if self._forms is None:
            self._forms = self.prover.local(self._parent, self.projected, self.coordinates)
        return self._forms

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return super().arrays() | self.prover.arrays()

    @classmethod
    def restored(
        cls,
        family: AffineFamily,
        span: Coefficients,
        arrays: Mapping[str, NDArray[np.generic]],
        tolerance: float,
        threads: int = 1,
    ) -> Self:
        reducer = super().restored(family, span, arrays, tolerance, threads)
        span = span.padded(len(family.terms))
        reducer.prover = Prover.restored(family, span, reducer.reference, arrays)
        return reducer
