"""Independent DOFs of a mechanism: which remain, and where the values of matrices go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError
from assembly.mechanisms.joint_assembly import BodyStack, ReducedPattern
from assembly.mechanisms.reactions import Instant
from assembly.mechanisms.rigid_mechanism import RigidMechanism
from assembly.mechanisms.topology import Topology
from assembly.mechanisms.transformation import Partition, choose_partition
from assembly.types import Index, Mask

SAMPLES = 32  # instants at which the choice of slaves is tried
PLANAR_UNITS, ALL_UNITS = (2, 8, 9, 10), tuple(range(12))


class ElasticReduction:
    """δ = T(t) q where the conditions `held` (m,) tie the elastic DOFs.

    partition: which of the constrained DOFs are eliminated. frame: in whose axes the others are.
    """

    def __init__(self, topology: Topology, held: Mask, partition: Partition, frame: str) -> None:
        self.topology, self.held, self.partition, self.frame = topology, held, partition, frame
        self._tying = np.flatnonzero(held)
        self._patterns: dict[tuple[bool, bool], tuple[list[BodyStack], ReducedPattern]] = {}

    @classmethod
    def chosen(
        cls, rigid: RigidMechanism, held: Mask, preferred: Mapping[str, str]
    ) -> ElasticReduction:
        """With a partition that is well conditioned along the motion.

        preferred: for some joints, the body whose DOFs remain. MechanismError where they cannot.
        """
        topology = rigid.topology
        times = rigid.closure.sample_times(SAMPLES)
        gradients = rigid.dynamics.at(rigid.closure.states(np.array(times))).gradient.value
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

    def pattern(
        self, stressed: bool, deflected: bool = False
    ) -> tuple[list[BodyStack], ReducedPattern]:
        """The bodies' fixed matrices, with or without the geometric ones and what deflections
        change, and where their values go."""
        key = stressed, deflected
        if key not in self._patterns:
            topology = self.topology
            units = PLANAR_UNITS if topology.planar else ALL_UNITS
            stacks = [
                BodyStack(
                    body,
                    np.hstack([topology.unit_loads(i), topology.applied.unit_loads(i)]),
                    stressed,
                    units,
                    deflected,
                )
                for i, body in enumerate(topology.bodies.values())
            ]
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
        topology, bodies = self.topology, self.topology.moving
        return ReducedPattern(
            bodies.size, bodies.rows, bodies.cols, topology.touched, self.partition
        )

    def numbers_an_instant(self, stressed: bool, deflected: bool = False) -> int:
        """The numbers in the largest arrays that the matrices of one instant take."""
        stacks, pattern = self.pattern(stressed, deflected)
        entries = sum(len(stack.rows) for stack in stacks) + len(pattern.sparsity.indices)
        J = len(pattern.touched)
        return 9 * (entries + J * (J + 2 * len(pattern.neighbours)))

    @cached_property
    def masters(self) -> Index:
        """Numbers of the independent DOFs among all, (n,)."""
        slaves = self.topology.touched[self.partition.slaves]
        return np.setdiff1d(np.arange(self.topology.offsets[-1]), slaves)

    @cached_property
    def dofs(self) -> DofMap | None:
        """Node and component of the independent DOFs; one object for all instants. None where some
        are coordinates of reduced bodies."""
        if any(body.size != len(body.dofs) for body in self.topology.bodies.values()):
            return None
        return all_dofs(self.topology).select(self.masters)


def all_dofs(topology: Topology) -> DofMap:
    """The DOFs and nodes of all bodies, numbered in sequence; body axes."""
    bodies = topology.bodies
    return DofMap.joined([body.dofs for body in bodies.values()], list(bodies))


def frame_stiffness(topology: Topology) -> tuple[sp.csr_matrix, ...]:
    """The bodies' springs to their frames, each over the DOFs of all bodies."""
    size, out = int(topology.offsets[-1]), []
    for body, first in zip(topology.bodies.values(), topology.offsets[:-1], strict=True):
        for K in (K.tocoo() for K in body.frame_stiffness):
            entries = (K.data, (K.row + first, K.col + first))
            out.append(sp.csr_matrix(entries, shape=(size, size)))
    return tuple(out)
