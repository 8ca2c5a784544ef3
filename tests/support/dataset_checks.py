"""Checks that hold for every dataset that the program writes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import xarray as xr

import modal
from modal.data.datasets import attributes_of, coordinate, row_of
from modal.data.variables import SWEPT, Table

PROVENANCE = {"Conventions", "package", "package_version", "date", "title"}
# UDUNITS strings; test_dataset_variables.py asks UDUNITS itself where cf_units is installed.
UNITS = {
    "m N-1",
    "1", "s", "s-1", "Hz", "rad", "rad s-1", "rad s-2", "degree", "turns", "rpm", "m", "m2",
    "m s-1", "m s-2", "kg", "kg m2", "N", "N m", "N s", "N m s", "J",
}  # fmt: skip


def assert_described(dataset: xr.Dataset, table: Table, stored: bool = True) -> None:
    """Every variable has the attributes of its row, every coordinate its own; all are valid CF.

    stored: whether the dataset is one that files hold, with provenance.
    """
    if stored:
        assert PROVENANCE <= set(dataset.attrs)
    for name, value in dataset.attrs.items():
        assert isinstance(value, (str, int, float, np.integer, list, np.ndarray)), (name, value)
        assert not (isinstance(value, str) and "\n" in value), (name, value)
    for name, variable in dataset.variables.items():
        row = row_of(str(name), table) if name in dataset.data_vars else coordinate(name, table)
        words = variable.dtype.kind in "UTO"
        expected = attributes_of(row, variable.dtype.kind)
        attributes = dict(variable.attrs)
        if not words and row.units == SWEPT:
            assert attributes["units"] in UNITS
            expected["units"] = attributes["units"]
        assert xr.Dataset(attrs=attributes).identical(xr.Dataset(attrs=expected)), name
        assert ("units" in attributes) == (not words), name
        assert words or attributes["units"] in UNITS, name
        if row.flags and not words:
            values = np.asarray(attributes["flag_values"])
            assert values.dtype == variable.dtype
            assert len(values) == len(attributes["flag_meanings"].split())
            assert set(np.unique(variable.values)) <= set(values.tolist())


def assert_as_xarray_users_expect(dataset: xr.Dataset, folder: Path) -> None:
    """A file opens in xarray alone without a warning, selects, and is a table of its cells."""
    path = modal.write_dataset(dataset, folder / "dataset.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            assert set(opened.variables) == set(dataset.variables)
            for name, variable in dataset.variables.items():
                if variable.dtype.kind not in "UTO":
                    assert opened[name].dtype == variable.dtype
                np.testing.assert_array_equal(opened[name].values, variable.values)
            for dim in dataset.dims:
                if dim in dataset.coords and dataset.sizes[dim]:
                    last = dataset[dim].values[-1]
                    assert dim not in opened.sel({dim: last}).dims
            rows = int(np.prod([size for size in dataset.sizes.values()]))
            assert len(opened.to_dataframe()) == rows
    xr.testing.assert_identical(modal.read_dataset(path), dataset)
