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
from assembly.system.frozen import FrozenSystem
from modal.provenance.same_model import drawn_prints
from modal.reduction.interpolated_motion import InterpolatedMotion, ProjectedMotion
from modal.reduction.reduced_eigen import solve_matrices
from modal.reduction.spot_check import full_modes, unmatched
from modal.reduction.stacked_matrices import StackedMatrices
from modal.tracking.pencils import (
    Triple,
    norms,
    pairing,
    quadratic,
    solved,
    transposed,
)
from modal.tracking.snapshot import Snapshot, small_snapshots
from modal.tracking.source import BasisError
from modal.tracking.sources import Freeze, Kept
from modal.tracking.stencil import Neighbourhood
from modal.tracking.sweep import Sweep
from modal.tracking.variation import Derivatives, Variation, variations
from modal.types import Array, Complex, Index

LARGEST = 400  # degrees of freedom up to which dense matrices of all instants are kept
TRAINING, SAMPLE = 8, 17  # instants of the first basis, and those on which it grows
WHOLE = 64  # degrees of freedom up to which the basis may be the whole space
ROUNDS = 8  # of growth
SAFETY = 4.0  # for K⁻¹ instead of Q(λ)⁻¹
PER_ROUND = 8  # directions that join the basis in one round
LACKING = 0.1  # of the accuracy: modes of a larger error add to a basis that grows
STARTING = 1e-5  # relative singular values below which directions are left out of the first basis
GROWING = 1e-3  # and of those that join it
BLOCK_NUMBERS = 1 << 21  # entries of the matrices that are solved with together
EPS = float(np.finfo(float).eps)


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


@dataclass(frozen=True)
class _Missing:
    """Of P instants: K⁻¹ times the residuals of the right vectors, the residuals of the left ones,
    both (P, n, K), and K."""

    response: Complex
    dual: Complex
    stiffness: Array


class SmoothSource:
    """freeze, at: the model and the instants. count: modes. accuracy: relative, of eigenvalues.
    around: the neighbourhood of the instants. checks, checked: instants and modes that a full solve
    verifies. kept(prints): the stored run that is continued, without training and checks. The
    instants are solved in blocks; where a block does not reach the accuracy, the basis grows, and
    `carried` transforms earlier snapshots. Raises AccuracyError when a full solve differs,
    BasisError where no basis holds the modes."""

    kind = "smooth motion"
    _table: ProjectedMotion
    _V: Array

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
        self._block: dict[float, Snapshot] = {}
        self.growths = 0
        if kept is not None:
            arrays = kept(self.prints())[0]
            self._V, self._root = arrays["V"], arrays["root"]
            self._blocks = int(arrays["blocks"])
            self._project()
        else:
            self._train()
            n, r = self._V.shape
            numbers = len(at) * max(n * n, count * r * r)
            self._blocks = min(len(at), -(-numbers // BLOCK_NUMBERS))
            self._check(checks, checked or count)

    @property
    def description(self) -> str:
        """The size of the basis, its accuracy, and where the matrices come from."""
        return (
            f"basis of {self._V.shape[1]} vectors, accuracy {self._accuracy:g}, "
            f"{self._motion.interpolant}"
        )

    # The basis.

    def _train(self) -> None:
        times = self._at[_spread(len(self._at), SAMPLE)]
        sample = self._motion.stacked(times)
        dense = tuple(A.dense() for A in sample)
        first = _spread(len(times), TRAINING + 1)[:TRAINING]
        M, _, K = (A[first] for A in dense)
        S = 0.5 * (K + transposed(K))
        n = M.shape[1]
        last = min(self._count, n) - 1
        pairs = [la.eigh(*both, subset_by_index=[0, last]) for both in zip(S, M, strict=True)]
        squares, X = (np.stack(each) for each in zip(*pairs, strict=True))
        shift = max(-2.0 * float(squares[0, 0]), 0.0)
        high = float(np.trace(S[0]) / np.trace(M[0]))
        self._root = la.cholesky(S[0] + (shift + 1e-8 * high) * M[0])
        self._V = np.zeros((n, 0))
        shapes = X / np.linalg.norm(self._root @ X, axis=1, keepdims=True)
        self._grow(np.hstack(list(shapes)), STARTING)
        for _ in range(ROUNDS):
            modes, missing = self._certified(sample, self._on_basis(dense))
            if self._accurate(modes, missing):
                break
        else:
            raise BasisError("track: the basis does not reach the accuracy")
        self._project()

    def _on_basis(self, dense: Sequence[Array]) -> Triple:
        M, C, K = (self._V.T @ A @ self._V for A in dense)
        return M, C, K

    def _project(self) -> None:
        """The matrices on the basis, and their derivatives, as functions of time."""
        self._table = self._motion.projected(self._V)
        self._rates = self._table.derivative()
        self._curvatures = self._rates.derivative()

    def _accurate(self, modes: _Small, missing: _Missing) -> bool:
        """Whether the basis holds the modes to the accuracy; otherwise it grows by what it
        lacks."""
        ratio = modes.by_basis / (self._accuracy * np.abs(modes.eigenvalues))
        if ratio.max() <= 1.0:
            return True
        p, i = np.nonzero(ratio > LACKING)
        responses = (missing.response, solved(transposed(missing.stiffness), missing.dual))
        columns = np.hstack([response[p, :, i].T for response in responses])
        shapes = np.hstack([columns.real, columns.imag])
        size = np.linalg.norm(self._root @ shapes, axis=0)
        weights = np.tile(np.sqrt(ratio[p, i]), 4)
        shapes = shapes[:, size > 0.0] * (weights[size > 0.0] / size[size > 0.0])
        self._grow(shapes, GROWING, PER_ROUND)
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
                raise BasisError("track: the basis is no smaller than the model")
            W = np.eye(len(W))
        self._V = np.asarray(la.solve_triangular(self._root, W))

    # The modes.

    def _certified(self, full: Sequence[StackedMatrices], small: Triple) -> tuple[_Small, _Missing]:
        """The modes of instants with their error bounds, and what the basis lacks.

        full, small: M, C + D and K of the instants, and on the basis.
        """
        try:
            modes = solve_matrices(*small, self._count)
            if np.isnan(modes.eigenvalues).any():
                raise BasisError("track: an instant has fewer modes than asked for")
            values = modes.eigenvalues
            right = modes.right / np.linalg.norm(modes.right, axis=1, keepdims=True)
            left = modes.left
            left = left / pairing(*small[:2], values, left, right).conj()[:, None, :]
            condition = _condition([norms(A) for A in small], values, right, left)
            q, u = self._V @ right, self._V @ left
            residual = quadratic(full, values, q)
            dual, K = quadratic([A.T for A in full], values.conj(), u), full[2].dense()
            missing = _Missing(solved(K, residual), dual, K)
        except np.linalg.LinAlgError:
            raise BasisError("track: the stiffness of an instant is singular") from None
        by_basis = SAFETY * np.abs((missing.dual.conj() * missing.response).sum(axis=1))
        scale = _scale([A.norms() for A in full], np.abs(values))
        round_off = EPS * scale * np.linalg.norm(q, axis=1) * np.linalg.norm(u, axis=1)
        made = _Small(values, right, left, condition, by_basis, by_basis + round_off)
        return made, missing

    def _at_times(self, times: Array) -> tuple[_Small, _Missing, Triple]:
        """The same at times, and the matrices on the basis."""
        small = self._table(times)
        return *self._certified(self._motion.stacked(times), small), small

    def _check(self, checks: int, checked: int) -> None:
        """Full solves of instants of a seeded draw."""
        drawn = np.random.default_rng(13).permutation(len(self._at))[:checks]
        for n in drawn:
            t = float(self._at[n])
            modes, _, _ = self._at_times(np.array([t]))
            k = min(self._count, checked)
            exact, exact_bound = full_modes(self._freeze(t), k)
            found, bound = modes.eigenvalues[0], modes.bound[0]
            floor = self._accuracy * float(np.abs(exact).max())
            for lam in (
                unmatched(found, bound, exact, exact_bound, floor),
                unmatched(exact, exact_bound, found[:k], bound[:k], floor),
            ):
                if lam is not None and lam.imag == 0.0:
                    # Those of D = bK accumulate at −1/b with the stiffest shapes of the mesh.
                    raise BasisError("track: the basis misses overdamped modes")
                if lam is not None:
                    raise AccuracyError(
                        f"reduced basis: at t = {t:g} s the eigenvalues of the full problem and of "
                        f"the basis differ at λ = {lam:.8g} rad/s"
                    )

    # What a run asks for.

    def snapshot(self, at: float) -> Snapshot:
        if at not in self._block:
            rising = self._at[0] <= self._at[-1]
            place = int(np.searchsorted(self._at if rising else -self._at, at if rising else -at))
            if place == len(self._at) or self._at[place] != at:
                modes, _, small = self._at_times(np.array([at]))
                return self._snapshots(np.array([at]), modes, small)[0]
            self._load(place)
        return self._block[at]

    def _load(self, place: int) -> None:
        """Solve the block of an instant; the basis grows first where it is not accurate enough."""
        blocks = np.array_split(self._at, self._blocks)
        ends = np.cumsum([len(block) for block in blocks])
        times = blocks[int(np.searchsorted(ends, place, side="right"))]
        before = self._V
        for _ in range(ROUNDS):
            modes, missing, small = self._at_times(times)
            if self._accurate(modes, missing):
                break
            self._project()
        else:
            raise BasisError("track: the basis does not reach the accuracy")
        if self._V is not before:
            self._embedding = (self._root @ self._V).T @ (self._root @ before)
            self.growths += 1
        made = self._snapshots(times, modes, small)
        self._block = dict(zip(times.tolist(), made, strict=True))

    def _snapshots(self, times: Array, modes: _Small, small: Triple) -> list[Snapshot]:
        made = small_snapshots(times, small, modes, modes.bound, modes.condition)
        return [
            replace(one, variation=change)
            for one, change in zip(made, self._variations(made, small), strict=True)
        ]

    def _variations(self, made: list[Snapshot], small: Triple) -> Sequence[Variation | None]:
        if self._around.high <= self._around.low:
            return [None] * len(made)
        times = np.array([one.at for one in made])
        first = self._rates(times)
        at = Derivatives(small, first, self._curvatures(times), first)
        lam = np.stack([one.eigenvalues for one in made])
        right, left = (np.stack([getattr(one, side) for one in made]) for side in ("right", "left"))
        return variations(at, lam, right, left, self._around.rate)

    def batch(self) -> Mapping[float, Snapshot]:
        return self._block

    def carried(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot from before the last growth of the basis, in its present coordinates."""
        M, C, _ = self._table(np.array([snapshot.at]))
        return snapshot.carried(self._embedding, M[0], C[0])

    def prints(self) -> NDArray[np.float64]:
        return drawn_prints(self._freeze, self._at)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The present basis, the norm in which it grows, and the number of blocks."""
        return {"V": self._V, "root": self._root, "blocks": np.array(self._blocks)}

    def close(self) -> None:
        pass


def _spread(count: int, wanted: int) -> Index:
    """Up to `wanted` of the numbers below count, spread evenly."""
    return np.unique(np.linspace(0, count - 1, wanted).round().astype(np.intp))


def _condition(sizes: Sequence[Array], lam: Complex, Q: Complex, U: Complex) -> Array:
    """Condition numbers ‖u‖‖q‖ (|λ|²‖M‖ + |λ|‖C‖ + ‖K‖) / |λ| at uᴴQ'(λ)q = 1, (P, K)."""
    size = np.abs(lam)
    product = np.linalg.norm(Q, axis=1) * np.linalg.norm(U, axis=1)
    return np.asarray(_scale(sizes, size) * product / np.where(size > 0.0, size, 1.0))


def _scale(sizes: Sequence[Array], size: Array) -> Array:
    """|λ|²‖M‖ + |λ|‖C‖ + ‖K‖ from the norms (P,) and sizes |λ| (P, K)."""
    mass, damping, stiffness = (each[:, None] for each in sizes)
    return np.asarray(mass * size**2 + damping * size + stiffness)


def smooth_source(sweep: Sweep, first: FrozenSystem, *arguments: Any) -> SmoothSource | None:
    """All instants of a small model on one basis; None where its motion is not of that kind.

    first: the first instant. arguments: of SmoothSource, after `freeze`.
    """
    count = arguments[1]
    if not hasattr(sweep.model, "freeze_many"):
        return None
    if not 2 * count <= first.n <= LARGEST or first.rigid.shape[1]:
        return None
    motion = InterpolatedMotion.of(sweep.model, *sweep.ends, summed=True, **sweep.constant)
    return None if motion is None else SmoothSource(motion, sweep.freeze, *arguments)
