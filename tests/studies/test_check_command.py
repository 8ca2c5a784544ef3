"""The command check: an honest verdict, progress in every phase, nothing lost on Ctrl-C."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modal
from assembly.system.frozen import FrozenSystem
from modal.checks.balance import energy_balance
from modal.checks.crosscheck import crosscheck
from modal.reduction.interpolated_motion import InterpolatedMotion
from studies.__main__ import main
from studies.model_files.loading import load_model
from tests.support.model_files import BEAM
from tests.support.paths import ROOT

MANUAL = (ROOT / "docs/commands.md").read_text()
STANDS = "  the frozen eigenvalues stand for the motion"


def crank(folder: Path, rod: int, crank: int, elastic_drive: bool = False) -> str:
    """The slider-crank of the manual with fewer elements, and a motor that gives or not."""
    blocks = re.findall(r"```toml\n(.*?)```", MANUAL, flags=re.S)
    text = next(b for b in blocks if "body.slider" in b)
    text = text.replace("elements = 10", f"elements = {rod}")
    text = text.replace("elements = 4", f"elements = {crank}")
    if elastic_drive:
        text = re.sub(r"^# (stiffness|damping) = ", r"\1 = ", text, flags=re.M)
    path = folder / "crank.toml"
    path.write_text(text)
    return str(path)


@pytest.fixture
def blade(tmp_path: Path) -> str:
    path = tmp_path / "blade.toml"
    path.write_text(BEAM + '[motion]\nkind = "spin"\naxis = [0, 0, 1]\nomega = 100.0\n')
    return str(path)


@pytest.mark.slow
def test_modes_that_change_faster_than_they_vibrate_do_not_stand_for_the_motion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["check", crank(tmp_path, 12, 12)]) == 0  # too many modes for all multipliers
    shown, progress = capsys.readouterr()
    last = shown.rstrip().splitlines()[-1]
    assert last.startswith("verdict: no vibration of the slowest modes grows over the periods")
    assert "  the frozen eigenvalues do not stand for the motion" in shown
    # The numbers it rests on: three of the four modes have no frozen interval at all somewhere.
    rows = re.findall(r"^ +(\d) +[\d.]+ .* ([\d.e+-]+) +([\d.e+-]+)$", shown, flags=re.M)
    intervals = {int(m): (float(i), float(p)) for m, i, p in rows}
    assert sorted(intervals) == [1, 2, 3, 4]
    assert sum(i == 0.0 for i, _ in intervals.values()) >= 2
    assert all(i < p for i, p in intervals.values())
    assert "shorter than a period of the vibration" in shown
    # What the unfrozen motion says, and of which modes.
    assert "the 8 multipliers of the slowest modes: none grows" in shown
    assert "faster modes were not examined" in shown
    assert "the 4 modes followed (others were not examined)" in shown
    for line in shown.splitlines():
        assert "stable" not in line or "(proof: " in line, line
    # Every phase shows its progress.
    for text in (
        "properties", "modes over time", "frozen modes as a basis", "matrices of the motion",
        "frozen modes:", "transient:", "Floquet:",
    ):  # fmt: skip
        assert text in progress, text


@pytest.mark.slow
def test_the_error_of_the_integrator_does_not_break_the_balance_of_an_elastic_drive(
    tmp_path: Path,
) -> None:
    """30 steps a cycle leave a defect of 5e-5, which falls below the bound as the steps do."""
    model = load_model(crank(tmp_path, 2, 1, elastic_drive=True)).motion
    found = energy_balance(model, t1=model.period / 5.0)
    assert found.verdict == "holds" and "30 steps" not in found.note
    assert hasattr(model, "freeze_many") and InterpolatedMotion.of(model, 0.0, model.period)


@pytest.mark.slow
def test_a_steady_rotation_stands(blade: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", blade, "--modes", "2"]) == 0
    shown = capsys.readouterr().out
    assert STANDS in shown.splitlines()
    assert shown.rstrip().splitlines()[-1].startswith("verdict: stable (proof: energy)")
    assert "the frozen interval covers a period of the vibration at every instant" in shown


class Interrupt:
    """Ctrl-C at the n-th call, after which the function is itself again."""

    def __init__(self, function: Any, after: int) -> None:
        self.function, self.left = function, after

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.function(*arguments, **options)


@pytest.mark.parametrize(
    "module, name, after, kept, missing",
    [
        (
            "modal.tracking.sources",
            "variations",
            1,
            ["P6"],
            ["Floquet"],
        ),
        (
            "modal.checks.crosscheck",
            "follow_transients",
            1,
            ["P6", "stopped before the transient was finished", "+0"],
            ["multipliers"],
        ),
        pytest.param(
            "modal.periodic.floquet",
            "decoupled_modes",
            1,
            ["P6", "stopped before the Floquet exponents were found"],
            ["multipliers"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_ctrl_c_keeps_what_was_finished(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    name: str,
    after: int,
    kept: list[str],
    missing: list[str],
) -> None:
    room = import_module(module)  # the module, not the function of that name in the package
    monkeypatch.setattr(room, name, Interrupt(getattr(room, name), after))
    assert main(["check", crank(tmp_path, 2, 1), "--modes", "1"]) == 130
    shown = capsys.readouterr()
    for text in kept:
        assert text in shown.out, text
    for text in [*missing, "verdict:"]:
        assert text not in shown.out, text
    assert shown.err.strip() == "frozen-motion: interrupted; what was finished is kept"


def test_an_interrupted_crosscheck_hands_over_the_transient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    # The module, not the function of that name in the package.
    monkeypatch.setattr(import_module("modal.checks.crosscheck"), "found_modes", stopped)
    with pytest.raises(modal.CrossCheckInterrupted, match="Floquet exponents") as caught:
        crosscheck(Swing(), period=np.pi, k=1)
    partial = caught.value.partial
    assert partial is not None and partial.floquet is None
    assert np.isfinite(partial.dataset.transient_rate[0])
    assert np.isnan(partial.dataset.floquet_rate[0])
    assert partial.diagnoses[0].outcome == "undecided"


class Swing:
    """x″ + 0.02 x′ + (1 + 0.3 cos 2t) x = 0 (Mathieu)."""

    def freeze(self, t: float) -> FrozenSystem:
        return FrozenSystem(M=[[1.0]], D=[[0.02]], K=[[1.0 + 0.3 * np.cos(2.0 * t)]])


@pytest.mark.slow
def test_share_of_the_motion_in_which_a_mode_lasts() -> None:
    """Mathieu's mode lasts 0.35 to 0.48 s where it lasts at all, and its period is 6 s; a thousand
    times slower it lasts through."""
    fast = crosscheck(Swing(), period=np.pi, k=1)
    assert float(fast.dataset.frozen_share[0]) == 0.0 and not fast.stands[0]

    class Slow:
        def freeze(self, t: float) -> FrozenSystem:
            return FrozenSystem(M=[[1.0]], D=[[0.02]], K=[[1.0 + 0.3 * np.cos(2e-3 * t)]])

    slow = crosscheck(Slow(), times=np.linspace(0.0, 1e3 * np.pi, 65), k=1)
    assert float(slow.dataset.frozen_share[0]) == 1.0 and slow.stands[0]
