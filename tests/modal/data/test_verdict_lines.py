"""The printed form of a dataset begins with its verdict, whatever is done to the dataset."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from modal.data.results import Results, as_results, verdict_line


class Flutter:
    """Two oscillators with a circulatory coupling: coupled flutter from s = 1."""

    def freeze(self, s: float) -> assembly.FrozenSystem:
        K = np.array([[2.0, s], [-s, 4.0]])
        return assembly.FrozenSystem(M=np.eye(2), C=np.zeros((2, 2)), K=K)


def first_line(dataset: xr.Dataset) -> str:
    line, second = repr(dataset).splitlines()[:2]
    assert second.startswith("<xarray.Dataset>")
    assert line in dataset._repr_html_()[:400].replace("&#x27;", "'")
    return line


@pytest.fixture(scope="module")
def tracks() -> xr.Dataset:
    return modal.track(Flutter(), s=np.linspace(0.2, 2.0, 7), k=2)


def test_tracks_say_what_grows_and_where(tracks: xr.Dataset) -> None:
    line = first_line(tracks)
    assert line.startswith("verdict: 1 of 2 modes followed grow, at most +")
    assert "at s = 2" in line


def test_the_line_is_that_of_the_part_that_is_chosen(tracks: xr.Dataset) -> None:
    for part in (
        tracks.isel(s=slice(0, 2)),
        tracks.sel(s=[0.2, 0.5]),
        tracks.isel(s=0),
    ):
        assert "none of 2 modes followed grows" in first_line(part)
    assert "grow, at most" in first_line(tracks.isel(s=-1))
    assert first_line(tracks.isel(s=slice(0, 0))) == "verdict: none, the dataset is empty"
    assert first_line(tracks[["frequency"]]).startswith("verdict: none (")


def test_the_line_stays_with_what_xarray_makes_of_the_dataset(
    tracks: xr.Dataset, tmp_path: Path
) -> None:
    line = first_line(tracks)
    again = [
        tracks.copy(),
        tracks.copy(deep=True),
        copy.deepcopy(tracks),
        pickle.loads(pickle.dumps(tracks)),
        tracks.assign(twice=2.0 * tracks["frequency"]),
        tracks.drop_vars("mac"),
        tracks.transpose("mode", ...),
        tracks.rename(mode="mode"),
        tracks.sortby("s", ascending=False),
        xr.concat([tracks.isel(s=slice(0, 3)), tracks.isel(s=slice(3, None))], "s"),
        modal.read_dataset(modal.write_dataset(tracks, tmp_path / "tracks.nc")),
    ]
    for dataset in again:
        assert isinstance(dataset, xr.Dataset) and first_line(dataset) == line
    assert again[-1].identical(tracks)
    plain = xr.merge([xr.Dataset({"one": 1.0}), tracks])
    assert repr(plain).startswith("<xarray.Dataset>")


def test_a_mean_over_a_parameter_has_no_verdict(tracks: xr.Dataset) -> None:
    """The mean of growing and decaying eigenvalues decays."""
    assert first_line(tracks.mean("s", keep_attrs=True)).startswith("verdict: none (")
    grid = modal.stability_map(Flutter2(), over={"s": [0.2, 2.0], "d": [0.0, 0.1]}, k=2)
    for reduced in (grid.min("s", keep_attrs=True), grid.mean("s", keep_attrs=True)):
        assert first_line(reduced) == "verdict: none (stability map)"
    found = xr.Dataset(
        {name: (("s", "mode"), [[1.0], [-3.0]]) for name in ("eigenvalue", "growth_rate", "error")},
        coords={"s": [0.0, 1.0]},
    )
    assert first_line(as_results(found.mean("s"))) == "verdict: none (dataset)"


def test_files_are_plain_datasets_for_others(tracks: xr.Dataset, tmp_path: Path) -> None:
    path = modal.write_dataset(tracks, tmp_path / "tracks.nc")
    with xr.open_dataset(path, engine="h5netcdf") as opened:
        assert type(opened) is xr.Dataset and opened.identical(tracks.drop_encoding())
        assert first_line(as_results(opened)) == first_line(tracks)


def test_values_that_are_not_loaded_are_not_loaded_to_print(tracks: xr.Dataset) -> None:
    pytest.importorskip("dask")
    chunked = tracks.chunk(s=2)
    assert first_line(chunked).startswith("verdict: not loaded")
    assert first_line(chunked.load()) == first_line(tracks)


def test_a_map_counts_its_points_and_stable_without_proof_is_undecided() -> None:
    grid = modal.stability_map(Flutter2(), over={"s": [0.2, 2.0], "d": [0.0, 0.1]}, k=2)
    line = first_line(grid)
    assert line == "verdict: 2 stable, 2 flutter of 4 points, of frozen states"
    old = grid.copy(deep=True)
    old["proof"][:] = 0
    assert first_line(old).startswith("verdict: 2 flutter, 2 undecided or not computed of 4 points")
    half = grid.copy(deep=True)
    half["done"][0, 0] = False
    assert "1 undecided or not computed" in first_line(half)
    assert first_line(grid.isel(s=0, d=0)) == "verdict: 1 stable of 1 point, of frozen states"
    instants = grid.rename(d="time").assign_attrs(parameters="s, time")
    assert first_line(instants).endswith("of frozen instants; none on the motion")


class Flutter2:
    """`Flutter` with damping d."""

    def freeze(self, s: float, d: float) -> assembly.FrozenSystem:
        system = Flutter().freeze(s)
        one = np.eye(2)
        return assembly.FrozenSystem(M=one, C=np.zeros((2, 2)), D=(0.01 + d) * one, K=system.K)


def test_instants_have_no_verdict_on_the_motion() -> None:
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 3, clamped="start")
    spun = assembly.moving(blade, assembly.spin(40.0))
    found = modal.track(spun, times=np.linspace(0.0, 0.1, 4), k=2)
    assert first_line(found).startswith("verdict: none on the motion; of its frozen instants, none")
    assert "none on the motion" in first_line(found.isel(time=1))


def test_floquet_modes_and_their_errors() -> None:
    dims, rate = ("drive", "mode"), np.array([[-0.1], [0.2]])
    found = as_results(
        xr.Dataset(
            {
                "eigenvalue": (dims, rate + 1j),
                "growth_rate": (dims, rate),
                "error": (dims, [[1e-3], [1e-3]]),
            },
            coords={"drive": [0.0, 1.0], "mode": [0]},
        )
    )
    line = "verdict: over the periods (Floquet), 1 of 1 mode followed grow, at most +0.2 1/s at"
    assert first_line(found).startswith(line)
    unclear = found.assign(error=(dims, [[1e-3], [1.0]]))
    assert "none of 1 mode followed grows; 1 rate within the error" in first_line(unclear)


def test_what_has_no_verdict_says_so() -> None:
    system = Flutter().freeze(0.5)
    forced = modal.frequency_response(system, [0.1], {0: 1.0})
    assert first_line(forced) == "verdict: none (frequency response)"
    assert verdict_line(Results()) == "verdict: none (dataset)"
