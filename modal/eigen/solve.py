"""The modes of one frozen system; their backward errors are always checked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from assembly.arguments import check_between, check_choice, shown
from assembly.errors import AccuracyError, ConvergenceError, InputError, SingularSystemError
from assembly.magnitudes import check_count
from assembly.optional import installed
from assembly.system.frozen import FrozenSystem, check_is_frozen
from assembly.system.null_chain import NullChain, null_fields
from modal.eigen.checked_modes import ModeProblem, checked_modes, decisive, restored
from modal.eigen.deflation import with_null_space, without_stiffness
from modal.eigen.inverse_iteration import refined
from modal.eigen.mode_count import certified
from modal.eigen.modes import Modes
from modal.eigen.prescribed import PrescribedMotion, prescribed_modes, prescribed_motion
from modal.eigen.quadratic import Quadratic, in_units, times
from modal.eigen.solvers.block import BlockSolver
from modal.eigen.solvers.dense import solve_dense
from modal.eigen.solvers.engines import arnoldi, krylov_schur
from modal.eigen.solvers.krylov import nearest_modes, solve_krylov
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.solvers.symmetric_stiffness import has_symmetric_null_space
from modal.eigen.spectrum import Pairs, overdamped
from modal.eigen.tolerances import COARSE, GROUP, HALF, SMALL
from modal.types import Array

Backend = Literal["slepc", "scipy", "dense"]
ENGINES = {"slepc": (krylov_schur, "SLEPc Krylov–Schur"), "scipy": (arnoldi, "ARPACK Arnoldi")}

# The model of cost, processor time in seconds: LAPACK's eigensolution of n DOFs takes LAPACK n³, a
# Krylov method takes APPLICATION (the call of its operator) 4k + 40 times, twice where left
# vectors need a run of their own. The cheaper one serves up to SMALL DOFs; a Krylov method that has
# spent what LAPACK takes is stopped there. Beyond SMALL DOFs the block method costs less than one
# vector at a time as a rule (0.66 to 1.33 of the time in 19 draws of 500 to 1,000).
LAPACK, APPLICATION = 2e-8, 2.5e-4
# One solution of a body or mechanism beyond some hundred DOFs, s, and s a DOF.
SOLUTION, SOLUTION_DOF = 0.1, 8e-5


def solve(
    system: FrozenSystem,
    k: int = 10,
    backend: Backend = "slepc",
    certify: bool = False,
    *,
    target: complex | None = None,
    deflation: Literal["auto"] | NullChain | None = "auto",
    backward_error: float = 1e-10,
    seed: int = 0,
) -> Modes:
    """The k lowest modes of a frozen system, or those nearest to a target.

    The lowest have the smallest |λ|; overdamped modes (Re λ < 0, |Im λ| < 0.2 |λ|) are ordered by
    the frequency √(xᴴKx/xᴴMx) of their shape.

    Parameters
    ----------
    system : FrozenSystem
        The frozen system, from `freeze` of a model or of plain matrices.
    k : int
        Number of modes, one of each conjugate pair; fewer are returned where there are fewer.
    backend : {"slepc", "scipy", "dense"}
        "slepc": block Rayleigh–Ritz on a factorization by PETSc, and SLEPc's Krylov–Schur where
        that does not apply (ARPACK near a target off the real axis); scipy's factors and ARPACK
        where PETSc and SLEPc are not installed. "scipy": ARPACK. "dense": the reference by LAPACK,
        which solves small problems with every backend. `Modes.solver` says what computed the modes.
    certify : bool
        Confirm by a count of eigenvalues that no mode is missing near the target, or near zero up
        to the first overdamped mode.
    target : complex, optional
        Point of the complex plane, rad/s, that the modes are nearest to; zero by default. A point
        below the real axis stands for its conjugate.
    deflation : {"auto"}, NullChain or None
        "auto" removes the zero eigenvalues of the rigid motion, and others of a singular stiffness.
        A NullChain removes those it describes; None keeps all.
    backward_error : float
        Largest backward error of a mode that is returned. The block method stops at a tenth of it,
        and at a residual ‖Q(λ)x‖ of 1e-6 ‖Kx‖.
    seed : int
        Seed of the random start vectors.

    Returns
    -------
    Modes
        Eigenvalues (rad/s), right and left vectors, backward errors and condition numbers, nearest
        to zero or to the target first.

    Raises
    ------
    InputError
        A wrong argument, or a mass matrix that is zero.
    SingularSystemError
        The stiffness is singular beyond the null space that `deflation` removes.
    ConvergenceError
        The solver did not find all modes; its `partial` holds the Modes that converged, or None.
    AccuracyError
        A backward error exceeds `backward_error`, or the count found an eigenvalue twice.

    Notes
    -----
    Solves (λ²M + λC + K)x = 0, with C the sum of the Coriolis and damping matrices and K the sum of
    all stiffness. The sparse methods iterate with the inverse of the first-order form and one real
    factorization of K; near a target with the inverse of the shifted form. docs/numerics.md
    describes the methods.

    Examples
    --------
    Two masses of 1 kg on springs of 4 and 9 N/m, seen from a frame that does not rotate:

    >>> import modal
    >>> from assembly import FrozenSystem
    >>> system = FrozenSystem(M=[[1.0, 0.0], [0.0, 1.0]], K=[[4.0, 0.0], [0.0, 9.0]])
    >>> modes = modal.solve(system, k=2)
    >>> modes.eigenvalues.imag.round(6).tolist()
    [2.0, 3.0]
    >>> bool(modes.error_bound.max() < 1e-12)
    True
    """
    check_is_frozen(system)
    check_count(k, "k")
    check_count(seed, "seed", 0)
    check_choice(backend, ("slepc", "scipy", "dense"), "backend")
    check_between(backward_error, "backward_error", 0.0, np.inf)
    options: dict[str, Any] = dict(k=k, backend=backend, certify=certify)
    options |= dict(tolerance=backward_error, target=as_target(target))
    return _modes(system, deflation, seed, **options)


def all_modes(system: FrozenSystem, motion: PrescribedMotion | None = None) -> Modes:
    """All modes by LAPACK; of a small system those are refined that decide on stability.

    Their backward errors are the larger ones of both vectors. motion: the prescribed fields, where
    they are known.
    """
    options: dict[str, Any] = dict(backend="dense", tolerance=np.inf, growth_only=True)
    return _modes(system, "auto", 0, motion, k=2 * system.n, **options)


def _modes(
    system: FrozenSystem,
    deflation: Literal["auto"] | NullChain | None,
    seed: int,
    motion: PrescribedMotion | None = None,
    **options: Any,
) -> Modes:
    """The modes of a system; motion: its prescribed fields, where they are known; options: of
    `ModeProblem`."""
    by_lapack = False  # where a Krylov method cost as much, it does so with a null space too

    def run(frozen: FrozenSystem, quadratic: Quadratic, rigid: Array | None = None) -> Modes:
        nonlocal by_lapack
        chain = _chain(frozen, deflation)
        free = frozen.rigid if rigid is None else rigid
        problem = ModeProblem(free, quadratic, chain, **options)
        if by_lapack or problem.backend == "dense" or _is_small(problem):
            return _dense(problem)
        # The block method's modes of an undamped system at rest are real, in clusters too.
        at_rest = quadratic.conservative and quadratic.C.nnz == 0
        plain = problem.target == 0.0 and problem.backend == "slepc"
        blocked = plain and (at_rest or frozen.n > SMALL)
        if blocked:
            modes = _block(problem, seed)
            if modes is not None:
                return modes
            if rigid is None and deflation == "auto" and _completed(frozen) is not None:
                raise SingularSystemError("the stiffness is singular to round-off")
        try:
            modes = _krylov(problem, seed, blocked)
        except (AccuracyError, ConvergenceError):
            if frozen.n > SMALL and not plain:
                raise
            # Among overdamped modes that accumulate a Krylov method does not converge.
            modes = _without_krylov(problem, seed, blocked)
            if modes is None:
                raise
        by_lapack = modes.method.startswith("dense")
        return modes

    quadratic = Quadratic(system)
    if quadratic.norms[0] == 0.0:
        raise InputError("M: is zero; a mode needs mass")
    if isinstance(deflation, NullChain):
        return run(system, quadratic)
    frozen, solved = system, quadratic
    scaled = quadratic.has_mixed_units
    if scaled:
        frozen = in_units(system, quadratic.scaling)
        solved = Quadratic(frozen)
    try:
        if deflation == "auto":
            modes = _with_found_null_space(frozen, solved, run)
        else:
            modes = run(frozen, solved)
    except ConvergenceError as stopped:
        if scaled and isinstance(stopped.partial, Modes):
            raise ConvergenceError(str(stopped), restored(quadratic, stopped.partial)) from None
        raise
    modes = restored(quadratic, modes) if scaled else modes
    if not system.rigid.shape[1]:
        return modes
    prescribed = prescribed_modes(motion or prescribed_motion(system), system, modes)
    return replace(modes, kind=np.where(prescribed, "prescribed", modes.kind))


def _is_small(problem: ModeProblem) -> bool:
    """Whether LAPACK is to find all modes: it costs less, or a Krylov space would span them all."""
    n, k, quadratic = problem.quadratic.n, problem.k, problem.quadratic
    there = 2 * n - (0 if problem.chain is None else problem.chain.count)
    if n < k + 2 or there == 0:
        return True
    runs = 1 if quadratic.conservative or quadratic.symmetric else 2
    cheaper = LAPACK * n**3 <= runs * APPLICATION * (4 * k + 40)
    return bool(n <= SMALL and (cheaper or there <= 4 * k + 4))


def _with_found_null_space(
    system: FrozenSystem, quadratic: Quadratic, run: Callable[..., Modes]
) -> Modes:
    """Run; if the stiffness looks singular beyond `rigid`, again with its whole null space.

    Modes that were found without it stand where they are not with it.
    """
    modes: Modes | None = None
    try:
        modes = run(system, quadratic)
    except (SingularSystemError, AccuracyError, ConvergenceError):
        completed = _completed(system)
        if completed is None:
            raise
    else:
        # K is singular to round-off where |λ|² is below ZERO ‖K‖/‖M‖.
        regular = np.all(np.abs(modes.eigenvalues) > GROUP * quadratic.frequency_scale)
        completed = None if regular else _completed(system)
        if completed is None:
            return modes
    try:
        return run(completed, Quadratic(completed), without_stiffness(completed))
    except (SingularSystemError, AccuracyError, ConvergenceError):
        if modes is None:
            raise
        return modes


def _completed(system: FrozenSystem) -> FrozenSystem | None:
    """The system with the whole null space of its stiffness; None where it knows that already."""
    completed = with_null_space(system)
    known = null_fields(system.rigid, system.M, system.stiffness, system.parts).shape[1]
    return completed if completed is not None and completed.rigid.shape[1] > known else None


def as_target(target: complex | None) -> complex:
    """The point to look near, in the upper half plane; InputError when it is not finite."""
    if target is None:
        return 0.0
    number = np.asarray(target)
    if number.ndim or number.dtype.kind not in "biufc":
        raise InputError(f"target: expected a number in rad/s, got {shown(target)}")
    point = complex(number)
    if not np.isfinite(point):
        raise InputError(f"target: expected a finite number in rad/s, got {target!r}")
    return point if point.imag >= 0.0 else point.conjugate()


def _chain(system: FrozenSystem, deflation: str | NullChain | None) -> NullChain | None:
    if deflation is None or isinstance(deflation, NullChain):
        return deflation
    if deflation != "auto":
        raise InputError(f'deflation: expected "auto", None or a NullChain, got {deflation!r}')
    return system.null_chain


def _dense(problem: ModeProblem) -> Modes:
    def find(k: int, seed: int) -> Pairs:
        return solve_dense(problem.quadratic, problem.chain)

    modes = checked_modes(problem, search(problem, find), certified=problem.certify or None)
    if problem.growth_only:
        lam = modes.eigenvalues
        index = np.flatnonzero(decisive(problem.quadratic, lam, modes.error_bound))
        if index.size:
            pairs = Pairs(lam, modes.right, modes.factorization, modes.method, left=modes.left)
            return checked_modes(problem, refined(problem.quadratic, pairs, index, problem.chain))
    return modes


def search(problem: ModeProblem, find: Callable[[int, int], Pairs]) -> Pairs:
    """One search, or searches until the count is right."""
    if problem.certify:
        return certified(problem.quadratic, problem.chain, problem.k, problem.target, find)
    return find(problem.k, 0)


def _block(
    problem: ModeProblem, seed: int, removed: bool = True, share: float = 0.1
) -> Modes | None:
    """By the block method; None where it does not apply, or stops short.

    removed: whether the zero eigenvalues are not in its basis, for which their left vectors are to
    be the right ones; otherwise they are found with the others.
    share: of the backward error allowed, at which it stops.
    """
    quadratic, chain = problem.quadratic, problem.chain
    if not quadratic.system.symmetric_mass:
        return None
    if removed and not has_symmetric_null_space(quadratic, chain):
        return None
    zeros = 0 if removed or chain is None else chain.count
    with suppress(AccuracyError, ConvergenceError, SingularSystemError), ExitStack() as stack:
        solver = BlockSolver(quadratic, chain if removed else None, problem.rigid)
        stack.callback(solver.destroy)
        aim = share * problem.tolerance

        def find(k: int, attempt: int) -> Pairs:
            found = solver.find(k + zeros, seed + attempt, aim)
            return _without_zeros(quadratic, found, zeros) if zeros else found

        found = search(problem, find)
        return checked_modes(problem, found, certified=problem.certify or None)
    return None


def _without_zeros(quadratic: Quadratic, found: Pairs, count: int) -> Pairs:
    """The pairs but those of so many zero eigenvalues; ConvergenceError where others are there."""
    zero = np.abs(found.eigenvalues) <= HALF * quadratic.frequency_scale
    there = int(np.where(found.eigenvalues[zero].imag > 0.0, 2, 1).sum())
    if there != count:
        raise ConvergenceError(f"{there} eigenvalues at zero of {count}", found)
    return found.take(np.flatnonzero(~zero))


def _without_krylov(problem: ModeProblem, seed: int, blocked: bool) -> Modes | None:
    """By LAPACK or, of more degrees of freedom, by the block method; None where that stops, or has
    stopped before, `blocked`."""
    if problem.quadratic.n <= SMALL:
        return _dense(problem)
    removed = has_symmetric_null_space(problem.quadratic, problem.chain)
    return None if removed and blocked else _block(problem, seed, removed)


def _is_open(quadratic: Quadratic, found: Pairs, k: int) -> bool:
    """Whether the other eigenvalue of an overdamped shape may be larger than the first k found.

    λ² xᴴMx + λ xᴴCx + xᴴKx has the other root xᴴKx/(λ xᴴMx); the shape of another eigenvalue is
    about the same.
    """
    lam, X = found.eigenvalues, found.right
    K, M = ((X.conj() * times(A, X)).sum(axis=0) for A in (quadratic.K, quadratic.M))
    larger = np.abs(K) > 0.5 * np.abs(lam[:k]).max() * np.abs(lam * M)
    return bool((overdamped(lam) & larger).any())


def _krylov(problem: ModeProblem, seed: int, blocked: bool) -> Modes:
    quadratic, chain, n = problem.quadratic, problem.chain, problem.quadratic.n
    target = problem.target
    # Without damping both eigenvalues of a shape are as large, λ² = −xᵀKx/xᵀMx.
    ordered = target == 0.0 and not quadratic.reversible and quadratic.damping_parts[0].nnz > 0
    beyond = 20 * (4 * problem.k + 40) if ordered else np.inf
    limit = LAPACK * n**3 / APPLICATION if n <= SMALL else beyond
    # About a target off the real axis the operator is complex, which real builds of SLEPc do not
    # take.
    real = installed("slepc4py") and target.imag == 0.0
    engine, method = ENGINES[problem.backend if real else "scipy"]
    limited = partial(engine, applications=limit)
    operator = ShiftInvert(quadratic, chain, target * (1.0 + COARSE))

    def find(k: int, attempt: int) -> Pairs:
        return nearest_modes(operator, k, target, limited, method, seed + attempt)

    def adjoint() -> Pairs:
        opposite, more = operator.transposed(), problem.k + 2
        return solve_krylov(opposite, more, limited, method, seed, complete=False)

    try:
        # Frequencies grow with the square of their number at most, as those of a beam do:
        # ω_k ≈ 2.8 k² ω_1.
        early = ordered and 4.0 * problem.k**2 * operator.scale > quadratic.accumulation
        found = None if early else search(problem, find)
        if found is None or (ordered and _is_open(quadratic, found, problem.k)):
            modes = _without_krylov(problem, seed, blocked)
            if modes is not None:
                return modes
        found = found or search(problem, find)
        return checked_modes(problem, found, adjoint, problem.certify or None)
    except ConvergenceError as stopped:
        if n <= SMALL:
            raise
        raise _with_modes(stopped, problem, adjoint) from None
    finally:
        operator.destroy()


def _with_modes(
    stopped: ConvergenceError, problem: ModeProblem, adjoint: Callable[[], Pairs]
) -> ConvergenceError:
    """The same error whose `partial` is the Modes that converged, not a backend's pairs.

    The transposed problem may stop short too: then the modes that both sides have.
    """
    found = stopped.partial
    if not isinstance(found, Pairs):
        return stopped
    for count in range(len(found.eigenvalues), 0, -1):
        try:
            modes = checked_modes(replace(problem, k=count), found, adjoint)
            return ConvergenceError(str(stopped), modes)
        except AccuracyError:
            continue
    return ConvergenceError(str(stopped), None)
