"""Eigenpairs made accurate by inverse iteration on the quadratic itself, both sides at once.

An eigensolver of the first-order form is backward stable for that form only: with eigenvalues many
orders apart, or next to a nearly defective zero, the pairs it gives of Q(λ)x = 0 can be far above
round-off. With σ about the eigenvalues of a group, x ← Q(σ)⁻¹Q′(σ)x and ȳ ← Q(σ)⁻ᵀQ′(σ)ᵀȳ converge
to its right and left vectors (Mehrmann and Voss, GAMM-Mitt. 27 (2004) 121, section 3), and the
quadratic compressed to both spans, Yᴴ(Q(σ) + μQ′(σ) + μ²M)X, has the eigenvalues μ = λ − σ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic, companion, times
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.spectrum import Pairs, clusters, rotated, separated, unevenness
from modal.eigen.tolerances import ATTEMPTS, COARSE, EPS, GROUP, HALF, SMALL, WEAK, ZERO
from modal.types import Array, Complex, Index

Group = tuple[int, ...]


def doubles_resolved(quadratic: Quadratic, pairs: Pairs, count: int) -> Pairs:
    """The same pairs; of the first `count`, those r ± iδ that are double real ones as two.

    LAPACK returns a semisimple double real eigenvalue as such a pair, with δ at the round-off of
    its own problem (modal/eigen/spectrum.py). The pair is replaced by two real
    eigenvalues when real vectors, as they are or after iteration, solve the quadratic to round-off.
    """
    lam = pairs.eigenvalues[:count]
    near = np.flatnonzero((lam.imag > 0.0) & (lam.imag <= HALF * np.abs(lam)))
    near = near[unevenness(rotated(pairs.right[:, near])) <= 1.0 / GROUP]
    for j in near[::-1]:
        two = pairs.take(np.array([j])).doubled(np.array([0]))
        if not np.all(_error(quadratic, two) <= ZERO):
            two = _better(quadratic, two)
        if np.all(_error(quadratic, two) <= ZERO):
            pairs = _with(pairs.doubled(np.array([j])), [two], [(int(j), int(j) + 1)])
    return pairs


def refined(
    quadratic: Quadratic, pairs: Pairs, index: Index, chain: NullChain | None = None
) -> Pairs:
    """The same pairs; those numbered `index` above ZERO are iterated where that helps.

    A method that stops at a larger backward error has its own goal, `pairs.accuracy`.
    Groups that meet are iterated again as one, from where they came, so no eigenpair takes the
    place of another. chain: of the zero eigenvalues, which the pairs are without.
    """
    goal = max(ZERO, 2.0 * pairs.accuracy)
    poor = _above(goal, quadratic, pairs, index)
    if poor.size and pairs.left is not None:
        pairs = _corrected(quadratic, pairs, pairs.left, poor, chain)
        poor = _above(goal, quadratic, pairs, poor)
    if poor.size == 0:
        return pairs
    values, better, groups = pairs.eigenvalues, dict[Group, Pairs](), list[Group]()
    wanted = set(poor.tolist())
    for _ in range(ATTEMPTS):
        met = [g for g in _joined(groups, clusters(values)) if not wanted.isdisjoint(g)]
        if met == groups:
            return _with(pairs, [better[g] for g in groups], groups)
        groups, values = met, np.array(pairs.eigenvalues)
        for g in groups:
            if g not in better:
                better[g] = _better(quadratic, pairs.take(np.array(g)))
            values[list(g)] = better[g].eigenvalues
    return pairs


def _above(goal: float, quadratic: Quadratic, pairs: Pairs, index: Index) -> Index:
    """Those numbered `index` whose error is above the goal."""
    return index[~(_error(quadratic, pairs.take(index)) <= goal)] if len(index) else index


def _corrected(
    quadratic: Quadratic, pairs: Pairs, left: Complex, index: Index, chain: NullChain | None
) -> Pairs:
    """The same pairs; those numbered `index` after a Newton step in the span of all, if better.

    Q(λ)⁻¹ = Σ x_j y_jᴴ/(λ − λ_j) over all eigenvalues where y_jᴴQ′(λ_j)x_j = 1 (Tisseur and
    Meerbergen, SIAM Rev. 43 (2001) 235, section 3.5). With r = Q(λ_i)x_i the step is λ_i − y_iᴴr
    and x_i − Σ x_j (y_jᴴr)/(λ_i − λ_j), j outside the group of i; that of ȳ_i is alike. A chain
    with AR = BRJ, J² = 0 and G = LᵀBR adds R(1/λ + J/λ²)G⁻¹Lᵀ, of R the displacements, of L the
    velocities.
    """
    upper, old = np.flatnonzero(pairs.eigenvalues.imag > 0.0), pairs.take(index)
    lam = np.append(pairs.eigenvalues, pairs.eigenvalues[upper].conj())
    X, Y = (np.hstack([V, V[:, upper].conj()]) for V in (pairs.right, left.conj()))
    x, y, values = old.right, Y[:, index], old.eigenvalues
    r, s = quadratic.residual(values, x), quadratic.transposed.residual(values, y)
    with np.errstate(all="ignore"):
        X = X / (Y * _slope(quadratic, lam, X)).sum(axis=0)
        inverse = 1.0 / (values - lam[:, None])
        inverse[np.abs(inverse) * np.abs(lam)[:, None] >= 1.0 / COARSE] = 0.0
        values = values - (y * r).sum(axis=0) / (y * _slope(quadratic, values, x)).sum(axis=0)
        y = y - Y @ (inverse * (X.T @ s))
        step = X @ (inverse * (Y.T @ r))
        if chain is not None:
            n, R, L = quadratic.n, chain.right, chain.left
            G = L[:n].T @ R[:n] + L[n:].T @ (quadratic.M @ R[n:])
            J = L[:n].T @ R[n:] - L[n:].T @ (quadratic.K @ R[:n] + quadratic.C @ R[n:])
            r = la.solve(G, L[n:].T @ r / old.eigenvalues)
            step = step + R[:n] @ (r + la.solve(G, J @ r / old.eigenvalues))
        new = replace(old, eigenvalues=values, right=x - step, left=y.conj())
    near = np.linalg.norm(step, axis=0) <= WEAK * np.linalg.norm(x, axis=0)
    better = near & (_error(quadratic, new) < _error(quadratic, old))
    return _with(pairs, [new.take(better)], [tuple(index[better])])


def left_of(quadratic: Quadratic, pairs: Pairs, left: Complex, poor: Iterable[int]) -> Complex:
    """Left vectors (n, k) of the pairs; those numbered `poor`, with their groups, by iteration."""
    left = np.array(left, dtype=complex)
    for g in clusters(pairs.eigenvalues):
        if not set(poor).isdisjoint(g):
            found = iterated(quadratic, pairs.take(np.array(g)))
            if found is not None and found.left is not None:
                left[:, g] = found.left
    return left


def iterated(quadratic: Quadratic, group: Pairs) -> Pairs | None:
    """The group's pairs, right and left, by inverse iteration about its mean.

    None when the vectors are not finite, or the compressed problem has no such pairs.
    """
    spans = _spans(quadratic, group)
    if spans is None:
        return None
    sigma, X, Yc, solves = spans
    constant = quadratic.residual(np.full(X.shape[1], sigma), X)
    slope, mass = _slope(quadratic, sigma, X), times(quadratic.M, X)
    real = sigma.imag == 0.0 and not group.eigenvalues.imag.any()
    products = (Yc.T @ image for image in (constant, slope, mass))
    mu, right, left = _smallest([A.real if real else A for A in products], abs(sigma))
    values = sigma + mu
    if len(values) < len(group.eigenvalues):
        return None
    if real:
        values, right, left = separated(values, right, left, abs(sigma))
        if values.imag.any():
            return None
    distance = np.abs(group.eigenvalues[:, None] - values[None, :])
    order = linear_sum_assignment(distance)[1]
    X, Yc, values = X @ right[:, order], Yc @ left[:, order].conj(), values[order]
    # What moves by less than the round-off of yᴴQ(σ)x is as good as it was.
    noise = np.einsum("ij,ij->j", np.abs(Yc), quadratic.terms(values, X))
    pairing = np.abs(np.einsum("ij,ij->j", Yc, _slope(quadratic, sigma, X)))
    moved = np.abs(values - group.eigenvalues) * pairing > 10.0 * EPS * noise
    values = np.where(moved, values, group.eigenvalues)
    return replace(group, eigenvalues=values, right=X, left=Yc.conj(), solves=group.solves + solves)


def _spans(
    quadratic: Quadratic, group: Pairs, dense: int = 150
) -> tuple[complex, Complex, Complex, int] | None:
    """σ, and orthonormal bases of the right and the conjugate left vectors that belong to it.

    σ is the mean of the group, at which Q may be singular, moved by next to nothing. dense: degrees
    of freedom up to which a full complex factor costs less than the real form of twice the size.
    """
    sigma = complex(group.eigenvalues.mean()) * (1.0 + ZERO)
    X, Yc = group.right, _left_start(group)
    if sigma.imag == 0.0:
        X, Yc = X.real + 0j, Yc.real + 0j
    solve: Callable[[Complex], Any]
    opposite: Callable[[Complex], Any]
    with ExitStack() as stack:
        if quadratic.n <= dense:
            Q = quadratic.K.toarray() + sigma * quadratic.C.toarray()
            *factor, _ = la.lapack.zgetrf(Q + sigma**2 * quadratic.M.toarray())
            solve, opposite = (partial(_solved, factor, trans=trans) for trans in (0, 1))
        else:
            operator = ShiftInvert(quadratic, None, sigma)
            stack.callback(operator.destroy)
            solve, opposite = operator.solve, operator.transposed().solve
        for _ in range(2):
            X = solve(_slope(quadratic, sigma, X)) + 0j
            Yc = opposite(_slope(quadratic.transposed, sigma, Yc)) + 0j
            if not (np.all(np.isfinite(X)) and np.all(np.isfinite(Yc))):
                return None
            X, Yc = _orthonormal(X), _orthonormal(Yc)
    return sigma, X, Yc, 4 * X.shape[1]


def _solved(factor: Sequence[Any], r: Complex, trans: int) -> Complex:
    """Q⁻¹r, or with trans=1 Q⁻ᵀr, from factors and pivots of Q; not finite of a singular one."""
    return np.asarray(la.lapack.zgetrs(*factor, r, trans=trans)[0])


def _left_start(group: Pairs) -> Complex:
    """Conjugates of left vectors to start from: the right ones and noise where there are none."""
    X = group.right
    noise = np.random.default_rng(0).standard_normal(X.shape)
    start = X.conj() + noise * np.linalg.norm(X, axis=0) / len(X)
    return start if group.left is None else np.where(np.isnan(group.left), start, group.left.conj())


def _orthonormal(X: Complex) -> Complex:
    return np.asarray(la.qr(X / np.abs(X).max(axis=0), mode="economic")[0])


def _slope(quadratic: Quadratic, sigma: complex | Complex, X: Complex) -> Complex:
    """Q′(σ)X = (2σM + C)X."""
    return times(quadratic.M, X) * (2.0 * sigma) + times(quadratic.C, X)


def _smallest(pencil: list[NDArray[Any]], size: float) -> tuple[Complex, ...]:
    """The p smallest eigenvalues μ of A0 + μA1 + μ²A2 (p, p), right and left vectors.

    size: what μ is measured in.
    """
    A0, A1, A2 = (size**k * A for k, A in enumerate(pencil))
    p = len(A0)
    weight = max(np.linalg.norm(A1), np.linalg.norm(A2)) or 1.0
    A, B = companion(A2 / weight, A1 / weight, A0 / weight)
    nu, left, right = la.eig(A, B, left=True, right=True)
    finite = np.flatnonzero(np.isfinite(nu))
    pick = finite[np.argsort(np.abs(nu[finite]), kind="stable")[:p]]
    return size * nu[pick], _unit(right[:p, pick]), _unit(left[p:, pick])


def _unit(X: Complex) -> Complex:
    norms = np.linalg.norm(X, axis=0)
    return np.asarray(X / np.where(norms > 0.0, norms, 1.0))


def _better(quadratic: Quadratic, group: Pairs) -> Pairs:
    """The group iterated while that makes it better and costs none of its vectors.

    Each round starts from the eigenvalues of the one before: the error is squared.
    """
    error = _error(quadratic, group).max()
    for _ in range(ATTEMPTS):
        if error <= ZERO:
            break
        found = iterated(quadratic, group)
        if found is None:
            break
        after = _error(quadratic, found).max()
        kept = la.svdvals(found.right)[-1] >= WEAK * la.svdvals(_unit(group.right))[-1]
        if after >= error or not kept:
            break
        group, error = found, after
    return group


def _error(quadratic: Quadratic, pairs: Pairs) -> Array:
    """Backward errors (p,), where a factor costs little the larger of two.

    The second is of the DOFs scaled to a unit diagonal of M/‖M‖ + K/‖K‖. Where units differ by
    many orders the first sees the stiffest of them only.
    """
    error = quadratic.backward_error(pairs.eigenvalues, pairs.right)
    if quadratic.n > SMALL or pairs.factorization == "Cholesky":
        return error
    right = pairs.right / quadratic.scaling[:, None]
    return np.maximum(error, quadratic.scaled.backward_error(pairs.eigenvalues, right))


def _joined(groups: list[Group], others: list[list[int]]) -> list[Group]:
    """The finest grouping of the indices in which members of one group of either list share one."""
    joined = [set(g) for g in others]
    for group in groups:
        apart = [g for g in joined if not g.isdisjoint(group)]
        joined = [g for g in joined if g.isdisjoint(group)] + [set().union(*apart)]
    return sorted(tuple(sorted(g)) for g in joined)


def _with(pairs: Pairs, better: list[Pairs], groups: list[Group]) -> Pairs:
    """The pairs with those of the groups in place of what was there.

    Left vectors that are not known are NaN where others are.
    """
    # LAPACK's vectors are real where every eigenvalue is.
    values, right = np.array(pairs.eigenvalues), np.array(pairs.right, dtype=complex)
    left = np.full(right.shape, np.nan + 0j) if pairs.left is None else pairs.left + 0j
    for group, found in zip(groups, better, strict=True):
        values[list(group)], right[:, list(group)] = found.eigenvalues, found.right
        if found.left is not None:
            left[:, list(group)] = found.left
    if pairs.left is None and np.isnan(left).all():
        return replace(pairs, eigenvalues=values, right=right)
    return replace(pairs, eigenvalues=values, right=right, left=left)
