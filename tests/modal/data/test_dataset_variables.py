"""The table of variables, and all datasets against it."""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import assembly
import modal
import studies
from modal.data import variables
from modal.data.datasets import described, plain
from modal.data.variables import COORDINATES, SWEPT, TRACKS, Table
from studies.cli.one_state import modes_dataset
from studies.model_files.loading import LoadedModel
from tests.support.cases import with_slow
from tests.support.dataset_checks import (
    UNITS,
    assert_as_xarray_users_expect,
    assert_described,
)
from tests.support.paths import ROOT

# The tables of datasets, by name; coordinates, and arrays that are no datasets, have their own.
TABLES: dict[str, Table] = {
    name.lower(): table
    for name, table in vars(variables).items()
    if name.isupper() and not name.startswith("_") and isinstance(table, dict)
    if name not in ("COORDINATES", "ARRAYS")
}
BLADE = assembly.beam(
    1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 3, clamped="start"
).with_damping(a=2.0, b=1e-6)
TIMES = np.linspace(0.0, 2.0 * np.pi / 40.0, 9)


class Crossings:
    """Three oscillators whose frequencies cross at s = 1, 1.5 and 2: several events in one cell."""

    def freeze(self, s: float) -> assembly.FrozenSystem:
        K = np.diag([4.0 + 2.0 * s, 6.0, 10.0 - 2.0 * s])
        return assembly.FrozenSystem(M=np.eye(3), C=np.zeros((3, 3)), K=K)


def over_speed() -> xr.Dataset:
    return modal.track(BLADE, omega=np.linspace(0.0, 90.0, 4), axis=(0, 0, 1), k=3)


def over_time() -> xr.Dataset:
    return modal.track(assembly.moving(BLADE, assembly.spin(40.0)), times=TIMES, k=2)


def of_a_callable() -> xr.Dataset:
    from modal.tracking.frozen_callable import tracks_of_callable

    return tracks_of_callable(lambda t: np.array([[0.0, 1.0], [-4.0 - np.sin(t), -0.1]]), TIMES)


def crossings() -> xr.Dataset:
    return modal.track(Crossings(), s=np.array([0.0, 2.5]), k=3)


def stability_map() -> xr.Dataset:
    axes = {"omega": [0.0, 50.0, 100.0], "epsilon": [-10.0, 10.0]}
    return modal.stability_map(BLADE, over=axes, axis=(0, 0, 1), k=2)


def hill_chart() -> xr.Dataset:
    def mathieu(speed_rpm: float, drive: float) -> Callable[[float], np.ndarray]:
        return lambda t: np.array([[0.0, 1.0], [-speed_rpm - drive * np.cos(2.0 * t), -0.1]])

    return modal.hill_chart(mathieu, np.pi, speed_rpm=[0.5, 1.0], drive=[0.0, 0.5], breaks=[0.5])


def transient() -> xr.Dataset:
    system = BLADE.freeze(omega=(0, 0, 40.0))
    initial = (np.zeros(system.n), np.ones(system.n))
    return modal.integrate(system, (0.0, 1e-3), initial, step=1e-5, probes="all")


def crosscheck() -> xr.Dataset:
    model = assembly.moving(BLADE, assembly.spin(40.0))
    return modal.crosscheck(model, modal.track(model, times=TIMES, k=2)).dataset


def crosscheck_amplitudes() -> xr.Dataset:
    bob = assembly.rigid_body(2.0, 0.05, centre=(0.4, 0.0, 0.0), planar=True)
    pendulum = assembly.Mechanism(
        {"bob": bob},
        [assembly.revolute("ground", (0, 0), "bob", (0, 0), name="hinge")],
        [assembly.driver("hinge", 0.0, stiffness=10.0)],
    )
    return modal.crosscheck_amplitudes(pendulum, [0.1, 0.2], cycles=8, steps=8)


def identified() -> xr.Dataset:
    system = assembly.FrozenSystem(M=np.eye(1), C=np.zeros((1, 1)), K=[[4.0]])
    modes = modal.solve(system, k=1)
    response = modal.integrate(
        system, (0.0, 3.0), ([1.0], [0.0]), "hamilton", method="gauss6", step=0.05, probes="all"
    )
    return modal.identify(response, modes, system)


def response() -> xr.Dataset:
    return modal.frequency_response(BLADE.freeze(), [0.0, 16.0, 20.0], {(3, "uz"): 1.0})


def response_swept() -> xr.Dataset:
    family = assembly.moving(BLADE, assembly.spin(40.0))
    force = {(3, "uz"): 1.0}
    return modal.frequency_response(family, [16.0, 20.0], force, times=TIMES[:2])


def unbalance() -> xr.Dataset:
    shaft = assembly.rotor(
        [(1.0, assembly.circle(0.01))],
        assembly.steel,
        2,
        discs=[assembly.Disc(0.5, 50.0, 1.0, 0.5)],
        bearings=[assembly.Bearing(0.0, 1e7, 1e7), assembly.Bearing(1.0, 1e7, 1e7)],
    )
    return modal.unbalance_response(shaft, [900.0, 1e3], [(0.5, 5e-4, 0.0)], [(1, "uy"), (1, "uz")])


def periodic() -> xr.Dataset:
    def mathieu(drive: float) -> Callable[[float], np.ndarray]:
        return lambda t: np.array([[0.0, 1.0], [-4.0 - drive * np.cos(3.0 * t), -0.1]])

    return modal.track_periodic(mathieu, 2 * np.pi / 3.0, drive=[0.0, 0.2], k=1)


def three_blades(omega: float) -> assembly.FrozenSystem:
    one = np.eye(3)
    return assembly.FrozenSystem(M=one, D=0.2 * one, K=0.1 * omega**2 * one)


def rotor() -> xr.Dataset:
    return modal.rotor_verdict(three_blades, [10.0, 20.0], blades=([0], [1], [2]))


def multiblade() -> xr.Dataset:
    family = modal.MultibladeFamily(three_blades, ([0], [1], [2]))
    return family.track([10.0, 15.0, 20.0], k=2)


def state_space() -> xr.Dataset:
    return modal.state_space_family(
        BLADE, [(3, "uz")], [(3, "uz")], 2, over={"omega": [0.0, 20.0]}, axis=(0, 0, 1)
    )


def one_state() -> xr.Dataset:
    model = LoadedModel(Path("m.toml"), None, None, BLADE)  # type: ignore[arg-type]
    return modes_dataset(modal.solve(BLADE.freeze(), 2), model, 0.0, {})


WRITTEN: dict[str, tuple[str, Callable[[], xr.Dataset]]] = {
    "over_speed": ("tracks", over_speed),
    "over_time": ("tracks", over_time),
    "of_a_callable": ("tracks", of_a_callable),
    "crossings": ("tracks", crossings),
    "map": ("map", stability_map),
    "hill_chart": ("map", hill_chart),
    "transient": ("transient", transient),
    "crosscheck": ("crosscheck", crosscheck),
    "crosscheck_amplitudes": ("crosscheck_amplitudes", crosscheck_amplitudes),
    "identified": ("identified", identified),
    "response": ("response", response),
    "response_swept": ("response_swept", response_swept),
    "unbalance": ("unbalance", unbalance),
    "periodic": ("periodic", periodic),
    "rotor": ("rotor", rotor),
    "multiblade": ("multiblade", multiblade),
    "state_space": ("state_space", state_space),
    "modes": ("modes", one_state),
}
LONG = ("rotor", "crosscheck_amplitudes", "crosscheck", "over_speed", "crossings")


@pytest.mark.parametrize("name", with_slow(WRITTEN, LONG))
def test_every_dataset_is_described_by_the_table(name: str, tmp_path: Path) -> None:
    kind, make = WRITTEN[name]
    dataset = make()
    assert_described(dataset, TABLES[kind])
    assert_as_xarray_users_expect(dataset, tmp_path)
    for variable in dataset.data_vars.values():
        if variable.size > 1 and variable.dtype.kind in "fi":
            variable.plot()
            plt.close("all")


def all_tables() -> dict[str, Table]:
    """The library's tables and those of the studies."""
    found = dict(TABLES) | {"coordinates": COORDINATES}
    for name in studies.STUDIES:
        for path in (ROOT / "studies" / name).glob("*.py"):
            module = importlib.import_module(f"studies.{name}.{path.stem}")
            if hasattr(module, "VARIABLES"):
                found[f"studies.{name}"] = module.VARIABLES
    return found


def test_the_units_of_the_tables_are_udunits() -> None:
    used = {row.units for table in all_tables().values() for row in table.values()}
    assert used - {None, SWEPT} == UNITS
    cf_units = pytest.importorskip("cf_units", reason="UDUNITS is not installed")
    for units in UNITS:
        assert not cf_units.Unit(units).is_unknown(), units


def test_no_attributes_are_written_by_hand() -> None:
    """`units` and `long_name` are keys in the table's room alone."""
    for path in [*(ROOT / "modal").rglob("*.py"), *(ROOT / "studies").rglob("*.py")]:
        if path.parent == ROOT / "modal" / "data":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                assert not keys & {"units", "long_name"}, f"{path}:{node.lineno}"
            elif isinstance(node, ast.Call):
                names = {keyword.arg for keyword in node.keywords}
                assert "long_name" not in names, f"{path}:{node.lineno}"


def test_a_variable_that_is_in_no_table_is_refused() -> None:
    with pytest.raises(KeyError, match="speed"):
        described(xr.Dataset({"speed": (("time", "mode"), np.zeros((2, 2)))}), TRACKS)
    with pytest.raises(ValueError, match="dimensions"):
        described(xr.Dataset({"mac": (("mode",), np.zeros(2))}), TRACKS)


def test_a_table_of_the_manual_has_every_variable_of_the_library() -> None:
    page = (ROOT / "docs" / "datasets.md").read_text("utf-8")
    for kind, table in TABLES.items():
        for name in table:
            assert f"`{name}`" in page, (kind, name)


def test_numbers_stay_numbers_in_attributes() -> None:
    assert plain(np.float64(0.5)) == 0.5 and isinstance(plain(np.int32(3)), int)
    assert plain((1.0, 2)) == [1.0, 2] and plain(np.arange(3)) == [0, 1, 2]
    assert plain(None) == "none" and plain(True) == "true" and plain([]) == "[]"
    assert plain({"a": np.ones(1)}) == '{"a": [1.0]}'


def test_all_events_of_a_cell_are_listed() -> None:
    """Frequencies squared 4 + 2s, 6 and 10 − 2s cross at s = 1, 1.5 and 2, in one step of s."""
    tracks = crossings()
    found = modal.events(tracks)
    assert found["event"].values.tolist() == ["crossing"] * 3
    np.testing.assert_allclose(found["event_at"], [1.0, 1.5, 2.0], atol=1e-6)
    pairs = list(zip(found["event_mode"].values, found["partner"].values, strict=True))
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    assert_described(found, TABLES["events"], stored=False)
    assert len(found.to_dataframe()) == 3
    lowest = modal.events(tracks.sel(mode=[0]))
    np.testing.assert_allclose(lowest["event_at"], [1.0, 1.5], atol=1e-6)
    assert modal.events(tracks.isel(s=slice(0, 1))).sizes["occurrence"] == 0
    with pytest.raises(assembly.InputError, match="expected tracks"):
        modal.events(stability_map())


def test_events_of_a_file_of_the_first_version() -> None:
    """Its cells hold kind, partner and gap; the place is the value of the row."""
    tracks = crossings()
    first = [name for name in tracks if not str(name).startswith("event_")]
    found = modal.events(tracks[first])
    assert set(found["event_at"].values) == {2.5} and set(found["event"].values) == {"crossing"}


@pytest.mark.filterwarnings("error")
def test_a_finished_map_opens_in_xarray_without_a_warning(tmp_path: Path) -> None:
    store = tmp_path / "map.zarr"
    axes = {"omega": np.linspace(0.0, 100.0, 12), "epsilon": np.linspace(-10.0, 10.0, 11)}
    grid = modal.stability_map(BLADE, over=axes, axis=(0, 0, 1), k=2, store=store)
    opened = xr.open_zarr(store).load()
    for name, variable in grid.variables.items():
        codes = {"reduced": 0, "full": 1}
        values = variable.values
        if name == "source":
            values = np.vectorize(codes.get)(values)
        np.testing.assert_array_equal(opened[name].values, values)
        assert opened[name].attrs["long_name"] == variable.attrs["long_name"]
    assert opened["verdict"].attrs["flag_meanings"] == "undecided stable divergence flutter"
    assert opened["source"].attrs["flag_meanings"] == "reduced full"
    assert len(opened.to_dataframe()) == 12 * 11
    xr.testing.assert_identical(modal.read_dataset(store), grid)


def test_a_netcdf_file_is_valid(tmp_path: Path) -> None:
    """Written without h5netcdf's `invalid_netcdf`: complex numbers are a compound type."""
    import h5netcdf

    path = modal.write_dataset(over_speed(), tmp_path / "tracks.nc")
    with h5netcdf.File(path, "r") as file:
        assert file["eigenvalue"].dtype == np.complex128
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            assert opened["eigenvalue"].dtype == np.complex128
