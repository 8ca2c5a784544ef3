"""A reduced space that grows where an error bound exceeds the tolerance (docs/numerics.md, "Sweeps
and maps").

It is made of one basis for every part of a model: a body, or each large link of a mechanism. Where
the error bound of an eigenvalue exceeds the tolerance, the bases grow by K_ref⁻¹ × residual: all
residuals above the tolerance are compressed to their few dominant combinations, which one block
solve turns into new vectors.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.reduction.affine import Freeze, Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.error_bounds import ErrorBounds, error_bounds
from modal.reduction.growth import grown
from modal.reduction.instants import BodyInstants, Instants, SmallMatrices
from modal.reduction.reduced_eigen import SmallModes
from modal.types import Array, Complex, Index, Mask

ROUNDS = 30  # of growth at most
FAR_BELOW = 1e-4  # of the tolerance


class Family(Protocol):
    """A model of n degrees of freedom as its space takes it."""

    n: int

    @property
    def freeze(self) -> Freeze: ...

    def coefficients(self, points: Sequence[Point]) -> Any: ...

    def of_systems(self, systems: Iterable[tuple[Point, FrozenSystem]]) -> Any: ...


@dataclass(frozen=True)
class CertifiedModes:
    """Modes of P points on a space, with their error bounds.

    prescribed (P, k): the kinematics of the frame prescribe the mode; these are last.
    """

    instants: SmallMatrices
    modes: SmallModes
    bounds: ErrorBounds
    prescribed: Mask

    def counted(self, point: int, k: int) -> tuple[Complex, Array]:
        """The first k eigenvalues of a point that are not prescribed, and their error bounds."""
        there = ~self.prescribed[point] & np.isfinite(self.bounds.error_bound[point])
        index = np.flatnonzero(there)[:k]
        return self.modes.eigenvalues[point, index], self.bounds.error_bound[point, index]


class Space(ABC):
    """The bases of the parts of a model, `wanted` modes a point, grown until `tolerance` holds.

    Points are `Coefficients` of a body, `LinkPoints` of mechanisms.

    tolerance: of the eigenvalues' error bounds, relative to |λ| (or to the floor of the instants
    where λ is smaller). The bases belong to the space: its results do not depend on other runs.
    """

    family: Family
    parts: Mapping[str, ReducedBasis]
    extra = 0  # modes that are solved beside those wanted
    coordinates: Array | None = None  # (r, s), of a local space in the shared one

    def __init__(self, k: int, tolerance: float) -> None:
        self.wanted, self.tolerance = k, tolerance

    @abstractmethod
    def on(self, points: Any) -> Instants:
        """The points in the coordinates of the present bases."""

    @abstractmethod
    def lowest(self, at: Instants, k: int) -> SmallModes:
        """The k lowest modes of every point."""

    @abstractmethod
    def refresh(self) -> None:
        """Compute all that depends on the present bases."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The bases, in words."""

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
        small = np.maximum(FAR_BELOW * allowed, 4.0 * bounds.round_off)
        ratio = np.fmin(bounds.error_bound / allowed, bounds.perturbation / small)
        ratio[found.prescribed | np.isnan(ratio)] = 0.0
        ratio[:, self.wanted :] = 0.0
        return np.asarray(ratio)

    def worst(self, found: CertifiedModes) -> float:
        """The largest error_bound / allowed."""
        return float(self.accepted(found).max(initial=0.0))

    def train(self, points: Any, found: CertifiedModes | None = None) -> CertifiedModes:
        """Grow the bases until every point is accepted, if that can be; the modes on them then.

        found: the modes on the present bases, where they have been computed.
        """
        found = self.solve(points) if found is None else found
        for _ in range(ROUNDS):
            if self.worst(found) <= 1.0 or not self._grow(found):
                break
            found = self.solve(points)
        return found

    def _grow(self, found: CertifiedModes) -> bool:
        """One round: dominant combinations of the failing residuals, right and left."""
        if self.complete:
            return False
        assert isinstance(found.instants, Instants)
        # An infinite bound is not a matter of the basis (modal/reduction/error_bounds.py).
        ratio = np.where(np.isfinite(found.bounds.error_bound), self.accepted(found), 0.0)
        if not (ratio > 1.0).any():
            return False
        added = grown(self.parts, found.instants, found.modes, ratio)
        self.refresh()
        return added > 0

    def examined(self, points: Any, count: int) -> tuple[Instants, SmallModes]:
        """The lowest modes of one point in the bases as they are now."""
        self.refresh()
        at = self.on(points)
        modes = self.lowest(at, count)
        return at, modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])

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


def of_part(name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one part of a space."""
    start = _start(name)
    return {k.removeprefix(start): value for k, value in arrays.items() if k.startswith(start)}


def _start(name: str) -> str:
    """What the names of the arrays of a part begin with: nothing for a body."""
    return "" if name == BodyInstants.name else f"{name}:"


def spread(count: int, wanted: int) -> Index:
    """`wanted` indices spread over range(count) like Chebyshev points, both ends included."""
    if count <= wanted:
        return np.arange(count)
    x = 0.5 * (1.0 - np.cos(np.pi * np.arange(wanted) / (wanted - 1)))
    return np.asarray(np.unique(np.round(x * (count - 1)).astype(np.intp)))
