"""The command rerun: a dataset computed again from what it says it was computed from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import xarray as xr

import modal
from assembly.errors import AccuracyError, StudyError
from modal.data.datasets import versions
from studies.cli import runs
from studies.cli.one_state import run_response, run_solve
from studies.registry import study
from studies.reporting.output import OutputFolder
from studies.reporting.records import Record, sha256

Result = tuple[str, list[Path]]
# The dataset that each command writes, and what it does with the options of a record.
COMMANDS: dict[str, tuple[str, Callable[..., Result]]] = {
    "track": ("tracks.nc", runs.run_track),
    "map": ("map.nc", runs.run_map),
    "solve": ("modes.nc", run_solve),
    "response": ("response.nc", run_response),
}


def run_again(
    file: Path, files: Path | None, out: Path | None, force: bool
) -> tuple[str, list[Path]]:
    """Compute a dataset again and compare the numbers.

    files: folder of the files that the model file names. Raises StudyError where the dataset has
    no record, or a file is missing or has changed; AccuracyError where the same versions give
    other numbers.
    """
    if file.suffix == ".toml":
        raise StudyError(
            f"{file}: is a model file, and rerun takes a dataset that a command wrote from it; "
            f"type frozen-motion track {file}, or solve, map or check"
        )
    before = modal.read_dataset(file)
    record = Record.of(before.attrs, str(file))
    changed = _changed_versions(record)
    for line in changed:
        click.echo(f"frozen-motion: {line}", err=True)
    place = out or Path("outputs") / f"{file.stem}-rerun"
    after, report, written = (
        _study_again(record, file, place, force)
        if record.command == "run"
        else _command_again(record, file, files, place, force)
    )
    lines, identical = compared(before, after)
    if not identical and not changed:
        raise AccuracyError(
            f"{file}: the same versions give other numbers: {'; '.join(lines)}; the result is in "
            f"{place}"
        )
    return "\n".join([report, f"compared with {file}:", *(f"  {line}" for line in lines)]), written


def _changed_versions(record: Record) -> list[str]:
    now, then = versions(), record.versions or {}
    return [
        f"{name}: {then.get(name, 'not recorded')} then, {now[name]} now; numbers may differ"
        for name in now
        if then.get(name) != now[name]
    ]


def _study_again(
    record: Record, file: Path, place: Path, force: bool
) -> tuple[xr.Dataset, str, list[Path]]:
    """A study with the settings of the record; its dataset of the same name."""
    options = dict(record.options)
    name = str(options.pop("study"))
    chosen, target = study(name), str(options.pop("file", file.name))
    folder = OutputFolder(place, name, force)
    folder.record = record.attributes
    dataset = chosen.main(**options, out=folder)
    path = place / target
    after = modal.read_dataset(path) if path in folder.written else dataset
    return after, chosen.report(dataset), folder.written


def _command_again(
    record: Record, file: Path, files: Path | None, place: Path, force: bool
) -> tuple[xr.Dataset, str, list[Path]]:
    """A command on the model file of the record."""
    if record.command not in COMMANDS:
        raise StudyError(f"{file}: its command {record.command!r} is not known here")
    if not record.model_text:
        raise StudyError(f"{file}: its model file was too long to be kept in the dataset")
    name, run = COMMANDS[record.command]
    source = _folder_of_files(record, file, files)
    stem = Path(record.model_path).name
    folder = OutputFolder(place, f"{record.command} {stem}", force)
    folder.write_text(stem, record.model_text)
    options: dict[str, Any] = dict(record.options)
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    report, written = run(place / stem, **options, out=place, force=True, files=source)
    return modal.read_dataset(place / name), report, [*folder.written, *written]


def _folder_of_files(record: Record, file: Path, files: Path | None) -> Path:
    """The folder with the files that the model file names, unchanged. Raises StudyError."""
    folders = [files] if files else [Path(record.model_path).parent, file.parent]
    needed = record.files or {}
    for folder in folders:
        if _fault(folder, needed) is None:
            return folder
    raise StudyError(f"{file}: {_fault(folders[0], needed)}; give --files FOLDER")


def _fault(folder: Path, needed: Any) -> str | None:
    for name, digest in needed.items():
        path = folder / name
        if not path.is_file():
            return f"{path}: no such file; the dataset was computed from it"
        digest_now = sha256(path)
        if digest_now != digest:
            return (
                f"{path}: has changed: SHA-256 {digest_now[:12]}…, the dataset was computed from "
                f"{digest[:12]}…"
            )
    return None


def compared(before: xr.Dataset, after: xr.Dataset) -> tuple[list[str], bool]:
    """One line for each variable that differs, or one that says that none does."""
    lines = []
    for name in [*before.variables, *(n for n in after.variables if n not in before.variables)]:
        if name not in after.variables or name not in before.variables:
            lines.append(f"{name}: is in one of the two only")
            continue
        difference = _difference(before[name].values, after[name].values)
        if difference:
            lines.append(f"{name}: {difference}")
    return lines or ["identical: every number of every variable"], not lines


def _difference(one: Any, other: Any) -> str:
    """In what two arrays differ; nothing where they are equal."""
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    if one.dtype.kind not in "fc" or other.dtype.kind not in "fc":
        count = int(np.sum(one != other))
        return f"{count} of {one.size} values differ" if count else ""
    if np.array_equal(one, other, equal_nan=True):
        return ""
    both = np.isfinite(one) & np.isfinite(other)
    size = np.abs(one[both]).max(initial=0.0)
    largest = np.abs(one[both] - other[both]).max(initial=0.0)
    return f"largest difference {largest:.2g}, of values up to {size:.3g}"
