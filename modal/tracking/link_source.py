"""Snapshots of a mechanism along its motion from reduced bases of its links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.mechanisms.mechanism import MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism
from modal.provenance.link_prints import LinkProbe
from modal.provenance.same_model import drawn_prints
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.link_instants import LinkPoints
from modal.reduction.link_space import LinkFamily, LinkSpace
from modal.tracking.sources import Freeze, SpaceSource
from modal.types import Array


class LinkSource(SpaceSource):
    """Of a mechanism with large links: its matrices next to an instant come off a polynomial."""

    kind = "links"
    _family: LinkFamily
    _space: LinkSpace

    def __init__(self, first: MechanismSystem, freeze: Freeze, name: str, *rest: Any) -> None:
        self._mechanism = first.mechanism
        self._family = LinkFamily(first, lambda point: freeze(float(point[name])))
        super().__init__(freeze, name, *rest)

    def _new_space(
        self, sample: LinkPoints, count: int, stored: Mapping[str, NDArray[Any]] | None
    ) -> LinkSpace:
        return LinkSpace(self._family, count, self._accuracy, stored)

    def prints(self) -> NDArray[np.float64]:
        probe = LinkProbe(self._family.first)
        return drawn_prints(lambda t: probe.system(self._freeze(t)), self._at)

    def _settle(self) -> None:
        super()._settle()
        self._reduced, options = self._space.reduced(self._mechanism), self._space.options
        low, high = float(self._at.min()), float(self._at.max())
        smooth = None
        if len(self._values) == len(self._at):
            smooth = InterpolatedMotion.of(self._reduced, low, high, True, **options.arguments)
        size = len(self._reduced.elastic(options.driven).masters)
        self._smooth = None if smooth is None else smooth.projected(np.eye(size))

    def _frame(self) -> ReducedMechanism:
        return self._reduced

    def _embedding_of(self, before: ReducedMechanism) -> Array:
        return self._reduced.embedding(before)

    def _near(self, values: Array) -> Array:
        if self._smooth is not None:
            return self._smooth(values).swapaxes(0, 1)
        series = self._reduced.freeze_many(values, **self._space.options.arguments)
        return np.stack([series.mass, series.damping, series.stiffness], axis=1)
