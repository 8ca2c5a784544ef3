"""A stability map killed (SIGKILL) at random moments and resumed: bit by bit an unbroken one.

    python -m benchmarks.kills [--kills 40] [--seed 1] [--case damped]

The map is of a blade over speed and angular acceleration, undamped and damped; some of its tiles
need vectors of their own beyond the shared basis. A run is killed after a random share of the time
that an unbroken run needs for what is left, from its very start, so that kills fall into the making
of the store too. It is resumed until the map is finished; then a new map is started, until all
kills are made.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.killed_maps import CASES, series


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES, help="only this one")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in [arguments.case] if arguments.case else CASES:
            outcome = series(case, arguments.kills, arguments.seed, Path(folder))
            wrong += outcome.different + outcome.leftovers
            print(
                f"{case:<9} {outcome.kills} kills ({outcome.before_store} before the store was "
                f"there), {outcome.maps} maps: {outcome.different} bytes differ, "
                f"{outcome.leftovers} unfinished files left",
                flush=True,
            )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
