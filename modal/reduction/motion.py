"""Models on reduced spaces, for what follows their motion in time: a turn, a spin-up, a swing.

The space is grown until the lowest frozen modes of instants all along the motion are certified. A
trajectory q(t) on it leaves the residual ρ = M q̈ + (C + D) q̇ + K q − f in the full equations. The
shapes outside the space respond to it nearly statically, so that its norm dual to K_ref is the size
of what is missing, in the energy norm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from assembly.linalg.combination import Pattern
from assembly.mechanisms.mechanism import LARGE_BODY, Mechanism, MechanismSystem
from assembly.system.frozen import PARTS, FrozenSeries, FrozenSystem
from assembly.types import Inexact
from modal.reduction.affine import (
    AffineFamily,
    Coefficients,
    Freeze,
    Point,
    multipliers,
    shares_operators,
)
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.body_space import BodySpace
from modal.reduction.instants import BODY, Instants, dual_squares
from modal.reduction.link_space import LinkFamily, LinkPoints, LinkSpace, linked
from modal.reduction.projection import projections
from modal.reduction.space import SAMPLE, Space
from modal.types import Array


class ReducedMotion:
    """A model of r degrees of freedom, `freeze(t)`, and the way to the N of the full one.

    What a subclass gives: `freeze_many(times)`; `lift`, DOFs (N, ...) of coordinates (r, ...);
    `coordinates` of shapes (N, ...) that the space contains; generalised `forces` (r, ...) of those
    (N, ...); `on_parts`, forces (P, N, k) on each part; `instants` at times. period: of the motion,
    s, or None. description: the space, in words.
    """

    space: Space

    def __init__(self, space: Space, period: float | None) -> None:
        self.space, self.period, self.description = space, period, space.description

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """The frozen systems of the reduced model at several times, s."""
        raise NotImplementedError

    def lift(self, q: Inexact) -> Inexact:
        """DOFs (N, ...) of the full model."""
        raise NotImplementedError

    def coordinates(self, q: Array) -> Array:
        """Coordinates (r, ...) of shapes (N, ...) of the full model that the space contains."""
        raise NotImplementedError

    def forces(self, f: Array) -> Array:
        """Generalised forces (r, ...) of those (N, ...) on the full model."""
        raise NotImplementedError

    def on_parts(self, f: Array) -> dict[str, Array]:
        """Forces (P, N, k) on the full model, on each part of the space, (P, n, k)."""
        return {BODY: f}

    def instants(self, times: Array) -> Instants:
        """The motion at times, s."""
        raise NotImplementedError

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of the reduced model at time t, s."""
        return self.freeze_many(np.array([t]))[0]

    def missing(
        self, times: Array, q: Inexact, v: Inexact, a: Inexact, f: Array | None = None
    ) -> tuple[Array, Array]:
        """The size of what the space misses, (P, k) each: in the energy norm, √J, and in the norm
        of the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, r, k); f: forces
        on the full model (P, N, k)."""
        at = self.instants(times)
        square, weak = np.zeros((2, len(times), q.shape[2]))
        loads = {} if f is None else self.on_parts(f)
        for name, part in self.space.parts.items():
            sketch = at.sketch(name, at.roles(name, (q, v, a)))
            if name in loads:
                sketch = np.asarray(sketch - part.sketched_forces(loads[name]))
            square += dual_squares(sketch)
            weak += np.linalg.norm(sketch[:, 0], axis=1) ** 2
        return UNDERESTIMATE * np.sqrt(square), UNDERESTIMATE * np.sqrt(weak)

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return self.space.quotient_round_off(sizes)


class BodyMotion(ReducedMotion):
    """A body: its instants are combinations of fixed operators, which are projected once."""

    space: BodySpace

    def __init__(
        self, freeze: Callable[[float], FrozenSystem], space: BodySpace, period: float | None
    ) -> None:
        super().__init__(space, period)
        self._freeze, self._basis = freeze, space.basis
        self._projected = space.projected  # without operators that other motions brought
        r = self._projected.size
        self._pattern = Pattern(r, np.tile(np.arange(r), r), np.arange(0, r * r + 1, r))

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        at = np.atleast_1d(np.asarray(times, dtype=float))
        loads, rows, rigid = np.zeros((len(at), self._pattern.shape[0])), [], []
        for p, t in enumerate(at.tolist()):
            system = self._frozen(t)
            rows.append({name: self.space.family.row(system, (name,)) for name in PARTS})
            loads[p] = self.forces(system.Q)
            rigid.append(self.coordinates(system.rigid))
        flat = self._projected.matrices.reshape(len(self._projected.matrices), -1)
        values = {}
        for name in PARTS:
            table = multipliers([row[name] for row in rows], len(flat))
            if np.any(table):
                values[name] = table @ flat
        return FrozenSeries(at, self._pattern, values, loads, tuple(rigid))

    def _frozen(self, t: float) -> FrozenSystem:
        """The full system at t, whose operators are projected if they are new."""
        system, projected = self._freeze(t), self._projected
        family, known = self.space.family, len(projected.matrices)
        family.register(system)
        if len(family.terms) > known:
            basis, Z = self._basis, self._basis.rotation
            new = projections(family.terms[known:], basis.tests, basis.V)
            matrices = np.stack([Z.T @ parts[0] @ Z for parts in new])
            sketches = np.stack([np.stack(parts[1:]) @ Z for parts in new])
            self._projected = replace(
                projected,
                matrices=np.concatenate([projected.matrices, matrices]),
                images=np.concatenate([projected.images[:1], sketches[None]], axis=1),
            )
        return system

    def lift(self, q: Inexact) -> Inexact:
        return self._basis.lift(q)

    def coordinates(self, q: Array) -> Array:
        return np.asarray(self._basis.rotation.T @ (self._basis.columns.MV.T @ q))

    def forces(self, f: Array) -> Array:
        return np.asarray(self._basis.rotation.T @ (self._basis.V.T @ f))

    def instants(self, times: Array) -> Instants:
        systems = [({"t": t}, self._frozen(t)) for t in times.tolist()]
        return Instants.of_body(self._projected, self.space.family.of_systems(systems))


class LinkMotion(ReducedMotion):
    """A mechanism on the bases of its links."""

    space: LinkSpace

    def __init__(self, space: LinkSpace, mechanism: Mechanism) -> None:
        super().__init__(space, mechanism.period)
        self.mechanism, self._driven = space.reduced(mechanism), space.family.first.driven

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        return self.mechanism.freeze_many(times, **self.space.family.arguments)

    def causes(self, times: Array) -> list[Array]:
        """As of the mechanism."""
        return self.mechanism.causes(times)

    def lift(self, q: Inexact) -> Inexact:
        return self.mechanism.lift(q, self._driven)

    def coordinates(self, q: Array) -> Array:
        return self.mechanism.coordinates(q, self._driven)

    def forces(self, f: Array) -> Array:
        return self.mechanism.forces(f, self._driven)

    def on_parts(self, f: Array) -> dict[str, Array]:
        return self.mechanism.on_bodies(f)

    def instants(self, times: Array) -> Instants:
        return self.space.at(self.mechanism, times)


def may_be_reduced(system: FrozenSystem) -> bool:
    """Whether an instant is that of a mechanism with large links, or of a model that is large."""
    if isinstance(system, MechanismSystem):
        return linked(system) is not None
    return system.n >= LARGE_BODY


def motion_on_basis(
    freeze: Callable[[float], FrozenSystem],
    times: tuple[float, float],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
    period: float | None = None,
    free: bool = False,
) -> ReducedMotion | None:
    """Of a mechanism with large links, or a large body, between two times, s; None of another
    model, or where no basis is accurate enough.

    k, accuracy: frozen modes that the basis holds all along the motion, and their error, relative.
    shapes (N,): contained in the basis; forces (N,): whose static responses are. period: of the
    motion of a body, s. free: whether a body that is free to move may be reduced.
    """
    first = freeze(times[0])
    if not may_be_reduced(first):
        return None
    if isinstance(first, MechanismSystem):
        return link_motion(first, times, k, accuracy, shapes, forces)
    points = [{"t": float(t)} for t in np.linspace(*times, SAMPLE)]
    found = body_space(lambda point: freeze(point["t"]), points, k, accuracy, shapes, forces, free)
    if found is None or found[0].train_for_good(found[1]) > 1.0:
        return None
    return BodyMotion(freeze, found[0], period)


def body_space(
    freeze: Freeze,
    points: Sequence[Point],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
    free: bool = False,
) -> tuple[BodySpace, Coefficients] | None:
    """The space of a model for some of its instants, before its training, and these instants.

    shapes (n,): contained in the basis; forces (n,): whose static responses are. None of a model
    whose instants do not share their operators, or that is free to move unless `free`.
    """
    if not shares_operators(freeze, [points[0], points[len(points) // 2], points[-1]]):
        return None
    family = AffineFamily(freeze, points[0])
    at = family.coefficients(points)
    if family.rigid.shape[1] and not free:
        return None
    space = BodySpace(family, at.padded(len(family.terms)), k, accuracy)
    space.basis.include(np.column_stack([family.rigid, *shapes]))
    if len(forces):
        space.basis.grow(np.stack(forces, axis=1))
    space.refresh()
    return space, at


def link_motion(
    system: MechanismSystem,
    times: tuple[float, float],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
) -> LinkMotion | None:
    """A mechanism between two times, s, on bases of its links that contain some shapes (N,) of it,
    and the static responses of its links to some forces (N,); None where these are not accurate
    enough."""
    mechanism = system.mechanism
    space = LinkSpace(LinkFamily(system), k, accuracy)
    links = space.frame
    for name, basis in space.parts.items():
        if len(shapes):
            basis.include(links.on_bodies(np.stack(shapes, axis=1)[None])[name][0])
        if len(forces):
            basis.include(basis.solve(links.on_bodies(np.stack(forces, axis=1)[None])[name][0]))
    space.refresh()
    worst = space.train_for_good(LinkPoints.of(mechanism, np.linspace(*times, SAMPLE)))
    return None if worst > 1.0 else LinkMotion(space, mechanism)
