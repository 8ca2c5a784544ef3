"""The mechanisms of a chart on shared reduced bases of their large links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism_system import MechanismSystem
from modal.maps.link_method import same_links
from modal.periodic.chart_motion import Motion, Motions
from modal.reduction.link_instants import Options
from modal.reduction.link_motion import LinkMotion
from modal.reduction.link_reducer import LinkReducer, linked
from modal.transient.equations import freezer

ACCURACY = 1e-8  # of the frozen modes that the bases hold
TRAINING = 12  # instants of a motion on which the bases are grown


def with_bases(motions: Motions, points: Sequence[Mapping[str, float]], k: int) -> Motions:
    """The motions, those of mechanisms with large links on bases grown at some points.

    Raises AccuracyError where the mechanisms do not share their links, or the bases cannot be made
    accurate enough.
    """
    found = [motions(point) for point in points]
    systems = [_system(model) for model, _ in found]
    first = systems[0]
    if first is None:
        return motions
    mechanisms = []
    for system, (_, period) in zip(systems, found, strict=True):
        if system is None or not same_links(first, system):
            raise AccuracyError("the mechanisms of the chart do not have the same large links")
        mechanisms.append((system.mechanism, period * np.arange(TRAINING) / TRAINING))
    options = Options(first.transport, first.prestress is not None, first.driven)
    reducer = LinkReducer([m for m, _ in mechanisms], options, k, ACCURACY)
    worst, _ = reducer.train(mechanisms)
    if worst > 1.0:
        raise AccuracyError(f"bases of links: an error bound stays {worst:.3g} times too large")

    def reduced(point: Mapping[str, float]) -> Motion:
        model, period = motions(point)
        system = _system(model)
        if system is None or not same_links(first, system):
            raise AccuracyError("the mechanisms of the chart do not have the same large links")
        return LinkMotion(reducer, reducer.reduced(system.mechanism)), period

    return reduced


def _system(model: Any) -> MechanismSystem | None:
    return linked(freezer(model)(0.0))
