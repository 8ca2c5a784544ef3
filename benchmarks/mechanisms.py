"""Mechanisms: an instant alone and in a batch; tracks, transients and Floquet of small ones.

    python -m benchmarks.mechanisms [--repeats 5] [--instants 200] [--against PATH]

Processor time, in alternation. An instant of a slider-crank (rigid motion, reactions, prestress,
T, Ṫ, T̈, all matrices), alone and in a batch, against the dense eigenvalues of that same instant
(LAPACK); `modal.track` over a turn of one of 120 unknowns, with all its rates, against the dense
eigenpairs of the state matrix of every instant (LAPACK, right and left vectors), and a turn of its
time integration to 1e-4 against one of these; the Floquet exponents of a slider-crank of twelve
unknowns with a rigid crank by the default method, against those of PATH, a checkout of another
commit (2d1a254: by method="dense", as its default method does not converge), each in a process of
its own, in alternation, and with damping proportional to the stiffness; `modal.stability` of one
state and a map of 8 × 8 speeds and positions with its proofs, against the dense eigenpairs of a
state. Last, a Hill chart of the machine of 120 unknowns over speed and damping against its track
over a turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la

import modal
from assembly.mechanisms.mechanism import Mechanism
from modal.transient.equations import SecondOrderModel
from studies import slider_crank
from studies.slider_crank.machine import SpeedFamily

ROOT = Path(__file__).parents[1]


def spent(work: Callable[[], object]) -> float:
    """Processor time, s."""
    start = time.process_time()
    work()
    return time.process_time() - start


def instants(repeats: int, count: int) -> None:
    """One line: an instant, and its dense eigenvalues."""
    mechanism = slider_crank.model(elements=10)
    assert mechanism.period is not None
    equations = SecondOrderModel(mechanism)
    mechanism.freeze(0.0)
    freezing, together, solving = [], [], []
    for k in range(repeats):
        times = (np.arange(count) + 0.37 * (k + 1) / repeats) / count * mechanism.period
        freezing.append(spent(lambda at=times: [mechanism.freeze(float(t)) for t in at]) / count)
        together.append(spent(lambda at=times: mechanism.freeze_many(at)) / count)
        A = equations.first_order(float(times[0]))
        solving.append(spent(lambda at=A: [la.eigvals(at) for _ in range(count // 20)]))
    one, eig = statistics.median(freezing), statistics.median(solving) / (count // 20)
    batch = statistics.median(together)
    print(
        f"an instant of a slider-crank, {len(A) // 2} unknowns: {1e3 * one:.2f} ms; its dense "
        f"eigenvalues take {eig / one:.1f} times that; in a batch of {count} an instant takes "
        f"{batch / one:.2f} times that"
    )


def turn(repeats: int, count: int = 121) -> None:
    """One line: a track over a turn, and the dense eigenpairs of its instants."""
    mechanism = slider_crank.model(elements=20)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, count)
    equations = SecondOrderModel(mechanism)
    matrices = [equations.first_order(float(t)) for t in times[::20]]
    tracking, dense = [], []
    for _ in range(repeats):
        tracking.append(spent(lambda: modal.track(mechanism, times=times, k=6, progress=False)))
        each = spent(lambda: [la.eig(A, left=True, right=True) for A in matrices]) / len(matrices)
        dense.append(count * each)
    ratio = statistics.median(tracking) / statistics.median(dense)
    print(
        f"a track over {count} instants of a slider-crank, {len(matrices[0]) // 2} unknowns: "
        f"{ratio:.2f} times the dense eigenpairs of all its instants "
        f"({statistics.median(tracking):.2f} s)"
    )


def transient(repeats: int, tolerance: float = 1e-4, steps: int = 5120) -> None:
    """One line: time integration of a turn to a tolerance, and its error against many steps of
    another method at full order."""
    mechanism = slider_crank.model(elements=20)
    assert mechanism.period is not None
    first = modal.solve(mechanism.freeze(0.0), k=1)
    shape, value = first.right[:, 0], first.eigenvalues[0]
    initial = (shape.real, (value * shape).real)
    A = SecondOrderModel(mechanism).first_order(0.0)
    span, M = (0.0, mechanism.period), mechanism.freeze(0.0).M
    made, spans, dense = [], [], []
    for _ in range(repeats):
        spans.append(
            spent(
                lambda: made.append(
                    modal.integrate(
                        mechanism, span, initial, displacement_tolerance=tolerance, probes="all"
                    )
                )
            )
        )
        dense.append(spent(lambda: la.eig(A, left=True, right=True)))
    found = made[-1]
    parts = 16  # which divides the numbers of steps of both
    exact = modal.integrate(
        mechanism, span, initial, "hamilton", method="gauss6", step=span[1] / steps,
        probes="all", every=steps // parts,
    ).displacement.values  # fmt: skip
    far = found.displacement.values[:: found.attrs["steps"] // parts] - exact
    sizes = [np.sqrt(((M @ q.T).T * q).sum(axis=1)).max() for q in (far, exact)]
    ratio = statistics.median(spans) / statistics.median(dense)
    print(
        f"one turn of its time integration to {tolerance:g}: {ratio:.0f} dense eigensolutions "
        f"({statistics.median(spans):.2f} s, {found.attrs['steps']} steps, "
        f"{found.attrs['basis']}); stated error "
        f"{found.attrs['displacement_error_estimate']:.1e}, against {steps} steps of "
        f"gauss6 {sizes[0] / sizes[1]:.1e}"
    )


def verdicts(repeats: int, points: int = 8) -> None:
    """One line: the verdict on all modes of a state, and a map of verdicts."""
    b = slider_crank.stiffness_damping(0.005, speed_rpm=1500.0)
    mechanism = slider_crank.model(rayleigh=(0.0, b))
    assert mechanism.period is not None
    states = [mechanism.freeze(0.01 * mechanism.period * (k + 1)) for k in range(5)]
    A = SecondOrderModel(mechanism).first_order(0.01 * mechanism.period)
    modal.stability(states[0])
    single, grid, dense = [], [], []

    def map_of_verdicts() -> None:
        modal.stability_map(
            SpeedFamily(rayleigh=(0.0, b)), k=6, progress=False,
            speed_rpm=np.linspace(250.0, 6000.0, points),
            turn=np.linspace(0.0, 1.0, points, endpoint=False),
        )  # fmt: skip

    for _ in range(repeats):
        single.append(spent(lambda: [modal.stability(state) for state in states]) / len(states))
        grid.append(spent(map_of_verdicts) / points**2)
        dense.append(spent(lambda: la.eig(A, left=True, right=True)))
    one, cell, eig = (statistics.median(times) for times in (single, grid, dense))
    print(
        f"the verdict on all modes of a slider-crank, {len(A) // 2} unknowns: {one / eig:.1f} "
        f"dense eigensolutions; a point of a map of {points} × {points} speeds and positions, new "
        f"mechanisms and proofs included: {cell / eig:.1f} ({1e3 * cell:.0f} ms)"
    )


# Public functions only, so that it runs in every checkout.
FLOQUET = """
import json, sys, time
import modal
from assembly.errors import ConvergenceError
from studies import slider_crank
machine = slider_crank.model(elements=4, elastic_crank=False)
method = sys.argv[1] or None
machine.freeze(0.0)
modal.floquet(lambda t: [[0.0, 1.0], [-1.0, 0.0]], 1.0)  # everything is imported
start = time.process_time()
try:
    found = modal.floquet(machine, machine.period, method=method)
except ConvergenceError as error:
    print(json.dumps({"failed": str(error), "seconds": time.process_time() - start}))
else:
    seconds = time.process_time() - start
    exponents = [[z.real, z.imag] for z in found.exponents.tolist()]
    print(json.dumps({"seconds": seconds, "exponents": exponents, "error": found.error.max()}))
"""


def floquet_of(checkout: Path, method: str = "") -> dict[str, Any]:
    """`modal.floquet` in a checkout, in a process of its own: seconds, exponents and their largest
    error, or why it failed."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-c", FLOQUET, method],
        cwd=checkout, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def apart(one: dict[str, Any], other: dict[str, Any], period: float) -> float:
    """Largest distance of exponents, 1/s, up to multiples of 2πi/T."""
    first, second = (np.array(x["exponents"]) @ [1.0, 1.0j] for x in (one, other))
    return float(
        np.abs(np.exp(period * (first[:, None] - second)) - 1.0).min(axis=1).max() / period
    )


def exponents(repeats: int, against: Path | None) -> None:
    """Floquet of a machine with fast modes by the default method, and by that of another commit."""
    mechanism = slider_crank.model(elements=4, elastic_crank=False)
    period = mechanism.period
    assert period is not None
    if against is None:
        found = floquet_of(ROOT)
        print(
            f"Floquet of a slider-crank of 12 unknowns: {found['seconds']:.2f} s, exponents within "
            f"{found['error']:.0e} /s (--against PATH compares with another commit)"
        )
    else:
        method, other = "", floquet_of(against)
        if "failed" in other:
            print(f"Floquet by default there: {other['failed']} ({other['seconds']:.1f} s)")
            method = "dense"
        pairs = [(floquet_of(ROOT), floquet_of(against, method)) for _ in range(repeats)]
        here, there = pairs[-1]
        ratio = statistics.median(b["seconds"] / a["seconds"] for a, b in pairs)
        print(
            f"Floquet of a slider-crank of 12 unknowns, against "
            f"{f'method={method!r}' if method else 'the default method'} there: exponents differ "
            f"by {apart(here, there, period):.0e} /s, stated errors {here['error']:.0e} and "
            f"{there['error']:.0e}; {ratio:.0f} times faster ({here['seconds']:.2f} s against "
            f"{there['seconds']:.1f})"
        )
    damped = slider_crank.model(elements=4, elastic_crank=False, rayleigh=(0.0, 2e-5))
    stiff = spent(lambda: modal.floquet(damped, period))
    made = modal.floquet(mechanism, period)
    printed = spent(lambda: str(made))
    print(
        f"  its table is printed in {printed:.2f} s; with D = bK, b = 2e-5 s, the exponents take "
        f"{stiff:.2f} s"
    )


def chart(count: int = 24) -> None:
    """One line: a Hill chart over speed and damping, and the track over a turn."""
    mechanism = slider_crank.model(elements=20)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, 121)
    modal.track(mechanism, times=times[:5], k=6, progress=False)
    tracking = spent(lambda: modal.track(mechanism, times=times, k=6, progress=False))

    def family(speed: float, damping: float) -> Mechanism:
        return slider_crank.model(speed_rpm=speed, elements=20, rayleigh=(0.0, damping))

    made = []
    speeds, dampings = np.linspace(250.0, 6000.0, count), np.linspace(0.0, 1.2e-5, count)
    charting = spent(
        lambda: made.append(
            modal.hill_chart(
                family, lambda speed, damping: 60.0 / speed, k=3, progress=False,
                speed=speeds, damping=dampings,
            )
        )
    )  # fmt: skip
    print(
        f"a Hill chart of it, {count} × {count} points: {charting / tracking:.0f} times its track "
        f"({charting:.1f} s); {int((made[0].verdict > 0).sum())} points unstable, "
        f"source {', '.join(np.unique(made[0].source.values.astype(str)))}"
    )


def main() -> None:
    """The lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    instants(given.repeats, given.instants)
    turn(min(given.repeats, 3))
    transient(min(given.repeats, 2))
    verdicts(min(given.repeats, 3))
    exponents(min(given.repeats, 3), None if given.against is None else given.against.resolve())
    chart()


if __name__ == "__main__":
    main()
