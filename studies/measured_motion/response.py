"""The response of the bar to the inertia of its fitted motion, by both formalisms."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr

import modal
from assembly.motion.markers import FittedMotion
from assembly.motion.motion import Motion
from assembly.motion.moving import MovingBody
from studies.measured_motion.bar import bar
from studies.measured_motion.record import KnownMotion

Formalism = Literal["lagrange", "hamilton"]


def responses(
    known: KnownMotion,
    fit: FittedMotion,
    part: float,
    step: float,
    elements: int,
    damping_ratio: float,
) -> xr.Dataset:
    """From rest over `part` of a turn: deflection of the middle under the inertia loads.

    Both formalisms along the fitted motion at order 2, Hamilton's at order 4 for the error of
    either, and Lagrange's along the true motion for what the noise changes. Runs with the step and
    with half of it tell the order in which the two approach each other.
    """
    body = bar(elements, damping_ratio)
    span = (0.0, part * known.period)
    middle = [(body.name, elements // 2, "uy")]
    runs: tuple[tuple[str, Motion, Formalism, str | None, float, int], ...] = (
        ("Lagrange", fit, "lagrange", None, step, 1),
        ("Hamilton", fit, "hamilton", "midpoint", step, 1),
        ("Lagrange, half the step", fit, "lagrange", None, 0.5 * step, 2),
        ("Hamilton, half the step", fit, "hamilton", "midpoint", 0.5 * step, 2),
        ("Hamilton, order 4", fit, "hamilton", "gauss4", step, 1),
        ("Lagrange, true motion", known, "lagrange", None, step, 1),
    )
    deflections, energies, defects = [], [], []
    steps = int(np.ceil((span[1] - span[0]) / step))
    for _, along, formalism, method, run_step, every in runs:
        run = modal.integrate(
            MovingBody(body, along),
            span,
            formalism=formalism,
            method=method,
            # A step that divides the span, so that halves meet at the same instants.
            step=(span[1] - span[0]) / steps * (run_step / step),
            every=every,
            loads=[modal.InertiaLoads()],
            probes=middle,
        )
        deflections.append(run["displacement"].values[:, 0])
        energies.append(float(run["energy"].max()))
        defects.append(float(abs(run["energy_defect"]).max()))
    return xr.Dataset(
        {
            "deflection": (("run", "time"), np.array(deflections)),
            "energy_balance": ("run", np.array(defects) / np.array(energies)),
        },
        coords={
            "run": [name for name, *_ in runs],
            "time": np.linspace(*span, len(deflections[0])),
        },
    )
