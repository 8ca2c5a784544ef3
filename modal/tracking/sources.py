"""Sources of the snapshots of a tracking run: full solves, or one reduced space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from assembly.system.frozen import FrozenSystem
from modal.eigen.deflation import with_zeros
from modal.eigen.modes import Modes
from modal.eigen.solve import LAPACK, SOLUTION, SOLUTION_DOF
from modal.provenance.fingerprint import drawn_prints
from modal.reduction.full_order import spot_check
from modal.reduction.instants import SmallMatrices
from modal.reduction.interpolation import Interpolant
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.space import SAMPLE, CertifiedModes, Family, Space, spread
from modal.reduction.tolerances import TRAINING
from modal.tracking.snapshot import Snapshot
from modal.tracking.stencil import differences, stencil_of
from modal.tracking.sweep import Request
from modal.tracking.variation import Derivatives, Variation, projected, variations, window_space
from modal.tracking.whirl import Whirl, WhirlForms
from modal.types import Array, Index

# Basis and description of the stored run that is continued, if its fingerprints agree with these.
Kept = Callable[[NDArray[np.float64]], tuple[Mapping[str, NDArray[Any]], str]]


class BasisError(AccuracyError):
    """The basis cannot be made accurate enough for some instant."""


class FullSource:
    """Every instant solved separately. kept(prints): the description of the stored run that is
    continued."""

    kind, growths = "full", 0

    def __init__(self, request: Request, kept: Kept | None = None) -> None:
        sweep = request.sweep
        self._request, self._freeze, self._at = request, sweep.freeze, sweep.at
        self._whirl = None if sweep.axis is None else Whirl(sweep.axis)
        self.description = request.solver_name if kept is None else kept(self.prints())[1]
        self._named = self.description != request.solver_name

    def snapshot(self, at: float) -> Snapshot:
        system, request = self._freeze(at), self._request
        # A free mobility adds two eigenvalues, which must not replace elastic modes.
        solver = request.solver or request.full
        modes = solver(system, request.count(system.n, 2 * system.rigid.shape[1]))
        if isinstance(modes, Modes):
            modes = with_zeros(system, modes)
        if not self._named:
            parts = (getattr(modes, part, "") for part in ("backend", "method", "factorization"))
            self.description = ", ".join(str(p) for p in parts if p) or self.description
            self._named = True
        pairs = modes.eigenvalues, modes.right, modes.left
        errors = modes.backward_error, modes.condition_number
        found = Snapshot.of(float(at), system.M, system.damping, pairs, *errors, modes.kind)
        found = replace(found, variation=self._variation(system, found))
        if self._whirl is None:
            return found
        return replace(found, whirling=self._whirl.forms(system, found.right))

    def _variation(self, system: FrozenSystem, found: Snapshot) -> Variation | None:
        """None where the model cannot be frozen next to the instant."""
        V = window_space(found.right, found.left)
        here, request = projected(system, V), self._request

        def near(values: Array) -> Array:
            others = values[values != found.at]
            there = dict(zip(others.tolist(), request.sweep.freeze_many(others), strict=True))
            return np.stack([projected(there[s], V) if s in there else here for s in values])

        lam = found.eigenvalues
        stencil = stencil_of(found.at, lam, request.sweep.ends, request.rate)
        change = differences([stencil], near)
        if change is None:
            return None
        of_value = Derivatives(here[:, None], *change.swapaxes(1, 2))
        right, left = ((V.T @ vectors)[None] for vectors in (found.right, found.left))
        return variations(of_value, lam[None], right, left, request.rate).taken(0)

    def carried(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def prints(self) -> NDArray[np.float64]:
        return drawn_prints(self._freeze, self._at)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        return {}

    def close(self) -> None:
        pass


class ListedModes(NamedTuple):
    """Modes of P points, the error bounds of their eigenvalues, rad/s, and what they are (P, K)."""

    modes: SmallModes
    bound: Array
    kind: NDArray[np.str_]


class SpaceSource:
    """All instants from one certified reduced space (modal/reduction/space.py), in its coordinates.

    The space is grown on a few values until the error bound of every eigenvalue there is below
    tolerance |λ|, and along a motion, or where values between do not hold, on a quarter of all,
    SAMPLE at most. It is compared with full solves at values of a seeded
    draw (modal/reduction/full_order.py), the lowest k modes.
    The values are then solved a block at a time. Where a block does not reach the accuracy, the
    space grows, and `carried` transforms earlier snapshots into its coordinates. An extra instant
    uses the present space. Condition numbers are those of the scaled state matrix. Backward errors
    are defined so that condition number × backward error × |λ| is the certified bound of the error,
    as for full solves. Where the model cannot be frozen at a value, the space is made for the
    values before it, and `snapshot` raises there what the model raises. kept(prints): arrays and
    description of the stored run that is continued, without training and checks. Raises BasisError
    when the space cannot be made accurate enough or misses overdamped modes, AccuracyError when a
    full solve differs.

    What a subclass gives: `kind`, `_new_space(sample, stored)`, `prints()`, and either
    `_motion`, what depends on the value as a function of it, or `_near`; and `_changes`, where that
    is not the matrices in the present coordinates.
    """

    kind: str
    block: int = 100  # instants that are solved together
    _motion: Interpolant | None = None

    def __init__(self, request: Request, family: Family, kept: Kept | None = None) -> None:
        sweep = request.sweep
        self._request, self._family = request, cast(Any, family)
        self._freeze, self._name, self._at = sweep.freeze, sweep.name, sweep.at
        self._block: dict[float, Snapshot] = {}
        self._serving: list[Any] = []  # spaces for the last block, the smallest first
        self.growths = 0
        self._points = self._leading(self._at)
        self._values = self._at[: len(self._points)]
        # What grows for the rest of few values grows for a block of them.
        count = min(SAMPLE, max(TRAINING, len(self._values) // 4))
        sample = self._points.take(spread(len(self._values), count))
        stored = None if kept is None else kept(self.prints())[0]
        self._space: Any = self._new_space(sample, stored)
        try:
            if stored is None:
                if not self._space.complete:  # else it cannot grow, and every block is checked
                    order = spread(len(sample), 2 * TRAINING - 1)
                    self._space.train(sample.take(order[::2]), most=self._worthwhile(len(sample)))
                    between = sample.take(order[order.size > 1 :: 2])
                    # Along a motion others fail where a few hold.
                    moves = self._name == "time"
                    if moves or self._space.worst(self._space.solve(between)) > 1.0:
                        self._train(sample)
                self._check()
            self._settle()
        except BaseException:
            self.close()
            raise

    def _worthwhile(self, trained: int) -> float:
        """Vectors of a space beyond which full solutions of all values cost less, unless a space is
        asked for. trained: values that it grows on, solved two or three times."""
        if self._request.backend == "reduced":
            return np.inf
        solved = (len(self._values) + 3 * trained) * LAPACK
        n, space = self._family.n, self._space
        # Full solutions have the motions as a whole of a free body too, two eigenvalues each.
        modes = 1.0 + space.extra / space.wanted
        full = len(self._values) * modes * (SOLUTION + SOLUTION_DOF * n)
        return float(np.cbrt(full / solved))

    def _leading(self, values: Array) -> Any:
        """The points of some values up to the first at which the model cannot be frozen."""
        points, parts = [{self._name: value} for value in values.tolist()], list[Any]()
        size = 1 if self._request.sweep.terms is None else len(points)
        while points:
            try:
                parts.append(self._family.coefficients(points[:size]))
                points = points[size:]
            except Exception:  # raised again, and named, when the sweep comes there
                if size == 1 and parts:
                    break
                if size == 1:
                    raise
                size = 1
        return type(parts[0]).joined(parts)

    def _new_space(self, sample: Any, stored: Mapping[str, NDArray[Any]] | None) -> Space:
        """The space before its training, or that of a stored run."""
        raise NotImplementedError

    def prints(self) -> NDArray[np.float64]:
        """Fingerprints of the model."""
        return drawn_prints(self._freeze, self._at)

    def _near(self, values: Array) -> Array:
        """What depends on the value, of which differences are taken, (P, 3, ...)."""
        raise NotImplementedError

    def _changes(self, order: Array, space: Any) -> Array:
        """Changes (3, P, m, m) of M, C + D and K in a space from those of what `_near` gives."""
        return order

    def _spaces(self, points: Any) -> list[Space]:
        """Spaces that are tried for some points, the smallest first."""
        return [self._space]

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The present bases, to continue the run later."""
        arrays: Mapping[str, NDArray[Any]] = self._space.arrays()
        return arrays

    def close(self) -> None:
        """Release the factorizations."""
        self._space.destroy()

    def snapshot(self, at: float) -> Snapshot:
        if at not in self._block:
            rising = self._at[0] <= self._at[-1]
            place = int(np.searchsorted(self._at if rising else -self._at, at if rising else -at))
            if place >= len(self._values) or self._values[place] != at:
                points = self._space.family.coefficients([{self._name: at}])
                parts, _ = self._accurate(points)
                space, found = parts[0][1:] if parts else (self._space, None)
                return self._snapshots(np.array([at]), points, space, found)[0]
            self._load(place // self.block)
        return self._block[at]

    def carried(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot from before the last growth of the space, in its present coordinates."""
        here = self._space.on(self._space.family.coefficients([{self._name: snapshot.at}]))
        return snapshot.carried(self._embedding, here.mass[0], here.damping[0])

    def _train(self, points: Any) -> None:
        space = self._space
        worst = space.worst(space.train(points, None, self._worthwhile(len(points))))
        if worst > 1.0:
            raise BasisError(
                f"track: an error bound stays {worst:.3g} times above the accuracy "
                f"{self._request.tolerance:g} with a {space.description}"
            )

    def _check(self) -> None:
        """Full-order verification of values of a seeded draw."""
        checks = self._request.checks
        drawn = np.random.default_rng(13).permutation(len(self._values))[: 4 * checks]
        points = [{self._name: float(self._values[n])} for n in drawn]
        try:
            spot_check(self._space, points, checks, self._request.k)
        except AccuracyError as fault:
            values = self._space.solve(self._points.take(np.sort(drawn))).modes.eigenvalues
            if not np.any((values.imag == 0.0) & (values.real < 0.0)):
                raise
            # Overdamped modes of D = bK accumulate at −1/b with the stiffest shapes of the mesh.
            raise BasisError(str(fault)) from fault

    def _settle(self) -> None:
        """Compute all that depends on the present space."""
        self.description = self._space.description
        self._whirl: WhirlForms | None = None

    def _load(self, number: int) -> None:
        """Solve a block; the space grows first where it is not accurate enough.

        The grown space solves it as a run would that begins here with that space: a resumed one.
        """
        size = self.block
        index = np.arange(number * size, min((number + 1) * size, len(self._values)))
        values, points = self._values[index], self._points.take(index)
        self._serving = self._spaces(points)
        parts, left = self._accurate(points)
        if left.size:
            before = self._space.frame
            self._train(points)
            self._settle()
            self._embedding = self._space.embedding(before)
            self.growths += 1
            self._serving = self._spaces(points)
            parts, _ = self._accurate(points, trained=True)
        self._block = {
            made.at: made
            for some, space, found in parts
            for made in self._snapshots(values[some], points.take(some), space, found)
        }

    def _accurate(
        self, points: Any, trained: bool = False
    ) -> tuple[list[tuple[Index, Any, CertifiedModes]], Index]:
        """The modes of points, each by the first space that is accurate enough: numbers of points,
        a space and their modes on it; and the points that none holds. trained: the shared space
        was trained on them: a bound that is exceeded there now is so by round-off."""
        parts, left = [], np.arange(len(points))
        for space in self._serving:
            found = space.solve(points.take(left))
            good = space.accepted(found).max(axis=1) <= 1.0
            good |= trained and space is self._space
            if good.any():
                parts.append((left[good], space, found if good.all() else found.points(good)))
            left = left[~good]
            if not left.size:
                break
        return parts, left

    def _snapshots(
        self, at: Array, points: Any, space: Space, found: CertifiedModes | None = None
    ) -> list[Snapshot]:
        """From the modes of instants in a space: the shared one, or one inside it."""
        found = space.solve(points) if found is None else found
        listed, inside, shared = self._modes(space, found), space.coordinates, found.instants
        modes = listed.modes
        if inside is not None:
            modes, shared = modes.lifted(inside), self._space.on(points)
        matrices = shared.mass, shared.damping
        # The backward error is defined so that condition × backward error × |λ| is the bound.
        size = np.abs(modes.eigenvalues)
        error = listed.bound / (modes.condition * np.where(size > 0.0, size, 1.0))
        known = np.isfinite(modes.eigenvalues)
        # Instants in a row that have as many modes, not too many of them.
        cuts = {0, *range(0, len(at), SpaceSource.block), len(at)}
        cuts |= set((1 + np.flatnonzero((known[1:] != known[:-1]).any(axis=1))).tolist())
        spans = [slice(*ends) for ends in pairwise(sorted(cuts))]
        made = list[Snapshot]()
        while spans:
            some = spans.pop(0)
            there, (M, C) = known[some][0], (A[some] for A in matrices)
            parts: Any = (modes.eigenvalues, modes.right, modes.left, error, modes.condition)
            values, right, left, off, condition = (A[some][..., there] for A in parts)
            kind = listed.kind[some][:, there]
            stack = Snapshot.of(at[some], M, C, (values, right, left), off, condition, kind)
            change = self._variations(stack, found.instants.taken(np.arange(len(at))[some]), space)
            if change is None and len(values) > 1:
                # The model cannot be frozen next to one of them.
                spans = [slice(n, n + 1) for n in range(some.start, some.stop)] + spans
                continue
            whirl = None if self._whirl is None else self._whirl.turned(stack.right)
            made += replace(stack, variation=change, whirling=whirl).instants()
        return made

    def _modes(self, space: Any, found: CertifiedModes) -> ListedModes:
        """What is listed of some points."""
        kind = np.full(found.modes.eigenvalues.shape, "elastic")
        return ListedModes(found.modes, found.bounds.error_bound, kind)

    def _variations(self, made: Snapshot, at: SmallMatrices, space: Space) -> Variation | None:
        """Of a stack; None where the model cannot be frozen next to an instant."""
        sweep, rate, lam = self._request.sweep, self._request.rate, made.eigenvalues
        if self._motion is not None:
            first = self._motion.derivative
            both = first.many(made.at), first.derivative.many(made.at)
            rates, curvatures = (self._changes(x.swapaxes(0, 1), space) for x in both)
            orders = [rates, curvatures, rates]
        else:
            pairs = zip(made.at.tolist(), lam, strict=True)
            stencils = [stencil_of(t, values, sweep.ends, rate) for t, values in pairs]
            changes = differences(stencils, self._near)
            if changes is None:
                return None
            orders = [self._changes(order.swapaxes(0, 1), space) for order in changes]
        right, left = made.right, made.left
        if space.coordinates is not None:
            right, left = (space.coordinates.T @ vectors for vectors in (right, left))
        return variations(Derivatives(at.matrices, *orders), lam, right, left, rate)


Source = FullSource | SpaceSource
