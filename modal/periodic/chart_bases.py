"""The models of a chart on a shared reduced basis: large bodies, mechanisms with large links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism import LARGE_BODY, Mechanism, MechanismSystem
from modal.periodic.chart_motion import Motion, Motions
from modal.reduction.link_space import LinkFamily, LinkPoints, LinkSpace, linked, same_links
from modal.reduction.motion import BodyMotion, LinkMotion, body_space
from modal.transient.equations import freezer

ACCURACY = 1e-8  # of the frozen modes that the bases hold
INSTANTS = 12  # of a motion on which the bases are grown


def with_bases(motions: Motions, points: Sequence[Mapping[str, float]], k: int) -> Motions:
    """The motions, those of large bodies and of mechanisms with large links on bases grown at some
    points.

    Raises AccuracyError where the mechanisms do not share their links, or the bases cannot be made
    accurate enough.
    """
    found = [motions(point) for point in points]
    start = freezer(found[0][0])(0.0)
    if isinstance(start, MechanismSystem):
        return _on_links(motions, points, found, k)
    if start.n < LARGE_BODY:
        return motions
    return _on_basis(motions, points, found, k)


def _on_basis(
    motions: Motions, points: Sequence[Mapping[str, float]], made: Sequence[Motion], k: int
) -> Motions:
    """Of bodies; the motions themselves where these do not share their matrices, or are free."""
    instants = [
        {"point": point, "t": float(t)}
        for point, (_, period) in zip(points, made, strict=True)
        for t in period * np.arange(INSTANTS) / INSTANTS
    ]
    found = body_space(lambda at: freezer(motions(at["point"])[0])(at["t"]), instants, k, ACCURACY)
    if found is None:
        return motions
    space, at = found
    if space.train_for_good(at) > 1.0:
        raise AccuracyError("reduced basis: an error bound stays too large along the motion")

    def reduced(point: Mapping[str, float]) -> Motion:
        model, period = motions(point)
        return BodyMotion(freezer(model), space, period), period

    return reduced


def _on_links(
    motions: Motions, points: Sequence[Mapping[str, float]], found: Sequence[Motion], k: int
) -> Motions:
    systems = [_system(model) for model, _ in found]
    first = systems[0]
    if first is None:
        return motions
    mechanisms: list[Mechanism] = []
    for system in systems:
        if system is None or not same_links(first, system):
            raise AccuracyError("the mechanisms of the chart do not have the same large links")
        mechanisms += [system.mechanism] * INSTANTS
    times = [period * np.arange(INSTANTS) / INSTANTS for _, period in found]
    space = LinkSpace(LinkFamily(first), k, ACCURACY)
    worst = space.train_for_good(LinkPoints(tuple(mechanisms), np.concatenate(times)))
    if worst > 1.0:
        raise AccuracyError(f"bases of links: an error bound stays {worst:.3g} times too large")

    def reduced(point: Mapping[str, float]) -> Motion:
        model, period = motions(point)
        system = _system(model)
        if system is None or not same_links(first, system):
            raise AccuracyError("the mechanisms of the chart do not have the same large links")
        return LinkMotion(space, system.mechanism), period

    return reduced


def _system(model: Any) -> MechanismSystem | None:
    return linked(freezer(model)(0.0))
