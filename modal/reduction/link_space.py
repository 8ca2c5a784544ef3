"""The reduced space of mechanisms with large links: a basis for each of these.

The modes of a mechanism at an instant are those of its reduced mechanism (small and dense); their
error bounds come from the residuals in the full one (modal/reduction/instants.py). Where a bound
exceeds the tolerance, the basis of every link grows by K_ref⁻¹ × its residuals.

The basis of a link starts from its rigid motions and lowest free modes, the responses to the unit
forces and moments of its joints and loads (attachment modes), the responses to the twelve unit
inertia loads, and the unit displacements of the DOFs that joints eliminate. K_ref = K + σM, σ far
below the first elastic frequency, is factorized once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.bodies.reduced import Key, ReducedBody, SmallOperator, fixed_operators
from assembly.elements.taylor import Taylor
from assembly.errors import AccuracyError, SingularSystemError
from assembly.magnitudes import EQUAL
from assembly.mechanisms.elastic_reduction import ALL_UNITS, PLANAR_UNITS
from assembly.mechanisms.joint_assembly import C as CORIOLIS
from assembly.mechanisms.joint_assembly import D as DAMPING
from assembly.mechanisms.joint_assembly import M as MASS
from assembly.mechanisms.joint_assembly import body_terms
from assembly.mechanisms.mechanism import Mechanism, MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism, link_slaves
from assembly.system.frozen import FrozenSystem
from modal.reduction.affine import AffineFamily, Coefficients, Freeze, Point
from modal.reduction.basis import Projected, ReducedBasis
from modal.reduction.instants import Instants
from modal.reduction.reduced_eigen import SmallModes, solve_matrices
from modal.reduction.space import CertifiedModes, Space, grouped, of_part
from modal.types import Array, Index

BEYOND = 2.0  # frequency up to which the bases hold the free modes of links, over that of a mode


def linked(system: FrozenSystem) -> MechanismSystem | None:
    """The system, if it is that of a mechanism whose links have bases and nothing is free to
    move."""
    if not (isinstance(system, MechanismSystem) and system.mechanism.has_large_bodies):
        return None
    held = system.mechanism.held(system.driven)
    gives = not system.mechanism.topology.compliance.is_empty
    return system if gives or held.all() else None


@dataclass(frozen=True)
class Link:
    """A large body of a mechanism, and the unit forces and moments on it.

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

    @cached_property
    def operators(self) -> dict[Key, Any]:
        """The fixed matrices of the body, then those of its rotations, of (point, axis)."""
        found = fixed_operators(self.body, self.stressing, self.units)
        for point, matrices in self.rotations.items():
            found |= {(f"rotation {point}", axis): A for axis, A in enumerate(matrices)}
        return found

    @cached_property
    def numbers(self) -> dict[Key, int]:
        """Of the operators."""
        return {key: k for k, key in enumerate(self.operators)}

    def basis(
        self, slaves: Index, arrays: Mapping[str, NDArray[Any]] | None, modes: int
    ) -> ReducedBasis:
        """The starting basis, with the unit displacements of some DOFs and so many free elastic
        modes; or the stored one."""
        body, numbers = self.body, self.numbers
        fields = body.dofs.rigid_fields()
        fields = fields[:, np.abs(fields).max(axis=0) > 0.0]
        family = AffineFamily.of_operators(list(self.operators.values()), fields, body.dofs)
        table = np.zeros((3, 1, len(numbers)))
        table[0, 0, numbers["M", 0]] = table[2, 0, numbers["K", 0]] = 1.0
        ties = independent(self.ties)
        basis = ReducedBasis.of(family, Coefficients(table), ties, arrays)
        if arrays is None:
            inertia = independent(body.operators.inertia_loads[:, list(self.units)])
            basis.include(basis.solve(np.hstack([ties, inertia])))
            units = np.zeros((body.size, len(slaves)))
            units[slaves, np.arange(len(slaves))] = 1.0
            basis.include(units)
            basis.include_lowest(min(modes + fields.shape[1], body.size))
        return basis

    def reduced(self, basis: ReducedBasis, slaves: Index) -> ReducedBody:
        """The body in the coordinates of its basis, the displacements of `slaves` among them."""
        loads, matrices = self.stressing.shape[1], basis.on_vectors.matrices
        return ReducedBody.of(self.body, basis.V, slaves, self.numbers, matrices, loads)


def links_of(mechanism: Mechanism) -> dict[str, Link]:
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
            out[name] = Link(body, stressing, ties, units, rotations)
    return out


def _scattered(dofs: Index, blocks: Array, body: Body) -> tuple[sp.csr_matrix, ...]:
    """Blocks (3, k, k) on some DOFs (k,) of a body as matrices (n, n)."""
    rows, columns = (index.ravel() for index in np.meshgrid(dofs, dofs, indexing="ij"))
    shape = (body.size, body.size)
    return tuple(sp.csr_matrix((block.ravel(), (rows, columns)), shape=shape) for block in blocks)


def independent(forces: Array) -> Array:
    """The columns scaled to unit size, those that repeat others left out."""
    size = np.linalg.norm(forces, axis=0)
    scaled = forces[:, size > 0.0] / size[size > 0.0]
    if not scaled.shape[1]:
        return np.asarray(scaled)
    _, R, order = la.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.asarray(scaled[:, order[: int((diagonal > EQUAL * diagonal[0]).sum())]])


@dataclass(frozen=True)
class LinkPoints:
    """A mechanism and a time, s, for each of P points."""

    mechanisms: tuple[Mechanism, ...]
    times: Array

    @classmethod
    def of(cls, mechanism: Mechanism, times: Array) -> LinkPoints:
        """Times of one mechanism."""
        return cls((mechanism,) * len(times), times)

    def __len__(self) -> int:
        return len(self.times)

    def take(self, index: Index) -> LinkPoints:
        """Some of the points."""
        return LinkPoints(tuple(self.mechanisms[p] for p in index), self.times[index])

    @classmethod
    def joined(cls, parts: Sequence[LinkPoints]) -> LinkPoints:
        """Several points after one another."""
        mechanisms = tuple(mechanism for part in parts for mechanism in part.mechanisms)
        return cls(mechanisms, np.concatenate([part.times for part in parts]))


class LinkFamily:
    """A model whose points are instants of mechanisms of the same links.

    first: the system of one of the points. freeze: a point (parameters by name) → FrozenSystem; by
    default of the mechanism of `first` at the time "t", s.
    """

    def __init__(self, first: MechanismSystem, freeze: Freeze | None = None) -> None:
        self.first, self.n = first, first.n
        self.links = links_of(first.mechanism)
        self.freeze = freeze or (lambda point: first.mechanism.freeze(point["t"]))

    def coefficients(self, points: Sequence[Point]) -> LinkPoints:
        """Mechanisms and times. Raises AccuracyError where the links are others."""
        mechanisms, times = [], []
        for point in points:
            machine = linked(self.freeze(point))
            if machine is None or not same_links(self.first, machine):
                raise AccuracyError(f"at {dict(point)}: the mechanism has other links than before")
            mechanisms.append(machine.mechanism)
            times.append(machine.t)
        return LinkPoints(tuple(mechanisms), np.array(times))

    @property
    def arguments(self) -> dict[str, Any]:
        """How the mechanisms are frozen: the arguments of their `freeze`."""
        return self.first.options

    def instants(
        self, mechanism: ReducedMechanism, times: Array, projected: Mapping[str, Projected]
    ) -> Instants:
        """P instants of a reduced mechanism on its bases."""
        series = mechanism.freeze_many(times, **self.arguments)
        if series.rigid[0].shape[1] > 0:
            raise SingularSystemError("links: the mechanism is free to move")
        first, topology, now = self.first, mechanism.topology, mechanism.instants(times)
        elastic = mechanism.elastic(first.driven)
        T = elastic.transform(now)
        jet = (T if first.transport else Taylor.constant(T.value)).data
        touched, n, P = topology.touched, len(elastic.masters), len(times)
        whole = np.zeros((3, P, int(topology.offsets[-1]), n))
        whole[0][:, elastic.masters, np.arange(n)] = 1.0
        masters = whole[0, 0, touched[elastic.partition.masters]]
        for out, part in zip(whole, jet, strict=True):
            out[:, touched] = part @ masters
        reactions = -(now.multipliers[:, None] @ topology.on_units(now.wrench))[:, 0]
        stressed, names = first.prestress is not None, list(mechanism.bodies)
        jets, coefficients = {}, {}
        for name, link in self.links.items():
            number, body = names.index(name), mechanism.bodies[name]
            assert isinstance(body, ReducedBody)
            span = slice(topology.offsets[number], topology.offsets[number + 1])
            jets[name] = body.turn @ whole[:, :, span]
            state = (now.state.twist[:, number], now.coefficients[:, number])
            loads = (now.loading[:, number], reactions[:, topology.own[number]])
            applied = topology.applied.on_body(now.forces, number)
            numbers = np.hstack([np.ones((P, 1)), *state, *loads, applied])
            table = np.zeros((3, P, len(link.numbers)))
            for term in body_terms(body, np.zeros((0, 0)), stressed, tuple(range(12))):
                if isinstance(term.matrix, SmallOperator):
                    role = {MASS: 0, CORIOLIS: 1, DAMPING: 1}.get(term.part, 2)
                    table[role][:, term.matrix.number] += term.factor * numbers[:, term.place]
            for point in link.rotations if stressed else ():
                for axis in range(3):
                    unit = (topology.units == (point, axis + 3)).all(axis=1)
                    column = link.numbers[f"rotation {point}", axis]
                    table[2][:, column] = -reactions[:, unit].sum(axis=1)
            coefficients[name] = Coefficients(table)
        matrices = np.stack([series.mass, series.damping, series.stiffness])
        return Instants(matrices, projected, coefficients, jets)


def same_links(one: MechanismSystem, other: MechanismSystem) -> bool:
    """Whether two mechanisms consist of the same large bodies, and are frozen in the same way."""
    ours, theirs = one.mechanism, other.mechanism
    return (
        one.options == other.options
        and ours.bodies.keys() == theirs.bodies.keys()
        and all(ours.bodies[b] is theirs.bodies[b] for b in ours.bodies if ours.is_large(b))
        and np.array_equal(ours.topology.offsets, theirs.topology.offsets)
        and np.array_equal(ours.topology.touched, theirs.topology.touched)
        and np.array_equal(ours.held(one.driven), theirs.held(other.driven))
    )


class LinkSpace(Space):
    """The bases of the large links of mechanisms: a reduced mechanism, small and dense, at every
    point.

    The mechanisms have the same bodies and joints; their motions may differ. stored: `arrays` of an
    earlier space, which goes on.
    """

    family: LinkFamily

    def __init__(
        self,
        family: LinkFamily,
        k: int,
        tolerance: float,
        stored: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(k, tolerance)
        self.family = family
        self._first = family.first.mechanism  # whose choice of eliminated DOFs serves all
        self._slaves = link_slaves(self._first, family.first.driven)
        # Where joints hold nothing twice all links together have at most k free elastic modes below
        # the k-th mode of the mechanism. The bounds need those up to well above it.
        modes = -(-2 * max(k, 6) // len(family.links))
        self.parts = {
            name: link.basis(self._slaves[name], stored and of_part(name, stored), modes)
            for name, link in family.links.items()
        }
        self.refresh()

    def refresh(self) -> None:
        """Project all operators; drop the reduced mechanisms of earlier bases."""
        links = self.family.links
        self._projected = {name: basis.projected() for name, basis in self.parts.items()}
        self._links = {
            n: links[n].reduced(basis, self._slaves[n]) for n, basis in self.parts.items()
        }
        self._mechanisms: dict[int, ReducedMechanism] = {}

    def _grow(self, found: CertifiedModes) -> bool:
        """First by more free modes of the links that have them to too low a frequency."""
        highest, short = float(np.nanmax(np.abs(found.modes.eigenvalues))), False
        for part in self.parts.values():
            most = 2 * max(self.wanted, 6) + part.family.rigid.shape[1]
            known = int((part.ritz()[0] <= part.resolved**2).sum())
            if part.resolved < BEYOND * highest and known < min(most, part.family.n):
                part.include_lowest(min(2 * known, most, part.family.n))
                short = True
        if short:
            self.refresh()
        return short or super()._grow(found)

    @property
    def description(self) -> str:
        """The sizes of the bases."""
        sizes = ", ".join(f"{basis.size} shapes of {name}" for name, basis in self.parts.items())
        return f"reduced bases of links: {sizes}; accuracy {self.tolerance:g}"

    def reduced(self, mechanism: Mechanism) -> ReducedMechanism:
        """The mechanism with the present bases."""
        made = self._mechanisms.get(id(mechanism))
        if made is None or made.full is not mechanism:
            driven = self.family.first.driven
            made = ReducedMechanism(mechanism, self._links, driven, self._first)
            self._mechanisms[id(mechanism)] = made
            if mechanism is not self._first:
                made.elastic(driven).share(self.frame.elastic(driven))
        return made

    @property
    def frame(self) -> ReducedMechanism:
        """The first mechanism with the present bases."""
        return self.reduced(self._first)

    def embedding(self, before: ReducedMechanism) -> Array:
        """The coordinates of that with earlier bases."""
        return self.frame.embedding(before)

    def on(self, points: LinkPoints) -> Instants:
        """The points in the coordinates of the reduced mechanisms."""
        groups = grouped(map(id, points.mechanisms))
        parts = [
            self.at(self.reduced(points.mechanisms[numbers[0]]), points.times[numbers])
            for numbers in groups
        ]
        if len(parts) == 1:
            return parts[0]
        return Instants.joined(parts).taken(np.argsort(np.concatenate(groups)))

    def at(self, mechanism: ReducedMechanism, times: Array) -> Instants:
        """Times of one reduced mechanism."""
        return self.family.instants(mechanism, times, self._projected)

    def lowest(self, at: Instants, k: int) -> SmallModes:
        """The lowest modes of every point."""
        return solve_matrices(at.matrices, k)

    def _with(self, parts: Mapping[str, ReducedBasis]) -> Self:
        other = super()._with(parts)
        other.refresh()
        return other
