"""Energy, momentum and power of a mechanism at finite displacements.

Row k of the conditions acts on the bodies with −λ_k ∇x_k. Along the motion it has the power
−λ_k (ẋ_k − ∂x_k/∂t): of held conditions λ_k ∂x_k/∂t, which is zero but for drives. A spring S on
the deflection x of a drive stores ½ S x²; what is left of its power is the motor's. A damper c of a
drive takes c (q̇ + ẋ)², q̇ the rate of its law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assembly.bodies.balance import Energies, Momenta, Powers
from assembly.bodies.in_motion import frame_power
from assembly.elements.moments import kinetic_energy, momenta
from assembly.types import Array

if TYPE_CHECKING:
    from assembly.mechanisms.deformed_motion import DeformedState


def energies_of(at: DeformedState) -> Energies:
    """Of all bodies and springs."""
    m = at.motion
    compliance, gravity = m.topology.compliance, m.dynamics.gravity
    kinetic = weight = 0.0
    pose, twists = m.state.pose, at.bodies.twist
    for A, twist, r, R in zip(at.bodies.moments, twists, pose.r, pose.R, strict=True):
        kinetic += kinetic_energy(A, twist)
        weight -= float(gravity @ (A[0, 0] * r + R @ A[0, 1:4]))
    strain = at.bodies.strain_energy
    strain += compliance.energy(m.state.t, at.rows.x[0])
    return Energies(kinetic, float(strain), weight)


def momenta_of(at: DeformedState) -> Momenta:
    """Of all bodies."""
    pose, twists = at.motion.state.pose, at.bodies.twist
    linear, angular = np.zeros((2, 3))
    for A, twist, r, R in zip(at.bodies.moments, twists, pose.r, pose.R, strict=True):
        p, h = (R @ part for part in momenta(A, twist))
        linear, angular = linear + p, angular + h + np.cross(r, p)
    return Momenta(linear, angular)


def powers_of(at: DeformedState) -> Powers:
    """Of loads, drives and dampers."""
    m = at.motion
    compliance, t = m.topology.compliance, m.state.t
    x, rate = at.rows.x[:2]
    moved = np.zeros(len(x))  # ∂x/∂t
    count = len(m.joints.rows)
    moved[:count] = at.rows.slope.value * m.joints.rows.drift(at.rows.evaluated, t)
    forces = np.where(np.isin(np.arange(len(x)), m.held), at.multipliers, compliance.springs(t, x))
    driven = forces[:count] @ moved[:count] + m._motors @ (moved - rate)
    driven += compliance.parametric_power(t, x)
    dampers = at.bodies.damping_power - compliance.dissipation(t, rate)
    return Powers(_load_power(at), float(driven), float(dampers))


def _load_power(at: DeformedState) -> float:
    """Of applied loads at their moving points."""
    m, total = at.motion, 0.0
    applied, first = m.topology.applied, len(m.topology.points)
    frames = m.state.frames
    for k, (load, point) in enumerate(zip(applied.loads, applied.points, strict=True)):
        carried, s = at.rows.carried[first + k], point.lever
        arm = carried.offset.data + carried.rotation.data @ s
        arm[0] += point.point - s
        R, force = frames.rotation.data[:, point.body], m._forces[k]
        velocity = frames.origin.data[1, point.body] + R[1] @ arm[0] + R[0] @ arm[1]
        f = carried.rotation.value @ force if load.follower else force
        total += float((R[0] @ f) @ velocity)
    return total


def power_on_masters(at: DeformedState, force: Array) -> float:
    """Power, W, of forces (n,) on the independent DOFs, in the axes of their bodies."""
    m = at.motion
    power = float(force @ at.path[1, m.masters])
    whole = np.zeros(m.size)
    whole[m.masters] = force
    inner = m.topology.offsets[1:-1]
    bodies, twists = m.topology.bodies.values(), at.bodies.twist
    parts = (np.split(x, inner) for x in (at.path[0], whole))
    for body, u, own, twist in zip(bodies, *parts, twists, strict=True):
        if np.any(own):
            power += frame_power(body, u, own, twist)
    return power
