"""Lagrange against Hamilton: the time of one transient of the rotating bar (paper 1401, Table 3).

    python -m benchmarks.formalisms [--repeats 7] [--duration 0.1]

The same response by the library's integrators in alternation, the order changing from run to run,
with the least and the median processor time of each. Two comparisons: the same step, and steps
chosen so that the end displacement has the same error against the modal solution.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

import modal
from assembly.system.frozen import FrozenSystem
from studies.rotating_bar.bar import PAPER as BAR
from studies.rotating_bar.bar import frozen, model

ELEMENTS = (5, 10, 15, 20, 25)
FORCE = 1000.0
STEP = 2e-5
ERROR = 1e-3  # of the largest displacement, for the runs of equal accuracy
PAPER = {
    "lagrange": (31.0, 84.0, 176.0, 291.0, 460.0),
    "hamilton": (28.0, 68.0, 139.0, 224.0, 322.0),
}


@dataclass(frozen=True)
class Way:
    """A formalism, its method, and the step it takes, s."""

    formalism: str
    method: str
    step: float

    def run(self, system: FrozenSystem, duration: float) -> np.ndarray:
        """Displacements at the end, m."""
        tip = modal.Harmonic(at=system.n - 1, amplitude=FORCE, angular_frequency=BAR.excitation)
        response = modal.integrate(
            system, (0.0, duration), None, self.formalism, method=self.method, step=self.step,
            loads=[tip, modal.InertiaLoads()], probes="all", every=10**9,
        )  # fmt: skip
        return np.asarray(response.displacement[-1])


def exact(system: FrozenSystem, t: float) -> np.ndarray:
    """Displacements from rest under Q + F sin Ωt, by superposition of the undamped modes."""
    squares, modes = la.eigh(system.stiffness.toarray(), system.M.toarray())
    omega = np.sqrt(squares)
    constant = (modes.T @ system.Q) / squares * (1.0 - np.cos(omega * t))
    push = modes[-1] * FORCE / (squares - BAR.excitation**2)
    forced = push * (np.sin(BAR.excitation * t) - BAR.excitation / omega * np.sin(omega * t))
    return np.asarray(modes @ (constant + forced))


def step_for(way: Way, system: FrozenSystem, duration: float) -> Way:
    """The way with the longest step (halved from 1e-4 s) whose end error is below ERROR."""
    due = exact(system, duration)
    step = 1e-4
    while step > 1e-7:
        tried = Way(way.formalism, way.method, step)
        if np.abs(tried.run(system, duration) - due).max() <= ERROR * np.abs(due).max():
            return tried
        step /= 2.0
    raise SystemExit(f"{way.formalism} {way.method}: no step reaches an error of {ERROR:g}")


def measure(
    ways: list[Way], system: FrozenSystem, duration: float, repeats: int
) -> list[list[float]]:
    """Processor seconds of every run of every way, in alternation."""
    seconds: list[list[float]] = [[] for _ in ways]
    for r in range(repeats + 1):
        order = range(len(ways)) if r % 2 == 0 else reversed(range(len(ways)))
        for k in order:
            started = time.process_time()
            ways[k].run(system, duration)
            if r:  # the first round warms up
                seconds[k].append(time.process_time() - started)
    return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--duration", type=float, default=0.1, help="simulated, s")
    options = parser.parse_args()
    lagrange = Way("lagrange", "generalized-alpha", STEP)
    ways = [lagrange, Way("hamilton", "midpoint", STEP), Way("hamilton", "gauss4", STEP)]
    print(f"{options.duration} s of motion, processor seconds: least (median) of {options.repeats}")
    for title in ("same step", f"end error {ERROR:g}"):
        print(
            f"\n{title}\nelements   " + "   ".join(f"{w.method:>22}" for w in ways) + "   paper L/H"
        )
        for e, elements in enumerate(ELEMENTS):
            system = frozen(model(elements))
            chosen = ways
            if title != "same step":
                chosen = [step_for(way, system, options.duration) for way in ways]
            seconds = measure(chosen, system, options.duration, options.repeats)
            cells = [f"{min(s):8.3f} ({statistics.median(s):.3f})" for s in seconds]
            if title != "same step":
                cells = [f"{c} h={w.step:.1e}" for c, w in zip(cells, chosen, strict=True)]
            ratio = PAPER["lagrange"][e] / PAPER["hamilton"][e]
            print(f"{elements:8d}   " + "   ".join(f"{c:>22}" for c in cells) + f"   {ratio:.2f}")


if __name__ == "__main__":
    main()
