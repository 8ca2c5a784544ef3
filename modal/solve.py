"""The eigenmodes of one frozen instant, always checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.linalg as la

from assembly.errors import AccuracyError, ConvergenceError, InputError
from assembly.frozen import FrozenSystem
from assembly.null_chain import NullChain
from modal.deflation import transposed_chain
from modal.modes import Modes
from modal.solvers.block import solve_block
from modal.solvers.dense import solve_dense
from modal.solvers.krylov import solve_krylov
from modal.solvers.operator import InverseOperator
from modal.solvers.pairs import Pairs
from modal.solvers.scipy import arnoldi
from modal.solvers.slepc import krylov_schur
from modal.state import Complex, Quadratic
from modal.structure import left_vectors, restore_axis

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
    quadratic = Quadratic(system)
    chain = system.null_chain if deflation == "auto" else deflation
    if backend == "dense" or quadratic.n < max(DENSE_BELOW, k + 2):
        return _dense(system, quadratic, chain, k, backend, tolerance)
    return _sparse(system, quadratic, chain, k, backend, tolerance, seed)


def _dense(
    system: FrozenSystem,
    quadratic: Quadratic,
    chain: NullChain | None,
    k: int,
    backend: str,
    tolerance: float,
) -> Modes:
    def adjoint() -> Pairs:
        opposite = None if chain is None else transposed_chain(quadratic, chain)
        return solve_dense(quadratic.transposed, opposite)

    found = solve_dense(quadratic, chain, None)
    return finish(system, quadratic, chain, found, k, backend, adjoint, tolerance)


def _sparse(
    system: FrozenSystem,
    quadratic: Quadratic,
    chain: NullChain | None,
    k: int,
    backend: str,
    tolerance: float,
    seed: int,
) -> Modes:
    operator = InverseOperator(quadratic, chain)
    engine, method = ENGINES[backend]

    def adjoint() -> Pairs:
        return solve_krylov(operator.transposed(), k + 1, engine, method, seed)

    try:
        if operator.definite and chain is None and backend == "slepc":
            found = solve_block(operator, k, seed)
        else:
            found = solve_krylov(operator, k, engine, method, seed)
        return finish(system, quadratic, chain, found, k, backend, adjoint, tolerance)
    except ConvergenceError as stopped:
        if isinstance(stopped.partial, Pairs):
            few = len(stopped.partial.eigenvalues)
            stopped.partial = finish(
                system, quadratic, chain, stopped.partial, few, backend, adjoint, tolerance
            )
        raise
    finally:
        operator.destroy()


def finish(
    system: FrozenSystem,
    quadratic: Quadratic,
    chain: NullChain | None,
    found: Pairs,
    k: int,
    backend: str,
    adjoint: Callable[[], Pairs],
    tolerance: float,
    target: complex = 0.0,
    certified: bool | None = None,
) -> Modes:
    """Choose, normalise, pair and check what a backend found."""
    found = restore_axis(quadratic, found).nearest(target)
    found = _unit_mass(quadratic, found)
    chosen = found.take(np.arange(min(k, len(found.eigenvalues))))
    lam, X = chosen.eigenvalues, chosen.right
    backward_error = quadratic.backward_error(lam, X)
    if not np.all(backward_error <= tolerance):
        j = int(np.argmax(np.where(np.isnan(backward_error), np.inf, backward_error)))
        raise AccuracyError(
            f"mode {j + 1} (λ = {lam[j]:.6g} rad/s) has backward error {backward_error[j]:.1e}, "
            f"allowed {tolerance:.1e}"
        )
    Y = left_vectors(quadratic, chosen, found, adjoint)
    pairing = np.abs(quadratic.pairing(lam, Y, X))
    size = np.linalg.norm(X, axis=0) * np.linalg.norm(Y, axis=0) * quadratic.weights(lam)
    with np.errstate(divide="ignore"):
        condition = size / (np.abs(lam) * pairing)
    return Modes(
        eigenvalues=lam,
        right=X,
        left=Y,
        backward_error=backward_error,
        condition_number=condition,
        kind=_kind(system, X),
        deflated=0 if chain is None else chain.count,
        factorization=chosen.factorization,
        backend=backend,
        method=chosen.method,
        solves=chosen.solves,
        certified=certified,
        target=target,
    )


def _unit_mass(quadratic: Quadratic, pairs: Pairs) -> Pairs:
    """Shapes of unit mass norm, their largest entry real and positive."""
    X = pairs.right
    X = X / np.linalg.norm(X, axis=0)
    mass = np.einsum("ij,ij->j", X.conj(), quadratic.M @ X).real
    if np.any(mass <= 0.0):
        raise AccuracyError("a mode has no mass: M must be positive definite")
    peak = np.take_along_axis(X, np.abs(X).argmax(axis=0)[None], 0)[0]
    phase = np.abs(peak) / peak
    return Pairs(
        pairs.eigenvalues,
        X * (phase / np.sqrt(mass)),
        pairs.factorization,
        pairs.method,
        pairs.solves,
    )


def _kind(system: FrozenSystem, X: Complex) -> np.ndarray:
    """ "rigid" where more than half of the kinetic energy is in the span of `system.rigid`."""
    R = system.rigid
    if R.shape[1] == 0:
        return np.full(X.shape[1], "elastic")
    MR = system.M @ R
    L = la.cholesky(R.T @ MR, lower=True)
    share = np.linalg.norm(la.solve_triangular(L, MR.T @ X, lower=True), axis=0) ** 2
    return np.where(share > 0.5, "rigid", "elastic")
