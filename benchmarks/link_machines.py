"""Thirteen mechanisms with large elastic links: do the stated bounds cover the errors?

    python -m benchmarks.link_machines [NAME …]

Each is followed over a turn on reduced bases of its links (`modal.track`, tolerance 1e-6) and
compared with full solves at random instants; and integrated over a few steps, compared with the
same steps of the full mechanism.
"""

from __future__ import annotations

import sys

from tests.support.link_machines import MACHINES, ratios, transient_ratio


def main(names: list[str]) -> None:
    """One line a machine."""
    worst = 0.0
    for name in names or MACHINES:
        found = ratios(MACHINES[name]())
        moved = transient_ratio(MACHINES[name]())
        worst = max(worst, float(found.max()), moved)
        print(
            f"{name:<20} error / bound: largest {found.max():.3f}, of a transient {moved:.3f}",
            flush=True,
        )
    print(f"all bounds hold: {worst <= 1.0}")


if __name__ == "__main__":
    main(sys.argv[1:])
