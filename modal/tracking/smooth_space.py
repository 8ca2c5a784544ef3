"""The space of a small model on a smooth motion.

The matrices come off a polynomial through a few dozen instants
(modal/reduction/interpolated_motion.py), whose table is projected once on a basis V: an instant of
the motion, and those next to it, then cost r × r work. V starts from the lowest shapes of a few
instants. It grows by K⁻¹ times the residuals of the modes that it does not hold well, right and
left, until the eigenvalues of all instants are as accurate as asked for.

The error of an eigenvalue by a basis that holds both its vectors nearly is of second order: with
the residuals ρ = Q(λ)q and ϱ = Q(λ)ᴴu of the full order, both orthogonal to V, what V leaves out
responds by Q(λ)⁻¹ρ ≈ K⁻¹ρ, and λ changes by ϱᴴK⁻¹ρ / (uᴴQ'(λ)q). What the small eigensolution
leaves along V, round-off of the largest |λ|, is of first order: λ is corrected by
−uᴴρ / (uᴴQ'(λ)q), of modes beyond those wanted this is the bound. The entries of the matrices are
off by what the polynomial and round-off are; their changes of λ, of any sign, add up as squares.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import times
from modal.eigen.tolerances import BLOCK, EPS, WEAK
from modal.reduction.affine import Freeze, Point
from modal.reduction.error_bounds import ErrorBounds
from modal.reduction.instants import SmallMatrices
from modal.reduction.reduced_eigen import SmallModes, solve_matrices
from modal.reduction.space import CertifiedModes, Space, spread
from modal.reduction.tolerances import SAFETY, TRAINING
from modal.tracking.sources import BasisError
from modal.tracking.variation import MAIN, pairing, quadratic, solved, transposed
from modal.types import Array, Complex, Index


@dataclass(frozen=True)
class SmoothInstants(SmallMatrices):
    """Times of the motion, s, on the basis. response, dual (P, n, K): K⁻¹ times the residuals of
    the right vectors, and the residuals of the left ones. whole (P, n, n): the full stiffness."""

    times: Array
    response: Complex | None = None
    dual: Complex | None = None
    whole: Array | None = None

    def taken(self, index: Index) -> SmoothInstants:
        """Some of the times, without residuals."""
        return SmoothInstants(self.matrices[:, index], self.times[index])


class Motion(Protocol):
    """Full matrices (3, P, n, n) at points, what their entries are off at most, (3, n, n); and on
    a basis V (n, r), (3, P, r, r)."""

    @property
    def n(self) -> int: ...

    @property
    def interpolant(self) -> Any: ...

    def matrices(self, points: Array) -> Array: ...

    def errors(self) -> Array: ...

    def projected(self, V: Array) -> Callable[[Array], Array]: ...


class SmoothFamily:
    """A motion as its space takes it: points are times, s. name: of the time in a point."""

    def __init__(self, motion: Motion, freeze: Freeze, name: str) -> None:
        self.motion, self.freeze, self.name, self.n = motion, freeze, name, motion.n

    def coefficients(self, points: Sequence[Point]) -> Array:
        """The times."""
        return np.array([float(point[self.name]) for point in points])


class SmoothSpace(Space):
    """sample: times, s, of which some make the first basis. stored: `arrays` of an earlier space,
    which goes on. whole: vectors that a basis of more than half the degrees of freedom may have; it
    becomes the whole space of as many where it would have three quarters of them. Raises BasisError
    where no basis holds the modes."""

    family: SmoothFamily

    def __init__(
        self,
        family: SmoothFamily,
        sample: Array,
        k: int,
        tolerance: float,
        stored: Mapping[str, NDArray[Any]] | None = None,
        whole: int = 100,
    ) -> None:
        super().__init__(k, tolerance)
        self.family, self.parts, self.whole = family, {}, whole
        M, _, K = some = family.motion.matrices(sample[spread(len(sample), TRAINING)])
        self.errors = family.motion.errors() + EPS * np.abs(some).max(axis=1)
        if stored is not None:
            self.V, self.root = stored["V"], stored["root"]
        else:
            S = 0.5 * (K + transposed(K))
            last = min(k, family.n) - 1
            pairs = [la.eigh(*both, subset_by_index=[0, last]) for both in zip(S, M, strict=True)]
            squares, X = (np.stack(each) for each in zip(*pairs, strict=True))
            shift = max(-2.0 * float(squares[0, 0]), 0.0)
            high = float(np.trace(S[0]) / np.trace(M[0]))
            self.root = la.cholesky(S[0] + (shift + 1e-8 * high) * M[0])
            self.V = np.zeros((family.n, 0))
            shapes = X / np.linalg.norm(self.root @ X, axis=1, keepdims=True)
            self._add(np.hstack(list(shapes)), MAIN)
        self.refresh()

    def refresh(self) -> None:
        """The matrices on the basis as functions of time."""
        self.motion = self.family.motion.projected(self.V)

    @property
    def description(self) -> str:
        """The size of the basis, its accuracy, and where the matrices come from."""
        source = self.family.motion.interpolant
        return f"basis of {self.V.shape[1]} vectors, accuracy {self.tolerance:g}, {source}"

    def on(self, points: Array) -> SmoothInstants:
        """The times on the basis."""
        motion = self.family.motion.matrices if self.complete else self.motion
        return SmoothInstants(np.ascontiguousarray(motion(points)), points)

    def lowest(self, at: SmallMatrices, k: int, every: bool = False) -> SmallModes:
        """The lowest modes of every time, or all: |q| = 1, uᴴQ'(λ)q = 1.

        Raises BasisError where there are fewer than wanted on a basis that lacks shapes.
        """
        modes = solve_matrices(at.matrices, k, every)
        values = modes.eigenvalues
        if not self.complete and np.isnan(values[:, : self.wanted]).any():
            raise BasisError("track: an instant has fewer modes than asked for")
        left = modes.left
        with np.errstate(invalid="ignore"):
            right = modes.right / np.linalg.norm(modes.right, axis=1, keepdims=True)
            left = left / pairing(at.mass, at.damping, values, left, right).conj()[:, None, :]
        return replace(modes, right=right, left=left)

    @property
    def complete(self) -> bool:
        """The basis spans everything."""
        return self.V.shape[1] == self.family.n

    def solve(self, points: Array, every: bool = False) -> CertifiedModes:
        """Modes and bounds of times in the present basis, as many as wanted, or all."""
        at = self.on(points)
        full = at.matrices if self.complete else self.family.motion.matrices(points)
        modes = self.lowest(at, self.wanted, every)
        values, right, left = modes.eigenvalues, modes.right, modes.left
        # Errors of entries, and of products with V, are of any sign: their squares add up.
        Q, U = (x * x.conj() for x in (right, left))
        if not self.complete:
            right, left = times(self.V, right), times(self.V, left)
            Q, U = self.V**2 @ Q, self.V**2 @ U
        residual = quadratic(full, values, right)
        # What the small eigensolution leaves, of first order, as uᴴQ'(λ)q = 1.
        step = (left.conj() * residual).sum(axis=1)
        values, by_basis = np.asarray(values - step), SAFETY * np.abs(step)
        modes = replace(modes, eigenvalues=values)
        w = slice(self.wanted)
        dual = quadratic(transposed(full), values[:, w].conj(), left[:, :, w])
        try:
            response = solved(full[2], residual[:, :, w])
        except np.linalg.LinAlgError:
            raise BasisError("track: the stiffness of an instant is singular") from None
        # For K⁻¹ instead of Q(λ)⁻¹.
        by_basis[:, w] = SAFETY * np.abs((dual.conj() * response).sum(axis=1))
        squares = quadratic(self.errors[:, None] ** 2, values * values.conj(), Q).real
        rounded = SAFETY * np.sqrt((U.real * squares).sum(axis=1))
        error, norm = by_basis + rounded, np.sqrt(by_basis)
        bounds = ErrorBounds(error, error / modes.condition, rounded / modes.condition, norm, norm)
        at = replace(at, response=response, dual=dual, whole=full[2])
        return CertifiedModes(at, modes, bounds, np.zeros(values.shape, dtype=bool))

    def _grow(self, found: CertifiedModes, lacking: float = 0.1) -> bool:
        """Add the directions that the modes lack most, of modes whose error is more than this part
        of the accuracy."""
        if self.complete:
            return False
        at, ratio, before = found.instants, self.accepted(found), self.V.shape[1]
        assert isinstance(at, SmoothInstants)
        p, i = np.nonzero(ratio > lacking)
        assert at.response is not None and at.dual is not None and at.whole is not None
        responses = (at.response, solved(transposed(at.whole), at.dual))
        columns = np.hstack([response[p, :, i].T for response in responses])
        shapes = np.hstack([columns.real, columns.imag])
        size = np.linalg.norm(self.root @ shapes, axis=0)
        weights = np.tile(np.sqrt(ratio[p, i]), 4)
        shapes = shapes[:, size > 0.0] * (weights[size > 0.0] / size[size > 0.0])
        self._add(shapes, WEAK, BLOCK)
        self.refresh()
        return self.V.shape[1] > before

    def _add(self, shapes: Array, least: float, most: int | None = None) -> None:
        """Add the main directions of shapes (n, m) to the basis, orthonormal in energy.

        least: relative singular value below which a direction is dropped.
        """
        X = self.root @ shapes
        W = self.root @ self.V
        for _ in range(2):
            X -= W @ (W.T @ X)
        U, sizes, _ = la.svd(X, full_matrices=False)
        W = np.hstack([W, U[:, sizes > least * sizes[0]][:, :most]])
        if W.shape[1] > max(self.whole, len(W) // 2):
            raise BasisError("track: the basis is no smaller than the model")
        if 4 * W.shape[1] > 3 * len(W) and len(W) <= self.whole:
            self.V = np.eye(len(W))
        else:
            self.V = np.asarray(la.solve_triangular(self.root, W))

    def completed(self) -> Self:
        """The whole space."""
        other = copy.copy(self)
        other.V = np.eye(self.family.n)
        return other

    @property
    def frame(self) -> Array:
        """The basis."""
        return self.V

    def embedding(self, before: Array) -> Array:
        """An earlier basis in the present one, orthonormal in energy unless it is the whole."""
        if self.complete:
            return before
        return np.asarray((self.root @ self.V).T @ (self.root @ before))

    def represents(self, system: FrozenSystem, at: Array) -> bool:
        """The basis has no factorization: full solves verify it."""
        return False

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The basis and the norm in which it grows."""
        return {"V": self.V, "root": self.root}
