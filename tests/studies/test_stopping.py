"""Signals that end a run: what was finished is on disk, the exit code says which signal it was."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import modal
from studies.__main__ import main
from tests.support.model_files import CRANK, SLOW_INSTANTS, SLOW_OPTIONS, SLOW_TRACK, SPIN
from tests.support.paths import ROOT
from tests.support.processes import interruptible, wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one process at a time is started and stopped

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def studies(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "studies", *arguments]


def started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=interruptible,
    )


def last_line(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """The one line of a process that the signal has ended."""
    _, error = process.communicate(timeout=120)
    assert process.returncode == CODES[number], error
    lines = [line for line in error.splitlines() if line.strip()]
    assert len(lines) == 1, error
    return lines[0]


@pytest.fixture
def crank(tmp_path: Path) -> Path:
    path = tmp_path / "crank.toml"
    path.write_text(CRANK)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """The tracks of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "blade.toml").write_text(SLOW_TRACK)
    arguments = ["track", str(folder / "blade.toml"), *SLOW_OPTIONS, "--out", str(folder / "out")]
    assert main(arguments) == 0
    return modal.read_dataset(folder / "out" / "tracks.nc")


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES)
def test_a_track_keeps_what_was_finished(
    tmp_path: Path, number: signal.Signals, whole: xr.Dataset
) -> None:
    """A second signal at once changes nothing; --resume gives what an unbroken run gives."""
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    model.write_text(SLOW_TRACK)
    arguments = ["track", str(model), *SLOW_OPTIONS, "--out", str(out)]
    process = started(studies(*arguments))
    wait_for(out / "tracks.store" / "state.npz")
    time.sleep(0.3)
    for _ in range(3):
        process.send_signal(number)
        time.sleep(0.01)
    line = last_line(process, number)
    words = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert line == f"frozen-motion: {words}; what was finished is kept"
    partial = modal.read_dataset(out / "tracks.nc")
    count = partial.sizes["omega"]
    assert 0 < count < SLOW_INSTANTS
    asked = partial.attrs["instants"], partial.attrs["instants_requested"]
    assert asked == (count, SLOW_INSTANTS)
    assert not list(out.rglob("*.part*")) and not list(out.glob(".*"))
    assert main([*arguments, "--resume"]) == 0
    again = modal.read_dataset(out / "tracks.nc")
    assert again.drop_attrs().identical(whole.drop_attrs())
    assert np.array_equal(again["eigenvalue"].values[:count], partial["eigenvalue"].values)


@pytest.mark.slow
def test_a_map_keeps_what_was_finished(crank: Path) -> None:
    out = crank.parent / "out"
    arguments = ["map", str(crank), "--out", str(out), "--modes", "2"]
    arguments += ["--x", "speed_rpm=500:1500:10", "--y", "turn=0:0.9:14"]
    process = started(studies(*arguments))
    wait_for(out / "map.zarr")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    line = last_line(process, signal.SIGINT)
    assert line == "frozen-motion: interrupted; what was finished is kept"
    assert not (out / "map.nc").exists() and not list(out.glob(".*"))
    assert main([*arguments, "--resume"]) == 0
    assert bool(modal.read_dataset(out / "map.nc")["done"].all())


def test_a_signal_in_generated_code(tmp_path: Path) -> None:
    """Imports run strings (dataclasses); the exit code still says which signal it was."""
    (tmp_path / "stopped.py").write_text(
        "import os, signal, sys, time, studies.cli.commands as commands\n"
        "from studies.__main__ import main\n"
        "code = 'os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)'\n"
        "commands.run_app = lambda arguments: exec(code)\n"
        "sys.exit(main())\n"
    )
    root = str(ROOT)
    environment = ENVIRONMENT | {"PYTHONPATH": f"{root}{os.pathsep}{tmp_path}"}
    process = subprocess.run(
        [sys.executable, "-m", "stopped"], env=environment, preexec_fn=interruptible, check=False
    )
    assert process.returncode == CODES[signal.SIGTERM]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check", "{model}"], ["run", "slider-crank"]])
def test_check_and_run_end_in_one_line(crank: Path, command: list[str]) -> None:
    crank.write_text(re.sub(r"elements = \d+", "elements = 40", CRANK))  # for more than 3 s
    arguments = [part.format(model=crank) for part in command]
    if command[0] == "run":
        arguments += ["--out", str(crank.parent / "out")]
    process = started(studies(*arguments))
    time.sleep(3.0)
    process.send_signal(signal.SIGTERM)
    last_line(process, signal.SIGTERM)


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """nohup: the run goes on when its terminal is closed."""
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    model.write_text(SPIN)
    command = studies("track", str(model), "--over", "omega=0:200:200", "--out", str(out))
    process = subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_for(out / "study.json")
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=120) == 0
    assert modal.read_dataset(out / "tracks.nc").sizes["omega"] == 200


@pytest.mark.slow
@pytest.mark.parametrize("controls", [True, False])
def test_a_terminal_that_is_closed(tmp_path: Path, controls: bool) -> None:
    """Writing to it fails from then on. The kernel sends SIGHUP to what the terminal controls; a
    write that fails before the signal has come must end the run in the same way."""
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    model.write_text(SLOW_TRACK)
    command = studies("track", str(model), *SLOW_OPTIONS, "--out", str(out))
    try:
        terminal, end = pty.openpty()
    except OSError as fault:
        pytest.skip(f"this machine has no pseudo-terminals: {fault}")

    def attached() -> None:
        interruptible()
        if controls:
            os.setsid()
            fcntl.ioctl(end, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdin=end, stdout=end, stderr=end, preexec_fn=attached
    )
    os.close(end)
    wait_for(out / "tracks.store" / "state.npz")
    os.close(terminal)
    assert process.wait(timeout=120) == CODES[signal.SIGHUP]
    assert not list(out.rglob("*.part*")) and not list(out.glob(".*"))
