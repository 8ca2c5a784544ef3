"""A slider-crank with a solid rod on reduced bases of the rod, against one expert SLEPc solve.

    python -m benchmarks.links [--cells 39 7 7] [--element hex20] [--only track map …]

Processor times of public functions with their default checks, next to one PEP TOAR solve (k = 10)
of one instant of the same mechanism: 200 instants over a turn by `modal.track`, a map of 24 speeds
by 24 positions, the transient over one turn, the Floquet exponents. The prestress of the rod is
known before anything is timed, as the matrices of the TOAR solve are; every row begins without a
basis.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache

import numpy as np

import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms.mechanism import Mechanism
from assembly.system.frozen import FrozenSystem
from benchmarks.toar import petsc_matrices, toar

SPEED = 157.0  # rad/s
SPEEDS = np.linspace(50.0, 200.0, 24)
GOALS = {"track": 3.0, "map": 6.0, "transient": 5.0, "floquet": 5.0}


class Turning:
    """The mechanism at a speed, rad/s, and a position, turns."""

    def __init__(self, make: Callable[[float], Mechanism]) -> None:
        self._make = cache(make)

    def freeze(self, speed: float, turn: float) -> FrozenSystem:
        mechanism = self._make(speed)
        assert mechanism.period is not None
        return mechanism.freeze(turn * mechanism.period)


def spent(work: Callable[[], str]) -> tuple[float, str]:
    """Processor time, s, and what the work says of itself."""
    start = time.process_time()
    said = work()
    return time.process_time() - start, said


def works(make: Callable[[float], Mechanism], mechanism: Mechanism) -> dict[str, Callable[[], str]]:
    """The four rows."""
    period = mechanism.period
    assert period is not None

    def track() -> str:
        times = np.linspace(0.0, period, 200)
        found = modal.track(mechanism, times=times, k=6, tolerance=1e-6, progress=False)
        return str(found.attrs["solver"])

    def stability() -> str:
        turns = np.linspace(0.0, 1.0, 24, endpoint=False)
        found = modal.stability_map(
            Turning(make), over={"speed": SPEEDS, "turn": turns}, k=6, progress=False
        )
        return f"{found.attrs['solver']}, largest bound {float(found.error_bound.max()):.1e} 1/s"

    def transient() -> str:
        here = mechanism.freeze(0.0)
        dofs = here.dofs
        assert dofs is not None
        # Bent as a half sine: the crank's and slider's nodes, at the joints, stay at rest.
        x = dofs.coordinates[dofs.node, 0]
        q = np.where(dofs.component == 1, 1e-5 * np.sin(np.pi * x / 0.3), 0.0)
        found = modal.integrate(mechanism, (0.0, period), (q, 0.0 * q))
        return f"{found.attrs['basis']}, error by the basis {found.attrs['basis_error']:.1e}"

    def floquet() -> str:
        found = modal.floquet(mechanism, period, k=6)
        return f"{found.basis}, largest error {found.error.max():.1e} 1/s"

    return {"track": track, "map": stability, "transient": transient, "floquet": floquet}


def main() -> None:
    """One line a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cells", type=int, nargs=3, default=(39, 7, 7))
    parser.add_argument("--element", default="hex20")
    parser.add_argument("--only", nargs="+", choices=tuple(GOALS), default=tuple(GOALS))
    given = parser.parse_args()
    make = solid_slider_crank(tuple(given.cells), given.element)
    mechanism = make(SPEED)
    middle = mechanism.freeze(0.01)
    matrices = petsc_matrices(middle)
    start = time.process_time()
    toar(matrices, 10)
    one = time.process_time() - start
    print(f"{middle.n} unknowns; one TOAR solve {one:.2f} s of processor time", flush=True)
    mechanism._reductions[next(iter(mechanism._reductions))]._patterns.clear()
    del middle
    # Public functions import their modules at first use.
    functions = (modal.track, modal.stability_map, modal.integrate, modal.floquet)
    assert all(callable(function) for function in functions)
    for name, work in works(make, mechanism).items():
        if name in given.only:
            seconds, said = spent(work)
            ratio = f"{seconds / one:5.2f} TOAR (goal {GOALS[name]:.0f})"
            print(f"{name:<10} {seconds:7.2f} s, {ratio}: {said}", flush=True)


if __name__ == "__main__":
    main()
