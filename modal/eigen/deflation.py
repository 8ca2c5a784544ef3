"""Zero eigenvalues: their removal, and the modes among them.

Those of the rigid motion are removed (docs/theory.md, "The two zero eigenvalues").
Sparse: the oblique spectral projector P = I − X (YᵀBX)⁻¹ YᵀB of the right and left chains X, Y.
Dense: the similarity transformation of Scutaru and Vlase (J. Appl. Math. 2012, 628503, equations
2.17 to 2.31), once for every chain vector, here for the pencil so that M⁻¹K is never formed.

`modal.solve` removes every zero eigenvalue. Those of a free mobility are the rigid motion and stay
out of the tracks; the others belong to a mode on its way through zero: a critical speed, or the
onset of divergence, that a value of a sweep hits. With V, W the right and left null spaces of K, λ
is small near such an instant where (λ WᵀCV + WᵀδKV) z = O(λ²): the modes are x = Vz with the
eigenvectors z of WᵀCV, one of each conjugate pair. Where WᵀCVz = 0 the pair ±λ itself meets at zero
(a defective value), and its one shape is listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization, Structure
from assembly.system.frozen import PARTS, FrozenSystem
from assembly.system.null_chain import MOTION_TOLERANCE, NullChain
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic
from modal.eigen.spectrum import separated
from modal.eigen.tolerances import BLOCK, ROUND_OFF, ZERO
from modal.types import Array, Complex


class Projector:
    """P = I − X (YᵀBX)⁻¹ YᵀB on states (q, v/scale), for real or complex blocks (2n, p).

    Raises SingularSystemError when YᵀBX is singular: the Jordan chains are then longer than those
    given.
    """

    def __init__(self, quadratic: Quadratic, chain: NullChain, scale: float = 1.0) -> None:
        n = quadratic.n
        self.X = np.vstack([chain.right[:n], chain.right[n:] / scale])
        Y1, Y2 = chain.left[:n], chain.left[n:]
        self.YB = np.hstack([Y1.T, (quadratic.M.T @ Y2).T * scale])
        gram = self.YB @ self.X
        sizes = np.outer(np.linalg.norm(self.YB, axis=1), np.linalg.norm(self.X, axis=0))
        balanced = gram / np.sqrt(np.outer(sizes.max(axis=1), sizes.max(axis=0)))
        if la.svdvals(balanced)[-1] < 1e-13 * la.svdvals(balanced)[0]:
            raise SingularSystemError(
                "a zero eigenvalue has a Jordan chain longer than the chains given"
            )
        self.coefficients = la.solve(gram, self.YB)

    def __call__(self, x: NDArray[np.inexact[Any]]) -> NDArray[np.inexact[Any]]:
        return np.asarray(x - self.X @ (self.coefficients @ x))


def transposed_chain(quadratic: Quadratic, chain: NullChain) -> NullChain:
    """The chain of the transposed quadratic (Mᵀ, Cᵀ, Kᵀ).

    A left chain of z(λ) = z₀ + λz₁ is (Cᵀz₀, z₀), (Cᵀz₁ + Mᵀz₀, z₁); as right chain of the
    transposed problem it is (z₀, 0), (z₁, z₀).
    """
    n, m = quadratic.n, chain.null.shape[1]
    M, C = quadratic.M, quadratic.C
    W, V = chain.left_null, chain.null
    second = chain.left[:, m:]
    chained = second[:n] - C.T @ second[n:]  # Mᵀz₀
    z0 = W @ la.solve(W.T @ (M.T @ W), W.T @ chained)
    right = np.hstack([np.vstack([W, 0 * W]), np.vstack([second[n:], z0])])
    w, v0 = chain.right[:n, m:], chain.right[n:, m:]
    left = np.hstack([np.vstack([C @ V, V]), np.vstack([C @ w + M @ v0, w])])
    return NullChain(right, left, W, V)


@dataclass(frozen=True)
class DeflatedPencil:
    """A dense pencil (A, B) (2n − r, 2n − r) with the zero eigenvalues gone, and the way back.

    `lift(eigenvalues, Z)` returns the eigenvectors (2n, k) of the original pencil, `lift_left` the
    left ones.
    """

    A: Array
    B: Array
    steps: tuple[tuple[int, Array, Array, Array, Array], ...]

    @property
    def matrix(self) -> Array:
        """B⁻¹A, the matrix of size 2n − r of the 2012 paper (2n − 2 for one mobility)."""
        return np.asarray(la.solve(self.B, self.A))

    def lift(self, eigenvalues: Complex, Z: Complex) -> Complex:
        """Eigenvectors of the original pencil from those of the deflated one."""
        # An eigenvalue that is zero still, of a Jordan chain longer than those removed: its
        # eigenvector is the one removed.
        size = np.finfo(float).eps
        eigenvalues = np.where(np.abs(eigenvalues) > size, eigenvalues, size)
        for pivot, x, row_a, row_b, _ in reversed(self.steps):
            # Row `pivot` of the transformed pencil reads (row_a − λ row_b)·z = λ α (B x)_pivot,
            # here scaled to λ α.
            alpha = (row_a @ Z - eigenvalues * (row_b @ Z)) / eigenvalues
            grown = np.insert(Z, pivot, 0.0, axis=0)
            Z = grown + x[:, None] * alpha
        return Z

    def lift_left(self, Z: Complex) -> Complex:
        """Left eigenvectors of the original pencil from those of the deflated one.

        The rows kept are those of the pencil less `factor` times row `pivot`.
        """
        for pivot, _, _, _, factor in reversed(self.steps):
            Z = np.insert(Z, pivot, -(factor @ Z), axis=0)
        return Z


def deflate_by_similarity(A: Array, B: Array, chain: Array) -> DeflatedPencil:
    """The transformation T of the 2012 paper, once for each column of `chain`, on A − λB.

    chain: (2n, r) real, each column mapped by A into the span of B times those before it
    (eigenvectors first, then second chain vectors). With x the eigenvector scaled to 1 at its
    pivot, T is the identity with the pivot's column replaced by x: column `pivot` of AT vanishes,
    and the row operation that clears the same column of BT leaves the other eigenvalues to the
    pencil without that row and column. For B = I this is T⁻¹AT of equations (2.17)–(2.21).
    """
    A, B, chain = A.copy(), B.copy(), chain.copy()
    steps = []
    for _ in range(chain.shape[1]):
        x = chain[:, 0]
        image = B @ x
        pivot = int(np.argmax(np.abs(x * image)))
        if x[pivot] == 0.0 or image[pivot] == 0.0:
            raise SingularSystemError(
                "a chain vector and its image under B share no degree of freedom to pivot on"
            )
        keep = np.delete(np.arange(len(x)), pivot)
        factor = image[keep] / image[pivot]
        x = x / x[pivot]
        row_a, row_b = A[pivot, keep], B[pivot, keep]
        steps.append((pivot, x, row_a / (B @ x)[pivot], row_b / (B @ x)[pivot], factor))
        # T acts on columns: the kept columns are unchanged; the rows lose their share of the
        # pivot's.
        A = A[np.ix_(keep, keep)] - np.outer(factor, row_a)
        B = B[np.ix_(keep, keep)] - np.outer(factor, row_b)
        rest = chain[:, 1:]
        chain = (rest - np.outer(x, rest[pivot]))[keep]
    return DeflatedPencil(A, B, tuple(steps))


def with_null_space(system: FrozenSystem) -> FrozenSystem | None:
    """The same instant with the null space of its stiffness as `rigid`, or None when it has none.

    For matrices that come without their rigid fields. Block inverse iteration with K + sM, s far
    below every elastic frequency squared; a shape counts as null when ‖Kv‖ ≤ 1e-14 ‖|K||v|‖, which
    round-off can make: a soft spring beside a stiff body holds it. The block grows until one of its
    shapes does not.
    """
    quadratic = Quadratic(system)
    K, M, n = quadratic.K, quadratic.M, quadratic.n
    shifted = sp.csr_matrix(K + ZERO * quadratic.frequency_scale**2 * M)
    structure: Structure = "symmetric" if quadratic.symmetric_stiffness else "general"
    random, width = np.random.default_rng(0), min(n, BLOCK)
    with Factorization(shifted, structure) as factor:
        while True:
            V = random.standard_normal((n, width))
            for _ in range(4):
                V = la.qr(factor.solve(np.ascontiguousarray(M @ V)), mode="economic")[0]
            _, _, Zt = la.svd(K @ V, full_matrices=False)
            V = V @ Zt.T
            size = np.linalg.norm(abs(K) @ np.abs(V), axis=0)
            small = np.linalg.norm(K @ V, axis=0) <= ROUND_OFF * size
            if width == n or not small.all():
                break
            width = min(n, 4 * width)
    return system.only(*PARTS, rigid=V[:, small]) if small.any() else None


def without_stiffness(system: FrozenSystem) -> Array:
    """The motions (n, k) among those of `with_null_space` that K itself annihilates.

    The others are held by K, and what motion adds to it cancels it just there: the onset of a
    divergence or a critical speed, no rigid motion.
    """
    V, K = system.rigid, system.K
    _, forces, Zt = la.svd(K @ V, full_matrices=False)
    size = np.linalg.norm(abs(K) @ np.abs(V))
    return np.asarray(V @ Zt[forces <= MOTION_TOLERANCE * size].T)


def with_zeros(system: FrozenSystem, modes: Modes) -> Modes:
    """The modes of an instant together with those at zero that `modal.solve` removed from them.

    The same modes where nothing was removed, and where the system has rigid fields, whose zeros
    cannot be told from others. Their relative condition number is infinite.
    """
    if modes.deflated == 0 or system.rigid.shape[1]:
        return modes
    completed = with_null_space(system)
    chain = None if completed is None else completed.null_chain
    if chain is None:
        return modes
    V, W, C = chain.null, chain.left_null, system.damping
    small = W.T @ (C @ V)
    values, left, right = la.eig(small, left=True, right=True)
    values, right, left = separated(values, right, left, float(np.linalg.norm(small)))
    scale = np.linalg.norm(abs(C) @ np.abs(V)) * np.linalg.norm(W)
    moving = np.abs(values) > ZERO * scale
    once = ~moving | (values.imag >= 0.0)
    Y, X = W @ left[:, once], V @ right[:, once]
    mass = np.sqrt((X.conj() * (system.M @ X)).sum(axis=0).real)
    X = X / mass
    pairing = np.where(moving[once], (Y.conj() * (C @ X)).sum(axis=0), 1.0)
    zeros = np.zeros(X.shape[1], dtype=complex)
    with np.errstate(invalid="ignore"):  # nothing at all is stiff
        error = np.nan_to_num(Quadratic(system).backward_error(zeros, X))
    return replace(
        modes,
        eigenvalues=np.concatenate([zeros, modes.eigenvalues]),
        right=np.hstack([X, modes.right]),
        left=np.hstack([Y / pairing.conj(), modes.left]),
        backward_error=np.concatenate([error, modes.backward_error]),
        condition_number=np.concatenate([np.full(len(zeros), np.inf), modes.condition_number]),
        kind=np.full(len(zeros) + len(modes), "elastic"),  # a null shape is no rigid field
    )
