"""Nonlinear transients against recorded curves of Exudyn (benchmarks/exudyn_transients.py)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support import transient_machines as machines
from tests.support.paths import REFERENCES

RECORD = json.loads((REFERENCES / "exudyn_transients.json").read_text())


def difference(ours: machines.Array, theirs: machines.Array) -> float:
    """rms of the difference over the rms of their deflection."""
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
def test_flexible_slider_crank() -> None:
    """A rod that bends by 1.7 times its thickness, over one turn."""
    p = RECORD["slider_crank"]["parameters"]
    machine = machines.slider_crank(p, 4)
    theirs = machines.seen_from_rod(machine, np.array(RECORD["slider_crank"]["position"]), p)
    ours, _ = machines.middle_of_rod(machine, p, 2e-4, len(theirs) - 1)
    assert np.abs(theirs).max() > 1.5 * p["height"]
    assert difference(ours, theirs) < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
def test_arm_that_spins_up_in_space() -> None:
    """An arm whose tip moves by a sixth of its length, in and out of the plane of rotation."""
    p = RECORD["arm"]["parameters"]
    theirs = machines.seen_from_hub(np.array(RECORD["arm"]["position"]), p)
    ours, _ = machines.tip_of_arm(machines.arm(p, 4), p, 2e-3, len(theirs) - 1)
    assert np.abs(theirs).max(axis=0)[1:].min() > 0.15
    assert difference(ours, theirs) < 0.02
