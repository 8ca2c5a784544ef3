"""What a verdict on all modes costs, at one state and over a map of a 28,080-unknown damped solid.

    python -m benchmarks.proof [--side 100] [--against PATH]

One damped, accelerated state: `modal.stability` against one PEP TOAR solve of 10 modes. Then a map
of speed × acceleration, with the share of its points whose verdict is proved on all modes. PATH: a
checkout of the project whose maps are of the lowest modes only (commit 2d1a254), for the cost of
the same map without proofs. Maps run in processes of their own. Processor times of one run, side by
side; assembly is before them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import modal
from assembly.bodies.body import Body
from assembly.gallery import reference_block
from benchmarks.sweep import AXIS, SPEEDS
from benchmarks.toar import petsc_matrices, toar
from modal.proofs.judge import PROOFS

RATES = (-1e4, 1e4)  # rad/s²
DAMPING = dict(a=6.0, b=1e-6)  # 1/s and s
STATE = dict(omega=250.0, epsilon=1e4, axis=AXIS)
ROOT = Path(__file__).parents[1]

# Public functions only, so that it runs in every checkout.
MAP = """
import json, sys, time
import numpy as np
import modal
from assembly.gallery import reference_block
setting = json.loads(sys.argv[1])
body = reference_block("hex20").with_damping(**setting["damping"])
speeds, rates = (np.linspace(*setting[name], setting["side"]) for name in ("speeds", "rates"))
body.freeze(omega=speeds[-1], epsilon=rates[-1], axis=setting["axis"])
start = time.process_time()
grid = modal.stability_map(body, omega=speeds, epsilon=rates, axis=setting["axis"], k=6)
seconds = time.process_time() - start
proof = grid["proof"].values if "proof" in grid else np.zeros(grid["verdict"].shape, dtype=int)
counts = [int((proof == code).sum()) for code in range(5)]
print(json.dumps({"seconds": seconds, "counts": counts}))
"""


def state_times(body: Body) -> tuple[float, float, str]:
    """Processor seconds of TOAR and of `modal.stability` at one state, and the verdict."""
    system = body.freeze(**STATE)  # type: ignore[arg-type]
    matrices = petsc_matrices(system)
    start = time.process_time()
    toar(matrices, 10)
    expert = time.process_time() - start
    start = time.process_time()
    verdict = modal.stability(system)
    return expert, time.process_time() - start, str(verdict)


def map_of(checkout: Path, side: int) -> tuple[float, list[int]]:
    """Processor seconds of the map by the project in a folder, and points of every proof."""
    setting = dict(side=side, speeds=SPEEDS, rates=RATES, axis=AXIS, damping=DAMPING)
    run = subprocess.run(
        [sys.executable, "-c", MAP, json.dumps(setting)],
        env=os.environ | {"PYTHONPATH": str(checkout)}, cwd=checkout, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    result = json.loads(run.stdout.splitlines()[-1])
    return result["seconds"], result["counts"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=100)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    body = reference_block("hex20").with_damping(**DAMPING)
    expert, proved, verdict = state_times(body)
    print(verdict)
    ratio = proved / expert
    print(f"one state: TOAR {expert:.2f} s, modal.stability {proved:.2f} s, {ratio:.2f} ×")
    seconds, counts = map_of(ROOT, arguments.side)
    total = sum(counts)
    names = zip(PROOFS, counts, strict=True)
    print(f"map of {total} points: {seconds:.2f} s, {seconds / expert:.2f} × TOAR")
    print("  proofs: " + ", ".join(f"{name} {100.0 * n / total:.1f} %" for name, n in names if n))
    if arguments.against is not None:
        without, _ = map_of(arguments.against.resolve(), arguments.side)
        print(f"  without proofs {without:.2f} s: {seconds / without:.2f} × with them")


if __name__ == "__main__":
    main()
