"""The protocol of a study: what its main() yields, what it returns, and its report.

A study's main() is a generator under `@study_main`. It yields each output as soon as it is known
(`Data`, `Text`, `Remark`, `Exploration`, `studies.figures.drawing.Drawing`,
`studies.figures.animation.Animation`) and returns the study's dataset. Outputs are written here,
for all studies alike; where nothing is to be written, no figure is drawn.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from assembly.mechanisms.mechanism import Mechanism
from assembly.types import Array
from modal.data.datasets import described, provenance
from modal.data.variables import Table
from studies.reporting.output import OutputFolder

RPM = np.pi / 30.0  # rad/s


class Output(Protocol):
    """Anything a study leaves in its folder, one file each."""

    def write(self, out: OutputFolder) -> None:
        """Write the file. Raises StorageError when it cannot be written."""


Outputs = Generator[Output, None, xr.Dataset]


@dataclass(frozen=True)
class Data:
    """A dataset, written as NetCDF under a file name."""

    name: str
    dataset: xr.Dataset

    def write(self, out: OutputFolder) -> None:
        out.write_dataset(self.name, self.dataset)


@dataclass(frozen=True)
class Text:
    """A text, written under a file name; the report page shows .txt files in full."""

    name: str
    content: str

    def write(self, out: OutputFolder) -> None:
        out.write_text(self.name, self.content)


@dataclass(frozen=True)
class Remark:
    """Lines below the report: what is known of the study beyond its dataset."""

    text: str

    def write(self, out: OutputFolder) -> None:
        out.remarks.append(self.text)


@dataclass(frozen=True)
class Exploration:
    """A view for the report page to explore, made when the study is written.

    Parameters
    ----------
    make : callable
        Returns the view, of `modal.explorer_view`.
    """

    make: Callable[[], modal.ExplorerView]

    def write(self, out: OutputFolder) -> None:
        out.views.append(self.make())


def study_main(compute: Callable[..., Outputs]) -> Callable[..., xr.Dataset]:
    """The main() of a study from the generator of its outputs.

    Parameters
    ----------
    compute : callable
        Generator function whose keyword arguments are the settings of the study and `progress`.

    Returns
    -------
    callable
        Takes the same settings, `progress`, and `out`: an OutputFolder to write to, or None.
        Returns the dataset that the generator returns.
    """

    @functools.wraps(compute)
    def main(*, out: OutputFolder | None = None, **settings: Any) -> xr.Dataset:
        datasets: list[xr.Dataset] = []

        def outputs() -> Iterator[Output]:
            datasets.append((yield from compute(**settings)))

        for output in outputs():
            if out is not None:
                output.write(out)
        return datasets[0]

    signature = inspect.signature(compute)
    folder = inspect.Parameter(
        "out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="OutputFolder | None"
    )
    main.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), folder], return_annotation="xr.Dataset"
    )
    return main


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
