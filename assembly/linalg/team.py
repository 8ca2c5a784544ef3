"""One factor over several ranks: the first drives, the others take part in what it announces.

The driver's matrix has all its rows on the first rank. Before each operation the driver sends its
name and number to every other rank, which then calls the same method of its own part: the rest of
the program runs on the driver alone and does not know of the others.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from assembly.errors import FrozenMotionError
from assembly.linalg.multigrid import MultigridSolver
from assembly.linalg.mumps import MumpsFactor
from assembly.parallel.ranks import (
    give_up,
    receive,
    signals_blocked,
    signals_ignored,
    start_petsc,
)
from assembly.types import Array

STOP = "stop"


Part = MumpsFactor | MultigridSolver  # what a rank holds of a factor
KINDS: dict[str, Any] = {"mumps": MumpsFactor, "multigrid": MultigridSolver}


class Team:
    """The ranks of a communicator as those that share factors. Made by all of them together."""

    def __init__(self, comm: Any) -> None:
        start_petsc()
        self.comm = comm.Dup()
        self.parts: dict[int, Part] = {}
        self.dropped: list[int] = []  # by the driver, to be destroyed at the next occasion
        self.made = 0
        self.broken = False

    # The driver's side.

    def factorize(self, kind: str, data: Any, *arguments: Any) -> SharedFactor:
        """A factor over all ranks. Raises as MumpsFactor and MultigridSolver do."""
        self._destroy_dropped()
        self.made += 1
        number = self.made
        self._perform("make", number, kind, *arguments, data=data)
        return SharedFactor(self, number)

    def solve(self, number: int, b: Array, transpose: bool) -> Array:
        self._destroy_dropped()
        columns = None if b.ndim == 1 else b.shape[1]
        solution: Array = self._perform("solve", number, columns, transpose, data=b)
        return solution

    def destroy(self, number: int) -> None:
        if number in self.parts:
            self._perform("destroy", number)

    def stop(self, failed: bool) -> None:
        """Release the other ranks. failed: the driver's work ended with an exception."""
        for number in list(self.parts):
            self.destroy(number)
        self._announce(STOP, failed)

    def _destroy_dropped(self) -> None:
        while self.dropped:
            self.destroy(self.dropped.pop())

    def _announce(self, *message: Any) -> None:
        for rank in range(1, self.comm.size):
            self.comm.send(message, dest=rank)

    def _perform(self, name: str, *arguments: Any, data: Any = None) -> Any:
        """An operation on all ranks; a signal waits until it is done, so that none waits alone."""
        with signals_blocked():
            self._announce(name, *arguments)
            try:
                return getattr(self, f"_{name}")(*arguments, data=data)
            except BaseException as fault:
                # A fault of the factor is raised on every rank. After any other one, the others
                # may be waiting inside the operation.
                self.broken = self.broken or not isinstance(fault, FrozenMotionError)
                raise

    # Both sides: `data` is None on other ranks than the driver.

    def _make(self, number: int, kind: str, *arguments: Any, data: Any) -> None:
        self.parts[number] = KINDS[kind](data, *arguments, comm=self.comm)

    def _solve(self, number: int, columns: int | None, transpose: bool, data: Any) -> Array:
        if data is None:
            data = np.empty(0) if columns is None else np.empty((0, columns), order="F")
        return self.parts[number].solve(data, transpose)

    def _destroy(self, number: int, data: Any) -> None:
        self.parts.pop(number).destroy()

    def serve(self) -> bool:
        """Take part until the driver stops; whether its work ended with an exception.

        Signals are for the driver: mpiexec sends them to all ranks.
        """
        with signals_ignored():
            return self._serve()

    def _serve(self) -> bool:
        while True:
            name, *arguments = receive(self.comm, source=0)
            if name == STOP:
                return bool(arguments[0])
            try:
                getattr(self, f"_{name}")(*arguments, data=None)
            except BaseException as fault:
                if not isinstance(fault, FrozenMotionError):  # which is raised on the driver too
                    give_up(self.comm, fault)


class SharedFactor:
    """The driver's handle of a factor that all ranks hold a part of."""

    def __init__(self, team: Team, number: int) -> None:
        self.team, self.number = team, number
        self._dropped = weakref.finalize(self, team.dropped.append, number)

    def solve(self, b: Array, transpose: bool) -> Array:
        return self.team.solve(self.number, b, transpose)

    def negative_pivots(self) -> int:
        return self.team.parts[self.number].negative_pivots()

    def destroy(self) -> None:
        self._dropped.detach()
        self.team.destroy(self.number)
