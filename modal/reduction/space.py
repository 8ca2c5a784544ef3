"""A reduced space that grows where an error bound exceeds the tolerance (docs/numerics.md, "Sweeps
and maps").

It is made of one basis for every part of a model: a body, or each large link of a mechanism. Where
the error bound of an eigenvalue exceeds the tolerance, the bases grow by K_ref⁻¹ × residual: all
residuals above the tolerance, right and left, are compressed to their few dominant combinations,
which one block solve turns into new vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import in_parts
from modal.eigen.tolerances import COARSE, ROUNDS
from modal.reduction.affine import Freeze, Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.error_bounds import ErrorBounds, error_bounds
from modal.reduction.instants import BODY, Instants, motion_of_modes
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.types import Array, Complex, Index, Mask

SAMPLE = 24  # points that represent all of a sweep or of a motion
WIDEST = 20  # vectors that one round adds to a part
DOMINANT = 0.5  # of a residual that just meets the tolerance: least size of a new direction
MOST = 400  # modes whose residuals are compressed in one round, the worst


class Family(Protocol):
    """A model of n degrees of freedom as its space takes it."""

    n: int

    @property
    def freeze(self) -> Freeze: ...

    def coefficients(self, points: Sequence[Point]) -> Any: ...


@dataclass(frozen=True)
class CertifiedModes:
    """Modes of P points on a space, with their error bounds.

    instants: the points, `Instants` or other `SmallMatrices`.
    prescribed (P, k): the kinematics of the frame prescribe the mode; these are last. every: all
    others of the small problems, with or without bounds, where they are known.
    """

    instants: Any
    modes: SmallModes
    bounds: ErrorBounds
    prescribed: Mask
    every: Any = None

    def first(self, k: int) -> CertifiedModes:
        """The first k modes of every point."""
        bounds = ErrorBounds(*(array[:, :k] for array in vars(self.bounds).values()))
        modes, prescribed = self.modes.first(k), self.prescribed[:, :k]
        return replace(self, modes=modes, bounds=bounds, prescribed=prescribed)

    def points(self, those: Mask) -> CertifiedModes:
        """Some of the points."""
        bounds = ErrorBounds(*(array[those] for array in vars(self.bounds).values()))
        at, modes = self.instants.taken(np.flatnonzero(those)), self.modes.points(those)
        return CertifiedModes(at, modes, bounds, self.prescribed[those])

    def counted(self, point: int, k: int) -> tuple[Complex, Array]:
        """The first k eigenvalues of a point that are not prescribed, and their error bounds."""
        there = ~self.prescribed[point] & np.isfinite(self.bounds.error_bound[point])
        index = np.flatnonzero(there)[:k]
        return self.modes.eigenvalues[point, index], self.bounds.error_bound[point, index]


class Space:
    """The bases of the parts of a model, `wanted` modes a point, grown until `tolerance` holds.

    What a subclass gives: `on`, `lowest`, `refresh` and `description`. Points are `Coefficients` of
    a body, `LinkPoints` of mechanisms.

    tolerance: of the eigenvalues' error bounds, relative to |λ| (or to the floor of the instants
    where λ is smaller). The bases belong to the space: its results do not depend on other runs.
    """

    family: Family
    parts: Mapping[str, ReducedBasis]
    extra = 0  # modes that are solved beside those wanted
    coordinates: Array | None = None  # (r, s), of a local space in the shared one

    def __init__(self, k: int, tolerance: float) -> None:
        self.wanted, self.tolerance = k, tolerance

    def on(self, points: Any) -> Any:
        """The points in the coordinates of the present bases."""
        raise NotImplementedError

    def lowest(self, at: Any, k: int) -> SmallModes:
        """The k lowest modes of every point."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Compute all that depends on the present bases."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """The bases, in words."""
        raise NotImplementedError

    def selected(self, at: Instants) -> tuple[SmallModes, Mask]:
        """The modes that are certified, and which of them the frame prescribes (P, k)."""
        modes = self.lowest(at, self.wanted)
        return modes, np.zeros(modes.eigenvalues.shape, dtype=bool)

    def solve(self, points: Any) -> CertifiedModes:
        """Modes and bounds of points in the present bases."""
        at = self.on(points)
        modes, prescribed = self.selected(at)
        return CertifiedModes(at, modes, error_bounds(at, modes), prescribed)

    def accepted(self, found: CertifiedModes) -> Array:
        """error_bound / allowed (P, k′) of the wanted modes, at most 1 where it holds.

        An eigenvalue so ill-conditioned (about to coalesce with another, or with its negative at
        zero) that no basis can reach the tolerance counts as accepted when the perturbation behind
        its bound is at round-off or far below the tolerance; its bound says what is known.
        """
        bounds = found.bounds
        size = np.maximum(np.abs(found.modes.eigenvalues), found.instants.floor)
        allowed = self.tolerance * size
        small = np.maximum(COARSE * allowed, 4.0 * bounds.round_off)
        ratio = np.fmin(bounds.error_bound / allowed, bounds.perturbation / small)
        ratio[found.prescribed | np.isnan(ratio)] = 0.0
        ratio[:, self.wanted :] = 0.0
        return np.asarray(ratio)

    def worst(self, found: CertifiedModes) -> float:
        """The largest error_bound / allowed."""
        return float(self.accepted(found).max(initial=0.0))

    def train(
        self, points: Any, found: CertifiedModes | None = None, most: float = np.inf
    ) -> CertifiedModes:
        """Grow the bases until every point is accepted, if that can be; the modes on them then.

        Only the points that fail are solved anew after a round of growth, all when none fails.
        found: the modes on the present bases, where they have been computed. most: coordinates of a
        point from which the bases are not grown.
        """
        found = self.solve(points) if found is None else found
        at = points
        for _ in range(ROUNDS):
            failing = np.flatnonzero(self.accepted(found).max(axis=1) > 1.0)
            if not failing.size and at is not points:
                at, found = points, self.solve(points)
                continue
            wide = found.modes.right.shape[1] >= most
            if not failing.size or wide or not self._grow(found):
                break
            at = at if len(failing) == len(at) else at.take(failing)
            found = self.solve(at)
        return found if at is points else self.solve(points)

    def train_on_few(self, points: Any, few: int) -> CertifiedModes:
        """As `train`, on so many of the points that fail at a time."""
        failing, before = np.arange(len(points)), np.inf
        while 0 < len(failing) < before:
            before = len(failing)
            self.train(points.take(failing[spread(len(failing), few)]))
            found = self.solve(points)
            failing = np.flatnonzero(self.accepted(found).max(axis=1) > 1.0)
        return found

    def train_for_good(self, points: Any) -> float:
        """As `train`, then release the factorizations; the largest error_bound / allowed."""
        try:
            return self.worst(self.train(points))
        finally:
            self.destroy()

    def _grow(self, found: CertifiedModes) -> bool:
        """One round of growth; whether any vector was new."""
        if self.complete:
            return False
        # An infinite bound is not a matter of the basis (modal/reduction/error_bounds.py).
        ratio = np.where(np.isfinite(found.bounds.error_bound), self.accepted(found), 0.0)
        points, index = np.nonzero(ratio > 1.0)
        if not points.size:
            return False
        worst = np.argsort(-ratio[points, index], kind="stable")[:MOST]
        sides = self._failing(found, ratio, points[worst], index[worst])
        svds = {
            name: la.svd(np.hstack([sketch for _, sketch, _ in columns]), full_matrices=False)[1:]
            for name, columns in sides.items()
        }
        least = min(DOMINANT, max(sizes[0] for sizes, _ in svds.values()))
        added = 0
        for name, (sizes, Wt) in svds.items():
            count = int(min((sizes >= least).sum(), WIDEST))
            if count:
                part = self.parts[name]
                added += part.grow(mixed_residuals(part, sides[name], Wt[:count].T))
        self.refresh()
        return added > 0

    def _failing(
        self, found: CertifiedModes, ratio: Array, points: Index, index: Index
    ) -> dict[str, list[Side]]:
        """Residuals of some modes, by part: real columns, scaled so that one of norm 1 just meets
        the tolerance: the bound goes with the square of the norm."""
        here, modes = found.instants.taken(points), found.modes
        sides: dict[str, list[Side]] = {name: [] for name in self.parts}
        for transposed in (False,) if modes.exact[points].all() else (False, True):
            vectors = (modes.left if transposed else modes.right)[points, :, index][:, :, None]
            lam = modes.eigenvalues[points, index][:, None]
            motion = motion_of_modes(lam.conj() if transposed else lam, vectors)
            roles = {name: here.roles(name, motion, transposed) for name in sides}
            sketches = {
                name: here.sketch(name, roles[name], transposed)[:, 0, :, 0].T for name in sides
            }
            square = sum((np.abs(sketch) ** 2).sum(axis=0) for sketch in sketches.values())
            scale = np.sqrt(ratio[points, index] / np.maximum(square, np.finfo(float).tiny))
            for name, sketch in sketches.items():
                x = scale * here.residual(name, roles[name])
                wide = np.concatenate([x.real, x.imag], axis=2)
                sides[name].append((transposed, in_parts(sketch * scale), wide))
        return sides

    @property
    def complete(self) -> bool:
        """The bases span everything."""
        return all(basis.complete for basis in self.parts.values())

    def quotient_round_off(self, sizes: Array) -> Array:
        """Round-off of eigenvalues of sizes |λ|, rad/s, by products K v, per unit condition."""
        parts = [basis.reference.round_off(sizes) for basis in self.parts.values()]
        return np.asarray(np.max(parts, axis=0))

    def branch(self, tolerance: float) -> Self:
        """A space that grows on its own from here; this one keeps its bases."""
        other = self._with({name: copy.copy(basis) for name, basis in self.parts.items()})
        other.tolerance = tolerance
        return other

    def without_sketches(self) -> Self:
        """A space whose bases grow on their own, without sketches."""
        return self._with({name: part.without_sketches() for name, part in self.parts.items()})

    def _with(self, parts: Mapping[str, ReducedBasis]) -> Self:
        other = copy.copy(self)
        other.parts = parts
        return other

    def usable(self, point: Point) -> Any | None:
        """A point in the form that the space takes; None where it has operators of its own."""
        return self.family.coefficients([point])

    def represents(self, system: FrozenSystem, at: Any) -> bool:
        """Whether the matrices of the frozen system of a point are those on the space."""
        return True

    @property
    def frame(self) -> Any:
        """What the present coordinates are of."""
        raise NotImplementedError

    def embedding(self, before: Any) -> Array:
        """The vectors of an earlier frame in the present coordinates."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that another space of the same model needs to go on bit by bit from here."""
        arrays: dict[str, NDArray[np.generic]] = {"wanted": np.array([self.wanted])}
        for name, basis in self.parts.items():
            arrays |= {_start(name) + key: array for key, array in basis.arrays().items()}
        return arrays

    def destroy(self) -> None:
        """Release the factorizations."""
        for basis in self.parts.values():
            basis.reference.destroy()


# Whether residuals are of the adjoint problem, Θρ (p, c), and their coordinates (J, r, c).
Side = tuple[bool, Array, Array]


def mixed_residuals(part: ReducedBasis, sides: Sequence[Side], mix: Array) -> Array:
    """Combinations (n, count) of the residuals of a part; mix (columns, count)."""
    terms, V = part.family.terms[: len(sides[0][2])], part.V[:, : len(part.rotation)]
    symmetry = np.array([term.symmetry for term in terms])[:, None, None]
    right, left = np.zeros((2, len(terms), V.shape[1], mix.shape[1]))
    for (transposed, _, x), weights in zip(sides, np.split(mix, len(sides)), strict=True):
        mixed = part.rotation @ (x @ weights)
        # Symmetric and skew operators multiply both sides at once.
        right += symmetry * mixed if transposed else mixed
        left += (symmetry == 0) * mixed if transposed else 0.0
    return combined(terms, V, right) + combined(terms, V, left, transposed=True)


def of_part(name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one part of a space."""
    return beginning(_start(name), arrays)


def beginning(start: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by what follows."""
    return {k.removeprefix(start): value for k, value in arrays.items() if k.startswith(start)}


def _start(name: str) -> str:
    """What the names of the arrays of a part begin with: nothing for a body."""
    return "" if name == BODY else f"{name}:"


def grouped(kinds: Iterable[Hashable]) -> list[Index]:
    """The numbers of the points of each kind."""
    groups: dict[Hashable, list[int]] = {}
    for p, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(p)
    return [np.array(numbers) for numbers in groups.values()]


def spread(count: int, wanted: int) -> Index:
    """`wanted` indices spread over range(count) like Chebyshev points, both ends included."""
    if count <= wanted:
        return np.arange(count)
    x = 0.5 * (1.0 - np.cos(np.pi * np.arange(wanted) / (wanted - 1)))
    return np.asarray(np.unique(np.round(x * (count - 1)).astype(np.intp)))
