"""Eigenvalues of a product of matrices, each with a bound on the error of its logarithm.

Over the block triangular product of `modal.product_sweeps` every block has its own periodic
invariant subspace, spanned at each factor by the columns of B_i = [U_i; I; 0] with R_i B_{i−1} =
B_i D_i. An error E_i of factor i changes the factor D_i of a block by Yᵢᴴ E_i X_{i−1}, with Yᵢᴴ
the rows of B_i⁻¹, and the block's product by Σ suffix · change · prefix. That is exact to first
order in E_i, whatever the moduli of the eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la

from modal.periodic.eigenvalue_bounds import eigenvalue_bounds
from modal.periodic.product_sweeps import TriangularProduct, triangular_product
from modal.types import Array, Complex

EPS = float(np.finfo(float).eps)
SETTLED = 1e-8  # relative change of the periodic subspaces over a period
MOST_CYCLES = 200
LARGEST_LOG = 700.0  # e to this is still a number


@dataclass(frozen=True)
class ProductModes:
    """Eigenvalues of F_p ⋯ F_1, largest modulus first.

    logs (N,): log μ, Im in (−π, π]. error (N,): bound on |δ log μ|; where it is infinite, μ is
    below what the errors of the factors let be seen, and Re log μ is an upper bound. vectors
    (N, N): eigenvectors, unit norm.
    """

    logs: Complex
    vectors: Complex
    error: Array


def product_modes(factors: Array, errors: Array) -> ProductModes:
    """Eigenvalues and eigenvectors of F_p ⋯ F_1, all of them to the accuracy of the factors.

    factors (p, N, N), the first to act first, each well conditioned. errors (p,): the error of
    each, relative to its 2-norm; round-off is added here.
    """
    N = factors.shape[1]
    product = triangular_product(factors)
    sizes = np.linalg.norm(factors, 2, axis=(1, 2))
    absolute = (errors + N * EPS) * sizes
    absolute[-1] += product.dropped * sizes[-1]
    product = _hidden_joined(product, absolute)
    bases = _subspaces(product)
    logs, vectors, error = [], [], []
    for block in product.blocks:
        found = _block_modes(product.factors[:, block, block], _changes(bases, block, absolute))
        logs.append(found.logs)
        error.append(found.error)
        vectors.append(product.start @ bases[0][:, block] @ found.vectors)
    joined = np.concatenate(logs)
    order = np.argsort(-joined.real, kind="stable")
    shapes = np.concatenate(vectors, axis=1)
    shapes = shapes / np.linalg.norm(shapes, axis=0)
    return ProductModes(joined[order], shapes[:, order], np.concatenate(error)[order])


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
    above = np.zeros((N, N), dtype=bool)
    for b in blocks:
        inside[b, b] = True
        above[: b.start, b] = True
    factored = [la.lu_factor(_without_zero_pivots(F), check_finite=False) for F in R]
    for _ in range(MOST_CYCLES):
        before = bases[p]
        for i in range(p, 0, -1):
            solved = la.lu_solve(
                factored[i - 1], bases[i] @ np.where(inside, R[i - 1], 0.0), check_finite=False
            )
            bases[i - 1] = np.where(above, solved, np.eye(N))
        change = float(np.abs(bases[0] - before).max())
        bases[p] = bases[0]
        if change <= SETTLED * float(np.abs(before).max()):
            break
    return bases


def _without_zero_pivots(R: Array) -> Array:
    diagonal = np.diag(R)
    tiny = EPS * EPS * max(float(np.abs(R).max()), 1e-300)
    return np.asarray(R + np.diag(np.where(np.abs(diagonal) < tiny, tiny, 0.0)))


def _changes(bases: Array, block: slice, absolute: Array) -> Array:
    """‖Yᵢᴴ E_i X_{i−1}‖ (p,) at most, for errors ‖E_i‖ = `absolute`."""
    if block.stop - block.start == bases.shape[1]:
        return absolute
    out, whole = np.empty_like(absolute), np.eye(bases.shape[1])
    for i in range(len(absolute)):
        rows = la.solve_triangular(bases[i + 1], whole, unit_diagonal=True)[block]
        out[i] = absolute[i] * la.norm(rows, 2) * la.norm(bases[i][:, block], 2)
    return out


def _block_modes(factors: Array, changes: Array) -> ProductModes:
    """Eigenvalues of D_p ⋯ D_1 of one block, for changes of its factors of norm `changes`."""
    prefix, suffix = _partial(factors), _partial(factors[::-1].transpose(0, 2, 1))
    P, scale = prefix[-1]
    values, vectors = la.eig(P, check_finite=False)
    values = values.astype(complex)
    # What acts before a factor and what acts after it, both of unit norm times e^log.
    exponents = [a[1] + b[1] - scale for a, b in zip(prefix[:-1], suffix[-2::-1], strict=True)]
    share = float(np.sum(changes * np.exp(np.minimum(exponents, LARGEST_LOG))))
    if share >= 1.0:
        # The changes are no small ones: all that is left is the norm of the changed product.
        sizes = np.linalg.norm(factors, 2, axis=(1, 2)) + changes
        logs = np.log(sizes).sum() + 1j * np.angle(values + 0j)
        return ProductModes(logs, vectors, np.full(len(values), np.inf))
    bounds = eigenvalue_bounds(P, values, float(np.expm1(share)))
    logs, error = logs_of(values, bounds)
    return ProductModes(logs + scale, vectors, error)


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


def _partial(factors: Array) -> list[tuple[Array, float]]:
    """I, D_1, D_2 D_1, … each as a matrix of unit 2-norm and the logarithm of its norm."""
    out: list[tuple[Array, float]] = [(np.eye(factors.shape[1]), 0.0)]
    for F in factors:
        now = F @ out[-1][0]
        size = max(float(la.norm(now, 2)), float(np.finfo(float).tiny))
        out.append((now / size, out[-1][1] + float(np.log(size))))
    return out
