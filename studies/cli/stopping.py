"""Signals that end a run: SIGTERM and SIGHUP do what Ctrl-C does."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = [s for s in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, s)]


class Stop:
    """Which signal ended the run, if any did.

    patience: s in which a further signal is ignored, so that what is being written is finished.
    """

    def __init__(self, patience: float = 30.0) -> None:
        self._patience = patience
        self._number: int | None = None
        self._since = 0.0
        streams = (sys.__stdout__, sys.__stderr__)
        self._terminals = [s.fileno() for s in streams if s is not None and s.isatty()]

    @property
    def received(self) -> bool:
        """Whether a signal has come."""
        return self._number is not None

    @property
    def code(self) -> int:
        """The exit code, 128 + the signal's number: 130 for Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
        return 128 + (signal.SIGINT if self._number is None else self._number)

    @property
    def reason(self) -> str:
        """In words."""
        if self._number in (None, signal.SIGINT):
            return "interrupted"
        return f"ended by {signal.Signals(self._number).name}"

    def receive(self, number: int, frame: FrameType | None) -> None:
        """The handler. Raises KeyboardInterrupt."""
        if self._number is not None and time.monotonic() < self._since + self._patience:
            return
        if self._number is None:
            self._number = number
        self._since = time.monotonic()
        if number != signal.SIGINT and signal.Signals(number).name == "SIGHUP":
            self._leave_terminal()
        raise KeyboardInterrupt

    def terminal_is_gone(self) -> bool:
        """Whether a terminal of this process has been closed at its other end."""
        poll = select.poll()
        for descriptor in self._terminals:
            poll.register(descriptor, 0)
        return any(event & select.POLLHUP for _, event in poll.poll(0))

    def _leave_terminal(self) -> None:
        """The terminal is gone: a write to it would fail."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in self._terminals:
            os.dup2(nowhere, descriptor)
        os.close(nowhere)


@contextmanager
def stoppable(exits: bool = False) -> Iterator[Stop]:
    """Within the block the signals end a run by KeyboardInterrupt.

    A signal that the caller has set to be ignored (nohup, a shell's background jobs) stays ignored.
    exits: the process ends after the block; a second signal must not kill it on its way out.
    """
    stop = Stop()
    former = {}
    if threading.current_thread() is threading.main_thread():
        for name in SIGNALS:
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                former[number] = signal.signal(number, stop.receive)
    try:
        yield stop
    finally:
        for number, handler in former.items():
            # Python takes its own handlers away when it ends; an ignored signal stays ignored.
            signal.signal(number, signal.SIG_IGN if exits and stop.received else handler)
