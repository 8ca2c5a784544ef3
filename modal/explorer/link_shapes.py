"""Modes of mechanisms with large links from the reduced bases of the links, for their shapes."""

from __future__ import annotations

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.explorer.mode_states import ModesAt
from modal.explorer.placed_bodies import Point
from modal.reduction.link_space import LinkPoints, linked
from modal.reduction.motion import link_motion
from modal.types import Complex

ACCURACY = 1e-8  # relative, of the eigenvalues; that of modal.track


def link_modes(first: FrozenSystem, times: tuple[float, float], count: int) -> ModesAt | None:
    """The `count` lowest modes at any time between two, s; None without bases that hold them.

    first: the frozen system at one of the times.
    """
    machine = linked(first)
    if machine is None:
        return None
    motion = link_motion(machine, times, count, ACCURACY)
    if motion is None:
        return None
    mechanism = machine.mechanism

    def at(point: Point) -> tuple[Complex, Complex]:
        solution = motion.space.solve(LinkPoints.of(mechanism, np.array([point["time"]])))
        there = np.isfinite(solution.modes.eigenvalues[0])
        vectors = np.asarray(motion.lift(solution.modes.right[0][:, there]), dtype=complex)
        return solution.modes.eigenvalues[0, there], vectors

    return at
