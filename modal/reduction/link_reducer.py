"""Reduced bases of the links of mechanisms, grown where an error bound of the coupled system
exceeds the tolerance.

The modes of a mechanism at an instant are those of its reduced mechanism (small and dense); their
error bounds come from the residuals in the full one (modal/reduction/link_instants.py). Where a
bound exceeds the tolerance, the basis of every link grows by K_ref⁻¹ × its residuals.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.bodies.reduced import ReducedBody
from assembly.errors import SingularSystemError
from assembly.mechanisms.elastic_reduction import ALL_UNITS, PLANAR_UNITS
from assembly.mechanisms.mechanism import Mechanism
from assembly.mechanisms.mechanism_system import MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism, link_slaves
from assembly.system.frozen import FrozenSystem
from modal.reduction.error_bounds import ErrorBounds, bounds_of
from modal.reduction.full_order import Examined
from modal.reduction.growth import grown
from modal.reduction.link_basis import LinkBasis
from modal.reduction.link_instants import LinkInstants, Options
from modal.reduction.reduced_eigen import SmallModes, coordinate_frequencies, solve_matrices
from modal.reduction.reducer import FAR_BELOW, ROUNDS
from modal.reduction.reference_operator import quotient_round_off
from modal.types import Array, Index

Points = tuple[Mechanism, Array]  # a mechanism and times, s

BATCH = 50  # instants whose matrices are formed together


@dataclass(frozen=True)
class LinkModes:
    """Modes of P instants in the coordinates of a reduced mechanism, with their error bounds.

    floor: below this |λ| the tolerance is absolute, rad/s.
    """

    instants: LinkInstants
    modes: SmallModes
    bounds: ErrorBounds
    floor: float

    def points(self, index: Index) -> LinkModes:
        """Those of some of the instants."""
        return LinkModes(
            self.instants.taken(index),
            self.modes.points(index),
            self.bounds.points(index),
            self.floor,
        )


def linked(system: FrozenSystem) -> MechanismSystem | None:
    """The system, if it is that of a mechanism whose links have bases and nothing is free to
    move."""
    if not isinstance(system, MechanismSystem):
        return None
    held = system.mechanism.held(system.driven)
    gives = not system.mechanism.topology.compliance.is_empty
    return system if gives or held.all() else None


@dataclass(frozen=True)
class LinkLoads:
    """Unit forces and moments on a large body of a mechanism.

    stressing (n, k): of joints and loads, each with its geometric stiffness. ties (n, m): by which
    joints and applied forces may act in the equations of the vibration. units: the unit kinematics
    that occur. rotations: stiffness (3 of (n, n)) of unit moments on the best-fit rotation of the
    nodes of a joint point, by its number.
    """

    body: Body
    stressing: Array
    ties: Array
    units: tuple[int, ...]
    rotations: Mapping[int, tuple[sp.csr_matrix, ...]]


def link_loads(mechanism: Mechanism) -> dict[str, LinkLoads]:
    """Those of the large bodies of a mechanism, by name."""
    topology, applied = mechanism.topology, mechanism.topology.applied
    units = PLANAR_UNITS if topology.planar else ALL_UNITS
    out = {}
    for number, (name, body) in enumerate(mechanism.bodies.items()):
        if mechanism.is_large(name):
            joints = topology.unit_loads(number)
            stressing = np.hstack([joints, applied.unit_loads(number)])
            ties = np.hstack([joints, applied.ties(number)])
            rotations = {
                point: _scattered(topology.touched[slots] - topology.offsets[number], second, body)
                for point, (slots, second) in topology.fitted.items()
                if topology.points[point].body == number
            }
            out[name] = LinkLoads(body, stressing, ties, units, rotations)
    return out


def _scattered(dofs: Index, blocks: Array, body: Body) -> tuple[sp.csr_matrix, ...]:
    """Blocks (3, k, k) on some DOFs (k,) of a body as matrices (n, n)."""
    rows, columns = (index.ravel() for index in np.meshgrid(dofs, dofs, indexing="ij"))
    shape = (body.size, body.size)
    return tuple(sp.csr_matrix((block.ravel(), (rows, columns)), shape=shape) for block in blocks)


class LinkReducer:
    """Certified reduced mechanisms, `wanted` modes an instant, bounds up to `tolerance`.

    mechanisms: those that are asked for; their bodies and joints are the same, their motions may
    differ. tolerance: relative to |λ|, or to a hundredth of the first frequency where λ is smaller.
    The bases belong to this reducer: its results do not depend on other runs of the same bodies.
    """

    def __init__(
        self, mechanisms: Sequence[Mechanism], options: Options, k: int, tolerance: float
    ) -> None:
        self.options, self.wanted, self.tolerance = options, k, tolerance
        self.floor = 0.0  # below this |λ| the tolerance is absolute, rad/s
        self.bases = {
            name: LinkBasis(link.body, link.stressing, link.ties, link.units, link.rotations)
            for name, link in link_loads(mechanisms[0]).items()
        }
        self._first = mechanisms[0]  # whose choice of eliminated DOFs serves all
        for name, slaves in link_slaves(self._first, options.driven).items():
            if name in self.bases:
                self.bases[name].hold(slaves)
        self._made: dict[int, tuple[tuple[int, ...], ReducedMechanism]] = {}
        self._links: tuple[tuple[int, ...], dict[str, ReducedBody]] | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """Shapes of each link."""
        return {name: basis.size for name, basis in self.bases.items()}

    @property
    def resolved(self) -> float:
        """The frequency, rad/s, below which every link's basis holds all free modes."""
        return min(basis.resolved for basis in self.bases.values())

    def reduced(self, mechanism: Mechanism) -> ReducedMechanism:
        """The mechanism with the present bases."""
        sizes = tuple(basis.size for basis in self.bases.values())
        made = self._made.get(id(mechanism))
        if made is None or made[0] != sizes or made[1].full is not mechanism:
            if self._links is None or self._links[0] != sizes:
                slaves = link_slaves(self._first, self.options.driven)
                links = {name: basis.reduced(slaves[name]) for name, basis in self.bases.items()}
                self._links = sizes, links
            driven, first = self.options.driven, self._first
            made = sizes, ReducedMechanism(mechanism, self._links[1], driven, first)
            self._made[id(mechanism)] = made
        return made[1]

    def solve(self, mechanism: Mechanism, times: Array) -> list[LinkModes]:
        """Modes and bounds at times, BATCH at a time."""
        return self.solve_all([(mechanism, times)])

    def solve_all(self, points: Sequence[Points]) -> list[LinkModes]:
        """Modes and bounds of several mechanisms at times, in their order, BATCH instants or a few
        more at a time."""
        out: list[LinkModes] = []
        group: list[LinkInstants] = []
        for mechanism, times in points:
            reduced = self.reduced(mechanism)
            for start in range(0, len(times), BATCH):
                part = times[start : start + BATCH]
                group.append(LinkInstants(reduced, self.bases, part, self.options))
                if sum(len(each.times) for each in group) >= BATCH:
                    out += self._solved(group)
                    group = []
        return out + self._solved(group)

    def _solved(self, group: Sequence[LinkInstants]) -> list[LinkModes]:
        """Of instants whose small eigenproblems are solved together."""
        if not group:
            return []
        if any(each.free for each in group):
            raise SingularSystemError("links: the mechanism is free to move")
        M, E, K = (
            np.concatenate([getattr(each, name) for each in group])
            for name in ("mass", "damping", "stiffness")
        )
        every = solve_matrices(M, E, K, self.wanted)
        squares = la.eigvalsh(0.5 * (K[0] + K[0].T), M[0])
        self.floor = 0.01 * float(coordinate_frequencies(squares)[0])
        out, start = [], 0
        for each in group:
            modes = every.points(slice(start, start + len(each.times)))
            out.append(LinkModes(each, modes, self._bounds(each, modes), self.floor))
            start += len(each.times)
        return out

    def _bounds(self, instants: LinkInstants, modes: SmallModes) -> ErrorBounds:
        right = instants.dual_norms(modes.eigenvalues, modes.right, transposed=False)
        left = instants.dual_norms(modes.eigenvalues, modes.left, transposed=True)
        found = bounds_of(modes, right, left, instants.pairing(modes), self.resolved)
        return self.with_round_off(found, modes)

    def with_round_off(self, bounds: ErrorBounds, modes: SmallModes) -> ErrorBounds:
        """With the round-off of the matrices."""
        noise = self.quotient_round_off(np.abs(modes.eigenvalues))
        return replace(
            bounds,
            error_bound=bounds.error_bound + noise * modes.condition,
            round_off=bounds.round_off + noise,
        )

    def quotient_round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition, by products K v."""
        stiffest = max(basis.stiffest for basis in self.bases.values())
        return quotient_round_off(stiffest, np.maximum(sizes, self.floor))

    def accepted(self, found: LinkModes) -> Array:
        """error_bound / allowed (P, k), at most 1 where it holds; see `Reducer.accepted`."""
        allowed = self.tolerance * np.maximum(np.abs(found.modes.eigenvalues), found.floor)
        small = np.maximum(FAR_BELOW * allowed, 4.0 * found.bounds.round_off)
        ratio = np.fmin(found.bounds.error_bound / allowed, found.bounds.perturbation / small)
        return np.where(np.isnan(ratio), 0.0, ratio)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that `restore` needs to go on bit by bit where this reducer stands."""
        return {
            f"{name}:{part}": array
            for name, basis in self.bases.items()
            for part, array in basis.arrays().items()
        }

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take up the bases whose `arrays` were kept."""
        for name, basis in self.bases.items():
            own = {
                key.removeprefix(f"{name}:"): array
                for key, array in arrays.items()
                if key.startswith(f"{name}:")
            }
            self.bases[name] = basis.with_arrays(own)

    @property
    def parts(self) -> Mapping[str, LinkBasis]:
        """The bases by the names of the links."""
        return self.bases

    @property
    def complete(self) -> bool:
        """The bases span everything."""
        return all(basis.complete for basis in self.bases.values())

    def without_sketches(self) -> LinkReducer:
        """A reducer whose bases grow on their own, without sketches."""
        other = self.branch(self.tolerance)
        other.bases = {name: basis.without_sketches() for name, basis in self.bases.items()}
        return other

    def examined(self, point: tuple[Mechanism, float], count: int) -> Examined:
        """The lowest modes of a mechanism at one time, s, in the present bases."""
        mechanism, t = point
        at = LinkInstants(self.reduced(mechanism), self.bases, np.array([t]), self.options)
        modes = solve_matrices(at.mass, at.damping, at.stiffness, count)
        modes = modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])
        inertia = (modes.right[0].conj() * (at.mass[0] @ modes.right[0])).sum(axis=0).real
        energy = np.abs(modes.eigenvalues[0]) * np.sqrt(2.0 * np.maximum(inertia, 0.0))
        return Examined(at, modes, energy, at.pairing(modes)[0])

    def branch(self, tolerance: float) -> LinkReducer:
        """A reducer whose bases grow on their own from here; this one keeps its own."""
        other = copy.copy(self)
        other.tolerance = tolerance
        other.bases = {name: copy.copy(basis) for name, basis in self.bases.items()}
        other._made, other._links = {}, None
        return other

    def train(
        self, points: Sequence[Points], known: Sequence[LinkModes] = ()
    ) -> tuple[float, list[LinkModes]]:
        """Grow the bases until every instant is accepted; the largest ratio that is left, and the
        modes on the bases as they are then.

        known: the modes on the present bases, where they have been computed.
        """
        found = list(known) or self.solve_all(points)
        for _ in range(ROUNDS):
            worst = self.worst(found)
            if worst <= 1.0 or not self._grow(found):
                return worst, found
            found = self.solve_all(points)
        return self.worst(found), found

    def worst(self, found: Sequence[LinkModes]) -> float:
        """The largest error_bound / allowed."""
        return max(float(self.accepted(each).max(initial=0.0)) for each in found)

    def _grow(self, found: Sequence[LinkModes]) -> bool:
        """One round: the dominant residuals of the failing modes, right and left, of each link."""
        failing = [(each.instants, each.modes, self.accepted(each)) for each in found]
        return grown(self.bases, failing) > 0
