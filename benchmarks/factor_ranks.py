"""Memory and processor time a rank of one factor over 1, 2 and 4 ranks.

    python -m benchmarks.factor_ranks [--unknowns 80000] [--ranks 1 2 4] [--out-of-core DIR]

A thick block (200 × 40 × 40 cells at a million unknowns), its Cholesky factor by MUMPS with all
rows on the first rank. Memory is MUMPS's own count of what the fullest rank used (INFOG 21). Goal:
over 4 ranks at most 0.45 of that of one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np


def measure(unknowns: int, folder: str | None) -> dict[str, Any]:
    """Of this run under mpiexec: MiB and seconds of the fullest and busiest rank."""
    from assembly.gallery import block
    from assembly.linalg.factorization import Factorization
    from assembly.linalg.mumps import MumpsFactor
    from assembly.linalg.solver import active, linear_solver
    from assembly.parallel.ranks import world
    from benchmarks.large import cells

    comm = world()
    found: dict[str, Any] = {}
    start = time.process_time()
    with linear_solver(comm=comm, out_of_core=folder) as driving:
        if driving:
            K = block(*cells("thick", unknowns)).supported.K
            start = time.process_time()
            with Factorization(K, "spd") as factor:
                team = active().team
                part: Any = factor._factor if team is None else team.parts[1]
                assert isinstance(part, MumpsFactor)
                found["MiB a rank"] = int(part.factor.getMumpsInfog(21))
                found["seconds of the first rank"] = time.process_time() - start
                b = np.ones((K.shape[0], 16))
                x = factor.solve(b)
                found["unknowns"] = K.shape[0]
                found["residual"] = float(np.linalg.norm(K @ x - b) / np.linalg.norm(b))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unknowns", type=int, default=80_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--out-of-core", metavar="DIR")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        found = measure(given.unknowns, given.out_of_core)
        if found:
            print(json.dumps(found), flush=True)
        return 0
    first = None
    for ranks in given.ranks:
        command = ["mpiexec", "--oversubscribe", "-n", str(ranks), sys.executable, "-m"]
        command += ["benchmarks.factor_ranks", "--one", "--unknowns", str(given.unknowns)]
        command += ["--out-of-core", given.out_of_core] if given.out_of_core else []
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found = json.loads(text.splitlines()[-1])
        first = first or found["MiB a rank"]
        print(f"{ranks} ranks: {found}, {found['MiB a rank'] / first:.2f} of the first", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
