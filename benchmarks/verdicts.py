"""False verdicts of `modal.stability` and of maps, over random machines: there must be none.

    python -m benchmarks.verdicts [--count 2000] [--seed 1]

Five tables. `modal.stability` as it is called, on small machines (LAPACK on all modes) and on those
of 300 to 1,500 unknowns (negative dampers, follower forces, fine meshes); the same function by a
reduced basis and the count beside it alone, which the benchmark reaches by setting the limits
`ALL_MODES` and `AFFORDABLE` of modal/proofs/verdict.py to zero; every point of
`modal.stability_map` over small grids; and `modal.floquet` of oscillators with pulses, whose truth
are products of exponentials. Each other verdict is compared with the truth of
tests/support/verdict_truth.py, that of a small machine with the verdict in other units, and the
critical eigenvalue of a middling machine with 50 digits. The exit code is 1 unless no machine is
called stable or unstable falsely, no error exceeds its bound, and less than 5 % are undecided.
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
from benchmarks.verdict_large import LARGER
from benchmarks.verdict_local import brake, follower_force, negative_damper
from benchmarks.verdict_machines import DERIVED
from benchmarks.verdict_maps import map_points
from benchmarks.verdict_models import ASSEMBLED
from benchmarks.verdict_pulses import pulse_points
from benchmarks.verdict_variants import HARDER, in_other_units
from modal.proofs.verdict import Stability
from tests.support.fine_meshes import fine_column, fine_shaft
from tests.support.free_machines import FREE
from tests.support.machines import Machine
from tests.support.verdict_truth import Truth, refined, truth

UNDECIDED = 0.05  # share that may be undecided, but by a reduced basis alone
PROVED = 0.9  # share that must be proved where damping is positive definite
NULL = 1e-12  # of a unit diagonal: damping is positive definite above
RESOLVED = 1e-12  # of |λ|: a growth rate below is at the round-off of the matrices
KINDS: dict[str, Callable[[np.random.Generator], Machine]] = DERIVED | FREE | HARDER | ASSEMBLED
MIDDLING: dict[str, Callable[[np.random.Generator], Machine]] = {
    "negative dampers": negative_damper,
    "falling friction": brake,
    "follower forces": follower_force,
    "fine shafts": fine_shaft,
    "fine columns": fine_column,
}


@dataclass
class Row:
    """Counts of one kind of machine.

    contradicted: verdicts that differ in other units. other: unstable machines whose growth rate is
    not the largest, by more than its bound (a faster mode was not examined). violated: critical
    eigenvalues off by more than their bound. open: the truth is not known.
    """

    number: int = 0
    false_stable: int = 0
    false_unstable: int = 0
    contradicted: int = 0
    other: int = 0
    violated: int = 0
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
    """The truth of a machine, from its matrices alone."""
    system = machine.system
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    return truth(M, C, K, machine.zeros, machine.prescribed)


def asked(row: Row, machine: Machine, real: Truth, name: str, seed: int) -> Stability | None:
    """Count the verdict of `modal.stability` on one machine; None after an error."""
    try:
        found = modal.stability(machine.system)
    except FrozenMotionError as fault:
        row.number += 1
        row.undecided += 1
        row.proofs["error"] += 1
        print(f"  {name}, seed {seed}: {type(fault).__name__}: {fault}")
        return None
    wrong = row.add(found.verdict, found.proof, real, is_damped(machine.system))
    if wrong:
        print(
            f"  {wrong}: {name}, seed {seed}, n = {machine.system.n}: {found.verdict} "
            f"({found.proof}) {found.growth_rate:.6g} ± {found.error_bound:.1e}; "
            f"true {real.growth:.6g} of |λ| = {real.size:.4g}"
        )
    if found.unstable_modes and real.growth > 0.0 and not real.is_open:
        known = found.error_bound + real.resolution + 1e-12 * real.size
        row.other += abs(found.growth_rate - real.growth) > known
    return found


def middling_table(count: int, seed: int) -> dict[str, Row]:
    """`modal.stability` on machines of 300 to 1,500 unknowns; critical eigenvalues in 50 digits."""
    rows = {name: Row() for name in MIDDLING}
    for name, number, machine in machines(MIDDLING, count, seed):
        found = asked(rows[name], machine, exact(machine), name, number)
        if found is None or not len(found.eigenvalues):
            continue
        j = int(np.abs(found.eigenvalues.real - found.growth_rate).argmin())
        system, value = machine.system, complex(found.eigenvalues[j])
        matrices = [A.toarray() for A in (system.M, system.damping, system.stiffness)]
        true = refined(*matrices, value)
        if true is None:
            print(f"  no truth in 50 digits: {name}, seed {number}, {value}")
        elif abs(true - value) > found.bounds[j]:
            rows[name].violated += 1
            print(
                f"  violated: {name}, seed {number}: {value} ± {found.bounds[j]:.1e}, true {true}"
            )
    return rows


def machines(
    kinds: dict[str, Callable[[np.random.Generator], Machine]], count: int, seed: int
) -> Iterator[tuple[str, int, Machine]]:
    """`count` machines, as many of every kind, with the seed of each."""
    for i, name in enumerate(kinds):
        for j in range(count // len(kinds) + (i < count % len(kinds))):
            number = 100_000 * seed + 1000 * i + j
            yield name, number, kinds[name](np.random.default_rng(number))


def small_table(count: int, seed: int) -> dict[str, Row]:
    """`modal.stability` as it is called, and on the same machines in other units."""
    rows = {name: Row() for name in KINDS}
    for name, number, machine in machines(KINDS, count, seed):
        real = exact(machine)
        first = asked(rows[name], machine, real, name, number)
        other = in_other_units(np.random.default_rng(number + 7), machine)
        second = asked(Row(), other, real, f"{name} in other units", number)
        words = [found.verdict for found in (first, second) if found is not None]
        if len({*words} - {"undecided"}) == 2:
            rows[name].contradicted += 1
            print(f"  contradicted in other units: {name}, seed {number}: {words}")
    return rows


def large_table(count: int, seed: int) -> dict[str, Row]:
    """By a reduced basis alone, free bodies among them."""
    kinds = LARGER | FREE
    rows = {name: Row() for name in kinds}
    limits = modal.proofs.verdict.ALL_MODES, modal.proofs.verdict.AFFORDABLE
    modal.proofs.verdict.ALL_MODES = modal.proofs.verdict.AFFORDABLE = 0
    try:
        for name, number, machine in machines(kinds, count, seed):
            asked(rows[name], machine, exact(machine), name, number)
    finally:
        modal.proofs.verdict.ALL_MODES, modal.proofs.verdict.AFFORDABLE = limits
    return rows


def map_table(count: int, seed: int) -> dict[str, Row]:
    """Every point of `count` maps."""
    rows: dict[str, Row] = {}
    for name, number, point, verdict, proof, machine in map_points(count, seed):
        row = rows.setdefault(name, Row())
        wrong = row.add(verdict, proof, exact(machine), is_damped(machine.system))
        if wrong:
            print(f"  {wrong}: {name}, seed {number}, {point}: {verdict} ({proof})")
    return rows


def pulse_table(count: int, seed: int) -> dict[str, Row]:
    """Floquet verdicts on `count` oscillators whose springs have short pulses."""
    rows: dict[str, Row] = {}
    for name, number, found, due in pulse_points(count, seed):
        row = rows.setdefault(name, Row())
        size = float(np.abs(found.exponents).max())
        verdict = "flutter" if found.verdict == "unstable" else found.verdict
        wrong = row.add(verdict, "count", Truth(due, size, 0.0, RESOLVED * size, False), False)
        growth = found.growth_rate.max()
        row.violated += abs(growth - due) > found.error.max() + RESOLVED * size
        if wrong:
            print(f"  {wrong}: {name}, seed {number}: {growth:.6g}, true {due:.6g}")
    return rows


COLUMNS = (
    ("false", "stable"), ("false", "unstable"), ("", "proved"), ("", "undecided"), ("by", "energy"),
    ("", "count"), ("", "lyapunov"), ("", "mode"), ("other", "units"), ("other", "growth"),
    ("bounds", "violated"), ("truth", "open"),
)  # fmt: skip


def show(title: str, rows: dict[str, Row], allowed: float = UNDECIDED) -> bool:
    """Print a table; whether it holds what is asked. allowed: share that may be undecided."""
    total = sum(rows.values(), Row())
    print(f"\n{title}")
    for line in (0, 1):
        head = "kind" if line else ""
        number = "number" if line else ""
        print(f"{head:<26}{number:>7}" + "".join(f"{names[line]:>10}" for names in COLUMNS))
    for name, row in (*rows.items(), ("all", total)):
        decided = f"{100.0 * (row.number - row.undecided) / max(row.number, 1):.1f} %"
        proofs = [row.proofs[proof] for proof in ("energy", "count", "lyapunov", "mode")]
        values = [row.false_stable, row.false_unstable, decided, row.undecided, *proofs]
        values += [row.contradicted, row.other, row.violated, row.open]
        print(f"{name:<26}{row.number:>7}" + "".join(f"{value:>10}" for value in values))
    share = total.damped_proved / total.damped if total.damped else 1.0
    print(f"damping positive definite: {total.damped}, of which proved {100.0 * share:.1f} %")
    undecided = total.undecided / max(total.number, 1)
    wrong = total.false_stable + total.false_unstable + total.contradicted + total.violated
    good = wrong == 0 and share > PROVED and undecided <= allowed
    print(
        f"goal: false 0, contradicted 0, bounds violated 0: {wrong}; undecided at most "
        f"{100.0 * allowed:.0f} %: {100.0 * undecided:.1f} %: {'met' if good else 'NOT MET'}"
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="machines of the first table")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    good = show("modal.stability", small_table(options.count, options.seed))
    good &= show("modal.stability, middling", middling_table(options.count // 200, options.seed))
    good &= show("by a reduced basis", large_table(options.count // 10, options.seed), allowed=1.0)
    good &= show("modal.stability_map", map_table(options.count // 400, options.seed))
    good &= show("modal.floquet", pulse_table(options.count // 20, options.seed))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
