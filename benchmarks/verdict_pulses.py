"""Periodic oscillators whose springs have short pulses, and their exact growth rates.

Between the jumps all matrices are constant, so that the multipliers are those of a product of
matrix exponentials. Pulses are 1.2 to 30 times as wide as the narrowest that
`FloquetModes.narrowest_visible` promises to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.random import Generator
from numpy.typing import NDArray

import modal
from assembly.system.frozen import FrozenSystem
from tests.support.machines import spread

Array = NDArray[np.float64]
CALLABLE, MODEL = "pulses, callable", "pulses, model"
VISIBLE = {CALLABLE: 1.0 / 1024.0, MODEL: 1.0 / 512.0}  # of the period


@dataclass(frozen=True)
class Pulses:
    """x″ + d x′ + s(t) x = 0 on two coupled coordinates; s is higher during the pulses.

    starts, widths, heights (p,): s, s and N/m of pulses that do not overlap.
    """

    period: float
    damping: float
    coupling: float
    starts: Array
    widths: Array
    heights: Array

    def stiffness(self, t: float) -> Array:
        phase = (t - self.starts) % self.period
        s = 1.0 + float(self.heights[phase < self.widths].sum())
        return np.array([[s, self.coupling], [self.coupling, 2.7]])

    def matrix(self, t: float) -> Array:
        A = np.zeros((4, 4))
        A[:2, 2:], A[2:, :2], A[2:, 2:] = np.eye(2), -self.stiffness(t), -self.damping * np.eye(2)
        return A

    def freeze(self, t: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(2), D=self.damping * np.eye(2), K=self.stiffness(t))

    def growth(self) -> float:
        """The exact growth rate, 1/s."""
        ends = np.sort(np.concatenate([self.starts, self.starts + self.widths]))
        P = np.eye(4)
        for a, b in zip(ends, [*ends[1:], ends[0] + self.period], strict=True):
            P = la.expm((b - a) * self.matrix(0.5 * (a + b))) @ P
        return float(np.log(np.abs(la.eigvals(P)).max()) / self.period)


def pulses(rng: Generator, visible: float) -> Pulses:
    """One to three pulses, each 1.2 to 30 times as wide as `visible` of the period."""
    count, period = int(rng.integers(1, 4)), spread(rng, 2.0, 12.0)
    slots = (np.arange(count) + rng.uniform(0.05, 0.6, count)) / count
    widths = np.array([spread(rng, 1.2, 30.0) for _ in range(count)]) * visible
    turned = np.array([spread(rng, 0.05, 3.0) for _ in range(count)])  # velocity by displacement
    heights = turned / (widths * period)
    return Pulses(
        period, spread(rng, 1e-3, 0.3), 0.3 * rng.random(), slots * period, widths * period, heights
    )  # fmt: skip


def pulse_points(count: int, seed: int) -> Iterator[tuple[str, int, Any, float]]:
    """The kind, the seed, the Floquet modes and the exact growth rate of `count` oscillators."""
    for j in range(count):
        name = (CALLABLE, MODEL)[j % 2]
        number = 100_000 * seed + j
        system = pulses(np.random.default_rng(number), VISIBLE[name])
        model = system.matrix if name == CALLABLE else system
        yield name, number, modal.floquet(model, system.period), system.growth()
