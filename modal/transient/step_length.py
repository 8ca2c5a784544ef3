"""The default step of a transient: it resolves the lowest modes and the loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg as la

from modal.eigen.solve import solve
from modal.transient.equations import SecondOrderModel
from modal.transient.loads import Load
from modal.transient.tolerances import FEW, STEPS

PER_CYCLE = {2: 120, 4: 40, 6: 20}  # steps a cycle of these modes and of the loads, by order


def default_step(
    equations: SecondOrderModel,
    span: tuple[float, float],
    loads: Sequence[Load],
    model: Any,
    order: int,
    modes: int = 2,
) -> float:
    """s: a part (1/120 for order 2) of the shortest cycle of the lowest modes and the loads.

    Also at most 1/200 of the span and of `model.period`. Higher frequencies are not resolved; the
    integrators remain stable. modes: how many lowest frozen ones at the start are resolved. Raises
    what `modal.solve` raises.
    """
    here = equations.at(span[0]).system
    if here.n <= FEW:
        sizes = np.sort(np.abs(la.eigvals(equations.first_order(span[0]))))[: 2 * modes]
    else:
        sizes = np.abs(solve(here, k=modes).eigenvalues)
    cycles = [2.0 * np.pi / sizes.max()] if sizes.max() > 0.0 else []
    cycles += [load.shortest for load in loads]
    step = min(cycles, default=np.inf) / PER_CYCLE[order]
    period = getattr(model, "period", None)
    if period is not None:
        step = min(step, period / STEPS)
    return float(min(step, (span[1] - span[0]) / STEPS))
