"""Maps that are killed and resumed equal unbroken ones bit by bit; nothing unfinished stays."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from assembly.errors import StorageError
from modal.data.folder import lock, release, remove_stale
from tests.support.killed_maps import CASES, make, running, series, values

pytestmark = pytest.mark.xdist_group("processes")  # one process at a time is started and stopped


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_tiles_from_a_restored_basis_equal_those_of_a_new_one(case: str, tmp_path: Path) -> None:
    """All tiles are computed twice: from the basis in memory, and from the stored one."""
    store = tmp_path / "map.zarr"
    make(case, store)
    before = values(store)
    shutil.rmtree(store / "done" / "c")
    make(case, store)
    after = values(store)
    for name in before:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path: Path) -> None:
    """Two kills; `python -m benchmarks.kills` makes forty, of the undamped map too."""
    outcome = series("damped", kills=2, seed=5, folder=tmp_path)
    assert outcome.kills == 2
    assert outcome.different == 0 and outcome.leftovers == 0


@pytest.mark.slow
def test_a_kill_during_creation_leaves_nothing_after_the_next_start(tmp_path: Path) -> None:
    store = tmp_path / "map.zarr"
    with running("damped", store) as process:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob(".map.zarr.*.partial")) and time.monotonic() < deadline:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list(tmp_path.glob(".map.zarr.*.partial")) and not store.exists()
    make("damped", store)
    assert os.listdir(tmp_path) == ["map.zarr"]


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    host, dead = platform.node(), 2**22 + 1  # above the largest process id of Linux
    gone = [f".map.zarr.{host}.{dead}.partial", f".map.zarr.{dead}.partial"]
    stay = [
        f".map.zarr.{host}.{os.getppid()}.partial",  # alive
        f".map.zarr.elsewhere.{dead}.partial",  # of another host
        f".other.zarr.{host}.{dead}.partial",  # of another map
        ".map.zarr.notes.partial",
    ]
    for name in gone + stay:
        (tmp_path / name).mkdir()
    remove_stale(tmp_path, "map.zarr")
    assert sorted(os.listdir(tmp_path)) == sorted(stay)


@pytest.mark.slow
def test_a_map_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "map.zarr"
    make("damped", store)
    held = lock(store)
    with pytest.raises(StorageError, match="another process is writing"):
        make("damped", store)
    release(held)
    make("damped", store)
