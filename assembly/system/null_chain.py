"""The Jordan chains of the zero eigenvalues, built from the rigid velocity field.

See docs/theory.md, "The two zero eigenvalues", and Scutaru and Vlase (2012).

With x = (q, q̇) the instant is the pencil A x = λ B x, A = [[0, I], [−K, −C]], B = diag(I, M). For
each V with K V = 0 and VᵀCV = 0 the eigenvalue 0 has a block of size two: x₁ = (V, 0), x₂ = (w, V)
with K w = −C V. In general a null space of dimension m gives 2m − rank(WᵀCV) zeros, W the left
null space of K. The chain cannot be longer when K is semidefinite and C skew: its third vector
would need vᵀMv + (Cv)ᵀK⁺(Cv) = 0, a sum of a positive and a non-negative number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization, Structure
from assembly.types import Array, Index

if TYPE_CHECKING:
    from assembly.system.frozen import FrozenSystem


Solve = Callable[[Array, bool], Array]  # of loads (n, p), with the transpose if True

ELASTIC_TOLERANCE = 1e-12  # of |K| |v|: round-off of a product with K
MOTION_TOLERANCE = 1e-9  # of ‖K(ε)v‖ + ‖K(ω²)v‖ + …, which cancel in the sum with K v


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

    def left_null(self) -> Array:
        """A basis (n, m) of the left null space, the identity at the pinned DOFs."""
        coupling = self.K[self.pins][:, self.free].toarray().T
        W = np.zeros((self.K.shape[0], len(self.pins)))
        W[self.pins] = np.eye(len(self.pins))
        W[self.free] = -self.factor.solve_transposed(coupling)
        return W

    def destroy(self) -> None:
        self.factor.destroy()


def null_fields(system: FrozenSystem) -> Array:
    """The combinations (n, m) of `system.rigid` that the total stiffness annihilates,
    mass-orthonormal.
    """
    R = system.rigid
    if R.shape[1] == 0:
        return R
    gram = R.T @ (system.M @ R)
    R = R @ la.inv(la.cholesky(gram, lower=False))
    _, _, Zt = la.svd(system.stiffness @ R, full_matrices=False)
    candidates = R @ Zt.T
    residual = np.linalg.norm(system.stiffness @ candidates, axis=0)
    bound = ELASTIC_TOLERANCE * np.linalg.norm(abs(system.K) @ abs(candidates), axis=0)
    for name in ("K_epsilon", "K_omega2", "K_G", "K_D", "K_transport"):
        bound += MOTION_TOLERANCE * np.linalg.norm(system.parts[name] @ candidates, axis=0)
    return np.asarray(candidates[:, residual <= bound])


def build_null_chain(system: FrozenSystem) -> NullChain | None:
    """The chains of one instant, or None when no rigid field is in the null space of its stiffness.

    Raises SingularSystemError when the stiffness has more zeros than `system.rigid` explains.
    """
    V = null_fields(system)
    if V.shape[1] == 0:
        return None
    if system.symmetric_stiffness:
        chained = _chained(V, V, system.damping)
        loads = system.damping @ chained[0], system.damping.T @ chained[1]
        if not any(_is_felt(load, system.damping, V) for load in loads):
            return _chains(system, V, V, chained, lambda r, transposed: np.zeros_like(r))
        structure: Structure = "symmetric"
    else:
        structure = "general"
    inverse = PinnedInverse(system.stiffness, V, structure)
    try:
        W = V
        if structure == "general":
            W = inverse.left_null()
            W = W @ la.inv(la.cholesky(W.T @ (system.M @ W), lower=False))
        return _chains(system, V, W, _chained(V, W, system.damping), inverse.solve)
    finally:
        inverse.destroy()


def _chains(
    system: FrozenSystem, V: Array, W: Array, chained: tuple[Array, Array], solve: Solve
) -> NullChain:
    C, M = system.damping, system.M
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


def _chained(V: Array, W: Array, C: sp.csr_matrix) -> tuple[Array, Array]:
    """The right and left null vectors with a second chain vector: the null spaces of WᵀCV.

    One decision on its rank for both sides: as many right as left chains.
    """
    U, sizes, Zt = la.svd(W.T @ (C @ V))
    scale = max(
        np.linalg.norm(abs(C) @ abs(V)) * np.linalg.norm(W),
        np.linalg.norm(abs(C.T) @ abs(W)) * np.linalg.norm(V),
    )
    small = sizes <= 1e-12 * max(scale, np.finfo(float).tiny)
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
