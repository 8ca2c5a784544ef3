"""Solution of the points of a stability map: from one certified basis, or one by one.

Both return a tile (a chunk of the map) as columns of the dataset. The result of a tile depends only
on the result of `prepare`, so tiles may be computed in any order and by any run.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from modal.maps.every_mode import judged, on_all_modes
from modal.maps.grid import Grid, named
from modal.maps.link_method import link_method
from modal.maps.store import Prints, Slices
from modal.maps.verdict_columns import NOISE, SHARPEST, VALIDATION, columns
from modal.proofs.codes import MODES
from modal.proofs.judge import Verdict, judge
from modal.proofs.proving import ProvingReducer
from modal.provenance.fingerprint import ROWS, FamilyPrints, PointPrints, Probe
from modal.reduction.affine import AffineFamily, Coefficients, shares_operators
from modal.reduction.reducer import spread
from modal.reduction.spot_check import spot_check
from modal.types import Array

# Verdicts, and the tolerance each point still needs (infinite: none).
Judged = tuple[Sequence[Verdict | None], Array]

SOME = 12  # points of a tile on which a private basis is first trained


class Method(Protocol):
    """The interface of a method that solves the points of a map."""

    solver: str

    def prepare(self) -> Mapping[str, NDArray[Any]] | None:
        """Compute what all tiles share, and return the arrays to store with the map."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the stored arrays."""

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The columns of a tile's points, row by row."""

    def prints(self) -> Prints:
        """The fingerprints that identify the model of a stored map."""

    def destroy(self) -> None:
        """Release the factorizations."""


def method_of(grid: Grid, k: int, tolerance: float, checks: int, threads: int) -> Method:
    first, last = (
        [pick(size) for size in grid.shape] for pick in (lambda size: 0, lambda size: size - 1)
    )
    found = link_method(grid, k, tolerance, checks)
    if found is not None:
        return found
    if shares_operators(grid.freeze, [grid.point(first), grid.point(last)]):
        return ReducedMethod(grid, k, tolerance, checks, threads)
    return FullMethod(grid, k)


class FullMethod:
    """Every point by itself, through modal.solve."""

    solver = "full solve at every point"

    def __init__(self, grid: Grid, k: int) -> None:
        self.grid, self.k = grid, k

    def prepare(self) -> dict[str, Array] | None:
        return None

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        pass

    def prints(self) -> PointPrints:
        drawn = self.grid.sampled()
        probe = Probe(self.grid.freeze(drawn[0]))
        return PointPrints(
            self.grid.points, drawn, lambda point: probe.system(self.grid.freeze(point)), ROWS
        )

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        points = self.grid.points(tile)
        return columns(
            [self.verdict(point) for point in points], np.ones(len(points), dtype=np.int8)
        )

    def verdict(self, point: Mapping[str, float]) -> Verdict:
        """Raises the solver's error with the point's name in front."""
        system = self.grid.freeze(point)
        try:
            return judged(system, self.k, self.grid.count)
        except ConvergenceError as fault:
            raise ConvergenceError(f"at {named(point)}: {fault}", fault.partial) from fault
        except (SingularSystemError, AccuracyError) as fault:
            raise type(fault)(f"at {named(point)}: {fault}") from fault

    def destroy(self) -> None:
        pass


class ReducedMethod:
    """All points from one certified basis."""

    solver = "certified reduced basis"

    def __init__(self, grid: Grid, k: int, tolerance: float, checks: int, threads: int) -> None:
        self.grid, self.k, self.tolerance, self.checks, self.threads = (
            grid,
            k,
            tolerance,
            checks,
            threads,
        )
        training = grid.training()
        self.family = AffineFamily(grid.freeze, training[0])
        drawn = grid.drawn(VALIDATION, seed=3)
        self.span = self.family.coefficients(training + drawn + grid.smallest())
        self.training, self.validation = (
            self.span.take(slice(len(training))),
            self.span.take(slice(len(training), len(training) + len(drawn))),
        )
        self.reducer: ProvingReducer | None = None
        self._last: tuple[Slices, tuple[AffineFamily, Coefficients]] | None = None

    def prints(self) -> FamilyPrints:
        first = self.grid.freeze(self.grid.training()[0])
        return FamilyPrints(self.family, first, self.span, self.coefficients)

    def coefficients(self, tile: Slices) -> tuple[AffineFamily, Coefficients]:
        """The coefficients of a tile's points and their operators; cached for the last tile."""
        if self._last is None or self._last[0] != tile:
            self._last = tile, self.family.extended(self.grid.points(tile))
        return self._last[1]

    def prepare(self) -> dict[str, NDArray[Any]]:
        """Grow the basis on the training points, complete it on random ones, check it."""
        self.reducer = ProvingReducer(self.family, self.span, self.k, self.tolerance, self.threads)
        self.reducer.train(self.training)
        self.reducer.train(self.validation)
        drawn = self.grid.drawn(4 * self.checks, seed=9)
        spot_check(self.reducer, drawn, self.checks)
        return self.reducer.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.reducer = ProvingReducer.restored(
            self.family, self.span, arrays, self.tolerance, self.threads
        )

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The points of a tile, in a local basis first.

        Points without an accepted result go to the shared basis, then to a private extension of
        it. Points with new operators are solved in full.
        """
        assert self.reducer is not None
        points = self.grid.points(tile)
        _, at = self.coefficients(tile)
        known = self.reducer.projected.matrices.shape[0]
        tables = (at.mass, at.damping, at.stiffness)
        seen = ~np.any([table[:, known:].any(axis=1) for table in tables], axis=0)
        M, C, K = (table[:, :known] for table in tables)
        at = Coefficients(M, C, K, at.rate)
        verdicts: list[Verdict | None] = [None] * len(points)
        needed = np.where(seen, self.tolerance, np.inf)
        for stage in (self._local, self._shared, self._private):
            left = np.flatnonzero(np.isfinite(needed))
            if left.size:
                judged, needed[left] = stage(at, left, needed[left], tile)
                for p, verdict in zip(left, judged, strict=True):
                    verdicts[p] = verdict or verdicts[p]
        full = FullMethod(self.grid, self.k)
        for p in np.flatnonzero(~seen):
            verdicts[p] = full.verdict(points[p])
        found = [v for v in verdicts if v is not None]
        decided = on_all_modes(self.grid, points, found, self.family.n, self.k)
        return columns(decided, (~seen).astype(np.int8))

    def _local(
        self, at: Coefficients, left: NDArray[np.intp], needed: Array, tile: Slices
    ) -> Judged:
        """In a basis from the tile's corners and middle."""
        assert self.reducer is not None
        anchors = anchor_points(tuple(s.stop - s.start for s in tile))
        if len(left) < 4 * len(anchors):
            return [None] * len(left), needed
        return self._verdicts(self.reducer.local(at.take(anchors)), at.take(left), proved=True)

    def _shared(
        self, at: Coefficients, left: NDArray[np.intp], needed: Array, tile: Slices
    ) -> Judged:
        """In the basis of the whole map."""
        assert self.reducer is not None
        return self._verdicts(self.reducer, at.take(left))

    def _private(
        self, at: Coefficients, left: NDArray[np.intp], needed: Array, tile: Slices
    ) -> Judged:
        """In a basis that is trained on these points only: on some, then on those that fail."""
        assert self.reducer is not None
        private = self.reducer.branch(max(float(needed.min()), SHARPEST))
        private.train(at.take(left[spread(len(left), SOME)]))
        modes, certificate, prescribed = private.solve(at.take(left))
        failing = left[private.accepted(modes, certificate, prescribed).max(axis=1) > 1.0]
        if failing.size:
            private.train(at.take(failing))
        return self._verdicts(private, at.take(left))

    def _verdicts(
        self, reducer: ProvingReducer, at: Coefficients, proved: bool = False
    ) -> tuple[list[Verdict], Array]:
        """Verdicts, and the tolerance that each point still needs: infinite where it is finished.

        A point is finished when its bounds are within the tolerance and no growth rate above
        round-off is below its bound. With proved=True it must also be unstable, or proved stable,
        or have no finite box in which a proof is possible.
        """
        modes, certificate, prescribed, proof = reducer.proved(at)
        k = reducer.wanted
        accepted = reducer.accepted(modes, certificate, prescribed).max(axis=1) <= 1.0
        lam = np.where(prescribed, np.nan, modes.eigenvalues)[:, :k]
        bounds = certificate.error_bound[:, :k]
        noise = (NOISE * certificate.round_off * modes.condition)[:, :k]
        size = np.abs(lam.real)
        with np.errstate(divide="ignore", invalid="ignore"):
            hidden = np.where((size > noise) & (size <= bounds), 0.5 * size / np.abs(lam), np.inf)
        needed = np.nanmin(np.where(np.isnan(hidden), np.inf, hidden), axis=1)
        needed = np.where(accepted, needed, np.minimum(needed, self.tolerance))
        beyond = np.abs(lam.imag) > reducer.prover.box.at(at).angular_frequency[:, None] + bounds
        verdicts = [judge(*each) for each in zip(lam, bounds, proof, beyond, strict=True)]
        if proved:
            open_ = np.array([verdict.proof == MODES for verdict in verdicts])
            open_ &= reducer.prover.provable(at)
            needed = np.where(open_, np.minimum(needed, self.tolerance), needed)
        return verdicts, needed

    def destroy(self) -> None:
        if self.reducer is not None:
            self.reducer.destroy()


def anchor_points(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Numbers of the corners and the middle of a tile of that shape, row by row."""
    corners = itertools.product(*({0, size - 1} for size in shape))
    chosen = {*corners, tuple(size // 2 for size in shape)}
    return np.array(sorted(int(np.ravel_multi_index(c, shape)) for c in chosen))
