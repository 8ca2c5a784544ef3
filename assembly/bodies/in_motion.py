"""Forces of bodies in motion at finite displacements, their derivatives, energy and momentum.

In the frame of a body, which moves by the rigid motion,

    F(d, v, a) = f(d) + inertia of (d, v, a) + damping of v − loads of the motion,

f of the elements at large displacement (`ElementFamily.internal_force`), inertia of the points
where finite rotations carry them (`ElementFamily.rate_force`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.bodies.body import Body
from assembly.elements.large_rotation import spin_of
from assembly.elements.moments import kinetic_energy, velocity_map
from assembly.elements.passage import Passage
from assembly.types import Array


@dataclass(frozen=True)
class BodyMotion:
    """How a body's frame moves, and how its DOFs move in it.

    twist (6,): v_O, ω. motion, loading (12,): coefficients of the motion and, weight included, of
    what loads the body. path (3, n): displacements, velocities, accelerations.
    """

    body: Body
    twist: Array
    motion: Array
    loading: Array
    path: Array

    @cached_property
    def moments(self) -> Array:
        """Second moments (7, 7) of the mass: energy and momentum (`assembly.elements.moments`)."""
        u, v, _ = self.path
        parts = [f.inertia_moments(u, v, self.loading) for f in self.body.families]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def strain_energy(self) -> float:
        """J."""
        families = self.body.families
        return float(sum(f.strain_energy(self.path[0], self.loading) for f in families))

    @property
    def passage(self) -> Passage:
        u, v, a = self.path
        return Passage(u, v, a, self.twist[3:], self.loading, self.body.rayleigh)


def body_force(at: BodyMotion) -> Array:
    """F (n,), N and N·m."""
    body, ops, (u, v, a) = at.body, at.body.operators, at.path
    force = ops.M @ a + ops.dampers @ v
    for w, G, circulatory in zip(at.twist[3:], ops.G, ops.circulatory, strict=True):
        if w:
            force = force + w * (2.0 * (G @ v) + circulatory @ u)
    for c, A in zip(at.motion[:9], (*ops.S, *ops.G), strict=True):
        if c:
            force = force + c * (A @ u)
    passage = at.passage
    for family in body.families:
        force = force + family.internal_force(u, at.loading) + family.rate_force(passage)
    return np.asarray(force - ops.inertia_loads @ at.loading - ops.damper_loads @ at.twist)


def body_parts(at: BodyMotion, exact: bool = True) -> dict[str, sp.csr_matrix]:
    """Named matrices (n, n): the derivatives of F by a (M), v (C, D) and u (all others).

    K is that of the undeformed body and K_G what the tangent adds to it; its skew part, of inertia
    loads that turn with their sections, is in K_epsilon. K_transport: of forces that v and a cause.
    exact: without it M, C, D of the undeformed body, in a fraction of the time.
    """
    body, ops = at.body, at.body.operators
    zero = sp.csr_matrix((body.size, body.size))
    beyond = [family.rate_tangents(at.passage) for family in body.families if exact]
    M, C, D, K_rates = (sum((b[k] for b in beyond), zero) for k in range(4))
    K = ops.K.tocsr()
    tangent = zero
    for family in body.families:
        tangent = tangent + family.tangent_stiffness(at.path[0], at.loading).tocsr()
    extra = tangent - K
    parts = dict(
        M=ops.M.tocsr() + M,
        C=C,
        D=ops.dampers + D,
        K=K,
        K_epsilon=0.5 * (extra - extra.T) if np.any(at.loading[6:9]) else zero,
        K_omega2=zero,
        K_G=0.5 * (extra + extra.T),
        K_D=zero,
        K_transport=K_rates,
    )
    for w, G, A in zip(at.twist[3:], ops.G, ops.circulatory, strict=True):
        parts["C"] = parts["C"] + 2.0 * w * G.tocsr()
        parts["K_D"] = parts["K_D"] + w * A
    for c, S in zip(at.motion[:6], ops.S, strict=True):
        parts["K_omega2"] = parts["K_omega2"] + c * S.tocsr()
    for c, G in zip(at.motion[6:9], ops.G, strict=True):
        parts["K_epsilon"] = parts["K_epsilon"] + c * G.tocsr()
    return {name: sp.csr_matrix(part) for name, part in parts.items()}


def damping_power(at: BodyMotion) -> float:
    """What the dampers of a body take from the absolute motion, W; it is never positive.

    The forces of dampers are the part of F that is odd in the velocities relative to the frame,
    apart from Coriolis forces, which do no work in it. Dampers against the surroundings and
    damping in proportion to mass also do work on the motion of the frame.
    """
    body, (u, v, a) = at.body, at.path
    if not body.dissipates:
        return 0.0
    here, back = (
        body_force(replace(at, path=np.stack([u, sign * v, 0.0 * a]))) for sign in (1.0, -1.0)
    )
    power = -0.5 * float(v @ (here - back))
    rigid = velocity_of_nodes(body, u, at.twist)
    d = body.operators.d.tocsr()
    power -= float(rigid @ (d @ (rigid + v)) + v @ (d @ rigid))
    for family in body.families:
        share = body.rayleigh[0] + family.mass_damping
        if share:
            A = family.inertia_moments(u, v, at.loading)
            B = velocity_map(at.twist)
            power -= share * float(np.sum((B @ A)[:, 4:] * np.eye(3))) - 2.0 * share * (
                kinetic_energy(A, np.zeros(6))
            )
    return power


def velocity_of_nodes(body: Body, u: Array, twist: Array) -> Array:
    """Velocities (n,) of displaced nodes that move with the frame; zero for rotations."""
    return _shifts(body, u) @ twist


def _shifts(body: Body, u: Array) -> Array:
    """Displacements (n, 6) of displaced nodes per unit motion of the frame."""
    dofs = body.dofs
    x = dofs.coordinates + dofs.displacement(u)
    fields = np.zeros((len(x), 6, 6))  # node, component, unit
    fields[:, :3, :3] = np.eye(3)
    fields[:, 0, 4], fields[:, 0, 5] = x[:, 2], -x[:, 1]
    fields[:, 1, 3], fields[:, 1, 5] = -x[:, 2], x[:, 0]
    fields[:, 2, 3], fields[:, 2, 4] = x[:, 1], -x[:, 0]
    return np.asarray(fields[dofs.node, dofs.component])


def frame_power(body: Body, u: Array, force: Array, twist: Array) -> float:
    """Power, W, of nodal forces (n,) on the motion of the frame, at displacements u (n,).

    A moment is that on the node's rotation vector φ: m = T(−φ)ᵀ M of the couple M.
    """
    power = float(force @ velocity_of_nodes(body, u, twist))
    dofs, omega = body.dofs, twist[3:]
    turning = dofs.component >= 3
    if np.any(omega) and np.any(force[turning]):
        moment, phi = np.zeros((2, len(dofs.coordinates), 3))
        places = dofs.node[turning], dofs.component[turning] - 3
        moment[places], phi[places] = force[turning], u[turning]
        for m, turn in zip(moment, phi, strict=True):
            if np.any(m):
                T = spin_of(-turn + np.zeros((3, 3)), np.eye(3)).T
                power += float(np.linalg.solve(T.T, m) @ omega)
    return power


def rigid_velocities(body: Body, u: Array) -> Array:
    """Rates (n, 6) of all DOFs in the rigid motions of a displaced body, about its frame's
    origin."""
    dofs, fields = body.dofs, _shifts(body, u)
    turning = np.flatnonzero(dofs.component >= 3)
    if len(turning):
        phi = np.zeros((len(dofs.coordinates), 3))
        phi[dofs.node[turning], dofs.component[turning] - 3] = u[turning]
        T = spin_of(-phi[:, None] + np.zeros((3, 3)), np.eye(3)).swapaxes(-1, -2)
        rates = np.linalg.inv(T)
        fields[turning, 3:] = rates[dofs.node[turning], dofs.component[turning] - 3]
    return fields
