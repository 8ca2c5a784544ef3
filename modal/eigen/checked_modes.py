"""Modes from the eigenpairs of a backend: chosen, put back on the axis where their spectrum is
symmetric to it, normalised, paired with left vectors, checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assembly.errors import AccuracyError
from assembly.system.null_chain import NullChain
from modal.eigen.inverse_iteration import doubles_resolved, left_of, refined
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, times
from modal.eigen.spectrum import Pairs, clusters, overdamped, sizes
from modal.eigen.tolerances import COARSE, EPS, GROUP, HALF, LEFT, ROUND_OFF, SMALL, SURE, ZERO
from modal.types import Array, Complex, Index, Mask


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
        first_k = np.arange(min(problem.k, len(found.eigenvalues)))
        found = refined(quadratic, found, first_k, problem.chain)
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
    size = _sizes(lam, X, Y) * quadratic.weights(lam)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(size / (np.abs(lam) * np.abs(quadratic.pairing(lam, Y, X))))


def _sizes(lam: Complex, X: Complex, Y: Complex) -> Array:
    """‖x‖‖y‖ of every pair; in a cluster, whose members a perturbation mixes, the norms of all.

    With YᴴQ′X the identity on the cluster, E changes its eigenvalues by those of −YᴴEX, which
    ‖Y‖‖X‖‖E‖ bounds.
    """
    out = np.linalg.norm(X, axis=0) * np.linalg.norm(Y, axis=0)
    for group in clusters(lam):
        if len(group) > 1:
            out[group] = np.prod([np.linalg.norm(V[:, group], 2) for V in (X, Y)])
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
    error, condition = quadratic.backward_error(lam, X), condition_numbers(quadratic, lam, X, Y)
    return replace(modes, right=X, left=Y, backward_error=error, condition_number=condition)


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


def most_rigid(share: Array, lam: Complex, count: int | Index) -> Mask:
    """Modes (P, k) that are rigid motions, of P points: `count` eigenvalues of each at most.

    Parameters
    ----------
    share : ndarray, shape (P, k)
        Share of a mode's kinetic energy in the rigid fields; rigid motions have more than half.
    lam : ndarray, shape (P, k)
        Eigenvalues, one of each conjugate pair, which counts as two; NaN where there is none.
    count : int or ndarray, shape (P, 1)
        Number of eigenvalues of rigid motions.
    """
    share = np.where(np.isnan(lam), -1.0, share)
    order = np.argsort(-share, axis=1, kind="stable")
    size = np.where(np.take_along_axis(lam, order, 1).imag > 0.0, 2, 1)
    first = np.cumsum(size, axis=1) <= count
    rigid = np.zeros(share.shape, dtype=bool)
    np.put_along_axis(rigid, order, first, 1)
    return rigid & (share > 0.5)


def restore_axis(quadratic: Quadratic, pairs: Pairs) -> Pairs:
    """Eigenvalues of a reversible instant that round-off moved off the axis, put back on it.

    Its spectrum is symmetric to the axis, so a simple eigenvalue on it stays there under every
    perturbation of the same structure; it leaves only by meeting another, and then there is −λ̄
    too: what stands alone belongs on the axis. Next to others, conservative: with m = xᴴMx,
    ic = xᴴCx, k = xᴴKx every eigenvalue has λ²m + iλc + k = 0, with derivative p = 2λm + ic, and
    Im p = 0 off the axis. A relative error of 1e-12 in m, c, k moves λ by 1e-12 (|λ|²m + |λc| +
    |k|)/|p|, the round-off of the products that make them by ε |x|ᵀ(|λ|²|M| + |λ||C| + |K|)|x|/|p|,
    more where k is small though K is not: a real part below these is not told from zero, and λ is
    replaced by the root on the axis. Next to a double eigenvalue that is a growth rate of about
    1e-6 |λ|.
    """
    if not quadratic.reversible or not pairs.eigenvalues.real.any():
        return pairs
    X, lam = pairs.right, pairs.eigenvalues
    alone = (np.abs(lam.real) <= GROUP * np.abs(lam)) & _alone(lam) & (lam.imag != 0.0)
    if not quadratic.conservative:
        return replace(pairs, eigenvalues=np.where(alone, 1j * lam.imag, lam))
    m, c, k = (np.einsum("ij,ij->j", X.conj(), image) for image in quadratic.images(X))
    m, c, k = m.real, c.imag, k.real
    size = np.abs(lam)
    slope = np.abs(2.0 * lam * m + 1j * c)
    reach = ZERO * (size**2 * m + size * np.abs(c) + np.abs(k))
    noise = np.einsum("ij,ij->j", np.abs(X), quadratic.terms(lam, X))
    reach = np.maximum(reach, 10.0 * EPS * noise)
    near = (np.abs(lam.real) * slope <= reach) | alone
    near &= (lam.imag != 0.0) & (lam.real != 0.0)
    discriminant = c**2 + 4.0 * m * k
    root = np.copysign(np.sqrt(np.maximum(discriminant, 0.0)), 2.0 * lam.imag * m + c)
    omega = np.where(discriminant > 0.0, (root - c) / (2.0 * m), lam.imag)
    omega = np.where(np.abs(omega - lam.imag) <= GROUP * size, omega, lam.imag)
    return replace(pairs, eigenvalues=np.where(near, 1j * omega, lam))


def _alone(lam: Complex) -> Mask:
    """Whether no other eigenvalue is as near to −λ̄ as the axis is."""
    distance = np.abs(lam[None, :] + lam.conj()[:, None])
    np.fill_diagonal(distance, np.inf)
    return np.asarray(distance.min(axis=1) > np.abs(lam.real))


def left_vectors(
    quadratic: Quadratic, chosen: Pairs, adjoint: Callable[[], Pairs] | None
) -> Complex:
    """Left vectors (n, k) of the chosen, with yᴴ(2λM + C)x = 1.

    Symmetric M, C, K: y = x̄. Conservative and on the axis: y = x. Otherwise those the backend has,
    or conjugates of the right vectors of the transposed problem, which `adjoint` solves. Poor or
    missing ones by inverse iteration; AccuracyError when that finds none.
    """
    if quadratic.conservative and not chosen.eigenvalues.real.any():
        return paired(quadratic, chosen, chosen.right)
    if quadratic.symmetric:
        return paired(quadratic, chosen, chosen.right.conj())
    left = chosen.left
    if left is None:
        left = np.full(chosen.right.shape, np.nan, dtype=complex)
    unknown = np.isnan(left).any(axis=0)
    if adjoint is not None and 2 * unknown.sum() > len(unknown):
        left = np.where(unknown, _transposed(chosen, adjoint), left)
    error = _left_error(quadratic, chosen, left)
    poor = np.flatnonzero(~(error <= (ZERO if quadratic.n <= SMALL else 2.0 * LEFT)))
    if poor.size:
        left = left_of(quadratic, chosen, left, poor.tolist())
        error = _left_error(quadratic, chosen, left)
    if not np.all(error <= HALF):
        worst = np.where(np.isnan(error), np.inf, error).max()
        raise AccuracyError(f"a left vector has backward error {worst:.1e}")
    return paired(quadratic, chosen, left)


def _transposed(chosen: Pairs, adjoint: Callable[[], Pairs]) -> Complex:
    """Conjugates of the transposed problem's right vectors; NaN where it has not the eigenvalue."""
    opposite = adjoint()
    left = np.full(chosen.right.shape, np.nan, dtype=complex)
    distance = np.abs(chosen.eigenvalues[:, None] - opposite.eigenvalues[None, :])
    rows, columns = linear_sum_assignment(distance / (np.abs(chosen.eigenvalues)[:, None] + 1e-300))
    same = distance[rows, columns] <= COARSE * np.abs(chosen.eigenvalues[rows])
    left[:, rows[same]] = opposite.right[:, columns[same]].conj()
    return left


def _left_error(quadratic: Quadratic, pairs: Pairs, left: Complex) -> Array:
    """Backward errors (k,) of left vectors, each with its own eigenvalue."""
    return quadratic.transposed.backward_error(pairs.eigenvalues, left.conj())


def paired(quadratic: Quadratic, pairs: Pairs, left: Complex) -> Complex:
    """Left vectors rescaled, and mixed within clusters: their pairing with x is the identity.

    Within a cluster the pairing of eigenvalues λ_i, λ_j is y_iᴴ((λ_i + λ_j)M + C)x_j, zero for i ≠
    j.
    """
    lam, X, Y = pairs.eigenvalues, pairs.right, np.array(left)
    MX, CX, _ = quadratic.images(X)
    MY = MX if left is X else times(quadratic.M, Y)
    mass = np.sqrt(np.abs(np.einsum("ij,ij->j", Y.conj(), MY)))
    Y /= np.where(mass > 0.0, mass, 1.0)
    for group in clusters(lam):
        if len(group) == 1:
            continue
        sums = lam[group][:, None] + lam[group][None, :]
        Yh = Y[:, group].conj().T
        block = sums * (Yh @ MX[:, group]) + Yh @ CX[:, group]
        sizes = la.svdvals(block)
        if sizes[-1] > ZERO * np.linalg.norm(np.abs(lam[group]) + np.abs(block).max()):
            Y[:, group] = Y[:, group] @ la.inv(block).conj().T
    pairing = np.einsum("ij,ij->j", Y.conj(), MX * (2.0 * lam) + CX)
    terms = np.abs(2.0 * lam) * np.linalg.norm(MX, axis=0) + np.linalg.norm(CX, axis=0)
    sound = np.abs(pairing) > ZERO * terms * np.linalg.norm(Y, axis=0)
    return np.asarray(Y / np.where(sound, pairing, 1.0).conj())
