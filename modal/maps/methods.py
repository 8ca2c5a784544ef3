"""Solution of the points of a stability map: from one certified basis, or one by one.

Both return a tile (a chunk of the map) as columns of the dataset. The result of a tile depends only
on the result of `prepare`, so tiles may be computed in any order and by any run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.magnitudes import ENTRIES
from assembly.mechanisms.mechanism import MechanismSystem
from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import Quadratic
from modal.eigen.tolerances import SURE
from modal.maps.grid import Grid, named
from modal.maps.stacks import StackFamily, is_stackable
from modal.maps.store import Prints, Slices, columns
from modal.proofs.all_modes import beyond_precision
from modal.proofs.box import is_empty, stay_apart
from modal.proofs.judge import COUNT, MODES, PROOFS, STABLE, UNDECIDED, WORDS, Verdict, judge
from modal.proofs.one_state import SHARPEST
from modal.proofs.proving import ProvingSpace
from modal.proofs.verdict import AFFORDABLE, ALL_MODES, stability
from modal.provenance.fingerprint import FamilyPrints, PointPrints, Probe
from modal.provenance.link_prints import LinkProbe
from modal.reduction.affine import AffineFamily, Coefficients, shares_operators, terms_together
from modal.reduction.error_bounds import unbounded
from modal.reduction.full_order import full_modes, spot_check
from modal.reduction.link_space import LinkFamily, LinkPoints, LinkSpace, linked, same_links
from modal.reduction.space import SAMPLE, CertifiedModes, Space, spread
from modal.reduction.tolerances import TRAINING, WHOLE
from modal.tracking.smooth_space import SmoothSpace
from modal.tracking.sources import BasisError
from modal.types import Array, Complex, Index, Mask

# Certified modes, what proves that no other is unstable (modal/proofs/judge.py), which of them
# cannot grow, and which points have a finite box of possible instability.
Proved = tuple[CertifiedModes, NDArray[np.int8], Mask, Mask]
# All eigenvalues of some points and their error bounds, NaN where there are no more, and which
# spectra are symmetric to the imaginary axis.
AllModes = tuple[Complex, Array, Mask]


class Method:
    """Solves the points of a map. What is given here is that of a method without a basis."""

    solver: str
    grid: Grid

    def prepare(self) -> Mapping[str, NDArray[Any]]:
        """Compute what all tiles share, and return the arrays to store with the map."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the stored arrays."""

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The columns of a tile's points, row by row."""
        raise NotImplementedError

    def prints(self) -> Prints:
        """The fingerprints that identify the model of a stored map: of its points."""
        return _point_prints(self.grid, lambda system: system)

    def destroy(self) -> None:
        """Release the factorizations."""


def method_of(grid: Grid, k: int, tolerance: float, checks: int, threads: int) -> Method:
    machine = linked(grid.first)
    if machine is not None:
        systems = [linked(grid.freeze(point)) for point in grid.sampled(0)]
        if all(s is not None and same_links(machine, s) for s in systems):
            return LinkMethod(grid, k, tolerance, checks, machine)
    shares = (0.0, 0.5, 1.0)
    some = [grid.point([round(share * (size - 1)) for size in grid.shape]) for share in shares]
    if not isinstance(grid.first, MechanismSystem) and shares_operators(grid.freeze, some):
        return BodyMethod(grid, k, tolerance, checks, threads)
    if is_stackable(grid.first, grid.first.n):
        return StackMethod(grid, k, tolerance, checks)
    return FullMethod(grid, k)


class FullMethod(Method):
    """Every point by itself, through modal.solve."""

    solver = "full solve at every point"

    def __init__(self, grid: Grid, k: int) -> None:
        self.grid, self.k = grid, k

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        points = self.grid.points(tile)
        return columns(
            [self.verdict(point) for point in points], np.ones(len(points), dtype=np.int8)
        )

    def verdict(
        self,
        point: Mapping[str, float],
        known: Verdict | None = None,
        system: FrozenSystem | None = None,
    ) -> Verdict:
        """The verdict of a point. known: an undecided one, on which all modes follow if affordable.
        system: that of the point, if it has been frozen.

        Raises the solver's error with the point's name in front.
        """
        affordable = is_affordable(self.grid.first.n, self.grid.count)
        if known is not None and not affordable:
            return known
        system = system or self.grid.freeze(point)
        try:
            found = known or judge(*full_modes(system, self.k))
            undecided = found.verdict == UNDECIDED and affordable
            return on_all_modes(found, system, self.k) if undecided else found
        except ConvergenceError as fault:
            raise ConvergenceError(f"at {named(point)}: {fault}", fault.partial) from fault
        except (SingularSystemError, AccuracyError) as fault:
            raise type(fault)(f"at {named(point)}: {fault}") from fault


class SpaceMethod(Method):
    """All points from one certified space, which is grown on the training points and on seeded
    random ones.

    What a subclass gives: `solver`, `prints()`; `new_space(arrays)`, a space before its training,
    or a stored one; and what differs from here.
    """

    family: Any
    space: Any = None
    whole_is_full = False  # whether points on a complete space count as solved in full

    def __init__(self, grid: Grid, k: int, tolerance: float, checks: int) -> None:
        self.grid, self.k, self.tolerance, self.checks = grid, k, tolerance, checks

    def new_space(self, stored: Mapping[str, NDArray[Any]] | None = None) -> Space:
        raise NotImplementedError

    def located(self, tile: Slices) -> tuple[Any, Mask]:
        """The points of a tile as the space takes them, and which have no operators but its own."""
        points = self.family.coefficients(self.grid.points(tile))
        return points, np.ones(len(points), dtype=bool)

    def frozen(self, at: Any, number: int) -> FrozenSystem | None:
        """The system of one of the points, where freezing it again would cost more."""
        return None

    def proved(self, space: Any, points: Any) -> Proved:
        """Modes, and what is known of all others: nothing."""
        found = space.solve(points)
        none = np.zeros(found.modes.eigenvalues.shape, dtype=bool)
        return found, np.full(len(points), MODES, dtype=np.int8), none, none[:, 0]

    def all_modes(self, space: Any, points: Any, found: Any, left: Index) -> AllModes | None:
        """Of some of the points, from what was found of all; None where they are not known."""
        return None

    def trained(self, space: Any, points: Any) -> CertifiedModes:
        """Grow the space on points; the modes there."""
        found: CertifiedModes = space.train(points)
        return found

    def training(self) -> list[Any]:
        """Points on which the space is grown first, and those on which it is completed."""
        drawn = self.grid.validation()
        return [self.family.coefficients(points) for points in (self.grid.training(), drawn)]

    def local(self, tile: Slices, points: Any, left: Index, needed: Array) -> Any:
        """A small space for many points of a tile."""
        return None

    def prepare(self) -> Mapping[str, NDArray[Any]]:
        """Grow the space on the training points, complete it on random ones, check it."""
        self.space = space = self.new_space()
        first, drawn = ([], []) if space.complete else self.training()
        if not space.complete:
            self.trained(space, first)
        if not space.complete:
            # What the random points need is needed by most tiles.
            needed = self._needed(space, self.trained(space, drawn))[0]
            left = np.flatnonzero(np.isfinite(needed))
            if left.size and not space.complete:
                space.tolerance = max(float(needed.min()), SHARPEST)
                space.train(drawn.take(left))
                space.tolerance = self.tolerance
        spot_check(space, self.grid.drawn(4 * self.checks, seed=9), self.checks)
        return space.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.space = self.new_space(arrays)

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The points of a tile, in a local space first.

        Points without an accepted result go to the shared space, then to a private extension of
        it. Points with new operators are solved in full.
        """
        points = self.grid.points(tile)
        at, seen = self.located(tile)
        verdicts: list[Verdict | None] = [None] * len(points)
        apart = np.ones(len(points), dtype=np.int8)
        needed = np.where(seen, self.tolerance, np.inf)
        for stage in (self.local, self._shared, self._private):
            left = np.flatnonzero(np.isfinite(needed))
            space = stage(tile, at, left, needed[left]) if left.size else None
            if space is None:
                continue
            judged, needed[left] = self._verdicts(space, at.take(left), stage == self.local)
            apart[left] = self.whole_is_full and space.complete
            for p, verdict in zip(left, judged, strict=True):
                verdicts[p] = verdict
        full = FullMethod(self.grid, self.k)
        self.by_all_modes(verdicts, at)
        decided = [
            full.verdict(p, v, self.frozen(at, i))
            if v is None or (v.verdict == UNDECIDED and not v.final)
            else v
            for i, (p, v) in enumerate(zip(points, verdicts, strict=True))
        ]
        return columns(decided, apart)

    def by_all_modes(self, verdicts: list[Verdict | None], at: Any) -> None:
        """Decide undecided points (P,) of a tile together, where all modes may."""

    def _shared(self, tile: Slices, at: Any, left: Index, needed: Array) -> Any:
        """The space of the whole map."""
        return self.space

    def _private(self, tile: Slices, at: Any, left: Index, needed: Array) -> Any:
        """A space that is trained on these points only."""
        if self.space.complete:
            return None
        private = self.space.branch(max(float(needed.min()), SHARPEST))
        private.train_on_few(at.take(left), SAMPLE)
        return private

    def _needed(self, space: Space, found: CertifiedModes) -> tuple[Array, Complex, Array]:
        """The tolerance that each point still needs, infinite where its bounds are within the
        tolerance and no growth rate above round-off is below its bound; the eigenvalues that count,
        and their bounds."""
        k, modes, errors = space.wanted, found.modes, found.bounds
        accepted = space.accepted(found).max(axis=1) <= 1.0
        left_out = found.prescribed | unbounded(modes.eigenvalues, errors.error_bound)
        lam = np.where(left_out, np.nan, modes.eigenvalues)[:, :k]
        bounds = errors.error_bound[:, :k]
        noise = (SURE * errors.round_off * modes.condition)[:, :k]
        size = np.abs(lam.real)
        with np.errstate(divide="ignore", invalid="ignore"):
            hidden = np.where((size > noise) & (size <= bounds), 0.5 * size / np.abs(lam), np.inf)
        needed = np.nanmin(np.where(np.isnan(hidden), np.inf, hidden), axis=1)
        return np.where(accepted, needed, np.minimum(needed, self.tolerance)), lam, bounds

    def _verdicts(self, space: Space, at: Any, proved: bool) -> tuple[list[Verdict], Array]:
        """Verdicts, and the tolerance that each point still needs: infinite where it is finished.

        With proved=True a finished point must also be unstable, or proved stable, or be one where
        no proof is possible. Of whole matrices a few points at once: all modes of one take as many
        numbers as its state matrix.
        """
        size = max(1, ENTRIES // (2 * self.family.n) ** 2) if space.complete else len(at)
        parts = [np.arange(start, min(start + size, len(at))) for start in range(0, len(at), size)]
        judged = [self._judged(space, at.take(part), proved) for part in parts]
        return [v for verdicts, _ in judged for v in verdicts], np.concatenate(
            [needed for _, needed in judged]
        )

    def _judged(self, space: Space, at: Any, proved: bool) -> tuple[list[Verdict], Array]:
        """The same, of points that are solved together."""
        found, proof, beyond, provable = self.proved(space, at)
        needed, lam, bounds = self._needed(space, found)
        verdicts = [judge(*each) for each in zip(lam, bounds, proof, beyond, strict=True)]
        left = _undecided(verdicts)
        every = self.all_modes(space, at, found, left) if left.size else None
        if every is not None:
            final = beyond_precision(every[0], every[2])
            for p, values, bound, last in zip(left, *every[:2], final, strict=True):
                above, below = judge(values, SURE * bound), replace(verdicts[p], final=last)
                verdicts[p] = below if above.verdict == UNDECIDED else above
        if proved:
            open_ = np.array([verdict.proof == MODES for verdict in verdicts])
            needed = np.where(open_ & provable, np.minimum(needed, self.tolerance), needed)
        return verdicts, needed

    def destroy(self) -> None:
        if self.space is not None:
            self.space.destroy()


class BodyMethod(SpaceMethod):
    """Points that share their operators."""

    solver = "certified reduced basis"
    family: AffineFamily
    _whole: ProvingSpace | None = None

    def __init__(self, grid: Grid, k: int, tolerance: float, checks: int, threads: int) -> None:
        super().__init__(grid, k, tolerance, checks)
        self.threads = threads
        training = grid.training()
        terms_of = terms_together(grid.model, grid.constants, grid.names)
        self.family = AffineFamily(grid.freeze, training[0], terms_of)
        drawn = grid.validation()
        self.span = self.family.coefficients(training + drawn + grid.smallest())
        self._sizes = len(training), len(drawn)
        self._last: tuple[Slices, tuple[AffineFamily, Coefficients]] | None = None

    def training(self) -> list[Coefficients]:
        """Parts of the span."""
        first, second = self._sizes
        return [self.span.take(slice(first)), self.span.take(slice(first, first + second))]

    def prints(self) -> FamilyPrints:
        first = self.grid.freeze(self.grid.training()[0])
        return FamilyPrints(self.family, first, self.span, self.coefficients)

    def coefficients(self, tile: Slices) -> tuple[AffineFamily, Coefficients]:
        """The coefficients of a tile's points and their operators; cached for the last tile."""
        if self._last is None or self._last[0] != tile:
            self._last = tile, self.family.extended(self.grid.points(tile))
        return self._last[1]

    def new_space(self, stored: Mapping[str, NDArray[Any]] | None = None) -> ProvingSpace:
        return ProvingSpace(self.family, self.span, self.k, self.tolerance, self.threads, stored)

    def located(self, tile: Slices) -> tuple[Coefficients, Mask]:
        at, known = self.coefficients(tile)[1], len(self.space.projected.matrices)
        return Coefficients(at.table[:, :, :known], at.rate), self.space.covers(at)

    def proved(self, space: ProvingSpace, points: Coefficients) -> Proved:
        found, proof = space.proved(points)
        highest = space.box.at(points).angular_frequency[:, None]
        beyond = np.abs(found.modes.eigenvalues.imag) > highest + found.bounds.error_bound
        return found, proof, beyond[:, : space.wanted], space.provable(points)

    def all_modes(self, space: Any, points: Any, found: Any, left: Index) -> AllModes | None:
        if not space.complete or space.coordinates is not None:
            return None
        at = points.take(left)
        symmetric = self.family.conservative(at) | ~at.damping.any(axis=1)
        return (*space.all_modes(found, left), np.asarray(symmetric))

    def trained(self, space: ProvingSpace, points: Coefficients) -> CertifiedModes:
        """Where no box proves a thing a basis of more than half of the shapes takes all of them."""
        half = self.family.n // 2
        decays = space.box.damped and not space.boxes(points).bounded.all()
        if self.family.n > ALL_MODES or not decays:
            return super().trained(space, points)
        found = space.train(points, most=half)
        if space.basis.size >= half:
            space.fill()
        return found

    def by_all_modes(self, verdicts: list[Verdict | None], at: Coefficients) -> None:
        """Where modes may decay, up to 300 degrees of freedom, if that decides half of the first
        five."""
        space, left = self.space, _undecided(verdicts)
        if space.complete or not (left.size and space.box.damped) or self.family.n > ALL_MODES:
            return
        if self._whole is None:
            self._whole = space.branch(self.tolerance)
            self._whole.fill()
        first = left[spread(len(left), 5)]
        for some in (first, np.setdiff1d(left, first)):
            judged = self._verdicts(self._whole, at.take(some), False)[0] if some.size else []
            decided = [(i, v) for i, v in zip(some, judged, strict=True) if v.verdict != UNDECIDED]
            for i, verdict in decided:
                verdicts[i] = verdict
            if 2 * len(decided) < len(some):
                break

    def local(self, tile: Slices, points: Coefficients, left: Index, needed: Array) -> Any:
        """From the tile's corners and middle; none where only all modes can prove anything, or
        where it saves little of a shared space that holds everything."""
        anchors = anchor_points(tuple(s.stop - s.start for s in tile))
        space = self.space
        unboxed = space.counts_all and not space.box.at(points).bounded.any()
        # Real and imaginary parts of the modes wanted are most of the space.
        whole = space.counts_all and 4 * space.wanted >= space.projected.size
        if unboxed or whole or len(left) < 4 * len(anchors):
            return None
        return space.local(points.take(anchors))


class LinkMethod(SpaceMethod):
    """Points that are instants of mechanisms of the same large links."""

    solver = "reduced bases of links"
    family: LinkFamily

    def __init__(
        self, grid: Grid, k: int, tolerance: float, checks: int, first: MechanismSystem
    ) -> None:
        super().__init__(grid, k, tolerance, checks)
        self.family = LinkFamily(first, grid.freeze)

    def frozen(self, at: LinkPoints, number: int) -> FrozenSystem:
        """From the mechanism that is assembled already."""
        options = self.family.first.options
        return MechanismSystem(at.mechanisms[number], float(at.times[number]), **options)

    def prints(self) -> PointPrints:
        return _point_prints(self.grid, LinkProbe(self.family.first).system)

    def new_space(self, stored: Mapping[str, NDArray[Any]] | None = None) -> LinkSpace:
        return LinkSpace(self.family, self.k, self.tolerance, stored)


class StackMethod(SpaceMethod):
    """Points of matrices of their own, of few degrees of freedom: the lowest modes of a tile on one
    basis, and the boxes that are too small for any unstable mode."""

    solver = "reduced basis of every tile"
    family: StackFamily
    whole_is_full = True
    _trained: tuple[Array, Any] = np.zeros(0), None  # points that made their basis, modes on it
    _band: Slices = ()  # whose points the family has
    prepare, restore = Method.prepare, Method.restore  # tiles share nothing

    def located(self, tile: Slices) -> tuple[Any, Mask]:
        """Numbers of points, and which of them a basis can hold.

        Tiles beside one another on the last axis are frozen together, if they are of few numbers:
        often they have instants of the same mechanisms.
        """
        first, row, last = self.grid.first, (*tile[:-1], slice(0, self.grid.shape[-1])), tile[-1]
        few = 3 * first.n**2 * np.prod([s.stop - s.start for s in row]) <= ENTRIES
        band = row if few and isinstance(first, MechanismSystem) else tile
        if self._band != band:
            self.family = StackFamily(self.grid.freeze, self.grid.points(band), first.n)
            self._band = band
        numbers = np.arange(len(self.family.points)).reshape(-1, band[-1].stop - band[-1].start)
        points = numbers[:, last.start - band[-1].start : last.stop - band[-1].start].ravel()
        return points, self.family.stackable[points]

    def frozen(self, at: Array, number: int) -> FrozenSystem:
        """From the stack, if it is one of a mechanism."""
        return self.family.system(int(at[number]))

    def proved(self, space: Any, points: Array) -> Proved:
        """By all modes where the basis holds them; else none grows where a box holds none."""
        k, (trained, every) = space.wanted, self._trained
        if space.complete or not np.array_equal(trained, points):
            every = space.solve(points, every=space.complete)
        growth, bound = every.modes.eigenvalues.real[:, k:], every.bounds.error_bound[:, k:]
        decays = (growth < -SURE * bound) | np.isnan(growth)  # not where a bound is not known
        counted = decays.all(axis=1) & space.complete
        empty = np.zeros(len(points), dtype=bool)
        empty[~counted] = self._empty(points[~counted], every.modes.eigenvalues[~counted])
        proof = np.where(counted | empty, COUNT, MODES).astype(np.int8)
        found = replace(every.first(k), every=every)
        settled = np.broadcast_to(empty[:, None], found.prescribed.shape)
        return found, proof, settled, np.full(len(points), not space.complete)

    def all_modes(self, space: Any, points: Any, found: Any, left: Index) -> AllModes | None:
        if not space.complete:
            return None
        modes, bounds = found.every.modes, found.every.bounds
        symmetric = [Quadratic(self.family.system(p)).reversible for p in points[left]]
        return modes.eigenvalues[left], bounds.error_bound[left], np.array(symmetric)

    def local(self, tile: Slices, points: Any, left: Index, needed: Array) -> Any:
        """From some of the points, checked; the whole space where that is small."""
        n, at, self.space = self.family.n, points.take(left), None
        checked = self.grid.drawn(self.checks, seed=9)
        try:
            space = SmoothSpace(self.family, at, self.k, self.tolerance, whole=n)
            whole, some = space.completed(), at.take(spread(len(at), TRAINING))
            if n <= WHOLE or self._counts(space, whole, some):
                space = whole
            if not space.complete:
                self._trained = at, space.train_on_few(at, TRAINING)
        except BasisError:
            return None
        self.space = space
        held = [self.family.points[p] for p in at]
        spot_check(space, [point for point in checked if point in held], self.checks)
        return space

    def _empty(self, points: Array, eigenvalues: Complex) -> Mask:
        """Points whose box holds no mode, from some of their modes (P, m)."""
        lowest = np.nanmin(np.abs(eigenvalues), axis=1)
        each = zip(*self.family.motion.matrices(points), lowest, strict=True)
        return np.array([is_empty(M, C, K, low) for M, C, K, low in each], dtype=np.bool_)

    def _counts(self, space: SmoothSpace, whole: SmoothSpace, some: Array) -> bool:
        """Whether all modes of every point prove what no box does."""
        boxed = self._empty(some, space.solve(some).modes.eigenvalues).any()
        return not boxed and all(self.proved(whole, p)[1] == COUNT for p in some[:, None])

    def _shared(self, tile: Slices, at: Any, left: Index, needed: Array) -> Any:
        return None

    def _private(self, tile: Slices, at: Any, left: Index, needed: Array) -> Any:
        """A sharper basis for growth rates, the whole space for a proof that needs all modes."""
        if self.space is None or self.space.complete:
            return None
        if needed.max() < self.tolerance:
            self.space.tolerance = max(float(needed.min()), SHARPEST)
            self._trained = at.take(left), self.space.train_on_few(at.take(left), TRAINING)
        return self.space if needed.max() < self.tolerance else self.space.completed()


def _undecided(verdicts: Sequence[Verdict | None]) -> Index:
    return np.array([i for i, v in enumerate(verdicts) if v and v.verdict == UNDECIDED], np.intp)


def is_affordable(n: int, points: int, work: float = 6e9) -> bool:
    """Whether all modes of n degrees of freedom cost little at so many points.

    work: n³ times the points of a map up to which LAPACK decides the undecided ones: at 1e-8 s each
    a minute of one core, if all of them are.
    """
    return n <= ALL_MODES or (n <= AFFORDABLE and points * float(n) ** 3 <= work)


def on_all_modes(found: Verdict, system: FrozenSystem, k: int) -> Verdict:
    """An undecided verdict on the lowest modes of a system, on all modes."""
    M, C, K = system.M, system.damping, system.stiffness
    none_grows = is_empty(M, C, K, found.lowest) if C.nnz else stay_apart(M, K)
    if system.symmetric_mass and none_grows:
        return replace(found, verdict=STABLE, proof=COUNT)
    result = stability(system, k)
    if result.verdict == WORDS[UNDECIDED]:
        return found
    proof = PROOFS.index(result.proof)
    if result.verdict == WORDS[STABLE]:
        return replace(found, verdict=STABLE, proof=proof)
    code = next(code for code, word in WORDS.items() if word == result.verdict)
    return Verdict(
        result.growth_rate, result.error_bound, result.critical_frequency, result.unstable_modes,
        code, proof, found.lowest,
    )  # fmt: skip


def anchor_points(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Numbers of the corners and the middle of a tile of that shape, row by row."""
    corners = itertools.product(*({0, size - 1} for size in shape))
    chosen = {*corners, tuple(size // 2 for size in shape)}
    return np.array(sorted(int(np.ravel_multi_index(c, shape)) for c in chosen))


def _point_prints(grid: Grid, small: Callable[[FrozenSystem], FrozenSystem]) -> PointPrints:
    """Of the frozen systems of a grid. small: the system that represents one."""
    drawn = grid.sampled()
    probe = Probe(small(grid.freeze(drawn[0])))
    return PointPrints(grid.points, drawn, lambda point: probe.system(small(grid.freeze(point))))
