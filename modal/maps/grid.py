"""The points of a stability map: the product of its parameter axes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import axis_values
from assembly.errors import InputError
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.mechanism import MechanismSystem, swept
from assembly.system.frozen import FrozenSystem
from modal.maps.store import Slices
from modal.reduction.space import spread
from modal.tracking.sweep import check_over, is_swept
from modal.types import Array

VALIDATION = 60  # random points that complete the training, at most
TRAINING_SIDE = {2: 5, 3: 4}  # points a side of the first training grid, by number of parameters


class Model(Protocol):
    """An object with a method `freeze`: a body, a mechanism, or an object of your own."""

    def freeze(self, *args: Any, **kwargs: Any) -> FrozenSystem: ...


def split(
    parameters: Mapping[str, Any],
    fixed: Mapping[str, Any],
    over: Mapping[str, ArrayLike] | None = None,
) -> tuple[dict[str, Array], dict[str, Any]]:
    """The swept axes and the constants: from `over`, else from the keyword arrays.

    Raises InputError.
    """
    if over is None:
        swept = {name: value for name, value in parameters.items() if is_swept(name, value)}
    else:
        check_over(over, parameters)
        swept = dict(over)
    constants = dict(fixed) | {k: v for k, v in parameters.items() if k not in swept}
    axes = {name: _axis(name, value) for name, value in swept.items()}
    if len(axes) < 2:
        raise InputError(
            "stability_map: needs arrays of two or more parameters of freeze, got "
            + (", ".join(axes) or "none")
        )
    return axes, constants


def _axis(name: str, value: ArrayLike) -> Array:
    """The values of one axis. Raises InputError."""
    values = axis_values(name, value)
    if len(np.unique(values)) != len(values):
        raise InputError(f"{name}: expected every value once, got {value!r}")
    return values


class Grid:
    """The points of a map: the product of the axes, with the constants.

    model: has `freeze`, where the grid freezes points.
    """

    def __init__(self, model: Any, axes: Mapping[str, Array], constants: Mapping[str, Any]) -> None:
        self.model, self.axes, self.constants = model, dict(axes), dict(constants)
        self.names = tuple(axes)
        self.shape = tuple(len(values) for values in axes.values())
        self._guide: Closure | None = None

    @property
    def count(self) -> int:
        """Number of points."""
        return int(np.prod(self.shape))

    @cached_property
    def first(self) -> FrozenSystem:
        """The frozen system of the first point, whose way the others go if it is a mechanism."""
        system = self.freeze(self.point([0] * len(self.shape)))
        if isinstance(system, MechanismSystem):
            self._guide = system.mechanism.closure
        return system

    def freeze(self, point: Mapping[str, Any]) -> FrozenSystem:
        """The frozen system of a point; InputError when the model has no such parameter."""
        try:
            with swept(self._guide):
                system: FrozenSystem = self.model.freeze(**self.constants, **point)
            return system
        except TypeError as fault:
            if "argument" in str(fault):
                raise InputError(f"model.freeze: {fault}") from None
            raise

    def point(self, index: Sequence[int]) -> dict[str, float]:
        return {
            name: float(values[i])
            for (name, values), i in zip(self.axes.items(), index, strict=True)
        }

    def points(self, tile: Slices = ()) -> list[dict[str, float]]:
        """Those of a tile, by default all."""
        ranges = [range(s.start, s.stop) for s in tile] or map(range, self.shape)
        return [self.point(index) for index in itertools.product(*ranges)]

    def training(self) -> list[dict[str, float]]:
        """Chebyshev-like points on every axis, both ends included."""
        side = TRAINING_SIDE.get(len(self.shape), 3)
        return [
            self.point(i) for i in itertools.product(*(spread(size, side) for size in self.shape))
        ]

    def validation(self) -> list[dict[str, float]]:
        """Seeded random points that complete the training, about a tenth of the map."""
        return self.drawn(min(VALIDATION, 1 + self.count // 10), seed=3)

    def smallest(self) -> list[dict[str, float]]:
        """Points where one parameter, or all of them, have their smallest size.

        Where an angular acceleration vanishes more can be proved than anywhere next to it.
        """
        least = [int(np.abs(values).argmin()) for values in self.axes.values()]
        middle = [size // 2 for size in self.shape]
        places = [[*middle[:i], least[i], *middle[i + 1 :]] for i in range(len(least))]
        return [self.point(place) for place in (*places, least)]

    def sampled(self, count: int = 4) -> list[dict[str, float]]:
        """The corners of the grid and `count` seeded random points."""
        corners = itertools.product(*(sorted({0, size - 1}) for size in self.shape))
        return [self.point(i) for i in corners] + self.drawn(count, seed=43)

    def drawn(self, count: int, seed: int) -> list[dict[str, float]]:
        """Seeded random points of the grid."""
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(self.count, size=min(count, self.count), replace=False))
        return [
            self.point(index) for index in zip(*np.unravel_index(chosen, self.shape), strict=True)
        ]


def named(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in point.items())
