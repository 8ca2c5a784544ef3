"""What joints, elastic drives, bushings and loads add to the matrices of an instant."""

from __future__ import annotations

from assembly.mechanisms.joint_assembly import K_D, K_G, D, K
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.types import Array


def joint_terms(
    dynamics: InverseDynamics, now: Instant, transport: bool, stressed: bool
) -> dict[int, Array]:
    """Terms (P, J, J) of named matrices over the constrained DOFs at P instants.

    transport: with those of rates of gradients. stressed: with those of forces.
    """
    topology, out = dynamics.topology, {}
    if not topology.compliance.is_empty:
        springs = topology.compliance.terms(now.state.t, now.gradient.data)
        out = {K: springs.stiffness, D: springs.damping}
        if transport:
            out[K_D] = springs.transport
    if stressed:
        on_loads = topology.applied.stiffness(now.forces, topology.touched)
        turning = topology.curvature(now.multipliers, now.wrench, dynamics.hessian(now))
        out[K_G] = turning + 0.5 * (on_loads + on_loads.swapaxes(-1, -2))
        # The part of a follower's stiffness without a potential is circulatory.
        out[K_D] = out.get(K_D, 0.0) + 0.5 * (on_loads - on_loads.swapaxes(-1, -2))
    return out
