"""Snapshots of a small model along a smooth motion from one basis of all instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.linalg.symmetric import ENTRIES
from assembly.system.frozen import FrozenSystem
from modal.provenance.same_model import drawn_prints
from modal.reduction.instants import SmallMatrices
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.space import Space
from modal.tracking.smooth_space import LARGEST, SmoothFamily, SmoothInstants, SmoothSpace
from modal.tracking.snapshot import Snapshot
from modal.tracking.sources import Freeze, SpaceSource
from modal.tracking.sweep import Sweep
from modal.tracking.variation import Derivatives
from modal.types import Array


class SmoothSource(SpaceSource):
    """Of a small model: all its matrices, and their derivatives, come off a polynomial."""

    kind = "smooth motion"
    _family: SmoothFamily  # type: ignore[assignment]
    _space: SmoothSpace

    def __init__(
        self, family: SmoothFamily, freeze: Freeze, name: str, at: Array, *rest: Any
    ) -> None:
        self._family = family
        super().__init__(freeze, name, None, at, *rest)

    def _leading(self) -> Array:
        return self._at

    def _new_space(
        self, sample: Array, count: int, stored: Mapping[str, NDArray[Any]] | None
    ) -> SmoothSpace:
        return SmoothSpace(self._family, sample, count, self._accuracy, stored)

    def prints(self) -> NDArray[np.float64]:
        return drawn_prints(self._freeze, self._at)

    def _block_size(self) -> int:
        return max(1, ENTRIES // 2 // self._family.n**2)

    def _frame(self) -> Array:
        return self._space.V

    def _embedding_of(self, before: Array) -> Array:
        root = self._space.root
        return np.asarray((root @ self._space.V).T @ (root @ before))

    def _derivatives(
        self, made: list[Snapshot], at: SmallMatrices, space: Space
    ) -> tuple[list[int], Derivatives | None]:
        if self._around.high <= self._around.low:
            return [], None
        assert isinstance(at, SmoothInstants)
        first = self._space.rates(at.times)
        second = self._space.curvatures(at.times)
        return list(range(len(made))), Derivatives(at.matrices, first, second, first)


def smooth_source(sweep: Sweep, first: FrozenSystem, *arguments: Any) -> SmoothSource | None:
    """All instants of a small model on one basis; None where its motion is not of that kind.

    first: the first instant. arguments: of SmoothSource, after `name`.
    """
    _, count, *_ = arguments
    if not hasattr(sweep.model, "freeze_many"):
        return None
    if not 2 * count <= first.n <= LARGEST or first.rigid.shape[1]:
        return None
    motion = InterpolatedMotion.of(sweep.model, *sweep.ends, summed=True, **sweep.constant)
    if motion is None:
        return None
    name, freeze = sweep.name, sweep.freeze
    family = SmoothFamily(motion, lambda point: freeze(float(point[name])), name, first.n)
    return SmoothSource(family, freeze, name, *arguments)
