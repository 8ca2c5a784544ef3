"""Stability maps in processes that are killed (SIGKILL) at random moments and resumed.

python -m tests.support.killed_maps CASE STORE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import xarray as xr

import assembly
import modal.maps.stability_maps as stability

# Rayleigh damping a (1/s), b (s), elements, points of ω and of ε, points of a tile. Two tiles of
# the undamped map need vectors of their own.
CASES = {"undamped": (0.0, 0.0, 12, (15, 14), 16), "damped": (6.0, 1e-6, 6, (12, 11), 9)}
LONGEST = 120.0  # s that one run may take
LEAST = 0.2  # share of an unbroken run that a resumed one takes at least


@dataclass
class Outcome:
    """What a series of kills did. different: values that differ from the unbroken map."""

    kills: int = 0
    maps: int = 0
    before_store: int = 0
    different: int = 0
    leftovers: int = 0


def make(case: str, store: Path) -> None:
    """Compute, or go on with, the map of a case."""
    a, b, elements, points, tile = CASES[case]
    body = assembly.beam(
        1.0, assembly.rectangle(0.05, 0.02), assembly.steel, elements, clamped="start"
    ).with_damping(a=a, b=b)
    omega, epsilon = np.linspace(0.0, 400.0, points[0]), np.linspace(-2e5, 2e5, points[1])
    with patch.object(stability, "TILE_POINTS", tile):
        stability.stability_map(
            body, omega=omega, epsilon=epsilon,
            axis=(0.0, 0.2, 1.0), k=4, store=store, resume=True, progress=False,
        )  # fmt: skip


def series(case: str, kills: int, seed: int, folder: Path) -> Outcome:
    """Kill runs until that many were killed; every map that is finished is compared."""
    rng = np.random.default_rng(seed)
    whole = folder / f"{case}-whole.zarr"
    with running(case, whole) as process:
        start = time.monotonic()
        process.wait(LONGEST)
        duration = time.monotonic() - start
    expected = values(whole)
    outcome = Outcome()
    while outcome.kills < kills:
        store = folder / f"{case}-{outcome.maps}.zarr"
        outcome.maps += 1
        while True:
            left = max(LEAST, 1.0 - share(store)) * duration
            moment = rng.uniform(0.0, left) if outcome.kills < kills else LONGEST
            with running(case, store) as process:
                try:
                    process.wait(moment)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    outcome.kills += 1
                    outcome.before_store += not store.exists()
                    continue
            if process.returncode != 0:
                raise RuntimeError(
                    f"{case}: a resumed run ended with exit code {process.returncode}"
                )
            break
        found = values(store)
        outcome.different += sum(int((found[name] != expected[name]).sum()) for name in expected)
    outcome.leftovers = len(list(folder.rglob("*.partial")))
    return outcome


@contextmanager
def running(case: str, store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has read its modules and now makes the map."""
    root = Path(__file__).parents[2]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(root))
    command = [sys.executable, "-m", "tests.support.killed_maps", case, str(store)]
    process = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def share(store: Path) -> float:
    """Share of the points of a store that are done."""
    if not store.exists():
        return 0.0
    with xr.open_zarr(store, consolidated=False) as stored:
        return float(stored.done.values.mean())


def values(store: Path) -> dict[str, np.ndarray]:
    """The bits of all variables of a stored map."""
    with xr.open_zarr(store, consolidated=False) as stored:
        return {
            str(name): np.frombuffer(variable.values.tobytes(), dtype=np.uint8)
            for name, variable in stored.data_vars.items()
        }


def main(case: str, store: str) -> None:
    """Make or resume the map of a case; the first line says that the modules are read."""
    print("started", flush=True)
    make(case, Path(store))


if __name__ == "__main__":
    main(*sys.argv[1:])
