"""The Campbell diagram of one rotor at fifty speeds: `modal.track` beside ROSS's `run_campbell`.

The rotor of both: a steel shaft of 24 Timoshenko elements, two discs, two bearings that differ in y
and z. Times include everything from the finished model to the tracks: freezing, solving, following.
ROSS needs packages of its own, so it runs in the interpreter that the environment variable
ROSS_PYTHON names (a virtual environment with `pip install ross-rotordynamics "plotly<6"`); without
it only ours is timed. Run:

    ROSS_PYTHON=/path/to/python python -m benchmarks.campbell
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assembly
import modal

Array = NDArray[np.float64]

LENGTH, DIAMETER, ELEMENTS = 1.5, 0.05, 24
E, NU, RHO = 2.11e11, 0.3, 7810.0
DISCS = ((0.5, 0.28, 0.07), (1.0, 0.35, 0.07))  # at, outer diameter, width; m
STIFFNESS, DAMPING = (1.0e6, 0.8e6), 100.0
TOP_SPEED, SPEEDS, MODES = 500.0, 50, 6
REPEATS = 3

ROSS = Path(__file__).with_name("campbell_ross.py")


def rotor(damping: float) -> assembly.Rotor:
    """Our model of the rotor; damping: of each bearing, N·s/m."""
    steel = assembly.Material(E=E, nu=NU, rho=RHO)
    return assembly.rotor(
        [(LENGTH, assembly.circle(DIAMETER))],
        steel,
        ELEMENTS,
        discs=[assembly.Disc.solid(x, d, DIAMETER, w, steel) for x, d, w in DISCS],
        bearings=[assembly.Bearing(x, STIFFNESS, damping) for x in (0.0, LENGTH)],
    )


def ours(damping: float) -> tuple[list[float], Array]:
    """Times of the whole diagram (s) and frequencies (speeds, modes), rad/s."""
    speeds = np.linspace(0.0, TOP_SPEED, SPEEDS)
    times = []
    for _ in range(REPEATS):
        model = rotor(damping)
        start = time.perf_counter()
        tracks = modal.track(model, omega=speeds, k=MODES, whirl_axis=(1, 0, 0), progress=False)
        times.append(time.perf_counter() - start)
    return times, 2.0 * np.pi * tracks["frequency"].values


def ross(python: str, damping: float) -> dict[str, Any]:
    """The same by ROSS in another interpreter."""
    job = dict(rho=RHO, E=E, nu=NU, elements=ELEMENTS, length=LENGTH, diameter=DIAMETER)
    job |= dict(discs=DISCS, stiffness=STIFFNESS, damping=damping, top=TOP_SPEED)
    # two modes more: ROSS's elements also stretch and twist
    job |= dict(speeds=SPEEDS, modes=MODES + 2, repeats=REPEATS)
    command = [python, str(ROSS)]
    done = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def agreement(mine: Array, theirs: Array) -> float:
    """Largest relative distance of one of our frequencies to the nearest of theirs at its speed."""
    near = np.abs(theirs[:, None, :] / mine[:, :, None] - 1.0).min(axis=2)
    return float(near.max())


def main() -> None:
    """Print the times a speed, their ratio, and how well the frequencies agree."""
    python = os.environ.get("ROSS_PYTHON")
    for damping in (0.0, DAMPING):
        print(f"bearings with {damping:g} N·s/m, best of {REPEATS} runs on a new model each")
        times, frequencies = ours(damping)
        own = min(times) / SPEEDS
        print(f"  this program   {1e3 * own:8.2f} ms a speed")
        if python is None:
            print("  ROSS           not timed: ROSS_PYTHON names no interpreter that has it")
            continue
        result = ross(python, damping)
        other = min(result["times"]) / SPEEDS
        print(f"  ROSS {result['version']:<9} {1e3 * other:8.2f} ms a speed")
        print(f"  ratio          {other / own:8.1f}")
        apart = agreement(frequencies, np.array(result["frequencies"]))
        print(f"  largest relative difference of a frequency {apart:.1e}")


if __name__ == "__main__":
    main()
