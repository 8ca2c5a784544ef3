"""Property P6: along a transient, the change of the energy equals the work done."""

from __future__ import annotations

from typing import Any

import numpy as np

from assembly.errors import InputError
from modal.checks.property_report import Property, Verdict
from modal.eigen.solve import solve
from modal.transient.equations import freezer
from modal.transient.transient import integrate

CYCLES = 10  # of the slowest mode
STEPS = 30  # a cycle, of a method of order 6
BOUND = 1e-6


def energy_balance(
    model: Any, t0: float = 0.0, t1: float | None = None, progress: bool = False
) -> Property:
    """P6 of a model with freeze(t): its lowest mode is released at t0 and integrated to t1 (s).

    found: the largest |E(t) − E(t0) − work| over the largest E, from Gauss collocation of order 6
    of Hamilton's form. It is the error of the integrator when the equations and their work agree.
    t1: by default 10 cycles of that mode. progress: a bar on stderr. Raises InputError, and what
    `solve` and `integrate` raise.
    """
    statement = "energy changes by the work done, along a transient"
    start = solve(freezer(model)(t0), k=1)
    lam, shape = start.eigenvalues[0], start.right[:, 0]
    if not abs(lam.imag) > 0.0:
        raise InputError("P6 needs a mode that oscillates; the lowest mode does not")
    cycle = 2.0 * np.pi / abs(lam.imag)
    end = t0 + CYCLES * cycle if t1 is None else min(t1, t0 + CYCLES * cycle)
    response = integrate(
        model,
        (t0, end),
        (shape.real, (lam * shape).real),
        "hamilton",
        method="gauss6",
        step=cycle / STEPS,
        progress=progress,
    )
    energy = np.abs(response["energy"].values).max()
    defect = float(np.abs(response["energy_defect"].values).max() / energy)
    verdict: Verdict = "holds" if defect <= BOUND else "fails"
    return Property("P6", statement, defect, BOUND, verdict, f"{(end - t0) / cycle:.3g} cycles")
