"""The unfrozen equations off a checked polynomial, on one sparsity pattern."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient.equations import CONSERVATIVE_STIFFNESS, SecondOrderModel
from modal.transient.shared_pattern import OnPattern, SharedPattern
from modal.transient.tolerances import REMEMBERED

ROLES = (("M",), ("C",), CONSERVATIVE_STIFFNESS, ("D",), ("K_D",))


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

    def __init__(self, motion: InterpolatedMotion) -> None:
        super().__init__(motion)
        self.motion, self.pattern = motion, SharedPattern(motion.pattern)
        entries = motion.on_entries(*ROLES)
        table = np.zeros((*entries.table.shape[:2], len(self.pattern.rows)))
        table[:, :, self.pattern.places] = entries.table
        self._values = replace(entries, table=table)
        self._instants: OrderedDict[float, TabulatedInstant] = OrderedDict()

    def at(self, t: float) -> Any:
        """The instant at time t, s."""
        found = self._instants.get(t)
        if found is None:
            roles = tuple(OnPattern(self.pattern, row) for row in self._values(t))
            found = TabulatedInstant(roles, lambda: self.motion.freeze(t))
            self._instants[t] = found
            if len(self._instants) > REMEMBERED:
                self._instants.popitem(last=False)
        return found
