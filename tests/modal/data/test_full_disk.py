"""A disk that is full ends every command in one line, with nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from assembly.errors import StorageError
from modal.data import checkpoint
from modal.data.storage import read_dataset, write_dataset
from studies.reporting.output import OutputFolder
from tests.support.model_files import BEAM, CRANK
from tests.support.paths import ROOT

pytestmark = pytest.mark.xdist_group("processes")  # one process at a time is started and stopped

SPIN = BEAM + '[motion]\nkind = "spin"\naxis = [0, 0, 1]\nomega = 100.0\n\n[analysis]\nmodes = 3\n'
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
SHORT = ["--set", "elements=3", "--set", "duration=0.002", "--set", "timing_repeats=0"]
COMMANDS = {
    "track": ["track", "{spin}", "--over", "omega=0:200:40"],
    "track of a mechanism": ["track", "{crank}", "--times", "0:0.04:10", "--modes", "2"],
    "map": ["map", "{spin}", "--x", "omega=0:200:12", "--y", "epsilon=0:100:12"],
    "run": ["run", "rotating-bar", *SHORT],
}


def command(name: str, folder: Path, out: Path) -> list[str]:
    files = {"spin": SPIN, "crank": CRANK}
    for stem, text in files.items():
        (folder / f"{stem}.toml").write_text(text)
    places = {stem: folder / f"{stem}.toml" for stem in files}
    arguments = [part.format(**places) for part in COMMANDS[name]]
    return [sys.executable, "-m", "studies", *arguments, "--out", str(out)]


def one_line(done: subprocess.CompletedProcess[str], out: Path) -> str:
    """The error, one line of ours with exit code 3; whatever else lies there is whole."""
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("frozen-motion: ") and done.stderr.count("\n") == 1, done.stderr
    assert not list(out.rglob("*.part*"))
    assert not [p for p in out.glob(".*") if p.is_file()]
    for path in out.glob("*.nc"):
        read_dataset(path)
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limit"),
    [("track", 1_000), ("track", 50_000), ("track of a mechanism", 50_000), ("map", 50_000)],
)
def test_a_file_that_cannot_grow(name: str, limit: int, tmp_path: Path) -> None:
    """RLIMIT_FSIZE: a write beyond the limit fails as one on a full disk does.

    Not of `run`: MPI does not start with it.
    """
    out = tmp_path / "out"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        command(name, tmp_path, out), env=ENVIRONMENT, text=True, timeout=120,
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=limited,
    )  # fmt: skip
    assert "File too large" in one_line(done, out)


def mounted(size: str, folder: Path) -> list[str]:
    """The start of a command that has a small file system of its own at `folder`."""
    script = f'mount -t tmpfs -o size={size} tmpfs "{folder}" && exec "$@"'
    return ["unshare", "--mount", "bash", "-c", script, "-"]


def can_mount() -> bool:
    try:
        tried = subprocess.run([*mounted("4k", Path("/mnt")), "true"], capture_output=True)
        return tried.returncode == 0
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
@pytest.mark.parametrize(
    ("name", "size"), [("track", "4k"), ("run", "4k"), *((name, "160k") for name in COMMANDS)]
)
def test_a_full_file_system(name: str, size: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        [*mounted(size, disk), *command(name, tmp_path, disk / "out")], env=ENVIRONMENT, text=True,
        timeout=120, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("frozen-motion: ") and done.stderr.count("\n") == 1, done.stderr
    assert "No space left" in done.stderr or "disk is full" in done.stderr


def test_a_dataset_and_a_checkpoint_and_a_page(tmp_path: Path) -> None:
    """What was there before stays as it was, and no other file is left."""
    dataset = xr.Dataset({"x": ("t", np.arange(20_000.0)), "word": ("t", np.full(20_000, "none"))})
    folder = OutputFolder(tmp_path / "out", "test")
    folder.write_text("page.html", "old")
    write_dataset(dataset[["x"]].isel(t=slice(3)), tmp_path / "data.nc")
    checkpoint.save(tmp_path / "state.npz", {"x": np.zeros(3)}, {})
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        for write in (
            lambda: write_dataset(dataset, tmp_path / "data.nc"),
            lambda: checkpoint.save(tmp_path / "state.npz", {"x": np.zeros(20_000)}, {}),
            lambda: folder.write_text("page.html", "x" * 100_000),
        ):
            with pytest.raises(StorageError, match="File too large") as refused:
                write()
            assert "\n" not in str(refused.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
