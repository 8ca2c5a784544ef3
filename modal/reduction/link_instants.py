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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assembly.bodies.body import Prestress
from assembly.bodies.reduced import ReducedBody, SmallOperator
from assembly.elements.taylor import Taylor
from assembly.mechanisms.joint_assembly import C as CORIOLIS
from assembly.mechanisms.joint_assembly import D as DAMPING
from assembly.mechanisms.joint_assembly import M as MASS
from assembly.mechanisms.joint_assembly import body_terms
from assembly.mechanisms.mechanism import Mechanism
from assembly.mechanisms.reactions import Instant
from assembly.mechanisms.reduced_mechanism import ReducedMechanism
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.affine import Coefficients
from modal.reduction.instants import Instants
from modal.reduction.link_basis import LinkBasis
from modal.reduction.residuals import Roles, sketched
from modal.types import Array, Index


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

    @property
    def arguments(self) -> dict[str, Any]:
        """All of them, by name."""
        return dict(transport=self.transport, prestress=self.prestress, driven=self.driven)


@dataclass(frozen=True)
class LinkPoints:
    """A mechanism and a time, s, for each of P points."""

    mechanisms: tuple[Mechanism, ...]
    times: Array

    @classmethod
    def of(cls, mechanism: Mechanism, times: Array) -> LinkPoints:
        """Times of one mechanism."""
        return cls((mechanism,) * len(times), times)

    def __len__(self) -> int:
        return len(self.times)

    def take(self, index: Index) -> LinkPoints:
        """Some of the points."""
        return LinkPoints(tuple(self.mechanisms[p] for p in index), self.times[index])

    @classmethod
    def joined(cls, parts: Sequence[LinkPoints]) -> LinkPoints:
        """Several points after one another."""
        mechanisms = tuple(mechanism for part in parts for mechanism in part.mechanisms)
        return cls(mechanisms, np.concatenate([part.times for part in parts]))

    def by_mechanism(self) -> list[Index]:
        """The numbers of the points of each mechanism."""
        groups: dict[int, list[int]] = {}
        for p, mechanism in enumerate(self.mechanisms):
            groups.setdefault(id(mechanism), []).append(p)
        return [np.array(numbers) for numbers in groups.values()]


class LinkInstants(Instants):
    """P instants of a reduced mechanism.

    bases: of its reduced bodies, by name. free: whether nothing resists some motion.
    """

    def __init__(
        self,
        mechanism: ReducedMechanism,
        bases: Mapping[str, LinkBasis],
        times: Array,
        options: Options,
    ) -> None:
        self.mechanism, self.bases, self.times, self.options = mechanism, bases, times, options
        series: FrozenSeries = mechanism.freeze_many(times, **options.arguments)
        self.free = series.rigid[0].shape[1] > 0
        self.matrices = np.stack([series.mass, series.damping, series.stiffness])

    @classmethod
    def at(
        cls,
        points: LinkPoints,
        reduced: Callable[[Mechanism], ReducedMechanism],
        bases: Mapping[str, LinkBasis],
        options: Options,
    ) -> LinkInstants:
        """Points of several mechanisms of the same links."""
        groups = points.by_mechanism()
        parts = [
            cls(reduced(points.mechanisms[numbers[0]]), bases, points.times[numbers], options)
            for numbers in groups
        ]
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.concatenate(groups))
        other = copy.copy(parts[0])
        other.free = any(part.free for part in parts)
        other.times = np.concatenate([part.times for part in parts])[order]
        other.matrices = np.concatenate([part.matrices for part in parts], axis=1)[:, order]
        other.jets = {
            name: np.concatenate([part.jets[name] for part in parts], axis=1)[:, order]
            for name in bases
        }
        other.coefficients = {
            name: Coefficients.joined([part.coefficients[name] for part in parts]).take(order)
            for name in bases
        }
        return other

    def taken(self, index: Index) -> LinkInstants:
        """Some of the instants."""
        other = copy.copy(self)
        other.times, other.matrices = self.times[index], self.matrices[:, index]
        other.jets = {name: jet[:, index] for name, jet in self.jets.items()}
        other.coefficients = {name: at.take(index) for name, at in self.coefficients.items()}
        return other

    @property
    def names(self) -> tuple[str, ...]:
        """The reduced links."""
        return tuple(self.bases)

    @property
    def resolved(self) -> float:  # type: ignore[override]
        """That of the link whose basis holds the fewest free modes."""
        return min(basis.resolved for basis in self.bases.values())

    def sizes(self, name: str) -> tuple[Array, Array]:
        """Those of the basis of a link, as many shapes as the instants have."""
        basis, r = self.bases[name], self.jets[name].shape[2]
        return basis.sizes[:, :r, :r], basis.products.factors

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
    def coefficients(self) -> dict[str, Coefficients]:  # type: ignore[override]
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
            tables = np.zeros((3, len(self.times), len(basis.family.terms)))
            units = tuple(range(12))
            for term in body_terms(body, np.zeros((0, 0)), self.options.stressed, units):
                if isinstance(term.matrix, SmallOperator):
                    role = {MASS: 0, CORIOLIS: 1, DAMPING: 1}.get(term.part, 2)
                    tables[role][:, term.matrix.number] += term.factor * numbers[:, term.place]
            for (point, axis), number in basis.rotations.items() if self.options.stressed else ():
                unit = (topology.units == (point, axis + 3)).all(axis=1)
                tables[2][:, number] = -self._reactions[:, unit].sum(axis=1)
            out[name] = Coefficients(tables)
        return out

    @cached_property
    def _reactions(self) -> Array:
        """Forces and moments of the joints, (P, units)."""
        now = self.now
        on_units = self.mechanism.topology.on_units(now.wrench)
        return np.asarray(-(now.multipliers[:, None] @ on_units)[:, 0])

    def sketch(self, name: str, roles: Roles, transposed: bool = False) -> Inexact:
        """Θ and Ξ of the residuals of one link, (P, 2, p, k)."""
        sketches = self.bases[name].free_sketches(transposed)
        return sketched(sketches[..., : roles[0].shape[1]], self.coefficients[name], roles)
