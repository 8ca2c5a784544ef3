"""Independent DOFs of a mechanism: which remain, and the named matrices over them at several
instants, as values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assembly.dofs import DofMap
from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError
from assembly.mechanisms.joint_assembly import K_D, K_G, BodyStack, D, K, ReducedPattern
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.mechanisms.topology import Topology
from assembly.mechanisms.transformation import Partition, choose_partition
from assembly.types import Array, Index, Mask

PLANAR_UNITS, ALL_UNITS = (2, 8, 9, 10), tuple(range(12))


@dataclass(frozen=True)
class ReducedParts:
    """The named matrices at P instants.

    parts: values (P, entries) on the pattern of the independent DOFs. values (8, P, all entries):
    of all bodies. joints: what joints add over the constrained DOFs, (P, J, J). loads: multiples
    (P, k) of the unit loads of joints and forces on each body.
    """

    parts: dict[str, Array]
    values: Array
    joints: dict[int, Array]
    loads: list[Array]


class ElasticReduction:
    """δ = T(t) q where the conditions `held` (m,) tie the elastic DOFs.

    partition: which of the constrained DOFs are eliminated. frame: in whose axes the others are.
    masters (n,): numbers of the independent DOFs among all.
    """

    def __init__(self, topology: Topology, held: Mask, partition: Partition, frame: str) -> None:
        self.topology, self.held, self.partition, self.frame = topology, held, partition, frame
        self._tying = np.flatnonzero(held)
        slaves = topology.touched[partition.slaves]
        self.masters: Index = np.setdiff1d(np.arange(topology.offsets[-1]), slaves)
        self._patterns: dict[tuple[bool, bool], tuple[list[BodyStack], ReducedPattern]] = {}

    @classmethod
    def chosen(
        cls,
        dynamics: InverseDynamics,
        held: Mask,
        preferred: Mapping[str, str],
        samples: int = 32,
    ) -> ElasticReduction:
        """With a partition that is well conditioned along the motion, at so many instants.

        preferred: for some joints, the body whose DOFs remain. MechanismError where they cannot.
        """
        topology, closure = dynamics.topology, dynamics.closure
        times = np.array(closure.sample_times(samples))
        gradients = dynamics.at(closure.states(times)).gradient.value
        read = np.abs(gradients).max(axis=0) > 1e-9 * topology.length
        weight = topology.preference(preferred, read)
        partition = choose_partition(gradients[:, np.flatnonzero(held)], weight)
        keepers = topology.keepers(partition.slaves)
        for joint, body in preferred.items():
            if keepers[joint] != body:
                raise MechanismError(
                    f"coordinates: the displacements at joint {joint} cannot be in the axes of "
                    f"{body!r}: they do not determine the others all along the motion"
                )
        # In whose axes the DOFs at each joint are, for the record.
        places = ", ".join(f"{joint} in {body}" for joint, body in keepers.items())
        return cls(topology, held, partition, f"bodies' (joints: {places})")

    def transform(self, now: Instant) -> Taylor:
        """The jet of T over the constrained DOFs, at one instant or at several."""
        return self.partition.transform(Taylor(now.gradient.data[..., self._tying, :]), now.state.t)

    @cached_property
    def unit_loads(self) -> list[Array]:
        """Of joints and forces on each body, (n, k)."""
        topology, count = self.topology, len(self.topology.bodies)
        pairs = [(topology.unit_loads(i), topology.applied.unit_loads(i)) for i in range(count)]
        return [np.hstack(pair) for pair in pairs]

    def share(self, other: ElasticReduction) -> None:
        """Take the patterns of a reduction of the same bodies and joints under the same loads, if
        it is one, that eliminates the same DOFs."""
        one, two = ([id(body) for body in r.topology.bodies.values()] for r in (self, other))
        each = ((r.topology.touched, r.partition.slaves, *r.unit_loads) for r in (self, other))
        if one == two and all(map(np.array_equal, *each)):
            self._patterns = other._patterns

    def pattern(
        self, stressed: bool, deflected: bool = False
    ) -> tuple[list[BodyStack], ReducedPattern]:
        """The bodies' fixed matrices, with or without the geometric ones and what deflections
        change, and where their values go."""
        key = stressed, deflected
        if key not in self._patterns:
            topology = self.topology
            units = PLANAR_UNITS if topology.planar else ALL_UNITS
            pairs = list(zip(topology.bodies.values(), self.unit_loads, strict=True))
            kinds = [(id(body), loads.tobytes()) for body, loads in pairs]
            of_kind = {
                kind: BodyStack(*own, stressed, units, deflected)
                for kind, own in dict(zip(kinds, pairs, strict=True)).items()
            }
            stacks = [of_kind[kind] for kind in kinds]
            first = topology.offsets[:-1]
            rows = np.concatenate([s.rows + k for s, k in zip(stacks, first, strict=True)])
            cols = np.concatenate([s.cols + k for s, k in zip(stacks, first, strict=True)])
            size = int(topology.offsets[-1])
            pattern = ReducedPattern(size, rows, cols, topology.touched, self.partition)
            self._patterns[key] = stacks, pattern
        return self._patterns[key]

    @cached_property
    def moving_pattern(self) -> ReducedPattern:
        """Where the values of bodies at finite displacements go."""
        touched, bodies = self.topology.touched, self.topology.moving
        return ReducedPattern(bodies.size, bodies.rows, bodies.cols, touched, self.partition)

    def numbers_an_instant(self, stressed: bool, deflected: bool = False) -> int:
        """The numbers in the largest arrays that the matrices of one instant take."""
        stacks, pattern = self.pattern(stressed, deflected)
        entries = sum(len(stack.rows) for stack in stacks) + len(pattern.sparsity.indices)
        J = len(pattern.touched)
        return 9 * (entries + J * (J + 2 * len(pattern.neighbours)))

    def parts(
        self, now: Instant, T: Taylor, transport: bool, stressed: bool, deflected: bool = False
    ) -> ReducedParts:
        """The matrices of the undeflected mechanism.

        T: over the constrained DOFs. transport: with the terms of its rates. stressed: with K_G.
        deflected: on the pattern that has room for what deflections change.
        """
        topology, lam, state = self.topology, now.multipliers, now.state
        stacks, pattern = self.pattern(stressed, deflected)
        reactions = -(lam[:, None] @ topology.on_units(now.wrench))[:, 0]
        loads = [
            np.concatenate([reactions[:, own], topology.applied.on_body(now.forces, i)], axis=1)
            for i, own in enumerate(topology.own)
        ]
        each = [
            stack.parts(state.twist[:, i], now.coefficients[:, i], now.loading[:, i], loads[i])
            for i, stack in enumerate(stacks)
        ]
        values, joints = np.concatenate(each, axis=2), self._joint_terms(now, transport, stressed)
        return ReducedParts(pattern.reduce(values, T, joints), values, joints, loads)

    def _joint_terms(self, now: Instant, transport: bool, stressed: bool) -> dict[int, Array]:
        """Terms (P, J, J) of named matrices over the constrained DOFs at P instants.

        transport: with those of rates of gradients. stressed: with those of forces.
        """
        topology, out = self.topology, {}
        if not topology.compliance.is_empty:
            stiffness, damping, rates = topology.compliance.terms(now.state.t, now.gradient.data)
            out = {K: stiffness, D: damping} | ({K_D: rates} if transport else {})
        if stressed:
            on_loads = topology.applied.stiffness(now.forces, topology.touched)
            hessian = topology.hessian(now.frames, now.state.t)
            turning = topology.curvature(now.multipliers, now.wrench, hessian)
            out[K_G] = turning + 0.5 * (on_loads + on_loads.swapaxes(-1, -2))
            # The part of a follower's stiffness without a potential is circulatory.
            out[K_D] = out.get(K_D, 0.0) + 0.5 * (on_loads - on_loads.swapaxes(-1, -2))
        return out

    @cached_property
    def dofs(self) -> DofMap | None:
        """Node and component of the independent DOFs; one object for all instants. None where some
        are coordinates of reduced bodies."""
        if any(body.size != len(body.dofs) for body in self.topology.bodies.values()):
            return None
        return all_dofs(self.topology).select(self.masters)

    @cached_property
    def scale(self) -> Array:
        """The mechanism's length, m, for displacements, 1 for rotations: of constrained DOFs."""
        component = all_dofs(self.topology).component[self.topology.touched]
        return np.where(component < 3, self.topology.length, 1.0)


def all_dofs(topology: Topology) -> DofMap:
    """The DOFs and nodes of all bodies, numbered in sequence; body axes."""
    bodies = topology.bodies
    return DofMap.joined([body.dofs for body in bodies.values()], list(bodies))
