"""Nonlinear transients beside Exudyn: a flexible slider-crank and an arm that spins up in space.

python -m benchmarks.exudyn_transients [--record FILE]   keeps Exudyn's curves as a reference
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from tests.support import transient_machines as machines

COUNT = 50  # instants that are compared
STEPS = {"slider_crank": 1e-5, "arm": 1e-4}  # s, of Exudyn
OURS = {"slider_crank": 2e-4, "arm": 2e-3}


def main(wanted: list[str]) -> int:
    """Compare both machines; 0 where Exudyn is missing too."""
    try:
        from benchmarks import exudyn_machines as exudyn
    except ImportError:
        print("skipped: Exudyn is not installed (pip install exudyn)")
        return 0
    warnings.simplefilter("ignore")
    crank, arm = machines.SLIDER_CRANK, machines.ARM
    start = time.process_time()
    curves = {
        "slider_crank": exudyn.slider_crank(crank, 32, STEPS["slider_crank"], COUNT),
        "arm": exudyn.spin_up(arm, 8, STEPS["arm"], COUNT),
    }
    print(f"Exudyn {exudyn.version()}: {time.process_time() - start:.1f} s of processor time")
    if wanted[:1] == ["--record"]:
        record = dict(
            program=f"Exudyn {exudyn.version()}",
            slider_crank=dict(parameters=crank, position=curves["slider_crank"].tolist()),
            arm=dict(parameters=arm, position=curves["arm"].tolist()),
        )
        Path(wanted[1]).write_text(json.dumps(record) + "\n")
    machine = machines.slider_crank(crank, 4)
    start = time.process_time()
    ours, _ = machines.middle_of_rod(machine, crank, OURS["slider_crank"], COUNT)
    spent = time.process_time() - start
    theirs = machines.seen_from_rod(machine, curves["slider_crank"], crank)
    report("flexible slider-crank, middle of the rod", ours, theirs, spent, crank["rod"])
    start = time.process_time()
    ours, _ = machines.tip_of_arm(machines.arm(arm, 4), arm, OURS["arm"], COUNT)
    spent = time.process_time() - start
    theirs = machines.seen_from_hub(curves["arm"], arm)
    report("spin-up of an arm in space, tip", ours, theirs, spent, arm["length"])
    return 0


def report(name: str, ours: machines.Array, theirs: machines.Array, spent: float, L: float) -> None:
    """One line: deflection and the difference of the two programs."""
    size = np.abs(theirs).max() / L
    off = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    print(f"{name}: deflection {size:.1%} of the length, rms difference {off:.2%}, {spent:.0f} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
