"""The reduced space of mechanisms with large links: a basis for each of these.

The modes of a mechanism at an instant are those of its reduced mechanism (small and dense); their
error bounds come from the residuals in the full one (modal/reduction/link_instants.py). Where a
bound exceeds the tolerance, the basis of every link grows by K_ref⁻¹ × its residuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.bodies.reduced import ReducedBody
from assembly.errors import AccuracyError, SingularSystemError
from assembly.mechanisms.elastic_reduction import ALL_UNITS, PLANAR_UNITS
from assembly.mechanisms.mechanism import Mechanism, MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism, link_slaves
from assembly.system.frozen import FrozenSystem
from modal.reduction.affine import Freeze, Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.instants import Instants
from modal.reduction.link_basis import LinkBasis
from modal.reduction.link_instants import LinkInstants, LinkPoints, Options
from modal.reduction.reduced_eigen import SmallModes, solve_matrices
from modal.reduction.space import Space, of_part
from modal.types import Array, Index


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


class LinkFamily:
    """A model whose points are instants of mechanisms of the same links.

    first: the system of one of the points. freeze: a point (parameters by name) → FrozenSystem; by
    default of the mechanism of `first` at the time "t", s.
    """

    def __init__(self, first: MechanismSystem, freeze: Freeze | None = None) -> None:
        self.first, self.n = first, first.n
        self.options = Options(first.transport, first.prestress is not None, first.driven)
        self.freeze = freeze or (lambda point: first.mechanism.freeze(point["t"]))

    def coefficients(self, points: Sequence[Point]) -> LinkPoints:
        """Mechanisms and times. Raises AccuracyError where the links are others."""
        return self.of_systems((point, self.freeze(point)) for point in points)

    def of_systems(self, systems: Iterable[tuple[Point, FrozenSystem]]) -> LinkPoints:
        """The same from points and their frozen systems."""
        mechanisms, times = [], []
        for point, system in systems:
            machine = linked(system)
            if machine is None or not same_links(self.first, machine):
                raise AccuracyError(f"at {dict(point)}: the mechanism has other links than before")
            mechanisms.append(machine.mechanism)
            times.append(machine.t)
        return LinkPoints(tuple(mechanisms), np.array(times))


def same_links(one: MechanismSystem, other: MechanismSystem) -> bool:
    """Whether two mechanisms consist of the same large bodies, and are frozen in the same way."""
    ours, theirs = one.mechanism, other.mechanism
    options = [(s.transport, s.prestress, s.driven) for s in (one, other)]
    return (
        options[0] == options[1]
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
    parts: Mapping[str, LinkBasis]

    def __init__(
        self,
        family: LinkFamily,
        k: int,
        tolerance: float,
        stored: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(k, tolerance)
        self.family, self.options = family, family.options
        self._first = family.first.mechanism  # whose choice of eliminated DOFs serves all
        parts = {
            name: LinkBasis(link.body, link.stressing, link.ties, link.units, link.rotations)
            for name, link in link_loads(self._first).items()
        }
        for name, slaves in link_slaves(self._first, self.options.driven).items():
            if name in parts:
                parts[name].hold(slaves)
        if stored is not None:
            parts = {n: basis.with_arrays(of_part(n, stored)) for n, basis in parts.items()}
        self.parts = parts
        self.refresh()

    def refresh(self) -> None:
        """Drop the reduced mechanisms of earlier bases."""
        self._links: dict[str, ReducedBody] = {}
        self._mechanisms: dict[int, ReducedMechanism] = {}

    @property
    def description(self) -> str:
        """The sizes of the bases."""
        sizes = ", ".join(f"{basis.size} shapes of {name}" for name, basis in self.parts.items())
        return f"reduced bases of links: {sizes}; accuracy {self.tolerance:g}"

    def reduced(self, mechanism: Mechanism) -> ReducedMechanism:
        """The mechanism with the present bases."""
        if not self._links:
            slaves = link_slaves(self._first, self.options.driven)
            self._links = {name: basis.reduced(slaves[name]) for name, basis in self.parts.items()}
        made = self._mechanisms.get(id(mechanism))
        if made is None or made.full is not mechanism:
            made = ReducedMechanism(mechanism, self._links, self.options.driven, self._first)
            self._mechanisms[id(mechanism)] = made
        return made

    def on(self, points: LinkPoints) -> LinkInstants:
        """The points in the coordinates of the reduced mechanisms."""
        at = LinkInstants.at(points, self.reduced, self.parts, self.options)
        if at.free:
            raise SingularSystemError("links: the mechanism is free to move")
        return at

    def lowest(self, at: Instants, k: int) -> SmallModes:
        """The lowest modes of every point."""
        return solve_matrices(at.matrices, k)

    def _with(self, parts: Mapping[str, ReducedBasis]) -> Self:
        other = super()._with(parts)
        other.refresh()
        return other
