"""What studies have in common: datasets of their tables, reports, checks of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from assembly.errors import InputError
from assembly.mechanisms.mechanism import Mechanism
from assembly.types import Array
from modal.data.datasets import described, provenance
from modal.data.variables import Table

RPM = np.pi / 30.0  # rad/s


def dataset_of(table: Table, **values: Any) -> xr.Dataset:
    """A dataset of values, each with the dimensions of its row in the table.

    A name that is a dimension of another one is a coordinate.
    """
    dims = {dim for name in values if name in table for dim in table[name].dims}
    data = {name: (table[name].dims, value) for name, value in values.items() if name not in dims}
    return xr.Dataset(data, coords={name: values[name] for name in values if name in dims})


def merged(parts: Sequence[xr.Dataset], table: Table, title: str, **settings: Any) -> xr.Dataset:
    """One dataset of several, described by the study's table; its title, settings and provenance
    are attributes.
    """
    dataset = xr.merge(parts, combine_attrs="drop")
    dataset.attrs = provenance(title=title, **settings)
    return described(dataset, table)


Section = Callable[[xr.Dataset], Iterable[str]]


def report_of(*sections: Section) -> Callable[[xr.Dataset], str]:
    """The report of a study: the lines of its sections, one below the other.

    A section takes the study's dataset and returns lines of text, none where it has no data.
    """

    def report(dataset: xr.Dataset) -> str:
        return "\n".join(line for section in sections for line in section(dataset))

    report.__doc__ = "The study's numbers in words, from the dataset that its main() returns."
    return report


def check_positive(**settings: float) -> None:
    """Raises InputError naming the first setting that is not a positive number."""
    for name, value in settings.items():
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{name} = {value:g}: must be positive")


def rotor_speeds(min_rpm: float, max_rpm: float, speeds: int) -> Array:
    """Speeds of a rotor, rad/s. Raises InputError where the range is empty or not positive."""
    if not 0.0 < min_rpm < max_rpm:
        raise InputError(f"min_rpm, max_rpm: expected 0 < min < max, got {min_rpm}, {max_rpm}")
    if speeds < 2:
        raise InputError(f"speeds: at least 2, got {speeds}")
    return np.linspace(min_rpm, max_rpm, speeds) * RPM


def one_turn(mechanism: Mechanism, instants: int) -> Array:
    """Instants of one period of a mechanism, both ends included, s."""
    assert mechanism.period is not None
    return np.linspace(0.0, mechanism.period, instants)
