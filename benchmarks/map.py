"""A stability map of 100 × 100 points of a 28,080-unknown solid against one expert SLEPc solve.

    python -m benchmarks.map [--side 100] [--element hex20]

Goal: all 10⁴ points, to 1e-6, in at most 8 times one PEP TOAR solve of 10
modes. The map is of the 6 lowest modes, `modal.stability_map` with its defaults: the full-order
verification at a drawn point is in its time.
"""

from __future__ import annotations

import argparse

import numpy as np

from assembly.gallery import reference_block
from benchmarks.sweep import AXIS, SPEEDS, Watch
from benchmarks.toar import petsc_matrices, toar
from modal import stability_map

RATES = (-5e4, 5e4)  # rad/s²


def measure(side: int = 100, element: str = "hex20", k: int = 6) -> dict[str, float]:
    """Times in seconds of the map and of one TOAR solve in the middle of it, and their ratio."""
    body = reference_block(element)
    speeds, rates = np.linspace(*SPEEDS, side), np.linspace(*RATES, side)
    middle = body.freeze(omega=float(np.mean(SPEEDS)), epsilon=0.25 * RATES[1], axis=AXIS)
    matrices = petsc_matrices(middle)
    watch = Watch()
    toar(matrices, 10)
    one, one_cpu = watch.read()
    grid = stability_map(body, omega=speeds, epsilon=rates, axis=AXIS, k=k, progress=False)
    elapsed, cpu = watch.read()
    scale = np.hypot(grid.growth_rate, 2.0 * np.pi * grid.critical_frequency)
    return {
        "points": float(side**2),
        "map": elapsed,
        "one TOAR solve": one,
        "ratio": elapsed / one,
        "ratio of processor times": cpu / one_cpu,
        "largest relative error bound": float((grid.error_bound / scale).max()),
        "points solved in full": float((grid.source == "full").sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=100)
    parser.add_argument("--element", default="hex20", choices=("hex20", "hex8"))
    arguments = parser.parse_args()
    for name, value in measure(arguments.side, arguments.element).items():
        print(f"{name:<30} {value:.4g}")


if __name__ == "__main__":
    main()
