"""Datasets on disk: round trip, all or nothing, one-line errors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import modal
from assembly import FrozenSystem
from assembly.errors import StorageError
from modal.data.storage import read_dataset, write_dataset


class Oscillators:
    def freeze(self, t: float) -> FrozenSystem:
        return FrozenSystem(M=np.eye(3), D=0.1 * np.eye(3), K=np.diag([1.0, 4.0 + t, 9.0]))


@pytest.fixture
def tracks() -> xr.Dataset:
    return modal.track(Oscillators(), times=np.linspace(0.0, 1.0, 6), k=2)


def test_round_trip_keeps_everything(tracks: xr.Dataset, tmp_path: Path) -> None:
    again = read_dataset(write_dataset(tracks, tmp_path / "tracks.nc"))
    xr.testing.assert_identical(again, tracks)
    assert again["eigenvalue"].dtype == np.complex128
    assert again["event"].values.astype(str).tolist() == tracks["event"].values.tolist()
    assert again["frequency"].attrs == {
        "units": "Hz",
        "long_name": "frequency of vibration, |Im λ| / 2π",
    }


def test_nothing_half_written(
    tracks: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure in the middle of writing leaves the old file as it was and no other behind."""
    path = tmp_path / "tracks.nc"
    write_dataset(tracks, path)
    before = path.read_bytes()

    def fails(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StorageError, match="No space left") as caught:
        write_dataset(tracks, path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tracks.nc"]


def test_interruption_leaves_nothing(
    tracks: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(self: xr.Dataset, name: str, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(xr.Dataset, "to_netcdf", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(tracks, tmp_path / "tracks.nc")
    assert os.listdir(tmp_path) == []


def test_refusals_are_one_line(tracks: xr.Dataset, tmp_path: Path) -> None:
    (tmp_path / "damaged.nc").write_bytes(b"not a NetCDF file")
    write_dataset(tracks, tmp_path / "there.nc")
    for refused in (
        lambda: write_dataset(tracks, tmp_path),
        lambda: write_dataset(tracks, tmp_path / "no" / "such" / "folder.nc"),
        lambda: write_dataset(tracks, tmp_path / "there.nc", overwrite=False),
        lambda: read_dataset(tmp_path / "missing.nc"),
        lambda: read_dataset(tmp_path / "damaged.nc"),
    ):
        with pytest.raises(StorageError) as caught:
            refused()
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)


def test_the_file_follows_the_umask(tracks: xr.Dataset, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        path = write_dataset(tracks, tmp_path / "tracks.nc")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640
