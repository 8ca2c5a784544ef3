"""The elastic bar of the measured-motion study, and its frequencies for a motion and its error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import assembly
import modal
from assembly import Kinematics
from assembly.motion.markers import FittedMotion
from studies.wind_pump.machine import Pump

Array = NDArray[np.float64]


def bar(elements: int = 10, damping_ratio: float = 0.0) -> assembly.Body:
    """The pump's lever in its own frame: a pin at B, free to slide along itself at C'.

    Markers tell the motion, not the forces of the joints: the bar carries its own inertia only.
    damping_ratio: internal, stiffness-proportional, of the first mode.
    """
    pump = Pump()
    both = assembly.beam(
        pump.l2, pump.section, assembly.steel, elements, pinned="both", planar=True, name="bar"
    )
    fixed = both.fixed.copy()
    fixed[both.dofs.index(elements, 0)] = False
    body = replace(both, fixed=fixed)
    first = modal.solve(body.freeze(), k=1).eigenvalues[0].imag
    return body.with_damping(b=2.0 * damping_ratio / float(first))


def frequency(body: assembly.Body, motion: Kinematics, modes: int) -> Array:
    """Frequencies (modes,), Hz, at one instant of a rigid motion."""
    system = body.freeze_kinematics(motion)
    return np.asarray(modal.solve(system, k=modes, backend="dense").frequency)


def frequency_deviation(body: assembly.Body, fit: FittedMotion, t: float, modes: int) -> Array:
    """One standard deviation (modes,), Hz, of the frequencies, to first order.

    Each in-plane quantity (ω_z, ε_z, a_x, a_y) is moved by its own standard deviation; the shifts
    add as if they were independent.
    """
    now, spread = fit.at(t), fit.uncertainty(t)
    middle = frequency(body, now, modes)
    total = np.zeros(modes)
    for name, component in (("omega", 2), ("epsilon", 2), ("acceleration", 0), ("acceleration", 1)):
        moved = getattr(now, name).copy()
        moved[component] += getattr(spread, name)[component]
        total += (frequency(body, replace(now, **{name: moved}), modes) - middle) ** 2
    return np.asarray(np.sqrt(total))
