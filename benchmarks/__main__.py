"""All benchmarks, one after the other: python -m benchmarks [NAME …].

Each runs in a process of its own and prints ratios measured side by side in that process. One that
needs a package that is missing says so and is passed over.
"""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "imports",
    "instant",
    "count",
    "sweep",
    "map",
    "proof",
    "campbell",
    "solid_assembly",
    "tracking",
    "formalisms",
    "floquet_blades",
    "mechanisms",
    "links",
    "moving_body",
    "link_accuracy",
    "verdicts",
    "energy_momentum",
    "exudyn_transients",
    "exudyn_solid_rod",
)


def main(wanted: list[str]) -> int:
    """Run the named benchmarks, or all; the number of those that failed."""
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted or NAMES:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
