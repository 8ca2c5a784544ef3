"""The modes of all instants of a small model on a smooth motion, from one certified basis.

The matrices come off a polynomial through a few dozen instants
(modal/reduction/interpolated_motion.py), whose table is projected once on a basis V: an instant of
the motion, and those next to it, then cost r × r work. V holds the right and left modes of a few
full solves. It grows by K⁻¹ times the residuals of the modes that it does not hold well, right and
left, until the eigenvalues of all instants are as accurate as asked for.

The error of an eigenvalue by a basis that holds both its vectors nearly is of second order: with
the residuals ρ = Q(λ)q and ϱ = Q(λ)ᴴu of the full order, both orthogonal to V, what V leaves out
responds by Q(λ)⁻¹ρ ≈ K⁻¹ρ, and λ changes by ϱᴴK⁻¹ρ / (uᴴQ'(λ)q).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from modal.provenance.same_model import drawn_prints
from modal.reduction.interpolated_motion import InterpolatedMotion, ProjectedMotion
from modal.reduction.spot_check import full_modes, unmatched
from modal.tracking.snapshot import ModesLike, Snapshot
from modal.tracking.sources import Freeze, Kept, SmallInstant
from modal.tracking.variation import Derivatives, Neighbourhood, Triple, Variation, variations
from modal.types import Array, Complex

LARGEST = 400  # degrees of freedom up to which dense matrices of all instants are kept
TRAINING, SAMPLE = 8, 16  # instants of the first basis, and those on which it grows
WHOLE = 64  # degrees of freedom up to which the basis may be the whole space
ROUNDS = 8  # of growth
SAFETY = 4.0  # for K⁻¹ instead of Q(λ)⁻¹
PER_ROUND = 8  # directions that join the basis in one round
KEPT = 0.1  # of √accuracy: relative size of directions that are kept
LACKING = 0.1  # of the accuracy: modes of a larger error add to a basis that grows
STARTING = 3e-5  # relative singular values below which directions are left out of the first basis
GROWING = 1e-3  # and of those that join it
BLOCK = 64  # instants that are computed together
EPS = float(np.finfo(float).eps)


class NotSmooth(Exception):
    """The motion has no accurate polynomial, or the basis none of the accuracy."""


@dataclass(frozen=True)
class _Small:
    """Modes of P instants: eigenvalues (P, K), right and left vectors (P, r, K) with uᴴQ'(λ)q = 1
    and |q| = 1, condition numbers (P, K). by_basis, bound (P, K): errors by the basis, and with
    those by round-off, rad/s."""

    eigenvalues: Complex
    right: Complex
    left: Complex
    condition: Array
    by_basis: Array
    bound: Array


class SmoothSource:
    """freeze, at: the model and the instants. count: modes. accuracy: relative, of eigenvalues.
    around: the neighbourhood of the instants. checks, checked: instants and modes that a full solve
    verifies. kept(prints): the stored run that is continued. Raises NotSmooth where the motion is
    of another kind, AccuracyError when a full solve differs."""

    growths = 0
    _table: ProjectedMotion

    def __init__(
        self,
        motion: InterpolatedMotion,
        freeze: Freeze,
        at: NDArray[np.float64],
        count: int,
        accuracy: float,
        around: Neighbourhood,
        checks: int = 1,
        checked: int | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._motion, self._freeze, self._at = motion, freeze, at
        self._count, self._accuracy, self._around = count, accuracy, around
        if kept is not None:
            kept(self.prints())
        self._train()
        self._make()
        self._check(checks, checked or count)
        self.description = (
            f"basis of {self._V.shape[1]} vectors, accuracy {accuracy:g}, {motion.interpolant}"
        )

    # The basis.

    def _train(self) -> None:
        chosen = np.unique(np.linspace(0, len(self._at) - 1, TRAINING + 1).round().astype(int))
        series = self._motion.freeze_many(self._at[chosen[:-1] if len(chosen) > 1 else chosen])
        M, C, K = series.mass, series.damping, series.stiffness
        S = 0.5 * (K + K.swapaxes(1, 2))
        last = min(self._count, series.n) - 1
        pairs = [la.eigh(*both, subset_by_index=[0, last]) for both in zip(S, M, strict=True)]
        squares, X = (np.stack(each) for each in zip(*pairs, strict=True))
        shift = max(-2.0 * float(squares[0, 0]), 0.0)
        high = float(np.trace(S[0]) / np.trace(M[0]))
        self._root = la.cholesky(S[0] + (shift + 1e-8 * high) * M[0])
        self._V = np.zeros((series.n, 0))
        # To first order in C and in the skew part of K the vectors change by K⁻¹ of these forces.
        forces = [C @ (X * np.sqrt(np.abs(squares))[:, None, :]), (K - S) @ X]
        try:
            changes = np.linalg.solve(K, np.concatenate(forces, axis=2))
        except np.linalg.LinAlgError:
            raise NotSmooth("the stiffness of an instant is singular") from None
        size = np.linalg.norm(self._root @ X, axis=1, keepdims=True)
        shapes = np.concatenate([X / size, changes / np.tile(size, 2)], axis=2)
        self._grow(np.hstack(list(shapes)), STARTING)
        sample = self._at[np.unique(np.linspace(0, len(self._at) - 1, SAMPLE).round().astype(int))]
        compressed = False
        for _ in range(ROUNDS):
            modes, responses = self._certified(sample)
            if not self._accurate(modes, responses):
                continue
            if compressed or self._V.shape[1] == len(self._V):
                return
            compressed = True
            self._compress(modes)
        raise NotSmooth("the basis does not reach the accuracy")

    def _compress(self, modes: _Small) -> None:
        """Reduce the basis to the main directions of modes: an error of their vectors of relative
        size e costs e² in an eigenvalue."""
        columns = np.hstack([*in_phase(modes.right), *in_phase(modes.left)])
        U, sizes, _ = la.svd(columns, full_matrices=False)
        kept = U[:, sizes > KEPT * np.sqrt(self._accuracy) * sizes[0]]
        self._V, self._table = self._V @ kept, self._table.projected(kept)

    def _accurate(self, modes: _Small, responses: list[Complex]) -> bool:
        """Whether the basis holds the modes to the accuracy; otherwise it grows by what it
        lacks."""
        ratio = modes.by_basis / (self._accuracy * np.abs(modes.eigenvalues))
        if ratio.max() <= 1.0:
            return True
        p, i = np.nonzero(ratio > LACKING)
        missing = np.hstack([response[p, :, i].T for response in responses])
        missing = np.hstack([missing.real, missing.imag])
        size = np.linalg.norm(self._root @ missing, axis=0)
        weights = np.tile(np.sqrt(ratio[p, i]), 2 * len(responses))
        missing = missing[:, size > 0.0] * (weights[size > 0.0] / size[size > 0.0])
        self._grow(missing, GROWING, PER_ROUND)
        return False

    def _grow(self, shapes: Array, least: float, most: int | None = None) -> None:
        """Add the main directions of shapes (n, m) to the basis, orthonormal in energy.

        least: relative singular value below which a direction is dropped. A basis of more than half
        the degrees of freedom becomes the whole space.
        """
        X = self._root @ shapes
        W = self._root @ self._V
        for _ in range(2):
            X -= W @ (W.T @ X)
        U, sizes, _ = la.svd(X, full_matrices=False)
        W = np.hstack([W, U[:, sizes > least * sizes[0]][:, :most]])
        if 2 * W.shape[1] > len(W):
            if len(W) > WHOLE:
                raise NotSmooth("the basis is no smaller than the model")
            W = np.eye(len(W))
        self._V = np.asarray(la.solve_triangular(self._root, W))
        self._table = self._motion.projected(self._V)

    # The modes.

    def _certified(self, times: Array) -> tuple[_Small, list[Complex]]:
        """The modes at the times with their error bounds, and K⁻¹ times the residuals of the right
        and left ones."""
        M, C, K = self._table(times)
        values, right, left = _eigenpairs(M, C, K, self._count)
        size = np.abs(values)
        left = left / _pairing(M, C, values, right, left).conj()[:, None, :]
        condition = _condition(M, C, K, values, right, left)
        series = self._motion.freeze_many(times)
        full = (series.mass, series.damping, series.stiffness)
        q, u = self._V @ right, self._V @ left
        residual = _quadratic(full, values, q)
        MT, CT, KT = (A.swapaxes(1, 2) for A in full)
        dual = _quadratic((MT, CT, KT), values.conj(), u)
        try:
            responses = [
                _solved(A, rhs) for A, rhs in ((full[2], residual), (full[2].swapaxes(1, 2), dual))
            ]
        except np.linalg.LinAlgError:
            raise NotSmooth("the stiffness of an instant is singular") from None
        by_basis = SAFETY * np.abs((dual.conj() * responses[0]).sum(axis=1))
        mass, damping, stiffness = (np.linalg.norm(A, axis=(1, 2))[:, None] for A in full)
        scale = mass * size**2 + damping * size + stiffness
        round_off = EPS * scale * np.linalg.norm(q, axis=1) * np.linalg.norm(u, axis=1)
        found = _Small(values, right, left, condition, by_basis, by_basis + round_off)
        return found, responses

    def _check(self, checks: int, checked: int) -> None:
        """Full solves of instants of a seeded draw."""
        drawn = np.random.default_rng(13).permutation(len(self._at))[:checks]
        for n in drawn:
            t = float(self._at[n])
            modes, _ = self._certified(np.array([t]))
            k = min(self._count, checked)
            exact, exact_bound = full_modes(self._freeze(t), k)
            found, bound = modes.eigenvalues[0], modes.bound[0]
            floor = self._accuracy * float(np.abs(exact).max())
            for lam in (
                unmatched(found, bound, exact, exact_bound, floor),
                unmatched(exact, exact_bound, found[:k], bound[:k], floor),
            ):
                if lam is not None:
                    raise AccuracyError(
                        f"reduced basis: at t = {t:g} s the eigenvalues of the full problem and of "
                        f"the basis differ at λ = {lam:.8g} rad/s"
                    )

    # What a run asks for.

    def snapshot(self, at: float) -> Snapshot:
        if at not in self._made:
            return self._snapshots(np.array([at]), self._certified(np.array([at]))[0])[0]
        return self._made[at]

    def _make(self) -> None:
        """The snapshots of all instants; the basis grows first where it is not accurate enough."""
        blocks = np.array_split(self._at, -(-len(self._at) // BLOCK))
        modes: list[_Small] = []
        for _ in range(ROUNDS):
            modes = []
            for times in blocks:
                found, responses = self._certified(times)
                if not self._accurate(found, responses):
                    break
                modes.append(found)
            else:
                break
        else:
            raise NotSmooth("the basis does not reach the accuracy")
        self._made = {
            snapshot.at: snapshot
            for times, found in zip(blocks, modes, strict=True)
            for snapshot in self._snapshots(times, found)
        }

    def _snapshots(self, times: Array, modes: _Small) -> list[Snapshot]:
        size = np.abs(modes.eigenvalues)
        error = modes.bound / (modes.condition * np.where(size > 0.0, size, 1.0))
        found: list[ModesLike] = [
            SmallInstant(
                modes.eigenvalues[n],
                modes.right[n],
                modes.left[n],
                error[n],
                modes.condition[n],
                np.full(modes.eigenvalues.shape[1], "elastic"),
            )
            for n in range(len(times))
        ]
        M, C, _ = self._table(times)
        made = Snapshot.batch(times, M, C, found)
        return [
            replace(one, variation=change)
            for one, change in zip(made, self._variations(made), strict=True)
        ]

    def _variations(self, made: list[Snapshot]) -> Sequence[Variation | None]:
        if self._around.high <= self._around.low:
            return [None] * len(made)
        times = np.array([one.at for one in made])
        rates = self._table.derivative()
        first = rates(times)
        at = Derivatives(self._table(times), first, rates.derivative()(times), first)
        lam = np.stack([one.eigenvalues for one in made])
        right, left = (np.stack([getattr(one, side) for one in made]) for side in ("right", "left"))
        return variations(at, lam, right, left, self._around.rate)

    def carried(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def prints(self) -> NDArray[np.float64]:
        return drawn_prints(self._freeze, self._at)

    def arrays(self) -> Mapping[str, NDArray[Any]] | None:
        return None

    def close(self) -> None:
        pass


def in_phase(vectors: Complex) -> list[Array]:
    """Real and imaginary parts (r, K) of unit vectors (P, r, K) of each instant, rotated so that
    the real parts are largest."""
    square = (vectors * vectors).sum(axis=1, keepdims=True)
    size = np.sqrt(np.abs(square))
    phase = np.sqrt(np.where(size > 0.0, square / np.where(size > 0.0, size**2, 1.0), 1.0))
    unit = vectors / phase / np.linalg.norm(vectors, axis=1, keepdims=True)
    return [np.hstack(list(part)) for part in (unit.real, unit.imag)]


def _eigenpairs(M: Array, C: Array, K: Array, count: int) -> tuple[Complex, Complex, Complex]:
    """The `count` eigenpairs of smallest |λ|, Im λ ≥ 0, of each instant: values (P, count), right
    vectors of unit norm and left ones (P, r, count)."""
    P, r, _ = M.shape
    inverse = np.zeros((P, 2 * r, 2 * r))
    inverse[:, :r] = -np.linalg.solve(K, np.concatenate([C, M], axis=2))
    inverse[:, r:, :r] = np.eye(r)
    # The reciprocals of the eigenvalues: the lowest modes are the largest.
    reciprocal, X = np.linalg.eig(inverse)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(reciprocal != 0.0, 1.0 / reciprocal, np.inf)
    Y = np.linalg.inv(X).conj().swapaxes(1, 2)
    # Rows of X⁻¹ are left vectors of [[−K⁻¹C, −K⁻¹M], [I, 0]]: u = K⁻ᵀ y₁.
    lower = values.imag < 0.0
    order = np.argsort(np.where(lower, np.inf, np.abs(values)), axis=1, kind="stable")[:, :count]
    lam = np.take_along_axis(values, order, 1)
    if not np.all(np.isfinite(lam)) or np.take_along_axis(lower, order, 1).any():
        raise NotSmooth("an instant has fewer modes than asked for")
    q = np.take_along_axis(X[:, :r], order[:, None], 2)
    u = _solved(K.swapaxes(1, 2), np.take_along_axis(Y[:, :r], order[:, None], 2))
    return lam, q / np.linalg.norm(q, axis=1, keepdims=True), u


def _solved(A: Array, rhs: Complex) -> Complex:
    """A⁻¹ of complex columns, in real arithmetic."""
    k = rhs.shape[2]
    wide = np.linalg.solve(A, np.concatenate([rhs.real, rhs.imag], axis=2))
    return np.asarray(wide[..., :k] + 1j * wide[..., k:])


def _quadratic(matrices: Triple, lam: Complex, Q: Complex) -> Complex:
    """(λ²M + λC + K) q of each instant."""
    M, C, K = matrices
    row = lam[:, None, :]
    return np.asarray(_times(M, Q * row**2) + _times(C, Q * row) + _times(K, Q))


def _times(A: Array, X: Complex) -> Complex:
    k = X.shape[2]
    wide = A @ np.concatenate([X.real, X.imag], axis=2)
    return np.asarray(wide[..., :k] + 1j * wide[..., k:])


def _pairing(M: Array, C: Array, lam: Complex, Q: Complex, U: Complex) -> Complex:
    """uᴴ(2λM + C)q of each mode, (P, K)."""
    return np.asarray((U.conj() * (_times(M, Q * (2.0 * lam[:, None, :])) + _times(C, Q))).sum(1))


def _condition(M: Array, C: Array, K: Array, lam: Complex, Q: Complex, U: Complex) -> Array:
    """Condition numbers ‖u‖‖q‖ (|λ|²‖M‖ + |λ|‖C‖ + ‖K‖) / |λ| at uᴴQ'(λ)q = 1, (P, K)."""
    size = np.abs(lam)
    mass, damping, stiffness = (np.linalg.norm(A, axis=(1, 2))[:, None] for A in (M, C, K))
    total = mass * size**2 + damping * size + stiffness
    product = np.linalg.norm(Q, axis=1) * np.linalg.norm(U, axis=1)
    return np.asarray(total * product / np.where(size > 0.0, size, 1.0))
