"""Peak memory and processor time against the degrees of freedom (DOFs), in core and out of core.

    python -m benchmarks.large [--shape slender thick] [--dofs 100000 300000]
                               [--solver "in core" "out of core" iterative] [--ranks 1]
                               [--folder DIR] [--limit GiB] [--table FILE]

Each line is one process: assembly with the prestress, then a sweep of 200 states by `modal.track`
(ten modes to 1e-6, and a full-order verification). At a million DOFs "slender" is 375 × 29 × 29
cells and "thick" 200 × 40 × 40; other sizes have the same proportions. Peaks are the kernel's own
count (VmHWM), reset between the stages. --limit ends a run above so many GiB. --ranks: the factor
is shared; memory is that of the first rank and of the largest other one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

GIB = 2**30
SPEEDS = (0.0, 500.0)  # rad/s
AXIS = (0.0, 0.0, 1.0)
MILLION = {"slender": (375, 29, 29), "thick": (200, 40, 40)}
# Sides, m: the slender one is that of benchmarks/sweep.py, the thick one has cubic cells.
SIZE = {"slender": (1.0, 0.2, 0.2), "thick": (1.0, 0.2, 0.2)}
SOLVERS = ("in core", "out of core", "iterative")
COLUMNS = (
    "shape", "solver", "dofs", "assembly GiB", "sweep GiB", "others GiB", "disk GiB",
    "assembly s", "sweep s", "basis", "largest bound",
)  # fmt: skip


def cells(shape: str, dofs: float) -> tuple[int, int, int]:
    """Cells of a block of about so many DOFs in the proportions of the shape."""
    million = np.array(MILLION[shape], dtype=float)
    at_million = 3.0 * million[0] * (million[1] + 1) * (million[2] + 1)
    scale = (dofs / at_million) ** (1.0 / 3.0)
    nx, ny, nz = np.maximum(1, np.round(million * scale)).astype(int)
    return int(nx), int(ny), int(nz)


class Peak:
    """Peak resident memory of this process since the last reading, GiB."""

    def read(self) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        Path("/proc/self/clear_refs").write_text("5")
        return peak * 1024 / GIB


def disk(folder: str | None) -> float:
    """GiB of the files in a folder."""
    if folder is None:
        return 0.0
    return sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / GIB


def measure(shape: str, solver: str, dofs: int, instants: int, folder: str) -> dict[str, Any]:
    """One line of the table."""
    from assembly.gallery import block
    from assembly.linalg.solver import linear_solver
    from assembly.parallel.ranks import world
    from modal import track

    comm = world()
    peak = Peak()
    place = folder if solver == "out of core" else None
    method = "iterative" if solver == "iterative" else "direct"
    row: dict[str, Any] = {}
    with linear_solver(method, out_of_core=place, comm=comm) as driving:
        if driving:
            start = time.process_time()
            body = block(*cells(shape, dofs), "hex8", SIZE[shape])
            system = body.freeze(omega=SPEEDS[1], axis=AXIS)
            products = system.combined(("K", "K_G", "K_omega2")) @ np.ones(system.n)
            assert np.all(np.isfinite(products))  # the prestress is there
            assembled, of_assembly = time.process_time() - start, peak.read()
            start = time.process_time()
            tracks = track(
                body, omega=np.linspace(*SPEEDS, instants), axis=AXIS, k=10, tolerance=1e-6,
                progress=False,
            )  # fmt: skip
            bound = tracks["condition_number"] * tracks["backward_error"]
            row = dict(
                zip(
                    COLUMNS,
                    (
                        shape, solver, system.n, of_assembly, peak.read(), 0.0, 0.0, assembled,
                        time.process_time() - start, int(tracks.attrs["solver"].split()[3]),
                        float(bound.max()),
                    ),
                    strict=True,
                )
            )  # fmt: skip
    if comm is not None:
        others = comm.gather(peak.read())
        if comm.rank == 0:
            row["others GiB"] = max(others[1:])
    return row


def in_a_process(
    shape: str, solver: str, dofs: int, given: argparse.Namespace, folder: str
) -> dict[str, Any] | None:
    """The line of a process of its own, with the largest size that its folder had."""
    command = [sys.executable, "-m", "benchmarks.large", "--one", shape, solver, str(dofs)]
    command += ["--instants", str(given.instants), "--folder", folder]
    if given.ranks > 1:
        command = ["mpiexec", "--oversubscribe", "-n", str(given.ranks), *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    largest, pause = 0.0, 0.5
    while process.poll() is None:
        time.sleep(pause)
        largest = max(largest, disk(folder))
        if given.limit is not None and resident(process.pid) > given.limit:
            process.kill()
            print(f"{shape}, {solver}, {dofs}: stopped above {given.limit} GiB", flush=True)
            return None
    assert process.stdout is not None
    text = process.stdout.read()
    if process.returncode != 0:
        print(f"{shape}, {solver}, {dofs}: ended with exit code {process.returncode}")
        return None
    row: dict[str, Any] = json.loads(text.splitlines()[-1])
    row["disk GiB"] = largest
    return row


def resident(pid: int) -> float:
    """Memory of a process now, GiB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / GIB


def line(row: dict[str, Any]) -> str:
    """A line of a Markdown table."""
    shown = [
        f"{v:.3g}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else v
        for v in (row[name] for name in COLUMNS)
    ]
    return "| " + " | ".join(shown) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", nargs="+", choices=tuple(MILLION), default=["slender"])
    parser.add_argument("--solver", nargs="+", choices=SOLVERS, default=list(SOLVERS[:2]))
    parser.add_argument("--dofs", nargs="+", type=int, default=[100_000, 200_000, 300_000])
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--folder", help="for factors on disk; default: a temporary one")
    parser.add_argument("--limit", type=float, help="GiB above which a run is ended")
    parser.add_argument("--table", type=Path, help="append the lines to this file, as JSON")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        shape, solver, dofs = given.one
        row = measure(shape, solver, int(dofs), given.instants, given.folder)
        if row:
            print(json.dumps(row), flush=True)
        return 0
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for shape in given.shape:
            for dofs in given.dofs:
                for solver in given.solver:
                    folder = given.folder or temporary
                    found = in_a_process(shape, solver, dofs, given, folder)
                    failed += found is None
                    if found is not None:
                        print(line(found), flush=True)
                        if given.table is not None:
                            with given.table.open("a") as out:
                                out.write(json.dumps(found) + "\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
