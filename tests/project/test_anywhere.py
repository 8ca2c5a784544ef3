"""The generator of random work runs, and its checks agree (benchmarks/anywhere)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
def test_tiny_draws_are_measured_and_right() -> None:
    command = [sys.executable, "-m", "benchmarks.anywhere", "--here", "--seed", "2", "--count", "5"]
    command += ["--verbs", "solve", "stability_map", "frequency_response"]
    lines = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["2:0", "2:3", "2:4"]
    assert [line.split()[0] for line in lines] == ["solve", "stability_map", "frequency_response"]
    assert all(" s, done), " in line for line in lines), lines
