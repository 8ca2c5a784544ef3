"""What tests that start processes share."""

from __future__ import annotations

import signal
import time
from pathlib import Path


def interruptible() -> None:
    """For Popen's preexec_fn: Ctrl-C and the end of a terminal reach the process.

    A shell starts what it runs in the background with Ctrl-C ignored, `nohup` ignores SIGHUP, and
    children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wait_for(path: Path) -> None:
    """Wait until a running process has written a file."""
    deadline = time.monotonic() + 60.0
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists()
