"""Instants of a reduced mechanism, and the residuals of its modes in the full one, sketched.

With δ = T q, δ₁ = Ṫ q, δ₂ = T̈ q of a mode (λ, q), the equations of the full mechanism are TᵀR with

    R = [λ²M + λ(C + D) + K] δ + [2λM + C + D] δ₁ + M δ₂

over the DOFs of all bodies, M … K block diagonal. Forces that the constraints take, S f at the
joints, drop out of TᵀR, so R is known up to these, and by the inequality of Cauchy and Schwarz

    ‖TᵀR‖²_{(TᵀK_refT)⁻¹} ≤ Σ_bodies min_f ‖R + S f‖²_{K_ref⁻¹}.

Of the adjoint problem ṪᵀX and T̈ᵀX are forces at the joints too: J T = 0 gives Ṫᵀ = TᵀSᵀ(…), so its
R is [λ̄²M + λ̄(C + D)ᵀ + Kᵀ] δ alone. Bodies that are not reduced satisfy their equations exactly.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assembly.bodies.body import Prestress
from assembly.bodies.reduced import ReducedBody, SmallOperator
from assembly.elements.taylor import Taylor
from assembly.mechanisms.joint_assembly import C as CORIOLIS
from assembly.mechanisms.joint_assembly import D as DAMPING
from assembly.mechanisms.joint_assembly import M as MASS
from assembly.mechanisms.joint_assembly import body_terms
from assembly.mechanisms.reactions import Instant
from assembly.mechanisms.reduced_mechanism import ReducedMechanism
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.affine import Coefficients
from modal.reduction.link_basis import LinkBasis
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.residuals import Roles, dual_squares, roles_of_modes, sketched
from modal.types import Array, Complex, Index


@dataclass(frozen=True)
class Options:
    """How a mechanism is frozen: the arguments of its `freeze`."""

    transport: bool = True
    stressed: bool = True
    driven: bool | None = None

    @property
    def prestress(self) -> Prestress:
        """The argument of `freeze`."""
        return "linear" if self.stressed else None


class LinkInstants:
    """P instants of a reduced mechanism.

    bases: of its reduced bodies, by name. mass, damping, stiffness (P, n, n). free: whether nothing
    resists some motion.
    """

    def __init__(
        self,
        mechanism: ReducedMechanism,
        bases: dict[str, LinkBasis],
        times: Array,
        options: Options,
    ) -> None:
        self.mechanism, self.bases, self.times, self.options = mechanism, bases, times, options
        series: FrozenSeries = mechanism.freeze_many(
            times, options.transport, options.prestress, options.driven
        )
        self.free = series.rigid[0].shape[1] > 0
        self.mass, self.damping, self.stiffness = series.mass, series.damping, series.stiffness

    def taken(self, index: Index) -> LinkInstants:
        """Some of the instants."""
        other = copy.copy(self)
        for name in ("now", "_reactions"):
            other.__dict__.pop(name, None)
        other.times = self.times[index]
        other.mass, other.damping, other.stiffness = (
            A[index] for A in (self.mass, self.damping, self.stiffness)
        )
        other.jets = {name: jet[:, index] for name, jet in self.jets.items()}
        other.coefficients = {name: at.take(index) for name, at in self.coefficients.items()}
        return other

    @cached_property
    def now(self) -> Instant:
        """Rigid states, conditions and multipliers."""
        return self.mechanism.instants(self.times)

    @cached_property
    def jets(self) -> dict[str, Array]:
        """T, Ṫ and T̈ of every link, (3, P, r, n): δ = T q in the shapes of the link."""
        elastic, topology = self.mechanism.elastic(self.options.driven), self.mechanism.topology
        T = elastic.transform(self.now)
        jet = (T if self.options.transport else Taylor.constant(T.value)).data
        touched, n = topology.touched, len(elastic.masters)
        whole = np.zeros((3, len(self.times), int(topology.offsets[-1]), n))
        whole[0][:, elastic.masters, np.arange(n)] = 1.0
        masters = whole[0, 0, touched[elastic.partition.masters]]
        for out, part in zip(whole, jet, strict=True):
            out[:, touched] = part @ masters
        jets = {}
        for name in self.bases:
            number, body = self._link(name)
            span = slice(topology.offsets[number], topology.offsets[number + 1])
            jets[name] = body.turn @ whole[:, :, span]
        return jets

    def roles(self, name: str, q: Inexact, v: Inexact, a: Inexact, adjoint: bool = False) -> Roles:
        """What the operators of a link multiply, of q, q̇ and q̈ (P, n, k) of the mechanism."""
        T, rate, curvature = self.jets[name]
        if adjoint:
            return T @ a, T @ v, T @ q
        return T @ a + 2.0 * (rate @ v) + curvature @ q, T @ v + rate @ q, T @ q

    def _link(self, name: str) -> tuple[int, ReducedBody]:
        body = self.mechanism.bodies[name]
        assert isinstance(body, ReducedBody)
        return list(self.mechanism.bodies).index(name), body

    @cached_property
    def coefficients(self) -> dict[str, Coefficients]:
        """The multipliers of every link's fixed matrices."""
        now, topology = self.now, self.mechanism.topology
        out = {}
        for name, basis in self.bases.items():
            number, body = self._link(name)
            loads = [self._reactions[:, topology.own[number]]]
            loads.append(topology.applied.on_body(now.forces, number))
            ones = np.ones((len(self.times), 1))
            state = (now.state.twist[:, number], now.coefficients[:, number])
            numbers = np.hstack([ones, *state, now.loading[:, number], *loads])
            tables = [np.zeros((len(self.times), len(basis.family.terms))) for _ in range(3)]
            units = tuple(range(12))
            for term in body_terms(body, np.zeros((0, 0)), self.options.stressed, units):
                if isinstance(term.matrix, SmallOperator):
                    role = {MASS: 0, CORIOLIS: 1, DAMPING: 1}.get(term.part, 2)
                    tables[role][:, term.matrix.number] += term.factor * numbers[:, term.place]
            for (point, axis), number in basis.rotations.items() if self.options.stressed else ():
                unit = (topology.units == (point, axis + 3)).all(axis=1)
                tables[2][:, number] = -self._reactions[:, unit].sum(axis=1)
            out[name] = Coefficients(*tables)
        return out

    @cached_property
    def _reactions(self) -> Array:
        """Forces and moments of the joints, (P, units)."""
        now = self.now
        on_units = self.mechanism.topology.on_units(now.wrench)
        return np.asarray(-(now.multipliers[:, None] @ on_units)[:, 0])

    def dual_norms(self, lam: Complex, vectors: Complex, transposed: bool) -> Array:
        """Norms (P, k) of the residuals of modes, dual to the K_ref of the links, sketched."""
        motions = roles_of_modes(lam.conj() if transposed else lam, vectors)[::-1]
        square = sum(
            dual_squares(self.sketch(name, self.roles(name, *motions, transposed), transposed))
            for name in self.bases
        )
        return np.sqrt(square)

    def sketch(self, name: str, roles: Roles, transposed: bool = False) -> Inexact:
        """Θ and Ξ of the residuals of one link, (P, 2, p, k)."""
        sketches = self.bases[name].free_sketches(transposed)
        return sketched(sketches[..., : roles[0].shape[1]], self.coefficients[name], roles)

    def pairing(self, modes: SmallModes) -> Complex:
        """wᴴ(2λM + E)u, (P, k)."""
        u, lam = modes.right, modes.eigenvalues[:, None, :]
        image = 2.0 * lam * (self.mass @ u) + self.damping @ u
        return np.asarray((modes.left.conj() * image).sum(axis=1))
