"""Mechanisms: what an instant costs, and Floquet with its matrices off a polynomial or made anew.

    python -m benchmarks.mechanisms [--repeats 5] [--instants 200]

Processor time, in alternation. An instant of a slider-crank (rigid motion, reactions, prestress,
T, Ṫ, T̈, all matrices) against the dense eigenvalues of that same instant (LAPACK); `modal.track`
over a turn of one of 120 unknowns, with all its rates, against the dense eigenpairs of the state
matrix of every instant (LAPACK, right and left vectors); the Floquet
exponents of a four-bar linkage against the same with every instant made, which a break within the
period makes `modal.floquet` do.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.linalg as la

import assembly
import modal
from assembly.gallery import four_bar
from modal.transient.equations import SecondOrderModel
from studies import slider_crank

TOLERANCE = 1e-6  # of the monodromy: at 1e-12 the slow way takes minutes


def link(length: float) -> assembly.Body:
    """One element: the linkage of three has nine unknowns."""
    material = assembly.Material(E=2e8, nu=0.3, rho=1500.0)
    return assembly.beam(length, assembly.rectangle(0.02, 0.02), material, 1, planar=True)


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
    freezing, solving = [], []
    for k in range(repeats):
        times = (np.arange(count) + 0.37 * (k + 1) / repeats) / count * mechanism.period
        freezing.append(spent(lambda at=times: [mechanism.freeze(float(t)) for t in at]) / count)
        A = equations.first_order(float(times[0]))
        solving.append(spent(lambda at=A: [la.eigvals(at) for _ in range(count // 20)]))
    one, eig = statistics.median(freezing), statistics.median(solving) / (count // 20)
    print(
        f"an instant of a slider-crank, {len(A) // 2} unknowns: {1e3 * one:.2f} ms; its dense "
        f"eigenvalues take {eig / one:.1f} times that"
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


def exponents(repeats: int) -> None:
    """One line: Floquet of the four-bar, both ways."""
    mechanism = four_bar(link)
    period = mechanism.period
    assert period is not None
    quick, slow = [], []
    for _ in range(repeats):
        start = time.process_time()
        found = modal.floquet(mechanism, period, method="dense", tolerance=TOLERANCE)
        middle = time.process_time()
        made = modal.floquet(
            mechanism, period, method="dense", tolerance=TOLERANCE, breaks=(0.5 * period,)
        )
        slow.append(time.process_time() - middle)
        quick.append(middle - start)
    gap = np.abs(np.sort(np.abs(found.multipliers)) - np.sort(np.abs(made.multipliers))).max()
    print(
        f"Floquet of a four-bar: {statistics.median(slow) / statistics.median(quick):.0f} times "
        f"faster off a polynomial ({statistics.median(quick):.2f} s); |multipliers| differ by "
        f"{gap:.0e}\n  {found.interpolated}"
    )


def main() -> None:
    """The three lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--instants", type=int, default=200)
    given = parser.parse_args()
    instants(given.repeats, given.instants)
    turn(min(given.repeats, 3))
    exponents(min(given.repeats, 2))


if __name__ == "__main__":
    main()
