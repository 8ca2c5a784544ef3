"""The eigenmodes of one frozen instant, always checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from assembly.errors import ConvergenceError, InputError
from assembly.frozen import FrozenSystem
from assembly.null_chain import NullChain
from modal.deflation import transposed_chain
from modal.finish import Task, finish
from modal.modes import Modes
from modal.solvers.block import solve_block
from modal.solvers.dense import solve_dense
from modal.solvers.krylov import solve_krylov
from modal.solvers.operator import InverseOperator
from modal.solvers.pairs import Pairs
from modal.solvers.scipy import arnoldi
from modal.solvers.shifted import ShiftedOperator
from modal.solvers.slepc import krylov_schur
from modal.solvers.window import operator_at, solve_window
from modal.state import Quadratic

Backend = Literal["slepc", "scipy", "dense"]
ENGINES = {"slepc": (krylov_schur, "SLEPc Krylov–Schur"), "scipy": (arnoldi, "ARPACK Arnoldi")}

# A Krylov space for k modes of fewer unknowns than this would be most of the state space.
DENSE_BELOW = 20


def solve(
    system: FrozenSystem,
    k: int = 10,
    backend: Backend = "slepc",
    certify: bool = False,
    *,
    target: complex | None = None,
    deflation: Literal["auto"] | NullChain | None = "auto",
    tolerance: float = 1e-10,
    seed: int = 0,
) -> Modes:
    """The k modes of smallest |λ| (rad/s), or nearest to `target`; fewer when there are not so
    many.

    backend: "slepc", "scipy" or "dense" (the reference). certify: confirm by a count that none is
        missing.
    deflation: "auto" removes the zero eigenvalues of the rigid motion by `system.null_chain`; None
    keeps them; a NullChain is used as given. tolerance: largest backward error handed out.
    Raises InputError for bad arguments, SingularSystemError for a stiffness that is singular beyond
    the rigid motion, ConvergenceError whose `partial` is the Modes that converged, AccuracyError
    when the check fails.
    """
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k: expected a whole number of modes, 1 or more, got {k!r}")
    if backend not in ("slepc", "scipy", "dense"):
        raise InputError(f'backend: expected "slepc", "scipy" or "dense", got {backend!r}')
    point = as_target(target)
    task = Task(system, Quadratic(system), _chain(system, deflation), k, backend, tolerance, point)
    if backend == "dense" or task.quadratic.n < max(DENSE_BELOW, k + 2):
        return _dense(task)
    return _sparse(task, seed) if point == 0.0 else _window(task, seed)


def as_target(target: complex | None) -> complex:
    """The point to look near, in the upper half plane; InputError when it is not a finite
    number."""
    if target is None:
        return 0.0
    try:
        point = complex(target)
    except (TypeError, ValueError):
        raise InputError(f"target: expected a number in rad/s, got {target!r}") from None
    if not np.isfinite(point):
        raise InputError(f"target: expected a finite number in rad/s, got {target!r}")
    return point if point.imag >= 0.0 else point.conjugate()


def _chain(system: FrozenSystem, deflation: str | NullChain | None) -> NullChain | None:
    if deflation is None or isinstance(deflation, NullChain):
        return deflation
    if deflation != "auto":
        raise InputError(f'deflation: expected "auto", None or a NullChain, got {deflation!r}')
    return system.null_chain


def _dense(task: Task) -> Modes:
    quadratic, chain = task.quadratic, task.chain

    def adjoint() -> Pairs:
        opposite = None if chain is None else transposed_chain(quadratic, chain)
        return solve_dense(quadratic.transposed, opposite)

    return finish(task, solve_dense(quadratic, chain), adjoint)


def _sparse(task: Task, seed: int) -> Modes:
    operator = InverseOperator(task.quadratic, task.chain)
    engine, method = ENGINES[task.backend]

    def adjoint() -> Pairs:
        return solve_krylov(operator.transposed(), task.k + 1, engine, method, seed)

    try:
        if operator.definite and task.chain is None and task.backend == "slepc":
            found = solve_block(operator, task.k, seed)
        else:
            found = solve_krylov(operator, task.k, engine, method, seed)
        return finish(task, found, adjoint)
    except ConvergenceError as stopped:
        raise _with_modes(stopped, task, adjoint) from None
    finally:
        operator.destroy()


def _window(task: Task, seed: int) -> Modes:
    engine, method = ENGINES[task.backend]
    first = operator_at(task.quadratic, task.chain, task.target)
    used: ShiftedOperator | InverseOperator = first

    def adjoint() -> Pairs:
        return solve_krylov(used.transposed(), len(found.eigenvalues), engine, method, seed)

    try:
        found, used = solve_window(first, task.k, task.target, engine, method, seed)
        return finish(task, found, adjoint)
    except ConvergenceError as stopped:
        raise _with_modes(stopped, task, adjoint) from None
    finally:
        first.destroy()
        used.destroy()


def _with_modes(
    stopped: ConvergenceError, task: Task, adjoint: Callable[[], Pairs]
) -> ConvergenceError:
    """The same error whose `partial` is the Modes that converged, not a backend's pairs."""
    partial = stopped.partial
    if isinstance(partial, Pairs) and len(partial.eigenvalues):
        few = replace(task, k=len(partial.eigenvalues))
        return ConvergenceError(str(stopped), finish(few, partial, adjoint))
    return ConvergenceError(str(stopped), None)
