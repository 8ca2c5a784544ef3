"""A product of matrices brought to block triangular form by orthogonal iteration over its factors.

For P = F_p ⋯ F_1 the sweep F_i Q_{i−1} = Q_i R_i (discrete QR) is repeated until the subspaces it
starts and ends with agree. P itself is never formed, so the moduli of its eigenvalues may span any
range: all of them come from the triangular factors, each to the relative accuracy of the factors
(L. Dieci and E. S. Van Vleck, SIAM J. Numer. Anal. 40, 2002; D. Kressner, LNCSE 46, 2005, ch. 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from modal.types import Array

RANGE = np.log(1e2)  # of the moduli inside a block: larger ones are split as soon as they converge
SWEEPS_PER_ROW = 8  # of N: the widest gap of a block of N moduli over RANGE converges by then
FEWEST_SWEEPS = 20
WORST_CONDITION = 1e4  # of a factor, whose round-off the subspaces may keep
EPS = float(np.finfo(float).eps)


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


def triangular_product(factors: Array) -> TriangularProduct:
    """Orthogonal iteration over `factors` (p, N, N), the first to act first.

    A product of one factor is one block. Otherwise the sweeps end when no block spans more than
    RANGE, or at their largest number; the remaining block then has a larger error bound.
    """
    p, N, _ = factors.shape
    whole = TriangularProduct(np.eye(N), factors, (slice(0, N),), 0.0)
    if p == 1 or N == 1:
        return whole
    start = _generic(N)
    negligible = EPS * N * min(float(np.linalg.cond(factors).max()), WORST_CONDITION)
    for _ in range(FEWEST_SWEEPS + SWEEPS_PER_ROW * N):
        Q, R = start, np.empty_like(factors)
        for i, F in enumerate(factors):
            Q, R[i] = la.qr(F @ Q, check_finite=False)
        turn = start.conj().T @ Q
        cuts, dropped = _cuts(turn, negligible)
        blocks = tuple(slice(a, b) for a, b in zip([0, *cuts], [*cuts, N], strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.abs(np.diagonal(R, axis1=1, axis2=2))).sum(axis=0)
            if all(b.stop - b.start == 1 or np.ptp(logs[b]) <= RANGE for b in blocks):
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
