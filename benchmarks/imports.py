"""Processor time of importing the packages and of the first words of the command line.

    python -m benchmarks.imports [--repeats N]

Each command runs in an interpreter of its own, alternately; medians. Goals: `import modal` below
1.2 times numpy, scipy.sparse and xarray together; `frozen-motion --help` less than 0.5 s above an
interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

FLOOR, LIBRARIES, HELP = "nothing", "numpy, scipy.sparse, xarray", "frozen-motion --help"
COMMANDS = {
    FLOOR: ["-c", "pass"],
    LIBRARIES: ["-c", "import numpy, scipy.sparse, xarray"],
    "import modal": ["-c", "import modal"],
    "beam, solve, track": ["-c", "from assembly import beam; from modal import solve, track"],
    "all public names": ["-c", "from assembly import *; from modal import *"],
    HELP: ["-m", "studies", "--help"],
}


def seconds(arguments: list[str]) -> float:
    """Processor seconds of an interpreter."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user - before.children_user
    return spent + after.children_system - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    runs: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeats + 1):
        for name, arguments in COMMANDS.items():
            runs[name].append(seconds(arguments))
    found = {name: statistics.median(values[1:]) for name, values in runs.items()}
    for name, value in found.items():
        print(f"{name:<28} {value:6.2f} s  {value / found[LIBRARIES]:5.2f} × {LIBRARIES}")
    print(f"{HELP}: {found[HELP] - found[FLOOR]:.2f} s above an interpreter that does nothing")


if __name__ == "__main__":
    main()
