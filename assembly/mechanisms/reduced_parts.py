"""The named matrices of a mechanism over its independent DOFs at several instants, as values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.elements.taylor import Taylor
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.joint_terms import joint_terms
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.types import Array


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


def reduced_parts(
    dynamics: InverseDynamics,
    elastic: ElasticReduction,
    now: Instant,
    T: Taylor,
    transport: bool,
    stressed: bool,
    deflected: bool = False,
) -> ReducedParts:
    """The matrices of the undeflected mechanism.

    T: over the constrained DOFs. transport: with the terms of its rates. stressed: with K_G.
    deflected: on the pattern that has room for what deflections change.
    """
    topology, lam = dynamics.topology, now.multipliers
    stacks, pattern = elastic.pattern(stressed, deflected)
    reactions = -(lam[:, None] @ topology.on_units(now.wrench))[:, 0]
    loads = [
        np.concatenate([reactions[:, own], topology.applied.on_body(now.forces, i)], axis=1)
        for i, own in enumerate(topology.own)
    ]
    values = np.concatenate(
        [
            stack.parts(now.state.twist[:, i], now.coefficients[:, i], now.loading[:, i], loads[i])
            for i, stack in enumerate(stacks)
        ],
        axis=2,
    )
    joints = joint_terms(dynamics, now, transport, stressed)
    return ReducedParts(pattern.reduce(values, T, joints), values, joints, loads)
