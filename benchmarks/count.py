"""What `certify=True` costs, and that it counts right, in instants of every structure.

    python -m benchmarks.count [--largest 3780|28080]

First a block of 288 unknowns, where LAPACK gives the whole spectrum: the count in a circle around
zero and in one around a target, with every mode known and with three forgotten, must be LAPACK's.
Then the same instants of a block of 3,780 unknowns (and 28,080 if asked for): processor seconds of
`solve` as it is and of the count alone. Goal: 3 s or less for a count from zero up at 3,780.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from assembly.errors import AccuracyError
from assembly.gallery import block, reference_block
from assembly.system.frozen import FrozenSystem
from modal import solve
from modal.eigen.mode_count import Circle, certified, conjugated
from modal.eigen.quadratic import Quadratic
from modal.eigen.spectrum import Pairs
from tests.support.quadratics import contour_count

SPIN = (0.0, 0.0, 300.0)
MODES = 10
COUNTS = {288: (6, 3, 3, "hex8"), 3780: (14, 4, 4, "hex20")}


def instants(n: int) -> Iterator[tuple[str, FrozenSystem]]:
    """A steel block that turns: damped, spun up, on a negative foundation, and free."""
    body = block(*COUNTS[n]) if n in COUNTS else reference_block("hex8")
    turning = body.freeze(omega=SPIN)
    matrices = dict(M=turning.M, C=turning.damping, K=turning.stiffness)
    yield "conservative", turning
    yield "damped", FrozenSystem(**matrices, D=1e-6 * turning.stiffness + 2.0 * turning.M)
    yield "circulatory", body.freeze(omega=SPIN, epsilon=(0.0, 0.0, 1e4))
    yield "indefinite", FrozenSystem(**matrices, K_omega2=-1e7 * turning.M)
    if n in COUNTS:
        loose = block(*COUNTS[n], clamped=None)
        yield "free, circulatory", loose.freeze(omega=SPIN, epsilon=(0.0, 0.0, 1e4))


def always(pairs: Pairs) -> Callable[[int, int], Pairs]:
    """A search with one result."""
    return lambda k, seed: pairs


def against_lapack(n: int) -> None:
    """Raises AssertionError unless every count is LAPACK's."""
    for name, system in instants(n):
        modes = solve(system, k=2 * system.n, backend="dense")
        every = conjugated(modes.eigenvalues, modes.deflated)
        quadratic = Quadratic(system)
        for centre in (0.0, 1.1j * abs(modes.eigenvalues[MODES])):
            near = modes.eigenvalues[np.argsort(np.abs(modes.eigenvalues - centre))]
            distance = np.abs(near - centre)
            j = MODES + int(np.argmax(np.diff(distance)[MODES : MODES + 4]))
            circle = Circle(centre, float(0.5 * (distance[j] + distance[j + 1])))
            inside = int(circle.contains(every).sum())
            for forgotten in (0, 3):
                known = conjugated(near[forgotten : j + 3], modes.deflated)
                assert contour_count(quadratic, circle, known) == inside, (name, circle)
        print(f"{name}, {system.n} unknowns: the counts are LAPACK's", flush=True)


def cost(n: int) -> None:
    """Processor seconds of the solution and of the count, around zero and around a target."""
    for name, system in instants(n):
        for target in (0.0, 3e4j):
            quadratic = Quadratic(system)
            start = time.process_time()
            modes = solve(system, k=MODES + 3, target=target or None)
            solved = time.process_time() - start
            found = Pairs(modes.eigenvalues, modes.right, modes.factorization, modes.method)
            start = time.process_time()
            try:
                certified(quadratic, system.null_chain, MODES, target, always(found))
                counted = f"count {time.process_time() - start:.2f} s"
            except AccuracyError as refused:
                counted = str(refused)
            print(
                f"{name}, {system.n:,} unknowns, {MODES} modes nearest {target:g} rad/s: solve "
                f"{solved:.2f} s, {counted}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=3780, choices=(3780, 28080))
    given = parser.parse_args()
    against_lapack(288)
    cost(3780)
    if given.largest > 3780:
        cost(given.largest)


if __name__ == "__main__":
    main()
