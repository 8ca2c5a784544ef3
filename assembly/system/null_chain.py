"""The Jordan chains of the zero eigenvalues, built from the rigid velocity field.

See docs/theory.md, "The two zero eigenvalues", and Scutaru and Vlase (2012).

With x = (q, q̇) the instant is the pencil A x = λ B x, A = [[0, I], [−K, −C]], B = diag(I, M). For
each V with K V = 0 and VᵀCV = 0 the eigenvalue 0 has a block of size two: x₁ = (V, 0), x₂ = (w, V)
with K w = −C V. In general a null space of dimension m gives 2m − rank(WᵀCV) zeros, W the left
null space of K. The chain cannot be longer when K is semidefinite and C skew: its third vector
would need vᵀMv + (Cv)ᵀK⁺(Cv) = 0, a sum of a positive and a non-negative number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization, Structure
from assembly.magnitudes import EQUAL, ROUND_OFF
from assembly.types import Array, Index

Solve = Callable[[Array, bool], Array]  # of loads (n, p), with the transpose if True

# Of |K| |v|: round-off of a product with K; of ‖K(ε)v‖ + ‖K(ω²)v‖ + …, which cancel in the sum.
ELASTIC_TOLERANCE, MOTION_TOLERANCE = ROUND_OFF, EQUAL


@dataclass(frozen=True)
class NullChain:
    """Bases of the right and left invariant subspaces of the zero eigenvalues.

    Parameters
    ----------
    right, left : ndarray, shape (2n, r)
        Real bases, columns (q, q̇). The first m columns of `right` are the eigenvectors (V, 0), the
        others the second vectors (w, V c) of the chains.
    null, left_null : ndarray, shape (n, m)
        Right and left null spaces of the stiffness; `null` is mass-orthonormal.
    """

    right: Array
    left: Array
    null: Array
    left_null: Array

    @property
    def count(self) -> int:
        """Number of zero eigenvalues, with multiplicity."""
        return int(self.right.shape[1])


def pinned_dofs(null: Array) -> Index:
    """As many degrees of freedom as there are null fields (n, m), in ascending order.

    The choice is the best conditioned one for the given fields.
    """
    _, _, order = la.qr(null.T, mode="economic", pivoting=True)
    return np.asarray(np.sort(order[: null.shape[1]]))


class PinnedInverse:
    """Solutions of K w = r and Kᵀ w = r for a singular K whose null spaces have dimension m.

    As many degrees of freedom are fixed as there are zeros. The choice is the best conditioned one
    for the given null space. The factorization stays as sparse and symmetric as K is.
    """

    def __init__(self, K: sp.csr_matrix, null: Array, structure: Structure) -> None:
        self.pins = pinned_dofs(null)
        self.free = np.setdiff1d(np.arange(len(null)), self.pins)
        self.K = sp.csr_matrix(K)
        inner = self.K[self.free][:, self.free]
        self.factor = Factorization(inner, structure)

    def solve(self, r: Array, transposed: bool = False) -> Array:
        """One solution, zero at the pinned DOFs; r must be orthogonal to the opposite null
        space.
        """
        w = np.zeros_like(r)
        rhs = np.ascontiguousarray(r[self.free])
        w[self.free] = self.factor.solve_transposed(rhs) if transposed else self.factor.solve(rhs)
        return w

    def solve_transposed(self, r: Array) -> Array:
        """One solution of Kᵀ w = r."""
        return self.solve(r, transposed=True)

    def left_null(self) -> Array:
        """A basis (n, m) of the left null space, the identity at the pinned DOFs."""
        coupling = self.K[self.pins][:, self.free].toarray().T
        W = np.zeros((self.K.shape[0], len(self.pins)))
        W[self.pins] = np.eye(len(self.pins))
        W[self.free] = -self.factor.solve_transposed(coupling)
        return W

    def destroy(self) -> None:
        self.factor.destroy()


def null_fields(
    R: Array, M: sp.csr_matrix, stiffness: sp.csr_matrix, parts: Mapping[str, Any]
) -> Array:
    """The combinations (n, m) of rigid fields R that the total stiffness annihilates,
    mass-orthonormal.
    """
    if R.shape[1] == 0:
        return R
    gram = R.T @ (M @ R)
    R = R @ la.inv(la.cholesky(gram, lower=False))
    _, _, Zt = la.svd(stiffness @ R, full_matrices=False)
    candidates = R @ Zt.T
    residual = np.linalg.norm(stiffness @ candidates, axis=0)
    K = parts["K"].tocsr()
    bound = ELASTIC_TOLERANCE * np.linalg.norm(abs(K) @ abs(candidates), axis=0)
    for name in ("K_epsilon", "K_omega2", "K_G", "K_D", "K_transport"):
        bound += MOTION_TOLERANCE * np.linalg.norm(parts[name] @ candidates, axis=0)
    return np.asarray(candidates[:, residual <= bound])


def build_null_chain(
    V: Array, M: sp.csr_matrix, C: sp.csr_matrix, stiffness: sp.csr_matrix, symmetric: bool
) -> NullChain:
    """The chains of one instant on the null space V of its stiffness; C with damping.

    Raises SingularSystemError when the stiffness has more zeros than V explains.
    """
    if symmetric:
        chained = _chained(V, V, M, C, stiffness)
        loads = C @ chained[0], C.T @ chained[1]
        if not any(_is_felt(load, C, V) for load in loads):
            return _chains(M, C, V, V, chained, lambda r, transposed: np.zeros_like(r))
    structure: Structure = "symmetric" if symmetric else "general"
    inverse = PinnedInverse(stiffness, V, structure)
    try:
        W = V
        if not symmetric:
            W = inverse.left_null()
            W = W @ la.inv(la.cholesky(W.T @ (M @ W), lower=False))
        return _chains(M, C, V, W, _chained(V, W, M, C, stiffness), inverse.solve)
    finally:
        inverse.destroy()


def _chains(
    M: sp.csr_matrix, C: sp.csr_matrix, V: Array, W: Array, chained: tuple[Array, Array],
    solve: Solve,
) -> NullChain:  # fmt: skip
    right = _chain(V, chained[0], solve, C, M, transposed=False)
    left = _chain(W, chained[1], solve, C, M, transposed=True)
    if not (np.all(np.isfinite(right)) and np.all(np.isfinite(left))):
        raise SingularSystemError(
            "the stiffness has more zero eigenvalues than the rigid fields given explain"
        )
    return NullChain(right, left, V, W)


def _is_felt(load: Array, C: sp.csr_matrix, V: Array) -> bool:
    """Whether a load C V is more than the round-off of its terms."""
    return bool(np.linalg.norm(load) > ELASTIC_TOLERANCE * np.linalg.norm(abs(C) @ np.abs(V)))


def _chained(
    V: Array, W: Array, M: sp.csr_matrix, C: sp.csr_matrix, K: sp.csr_matrix
) -> tuple[Array, Array]:
    """The right and left null vectors with a second chain vector: the null spaces of WᵀCV.

    One decision on its rank for both sides: as many right as left chains. All of it is small where
    C is, as at the turning point of a swing: beside the round-off of λC at λ² = ‖K‖/‖M‖.
    """
    U, sizes, Zt = la.svd(W.T @ (C @ V))
    norms, (v, w) = [spla.norm(A) for A in (M, K)], map(np.linalg.norm, (V, W))
    of_terms = max(np.linalg.norm(abs(C) @ abs(V)) * w, np.linalg.norm(abs(C.T) @ abs(W)) * v)
    small = sizes <= max(1e-12 * of_terms, np.finfo(float).eps * np.sqrt(np.prod(norms)) * v * w)
    return V @ Zt[small].T, W @ U[:, small]


def _chain(
    V: Array,
    chained: Array,
    solve: Solve,
    C: sp.csr_matrix,
    M: sp.csr_matrix,
    transposed: bool,
) -> Array:
    """Right chains of the null vectors V, those of `chained` of length two; or left chains of W."""
    damping = C.T if transposed else C
    coupled = damping @ V
    rhs = damping @ chained
    w = -solve(rhs, transposed) if rhs.size else rhs
    if transposed:
        # Left vectors y = (y₁, y₂) of the pencil: Kᵀy₂ = 0, y₁ = Cᵀy₂; then Kᵀz₂ = −y₁, z₁ = Cᵀz₂
        # + M y₂.
        first = np.vstack([coupled, V])
        second = np.vstack([damping @ w + M @ chained, w])
    else:
        first = np.vstack([V, np.zeros_like(V)])
        second = np.vstack([w, chained])
    return np.hstack([first, second])
