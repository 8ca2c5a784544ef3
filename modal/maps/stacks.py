"""The frozen systems of a tile as a family of full matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assembly.mechanisms.mechanism import MechanismSystem
from assembly.system.frozen import FrozenSeries, FrozenSystem
from modal.proofs.verdict import ALL_MODES
from modal.reduction.affine import Freeze, Point
from modal.reduction.space import grouped
from modal.tracking.smooth_space import SmoothFamily
from modal.types import Array


class SystemStack:
    """M, C + D and all stiffness of P systems, (3, P, n, n); points are their numbers."""

    interpolant = "frozen one by one"

    def __init__(self, whole: Array) -> None:
        self.whole, self.n = whole, whole.shape[2]

    def matrices(self, points: Array) -> Array:
        """Those of some points."""
        return np.asarray(self.whole[:, points])

    def errors(self) -> Array:
        """None: they are the matrices themselves."""
        return np.zeros((3, self.n, self.n))

    def projected(self, V: Array) -> Callable[[Array], Array]:
        """Those of some points on a basis V (n, r)."""
        return lambda points: V.T @ self.matrices(points) @ V


class StackFamily(SmoothFamily):
    """The systems at some points, of n degrees of freedom; `stackable` (P,) are in the stack, those
    of a regular stiffness."""

    def __init__(self, freeze: Freeze, points: Sequence[Point], n: int) -> None:
        systems = [freeze(point) for point in points]
        self.points, self.stackable = list(points), np.zeros(len(points), dtype=bool)
        self._series: dict[int, tuple[FrozenSeries, int]] = {}
        whole, like = np.zeros((3, len(points), n, n)), systems[0]
        # Instants of one mechanism together, others each by itself.
        kinds = [
            (id(s.mechanism), *s.options.values()) if isinstance(s, MechanismSystem) else p
            for p, s in enumerate(systems)
        ]
        for numbers in grouped(kinds):
            first = systems[numbers[0]]
            if isinstance(first, MechanismSystem):
                if isinstance(like, MechanismSystem):
                    first.elastic.share(like.elastic)
                series = first.at([systems[p].parameters["t"] for p in numbers])
                self._series |= {int(p): (series, i) for i, p in enumerate(numbers)}
                held = series.n == n and not any(fields.shape[1] for fields in series.rigid)
                if held:
                    whole[:, numbers] = series.mass, series.damping, series.stiffness
            else:
                held = is_stackable(first, n)
                if held:
                    parts = (first.M, first.damping, first.stiffness)
                    whole[:, numbers[0]] = [A.toarray() for A in parts]
            self.stackable[numbers] = held
        self.stackable &= np.linalg.slogdet(whole[2])[0] != 0.0
        super().__init__(SystemStack(whole), freeze, "")

    def system(self, number: int) -> FrozenSystem:
        """That of a point; an instant of a mechanism has been frozen."""
        series, instant = self._series.get(number, (None, 0))
        return self.freeze(self.points[number]) if series is None else series[instant]

    def coefficients(self, points: Sequence[Point]) -> Array:
        """Their numbers."""
        return np.array([self.points.index(point) for point in points])


def is_stackable(system: FrozenSystem, n: int) -> bool:
    """Whether a system of n degrees of freedom is small, and nothing is free to move."""
    return bool(system.n == n <= ALL_MODES and not system.rigid.shape[1] and system.symmetric_mass)
