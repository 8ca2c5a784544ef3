"""False verdicts of `modal.stability` and of maps, over random machines: there must be none.

    python -m benchmarks.verdicts [--count 2000] [--seed 1]

Three tables. `modal.stability` as it is called (small machines, LAPACK on all modes); the same
function by the way that large systems take, a reduced basis and the count beside it, which the
benchmark reaches by setting `modal.proofs.verdict.ALL_MODES` to zero; and every point of
`modal.stability_map` over small grids. Each verdict is compared with the truth of
benchmarks/verdict_truth.py, and with the verdict on the same machine in other units.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as la

import modal
import modal.proofs.verdict
from assembly.errors import FrozenMotionError
from assembly.system.frozen import FrozenSystem
from benchmarks.verdict_machines import DERIVED, Machine
from benchmarks.verdict_maps import map_points
from benchmarks.verdict_models import ASSEMBLED
from benchmarks.verdict_truth import Truth, truth
from benchmarks.verdict_variants import HARDER, in_other_units

PROVED = 0.9  # share that must be proved where damping is positive definite
NULL = 1e-12  # of a unit diagonal: damping is positive definite above
RESOLVED = 1e-8  # of |λ|: a growth rate that a verdict must see
KINDS: dict[str, Callable[[np.random.Generator], Machine]] = DERIVED | HARDER | ASSEMBLED


@dataclass
class Row:
    """Counts of one kind of machine."""

    number: int = 0
    false_stable: int = 0
    false_unstable: int = 0
    contradicted: int = 0
    missed: int = 0
    open: int = 0
    undecided: int = 0
    proofs: Counter[str] = field(default_factory=Counter)
    damped: int = 0
    damped_proved: int = 0

    def add(self, verdict: str, proof: str, real: Truth, damped: bool) -> str:
        """Count one verdict; what is wrong with it, or nothing."""
        self.number += 1
        self.proofs[proof] += 1
        decided = verdict != "undecided"
        self.undecided += not decided
        self.damped += damped
        self.damped_proved += damped and decided
        if real.is_open:
            self.open += 1
            return ""
        if verdict == "stable" and real.growth > RESOLVED * real.size:
            self.false_stable += 1
            return "false stable"
        if verdict in ("divergence", "flutter") and real.growth <= 0.0:
            self.false_unstable += 1
            return "false unstable"
        return ""

    def __add__(self, other: Row) -> Row:
        values = {name: getattr(self, name) + getattr(other, name) for name in vars(self)}
        return Row(**values)


def is_damped(system: FrozenSystem) -> bool:
    """Whether the damping is positive definite."""
    D = system.damping.toarray()
    diagonal = np.diag(D)
    if np.any(diagonal <= 0.0):
        return False
    scale = 1.0 / np.sqrt(diagonal)
    return bool(la.eigvalsh(0.5 * (D + D.T) * np.outer(scale, scale))[0] > NULL)


def exact(machine: Machine) -> Truth:
    system = machine.system
    return truth(
        *(A.toarray() for A in (system.M, system.damping, system.stiffness)), machine.zeros
    )


def asked(row: Row, machine: Machine, real: Truth, name: str, seed: int) -> str:
    """Count the verdict of `modal.stability` on one machine; the verdict, empty after an error."""
    try:
        result = modal.stability(machine.system)
    except FrozenMotionError as fault:
        row.number += 1
        row.undecided += 1
        row.proofs["error"] += 1
        print(f"  {name}, seed {seed}: {type(fault).__name__}: {fault}")
        return ""
    wrong = row.add(result.verdict, result.proof, real, is_damped(machine.system))
    if wrong:
        print(
            f"  {wrong}: {name}, seed {seed}, n = {machine.system.n}: {result.verdict} ({result.proof}) "
            f"{result.growth_rate:.6g} ± {result.error_bound:.1e}; true {real.growth:.6g} of |λ| = {real.size:.4g}"
        )
    if result.unstable_modes and real.growth > 0.0 and not real.is_open:
        row.missed += (
            abs(result.growth_rate - real.growth)
            > result.error_bound + real.resolution + 1e-12 * real.size
        )
    return result.verdict


def machines(
    kinds: dict[str, Callable[[np.random.Generator], Machine]], count: int, seed: int
) -> Iterator[tuple[str, int, Machine]]:
    for i, name in enumerate(kinds):
        for j in range(count // len(kinds) + (i < count % len(kinds))):
            number = 100_000 * seed + 1000 * i + j
            yield name, number, kinds[name](np.random.default_rng(number))


def small_table(count: int, seed: int) -> dict[str, Row]:
    rows = {name: Row() for name in KINDS}
    for name, number, machine in machines(KINDS, count, seed):
        real = exact(machine)
        first = asked(rows[name], machine, real, name, number)
        other = in_other_units(np.random.default_rng(number + 7), machine)
        both = {
            first,
            asked(Row(), other, real_in_units(other, real), f"{name} in other units", number),
        }
        if ("stable" in both and both & {"divergence", "flutter"}) or {
            "divergence",
            "flutter",
        } <= both:
            rows[name].contradicted += 1
            print(f"  contradicted in other units: {name}, seed {number}: {both}")
    return rows


def real_in_units(machine: Machine, real: Truth) -> Truth:
    """The truth of a machine in other units of time, whose growth rate has the sign of the first."""
    return Truth(real.growth, real.size, real.frequency, real.resolution, real.exact)


def large_table(count: int, seed: int) -> dict[str, Row]:
    """By the way of large systems."""
    from benchmarks.verdict_large import LARGER

    rows = {name: Row() for name in LARGER}
    kept = modal.proofs.verdict.ALL_MODES
    modal.proofs.verdict.ALL_MODES = 0
    try:
        for name, number, machine in machines(LARGER, count, seed):
            asked(rows[name], machine, exact(machine), name, number)
    finally:
        modal.proofs.verdict.ALL_MODES = kept
    return rows


def map_table(count: int, seed: int) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for name, number, point, verdict, proof, machine in map_points(count, seed):
        row = rows.setdefault(name, Row())
        wrong = row.add(verdict, proof, exact(machine), is_damped(machine.system))
        if wrong:
            print(f"  {wrong}: {name}, seed {number}, {point}: {verdict} ({proof})")
    return rows


def show(title: str, rows: dict[str, Row]) -> bool:
    """Print a table; whether it holds what is asked."""
    total = sum(rows.values(), Row())
    print(f"\n{title}")
    print(
        f"{'kind':<27}{'number':>7}{'false':>8}{'false':>10}{'proved':>8}{'undecided':>11}{'by energy':>11}"
        f"{'count':>7}{'lyapunov':>10}{'mode':>6}{'open':>6}{'units':>7}{'bound':>7}"
    )
    print(f"{'':<34}{'stable':>8}{'unstable':>10}")
    for name, row in (*rows.items(), ("all", total)):
        decided = 100.0 * (row.number - row.undecided) / max(row.number, 1)
        print(
            f"{name:<27}{row.number:>7}{row.false_stable:>8}{row.false_unstable:>10}{decided:>7.1f}%"
            f"{row.undecided:>11}{row.proofs['energy']:>11}{row.proofs['count']:>7}"
            f"{row.proofs['lyapunov']:>10}{row.proofs['mode']:>6}{row.open:>6}{row.contradicted:>7}{row.missed:>7}"
        )
    share = total.damped_proved / max(total.damped, 1)
    print(f"damping positive definite: {total.damped}, of which proved {100.0 * share:.1f} %")
    return not (total.false_stable or total.false_unstable or total.contradicted) and share > PROVED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="machines of the first table")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    good = show("modal.stability", small_table(options.count, options.seed))
    good &= show("by a reduced basis", large_table(options.count // 10, options.seed))
    good &= show("modal.stability_map", map_table(options.count // 100, options.seed))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
