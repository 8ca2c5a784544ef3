"""Runs of several ranks under mpiexec against runs of one process."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import modal
from studies.__main__ import main
from tests.support.model_files import BEAM, SLOW_INSTANTS, SLOW_TRACK
from tests.support.processes import wait_for
from tests.support.rank_runs import bits, hill_chart, stability_map, started, under_mpiexec

pytestmark = [
    pytest.mark.xdist_group("processes"),  # one process at a time is started and stopped
    pytest.mark.skipif(shutil.which("mpiexec") is None, reason="needs mpiexec"),
]
pytest.importorskip("mpi4py")

LONGEST = 540.0  # s, on a machine that does other work


def results(ranks: int, names: str, folder: Path) -> dict[str, Any]:
    """What programs of tests/support/rank_runs.py found."""
    process = started(ranks, names, folder)
    _, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, error
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in names.split(",")}
    return found if "," in names else found[names]


@pytest.fixture(scope="module")
def whole() -> xr.Dataset:
    """The map of one process."""
    return stability_map(None)


@pytest.fixture(scope="module")
def alone(whole: xr.Dataset) -> str:
    """Its bits."""
    return bits(whole)


@pytest.mark.slow
def test_shared_factors(tmp_path: Path) -> None:
    """Solutions to 1e-9 those of one process."""
    check_shared(results(3, "shared", tmp_path), 3)


@pytest.mark.slow
def test_maps_over_ranks(alone: str, tmp_path: Path) -> None:
    """Bit by bit those of one process."""
    found = results(4, "maps,groups", tmp_path)
    check_maps(found["maps"], alone, 4)
    check_store(tmp_path / "map.zarr")
    # The basis is trained with a factor of other round-off: growth rates within the error bounds.
    assert found["groups"]["difference"] < 1e-4


def check_maps(found: dict[str, Any], alone: str, ranks: int) -> None:
    assert found["stored"] == alone
    assert found["in_memory"] == alone
    assert found["same"]
    assert found["raised"] == ["at a point: no"] * ranks
    assert found["charts"] == [bits(hill_chart(None))] * 2


def check_shared(found: dict[str, Any], ranks: int) -> None:
    assert found["solve difference"] < 1e-9
    assert found["track difference"] < 1e-9
    assert found["factors"] % 100 >= 3 and found["factors"] // 100 == 1  # they were shared
    assert found["folders"] == ranks
    assert found["files left"] == 0
    assert found["negative"] == found["negative expected"] > 0
    assert found["refused"] == "SingularSystemError"
    assert found["residual"] < 1e-9


def check_store(store: Path) -> None:
    """Every chunk is there once, whole, and no temporary file is left."""
    with xr.open_zarr(store, consolidated=False) as stored:
        assert bool(stored.done.all())
    assert not list(store.parent.rglob("*.partial"))


@pytest.mark.slow
def test_a_killed_rank_loses_its_unfinished_tiles_only(alone: str, tmp_path: Path) -> None:
    """What was finished stays; other numbers of ranks compute the rest, bit by bit the same."""
    process = started(4, "killed", tmp_path)
    process.communicate(timeout=LONGEST)
    assert process.returncode != 0
    with xr.open_zarr(tmp_path / "map.zarr", consolidated=False) as stored:
        share = float(stored.done.values.mean())
    assert 0.0 < share < 1.0
    assert results(3, "resumed", tmp_path)["stored"] == alone


@pytest.mark.slow
def test_an_exception_of_the_driver_ends_all_ranks(tmp_path: Path) -> None:
    process = started(2, "failing", tmp_path)
    _, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 1
    assert error.count("Traceback") == 1 and error.count("the driver failed") >= 1


@pytest.mark.slow
def test_the_command_line_writes_one_set_of_files(tmp_path: Path) -> None:
    """`map` over two ranks: one table, one folder; a bad key: one line and exit code 2."""
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    spin = '[motion]\nkind = "spin"\naxis = [0, 0, 1]\nomega = 100.0\n\n[analysis]\nmodes = 3\n'
    model.write_text(BEAM + spin)
    axes = ["--y", "epsilon=-1e3:1e3:6", "--out", str(out), "--modes", "2"]
    command = ["-m", "studies", "map", str(model)]
    process = under_mpiexec(2, [*command, "--x", "omega=0:200:6", *axes])
    text, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, error
    assert text.count("map of 6 omega × 6 epsilon = 36 points") == 1
    assert {path.name for path in out.iterdir()} == {"map.nc", "map.png", "map.zarr", "study.json"}
    process = under_mpiexec(2, [*command, "--x", "omgea=0:200:6", *axes])
    _, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 2
    assert [line for line in error.splitlines() if "omgea" in line] == [
        f"frozen-motion: {model}: no parameter 'omgea'; did you mean \"omega\"?"
    ]


@pytest.mark.slow
def test_a_signal_to_mpiexec_keeps_what_was_finished(tmp_path: Path) -> None:
    """One line on stderr, the tracks so far on disk; one process computes the rest."""
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    model.write_text(SLOW_TRACK)
    instants = 4 * SLOW_INSTANTS  # mpiexec waits three seconds before it passes the signal on
    arguments = ["track", str(model), "--over", f"omega=0:400:{instants}", "--out", str(out)]
    process = under_mpiexec(2, ["-m", "studies", *arguments])
    wait_for(out / "tracks.store" / "state.npz")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=LONGEST)
    assert process.returncode != 0
    lines = [line for line in error.splitlines() if line.strip()]
    assert lines == ["frozen-motion: ended by SIGTERM; what was finished is kept"]
    assert 0 < modal.read_dataset(out / "tracks.nc").sizes["omega"] < instants
    assert main([*arguments, "--resume"]) == 0
    assert modal.read_dataset(out / "tracks.nc").sizes["omega"] == instants


@pytest.mark.slow
def test_bits_tell_maps_apart(whole: xr.Dataset, alone: str) -> None:
    """The comparison above fails for a change of one bit."""
    grid = whole.copy(deep=True)
    grid.growth_rate.values[3, 4] = np.nextafter(grid.growth_rate.values[3, 4], np.inf)
    assert bits(grid) != alone
