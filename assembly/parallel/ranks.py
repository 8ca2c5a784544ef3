"""Messages between the ranks of a run under mpiexec: waiting, faults, and work of the first rank.

A rank that waits sleeps between looks: MPI's own waiting occupies a processor that another rank of
the node may need.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assembly.errors import FrozenMotionError
from assembly.magnitudes import ENTRIES
from assembly.optional import installed, optional

# Set by mpiexec and srun for every rank they start.
LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_SLEEP = 2e-3  # s; so long a rank looks without sleep at first
EXIT_FAILED = 3  # exit code of a run that failed, or that one rank ended for all


def world() -> Any | None:
    """MPI.COMM_WORLD of a run that mpiexec started with several ranks, else None.

    Raises InputError when several ranks were started and mpi4py is missing.
    """
    started = [os.environ[name] for name in LAUNCHERS if name in os.environ]
    if not started or set(started) == {"1"}:
        return None
    comm = optional("mpi4py.MPI", "mpiexec with several ranks").COMM_WORLD
    return comm if comm.size > 1 else None


def start_petsc() -> None:
    """Start PETSc and SLEPc where they are installed: all ranks of MPI.COMM_WORLD have to start and
    end them together.
    """
    for package, module in (("petsc4py", "PETSc"), ("slepc4py", "SLEPc")):
        if installed(package):
            importlib.import_module(f"{package}.{module}")


def wait(ready: Callable[[], bool]) -> None:
    """Return when `ready()` is true; sleeps in between, longer and longer."""
    start, pause = time.monotonic(), 1e-5
    while not ready():
        if time.monotonic() - start > LONGEST_SLEEP:
            time.sleep(pause)
            pause = min(2.0 * pause, LONGEST_SLEEP)
        else:
            os.sched_yield()


def receive(comm: Any, source: int) -> Any:
    """The next message of a rank."""
    wait(lambda: bool(comm.Iprobe(source=source)))
    return comm.recv(source=source)


def together(comm: Any) -> None:
    """Wait until all ranks are here."""
    request = comm.Ibarrier()
    wait(lambda: bool(request.Test()))


def portable(fault: BaseException) -> BaseException:
    """The exception as it can be sent to another rank."""
    try:
        copy: BaseException = pickle.loads(pickle.dumps(fault))
        if type(copy) is type(fault) and str(copy) == str(fault):
            return copy
    except Exception:  # a fault may hold anything
        pass
    if isinstance(fault, FrozenMotionError):
        return type(fault)(str(fault))
    return RuntimeError("".join(traceback.format_exception(fault)))


@contextmanager
def _handled(handler: Any) -> Iterator[None]:
    """A block with another handler of signals. Python handles them in its main thread only."""
    numbers = SIGNALS if threading.current_thread() is threading.main_thread() else ()
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, own in reversed(former.items()):  # Ctrl-C last: it may raise at once
            signal.signal(number, signal.SIG_DFL if own is None else own)


def signals_ignored() -> AbstractContextManager[None]:
    """A block of a rank that the first rank ends: signals are for that one."""
    return _handled(signal.SIG_IGN)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """A block that a signal does not interrupt, whichever thread receives it; it is delivered at
    the end.
    """
    received: dict[int, None] = {}
    try:
        with _handled(lambda number, frame: received.setdefault(number)):
            yield
    finally:
        for number in received:
            signal.raise_signal(number)


@contextmanager
def agreed(comm: Any | None) -> Iterator[None]:
    """A block without messages that all ranks enter: an exception on one is raised on all.

    Raises the rank's own exception, or else that of the lowest rank that has one.
    """
    fault_here: Exception | None = None
    try:
        yield
    except Exception as fault:
        if comm is None:
            raise
        fault_here = fault
    if comm is None:
        return
    together(comm)
    faults = comm.allgather(None if fault_here is None else portable(fault_here))
    if fault_here is not None:
        raise fault_here
    for other in faults:
        if other is not None:
            raise other


def of_first(comm: Any | None, make: Callable[[], Any]) -> Any:
    """What `make()` returns on the first rank, on all ranks; its exception is raised on all.

    Arrays of any size are sent without a copy.
    """
    if comm is None:
        return make()
    value: Any = None
    with agreed(comm):
        if comm.rank == 0:
            value = make()
    return importlib.import_module("mpi4py.util.pkl5").Intracomm(comm).bcast(value)


def pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Views of the bytes of a contiguous array, each small enough for one message."""
    flat = array.reshape(-1).view(np.uint8)
    for start in range(0, flat.size, 8 * ENTRIES):
        yield flat[start : start + 8 * ENTRIES]


def give_up(comm: Any, fault: BaseException) -> NoReturn:
    """End the run on all ranks: this one cannot take its part in what the others wait for."""
    stream = sys.__stderr__ or sys.stderr
    lines = "".join(traceback.format_exception(fault))
    if isinstance(fault, (FrozenMotionError, MemoryError)):
        lines = f"frozen-motion: {fault or 'out of memory'}\n"
    print(f"rank {comm.rank}: {lines}", file=stream, end="", flush=True)
    comm.Abort(EXIT_FAILED)
    raise SystemExit(EXIT_FAILED)
