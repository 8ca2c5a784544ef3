"""Peak memory of the stages of a benchmark, and an end before the machine runs out of it."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

GIB = 2**30
LEAST = 0.7  # GiB
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> float:
    """Memory of this process now, GiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / GIB


def available() -> float:
    """Memory that the machine has left, GiB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024 / GIB
    return float("inf")


class Watcher:
    """Looks at the resident memory ten times a second.

    With a limit, GiB, it ends the process above that, or when the machine has less than LEAST left.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self.highest, self._stage = limit, 0.0, 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def stage(self) -> float:
        """The peak since the last call, GiB."""
        peak = max(self._stage, resident())
        self._stage = 0.0
        return peak

    def _watch(self) -> None:
        while True:
            now = resident()
            self._stage, self.highest = max(self._stage, now), max(self.highest, now)
            if self.limit is not None and (now > self.limit or available() < LEAST):
                print(f"stopped: {now:.2f} GiB used", file=sys.stderr, flush=True)
                os._exit(3)
            time.sleep(0.1)
