"""A sweep of 200 instants of a solid against one expert SLEPc solve and against the floor.

    python -m benchmarks.sweep [--element hex20] [--cells 24 7 7] [--instants 200] [--growth]

The floor is one Cholesky factorization and 60 single solves. Goals (DESIGN.md, section 6): at most
2 × one PEP TOAR solve, at most 2.5 × the floor, and a cost that grows no faster with the number of
unknowns than the factorization alone. Times of one run, side by side; assembly is before them.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from assembly.body import Body
from assembly.factorization import Factorization
from assembly.frozen import FrozenSystem
from assembly.gallery import block, reference_block
from benchmarks.toar import petsc_matrices, toar
from modal.reduction import sweep

SPEEDS = (0.0, 500.0)  # rad/s: half the first bending frequency of the block
AXIS = (0.0, 0.0, 1.0)
FLOOR_SOLVES = 60


class Watch:
    """Wall and processor seconds since the last reading. On a machine that does other work too the
    ratios of processor times are the steadier ones.
    """

    def __init__(self) -> None:
        self._last = (time.perf_counter(), time.process_time())

    def read(self) -> tuple[float, float]:
        now = (time.perf_counter(), time.process_time())
        passed = (now[0] - self._last[0], now[1] - self._last[1])
        self._last = now
        return passed


def floor_time(system: FrozenSystem) -> tuple[float, float]:
    """Seconds of one Cholesky of the stiffness, and of 60 single solves."""
    start = time.perf_counter()
    with Factorization(system.stiffness, "spd") as factor:
        factored = time.perf_counter() - start
        b = np.ones(system.n)
        start = time.perf_counter()
        for _ in range(FLOOR_SOLVES):
            factor.solve(b)
        return factored, time.perf_counter() - start


def measure(
    body: Body, instants: int = 200, k: int = 10, tolerance: float = 1e-6, expert: bool = True
) -> dict[str, float]:
    """Seconds and ratios of one body. expert=False leaves TOAR out (it needs far more memory)."""
    points = [{"omega": float(w)} for w in np.linspace(*SPEEDS, instants)]

    def freeze(point: dict[str, float]) -> FrozenSystem:
        return body.freeze(axis=AXIS, **point)

    middle = freeze(points[instants // 2])
    middle.stiffness, middle.M, middle.damping  # noqa: B018  (formed before anything is timed)
    watch = Watch()
    found = sweep(freeze, points, k=k, tolerance=tolerance, checks=0)
    elapsed, cpu = watch.read()
    checked = sweep(freeze, points, k=k, tolerance=tolerance, checks=1) if expert else None
    with_check, _ = watch.read()
    factored, solved = floor_time(middle)
    _, floor_cpu = watch.read()
    out = {
        "unknowns": float(middle.n),
        "nonzeros of K": float(middle.stiffness.nnz),
        "sweep": elapsed,
        "one factorization": factored,
        "60 solves": solved,
        "sweep / floor": elapsed / (factored + solved),
        "sweep / floor, processor time": cpu / floor_cpu,
        "sweep / factorization": elapsed / factored,
        "basis vectors": float(found.size),
        "solves": float(found.solves),
        "largest relative error bound": float(
            (found.error_bound / np.abs(found.eigenvalues)).max()
        ),
    }
    if checked is not None:
        matrices = petsc_matrices(middle)
        watch.read()
        one, reference = toar(matrices, k)
        _, one_cpu = watch.read()
        lam = found.eigenvalues[instants // 2]
        out["sweep / TOAR, processor time"] = cpu / one_cpu
        out["sweep with its check / TOAR"] = with_check / one
        out["one TOAR solve"] = one
        out["sweep / TOAR"] = elapsed / one
        out["relative difference from TOAR"] = float(np.abs(lam / reference - 1.0).max())
    out["peak memory, GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--element", default="hex20", choices=("hex20", "hex8"))
    parser.add_argument("--cells", type=int, nargs=3, metavar=("NX", "NY", "NZ"))
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--growth", action="store_true", help="hex8 blocks, unknowns doubling")
    parser.add_argument("--no-expert", action="store_true", help="leave the TOAR solve out")
    arguments = parser.parse_args()
    if arguments.growth:
        for cells in ((20, 8, 8), (25, 10, 10), (32, 12, 13), (40, 15, 16), (50, 20, 19)):
            row = measure(block(*cells, "hex8"), arguments.instants, expert=False)
            print(
                f"{row['unknowns']:>9.0f} unknowns: sweep {row['sweep']:6.2f} s, factorization "
                f"{row['one factorization']:6.2f} s, sweep / factorization "
                f"{row['sweep / factorization']:5.2f}, sweep / floor {row['sweep / floor']:5.2f} "
                f"(processor time {row['sweep / floor, processor time']:5.2f})",
                flush=True,
            )
        return
    cells = arguments.cells
    body = block(*cells, arguments.element) if cells else reference_block(arguments.element)
    for name, value in measure(body, arguments.instants, expert=not arguments.no_expert).items():
        print(f"{name:<30} {value:.6g}")


if __name__ == "__main__":
    main()
