"""A sweep of 200 instants of a solid against one expert SLEPc solve and against the floor.

    python -m benchmarks.sweep [--element hex20] [--cells 24 7 7] [--instants 200]
    python -m benchmarks.sweep --growth
    python -m benchmarks.sweep --million --limit 20

The floor is one Cholesky factorization and 60 single solves. Goals: at most
2 × one PEP TOAR solve, at most 2.5 × the floor, and a cost that grows no faster with the number of
unknowns than the factorization alone (--growth); at most 8 GiB at 300,000 unknowns and 20 GiB at a
million. The sweep is what a user calls, `modal.track` with its defaults: guard modes, the tracks,
and a full-order verification at a drawn point. Times of one run, side by side; assembly, imports
and first use are before them. --limit ends the run above so many GiB.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from assembly.bodies.body import Body
from assembly.gallery import block, reference_block
from assembly.linalg.factorization import Factorization
from assembly.system.frozen import FrozenSystem
from benchmarks.memory import Watcher
from benchmarks.toar import petsc_matrices, toar
from modal import track

SPEEDS = (0.0, 500.0)  # rad/s: half the first bending frequency of the block
AXIS = (0.0, 0.0, 1.0)
FLOOR_SOLVES = 60
TIMED = 12  # of them above half a million unknowns; the others take as long
MILLION = (375, 29, 29)  # hex8 cells: 1,012,500 unknowns; a section of 30 × 30 nodes
DOUBLING = ((18, 8, 8), (24, 10, 9), (30, 12, 13), (38, 16, 16), (48, 20, 20))  # hex8: 4k to 64k
REPEATS = 3  # of every size of --growth


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


@dataclass(frozen=True)
class Floor:
    """Wall and processor seconds of the factorization and of the solves."""

    factored: float
    solved: float
    factored_cpu: float
    solved_cpu: float


def floor_time(system: FrozenSystem) -> Floor:
    """One Cholesky of the stiffness, and 60 single solves."""
    K = system.stiffness
    watch = Watch()
    with Factorization(K, "spd") as factor:
        factored = watch.read()
        b = np.ones(system.n)
        timed = FLOOR_SOLVES if system.n < 500_000 else TIMED
        solving = Watch()
        for _ in range(timed):
            factor.solve(b)
        solved = [FLOOR_SOLVES / timed * seconds for seconds in solving.read()]
    return Floor(factored[0], solved[0], factored[1], solved[1])


def measure(
    body: Body,
    instants: int = 200,
    k: int = 10,
    tolerance: float = 1e-6,
    expert: bool = True,
    limit: float | None = None,
) -> dict[str, float]:
    """Seconds, ratios and GiB of one body. expert=False leaves TOAR out (it needs far more)."""
    speeds = np.linspace(*SPEEDS, instants)

    def middle() -> FrozenSystem:
        return body.freeze(omega=float(speeds[instants // 2]), axis=AXIS)

    memory = Watcher(limit)
    nonzeros = middle().stiffness.nnz  # and the prestress is known before anything is timed
    before = memory.stage()
    track(block(2, 2, 2, "hex8"), omega=SPEEDS, axis=AXIS, k=1, progress=False)  # first use
    floor = floor_time(middle())
    of_floor = memory.stage()
    watch = Watch()
    tracks = track(body, omega=speeds, axis=AXIS, k=k, tolerance=tolerance, progress=False)
    elapsed, cpu = watch.read()
    solver = tracks.attrs["solver"]
    if not solver.startswith("reduced basis"):
        raise AssertionError(f"solved by {solver}")
    bounds = tracks["condition_number"] * tracks["backward_error"]
    out = {
        "unknowns": float(middle().n),
        "nonzeros of K": float(nonzeros),
        "sweep": elapsed,
        "one factorization": floor.factored,
        "60 solves": floor.solved,
        "sweep / floor": elapsed / (floor.factored + floor.solved),
        "sweep, processor time": cpu,
        "one factorization, processor time": floor.factored_cpu,
        "sweep / floor, processor time": cpu / (floor.factored_cpu + floor.solved_cpu),
        "sweep / factorization": elapsed / floor.factored,
        "basis vectors": float(solver.split()[3]),
        "largest relative error bound": float(bounds.max()),
        "peak memory of assembly and prestress, GiB": before,
        "peak memory of the floor, GiB": of_floor,
        "peak memory of the sweep, GiB": memory.stage(),
    }
    if expert:
        matrices = petsc_matrices(middle())
        watch.read()
        one, reference = toar(matrices, k)
        _, one_cpu = watch.read()
        lam = tracks["eigenvalue"].values[instants // 2]
        lam = lam[np.argsort(np.abs(lam))][:k]
        out["one TOAR solve"] = one
        out["sweep / TOAR"] = elapsed / one
        out["sweep / TOAR, processor time"] = cpu / one_cpu
        out["relative difference from TOAR"] = float(np.abs(lam / reference - 1.0).max())
    return out


def growth(instants: int) -> None:
    """Blocks of doubling size: processor times, medians, and the exponents of n they grow with."""
    sizes: list[float] = []
    sweeps: list[float] = []
    factors: list[float] = []
    for cells in DOUBLING:
        body = block(*cells, "hex8")
        rows = [measure(body, instants, expert=False) for _ in range(REPEATS)]
        sizes.append(rows[0]["unknowns"])
        for times, name in ((sweeps, "sweep"), (factors, "one factorization")):
            times.append(float(np.median([row[f"{name}, processor time"] for row in rows])))
        print(
            f"{sizes[-1]:>9.0f} unknowns: sweep {sweeps[-1]:6.2f} s, factorization "
            f"{factors[-1]:6.2f} s, sweep / factorization {sweeps[-1] / factors[-1]:5.2f}",
            flush=True,
        )
    for name, times in (("sweep", sweeps), ("factorization", factors)):
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        print(f"{name} grows like n^{exponent:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--element", default="hex20", choices=("hex20", "hex8"))
    parser.add_argument("--cells", type=int, nargs=3, metavar=("NX", "NY", "NZ"))
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--growth", action="store_true", help="hex8 blocks, unknowns doubling")
    parser.add_argument("--million", action="store_true", help="1,012,500 unknowns, hex8")
    parser.add_argument("--limit", type=float, help="GiB above which the run ends itself")
    parser.add_argument("--no-expert", action="store_true", help="leave the TOAR solve out")
    given = parser.parse_args()
    if given.growth:
        growth(given.instants)
        return
    if given.million:
        given.cells, given.element, given.no_expert = MILLION, "hex8", True
    if given.cells:
        nx, ny, nz = given.cells
        body = block(nx, ny, nz, given.element)
    else:
        body = reference_block(given.element)
    found = measure(body, given.instants, expert=not given.no_expert, limit=given.limit)
    for name, value in found.items():
        print(f"{name:<44} {value:.6g}")


if __name__ == "__main__":
    main()
