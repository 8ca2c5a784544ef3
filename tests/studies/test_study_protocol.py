"""What all studies do alike: outputs are written as soon as they are known, or left out."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import modal
from modal.data.units import shown_units
from modal.data.variables import Variable
from modal.plot.axes import axis_label
from studies.cli import html_report
from studies.figures.drawing import Drawing
from studies.registry import Study, all_studies
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import merged, report_of

DRAWN: list[str] = []


def draw(axes: list[object]) -> None:
    DRAWN.append("drawn")
    assert len(axes) == 2


def main(
    *, size: int = 3, fails: bool = False, out: OutputFolder = NOWHERE, progress: bool = False
) -> xr.Dataset:
    """A small study.

    Parameters
    ----------
    size : int
        Number of values.
    """
    part = xr.Dataset({"value": ("x", np.arange(size))})
    dataset = merged([part], {"value": Variable("value", "m", ("x",))}, title="small", size=size)
    out.remark("first line\nsecond line")
    out.write_dataset("small.nc", dataset)
    out.write_text("note.txt", "a note")
    if fails:
        raise ArithmeticError("the next part fails")
    out.draw(Drawing("shown.png", "what is shown", draw, columns=2))
    out.draw(Drawing("again.png", "its panels once more", draw, columns=2, in_report=False))
    return dataset


def test_outputs_are_written_in_order_and_the_dataset_is_returned(tmp_path: Path) -> None:
    DRAWN.clear()
    out = OutputFolder(tmp_path / "out", "small")
    dataset = main(size=4, out=out)
    assert dataset.sizes["x"] == 4 and dataset.attrs["title"] == "small"
    assert dataset["value"].attrs == {"units": "m", "long_name": "value"}
    names = [path.name for path in out.written]
    assert names == ["small.nc", "note.txt", "shown.png", "again.png"]
    assert modal.read_dataset(out.path / "small.nc").sizes["x"] == 4
    assert DRAWN == ["drawn", "drawn"]


def test_nothing_is_drawn_where_nothing_is_written() -> None:
    DRAWN.clear()
    assert main().sizes["x"] == 3
    assert not DRAWN


def test_what_was_finished_before_a_failure_stays(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out", "small")
    with pytest.raises(ArithmeticError):
        main(fails=True, out=out)
    assert (out.path / "small.nc").is_file() and (out.path / "note.txt").is_file()
    assert not (out.path / "shown.png").exists()


def test_the_report_page_shows_a_figure_and_a_text_once(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out", "small")
    dataset = main(out=out)
    report = report_of(lambda data: [f"{data.sizes['x']} values"], lambda data: ["one more"])
    assert report(dataset) == "3 values\none more"
    assert out.remarks == ["first line\nsecond line"]
    numbers = "\n".join([report(dataset), *out.remarks])
    html_report.write(out, Study("small", main, report), {}, dataset, numbers)
    page = (out.path / "report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 1
    assert "what is shown" in page and "its panels once more" not in page
    assert page.count("second line") == 1 and "<td>title</td>" in page


@pytest.mark.parametrize("study", all_studies(), ids=lambda study: study.name)
def test_every_study_has_a_view_to_explore(study: Study) -> None:
    assert "out.explore(" in inspect.getsource(study.main)


@pytest.mark.parametrize("study", all_studies(), ids=lambda study: study.name)
def test_every_study_describes_its_settings(study: Study) -> None:
    """Settings, `out` and `progress` stand in the NumPy-style docstring of main()."""
    described = inspect.getdoc(study.main) or ""
    parameters = described.split("Parameters\n")[1].split("Returns\n")[0]
    heads = [line.split(" : ")[0] for line in parameters.splitlines() if " : " in line]
    names = {name for head in heads for name in head.split(", ")}
    assert names == set(inspect.signature(study.main).parameters)
    assert {"out", "progress"} <= names and not {"out", "progress"} & set(study.settings)


@pytest.mark.parametrize(
    ("units", "shown"),
    [
        ("rad s-1", "rad/s"),
        ("rad s-2", "rad/s²"),
        ("s-1", "1/s"),
        ("m2", "m²"),
        ("kg m2", "kg m²"),
        ("degree", "°"),
        ("rpm", "rpm"),
        ("N m", "N m"),
    ],
)
def test_units_as_they_are_shown(units: str, shown: str) -> None:
    assert shown_units(units) == shown


def test_labels_come_from_the_attributes() -> None:
    moved = xr.DataArray(
        np.zeros(2),
        dims="x",
        coords={"x": ["a", "b"]},
        attrs={"units": "m", "long_name": "deflection of the tip"},
    )
    assert axis_label(moved) == "deflection of the tip (m)"
    assert axis_label(moved, "deflection", "µ") == "deflection (µm)"
    assert axis_label(moved.assign_attrs(units="1")) == "deflection of the tip"
