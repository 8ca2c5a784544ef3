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
from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import modal
from assembly.system.frozen import FrozenSystem
from modal.transient.loads import Load

Array = NDArray[np.float64]

Formalism = Literal["lagrange", "hamilton"]
FORMALISMS: tuple[Formalism, ...] = ("lagrange", "hamilton")
ELEMENTS = (5, 10, 15, 20, 25)
# Vlase, Nicolescu & Marin (2020), Table 3, s.
PAPER = {
    "lagrange": (31.0, 84.0, 176.0, 291.0, 460.0),
    "hamilton": (28.0, 68.0, 139.0, 224.0, 322.0),
}
STEP = 2e-5
RTOL = 1e-6


def compare(
    system_of: Callable[[int], FrozenSystem], load: Load, duration: float, repeats: int
) -> xr.Dataset:
    """Processor seconds of both formalisms for 5 to 25 elements: the least of `repeats` runs.

    The runs alternate; the least time is the one other work on the machine disturbed least.
    system_of: the frozen bar of so many elements. duration: simulated, s.
    """
    ways = ("implicit", "explicit")
    seconds = np.empty((len(ways), 2, len(ELEMENTS)))
    spread = np.empty_like(seconds)
    evaluations = np.empty((2, len(ELEMENTS)))
    for e, count in enumerate(ELEMENTS):
        system = system_of(count)
        runs = np.empty((repeats, len(ways), 2))
        for r in range(repeats):
            # Who goes first changes from run to run: warm caches favour neither.
            for f in (0, 1) if r % 2 == 0 else (1, 0):
                started = time.process_time()
                implicit(system, load, duration, FORMALISMS[f])
                runs[r, 0, f] = time.process_time() - started
                started = time.process_time()
                evaluations[f, e] = explicit(system, load, duration, FORMALISMS[f])
                runs[r, 1, f] = time.process_time() - started
        seconds[:, :, e] = runs.min(axis=0)
        spread[:, :, e] = np.ptp(runs, axis=0)
    dims = ("way", "formalism", "elements")
    return xr.Dataset(
        {
            "seconds": (dims, seconds),
            "seconds_spread": (dims, spread),
            "evaluations": (("formalism", "elements"), evaluations),
            "seconds_paper": (
                ("formalism", "elements"),
                np.array([PAPER[name] for name in FORMALISMS]),
            ),
        },
        coords={"way": list(ways), "formalism": list(FORMALISMS), "elements": list(ELEMENTS)},
    )


def implicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> None:
    """One run of the library's second-order integrator of that formalism."""
    loads = [load, modal.InertiaLoads()]
    modal.integrate(system, (0.0, duration), None, formalism, step=STEP, loads=loads)


def explicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> int:
    """One run of Runge–Kutta 5(4) on the first-order system; returns its right-hand sides."""
    n = system.n
    M, S, D = (A.toarray() for A in (system.M, system.stiffness, system.damping))
    inverse = la.inv(M)
    if formalism == "lagrange":
        scale = np.ones(n)

        def rhs(t: float, x: Array) -> Array:
            q, v = x[:n], x[n:]
            push = load.force(t, system) + system.Q
            return np.concatenate([v, inverse @ (push - S @ q - D @ v)])
    else:
        scale = M.sum(axis=1)

        def rhs(t: float, x: Array) -> Array:
            q, v = x[:n], inverse @ x[n:]
            push = load.force(t, system) + system.Q
            return np.concatenate([v, push - S @ q - D @ v])

    # Equal accuracy for both: 1 nm in displacement, 10 µm/s in velocity and its momentum.
    atol = np.concatenate([np.full(n, 1e-9), 1e-5 * scale])
    solution = solve_ivp(
        rhs, (0.0, duration), np.zeros(2 * n), rtol=RTOL, atol=atol, t_eval=[duration]
    )
    return int(solution.nfev)
