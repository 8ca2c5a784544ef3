"""Commands under mpiexec, and how they solve linear systems: one output, whatever the ranks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assembly.parallel.ranks import agreed, world

if TYPE_CHECKING:
    from assembly.linalg.solver import Method

Command = TypeVar("Command", bound=Callable[..., Any])
# Commands that need all ranks.
SHARED = ("track", "run", "map", "check", "solve", "response", "rerun")

OUT_OF_CORE = click.option(
    "--out-of-core", type=Path, metavar="DIR", help="Keep the factors of large matrices on disk."
)
SOLVER = click.option(
    "--solver",
    type=click.Choice(["direct", "iterative"]),
    default="direct",
    show_default=True,
    help="How large linear systems are solved; iterative where no factor fits.",
)
GROUP = click.option(
    "--ranks-per-factor",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Ranks that share one factor, under mpiexec.",
)


def linear_systems(command: Command) -> Command:
    """The options of a command that solves linear systems."""
    return OUT_OF_CORE(SOLVER(command))


def silence_others() -> bool:
    """Other ranks than the first write nothing; returns whether this is the first."""
    comm = world()
    if comm is None or comm.rank == 0:
        return True
    sys.stdout = sys.stderr = open(os.devnull, "w")
    return False


def takes_part(command: str | None) -> bool:
    """Whether this rank has something to do in a command: the first rank always has."""
    comm = world()
    return comm is None or comm.rank == 0 or command in SHARED


def exit_code(code: int) -> int:
    """That of the first rank counts: mpiexec ends all ranks when one of them fails."""
    comm = world()
    return code if comm is None or comm.rank == 0 else 0


def on_one_driver(command: Callable[..., None]) -> Callable[..., None]:
    """A command that the first rank carries out, while all ranks factorize and solve for it; with
    the options of `linear_systems`."""

    @wraps(command)
    def carried_out(solver: Method, out_of_core: Path | None, **arguments: Any) -> None:
        from assembly.linalg.solver import linear_solver

        with linear_solver(solver, out_of_core=out_of_core, comm=world()) as driving:
            if driving:
                command(**arguments)

    return linear_systems(carried_out)


@contextmanager
def drivers(solver: Method, out_of_core: Path | None, group: int) -> Iterator[tuple[bool, Any]]:
    """A block for the first rank of every group of ranks that share a factor.

    Yields whether this rank is one of them, and their communicator.
    """
    from assembly.linalg.solver import linear_solver

    comm = world()
    if comm is None or group == 1:
        with ExitStack() as stack:
            with agreed(comm):
                stack.enter_context(linear_solver(solver, out_of_core=out_of_core))
            yield True, comm
        return
    members = comm.Split(comm.rank // group, comm.rank)
    leaders = comm.Split(int(members.rank > 0), comm.rank)
    with linear_solver(solver, out_of_core=out_of_core, comm=members) as driving:
        yield driving, leaders
