"""A tracking run on disk, which can be continued after any interruption.

A folder of .npz files, each written whole under another name and then moved
(modal/data/checkpoint.py):

    study.npz      what is tracked, and the fingerprints of the model
    basis-N.npz    the reduced basis after its N-th growth
    rows-N.npz     the numbers of instants from N on
    state.npz      how many instants are finished, and the vectors the next one is compared with

The state is written last and names its basis; rows beyond its count are written again. No finished
instant is computed again, so a continued run equals an uninterrupted one bit by bit on the same
machine.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from modal.data.checkpoint import load, packed, save, unpacked
from modal.data.folder import lock, release, remove_stale, storage_faults
from modal.provenance.fingerprint import agree
from modal.tracking.encounters import Encounter
from modal.tracking.sources import Source
from modal.tracking.tracks import Recorder, State

INTERVAL = 10.0  # s after which finished instants are written
FORMAT = 2  # of the files; a run of another one is refused
STUDY, STATE, ROWS = "study.npz", "state.npz", "rows."


class TrackStore:
    """The folder of one run. settings: must be the same to continue the run.

    Raises StorageError, in one line, when the folder holds something else, is damaged, is in use or
    cannot be written.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self._settings = path, {"format": FORMAT} | dict(settings)
        self._run = {"run": ""}
        self._written = State()
        self.growths = 0  # of the basis, as written
        self._due = time.monotonic() + INTERVAL
        self._lock: int | None = None
        self._prints: NDArray[Any] = np.zeros(0)

    def exists(self) -> bool:
        """Whether the folder holds a run to continue."""
        return (self.path / STATE).exists()

    def create(self, source: Source) -> None:
        """Start a new run, which replaces an earlier one."""
        prints = source.prints()
        self._open()
        self._run = {"run": uuid.uuid4().hex}
        self._written, self.growths = State(), 0
        with storage_faults(self.path, self._kept):
            for file in [self.path / STATE, *self.path.glob("rows-*"), *self.path.glob("basis-*")]:
                file.unlink(missing_ok=True)
        arrays = {
            "prints": prints,
            "run": np.array(self._run["run"]),
            "kind": np.array(source.kind),
        }
        save(self.path / STUDY, arrays, self._settings)
        save(self._basis(0), source.arrays(), self._run)
        self._save(State(), source)

    def open(self) -> str:
        """Open the stored run; returns the kind of its source. Raises StorageError."""
        self._open()
        study = load(self.path / STUDY, self._settings)
        self._run, self._prints = {"run": str(study["run"])}, study["prints"]
        return str(study["kind"])

    def reopen(self, prints: NDArray[np.float64]) -> tuple[Mapping[str, NDArray[Any]], str]:
        """The basis of the stored run and its description. prints: of the present model."""
        if not agree(self._prints, prints):
            raise self.other_model()
        head = load(self.path / STATE, self._run)
        self.growths = int(head["growths"])
        return load(self._basis(self.growths), self._run), str(head["description"])

    def other_model(self) -> StorageError:
        """The error of a stored run of another model."""
        return StorageError(f"{self.path}: holds a run of another model; give another store")

    def restore(self, recorder: Recorder) -> None:
        """Restore the finished instants."""
        state: State = unpacked(State, "state", load(self.path / STATE, self._run))
        meetings = list[Encounter]()
        start = 0
        while start < state.count:
            arrays = load(self.path / f"rows-{start}.npz", self._run)
            block = {n[len(ROWS) :]: a for n, a in arrays.items() if n.startswith(ROWS)}
            start = recorder.rows.restore(start, block)
            meetings += unpacked(list[Encounter], "meetings", arrays)
        if (start, len(meetings)) != (state.count, state.meetings):
            raise StorageError(f"{self.path}: is damaged: rows and state do not agree")
        recorder.restore(state, meetings)
        self._written = state

    def grow(self, recorder: Recorder, size: int, source: Source) -> None:
        """Write a grown basis, with the finished instants in its coordinates.

        size: length of vectors in these. Until all is written, the run is that before.
        """
        state, before = recorder.brought(size), self.growths
        save(self._basis(source.growths), source.arrays(), self._run, self._kept)
        self._save(state, source, recorder)
        recorder.state = state
        with storage_faults(self.path, self._kept):
            self._basis(before).unlink(missing_ok=True)

    def flush(self, recorder: Recorder, source: Source, now: bool = False) -> None:
        """Write the newly finished instants; now=False: only when the interval has passed."""
        # The first instant takes its final form when the second is there.
        if recorder.count < 2 or not (now or time.monotonic() >= self._due):
            return
        if recorder.state is not self._written:
            self._save(recorder.state, source, recorder)
        self._due = time.monotonic() + INTERVAL

    def close(self) -> None:
        """Release the folder."""
        release(self._lock)
        self._lock = None

    def _basis(self, growths: int) -> Path:
        return self.path / f"basis-{growths}.npz"

    def _save(self, state: State, source: Source, recorder: Recorder | None = None) -> None:
        """Rows and then the state, each file whole."""
        start = self._written.count
        if recorder is not None and state.count > start:
            rows = {ROWS + n: a for n, a in recorder.rows.block(start, state.count).items()}
            rows |= packed(recorder.meetings[self._written.meetings :], "meetings")
            save(self.path / f"rows-{start}.npz", rows, self._run, self._kept)
        basis = {"growths": np.array(source.growths), "description": np.array(source.description)}
        last = None if state.last is None else replace(state.last, stack=None)
        alone = packed(replace(state, last=last), "state")
        save(self.path / STATE, alone | basis, self._run, self._kept)
        self._written, self.growths = state, source.growths

    def _open(self) -> None:
        """Make the folder, or take one that holds a run; no other process may have it."""
        if self._lock is not None:
            return
        other = StorageError(f"{self.path}: exists and is not a tracking run; give another store")
        with storage_faults(self.path, self._kept):
            if self.path.exists() and not self.path.is_dir():
                raise other
            self.path.mkdir(parents=True, exist_ok=True)
            remove_stale(self.path)
            files = [p for p in self.path.iterdir() if not p.name.endswith(".partial")]
            if files and not (self.path / STUDY).exists():
                raise other
            self._lock = lock(self.path)

    @property
    def _kept(self) -> str:
        """What is on disk, in words."""
        return f"{self._written.count} instants are kept" if self._written.count else ""
