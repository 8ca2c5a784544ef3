"""Prestress to first order in the loads of a mechanism: its matrices in their change with its
deflections.

With the equilibrium d(s) under a share s of all loads, the motion at √s of its pace, the frozen
system of the deformed mechanism (`deformed_motion`) is expanded at s = 0. d₁ = T q₁ are the
deflections of the stiffness alone, (TᵀKT) q₁ = Q. The change of a body's matrices by its part of d₁
is a sum over unit loads and rigid motions; the conditions turn with their nodes, G₁ = ∇²g d₁, and T
follows, G T₁ = −G₁T:

    M₁ = TᵀM′T + T₁ᵀMT + TᵀMT₁,
    K₁ = Tᵀ(K_G + Σλ∇²g + U + G₁ᵀSG + GᵀSG₁) T + T₁ᵀKT + TᵀKT₁.

C and the transport terms change in order s^3/2 and beyond.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as la

from assembly.bodies.first_order import DEPENDENT, judge
from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.joint_assembly import CHANGED, D, K
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.mechanisms.reduced_parts import ReducedParts, reduced_parts
from assembly.types import Array

TRIALS = 6  # Ritz modes of the error estimate
ROUNDS = 4  # of subspace iteration, from vectors at random
TINY = 1e-300
FREE = (
    "prestress: the mechanism is free to move, so that no deflection is determined for "
    '"first-order"; hold its drivers, or give them a stiffness'
)


def first_order_parts(
    dynamics: InverseDynamics,
    elastic: ElasticReduction,
    now: Instant,
    T: Taylor,
    transport: bool,
    linear: ReducedParts,
    Q: Array,
) -> dict[str, Array]:
    """The named matrices to first order, from those of linear prestress.

    Asks, or raises ConvergenceError, where the error estimate is large.
    """
    deflected = FirstOrderDeflections(dynamics, elastic, now, T.value, linear.parts, Q)
    try:
        if deflected.now is not now:
            linear = reduced_parts(dynamics, elastic, deflected.now, T, transport, True, True)
        parts = dict(linear.parts)
        found = deflected.changes(linear)
        for name, change in zip(("M", "D", "K_G"), found, strict=True):
            if np.any(change):
                parts[name] = parts.get(name, 0.0) + change
        return parts
    finally:
        deflected.destroy()


class FirstOrderDeflections:
    """The first-order deflections of a mechanism at P instants, and what they change.

    T (P, J, m): over the constrained DOFs. linear: the named matrices of linear prestress, values
    on the pattern; only those of M and K matter. Q (P, n): loads.
    """

    def __init__(
        self,
        dynamics: InverseDynamics,
        elastic: ElasticReduction,
        now: Instant,
        T: Array,
        linear: dict[str, Array],
        Q: Array,
    ) -> None:
        self.dynamics, self.elastic, self.T = dynamics, elastic, T
        self.topology = dynamics.topology
        self.stacks, self.pattern = elastic.pattern(True, True)
        count, tocsr = len(Q), self.pattern.sparsity.tocsr
        try:
            self._factors = [Factorization(tocsr(values), "spd") for values in linear["K"]]
        except SingularSystemError as fault:
            raise MechanismError(FREE) from fault
        self._mass = [tocsr(linear["M"][p]) for p in range(count)]
        q = [factor.solve(load) for factor, load in zip(self._factors, Q, strict=True)]
        self.d = np.array([self.pattern.expand(x, T[p]) for p, x in enumerate(q)])
        self.now = self._with_springs(now)

    def _with_springs(self, now: Instant) -> Instant:
        """With the forces of bushings beside joints at their first-order deflections."""
        compliance = self.topology.compliance
        forces = compliance.beside_joints(now.state.t, self._deflections(now))
        if not np.any(forces):
            return now
        return self.dynamics.with_steady(now, now.steady + forces)

    def _deflections(self, now: Instant) -> Array:
        """What the deflections add to all rows, (P, rows)."""
        touched = self.d[:, self.topology.touched]
        return np.asarray((now.gradient.value @ touched[..., None])[..., 0])

    @cached_property
    def gradient_change(self) -> Array:
        """G₁ (P, rows, J); rotations of node sets are not linear in their DOFs."""
        topology, moved = self.topology, self.d[:, self.topology.touched]
        on_points = (moved @ topology.seen.T)[..., topology.unit_of]
        hessian = self.dynamics.hessian(self.now)
        out = topology.spread((hessian @ on_points[..., None])[..., 0])
        units = topology.on_units(self.now.wrench)
        for number, (slots, second) in topology.fitted.items():
            mine = (topology.units[:, 0] == number) & (topology.units[:, 1] >= 3)
            turns = np.tensordot(moved[..., slots], second, (-1, 2))
            out[..., slots] += units[..., mine] @ turns[..., topology.units[mine, 1] - 3, :]
        return out

    @cached_property
    def slope(self) -> Array:
        """T₁ (P, J, m)."""
        slaves, held = self.elastic.partition.slaves, np.flatnonzero(self.elastic.held)
        out = np.zeros_like(self.T)
        if len(slaves):
            G = self.now.gradient.value[:, held][..., slaves]
            out[:, slaves] = -np.linalg.solve(G, self.gradient_change[:, held] @ self.T)
        return out

    def changes(self, linear: ReducedParts) -> Array:
        """First-order changes of M, D and the stiffness beyond K_G, values (3, P, entries)."""
        now, offsets = self.now, self.topology.offsets
        own = []
        for i, (body, stack) in enumerate(
            zip(self.topology.bodies.values(), self.stacks, strict=True)
        ):
            mobile = body.first_order.mobility(self.d[:, offsets[i] : offsets[i + 1]])
            twist, loading = now.state.twist[:, i], now.loading[:, i]
            own.append(stack.changes(twist, loading, linear.loads[i], mobile))
        count, J = len(self.d), len(self.topology.touched)
        base, change = np.zeros((2, 3, count, J, J))
        for k, part in enumerate(CHANGED):
            base[k] = linear.joints.get(part, 0.0)
        change[CHANGED.index(D)], change[CHANGED.index(K)] = self._springs()
        found = self.pattern.reduce_changes(
            (linear.values[CHANGED], base),
            (np.concatenate(own, axis=2), change),
            self.T,
            self.slope,
        )
        self._judge(found[CHANGED.index(K)])
        return found

    def _springs(self) -> tuple[Array, Array]:
        """G₁ᵀcG + GᵀcG₁ and G₁ᵀSG + GᵀSG₁ of elastic drives and bushings, (P, J, J) each."""
        data, change = self.now.gradient.data[:2], self.gradient_change
        terms = self.topology.compliance.terms
        # Halves of the difference of two squares, of gradients alike in size.
        scale = np.abs(data[0]).max(initial=0.0) / max(np.abs(change).max(initial=0.0), TINY)
        step = np.stack([scale * change, 0.0 * change])
        ahead, behind = (terms(self.now.state.t, data + sign * step) for sign in (1.0, -1.0))
        half = 0.5 / scale if scale else 0.0
        return half * (ahead.damping - behind.damping), half * (ahead.stiffness - behind.stiffness)

    def _judge(self, K_changes: Array) -> None:
        """Judges the largest error estimate of all instants, by Ritz modes."""
        n, error = self.pattern.sparsity.shape[0], 0.0
        modes = np.random.default_rng(0).standard_normal((n, min(n, TRIALS)))
        rounds = ROUNDS
        for factor, M, values in zip(self._factors, self._mass, K_changes, strict=True):
            for _ in range(rounds):
                image = M @ modes
                modes = factor.solve(image)
                # φᵀKφ = 1 on the new span.
                sizes, vectors = la.eigh(modes.T @ image)
                kept = sizes > DEPENDENT * sizes[-1]
                modes = modes @ (vectors[:, kept] / np.sqrt(sizes[kept]))
            rounds = 1  # the modes of one instant are near those of the last
            image = self.pattern.sparsity.tocsr(values) @ modes
            error = max(error, float(la.eigvalsh(image.T @ factor.solve(image))[-1]))
        judge(error)

    def destroy(self) -> None:
        """Gives the memory of the factors back."""
        for factor in self._factors:
            factor.destroy()
