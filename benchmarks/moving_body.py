"""A solid with a motion in time on a reduced basis, against one expert SLEPc solve.

    python -m benchmarks.moving_body [--cells 39 7 7] [--element hex20] [--only track …]

Processor times of public functions with their default checks, next to one PEP TOAR solve (k = 10)
of one instant: 200 instants of a spin-up from rest to half the first bending frequency, a transient
of 2,000 steps through the spin-up with a load at the tip, and the Floquet exponents and the
cross-check of the same body swinging. Every row makes its own basis.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import assembly
import modal
from assembly.bodies.body import Body
from assembly.gallery import block
from benchmarks.links import spent
from benchmarks.toar import petsc_matrices, toar

FASTEST, SPIN_UP = 500.0, 0.2  # rad/s, s
STEPS = 2000
SWING = (0.5, 60.0)  # rad, rad/s


def works(body: Body) -> dict[str, Callable[[], str]]:
    """The rows."""
    model = assembly.moving(body, assembly.ramp(FASTEST / SPIN_UP))
    swinging = assembly.moving(body, assembly.swing(*SWING))
    period = swinging.period
    assert period is not None
    tip = int(body.dofs.node.max())
    push = modal.Harmonic((tip, "uy"), 10.0, 600.0)

    def track() -> str:
        times = np.linspace(0.0, SPIN_UP, 200)
        return str(modal.track(model, times=times, k=6, progress=False).attrs["solver"])

    def transient() -> str:
        found = modal.integrate(model, (0.0, SPIN_UP), step=SPIN_UP / STEPS, loads=[push])
        return f"{found.attrs['basis']}, error by the basis {found.attrs['basis_error']:.1e}"

    def floquet() -> str:
        found = modal.floquet(swinging, period, k=6)
        return f"{found.basis}, largest error {found.error.max():.1e} 1/s"

    def crosscheck() -> str:
        found = modal.crosscheck(swinging, k=4)
        return f"{len(found.dataset.mode)} modes, {set(found.dataset.verdict.values.tolist())}"

    return {"track": track, "transient": transient, "floquet": floquet, "crosscheck": crosscheck}


def main() -> None:
    """One line a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cells", type=int, nargs=3, default=(39, 7, 7))
    parser.add_argument("--element", default="hex20")
    parser.add_argument("--only", nargs="+", default=("track", "transient", "floquet"))
    given = parser.parse_args()
    body = block(*given.cells, given.element)
    middle = assembly.moving(body, assembly.ramp(FASTEST / SPIN_UP)).freeze(0.5 * SPIN_UP)
    matrices = petsc_matrices(middle)
    start = time.process_time()
    toar(matrices, 10)
    one = time.process_time() - start
    print(f"{middle.n} unknowns; one TOAR solve {one:.2f} s of processor time", flush=True)
    # Public functions import their modules at first use.
    functions = (modal.track, modal.integrate, modal.floquet, modal.crosscheck)
    assert all(callable(function) for function in functions)
    for name, work in works(body).items():
        if name in given.only:
            seconds, said = spent(work)
            print(f"{name:<10} {seconds:7.2f} s, {seconds / one:5.2f} TOAR: {said}", flush=True)


if __name__ == "__main__":
    main()
