"""Conservative spectra put back on their axis; left vectors from what the structure gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.linalg as la
from scipy.optimize import linear_sum_assignment

from assembly.errors import AccuracyError
from modal.eigen.inverse_iteration import left_of
from modal.eigen.quadratic import Quadratic, times
from modal.eigen.solvers.pairs import Pairs, clusters
from modal.eigen.tolerances import COARSE, EPS, GROUP, HALF, LEFT, SMALL, ZERO
from modal.types import Array, Complex, Mask


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
    MX, CX, KX = quadratic.images(X)
    m = np.einsum("ij,ij->j", X.conj(), MX).real
    c = np.einsum("ij,ij->j", X.conj(), CX).imag
    k = np.einsum("ij,ij->j", X.conj(), KX).real
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
    if left is None and adjoint is not None:
        left = _transposed(chosen, adjoint)
    if left is None:
        left = np.full(chosen.right.shape, np.nan, dtype=complex)
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
