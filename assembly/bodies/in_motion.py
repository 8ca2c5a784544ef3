"""Forces of bodies in motion at finite displacements, their derivatives, energy and momentum.

In the frame of a body, which moves by the rigid motion,

    F(d, v, a) = f(d) + inertia of (d, v, a) + damping of v − loads of the motion,

f of the elements at large displacement and inertia of the points where finite rotations carry them
(`ElementFamily.force`). The elements of one kind of all
bodies are evaluated in one pass, each with the motion of its own body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.bodies.body import Body
from assembly.bodies.operators import nonzero
from assembly.dofs import DofMap
from assembly.elements.family import ElementFamily, Passage, Wanted
from assembly.elements.large_rotation import spin_inverse_matrix
from assembly.elements.moments import SIZE, kinetic_energy, momenta, velocity_map
from assembly.elements.scatter import Entries
from assembly.system.frozen import PARTS
from assembly.types import AnyArray, Array, Index


@dataclass(frozen=True)
class Energies:
    """Energy of a state; of states at several instants (P,).

    Parameters
    ----------
    kinetic : float or ndarray, shape (P,)
        Of the absolute motion, J.
    strain : float or ndarray, shape (P,)
        Of elements, springs and bushings, with the work of preloads, J.
    gravity : float or ndarray, shape (P,)
        Potential of the weight, zero at the origin of the fixed axes, J.
    """

    kinetic: Any
    strain: Any
    gravity: Any

    @property
    def total(self) -> Any:
        """Kinetic energy and potentials, J."""
        return self.kinetic + self.strain + self.gravity


@dataclass(frozen=True)
class Momenta:
    """Momentum of a state, fixed axes; of states at several instants (P,).

    Parameters
    ----------
    linear : ndarray, shape (..., 3)
        N·s.
    angular : ndarray, shape (..., 3)
        About the origin of the fixed axes, N·m·s.
    """

    linear: Array
    angular: Array


@dataclass(frozen=True)
class Powers:
    """What changes the energy of a state, W; of states at several instants (P,).

    Parameters
    ----------
    loads : float or ndarray, shape (P,)
        Of applied loads.
    drives : float or ndarray, shape (P,)
        Of drives, and of what moves or holds a body's frame.
    dampers : float or ndarray, shape (P,)
        Of dampers and internal damping; never positive.
    """

    loads: Any
    drives: Any
    dampers: Any


M, C, D, K, K_EPSILON, K_OMEGA2, K_G, K_D, K_TRANSPORT = range(len(PARTS))
# Part of each fixed matrix of a body, and which number of the motion multiplies it, of 1, ω (3),
# the products ω_iω_j (6) and ε (3).
FIXED = (
    (M, D, K, *3 * (C,), *3 * (K_D,), *6 * (K_OMEGA2,), *3 * (K_EPSILON,)),
    (0, 0, 0, 1, 2, 3, *range(1, 13)),
)
FACTORS = len({*FIXED[1]})


class MovingBodies:
    """Bodies of which each has a frame in motion, and their DOFs in sequence.

    families: element families, each with its DOFs and the number of the body, or of each element's
    body, whose motion counts. rows, cols: of the entries that matrices over all DOFs can have.
    together: for each load, its body and its nodes, which it couples.
    """

    def __init__(self, bodies: Iterable[Body], together: Iterable[tuple[int, Index]] = ()) -> None:
        self.bodies = tuple(bodies)
        self.offsets = np.cumsum([0, *(body.size for body in self.bodies)])
        self.size = int(self.offsets[-1])
        self.body_of = np.repeat(np.arange(len(self.bodies)), np.diff(self.offsets))
        self.first_node = np.cumsum([0, *(len(body.dofs.coordinates) for body in self.bodies)])
        self.dofs = DofMap.joined([body.dofs for body in self.bodies])
        self.families = list(self._joined())
        self._apart: dict[bytes, list[tuple[ElementFamily, slice, Any, bool | Index]]] = {}
        self.rayleigh = np.array([body.rayleigh for body in self.bodies])
        self.inertia_loads, self.damper_loads = (
            np.concatenate([getattr(body.operators, name) for body in self.bodies])
            for name in ("inertia_loads", "damper_loads")
        )
        fixed = [
            (o.M, o.dampers, o.K, *(2.0 * A.tocsr() for A in o.G), *o.circulatory, *o.S, *o.G)
            for o in (body.operators for body in self.bodies)
        ]
        # Rows, columns and values of each matrix, over the DOFs of all bodies.
        entries = [
            [np.concatenate(x) for x in zip(*map(_entries, each, self.offsets), strict=True)]
            for each in zip(*fixed, strict=True)
        ]
        # Entries: all pairs of DOFs of nodes that a matrix couples.
        node, count = self.dofs.node, int(self.first_node[-1])
        pairs = [(node[rows], node[cols]) for rows, cols, _ in entries]
        for body, nodes in together:
            coupled_nodes = self.first_node[body] + nodes
            pairs.append((np.repeat(coupled_nodes, len(nodes)), np.tile(coupled_nodes, len(nodes))))
        coupled = sp.identity(count, format="csr")
        for pair in pairs:
            coupled = coupled + sp.csr_matrix((np.ones(len(pair[0])), pair), (count, count))
        at = sp.csr_matrix((np.ones(self.size), (np.arange(self.size), node)), (self.size, count))
        whole = sp.csr_matrix(at @ (coupled + coupled.T) @ at.T)
        whole.sort_indices()
        self.rows = np.repeat(np.arange(self.size), np.diff(whole.indptr)).astype(np.intp)
        self.cols, self._indptr = whole.indices.astype(np.intp), whole.indptr
        self._keys = self.rows * self.size + self.cols
        self.mirror = self.places(self.cols, self.rows)
        spread = [(self.places(rows, cols), values) for rows, cols, values in entries]
        self._values = np.concatenate([values for _, values in spread])
        each, own = list(zip(*FIXED, spread, strict=True)), FACTORS * self.body_of[self.rows]
        self._slots = np.concatenate([part * len(own) + slots for part, _, (slots, _) in each])
        self._factors = np.concatenate([own[slots] + k for _, k, (slots, _) in each])

    def _joined(self) -> Iterator[tuple[ElementFamily, slice, Index | int]]:
        """Families, those of one kind as one."""
        kinds: dict[object, list[tuple[ElementFamily, int]]] = {}
        for i, body in enumerate(self.bodies):
            for family in body.families:
                kinds.setdefault(family.kind, []).append((family, i))
        for alike in kinds.values():
            families, numbers = [f for f, _ in alike], np.array([i for _, i in alike])
            if len(alike) == 1:
                (i,) = numbers.tolist()
                yield families[0], slice(self.offsets[i], self.offsets[i + 1]), i
                continue
            joint = families[0].joined(families, self.dofs, self.first_node[numbers])
            counts = [len(f.map.connectivity) for f in families]  # type: ignore[attr-defined]
            yield joint, slice(None), np.repeat(numbers, counts)

    def apart(self, dofs: Index) -> list[tuple[ElementFamily, slice, Any, bool | Index]]:
        """The families, elements that have one of the DOFs and others apart, their bodies, and
        which of their DOFs these are."""
        key = dofs.tobytes()
        if key not in self._apart:
            chosen = np.isin(np.arange(self.size), dofs)
            self._apart[key] = [
                (part, where, body if isinstance(body, int) else body[elements], has)
                for family, where, body in self.families
                for part, elements, has in family.apart(chosen[where])
            ]
        return self._apart[key]

    def spread(self, A: Any, first: int = 0) -> tuple[Index, Array]:
        """Places among the entries, and values, of a matrix over DOFs from number `first` on."""
        if isinstance(A, Entries):
            return self.places(A.rows + first, A.cols + first), A.values
        rows, cols, data = _entries(A, first)
        return self.places(rows, cols), data

    def add(self, values: Array, A: Any, where: slice) -> None:
        """Add a matrix over the DOFs `where` to values (..., entries), in place."""
        slots, data = self.spread(A, where.start or 0)
        values[..., slots] += data

    def places(self, rows: Index, cols: Index) -> Index:
        """Where the entries of a matrix are among all."""
        return np.searchsorted(self._keys, rows * self.size + cols)

    def fixed(self, numbers: Array) -> Array:
        """Values (parts, entries) of the matrices about the undeformed bodies, without prestress.

        numbers (..., B, 13): of the motion, what multiplies the fixed matrices.
        """
        size, instants = len(PARTS) * len(self.rows), numbers.shape[:-2]
        values = self._values * numbers.reshape(*instants, -1)[..., self._factors]
        each = values.reshape(-1, len(self._values))
        sums = np.array([np.bincount(self._slots, own, size) for own in each], dtype=float)
        return np.moveaxis(sums.reshape(*instants, len(PARTS), -1), -2, 0)

    def product(self, values: Array, x: Array) -> Array:
        """The product (..., size) of the matrix of values (..., entries) with x (..., size)."""
        return np.add.reduceat(values * x[..., self.cols], self._indptr[:-1], axis=-1)

    def matrix(self, values: Array) -> sp.csr_matrix:
        """The matrix (size, size) of values (entries,)."""
        return sp.csr_matrix((values, self.cols, self._indptr), shape=(self.size, self.size))


def _entries(A: Any, first: int) -> tuple[Index, Index, Array]:
    """Rows, columns and values of a matrix over DOFs from number `first` on."""
    A = sp.csr_matrix(A.tocsr())
    A.sum_duplicates()
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return rows + first, A.indices + first, A.data


@dataclass(frozen=True)
class BodiesMotion:
    """How the frames of bodies move, and how their DOFs move in them, at one instant; all but
    `parts` at several too (P,).

    twist (..., B, 6): v_O, ω. motion, loading (..., B, 12): coefficients of the motion and, weight
    included, of what loads the bodies. path (3, ..., n): displacements, velocities, accelerations.
    step (2, 3, ..., n): as `Passage.step`.
    """

    stack: MovingBodies
    twist: Array
    motion: Array
    loading: Array
    path: Array
    step: Array | None = None

    @property
    def resting(self) -> BodiesMotion:
        """With the displacements at rest in the frames."""
        path = np.zeros_like(self.path)
        path[0] = self.path[0]
        return replace(self, path=path)

    @cached_property
    def fixed(self) -> Array:
        """Values (parts, entries) of the matrices about the undeformed bodies."""
        one, twist, motion = np.ones((*self.twist.shape[:-1], 1)), self.twist, self.motion
        return self.stack.fixed(np.concatenate([one, twist[..., 3:], motion[..., :9]], axis=-1))

    @cached_property
    def moments(self) -> Array:
        """Second moments (..., B, 7, 7) of the masses: energy and momentum
        (`assembly.elements.moments`)."""
        return self._moments(np.ones(len(self.stack.bodies)), 0.0)

    def _moments(self, weights: Array, damping: float) -> Array:
        """Σ over elements of their moments times the weight (B,) of their body and `damping` times
        their family's damping in proportion to mass."""
        out = np.zeros((*self.twist.shape[:-1], SIZE, SIZE))
        for family, _, body, passage in self._passages:
            share = np.reshape(weights[body] + damping * family.mass_damping, (-1, 1, 1))
            if np.any(share):
                own = share * self._of(family, family.inertia_moments, passage)
                at: Any = (..., np.broadcast_to(body, own.shape[-3]), slice(None), slice(None))
                np.add.at(out, at, own)
        return out

    def _of(
        self, family: ElementFamily, law: Callable[[Passage], Any], passage: Passage
    ) -> AnyArray:
        return family.of_each(law, passage) if self._several else law(passage)

    @property
    def strain_energy(self) -> Any:
        """(...), J."""
        return sum(self._of(f, f.strain_energy, passage) for f, *_, passage in self._passages)

    @cached_property
    def _passages(self) -> list[tuple[ElementFamily, slice, Index | int, Passage]]:
        return [(*entry, self._passage(*entry[1:])) for entry in self.stack.families]

    def _passage(self, where: slice, body: Index | int) -> Passage:
        rayleigh = self.stack.rayleigh[body].T
        u, v, a = self.path[..., where]
        step = None if self.step is None else self.step[..., where]
        if self._several and isinstance(body, int):
            body = np.array([body])
        motion = self.twist[..., body, 3:], self.loading[..., body, :]
        return Passage(u, v, a, *motion, tuple(rayleigh), step)

    @property
    def _several(self) -> bool:
        return self.path.ndim > 2

    def _elements(self, by: Wanted) -> list[Array]:
        """The values (..., entries) of the derivatives of the elements' forces beyond the linear
        ones; of those with numbers of DOFs by v and a where elements have these."""
        stack, total = self.stack, np.zeros(self.path.shape[1:])
        tangents = np.zeros((1 if by is False else 3, *total.shape[:-1], len(stack.rows)))
        whole: list[Any] = [(*entry, by) for entry in stack.families]
        for family, where, body, own in stack.apart(by) if isinstance(by, np.ndarray) else whole:
            force, each = family.linearized_at(self._passage(where, body), own)
            total[..., where] += force
            for n, changes in each:
                for tangent, A in zip(tangents, changes, strict=False):
                    stack.add(tangent[n], A, where)
        self._found["forces"] = total
        return list(tangents)

    @cached_property
    def _found(self) -> dict[str, Array]:
        """The forces of the elements, where tangents were wanted first: with a step those of the
        stresses that it foresees."""
        return {}

    @cached_property
    def force(self) -> Array:
        """F (..., n), N and N·m."""
        stack, (u, v, a), parts = self.stack, self.path, self.fixed
        total = stack.product(parts[M], a) + stack.product(parts[C] + parts[D], v)
        total = total + stack.product(parts[K_EPSILON] + parts[K_OMEGA2] + parts[K_D], u)
        pairs = (stack.inertia_loads, self.loading), (stack.damper_loads, self.twist)
        for loads, rates in pairs:
            total -= np.sum(loads * rates[..., stack.body_of, :], axis=-1)
        if "forces" in self._found:
            return np.asarray(total + self._found["forces"])
        for family, where, _, passage in self._passages:
            total[..., where] += self._of(family, family.force, passage)
        return np.asarray(total)

    def tangents(self, exact: Wanted) -> Array:
        """Values (parts, ..., entries): all derivatives of F by a in M, by v in C and D, and by u
        in the others; not exact: those by a and v of the undeformed bodies, in a fraction of the
        time, or exact for the DOFs with these numbers."""
        values = self.fixed.copy()
        by_u, *others = self._elements(exact)
        values[K_G] = by_u - values[K]
        for part, change in zip((C, M), others, strict=False):
            values[part] += change
        return values

    def parts(self) -> Array:
        """Values (parts, entries): the derivatives of F by a (M), v (C, D) and u (all others).

        K is that of the undeformed bodies and K_G what the tangent adds to it; its skew part, of
        inertia loads that turn with their sections, is in K_epsilon. K_transport: of forces that v
        and a cause.
        """
        stack, values = self.stack, self.fixed.copy()
        tangent = np.zeros(values.shape[1])
        for family, where, _, passage in self._passages:
            beyond, own = family.tangents(passage)
            for part, A in zip((M, C, D, K_TRANSPORT), beyond, strict=True):
                stack.add(values[part], A, where)
            stack.add(tangent, own.tocsr(), where)
        extra = tangent - values[K]
        values[K_G] = 0.5 * (extra + extra[stack.mirror])
        if np.any(self.loading[:, 6:9]):
            values[K_EPSILON] += 0.5 * (extra - extra[stack.mirror])
        return values

    @cached_property
    def damping_power(self) -> Any:
        """What the dampers of the bodies take from the absolute motion (...), W; it is never
        positive.

        Dampers against the surroundings and damping in proportion to mass also do work on the
        motion of the frame.
        """
        stack, (u, v, _) = self.stack, self.path
        if not any(body.dissipates for body in stack.bodies):
            return 0.0 * self.path[0, ..., 0]
        strained = sum(self._of(f, f.dissipation, passage) for f, *_, passage in self._passages)
        power = -strained - np.sum(v * stack.product(self.fixed[D], v), axis=-1)
        shares = velocity_map(self.twist) @ self._moments(stack.rayleigh[:, 0], 1.0)
        power = power - np.sum(shares[..., 4:] * np.eye(3), axis=(-3, -2, -1))
        for i, body in enumerate(stack.bodies):
            if nonzero(body.operators.d):
                own, d = slice(stack.offsets[i], stack.offsets[i + 1]), body.operators.d.tocsr()
                twist = self.twist[..., i, :, None]
                rigid = (_each(velocities_of_nodes, body, u[..., own]) @ twist)[..., 0]
                drag, back = (rigid + v[..., own]) @ d.T, rigid @ d.T
                power = power - np.sum(rigid * drag + v[..., own] * back, axis=-1)
        return power

    def energies(self, r: Array, R: Array, gravity: Array) -> Energies:
        """Kinetic energy and potentials of bodies whose frames are at r (..., B, 3), R (..., B, 3,
        3)."""
        A = self.moments
        kinetic = kinetic_energy(A, self.twist).sum(axis=-1)
        weight = A[..., 0, 0, None] * r + (R @ A[..., 0, 1:4, None])[..., 0]
        return Energies(kinetic, self.strain_energy, -np.sum(gravity * weight, axis=(-2, -1)))

    def momenta(self, r: Array, R: Array) -> Momenta:
        """Momentum and angular momentum of bodies whose frames are at r (..., B, 3), R (..., B, 3,
        3)."""
        p, h = ((R @ own[..., None])[..., 0] for own in momenta(self.moments, self.twist))
        return Momenta(p.sum(axis=-2), (h + np.cross(r, p)).sum(axis=-2))

    def power(self, force: Array) -> Any:
        """Power (...), W, of nodal forces (..., n) on the absolute motion."""
        inner, power = self.stack.offsets[1:-1], np.sum(force * self.path[1], axis=-1)
        parts = (np.split(x, inner, axis=-1) for x in (self.path[0], force))
        for i, (body, u, own) in enumerate(zip(self.stack.bodies, *parts, strict=True)):
            if np.any(own):
                rigid = _each(rigid_velocities, body, u) @ self.twist[..., i, :, None]
                power = power + np.sum(own * rigid[..., 0], axis=-1)
        return power


def _each(fields: Callable[[Body, Array], Array], body: Body, u: Array) -> Array:
    """Velocities (..., n, 6) by the displacements (..., n) of a body."""
    found = [fields(body, own) for own in u.reshape(-1, u.shape[-1])]
    return np.reshape(found, (*u.shape, 6))


def rigid_velocities(body: Body, u: Array) -> Array:
    """Rates (n, 6) of all DOFs in the rigid motions of a displaced body, about its frame's
    origin.

    Rotation vectors φ have the rates T(−φ)⁻¹ ω.
    """
    dofs, fields = body.dofs, velocities_of_nodes(body, u)
    turning = np.flatnonzero(dofs.component >= 3)
    if len(turning):
        phi = np.zeros((len(dofs.coordinates), 3))
        phi[dofs.node[turning], dofs.component[turning] - 3] = u[turning]
        rates = spin_inverse_matrix(-phi)
        fields[turning, 3:] = rates[dofs.node[turning], dofs.component[turning] - 3]
    return fields


def velocities_of_nodes(body: Body, u: Array) -> Array:
    """Velocities (n, 6) of displaced nodes in the rigid motions; zero for rotations."""
    dofs = body.dofs
    places = np.asarray(dofs.coordinates + dofs.displacement(u))
    fields = replace(dofs, coordinates=places).rigid_fields()
    fields[dofs.component >= 3] = 0.0
    return fields
