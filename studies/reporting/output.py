"""Where a run writes: one folder, claimed by one study, every file whole or absent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assembly.errors import StorageError, StudyError
from assembly.mesh.text_files import shown

if TYPE_CHECKING:
    from xarray import Dataset

    from modal import ExplorerView

MARKER = "study.json"


class Drawn(Protocol):
    """A figure or an animation, drawn when it is written."""

    def write(self, out: OutputFolder) -> None:
        """Draw it and save it. Raises StorageError when it cannot be written."""


class OutputFolder:
    """A folder that belongs to one study; it is made and marked when the first file is written.

    Raises StudyError when the path is a file, or holds something that is not this study's (unless
    `force`); StorageError when it cannot be written.
    """

    def __init__(self, path: str | Path, study: str, force: bool = False) -> None:
        self.path, self.study = Path(path), study
        self.written: list[Path] = []
        self.captions: dict[str, str] = {}
        self.remarks: list[str] = []  # lines below the report
        self.views: list[ExplorerView] = []  # of the section to explore of the report page
        self.record: dict[str, str] = {}  # attributes of every dataset
        self.apart: set[str] = set()  # figures that the report page does not show
        self._claimed = False
        self._made: list[Path] = []  # folders that this run made, from the inside out
        self._check(force)

    def _check(self, force: bool) -> None:
        if "\0" in str(self.path):
            raise StudyError(f"--out {shown(self.path)}: NUL in the name; give a folder")
        for place in (self.path, *self.path.parents):
            try:
                is_else = place.exists() and not place.is_dir()
            except OSError as fault:
                reason = fault.strerror
                raise StudyError(f"--out {shown(self.path)}: {reason}; give a folder") from None
            if is_else:
                raise StudyError(f"--out {self.path}: {place} is a file; give a folder")
        there = next(place for place in (self.path, *self.path.parents) if place.is_dir())
        if not os.access(there, os.W_OK | os.X_OK):
            raise StudyError(f"--out {self.path}: {there} may not be written to; give a folder")
        if force or not self.path.is_dir() or not any(self.path.iterdir()):
            return
        marker = self.path / MARKER
        owner = None
        if marker.is_file():
            try:
                owner = json.loads(marker.read_text(encoding="utf-8")).get("study")
            except (json.JSONDecodeError, AttributeError):
                owner = None
        if owner != self.study:
            holds = f"results of {owner!r}" if owner else "files of something else"
            raise StudyError(
                f"--out {self.path}: holds {holds}; give another folder, or --force to overwrite"
            )

    def claim(self) -> Path:
        """Make the folder and mark it as this study's; returns its path."""
        if not self._claimed:
            try:
                new = [place for place in (self.path, *self.path.parents) if not place.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
                self._made = new
            except OSError as fault:
                raise StorageError(f"--out {self.path}: cannot be made: {fault.strerror}") from None
            from modal.data.folder import remove_stale

            remove_stale(self.path)
            self._claimed = True
            self.write_text(MARKER, json.dumps({"study": self.study}, indent=1) + "\n")
            self.written.clear()
        return self.path

    def abandon(self) -> None:
        """Remove the folder again where this run made it and it holds nothing but the mark."""
        if not self._made or [path.name for path in self.path.iterdir()] != [MARKER]:
            return
        (self.path / MARKER).unlink()
        for place in self._made:  # from the inside out
            place.rmdir()
        self._made, self._claimed = [], False

    @contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """A path to write to; it becomes `name` only when the block ends well."""
        from modal.data.folder import replacing, storage_faults

        target = self.claim() / name
        with storage_faults(target), replacing(target) as temporary:
            yield temporary
        self.written.append(target)

    def write_text(self, name: str, content: str) -> None:
        with self.file(name) as path:
            path.write_text(content, encoding="utf-8")

    def write_dataset(self, name: str, dataset: Dataset) -> None:
        """NetCDF-4 through h5netcdf, complex numbers stored natively."""
        from modal.data.storage import write_dataset

        recorded = dataset.assign_attrs(self.record)
        self.written.append(write_dataset(recorded, self.claim() / name))

    def remark(self, text: str) -> None:
        """Lines below the report: what is known of the study beyond its dataset."""
        self.remarks.append(text)

    def explore(self, view: Callable[[], ExplorerView]) -> None:
        """A view, of `modal.explorer_view`, for the report page to explore."""
        self.views.append(view())

    def draw(self, *figures: Drawn) -> None:
        """Draw figures and animations, and save them. Raises StorageError where it cannot."""
        for drawing in figures:
            drawing.write(self)


class Nowhere(OutputFolder):
    """Takes the outputs of a study that is only computed: nothing is drawn, nothing written."""

    def __init__(self) -> None:
        pass

    def _leave(self, *output: Any, **options: Any) -> None:
        """Nothing."""

    write_text = write_dataset = remark = explore = draw = _leave


NOWHERE = Nowhere()
