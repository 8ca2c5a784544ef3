"""Forces of the bodies of a mechanism at finite displacements, and their derivatives.

In the frame of a body, which moves by the rigid motion,

    F(d, v, a) = f(d) + inertia of (d, v, a) + damping of v − loads of the motion,

f of the elements at large displacement (`ElementFamily.internal_force`), inertia of the points
where finite rotations carry them (`ElementFamily.rate_force`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from assembly.bodies.body import Body
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

    @property
    def passage(self) -> Passage:
        u, v, a = self.path
        return Passage(u, v, a, self.twist[3:], self.loading, self.body.rayleigh)


def body_force(at: BodyMotion) -> Array:
    """F (n,), N and N·m."""
    body, ops, (u, v, a) = at.body, at.body.operators, at.path
    force = ops.M @ a + (ops.D.tocsr() + ops.d.tocsr()) @ v
    for w, G, circulatory in zip(at.twist[3:], ops.G, ops.circulatory, strict=True):
        force = force + w * (2.0 * (G @ v) + circulatory @ u)
    for c, A in zip(at.motion[:9], (*ops.S, *ops.G), strict=True):
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
        D=ops.D.tocsr() + ops.d.tocsr() + D,
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
