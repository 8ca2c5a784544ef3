"""Mechanisms of one to four elastic links on reduced bases: do the stated errors cover the errors?

    python -m benchmarks.link_accuracy [NAME …]

Each error is divided by the one that is stated with it: of the eigenvalues at random instants of a
turn (`modal.track`, tolerance 1e-6), against full solves; of a transient in the norm of the mass,
against the same steps of the full mechanism; of the Floquet exponents of the two slowest modes,
against the monodromy of all degrees of freedom in steps of order 12. In brackets the largest stated
error, relative. Whole monodromies are those of coarser meshes, for which bodies of 60 degrees of
freedom have bases. All machines move periodically, so that all have exponents.
"""

from __future__ import annotations

import sys
import time

from assembly.mechanisms import mechanism as mechanisms
from tests.support import link_errors
from tests.support.link_errors import Comparison
from tests.support.link_machines import COARSE, FINE, MACHINES

COMPARED = 5  # random instants of every machine
SMALLEST_BODY = 40  # degrees of freedom, of the coarse meshes
COLUMNS = ("eigenvalues", "transient", "exponents")


def compared(name: str) -> tuple[tuple[int, int], list[Comparison]]:
    """Degrees of freedom, of both meshes, and the three comparisons of a machine."""
    usual, machine = mechanisms.LARGE_BODY, MACHINES[name](FINE)
    found = [link_errors.of_eigenvalues(machine, COMPARED), link_errors.of_transient(machine)]
    mechanisms.LARGE_BODY = SMALLEST_BODY
    try:
        coarse = MACHINES[name](COARSE)
        found.append(link_errors.of_exponents(coarse))
    finally:
        mechanisms.LARGE_BODY = usual
    return (machine.freeze(0.0).n, coarse.freeze(0.0).n), found


def main(names: list[str]) -> int:
    """One line a machine; 1 where a stated error does not cover."""
    unknown = [name for name in names if name not in MACHINES]
    if unknown:
        print(f"no machine {unknown[0]!r}; there are {', '.join(MACHINES)}", file=sys.stderr)
        return 2
    chosen, missed = names or list(MACHINES), 0
    print("error / stated error (largest stated error, relative)")
    print(f"{'machine':<20} {'DOFs':>9} " + " ".join(f"{column:>17}" for column in COLUMNS))
    for name in chosen:
        start = time.process_time()
        (fine, coarse), found = compared(name)
        missed += not all(one.covered for one in found)
        cells = " ".join(f"{one.ratio:9.1e} ({one.stated:.0e})" for one in found)
        said = "" if all(one.covered for one in found) else ", NOT covered"
        seconds = time.process_time() - start
        print(f"{name:<20} {fine:4}, {coarse:3} {cells}  {seconds:4.0f} s{said}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} covered")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
