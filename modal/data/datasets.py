"""Datasets with the attributes of their variables, and provenance.

The variables are rows of modal/data/variables.py.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np
import xarray as xr

from modal.data.results import as_results
from modal.data.variables import COORDINATES, MAP, SWEPT, Table, Variable

PACKAGES = ("frozen-motion", "numpy", "scipy", "petsc4py", "slepc4py", "xarray")
WORDS = "UTO"  # kinds of arrays of words
_REPEATED = re.compile(r"^(event|partner|gap|event_at)_\d+$")  # further events of one cell


def described(dataset: xr.Dataset, table: Table) -> xr.Dataset:
    """The dataset with the attributes of its rows on every variable and coordinate, of which
    `print` shows the verdict first.

    Raises KeyError for a variable that is in no row, ValueError for one with other dimensions.
    """
    for name, variable in dataset.data_vars.items():
        row = row_of(str(name), table)
        if not _fits(variable.dims, row.dims):
            raise ValueError(f"{name}: dimensions {variable.dims}, table {row.dims}")
        swept = str(variable.dims[0]) if variable.dims else ""
        variable.attrs = attributes_of(row, variable.dtype.kind, swept, table)
    for name, values in dataset.coords.items():
        kind = values.dtype.kind
        values.attrs = attributes_of(coordinate(str(name), table), kind)
    return as_results(dataset)


def described_array(array: xr.DataArray, table: Table) -> xr.DataArray:
    """The array with the attributes of the row of its name, and its coordinates with theirs."""
    array.attrs = attributes_of(table[str(array.name)], array.dtype.kind)
    for name, values in array.coords.items():
        values.attrs = attributes_of(coordinate(str(name), table), values.dtype.kind)
    return array


def row_of(name: str, table: Table) -> Variable:
    """The row of a variable; `event_2` is the second event of a cell and has the row of `event`."""
    repeated = _REPEATED.match(name)
    return table[name if name in table or repeated is None else repeated[1]]


def coordinate(name: str, table: Table | None = None) -> Variable:
    """The row of a coordinate; of one that is in no row, its name as long name and the unit 1."""
    for rows in (table or {}, COORDINATES):
        if name in rows:
            return rows[name]
    return Variable(name.replace("_", " "), "1")


def attributes_of(
    row: Variable, kind: str, swept: str = "", table: Table | None = None
) -> dict[str, Any]:
    """CF attributes of a row. kind: of the values; words have a long name alone. swept: parameter
    whose units the row takes where it has none of its own.
    """
    if kind in WORDS:
        return {"long_name": row.long_name}
    attributes = row.attributes
    if row.units == SWEPT:
        attributes["units"] = coordinate(swept, table).units
    return attributes


def _fits(dims: tuple[Any, ...], standard: tuple[str, ...]) -> bool:
    """Whether dimensions are the standard ones; `SWEPT` stands for any number of parameters."""
    if SWEPT not in standard:
        return dims == standard
    others = standard[1:]
    return len(dims) > len(others) and dims[len(dims) - len(others) :] == others


def in_words(dataset: xr.Dataset) -> xr.Dataset:
    """The dataset of a map with `source` in words, which stores hold as codes."""
    source, row = dataset["source"], MAP["source"]
    if source.dtype.kind in WORDS:
        return dataset
    words = np.array(row.flags)[source.values]
    named = (source.dims, words, attributes_of(row, words.dtype.kind))
    return as_results(dataset.assign(source=named))


def provenance(**entries: Any) -> dict[str, Any]:
    """Attributes that say where a dataset comes from: package version, date, and what is given.

    Numbers stay numbers; anything else that is not a string becomes text.
    """
    used = versions()
    known = {"Conventions": "CF-1.11", "package": "frozen-motion"}
    known |= {"package_version": used["frozen-motion"], "versions": json.dumps(used)}
    known["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    return known | {key: plain(value) for key, value in entries.items()}


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python, of this package and of those it computes with."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        here = map(_version, metadata.distributions(name=name))
        found[name] = next(here, "not installed")
    return found


def _version(package: metadata.Distribution) -> str:
    """As `package.version`, without parsing the long description."""
    texts = (package.read_text(name) or "" for name in ("METADATA", "PKG-INFO", ""))
    lines = (line for text in texts for line in text.splitlines())
    start = "Version:"
    return next(line.removeprefix(start).strip() for line in lines if line.startswith(start))


def made_from(model: Any, longest: int = 20_000) -> str:
    """What a model was made from, in one line; the name of its type where it does not say.

    longest: characters; an attribute of NetCDF holds 64 KiB.
    """
    words = str(getattr(model, "made_from", "") or type(model).__name__)
    return words if len(words) <= longest else f"{words[:longest]} …"


def plain(value: Any) -> str | int | float | list[float]:
    """A value as an attribute that every file can hold.

    Strings, numbers and lists of numbers stay what they are. None is "none"; the rest is JSON,
    with `repr` for what JSON cannot hold.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)) and len(value) > 1 and all(map(_is_number, value)):
        return list(value)
    return json.dumps(value, default=_simple, ensure_ascii=False)


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool)


def _simple(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else repr(value)


def constants_text(constants: Mapping[str, Any]) -> str:
    """The constants as JSON; an object that JSON cannot hold by the name of its type."""
    values = {k: v if isinstance(v, str) else np.asarray(v).tolist() for k, v in constants.items()}
    return json.dumps(values, sort_keys=True, default=lambda value: type(value).__name__)
