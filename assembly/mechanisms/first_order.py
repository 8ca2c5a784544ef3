"""Prestress to first order in the loads of a mechanism: its matrices in their change with its
deflections.

With the equilibrium d(s) under a share s of all loads, the motion at √s of its pace, the frozen
system of the deformed mechanism (`deformed_motion`) is expanded at s = 0. d₁ = T q₁ are the
deflections of the stiffness alone, (TᵀKT) q₁ = Q. The change of a body's matrices by its part of d₁
is a sum over unit loads and rigid motions; the conditions turn with their nodes, G₁ = ∇²g d₁, and T
follows, G T₁ = −G₁T. The stiffness of bodies, K = ∫B₀ᵀHB₀, and of springs is a square, and stays
one (`assembly.bodies.first_order`):

    M₁ = (T + T₁)ᵀ(M + M′)(T + T₁),
    K₁ = (T + T₁)ᵀ[∫(B₀ + B₁)ᵀH(B₀ + B₁) + (G + G₁)ᵀS(G + G₁)](T + T₁) + Tᵀ(K_G + Σλ∇²g)T.

C and the transport terms change in order s^3/2 and beyond.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.bodies.first_order import RITZ_MODES, judge, left_out
from assembly.elements.taylor import Taylor
from assembly.errors import MechanismError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import EQUAL
from assembly.mechanisms.elastic_reduction import ElasticReduction, ReducedParts
from assembly.mechanisms.joint_assembly import CHANGED, K
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.types import Array

LOAD_STIFFNESS = ("K_epsilon", "K_omega2", "K_G", "K_transport")
FREE = (
    "prestress: the mechanism is free to move, so that no deflection is determined for "
    '"first-order"; hold its drivers, or give them a stiffness'
)


class FirstOrderDeflections:
    """The first-order deflections of a mechanism at P instants, and what they change.

    T (P, J, m): over the constrained DOFs. linear: the matrices of linear prestress. Q (P, n):
    loads.
    """

    def __init__(
        self,
        dynamics: InverseDynamics,
        elastic: ElasticReduction,
        now: Instant,
        T: Array,
        linear: ReducedParts,
        Q: Array,
    ) -> None:
        self.elastic, self.T, self.linear, self.topology = elastic, T, linear, elastic.topology
        self.stacks, self.pattern = elastic.pattern(True, True)
        tocsr = self.pattern.sparsity.tocsr
        try:
            self._factors = [Factorization(tocsr(values), "spd") for values in linear.parts["K"]]
        except SingularSystemError as fault:
            raise MechanismError(FREE) from fault
        self._mass = [tocsr(values) for values in linear.parts["M"]]
        q = [factor.solve(load) for factor, load in zip(self._factors, Q, strict=True)]
        self.d = np.array([self.pattern.expand(x, T[p]) for p, x in enumerate(q)])
        # With the forces of bushings beside joints at these deflections.
        x = (now.gradient.value @ self.d[:, self.topology.touched, None])[..., 0]
        compliance = self.topology.compliance
        forces = compliance.elastic(now.state.t, x) * compliance.beside
        self.stressed = bool(np.any(forces))
        self.now = dynamics.with_steady(now, now.steady + forces) if self.stressed else now
        self.gradient_change = self._gradient_change()
        self.slope = self._slope()

    def parts(self, T: Taylor, transport: bool) -> dict[str, Array]:
        """The named matrices to first order. Gives the memory of the factors back.

        Asks, or raises ConvergenceError, where the error estimate is large.
        """
        linear = self.linear
        try:
            if self.stressed:
                linear = self.elastic.parts(self.now, T, transport, True, True)
            parts = dict(linear.parts)
            stress = parts.get("K_G", 0.0) - self.linear.parts.get("K_G", 0.0)
            for name, change in zip(("M", "D", "K_G"), self._changes(linear, stress), strict=True):
                if np.any(change):
                    parts[name] = parts.get(name, 0.0) + change
            return parts
        finally:
            for factor in self._factors:
                factor.destroy()

    def _gradient_change(self) -> Array:
        """G₁ (P, rows, J); rotations of node sets are not linear in their DOFs."""
        topology, moved = self.topology, self.d[:, self.topology.touched]
        on_points = (moved @ topology.seen.T)[..., topology.unit_of]
        hessian = topology.hessian(self.now.frames, self.now.state.t)
        out = topology.spread((hessian @ on_points[..., None])[..., 0])
        units = topology.on_units(self.now.wrench)
        for number, (slots, second) in topology.fitted.items():
            mine = (topology.units[:, 0] == number) & (topology.units[:, 1] >= 3)
            turns = np.tensordot(moved[..., slots], second, (-1, 2))
            out[..., slots] += units[..., mine] @ turns[..., topology.units[mine, 1] - 3, :]
        return out

    def _slope(self) -> Array:
        """T₁ (P, J, m)."""
        slaves, held = self.elastic.partition.slaves, np.flatnonzero(self.elastic.held)
        out = np.zeros_like(self.T)
        if len(slaves):
            G = self.now.gradient.value[:, held][..., slaves]
            out[:, slaves] = -np.linalg.solve(G, self.gradient_change[:, held] @ self.T)
        return out

    def _changes(self, linear: ReducedParts, stress: Array | float) -> Array:
        """Changes of M, D and the stiffness beyond K_G, values (3, P, entries).

        stress: what bushings beside joints add to K_G by their deflections, (P, entries).
        """
        now, offsets = self.now, self.topology.offsets
        first, squares = [], []
        pairs = zip(self.topology.bodies.values(), self.stacks, strict=True)
        for i, (body, stack) in enumerate(pairs):
            d, twist, loading = (
                self.d[:, offsets[i] : offsets[i + 1]], now.state.twist[:, i], now.loading[:, i],
            )  # fmt: skip
            changes = body.first_order
            first.append(stack.changes(twist, loading, linear.loads[i], changes.mobility(d)))
            each = (changes.square_of(u, c) for u, c in zip(d, loading, strict=True))
            squares.append(np.stack([stack.placed(square) for square in each], axis=1))
        of_first, of_square = (np.concatenate(own, axis=2) for own in (first, squares))
        springs = self._springs(0.0)
        base, both = (linear.values[CHANGED], springs), []
        for sign in (1.0, -1.0):
            moved = of_square + sign * of_first, self._springs(sign) - springs
            both.append(self.pattern.reduce_changes(base, moved, self.T, sign * self.slope))
        found, opposite = both
        k = CHANGED.index(K)
        loads = sum(linear.parts[name] for name in LOAD_STIFFNESS if name in linear.parts)
        odd, even = 0.5 * (found[k] - opposite[k]), 0.5 * (found[k] + opposite[k])
        self._judge(odd, even, stress + 0.0 * odd, loads - stress + 0.0 * odd)
        return found

    def _springs(self, sign: float) -> Array:
        """M, D and K (3, P, J, J) of elastic drives and bushings with the gradient G ± G₁."""
        gradient = self.now.gradient.data[:2].copy()
        gradient[0] += sign * self.gradient_change
        stiffness, damping, _ = self.topology.compliance.terms(self.now.state.t, gradient)
        return np.stack([0.0 * damping, damping, stiffness])

    def _judge(
        self, changes: Array, squares: Array, stress: Array, loads: Array, rounds: int = 4
    ) -> None:
        """Judges the largest error estimate of all instants, by Ritz modes: of so many rounds of
        subspace iteration, from vectors at random.

        changes, squares: of first and second order in the deflections, but for those of the stress.
        loads: the stiffness of the loads at no deflection. Values (P, entries).
        """
        n, error = self.pattern.sparsity.shape[0], 0.0
        modes = np.random.default_rng(0).standard_normal((n, min(n, RITZ_MODES)))
        tocsr = self.pattern.sparsity.tocsr
        each = zip(self._factors, self._mass, changes, squares, stress, loads, strict=True)
        for factor, M, U, square, stressed, load in each:
            for _ in range(rounds):
                image = M @ modes
                modes = factor.solve(image)
                # φᵀKφ = 1 on the new span.
                sizes, vectors = la.eigh(modes.T @ image)
                kept = sizes > EQUAL * sizes[-1]
                modes = modes @ (vectors[:, kept] / np.sqrt(sizes[kept]))
            rounds = 1  # the modes of one instant are near those of the last
            image = tocsr(U) @ modes
            missing = modes.T @ (tocsr(square) @ modes) - image.T @ factor.solve(image)
            change = modes.T @ (image + tocsr(stressed) @ modes)
            error = max(error, left_out(missing, change, modes.T @ (tocsr(load) @ modes)))
        judge(error)
