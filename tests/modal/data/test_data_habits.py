"""What people do with a result first: other stores, several files at once, a killed run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from modal.data.folder import write_whole
from studies.reporting.output import OutputFolder


def tracks(first: float, last: float) -> xr.Dataset:
    section = assembly.rectangle(0.05, 0.02)
    blade = assembly.beam(1.0, section, assembly.steel, 4, clamped="start")
    return modal.track(blade, omega=np.linspace(first, last, 3), axis=(0, 0, 1), k=2)


def test_a_zarr_store_of_tracks_has_no_warnings(tmp_path: Path) -> None:
    dataset = tracks(0.0, 50.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset.to_zarr(tmp_path / "tracks.zarr", consolidated=False)
    assert xr.open_zarr(tmp_path / "tracks.zarr", consolidated=False).load().identical(dataset)
    dataset.to_netcdf(tmp_path / "tracks.nc", engine="h5netcdf")  # xarray's own way, as before
    assert xr.load_dataset(tmp_path / "tracks.nc", engine="h5netcdf").identical(dataset)


def test_zarr_stores_of_maps_and_responses_have_no_warnings(tmp_path: Path) -> None:
    """The words of a map are a variable, those of a response a coordinate."""
    shaft = assembly.beam(0.5, assembly.circle(0.02), assembly.steel, 3, clamped="start")
    shaft = shaft.with_damping(b=1e-6)
    sweep = dict(omega=[0.0, 50.0], axis=(1, 0, 0), progress=False)
    grid = modal.stability_map(shaft, epsilon=[0.0, 1.0], k=2, **sweep)
    response = modal.frequency_response(
        shaft.freeze(omega=(10.0, 0.0, 0.0)), [10.0, 20.0], {(2, "uy"): 1.0}, [(2, "uy"), (2, "uz")]
    )
    modal.write_dataset(grid, tmp_path / "map.nc")
    stored = modal.read_dataset(tmp_path / "map.nc")
    for number, dataset in enumerate((grid, response, stored, grid.isel(omega=1))):
        folder = tmp_path / f"{number}.zarr"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dataset.to_zarr(folder, consolidated=False)
        again = xr.open_zarr(folder, consolidated=False).load()
        assert again.equals(dataset)


def test_files_of_parts_of_a_sweep_are_opened_together(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    parts = [tracks(0.0, 50.0), tracks(75.0, 125.0)]
    for number, part in enumerate(parts):
        modal.write_dataset(part, tmp_path / f"part{number}.nc")
    with xr.open_mfdataset(str(tmp_path / "*.nc"), engine="h5netcdf") as whole:
        expected = np.concatenate([part.eigenvalue.values for part in parts])
        np.testing.assert_array_equal(whole.eigenvalue.values, expected)


def test_what_a_killed_study_left_is_removed_by_its_next_run(tmp_path: Path) -> None:
    """SIGKILL while a figure is being written."""
    script = (
        "import os, signal\n"
        "from studies.reporting.output import OutputFolder\n"
        f"with OutputFolder({str(tmp_path)!r}, 'study').file('figure.png') as path:\n"
        "    path.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", script], env=here).returncode == -9
    assert list(tmp_path.glob(".*"))
    mine = tmp_path / f".other.png.{os.uname().nodename}.{os.getpid()}.partial"
    mine.mkdir()  # of a process that lives
    OutputFolder(tmp_path, "study").write_text("report.txt", "whole")
    assert list(tmp_path.glob(".*")) == [mine]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A shell ignores Ctrl-C in what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_at_any_line_leaves_a_whole_file_and_nothing_else(
    tmp_path: Path, ctrl_c: None
) -> None:
    """Ctrl-C once at each line in turn of the code that writes, removal of the temporary included:
    the file is the former one or the new one, and stands alone in its folder.
    """
    whole = tmp_path / "map.npz"
    ends = []
    for number in count():
        whole.write_bytes(b"former")
        left = number

        def interrupt(frame: FrameType, event: str, _: object) -> object:
            nonlocal left
            if Path(frame.f_code.co_filename).name not in ("folder.py", "ranks.py", "shutil.py"):
                return None
            if event == "line":
                left -= 1
                if left == -1:
                    signal.raise_signal(signal.SIGINT)
            return interrupt

        interrupted = False
        sys.settrace(interrupt)
        try:
            write_whole(whole, b"the new ", b"content")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if left >= 0:
            break
        assert interrupted
        assert list(tmp_path.iterdir()) == [whole]
        ends.append(whole.read_bytes())
    assert not interrupted and len(ends) > 20
    assert set(ends) == {b"former", b"the new content"}
