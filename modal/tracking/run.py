"""A tracking run: from the first instant, or from the last one of a stored run, to the end."""

from __future__ import annotations

from dataclasses import replace

from modal.data.progress import shown
from modal.tracking.sources import BasisError, Source
from modal.tracking.space_sources import source_of
from modal.tracking.store import TrackStore
from modal.tracking.sweep import Request
from modal.tracking.tracks import Recorder


class Run:
    """source and recorder are those of the run; held: its folder, or None."""

    source: Source

    def __init__(self, request: Request, held: TrackStore | None) -> None:
        self._request, self._held = request, held
        self._sources: list[Source] = []
        self.recorder = Recorder(request, None)

    def begin(self, resume: bool) -> None:
        """Create the source and the record; with resume=True those of the stored run, if any."""
        held = self._held
        stored = held if held is not None and resume and held.exists() else None
        self.source = source_of(self._request, stored)
        self._sources.append(self.source)
        self.recorder = Recorder(self._request, self.source)
        if stored is not None:
            stored.restore(self.recorder)
        elif held is not None:
            source = self.source
            held.create(source.prints(), source.arrays(), source.kind, source.description)

    def follow(self, progress: bool | None) -> None:
        """Record all remaining instants.

        Where backend="auto" chose a reduced basis that is not accurate enough for an instant, the
        run starts again with full solves.
        """
        try:
            self._follow(progress)
        except BasisError:
            if self._request.backend != "auto":
                raise
            self._request = replace(self._request, backend="slepc")
            self.begin(resume=False)
            self._follow(progress)

    def _follow(self, progress: bool | None) -> None:
        source, recorder, held = self.source, self.recorder, self._held
        sweep, first = self._request.sweep, recorder.count
        at, what = sweep.at, f"modes over {sweep.name}"
        for value in shown(at[first:], what, "instant", progress, len(at), first):
            snapshot = source.snapshot(float(value))
            basis = source.arrays() if held and held.growths != source.growths else None
            if held is not None and basis is not None:
                size = len(snapshot.right)
                held.grow(recorder, size, source.growths, basis, source.description)
            recorder.add(snapshot, sweep.spin(float(value)))
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
