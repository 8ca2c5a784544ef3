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
from modal.reduction.affine import Coefficients
from modal.reduction.link_basis import LinkBasis
from modal.reduction.reduced_eigen import SmallModes
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


@dataclass(frozen=True)
class Motions:
    """δ, δ₁, δ₂ of modes in the shapes of a link, (P, r, k) each."""

    first: Complex
    rate: Complex
    second: Complex

    def roles(self, lam: Complex) -> tuple[Complex, Complex, Complex]:
        """What mass, damping and stiffness multiply, λ (P, k)."""
        lam = lam[:, None, :]
        return (
            lam**2 * self.first + 2.0 * lam * self.rate + self.second,
            lam * self.first + self.rate,
            self.first,
        )


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
        other.transformation = Taylor(self.transformation.data[:, index])
        other.coefficients = {name: at.take(index) for name, at in self.coefficients.items()}
        return other

    @cached_property
    def now(self) -> Instant:
        """Rigid states, conditions and multipliers."""
        return self.mechanism.instants(self.times)

    @cached_property
    def transformation(self) -> Taylor:
        """The jet of T over the constrained DOFs."""
        T = self.mechanism.elastic(self.options.driven).transform(self.now)
        return T if self.options.transport else Taylor.constant(T.value)

    def motions(self, vectors: Complex) -> dict[str, Motions]:
        """The motions of every link in modes (P, n, k)."""
        elastic, topology = self.mechanism.elastic(self.options.driven), self.mechanism.topology
        size = int(topology.offsets[-1])
        touched = topology.touched
        whole = np.zeros((3, len(vectors), size, vectors.shape[2]), dtype=complex)
        whole[0][:, elastic.masters] = vectors
        held = whole[0][:, touched[elastic.partition.masters]]
        for k, T in enumerate(self.transformation.data):
            whole[k][:, touched] = T @ held
        out = {}
        for name in self.bases:
            number, body = self._link(name)
            span = slice(topology.offsets[number], topology.offsets[number + 1])
            out[name] = Motions(*(body.turn @ part[:, span] for part in whole))
        return out

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
        if transposed:
            lam = lam.conj()
        square = np.zeros(lam.shape)
        for name, motions in self.motions(vectors).items():
            sketch = self.sketch(name, lam, self.of(motions, transposed), transposed)
            norms = np.linalg.norm(sketch, axis=2)
            square += norms[:, 0] * norms[:, 1]
        return np.sqrt(square)

    @staticmethod
    def of(motions: Motions, transposed: bool) -> Motions:
        """What the residual of the problem, or of the adjoint one, is made of."""
        if not transposed:
            return motions
        rest = np.zeros_like(motions.first)
        return Motions(motions.first, rest, rest)

    def sketch(self, name: str, lam: Complex, motions: Motions, transposed: bool) -> Complex:
        """Θ and Ξ of the residuals of one link, (P, 2, p, k)."""
        basis, at = self.bases[name], self.coefficients[name]
        r = motions.first.shape[1]
        images = basis.sketched[1 if transposed else 0][..., :r]
        J, _, p, _ = images.shape
        flat = images.reshape(J, -1)
        out = np.zeros((len(lam), 2 * p, lam.shape[1]), dtype=complex)
        for part, x in zip((at.mass, at.damping, at.stiffness), motions.roles(lam), strict=True):
            if np.any(part):
                out = out + (part @ flat).reshape(len(lam), 2 * p, r) @ x
        return out.reshape(len(lam), 2, p, -1)

    def residual_columns(self, name: str, lam: Complex, motions: Motions) -> Complex:
        """Coordinates (J, r, k) of the residuals of one instant by the fixed matrices of a link."""
        at = self.coefficients[name]
        tables = (at.mass, at.damping, at.stiffness)
        return sum(
            table[0][:, None, None] * x[0][None]
            for table, x in zip(tables, motions.roles(lam), strict=True)
        )

    def pairing(self, modes: SmallModes) -> Complex:
        """wᴴ(2λM + E)u, (P, k)."""
        u, lam = modes.right, modes.eigenvalues[:, None, :]
        image = 2.0 * lam * (self.mass @ u) + self.damping @ u
        return np.asarray((modes.left.conj() * image).sum(axis=1))
