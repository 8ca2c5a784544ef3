"""How linear systems are solved from here on: in memory or on disk, on one rank or on many.

Factors on disk are in a folder of the process, which is removed with them. That of a process that
was killed is removed when another run starts with the same place: its lock, which the system
releases with the process, is then free.

The choice is made in one place, `linear_solver`. `Factorization` reads it; nothing else does.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from assembly.errors import InputError, StorageError
from assembly.linalg.team import Team
from assembly.optional import check_installed
from assembly.parallel.ranks import agreed, give_up

LONGEST = 200  # bytes of a path that MUMPS takes, with its file names
VARIABLE = "MUMPS_OOC_TMPDIR"  # where MUMPS reads the folder from


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """A new folder in `place` for the factors of this process; removed at the end of the block.

    Raises InputError for a path that is too long or a file, StorageError where no folder can be
    made.
    """
    place = Path(place).absolute()
    if len(os.fsencode(place)) > LONGEST:
        raise InputError(f"out_of_core: {place}: longer than the {LONGEST} bytes that MUMPS takes")
    prefix = f"factors.{platform.node() or 'localhost'}."
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _locked(place, wait=True):  # a new folder is not yet locked for a moment
            _remove_stale(place, prefix)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
            descriptor = _lock(folder, wait=False)
    except OSError as fault:
        if isinstance(fault, FileExistsError | NotADirectoryError):
            raise InputError(f"out_of_core: {place} is not a folder") from None
        raise StorageError(f"out_of_core: {place}: {fault.strerror or fault}") from None
    former = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    try:
        yield folder
    finally:
        os.environ.pop(VARIABLE)
        if former is not None:
            os.environ[VARIABLE] = former
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _remove_stale(place: Path, prefix: str) -> None:
    """Remove the folders of this host whose process is gone."""
    for folder in place.glob(f"{prefix}*"):
        descriptor = _lock(folder, wait=False)
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


@contextmanager
def _locked(folder: Path, wait: bool) -> Iterator[None]:
    descriptor = _lock(folder, wait)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(folder: Path, wait: bool) -> int | None:
    """A descriptor that holds the folder until it is closed; None where it cannot be had."""
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return descriptor
    except OSError:  # held by a living process, or a file system without locks
        if descriptor is not None:
            os.close(descriptor)
        return None


Method = Literal["direct", "iterative"]
LEAST = 20_000  # DOFs below which one rank solves in memory, by a factorization


@dataclass(frozen=True)
class LinearSolver:
    """method: "direct" or "iterative". out_of_core: factors are kept on disk. team: of ranks that
    share a factor. least: DOFs from which all this applies.
    """

    method: Method = "direct"
    out_of_core: bool = False
    team: Team | None = None
    least: int = LEAST


_active = [LinearSolver()]


def active() -> LinearSolver:
    """The choice that holds now."""
    return _active[-1]


@contextmanager
def linear_solver(
    method: Method = "direct",
    *,
    out_of_core: str | os.PathLike[str] | None = None,
    comm: Any = None,
    least: int = LEAST,
) -> Iterator[bool]:
    """How large linear systems are solved within the block.

    Parameters
    ----------
    method : {"direct", "iterative"}, default "direct"
        "direct": one factorization of each matrix. "iterative": conjugate gradients with an
        algebraic multigrid preconditioner where a basis needs solutions with a symmetric positive
        definite stiffness, for models whose factor does not fit in memory; all else is direct.
    out_of_core : path, optional
        Folder for the factors, on a fast local disk. Its files are removed at the end of the
        block, and those of a run that was killed at the next start with the same folder.
    comm : mpi4py communicator, optional
        Ranks that share each factor. All of them enter the block; the body of it is for the first.
    least : int, default 20000
        Degrees of freedom below which one rank solves in memory.

    Returns
    -------
    context manager of bool
        Whether this rank runs the body of the block: True on the first rank. The others take part
        in its solutions until it leaves the block, then they get False.

    Raises
    ------
    InputError
        An argument cannot be used.
    StorageError
        The folder cannot be made.

    Notes
    -----
    An exception on the first rank is raised there and ends the other ranks without a message.
    Factors of several ranks differ from those of one by round-off.

    Examples
    --------
    >>> import assembly, modal, tempfile
    >>> from assembly.gallery import block
    >>> system = block(10, 4, 4).freeze()
    >>> in_memory = modal.solve(system, k=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with assembly.linear_solver(out_of_core=folder, least=500):
    ...         on_disk = modal.solve(system, k=3)
    >>> bool(abs(on_disk.eigenvalues / in_memory.eigenvalues - 1.0).max() < 1e-9)
    True
    """
    if comm is not None and not (hasattr(comm, "Dup") and hasattr(comm, "size")):
        raise InputError(f"comm: expected a communicator of mpi4py, got {comm!r}")
    several = comm if comm is not None and comm.size > 1 else None
    with ExitStack() as stack:
        with agreed(several):
            _check(method, least)
            if method == "iterative" or out_of_core is not None or several is not None:
                check_installed("petsc4py", "linear_solver: more than one factor in memory")
            if out_of_core is not None:
                stack.enter_context(scratch(Path(out_of_core)))
        team = None if several is None else Team(several)
        chosen = LinearSolver(method, out_of_core is not None, team, least)
        if team is None:
            with _chosen(chosen):
                yield True
        elif team.comm.rank == 0:
            with _chosen(chosen), _driving(team):
                yield True
        else:
            with _chosen(chosen):
                failed = team.serve()
            if failed:
                raise SystemExit(0)  # the first rank says why, and its exit code counts
            yield False


@contextmanager
def _chosen(chosen: LinearSolver) -> Iterator[None]:
    _active.append(chosen)
    try:
        yield
    finally:
        _active.remove(chosen)


@contextmanager
def _driving(team: Team) -> Iterator[None]:
    """The driver's block: the other ranks are released however it ends."""
    failed = True
    try:
        yield
        failed = False
    except BaseException as fault:
        if team.broken:
            traceback.clear_frames(fault.__traceback__)
            give_up(team.comm, fault)
        raise
    finally:
        if not team.broken:
            team.stop(failed)


def _check(method: str, least: int) -> None:
    if method not in get_args(Method):
        raise InputError(f'method: expected "direct" or "iterative", got {method!r}')
    if not isinstance(least, int) or least < 0:
        raise InputError(f"least: expected a whole number of degrees of freedom, got {least!r}")
