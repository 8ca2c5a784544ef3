"""Eigenvalues of a product of matrices, each with a bound on the error of its logarithm.

For P = F_p ⋯ F_1 the sweep F_i Q_{i−1} = Q_i R_i (orthogonal iteration, discrete QR) is repeated
until the subspaces it starts and ends with agree. P itself is never formed, so the moduli of its
eigenvalues may span any range: all of them come from the block triangular factors, each to the
relative accuracy of the factors (L. Dieci and E. S. Van Vleck, SIAM J. Numer. Anal. 40, 2002;
D. Kressner, LNCSE 46, 2005, ch. 3).

Every block of that product has its own periodic invariant subspace, spanned at each factor by the
columns of B_i = [U_i; I; 0] with R_i B_{i−1} = B_i D_i. An error E_i of factor i changes the factor
D_i of a block by Yᵢᴴ E_i X_{i−1}, with Yᵢᴴ the rows of B_i⁻¹, and the block's product by
Σ suffix · change · prefix. That is exact to first order in E_i, whatever the moduli.

A well separated eigenvalue of the product of a block changes by Σ ‖yᴴ suffix‖ ‖E_i‖ ‖prefix x‖ /
|yᴴx|, whatever the sizes of the coordinates: Gershgorin's theorem in the eigenvectors of the block.
One of a cluster of m nearly equal ones, which may be defective, changes by up to the m-th root of
it. Where discs meet, the clusters of its nearest neighbours are tried in turn: the perturbation of
the cluster's own m × m matrix from Stewart's theorem, the eigenvalues of that matrix from Henrici's
(G. W. Stewart and J. Sun, Matrix Perturbation Theory, 1990, theorems V.2.7 and IV.1.9), or from the
powers of what is left of the matrix without its mean. Those of the rigid motions of a free body, up
to twelve multipliers next to 1, fall to zero with the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
from scipy.linalg.lapack import ztrsen
from scipy.optimize import linear_sum_assignment

from modal.eigen.tolerances import EPS, HALF, ROUNDS, ZERO
from modal.reduction.tolerances import SAFETY
from modal.types import Array, Complex, Index

RANGE = np.log(1e2)  # of the moduli inside a block: larger ones are split as soon as they converge
SWEEPS = 12  # times N + 1: the widest gap of a block of N moduli over RANGE converges by then
LARGEST_LOG = np.log(np.sqrt(np.finfo(float).max))  # e to twice this is still a number
LOST = np.log(EPS)


@dataclass(frozen=True)
class TriangularProduct:
    """F_i Q_{i−1} = Q_i R_i with Q_p = Q_0: R (p, N, N) is upper triangular in the blocks.

    start (N, N): Q_0. blocks: their slices, largest moduli first; inside the last factor the
    diagonal blocks are full. dropped: what was neglected below the blocks, of the last factor.
    """

    start: Array
    factors: Array
    blocks: tuple[slice, ...]
    dropped: float


def triangular_product(factors: Array, start: Array | None = None) -> TriangularProduct:
    """Orthogonal iteration over `factors` (p, N, N), the first to act first, from about Q_0.

    A product of one factor is one block. Otherwise the sweeps end when no block spans more than
    RANGE, or at their largest number; the remaining block then has a larger error bound.
    """
    p, N, _ = factors.shape
    whole = TriangularProduct(np.eye(N), factors, (slice(0, N),), 0.0)
    if p == 1 or N == 1:
        return whole
    start = _generic(N) if start is None else start
    negligible = N * min(EPS * float(np.linalg.cond(factors).max()), ZERO)
    for sweep in range(SWEEPS * (N + 1)):
        Q, R = start, np.empty_like(factors)
        for i, F in enumerate(factors):
            Q, R[i] = la.qr(F @ Q, check_finite=False)
        turn = start.conj().T @ Q
        cuts, dropped = _cuts(turn, negligible)
        blocks = tuple(slice(a, b) for a, b in zip([0, *cuts], [*cuts, N], strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.abs(np.diagonal(R, axis1=1, axis2=2))).sum(axis=0)
            wide = [b for b in blocks if b.stop - b.start > 1 and np.ptp(logs[b]) > RANGE]
            # What is below the round-off of the largest is not worth more sweeps.
            if not wide or (sweep >= SWEEPS and logs[wide[0]].max() < logs.max() + LOST):
                break
        start = Q
    closing = np.zeros_like(turn)
    for b in blocks:
        closing[b, b] = turn[b, b]
    R[-1] = closing @ R[-1]
    return TriangularProduct(start, R, blocks, dropped)


def _generic(N: int) -> Array:
    """A fixed orthogonal matrix, independent of the model: eigenvectors of a fixed matrix."""
    row = np.arange(1, N + 1)
    return np.asarray(la.eigh(np.sin(np.outer(row, row) * np.sqrt(2.0)))[1])


def _cuts(turn: Array, negligible: float) -> tuple[list[int], float]:
    """Where the matrix W = Q_0ᵀQ_p is block diagonal, and the largest part neglected there."""
    N = len(turn)
    squares = np.abs(turn) ** 2
    # ‖W[k:, :k]‖_F² for every k, from sums over columns below the diagonal.
    below = np.array([squares[k:, :k].sum() for k in range(1, N)])
    cuts = [k for k, size in enumerate(np.sqrt(below), start=1) if size <= negligible]
    return cuts, float(np.sqrt(max((below[k - 1] for k in cuts), default=0.0)))


@dataclass(frozen=True)
class ProductModes:
    """Eigenvalues of F_p ⋯ F_1, largest modulus first.

    logs (N,): log μ, Im in (−π, π]. error (N,): bound on |δ log μ|; where it is infinite, μ is
    below what the errors of the factors let be seen, and Re log μ is an upper bound. vectors
    (N, N): eigenvectors, unit norm. start (N, N): Q_0 of the orthogonal iteration.
    """

    logs: Complex
    vectors: Complex
    error: Array
    start: Array | None = None


def product_modes(
    factors: Array, errors: Array, start: Array | None = None, bounded: bool = True
) -> ProductModes:
    """Eigenvalues and eigenvectors of F_p ⋯ F_1, all of them to the accuracy of the factors.

    factors (p, N, N), the first to act first, each well conditioned. errors (p,): the error of
    each, relative to its 2-norm; round-off is added here. start: that of about the same product.
    bounded: otherwise the errors of the eigenvalues are infinite.
    """
    N = factors.shape[1]
    product = triangular_product(factors, start)
    sizes = norms(factors)
    absolute = (errors + N * EPS) * sizes
    absolute[-1] += product.dropped * sizes[-1]
    product = _hidden_joined(product, absolute)
    bases = _subspaces(product)
    several = bounded and len(product.blocks) > 1
    duals = np.linalg.inv(bases[1:]) if several else bases[1:]
    logs, vectors, error = [], [], []
    for block in product.blocks:
        # ‖Yᵢᴴ E_i X_{i−1}‖ at most, for errors ‖E_i‖ = `absolute`.
        own, changes = product.factors[:, block, block], None
        if bounded:
            changes = absolute * norms(duals[:, block]) * norms(bases[:-1, :, block])
        found = _block_modes(own, changes)
        logs.append(found.logs)
        error.append(found.error)
        vectors.append(product.start @ bases[0][:, block] @ found.vectors)
    joined = np.concatenate(logs)
    order = np.argsort(-joined.real, kind="stable")
    shapes = np.concatenate(vectors, axis=1)
    shapes = shapes / np.linalg.norm(shapes, axis=0)
    errors = np.concatenate(error)[order]
    return ProductModes(joined[order], shapes[:, order], errors, product.start)


def norms(matrices: Array) -> Array:
    """2-norms (m,) of matrices (m, N, n): from their smaller Gram matrices, in a fraction of the
    time of singular values where these are far smaller."""
    adjoint = matrices.conj().swapaxes(1, 2)
    wide = matrices.shape[1] <= matrices.shape[2]
    gram = matrices @ adjoint if wide else adjoint @ matrices
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, -1], 0.0)))


def _hidden_joined(product: TriangularProduct, absolute: Array) -> TriangularProduct:
    """The blocks from the first one on that drowns in the error of a factor, as one block."""
    for number, block in enumerate(product.blocks):
        smallest = np.linalg.svd(product.factors[:, block, block], compute_uv=False)[:, -1]
        if np.any(smallest <= absolute):
            joined = slice(block.start, product.factors.shape[1])
            return replace(product, blocks=(*product.blocks[:number], joined))
    return product


def _subspaces(product: TriangularProduct) -> Array:
    """B_i (p + 1, N, N), unit block upper triangular, with R_i B_{i−1} = B_i D_i and B_p = B_0.

    Backwards in time the parts in the larger blocks decay, as (smaller/larger modulus) a period.
    """
    R, blocks = product.factors, product.blocks
    p, N, _ = R.shape
    bases = np.repeat(np.eye(N, dtype=R.dtype)[None], p + 1, axis=0)
    if len(blocks) == 1:
        return bases
    inside = np.zeros((N, N), dtype=bool)
    for b in blocks:
        inside[b, b] = True
    above = np.triu(~inside)
    factored = [la.lu_factor(without_zero_pivots(F), check_finite=False) for F in R]
    for _ in range(SWEEPS * (N + 1)):  # what the sweeps have separated converges as they did
        before = bases[p]
        for i in range(p, 0, -1):
            image = bases[i] @ np.where(inside, R[i - 1], 0.0)
            solved = la.lu_solve(factored[i - 1], image, check_finite=False)
            bases[i - 1] = np.where(above, solved, np.eye(N))
        change = float(np.abs(bases[0] - before).max())
        bases[p] = bases[0]
        if change <= HALF * float(np.abs(before).max()):
            break
    return bases


def without_zero_pivots(R: Array) -> Array:
    """An upper triangle (N, N) that can be solved with."""
    diagonal = np.diag(R)
    tiny = EPS * EPS * float(np.abs(R).max(initial=1e-300))
    return np.asarray(R + np.diag(np.where(np.abs(diagonal) < tiny, tiny, 0.0)))


def _block_modes(factors: Array, changes: Array | None) -> ProductModes:
    """Eigenvalues of D_p ⋯ D_1 of one block, for changes of its factors of norm `changes`."""
    prefix = _partial(factors)
    P, scale = prefix[0][-1], float(prefix[1][-1])
    values, vectors = la.eig(P, check_finite=False)
    values = values.astype(complex)
    if changes is None:
        logs, _ = logs_of(values, np.zeros(len(values)))
        return ProductModes(logs + scale, vectors, np.full(len(values), np.inf))
    suffix = _partial(factors[::-1].transpose(0, 2, 1))
    # What acts before a factor and what acts after it, both of unit norm times e^log.
    exponents = prefix[1][:-1] + suffix[1][-2::-1] - scale
    weights = changes * np.exp(np.minimum(exponents, LARGEST_LOG))
    ends = suffix[0][-2::-1].transpose(0, 2, 1), prefix[0][:-1]
    share, bounds = float(weights.sum()), np.full(len(values), np.inf)
    if share < 1.0:
        # The bounds are of first order; products of changes are within the rest.
        bounds = _isolated_bounds(values, vectors, weights / (1.0 - share) ** 2, *ends)
        left = np.flatnonzero(~np.isfinite(bounds))
        if left.size:
            bounds[left] = eigenvalue_bounds(P, values, float(np.expm1(share)), left)
    logs, error = logs_of(values, bounds)
    logs += scale
    if share >= 1.0:
        # The changes are no small ones, and their products may be larger still: all that is left
        # is the norm of the changed product.
        sizes = norms(factors) + changes
        logs = np.log(sizes).sum() + 1j * logs.imag
    return ProductModes(logs, vectors, error)


def _isolated_bounds(
    values: Complex, vectors: Complex, weights: Array, after: Array, before: Array
) -> Array:
    """Bounds (m,) on the distance of the eigenvalues of P from those of P + Σ after_i E_i before_i,
    ‖E_i‖ ≤ weights_i, by Gershgorin's theorem in the eigenvectors of P; infinite for those whose
    discs meet others.

    Scaling coordinate j by τ shrinks the parts of its own radius by τ and makes that of others
    larger by 1/τ, as long as the discs stay apart.
    """
    if not np.linalg.slogdet(vectors)[0]:
        return np.full(len(values), np.inf)
    inverse = la.inv(vectors, check_finite=False)
    rows = np.linalg.norm(inverse @ after, axis=2)
    columns = np.linalg.norm(before @ vectors, axis=1)
    M = (weights[:, None] * rows).T @ columns
    # And the round-off of the eigenvalues of P.
    M += len(M) * EPS * np.linalg.norm(inverse, axis=1)[:, None]
    own, radii = M.diagonal(), M.sum(axis=1)
    apart = np.abs(values[:, None] - values) - radii[:, None] - radii
    np.fill_diagonal(apart, np.inf)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        tau = np.minimum((2.0 * M.T / apart).max(axis=1), 1.0)
        size = np.abs(values)
        radii = size * np.expm1((own + tau * (radii - own)) / size)
    return np.where((apart > 0.0).all(axis=1) & np.isfinite(radii), radii, np.inf)


def logs_of(values: Complex, bounds: Array) -> tuple[Complex, Array]:
    """Log μ of eigenvalues (m,) known to ± bounds, and the bounds on its error.

    Where a bound exceeds |μ| the error is infinite and log μ is that of the largest possible |μ|.
    """
    moduli = np.abs(values)
    seen = bounds < moduli
    with np.errstate(divide="ignore"):
        size = np.log(np.where(seen, moduli, moduli + bounds))
    share = np.divide(bounds, moduli, out=np.zeros_like(moduli), where=seen)
    # + 0j: no negative zeros, so that log(−1) = iπ
    return size + 1j * np.angle(values + 0j), np.where(seen, -np.log1p(-share), np.inf)


def product_of(maps: Array) -> Array:
    """The product (..., n, n) of maps (S, ..., n, n), the last leftmost, by pairs."""
    while len(maps) > 1:
        last = maps[-1:] if len(maps) % 2 else maps[:0]
        even = maps[: len(maps) - len(last)]
        maps = np.concatenate([even[1::2] @ even[::2], last])
    return np.asarray(maps[0])


def _partial(factors: Array) -> tuple[Array, Array]:
    """I, D_1, D_2 D_1, …, each as a matrix of unit 2-norm and the logarithm of its norm."""
    products, logs = [np.eye(factors.shape[1])], [0.0]
    for F in factors:
        now = F @ products[-1]
        size = max(float(np.abs(now).max()), float(np.finfo(float).tiny))
        products.append(now / size)
        logs.append(logs[-1] + np.log(size))
    sizes = norms(np.stack(products))
    sizes[sizes == 0.0] = 1.0  # decayed beyond the range of numbers
    return np.stack(products) / sizes[:, None, None], np.array(logs) + np.log(sizes)


def eigenvalue_bounds(
    P: Array, values: Complex, change: float, some: Index | slice = slice(None)
) -> Array:
    """Bound on the distance of `some` of `values` (m,), P's eigenvalues, from one of P + E.

    P (m, m); change: ‖E‖₂.
    """
    T, _ = la.schur(P, output="complex")
    _, place = linear_sum_assignment(np.abs(values[:, None] - np.diag(T)[None, :]))
    whole = _shift(T, change)
    return np.array([_bound(T, int(i), change, whole) for i in place[some]])


def _bound(T: Complex, i: int, change: float, whole: float, largest: int = 12) -> float:
    """The least bound by a cluster of up to so many eigenvalues next to one, or by the whole."""
    m = len(T)
    diagonal = np.diag(T)
    nearest = np.argsort(np.abs(diagonal - diagonal[i]), kind="stable")
    best = whole
    for size in range(1, min(largest, m - 1) + 1):
        if best <= change ** (1.0 / size):
            break  # no bound by so many eigenvalues is less
        select = np.zeros(m, dtype=np.int32)
        select[nearest[:size]] = 1
        ordered, _, _, _, _, sep, info = ztrsen(
            select, T, np.eye(m), job="V", wantq=0, lwork=2 * m * m
        )
        if info != 0:
            continue
        coupling = float(la.norm(ordered[:size, size:], 2)) + change
        apart = sep / SAFETY - 2.0 * change
        if apart <= 0.0 or 4.0 * change * coupling >= apart * apart:
            continue
        inside = change + coupling * 2.0 * change / apart
        best = min(best, _shift(ordered[:size, :size], inside))
    return best


def _shift(T: Complex, change: float, most: int = 12) -> float:
    """Largest shift of an eigenvalue of the upper triangular T (m, m) under ‖E‖₂ = change: the
    less of the bounds by the norm above the diagonal (Henrici) and by up to `most` powers."""
    m = len(T)
    departure = float(la.norm(np.triu(T, 1), 2)) if m > 1 else 0.0
    with np.errstate(over="ignore"):
        theta = change * float(np.sum(departure ** np.arange(m, dtype=float)))
        henrici = float(max(theta, theta ** (1.0 / m)))
    # zI − T − E is regular where Σ ‖Bⁱ‖/|z − c|ⁱ⁺¹ < 1/‖E‖, B = T − c, ‖Bⁱ⁺ᵖ‖ ≤ ‖Bⁱ‖ ‖Bᵖ‖.
    B = T - np.diag(T).mean() * np.eye(m)
    powers = [np.eye(m, dtype=complex)]
    for _ in range(min(m, most)):
        powers.append(B @ powers[-1])
    *sizes, last = np.linalg.norm(powers, 2, axis=(1, 2))
    terms, p = change * np.array(sizes), len(sizes)
    # From above (M. Fujiwara, Tôhoku Math. J. 10, 1916) to the root of rᵖ = Σ terms rᵖ⁻¹⁻ⁱ + ‖Bᵖ‖.
    r = 2.0 * max((terms ** (1.0 / np.arange(1, p + 1))).max(), last ** (1.0 / p))
    for _ in range(ROUNDS):
        r = (float(np.polyval(terms, r)) + last) ** (1.0 / p)
    return float(min(henrici, r + np.abs(np.diag(B)).max()))
