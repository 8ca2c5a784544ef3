"""Modes of mechanisms with large links from the reduced bases of the links, for their shapes."""

from __future__ import annotations

import numpy as np

from assembly.errors import FrozenMotionError
from assembly.system.frozen import FrozenSystem
from modal.explorer.mode_states import ModesAt
from modal.explorer.placed_bodies import Point
from modal.reduction.link_instants import LinkPoints
from modal.reduction.link_motion import LinkMotion
from modal.reduction.link_space import linked
from modal.types import Complex

ACCURACY = 1e-8  # relative, of the eigenvalues; that of modal.track


def link_modes(first: FrozenSystem, times: tuple[float, float], count: int) -> ModesAt | None:
    """The `count` lowest modes at any time between two, s; None without bases that hold them.

    first: the frozen system at one of the times.
    """
    machine = linked(first)
    if machine is None:
        return None
    try:
        motion = LinkMotion.of(machine, times, count, ACCURACY)
    except FrozenMotionError:
        return None
    mechanism = machine.mechanism

    def at(point: Point) -> tuple[Complex, Complex]:
        solution = motion.space.solve(LinkPoints.of(mechanism, np.array([point["time"]])))
        there = np.isfinite(solution.modes.eigenvalues[0])
        vectors = np.asarray(motion.lift(solution.modes.right[0][:, there]), dtype=complex)
        return solution.modes.eigenvalues[0, there], vectors

    return at
