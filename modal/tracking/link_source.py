"""Snapshots of a mechanism along its motion from reduced bases of its links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism_system import MechanismSystem
from modal.provenance.link_prints import LinkProbe
from modal.provenance.same_model import drawn_prints
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.link_instants import Options
from modal.reduction.link_reducer import BATCH, LinkModes, LinkReducer
from modal.reduction.reducer import spread
from modal.reduction.spot_check import check_links
from modal.tracking.pencils import Triple
from modal.tracking.snapshot import Snapshot, small_snapshots
from modal.tracking.source import BasisError
from modal.tracking.sources import Freeze, Kept
from modal.tracking.stencil import Neighbourhood, Stencil
from modal.tracking.variation import Variation, variation, window_space
from modal.types import Array

TRAINING, SAMPLE = 5, 24  # instants on which the bases are first trained, and then completed


class LinkSource:
    """All instants of a mechanism from the bases of its links (modal/reduction/link_reducer.py).

    at: the times, s. The bases are grown on SAMPLE of them until the error bound of every
    eigenvalue is below accuracy |λ|, and compared with the full mechanism at `checks` times of a
    seeded draw, the lowest `checked` modes. The times are then solved BATCH at a time; where a
    batch does not reach the accuracy, the bases grow, and `carried` transforms earlier snapshots.
    kept(prints): the stored run that is continued, without training and checks. Raises BasisError
    when the bases cannot be made accurate enough or miss overdamped modes, AccuracyError when the
    full mechanism has other modes.
    """

    kind = "links"

    def __init__(
        self,
        first: MechanismSystem,
        freeze: Freeze,
        at: Array,
        count: int,
        accuracy: float,
        around: Neighbourhood,
        checks: int = 1,
        checked: int | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._first, self._freeze = first, freeze
        self._mechanism, self._at, self._accuracy = first.mechanism, at, accuracy
        self._around, self.growths = around, 0
        options = Options(first.transport, first.prestress is not None, first.driven)
        self._reducer = LinkReducer([first.mechanism], options, count, accuracy)
        self._possible = self._leading()
        if kept is not None:
            self._reducer.restore(kept(self.prints())[0])
        else:
            for wanted in (TRAINING, SAMPLE):
                self._train(self._possible[spread(len(self._possible), wanted)])
            self._check(checks, checked)
        self._batch: dict[float, Snapshot] = {}
        self._settle()

    def _leading(self) -> Array:
        """The times up to the first at which the mechanism cannot be assembled."""
        for n, t in enumerate(self._at):
            try:
                self._mechanism.state(float(t))
            except Exception:  # raised again, and named, when the sweep comes there
                if n == 0:
                    raise
                return self._at[:n]
        return self._at

    def _train(self, times: Array, known: Sequence[LinkModes] = ()) -> LinkModes:
        """Grow the bases until they are accurate enough at times, and the modes there."""
        worst, found = self._reducer.train([(self._mechanism, times)], known)
        if worst > 1.0:
            raise BasisError(
                f"track: an error bound stays {worst:.3g} times above the accuracy "
                f"{self._accuracy:g} with bases of {self._shapes()}"
            )
        return found[0]

    def _check(self, checks: int, checked: int | None) -> None:
        """Full-order verification of instants of a seeded draw."""
        drawn = np.random.default_rng(13).permutation(len(self._possible))[: 4 * checks]
        times = self._possible[drawn]
        try:
            check_links(
                self._reducer, [(self._mechanism, float(t)) for t in times], checks, checked
            )
        except AccuracyError as fault:
            if not self._overdamped(times):
                raise
            # Overdamped modes of D = bK accumulate at −1/b with the stiffest shapes of the mesh.
            raise BasisError(str(fault)) from fault

    def _overdamped(self, times: Array) -> bool:
        """Whether a mode at some times decays without oscillation."""
        values = np.concatenate(
            [each.modes.eigenvalues for each in self._reducer.solve(self._mechanism, times)]
        )
        return bool(np.any((values.imag == 0.0) & (values.real < 0.0)))

    def _shapes(self) -> str:
        return ", ".join(f"{size} shapes of {name}" for name, size in self._reducer.sizes.items())

    def _settle(self) -> None:
        """Take up the present bases."""
        self._reduced = self._reducer.reduced(self._mechanism)
        low, high = float(self._at.min()), float(self._at.max())
        smooth = None
        if len(self._possible) == len(self._at):
            smooth = InterpolatedMotion.of(self._reduced, low, high, True, **self._options())
        self._smooth = None if smooth is None else smooth.projected(np.eye(self._size))
        self.description = f"reduced bases of links: {self._shapes()}; accuracy {self._accuracy:g}"

    def snapshot(self, at: float) -> Snapshot:
        if at not in self._batch:
            rising = self._at[0] <= self._at[-1]
            place = int(np.searchsorted(self._at if rising else -self._at, at if rising else -at))
            known = place < len(self._possible) and self._at[place] == at
            if not known:
                (found,) = self._reducer.solve(self._mechanism, np.array([at]))
                return self._snapshots(found)[0]
            start = place - place % BATCH
            self._load(self._possible[start : start + BATCH])
        return self._batch[at]

    def _load(self, times: Array) -> None:
        """Solve a batch; the bases grow first where they are not accurate enough."""
        (found,) = self._reducer.solve(self._mechanism, times)
        if self._reducer.accepted(found).max() > 1.0:
            before = self._reduced
            found = self._train(times, [found])
            self._settle()
            self._embedding = self._reduced.embedding(before)
            self.growths += 1
        self._batch = dict(zip(times.tolist(), self._snapshots(found), strict=True))

    def batch(self) -> Mapping[float, Snapshot]:
        return self._batch

    def carried(self, snapshot: Snapshot) -> Snapshot:
        (M,), (C,), _ = self._matrices(np.array([snapshot.at]))
        return snapshot.carried(self._embedding, M, C)

    def prints(self) -> NDArray[np.float64]:
        probe = LinkProbe(self._first)
        return drawn_prints(lambda t: probe.system(self._freeze(t)), self._at)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The present bases, to continue the run later."""
        return self._reducer.arrays()

    def close(self) -> None:
        pass

    def _options(self) -> dict[str, Any]:
        options = self._reducer.options
        return dict(transport=options.transport, prestress=options.prestress, driven=options.driven)

    @property
    def _size(self) -> int:
        return len(self._reduced.elastic(self._reducer.options.driven).masters)

    def _matrices(self, times: Array) -> tuple[Array, Array, Array]:
        """M, C + D and K of the reduced mechanism, (P, n, n), off a polynomial where they are
        smooth."""
        if self._smooth is not None:
            return self._smooth(times)
        series = self._reduced.freeze_many(times, **self._options())
        return series.mass, series.damping, series.stiffness

    def _snapshots(self, found: LinkModes) -> list[Snapshot]:
        instants = found.instants
        matrices = instants.mass, instants.damping
        modes, bound = found.modes, found.bounds.error_bound
        snapshots = small_snapshots(instants.times, matrices, modes, bound, modes.condition)
        return self._varied(snapshots)

    def _varied(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """With the changes at each instant, the matrices next to all of them made together."""
        stencils = [self._around.stencil(one.at, one.eigenvalues) for one in snapshots]
        near = [stencil.values for stencil in stencils if stencil is not None]
        try:
            made = self._matrices(np.concatenate(near)) if near else None
        except Exception:  # what the mechanism raises at an instant itself is raised there
            return [self._one_by_one(one, s) for one, s in zip(snapshots, stencils, strict=True)]
        out, start = [], 0
        for one, stencil in zip(snapshots, stencils, strict=True):
            if stencil is None or made is None:
                out.append(one)
                continue
            mine = slice(start, start + len(stencil.values))
            start = mine.stop
            parts = (made[0][mine], made[1][mine], made[2][mine])
            out.append(replace(one, variation=self._variation(one, stencil, parts)))
        return out

    def _one_by_one(self, one: Snapshot, stencil: Stencil | None) -> Snapshot:
        try:
            made = None if stencil is None else self._matrices(stencil.values)
        except Exception:  # the mechanism cannot be assembled next to the instant
            return one
        if stencil is None or made is None:
            return one
        return replace(one, variation=self._variation(one, stencil, made))

    def _variation(
        self, one: Snapshot, stencil: Stencil, parts: tuple[Array, Array, Array]
    ) -> Variation:
        V = window_space(one.right, one.left)
        triples: list[Triple] = []
        for n in range(len(stencil.values)):
            M, C, K = (V.T @ part[n] @ V for part in parts)
            triples.append((M, C, K))
        return variation(stencil, triples, *one.window(V), self._around.rate)
