"""Modes from the eigenpairs of a backend: chosen, normalised, paired with left vectors, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from assembly.system.null_chain import NullChain
from modal.eigen.inverse_iteration import doubles_resolved, refined
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, times
from modal.eigen.solvers.pairs import Pairs, clusters
from modal.eigen.spectrum import overdamped, sizes
from modal.eigen.structure import left_vectors, paired, restore_axis
from modal.eigen.tolerances import ROUND_OFF, SMALL, SURE
from modal.types import Array, Complex, Mask


@dataclass(frozen=True)
class ModeProblem:
    """The eigenproblem of one frozen system and the options of its solution.

    rigid (n, m): the rigid motions of the system. growth_only: eigenpairs are not refined; one
    two-sided Rayleigh step λ − yᴴQ(λ)x makes the error of λ of second order in those of x and y,
    and the larger backward error of the two is that of the mode.
    """

    rigid: Array
    quadratic: Quadratic
    chain: NullChain | None
    k: int
    backend: str
    tolerance: float
    target: complex = 0.0
    certify: bool = False
    growth_only: bool = False


def checked_modes(
    problem: ModeProblem,
    found: Pairs,
    adjoint: Callable[[], Pairs] | None = None,
    certified: bool | None = None,
) -> Modes:
    """The requested modes from the eigenpairs `found` by a backend, normalised, paired and checked.

    adjoint: solves the transposed problem, for a backend that gives no left vectors.
    """
    quadratic = problem.quadratic
    first = found = _unit_mass(quadratic, in_order(problem, found), problem.k)
    found = doubles_resolved(quadratic, found, problem.k)
    if not problem.growth_only:
        found = refined(quadratic, found, np.arange(min(problem.k, len(found.eigenvalues))))
    found = restore_axis(quadratic, found)
    if found is not first:
        found = in_order(problem, found)
    if found.right is not first.right:
        found = _unit_mass(quadratic, found, problem.k)
    chosen = found.take(np.arange(min(problem.k, len(found.eigenvalues))))
    lam, X = chosen.eigenvalues, chosen.right
    if problem.growth_only:
        Y = paired(quadratic, chosen, X if chosen.left is None else chosen.left)
    else:
        Y = left_vectors(quadratic, chosen, adjoint)
    backward_error = quadratic.backward_error(lam, X)
    condition = condition_numbers(quadratic, lam, X, Y)
    if problem.growth_only:
        left_error = quadratic.transposed.backward_error(lam, Y.conj())
        backward_error = np.maximum(backward_error, left_error)
        step = (Y.conj() * quadratic.residual(lam, X)).sum(axis=0)
        step = np.where(np.isfinite(condition) & (lam.real != 0.0), step, 0.0)
        lam = lam - np.where(lam.imag == 0.0, step.real, step)
    if not np.all(backward_error <= problem.tolerance):
        j = int(np.argmax(np.where(np.isnan(backward_error), np.inf, backward_error)))
        raise AccuracyError(
            f"mode {j + 1} (λ = {lam[j]:.6g} rad/s) has backward error {backward_error[j]:.1e}, "
            f"allowed {problem.tolerance:.1e}"
        )
    return Modes(
        eigenvalues=lam + 0.0,  # no negative zeros
        right=X,
        left=Y,
        backward_error=backward_error,
        condition_number=condition,
        kind=_kind(problem, lam, X),
        deflated=0 if problem.chain is None else problem.chain.count,
        factorization=chosen.factorization,
        backend=problem.backend,
        method=chosen.method,
        solves=chosen.solves,
        certified=certified,
        target=problem.target,
    )


def alone_on_axis(quadratic: Quadratic, lam: Complex, bound: Array) -> Mask:
    """Eigenvalues (k,) of a spectrum symmetric to the imaginary axis that lie on it.

    An eigenvalue off the axis has a mirror image as far on the other side. One whose disc reaches
    the axis, with no other disc within three times its radius, is its own image.
    """
    apart = np.abs(lam[:, None] - lam) - bound
    np.fill_diagonal(apart, np.inf)
    alone = (apart.min(axis=1) > 3.0 * bound) & (lam.imag > 3.0 * bound)
    return np.asarray(quadratic.reversible & alone & (np.abs(lam.real) <= bound))


def decisive(quadratic: Quadratic, lam: Complex, bound: Array) -> Mask:
    """Eigenpairs (k,) whose refinement can decide on stability: none beside one that grows."""
    unsure = np.abs(lam.real) <= SURE * bound
    affordable = quadratic.n <= SMALL and not np.any(lam.real > SURE * bound)
    return np.asarray(affordable & unsure & ~alone_on_axis(quadratic, lam, bound))


def in_order(problem: ModeProblem, pairs: Pairs) -> Pairs:
    """Sorted by distance to the target; near zero overdamped modes by their shapes."""
    lam, quadratic = pairs.eigenvalues, problem.quadratic
    index = np.flatnonzero(overdamped(lam))
    if problem.target or quadratic.reversible or not index.size:
        return pairs.nearest(problem.target)
    X = pairs.right[:, index]
    forms = (np.einsum("ij,ij->j", X.conj(), times(A, X)) for A in (quadratic.K, quadratic.M))
    size = np.abs(lam)
    size[index] = sizes(lam[index], *forms)
    return pairs.ascending(size)


def condition_numbers(quadratic: Quadratic, lam: Complex, X: Complex, Y: Complex) -> Array:
    """(|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖‖y‖ / (|λ| |yᴴ(2λM + C)x|) of every mode."""
    size = _sizes(lam, X) * _sizes(lam, Y) * quadratic.weights(lam)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(size / (np.abs(lam) * np.abs(quadratic.pairing(lam, Y, X))))


def _sizes(lam: Complex, X: Complex) -> Array:
    """‖x‖ of every column; in a cluster, whose members a perturbation mixes, the norm of them all.

    With YᴴQ′X the identity on the cluster, E changes its eigenvalues by those of −YᴴEX, which
    ‖Y‖‖X‖‖E‖ bounds.
    """
    out = np.linalg.norm(X, axis=0)
    for group in clusters(lam):
        if len(group) > 1:
            out[group] = np.linalg.norm(X[:, group], 2)
    return np.asarray(out)


def _unit_mass(quadratic: Quadratic, pairs: Pairs, count: int) -> Pairs:
    """Shapes of unit mass norm, their largest entry real and positive.

    Beyond the first `count` those without mass are dropped.
    """
    mass = np.einsum("ij,ij->j", pairs.right.conj(), times(quadratic.M, pairs.right)).real
    if np.any(mass[:count] <= 0.0):
        raise AccuracyError("a mode has no mass: M must be positive definite")
    kept = np.flatnonzero(mass > 0.0)
    pairs = pairs.take(kept)
    factor = normalizing_phase(pairs.right) / np.sqrt(mass[kept])
    if np.all(np.abs(factor - 1.0) <= ROUND_OFF):
        return pairs
    return replace(pairs, right=pairs.right * factor)


def normalizing_phase(X: Complex) -> Complex:
    """Phases (k,) that make the largest entry of every column real and positive."""
    peak = np.take_along_axis(X, np.abs(X).argmax(axis=0)[None], 0)[0]
    return np.asarray(np.abs(peak) / peak)


def restored(quadratic: Quadratic, modes: Modes) -> Modes:
    """Modes of q/d, d = `quadratic.scaling`, in the units of q, with their errors there."""
    d = quadratic.scaling[:, None]
    lam, X, Y = modes.eigenvalues, d * modes.right, d * modes.left
    phase = normalizing_phase(X)
    X, Y = X * phase, Y * phase
    return replace(
        modes,
        right=X,
        left=Y,
        backward_error=quadratic.backward_error(lam, X),
        condition_number=condition_numbers(quadratic, lam, X, Y),
    )


def _kind(problem: ModeProblem, lam: Complex, X: Complex) -> NDArray[np.str_]:
    """ "rigid" where more than half of the kinetic energy is in the span of rigid fields (n, m).

    At most 2m eigenvalues with those deflated, the ones with most energy there: an elastic mode of
    a free body may move it as a whole too.
    """
    R = problem.rigid
    if R.shape[1] == 0:
        return np.full(X.shape[1], "elastic")
    MR = problem.quadratic.M @ R
    L = la.cholesky(R.T @ MR, lower=True)
    share = np.linalg.norm(la.solve_triangular(L, MR.T @ X, lower=True), axis=0) ** 2
    left = 2 * R.shape[1] - (0 if problem.chain is None else problem.chain.count)
    return np.where(most_rigid(share[None], lam[None], left)[0], "rigid", "elastic")


def most_rigid(share: Array, lam: Complex, count: int) -> Mask:
    """Modes (P, k) that are rigid motions, of P points: `count` eigenvalues of each at most.

    Parameters
    ----------
    share : ndarray, shape (P, k)
        Share of a mode's kinetic energy in the rigid fields; rigid motions have more than half.
    lam : ndarray, shape (P, k)
        Eigenvalues, one of each conjugate pair, which counts as two; NaN where there is none.
    count : int
        Number of eigenvalues of rigid motions.
    """
    share = np.where(np.isnan(lam), -1.0, share)
    order = np.argsort(-share, axis=1, kind="stable")
    size = np.where(np.take_along_axis(lam, order, 1).imag > 0.0, 2, 1)
    first = np.cumsum(size, axis=1) <= count
    rigid = np.zeros(share.shape, dtype=bool)
    np.put_along_axis(rigid, order, first, 1)
    return rigid & (share > 0.5)
