"""A tracking run: from the first instant, or from the last one of a stored run, to the end."""

from __future__ import annotations

from collections.abc import Callable

from modal.data.progress import shown
from modal.tracking.sources import BasisError, Source
from modal.tracking.store import TrackStore
from modal.tracking.sweep import Sweep
from modal.tracking.tracks import Recorder

# The source of modes for a backend; that of the stored run if one is continued.
MakeSource = Callable[[str, TrackStore | None], Source]
# An empty record that receives its modes from a source.
MakeRecord = Callable[[Source | None], Recorder]


class Run:
    """source and recorder are those of the run; held: its folder, or None."""

    source: Source

    def __init__(
        self, sweep: Sweep, make: MakeSource, record: MakeRecord, held: TrackStore | None
    ) -> None:
        self._sweep, self._make, self._record, self._held = sweep, make, record, held
        self._sources: list[Source] = []
        self.recorder = record(None)

    def begin(self, backend: str, resume: bool) -> None:
        """Create the source and the record; with resume=True those of the stored run, if any."""
        held = self._held
        stored = held if held is not None and resume and held.exists() else None
        self.source = self._make(backend, stored)
        self._sources.append(self.source)
        self.recorder = self._record(self.source)
        if stored is not None:
            stored.restore(self.recorder)
        elif held is not None:
            source = self.source
            held.create(source.prints(), source.arrays(), source.kind, source.description)

    def follow(self, backend: str, progress: bool | None) -> None:
        """Record all remaining instants.

        Where backend="auto" chose a reduced basis that is not accurate enough for an instant, the
        run starts again with full solves.
        """
        try:
            self._follow(progress)
        except BasisError:
            if backend != "auto":
                raise
            self.begin("slepc", resume=False)
            self._follow(progress)

    def _follow(self, progress: bool | None) -> None:
        source, recorder, held = self.source, self.recorder, self._held
        at, first, what = self._sweep.at, recorder.count, f"modes over {self._sweep.name}"
        for value in shown(at[first:], what, "instant", progress, len(at), first):
            snapshot = source.snapshot(float(value))
            basis = source.arrays() if held and held.growths != source.growths else None
            if held is not None and basis is not None:
                size = len(snapshot.right)
                held.grow(recorder, size, source.growths, basis, source.description)
            recorder.add(snapshot, self._sweep.spin(float(value)))
            if held is not None:
                held.flush(recorder, source.description)
        self.keep()

    def keep(self) -> None:
        """Write the finished instants that are not yet written."""
        if self._held is not None and self.recorder.count:
            self._held.flush(self.recorder, self.source.description, now=True)

    def close(self) -> None:
        """Release the sources and the folder."""
        for source in self._sources:
            source.close()
        if self._held is not None:
            self._held.close()
