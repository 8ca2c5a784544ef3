"""Energy and momentum of a free, flexible plate over 10⁵ energy-momentum steps, and their cost."""

from __future__ import annotations

import sys
import time

import numpy as np

import modal
from tests.support.free_plate import free_plate

STEP, STEPS = 5e-4, 100_000


def main(wanted: list[str]) -> int:
    """[N]: number of steps."""
    count = int(wanted[0]) if wanted else STEPS
    model, start = free_plate()
    modal.integrate(model, (0.0, STEP), start, nonlinear=True, step=STEP, method="energy-momentum")
    begin = time.process_time()
    found = modal.integrate(
        model, (0.0, count * STEP), start, nonlinear=True, step=STEP, method="energy-momentum",
        probes=[0], every=max(1, count // 200),
    )  # fmt: skip
    spent = time.process_time() - begin
    energy, strain = found.energy.values, found.strain_energy.values
    print(f"{count} steps, {spent:.0f} s of processor time, {1e3 * spent / count:.2f} ms a step")
    print(f"energy: {np.abs(energy - energy[0]).max() / energy[0]:.1e}", end=", ")
    print(f"strain energy up to {strain.max() / energy[0]:.1%} of it", end=", ")
    for name in ("momentum", "angular_momentum"):
        x = found[name].values
        print(f"{name}: {np.abs(x - x[0]).max() / np.abs(x[0]).max():.1e}", end="; ")
    print("largest relative change")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
