"""The unfrozen equations off a checked polynomial, on one sparsity pattern.

The polynomial of a whole motion has up to hundreds of terms. On a short window of time a Chebyshev
polynomial of low degree gives the same values to round-off; it is computed once a window and
compared with the other between its nodes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import ROUND_OFF, Interpolant
from modal.transient.equations import CONSERVATIVE_STIFFNESS, SecondOrderModel
from modal.transient.shared_pattern import OnPattern, SharedPattern
from modal.types import Array

ROLES = (("M",), ("C",), CONSERVATIVE_STIFFNESS, ("D",), ("K_D",))
NODES = 16  # of the Chebyshev polynomial of a window
FIRST_WINDOWS = 16  # windows of the span, or of a period of the matrices
MOST_HALVINGS = 8  # of the windows
AGREE = 1e-13  # of an entry's size: deviation from which the windows are halved
CHECKS = np.array([-0.97, 0.03, 0.79])  # places of a window, on no node
SAMPLES = 32  # instants of the span, for the sizes of the entries
WINDOWS, INSTANTS = 24, 16  # stored


class Windows:
    """Values of an interpolant off short polynomials.

    scale: what deviations of each value are relative to. deviation: the largest found so far.
    """

    def __init__(self, interpolant: Interpolant, t0: float, width: float, scale: Array) -> None:
        self.interpolant, self.t0, self.width, self.scale = interpolant, t0, width, scale
        self.deviation = 0.0
        angles = np.pi * (np.arange(NODES) + 0.5) / NODES
        self._nodes, self._degrees = np.cos(angles), np.arange(NODES)
        weights = np.where(self._degrees == 0, 1.0, 2.0) / NODES
        self._coefficients = weights[:, None] * np.cos(self._degrees[:, None] * angles)
        self._kept: OrderedDict[tuple[int, int], tuple[Array, Array] | None] = OrderedDict()

    def __call__(self, t: float) -> Array:
        """The values at time t, s."""
        at = (t - self.t0) / self.width
        for level in range(MOST_HALVINGS + 1):
            number = int(np.floor(at * 2**level))
            window = self._window(level, number)
            if window is not None:
                break
        first, table = window  # type: ignore[misc]  # the shortest windows always are
        place = 2.0 * (at * 2**level - number) - 1.0
        angle = math.acos(min(max(place, -1.0), 1.0))
        return np.asarray(first + np.cos(angle * self._degrees) @ table)

    def _basis(self, places: Array) -> Array:
        angles = np.arccos(np.clip(places, -1.0, 1.0))
        return np.asarray(np.cos(angles[:, None] * self._degrees))

    def _window(self, level: int, number: int) -> tuple[Array, Array] | None:
        """The polynomial of a window, halved `level` times; None where it must be halved again."""
        key = (level, number)
        if key not in self._kept:
            self._kept[key] = self._made(level, number)
            if len(self._kept) > WINDOWS:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _made(self, level: int, number: int) -> tuple[Array, Array] | None:
        places = np.concatenate([self._nodes, CHECKS])
        times = self.t0 + self.width / 2**level * (number + 0.5 * (places + 1.0))
        values = self.interpolant.many(times).reshape(len(times), -1)
        # Differences from one instant: entries that are constant stay so, exactly.
        first = values[0]
        table = self._coefficients @ (values[:NODES] - first)
        gap = np.abs(first + self._basis(CHECKS) @ table - values[NODES:])
        deviation = float((gap / self.scale).max(initial=0.0))
        if deviation > AGREE and level < MOST_HALVINGS:
            return None
        self.deviation = max(self.deviation, deviation)
        return first, table


class TabulatedInstant:
    """The matrices of one instant on a shared pattern, as `modal.transient.equations.Instant`."""

    def __init__(self, roles: tuple[OnPattern, ...], system: Callable[[], FrozenSystem]) -> None:
        self.M, self.coriolis, self._conservative, self.dissipation, self.circulatory = roles
        self._system = system

    @cached_property
    def system(self) -> FrozenSystem:
        """The frozen system."""
        return self._system()

    @cached_property
    def velocity(self) -> OnPattern:
        """V = C + D."""
        return self.coriolis + self.dissipation

    @cached_property
    def stiffness(self) -> OnPattern:
        """S, everything on the displacement."""
        return self._conservative + self.circulatory

    @cached_property
    def potential(self) -> OnPattern:
        """S_s."""
        return 0.5 * (self._conservative + self._conservative.T)

    @cached_property
    def gyroscopic(self) -> OnPattern:
        """G, half the skew part of C."""
        return 0.25 * (self.coriolis - self.coriolis.T)


class TabulatedModel(SecondOrderModel):
    """M q̈ + (C + D) q̇ + K q = Q of a motion whose matrices are read off a polynomial."""

    def __init__(self, motion: InterpolatedMotion, t0: float, t1: float) -> None:
        super().__init__(motion)
        self.motion, self.pattern = motion, SharedPattern(motion.pattern)
        entries = motion.on_entries(*ROLES)
        table = np.zeros((*entries.table.shape[:2], len(self.pattern.rows)))
        table[:, :, self.pattern.places] = entries.table
        values = replace(entries, table=table)
        width = (t1 - t0) / FIRST_WINDOWS
        if motion.period is not None:
            width = min(width, motion.period / FIRST_WINDOWS)
        scale = self._sizes(values.many(np.linspace(t0, t1, SAMPLES)))
        self.windows = Windows(values, t0, width, scale)
        self._instants: OrderedDict[float, TabulatedInstant] = OrderedDict()

    def _sizes(self, values: Array) -> Array:
        """The sizes of the entries (roles * entries,) of samples (m, roles, entries), as those that
        the polynomial itself was checked with: down to the round-off of a row."""
        size = np.abs(values).max(axis=0)
        for role in size:
            largest = np.zeros(self.pattern.shape[0])
            np.maximum.at(largest, self.pattern.rows, role)
            np.maximum(role, ROUND_OFF * largest[self.pattern.rows], out=role)
        return np.asarray(np.where(size > 0.0, size, 1.0).reshape(-1))

    def at(self, t: float) -> Any:
        """The instant at time t, s."""
        found = self._instants.get(t)
        if found is None:
            values = self.windows(t).reshape(len(ROLES), -1)
            roles = tuple(OnPattern(self.pattern, row) for row in values)
            found = TabulatedInstant(roles, lambda: self.motion.freeze(t))
            self._instants[t] = found
            if len(self._instants) > INSTANTS:
                self._instants.popitem(last=False)
        return found

    @property
    def deviation(self) -> float:
        """Largest deviation found between the matrices and those of the model, relative to the
        size of each entry."""
        return self.motion.interpolant.deviation + self.windows.deviation
