"""Sources of the snapshots of a tracking run on one reduced space, and the choice among all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import (
    ConvergenceError,
    InputError,
    SingularPositionError,
    SingularSystemError,
)
from assembly.magnitudes import ENTRIES
from modal.eigen.checked_modes import most_rigid
from modal.eigen.tolerances import SMALL
from modal.provenance.fingerprint import drawn_prints, family_prints
from modal.provenance.link_prints import LinkProbe
from modal.reduction.affine import AffineFamily, Coefficients, shares_operators
from modal.reduction.body_space import BodySpace
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import CHECKS, Interpolant, irregular, polynomial_fit
from modal.reduction.link_space import LinkFamily, LinkPoints, LinkSpace, linked
from modal.reduction.space import SAMPLE, CertifiedModes, Space, spread
from modal.reduction.tolerances import TRAINING, WORTH_A_SPACE
from modal.tracking.smooth_space import SmoothFamily, SmoothSpace
from modal.tracking.sources import BasisError, FullSource, Kept, ListedModes, Source, SpaceSource
from modal.tracking.store import TrackStore
from modal.tracking.sweep import Request
from modal.tracking.whirl import Whirl
from modal.types import Array

BACKENDS = ("auto", "reduced", "slepc", "scipy", "dense")


class ReducedSource(SpaceSource):
    """Of a body: its operators are projected on one basis, and blocks are solved in local ones.

    A free body has its rigid motions beside the elastic modes, first those that the frame
    prescribes.
    """

    kind = "reduced basis"

    def _new_space(
        self, sample: Coefficients, stored: Mapping[str, NDArray[Any]] | None
    ) -> BodySpace:
        request, n, rigid = self._request, self._family.n, self._family.rigid.shape[1]
        count = request.count(n, rigid)
        space = BodySpace(self._family, sample, count, request.tolerance, stored=stored)
        if stored is None and rigid:  # of its motions as a whole few are not prescribed
            left = space.prescribed_modes(space.on(sample))[1]
            space.wanted = request.count(n, min(rigid, int(left.max())))
        return space

    def _law(self) -> Interpolant | None:
        """The coefficients as polynomials of the value; also between the values, so that what has
        the same size at all of them (a motion sampled once a period) is not taken for constant."""
        start, span = self._values[0], self._values[-1] - self._values[0]
        others = np.append(start, start + span * irregular(CHECKS))
        between = self._leading(others)
        if len(between) < len(others):
            return None
        known = Coefficients.joined([self._points, between]).table.swapaxes(0, 1)
        return polynomial_fit(np.concatenate([self._values, others]), known)

    def prints(self) -> NDArray[np.float64]:
        first = self._freeze(float(self._at[0]))
        sample = self._points.take(spread(len(self._values), SAMPLE))
        return family_prints(self._family, first, sample, self._points, self.block)

    def _settle(self) -> None:
        super()._settle()
        self._motion = self._motion or self._law()
        axis = self._request.sweep.axis
        if axis is not None:
            basis, r = self._space.basis, self._space.projected.size
            first = self._freeze(float(self._at[0]))
            vectors = np.asarray(basis.lift(np.eye(r)), dtype=float)
            self._whirl = Whirl(axis).forms(first, vectors)

    def _spaces(self, points: Coefficients) -> list[Space]:
        if len(points) <= 4 * TRAINING:
            return [self._space]
        shared, local = self._space, self._space.local(points.take(spread(len(points), TRAINING)))
        return [local, shared] if local.projected.size < shared.projected.size else [shared]

    def _modes(self, space: BodySpace, found: CertifiedModes) -> ListedModes:
        overlap, modes = found.instants.body.overlap, found.modes
        if not len(overlap):
            return super()._modes(space, found)
        prescribed, left = space.prescribed_modes(found.instants)
        share = np.linalg.norm(overlap @ modes.right, axis=1)
        share = (share / found.instants.mass_norm(modes.right)) ** 2
        rigid = most_rigid(share, modes.eigenvalues, left[:, None])
        none = np.zeros(prescribed.eigenvalues.shape)
        return ListedModes(
            prescribed.beside(modes),
            np.hstack([none, found.bounds.error_bound]),
            np.hstack([np.full(none.shape, "prescribed"), np.where(rigid, "rigid", "elastic")]),
        )

    def _near(self, values: Array) -> Array:
        points = [{self._name: float(s)} for s in values]
        at: Coefficients = self._family.coefficients(points)
        return at.padded(len(self._space.projected.matrices)).table.swapaxes(0, 1)

    def _changes(self, order: Array, space: BodySpace) -> Array:
        return np.tensordot(order, space.projected.matrices[: order.shape[-1]], axes=1)


class LinkSource(SpaceSource):
    """Of a mechanism with large links: its matrices next to an instant come off a polynomial."""

    kind = "links"

    def _new_space(
        self, sample: LinkPoints, stored: Mapping[str, NDArray[Any]] | None
    ) -> LinkSpace:
        request = self._request
        return LinkSpace(self._family, request.count(self._family.n), request.tolerance, stored)

    def prints(self) -> NDArray[np.float64]:
        probe = LinkProbe(self._family.first)
        return drawn_prints(lambda t: probe.system(self._freeze(t)), self._at)

    def _settle(self) -> None:
        super()._settle()
        self._motion = None
        if 1 < len(self._values) == len(self._at):
            ends, options = self._request.sweep.ends, self._family.arguments
            smooth = InterpolatedMotion.of(self._space.frame, *ends, True, **options)
            if smooth is not None:
                self._motion = smooth.projected(np.eye(smooth.n)).interpolant

    def _near(self, values: Array) -> Array:
        series = self._space.frame.freeze_many(values, **self._family.arguments)
        return np.stack([series.mass, series.damping, series.stiffness], axis=1)


class SmoothSource(SpaceSource):
    """Of a small model: all its matrices, and their derivatives, come off a polynomial."""

    kind = "smooth motion"

    def __init__(self, request: Request, family: SmoothFamily, kept: Kept | None) -> None:
        self.block = max(1, ENTRIES // 2 // family.n**2)
        super().__init__(request, family, kept)

    def _leading(self, values: Array) -> Array:
        return values

    def _new_space(self, sample: Array, stored: Mapping[str, NDArray[Any]] | None) -> SmoothSpace:
        request = self._request
        count = request.count(self._family.n)
        return SmoothSpace(self._family, sample, count, request.tolerance, stored)

    def _settle(self) -> None:
        super()._settle()
        self._motion = self._space.motion.interpolant


def source_of(request: Request, stored: TrackStore | None) -> Source:
    """The source of modes that `backend` and `solver` select, or that of a stored run."""
    kind = None if stored is None else stored.open()
    kept = None if stored is None else stored.reopen
    if request.solver is not None:
        return FullSource(request, kept)
    backend = request.backend
    if backend not in BACKENDS:
        raise InputError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    asked, many = backend == "reduced", len(request.sweep.at) >= WORTH_A_SPACE
    try:
        if asked or (backend == "auto" and (many or kind is not None)):
            found = _on_space(request, kind, kept)
            if found is not None:
                return found
    except (BasisError, ConvergenceError, SingularSystemError, SingularPositionError):
        if asked or stored is not None:
            raise
    if kind not in (None, FullSource.kind):
        assert stored is not None
        raise stored.other_model()
    return FullSource(request, kept)


def _on_space(request: Request, kind: str | None, kept: Kept | None) -> SpaceSource | None:
    """The source on a space that the structure of the model allows, of that kind if one is given;
    None without one."""
    sweep, asked = request.sweep, request.backend == "reduced"
    start = float(sweep.at[0])
    first = sweep.freeze(start)
    machine, moves = linked(first), sweep.name == "time" and sweep.axis is None
    if machine is not None and moves and kind in (None, LinkSource.kind):
        return LinkSource(request, LinkFamily(machine, sweep.freeze_point), kept)
    held = first.n <= SMALL and not first.rigid.shape[1]
    smooth = moves and held and hasattr(sweep.model, "freeze_many") and not asked
    if kind in (None, ReducedSource.kind) and not smooth:
        some = [{sweep.name: float(value)} for value in sweep.at[: 1 if moves else 3]]
        if any(shares_operators(sweep.freeze_point, points) for points in (some[:1], some)):
            family = AffineFamily(sweep.freeze_point, {sweep.name: start}, sweep.terms)
            return ReducedSource(request, family, kept)
    if asked and kind is None:
        raise InputError(
            "backend: a reduced basis needs instants that share their operators; choose another "
            "backend"
        )
    if not smooth or kind not in (None, SmoothSource.kind):
        return None
    motion = InterpolatedMotion.of(sweep.model, *sweep.ends, summed=True, **sweep.constant)
    if motion is None:
        return None
    return SmoothSource(request, SmoothFamily(motion, sweep.freeze_point, sweep.name), kept)
