"""What tests that start processes share."""

from __future__ import annotations

import signal


def interruptible() -> None:
    """For Popen's preexec_fn: Ctrl-C reaches the process.

    A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
