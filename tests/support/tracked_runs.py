"""Runs of `modal.track` that are stopped and resumed, one of each source of modes.

python -m tests.support.tracked_runs CASE STORE
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import assembly
import modal
from assembly.gallery import solid_slider_crank
from modal.tracking import store as track_store
from studies import slider_crank

BLADE = assembly.beam(
    1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6, clamped="start"
).with_damping(a=3.0, b=1e-5)
CASES: dict[str, dict[str, Any]] = {
    "reduced": dict(
        model=BLADE, omega=np.linspace(0.0, 600.0, 130), epsilon=2000.0, axis=(0, 0, 1), k=4
    ),
    "smooth": dict(model=slider_crank.model(elements=2), times=np.linspace(0.0, 0.04, 100), k=3),
    "full": dict(
        model=slider_crank.model(elements=2), times=np.linspace(0.0, 0.04, 25), k=3, backend="slepc"
    ),
    "links": dict(
        model=solid_slider_crank((6, 1, 1))(157.0), times=np.linspace(0.0, 0.03, 52), k=3
    ),
}


def main(case: str, store: str) -> None:
    """Make or resume the run of a case, writing every 0.02 s."""
    track_store.INTERVAL = 0.02
    modal.track(**CASES[case], store=store, resume=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
