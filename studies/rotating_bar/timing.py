"""Computing times of Lagrange's and Hamilton's equations, measured in alternation, beside Table 3
of Vlase, Nicolescu & Marin (2020).

Two ways. "implicit": the library's integrators of order 2 (generalised-α on Lagrange's second-order
equations, the implicit midpoint rule on Hamilton's). "explicit": the adaptive Runge–Kutta pair of
order 5(4) on the two first-order systems, as in the paper's Matlab programs:

    Lagrange  (q, v)' = (v, M⁻¹(F − S q − D v))
    Hamilton  (q, p)' = (M⁻¹p, F − S q − D M⁻¹p)

Either right-hand side costs one product with S, one with D and one solve with M.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as la
import xarray as xr
from scipy.integrate import solve_ivp

import modal
from assembly.system.frozen import FrozenSystem
from assembly.types import Array
from modal.transient.loads import Load
from studies.reporting.protocol import dataset_of
from studies.rotating_bar.bar import Formalism, frozen, model
from studies.rotating_bar.data import VARIABLES

FORMALISMS: tuple[Formalism, ...] = ("lagrange", "hamilton")
# Vlase, Nicolescu & Marin (2020), Table 3: elements, and seconds of both formalisms.
TABLE_3 = {
    5: (31.0, 28.0),
    10: (84.0, 68.0),
    15: (176.0, 139.0),
    20: (291.0, 224.0),
    25: (460.0, 322.0),
}


def compare(damping_ratio: float, load: Load, duration: float, repeats: int) -> xr.Dataset:
    """Processor seconds of both formalisms for 5 to 25 elements: the least of `repeats` runs.

    The runs alternate; the least time is the one other work on the machine disturbed least.
    duration: simulated, s.
    """
    runs = np.empty((repeats, 2, 2, len(TABLE_3)))  # run, way, formalism, elements
    evaluations = np.empty((2, len(TABLE_3)))
    for e, count in enumerate(TABLE_3):
        system = frozen(model(count, damping_ratio=damping_ratio))
        for r in range(repeats):
            # Who goes first changes from run to run: warm caches favour neither.
            for f in (0, 1) if r % 2 == 0 else (1, 0):
                started = time.process_time()
                implicit(system, load, duration, FORMALISMS[f])
                between = time.process_time()
                evaluations[f, e] = explicit(system, load, duration, FORMALISMS[f])
                runs[r, :, f, e] = between - started, time.process_time() - between
    return dataset_of(
        VARIABLES,
        seconds=runs.min(axis=0),
        seconds_spread=np.ptp(runs, axis=0),
        evaluations=evaluations,
        seconds_paper=np.array(list(TABLE_3.values())).T,
        way=["implicit", "explicit"],
        formalism=list(FORMALISMS),
        elements=list(TABLE_3),
    )


def implicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> None:
    """One run of the library's second-order integrator of that formalism."""
    loads = [load, modal.InertiaLoads()]
    modal.integrate(system, (0.0, duration), None, formalism, step=2e-5, loads=loads)


def explicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> int:
    """One run of Runge–Kutta 5(4) on the first-order system; returns its right-hand sides."""
    n, lagrange = system.n, formalism == "lagrange"
    M, S, D = (A.toarray() for A in (system.M, system.stiffness, system.damping))
    inverse = la.inv(M)

    def rhs(t: float, x: Array) -> Array:
        q, v = x[:n], x[n:] if lagrange else inverse @ x[n:]
        force = load.force(t, system) + system.Q - S @ q - D @ v
        return np.concatenate([v, inverse @ force if lagrange else force])

    # Equal accuracy for both: 1 nm in displacement, 10 µm/s in velocity and its momentum.
    scale = np.ones(n) if lagrange else M.sum(axis=1)
    atol = np.concatenate([np.full(n, 1e-9), 1e-5 * scale])
    solution = solve_ivp(
        rhs, (0.0, duration), np.zeros(2 * n), rtol=1e-6, atol=atol, t_eval=[duration]
    )
    return int(solution.nfev)
