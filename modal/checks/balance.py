"""Property P6: along a transient, the change of the energy equals the work done."""

from __future__ import annotations

from typing import Any

import numpy as np

from assembly.errors import InputError
from modal.checks.properties import Property, Verdict
from modal.eigen.solve import solve
from modal.transient.equations import freezer
from modal.transient.transient import integrate

BOUND = 1e-6
# Halving the step divides the error of the method by 2⁶, or by 2³ (its stage order is 3) where
# stiff modes are not resolved. The defect of matrices that jump falls by about 2² only: the work
# is taken from a polynomial through each step.
FALL = 2.0**2.5


def energy_balance(
    model: Any,
    t0: float = 0.0,
    t1: float | None = None,
    progress: bool = False,
    *,
    cycles: float = 10,
    steps: tuple[int, int] = (30, 480),
) -> Property:
    """P6 of a model with freeze(t): its lowest mode is released at t0 and integrated to t1 (s).

    found: the largest |E(t) − E(t0) − work| over the largest E, from Gauss collocation of order 6
    of Hamilton's form. It is the error of the integrator when the equations and their work agree:
    the step is halved while the defect exceeds its bound. P6 fails where the defect does not fall
    as that error does, and is undecided where it does but is still above the bound at the smallest
    step. cycles: of that mode, at most and by default. steps: a cycle, of the first run and of the
    last. progress: a bar on stderr. Raises InputError, and what `solve` and `integrate` raise.
    """
    statement = "energy changes by the work done, along a transient"
    start = solve(freezer(model)(t0), k=1)
    lam, shape = start.eigenvalues[0], start.right[:, 0]
    if not abs(lam.imag) > 0.0:
        raise InputError("P6 needs a mode that oscillates; the lowest mode does not")
    cycle = 2.0 * np.pi / abs(lam.imag)
    end = t0 + cycles * cycle if t1 is None else min(t1, t0 + cycles * cycle)
    initial = (shape.real, (lam * shape).real)
    (now, most), falls = steps, [True]  # of each run, whether the defect fell as the error does
    defect = _defect(model, (t0, end), initial, cycle / now, progress)
    # Two runs may be needed until the steps are small enough for the error to fall at its order.
    while defect > BOUND and 2 * now <= most and any(falls[-2:]):
        now, before = 2 * now, defect
        defect = _defect(model, (t0, end), initial, cycle / now, progress)
        falls.append(FALL * defect <= before)
    verdict: Verdict = "fails" if not falls[-1] else "holds" if defect <= BOUND else "undecided"
    note = f"{(end - t0) / cycle:.3g} cycles, {now} steps each"
    if verdict == "undecided":
        note += "; the error of the integrator still falls with the step"
    return Property("P6", statement, defect, BOUND, verdict, note)


def _defect(
    model: Any, span: tuple[float, float], initial: Any, step: float, progress: bool
) -> float:
    """Largest difference of the change of the energy and the work, over the largest energy."""
    response = integrate(
        model, span, initial, "hamilton", method="gauss6", step=step, progress=progress
    )
    energy = np.abs(response["energy"].values).max()
    return float(np.abs(response["energy_defect"].values).max() / energy)
