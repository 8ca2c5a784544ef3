"""Mechanisms of one to four elastic links on reduced bases: do the stated errors cover the errors?

    python -m benchmarks.link_accuracy [NAME …]

Each error is divided by the one that is stated with it: of the eigenvalues at random instants of a
turn (`modal.track`, tolerance 1e-6), against full solves; of a transient in the norm of the mass,
against the same steps of the full mechanism; of the Floquet exponents of the two slowest modes,
against the monodromy of all degrees of freedom in steps of order 12. The monodromies are those of
coarser meshes, for which bodies of 60 degrees of freedom have bases; the last column is the largest
error that the exponents state, relative to the frequency.
"""

from __future__ import annotations

import sys

from assembly.mechanisms import mechanism as mechanisms
from tests.support import link_errors
from tests.support.link_machines import COARSE, FINE, MACHINES

COMPARED = 5  # random instants of every machine
SMALLEST_BODY = 60  # degrees of freedom, of the coarse meshes


def main(names: list[str]) -> int:
    """One line a machine; 1 where a stated error does not cover."""
    unknown = [name for name in names if name not in MACHINES]
    if unknown:
        print(f"no machine {unknown[0]!r}; there are {', '.join(MACHINES)}", file=sys.stderr)
        return 2
    usual, missed = mechanisms.LARGE_BODY, 0
    print(f"{'error / stated error':<20} {'eigenvalues':>12} {'transient':>10} {'exponents':>10}")
    for name in names or MACHINES:
        machine = MACHINES[name](FINE)
        frozen = link_errors.of_eigenvalues(machine, COMPARED)
        transient = link_errors.of_transient(machine)
        mechanisms.LARGE_BODY = SMALLEST_BODY
        try:
            exponents, stated = link_errors.of_exponents(MACHINES[name](COARSE))
        finally:
            mechanisms.LARGE_BODY = usual
        covered = max(frozen, transient, exponents) <= 1.0
        missed += not covered
        print(
            f"{name:<20} {frozen:12.3f} {transient:10.3f} {exponents:10.3f}  "
            f"{'covered' if covered else 'NOT covered'}, exponents to {stated:.0e}",
            flush=True,
        )
    print(f"{len(names or MACHINES) - missed} of {len(names or MACHINES)} covered")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
