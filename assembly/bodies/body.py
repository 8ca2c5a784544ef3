"""A body: element families on common degrees of freedom, supports, and its frozen system.

Nothing is reassembled along a motion: every matrix is a combination of fixed matrices, one per
unit of ω_i, ω_iω_j, ε_i, a_O,i (docs/theory.md, "One body in a moving frame").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.nonlinear import equilibrium
from assembly.dofs import DofMap
from assembly.elements.family import ElementFamily
from assembly.errors import InputError
from assembly.kinematics import SKEW_UNITS, UNIT_COUNT, Kinematics, as_vector, skew
from assembly.linalg.combination import Combination, Kronecker, Lazy
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import DAMPING_MASS, DAMPING_STIFFNESS
from assembly.system.frozen import FrozenSystem
from assembly.system.supports import unresisted
from assembly.types import Array, Index, Mask

Prestress = Literal["linear", "nonlinear"] | None

WITHOUT_PRESTRESS = (
    "prestress=None leaves K_G out: softening without stiffening, a divergence that does not exist"
)


@dataclass(frozen=True)
class Body:
    """An elastic body in its own frame.

    The builders (`beam`, `solid`, `blade`, ...) make bodies; they are not put together by hand.

    Parameters
    ----------
    dofs : DofMap
        All n degrees of freedom, before supports.
    families : tuple of ElementFamily
        The elements and attachments whose matrices are added.
    fixed : ndarray of bool, shape (n,)
        Degrees of freedom that a clamp or pin removes.
    hold : ndarray of int
        Degrees of freedom that are free to vibrate but carry a reaction while the prestress is
        computed: the hub torque of a pinned body.
    rayleigh : tuple of float
        (a, b) of the internal damping D = a M + b K, in 1/s and s.
    name : str
        Name of the body; it is the name of its frame as well.
    sets : mapping of str to ndarray of int
        Named node sets.
    """

    dofs: DofMap
    families: tuple[ElementFamily, ...]
    fixed: Mask
    hold: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    rayleigh: tuple[float, float] = (0.0, 0.0)
    name: str = "body"
    sets: Mapping[str, Index] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of degrees of freedom before supports."""
        return len(self.dofs)

    @cached_property
    def free(self) -> Index:
        """Numbers of the degrees of freedom that supports leave."""
        return np.flatnonzero(~self.fixed)

    @cached_property
    def free_dofs(self) -> DofMap:
        """The map of the degrees of freedom that supports leave; one object for all instants."""
        return self.dofs.select(self.free)

    def with_damping(self, a: float = 0.0, b: float = 0.0) -> Body:
        """The same body with internal Rayleigh damping D = a M + b K.

        Parameters
        ----------
        a : float
            Mass coefficient, 1/s.
        b : float
            Stiffness coefficient, s.

        Returns
        -------
        Body

        Raises
        ------
        InputError
            For a negative coefficient.
        """
        DAMPING_MASS.check(a, "damping: a")
        DAMPING_STIFFNESS.check(b, "damping: b")
        return replace(self, rayleigh=(float(a), float(b)))

    @cached_property
    def operators(self) -> BodyOperators:
        """The fixed matrices over all degrees of freedom; mechanisms constrain them later."""
        return BodyOperators(self, np.arange(self.size))

    @cached_property
    def supported(self) -> BodyOperators:
        """The fixed matrices over the free degrees of freedom."""
        return BodyOperators(self, self.free) if self.fixed.any() else self.operators

    @cached_property
    def inertia_loads(self) -> Array:
        """Forces of the 12 unit kinematics on all degrees of freedom, (n, 12), N and N·m.

        The forces of the hub of a pinned body are included.
        """
        return self._balanced(self._inertia_forces)

    @cached_property
    def damper_loads(self) -> Array:
        """Forces of the dampers against the surroundings, (n, 6), N and N·m.

        They are −d(v_O + ω̃X) per unit of v_O,i and ω_i, and the forces of the hub of a pinned
        body.
        """
        return self._balanced(self._damper_forces)

    @cached_property
    def _inertia_forces(self) -> Array:
        return np.asarray(np.sum([f.inertia_loads() for f in self.families], axis=0))

    @cached_property
    def _damper_forces(self) -> Array:
        d = sum_operators([f.external_damping() for f in self.families], self.size)
        return -np.asarray(d @ self.dofs.rigid_fields())

    def _balanced(self, loads: Array) -> Array:
        """Loads (n, k) with what the hub of a pinned solid adds to them."""
        hubs = [forces for f in self.families if (forces := f.balance(loads)) is not None]
        return np.asarray(np.sum([loads, *hubs], axis=0)) if hubs else loads

    def balance_stiffness(self, motion: Kinematics) -> sp.csr_matrix:
        """K_G (n, n) of the forces by which a hub balances all loads of a motion."""
        loads = self._inertia_forces @ motion.coefficients() + self._damper_forces @ motion.twist()
        return sp.csr_matrix(self._with_hub([], loads).tocsr())

    def _with_hub(self, operators: list[Any], loads: Array) -> Any:
        """The sum of operators and of the stiffness of what a hub adds to loads (n,)."""
        hubs = [f.balance_stiffness(loads) for f in self.families]
        return sum_operators([*operators, *hubs], self.size)

    @cached_property
    def rigid(self) -> Array:
        """A basis (free, m) of the rigid motions that neither supports nor springs resist."""
        return self.unresisted(self.fixed)[self.free]

    def freeze(
        self,
        omega: ArrayLike = 0.0,
        epsilon: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
        *,
        velocity: ArrayLike = 0.0,
        axis: ArrayLike | None = None,
        prestress: Prestress = "linear",
    ) -> FrozenSystem:
        """The frozen system at one instant of a rigid motion.

        Parameters
        ----------
        omega : float or array_like, shape (3,)
            Angular velocity in body axes, rad/s; a scalar is along `axis`.
        epsilon : float or array_like, shape (3,)
            Angular acceleration in body axes, rad/s²; a scalar is along `axis`.
        acceleration : float or array_like, shape (3,)
            Acceleration of the frame's origin in body axes, m/s²; a scalar is along `axis`.
        velocity : float or array_like, shape (3,)
            Velocity of the frame's origin in body axes, m/s; a scalar is along `axis`. Only dampers
            against the surroundings (`attach_damper`) depend on it: they resist the steady motion
            of their node by −d(v_O + ω̃X), which is part of Q and of the prestress.
        axis : array_like, shape (3,), optional
            Direction of scalar arguments.
        prestress : {"linear", "nonlinear", None}
            "linear": stress of the loads on the undeformed geometry. "nonlinear": the degrees of
            freedom count from the deformed equilibrium, Q is zero, and K_G is all that the tangent
            there adds to K. None: no K_G, which gives a divergence that does not exist.

        Returns
        -------
        FrozenSystem
            The matrices over the degrees of freedom that supports leave.

        Raises
        ------
        InputError
            For values that are not finite or have the wrong shape.
        ConvergenceError
            When no deformed equilibrium is found (prestress="nonlinear").

        Notes
        -----
        The equations are M δ̈ + (C + D) δ̇ + [K + K(ε) + K(ω²) + K_G + K_D] δ = Q; see the manual,
        "Theory", and Scutaru and Vlase (2012).

        Examples
        --------
        >>> import assembly
        >>> section = assembly.rectangle(0.05, 0.02)
        >>> body = assembly.beam(1.0, section, assembly.steel, 10, clamped="start")
        >>> system = body.freeze(omega=100.0, axis=(0, 0, 1))
        >>> system.n
        60
        >>> system.is_conservative
        True
        """
        motion = Kinematics(
            as_vector(omega, "omega", axis),
            as_vector(epsilon, "epsilon", axis),
            as_vector(acceleration, "acceleration", axis),
            as_vector(velocity, "velocity", axis),
        )
        return self.freeze_kinematics(motion, prestress)

    def freeze_kinematics(
        self,
        motion: Kinematics,
        prestress: Prestress = "linear",
        parameters: Mapping[str, Any] | None = None,
    ) -> FrozenSystem:
        """The frozen system of kinematics given as one object; see `freeze`.

        Parameters
        ----------
        motion : Kinematics
            Rigid motion of the instant, body axes.
        prestress : {"linear", "nonlinear", None}
            As for `freeze`.
        parameters : mapping, optional
            What is recorded in the system; by default omega, epsilon and acceleration.

        Returns
        -------
        FrozenSystem

        Raises
        ------
        InputError
            For another value of `prestress`.
        ConvergenceError
            When no deformed equilibrium is found (prestress="nonlinear").
        """
        if prestress not in ("linear", "nonlinear", None):
            raise InputError(
                f'prestress: expected "linear", "nonlinear" or None, got {prestress!r}'
            )
        ops = self.supported
        parts = ops.parts(motion)
        load = ops.inertia_loads @ motion.coefficients() + ops.damper_loads @ motion.twist()
        if prestress is None:
            if np.any(motion.omega):
                warnings.warn(WITHOUT_PRESTRESS, stacklevel=3)
            del parts["K_G"]
        elif prestress == "nonlinear":
            parts["K_G"] = ops.stretched(equilibrium(self, motion).tangent)
            load = np.zeros_like(load)
        shown = dict(omega=motion.omega, epsilon=motion.epsilon, acceleration=motion.acceleration)
        if np.any(motion.velocity):
            shown["velocity"] = motion.velocity
        return FrozenSystem(
            **parts,
            Q=load,
            rigid=self.rigid,
            dofs=self.free_dofs,
            frame=self.name,
            parameters=shown if parameters is None else parameters,
        )

    # Prestress: the linear response to each unit of load, and the geometric stiffness it makes.

    @cached_property
    def held(self) -> Mask:
        """Degrees of freedom held while the prestress is computed.

        These are the supports, `hold`, and what statics still needs: a free body gets a statically
        determinate support. Balanced loads cause no reaction in it.
        """
        held = self.fixed.copy()
        held[self.hold] = True
        fields = self.unresisted(held)
        if fields.shape[1]:
            _, _, order = la.qr(
                np.where(held[:, None], 0.0, fields).T, mode="economic", pivoting=True
            )
            held[order[: fields.shape[1]]] = True
        return held

    @cached_property
    def frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """What resists rigid motions (ElementFamily.frame_stiffness), a matrix a family."""
        found = (family.frame_stiffness().tocsr() for family in self.families)
        return tuple(A for A in found if A.nnz)

    def unresisted(self, held: Mask) -> Array:
        """Rigid motions that leave the held degrees of freedom at rest and that no spring resists.

        Parameters
        ----------
        held : ndarray of bool, shape (n,)

        Returns
        -------
        ndarray, shape (n, m)
        """
        fields = self.dofs.rigid_fields()
        scale = 1.0 + np.abs(self.dofs.coordinates).max(initial=0.0)
        fields = fields[:, np.abs(fields).max(axis=0, initial=0.0) > 0.0]
        return unresisted(_allowed(fields, held, scale), *self.frame_stiffness)

    def static_response(self, loads: Array) -> Array:
        """Displacements under loads on the held body.

        Parameters
        ----------
        loads : ndarray, shape (n, k)
            Forces and moments, N and N·m.

        Returns
        -------
        ndarray, shape (n, k)
            Displacements and rotations, m and rad.
        """
        u = np.zeros_like(loads)
        inner = np.flatnonzero(~self.held)
        if inner.size:
            if np.array_equal(self.held, self.fixed):
                K = self.supported.K.tocsr()  # of a million DOFs one copy is enough
            else:
                K = self.operators.K.tocsr()[inner][:, inner]
            with Factorization(K, "spd") as factor:
                u[inner] = factor.solve(np.ascontiguousarray(loads[inner]))
        return u

    def rigid_fields(self) -> Array:
        """The six infinitesimal rigid motions about the frame's origin, (n, 6)."""
        return self.dofs.rigid_fields()

    def on_coordinates(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Linear forms (k, n) of the degrees of freedom in the coordinates of the body."""
        return rows

    def load_stiffness(self, loads: Array) -> list[Any]:
        """K_G (n, n) of each of several unit loads.

        Parameters
        ----------
        loads : ndarray, shape (n, k)
            Forces and moments, N and N·m.

        Returns
        -------
        list of operators, length k
            Those of the same loads are the same objects.
        """
        keys = [column.tobytes() for column in np.ascontiguousarray(loads.T)]
        new = [j for j, key in enumerate(keys) if key not in self._load_stiffness]
        if new:
            for j, u in zip(new, self.static_response(loads[:, new]).T, strict=True):
                self._load_stiffness[keys[j]] = self.geometric(u, None)
        return [self._load_stiffness[key] for key in keys]

    @cached_property
    def bases(self) -> dict[Any, Any]:
        """Reduced bases of this body as a link of mechanisms, by their joints and loads."""
        return {}

    @cached_property
    def _load_stiffness(self) -> dict[bytes, Any]:
        return {}

    @cached_property
    def _unit_response(self) -> Array:
        return self.static_response(self.inertia_loads)

    def geometric_unit(self, unit: int) -> Any:
        """K_G (n, n) over all degrees of freedom per unit of one kinematic quantity (0–11)."""
        # Given stress needs no statics: a cable's K is singular without it.
        needed = len(self.hold) > 0 or any(f.stress_from_displacement for f in self.families)
        u = self._unit_response[:, unit] if needed else np.zeros(self.size)
        return self._with_hub([self.geometric(u, unit)], self._inertia_forces[:, unit])

    def geometric_damper_unit(self, unit: int) -> Any:
        """K_G (n, n) per unit of one component of v_O (0–2) or ω (3–5).

        The load is that of the dampers against the surroundings.
        """
        stress = self.geometric(self._damper_response[:, unit])
        return self._with_hub([stress], self._damper_forces[:, unit])

    @cached_property
    def _damper_response(self) -> Array:
        return self.static_response(self.damper_loads)

    def geometric(self, u: Array, unit: int | None = None) -> sp.csr_matrix:
        """K_G (n, n) of the stress under a displacement (see ElementFamily.geometric).

        Parameters
        ----------
        u : ndarray, shape (n,)
            Displacements and rotations, m and rad.
        unit : int, optional
            The unit kinematics that causes it, 0–11; None for another load.
        """
        total = sum_operators([f.geometric(u, unit) for f in self.families], self.size)
        reaction = self.operators.K.tocsr()[self.hold] @ u
        if unit is not None:
            reaction = reaction - self.operators.inertia_loads[self.hold, unit]
        couples = self.held_couples(reaction)
        return total if couples is None else sp.csr_matrix(total.tocsr() + couples)

    def held_couples(self, reaction: Array) -> sp.csr_matrix | None:
        """½ M̃ on the rotations of each held node, M the couple that holds it; None without these.

        The couple of a pin rotates with its node. On the rotation vector its virtual work is
        ½ (φ × M)·δφ beyond M·δφ. It vanishes for a hinge and in the plane.

        Parameters
        ----------
        reaction : ndarray
            Forces and couples on the degrees of freedom `hold`, N and N·m.
        """
        component, node_of = self.dofs.component[self.hold], self.dofs.node[self.hold]
        nodes, counts = np.unique(node_of[component >= 3], return_counts=True)
        if not np.any(counts > 1):
            return None
        couples = sp.lil_matrix((self.size, self.size))
        for node in nodes[counts > 1]:
            mine = (component >= 3) & (node_of == node)
            at, turning = self.hold[mine], component[mine] - 3
            M = np.zeros(3)
            M[turning] = reaction[mine]
            couples[np.ix_(at, at)] = 0.5 * skew(M)[np.ix_(turning, turning)]
        return sp.csr_matrix(couples)


class BodyOperators:
    """The fixed matrices of a body on a subset of its DOFs, each computed once."""

    def __init__(self, body: Body, keep: Index) -> None:
        self.body, self.keep, self.n = body, keep, len(keep)
        slices: dict[int, sp.csr_matrix] = {}

        def total(operators: list[Any]) -> Any:
            return restrict(sum_operators(operators, body.size), keep, slices)

        families = body.families
        self.M = total([f.mass() for f in families])
        self.K = total([f.stiffness() for f in families])
        self.D = total([f.damping() for f in families])
        self.d = total([f.external_damping() for f in families])
        self.G = tuple(
            total(list(group)) for group in zip(*(f.gyroscopic() for f in families), strict=True)
        )
        self.S = tuple(
            total(list(group)) for group in zip(*(f.centrifugal() for f in families), strict=True)
        )
        self.inertia_loads: Array = body.inertia_loads[keep]
        self.B = self._lazy(body.geometric_unit, UNIT_COUNT)
        # Per unit of v_O and ω; none without dampers against the surroundings.
        self.B_damper = self._lazy(body.geometric_damper_unit, 6 if nonzero(self.d) else 0)

    def _lazy(self, geometric_unit: Callable[[int], Any], count: int) -> tuple[Lazy, ...]:
        def maker(unit: int) -> Callable[[], Any]:
            return lambda: restrict(geometric_unit(unit), self.keep, {})

        return tuple(Lazy((self.n, self.n), maker(k)) for k in range(count))

    @cached_property
    def damper_loads(self) -> Array:
        """Forces (n, 6) of the dampers against the surroundings per unit of v_O and ω."""
        return np.zeros((self.n, 6)) if not self.B_damper else self.body.damper_loads[self.keep]

    def stretched(self, tangent: sp.csr_matrix) -> Combination:
        """K_G of a stretched shape: its tangent, over all DOFs of the body, less K."""
        return Combination.of(self.n, (1.0, -1.0), (restrict(tangent, self.keep, {}), self.K))

    @cached_property
    def circulatory(self) -> tuple[sp.csr_matrix, ...]:
        """d ẽ_i for i = x, y, z: K_D = Σ ω_i (d ẽ_i), on the displacement components."""
        dofs = self.body.dofs.select(self.keep)
        return tuple(sp.csr_matrix(self.d.tocsr() @ dofs.turning(unit)) for unit in SKEW_UNITS)

    def parts(self, motion: Kinematics) -> dict[str, Any]:
        """The named matrices of an instant as combinations of the fixed ones."""
        a, b = self.body.rayleigh
        coefficients = motion.coefficients()
        n, one = self.n, (1.0,)
        damping = Combination.of(n, (a, b, 1.0, 1.0), (self.M, self.K, self.D, self.d))
        parts = dict(
            M=Combination.of(n, one, (self.M,)),
            C=Combination.of(n, 2.0 * motion.omega, self.G),
            D=damping,
            K=Combination.of(n, one, (self.K,)),
            K_epsilon=Combination.of(n, motion.epsilon, self.G),
            K_omega2=Combination.of(n, coefficients[:6], self.S),
            K_G=Combination.of(n, coefficients, self.B)
            + Combination.of(n, motion.twist()[: len(self.B_damper)], self.B_damper),
            K_D=Combination.of(n, motion.omega, self.circulatory)
            if nonzero(self.d)
            else Combination((n, n)),
        )
        return {name: _without_empty(part) for name, part in parts.items()}


def _allowed(fields: Array, fixed: Mask, scale: float) -> Array:
    """The combinations of rigid fields (n, k) that do not move the fixed DOFs."""
    if not fixed.any():
        return fields
    triangle = la.qr(fields[fixed], mode="economic")[1]
    _, sizes, Zt = la.svd(triangle, full_matrices=True)
    return np.asarray(fields @ Zt[int((sizes > 1e-10 * scale).sum()) :].T)


def sum_operators(operators: list[Any], size: int) -> Any:
    """The sum; a single operator that is not empty is returned as it is (Kronecker stays
    Kronecker).
    """
    present = [A for A in operators if nonzero(A)]
    if not present:
        return sp.csr_matrix((size, size))
    if len(present) == 1:
        return present[0]
    total = present[0].tocsr()
    for A in present[1:]:
        total = total + A.tocsr()
    return sp.csr_matrix(total)


def restrict(A: Any, keep: Index, slices: dict[int, sp.csr_matrix]) -> Any:
    """A on the kept DOFs; Kronecker form survives when whole nodes are kept or dropped.

    `slices` remembers the slice of each scalar matrix: terms of one m stay recognisably of one m.
    """
    if len(keep) == A.shape[0]:
        return A
    if isinstance(A, Kronecker):
        d = A.a.shape[0]
        nodes = keep[::d] // d
        if np.array_equal(keep, (nodes[:, None] * d + np.arange(d)).ravel()):
            if id(A.m) not in slices:
                slices[id(A.m)] = sp.csr_matrix(A.m[nodes][:, nodes])
            return Kronecker(slices[id(A.m)], A.a)
    return sp.csr_matrix(A.tocsr()[keep][:, keep])


def nonzero(A: Any) -> bool:
    """Whether an operator may differ from zero."""
    if isinstance(A, Kronecker):
        return bool(A.m.nnz and np.any(A.a))
    return not sp.issparse(A) or bool(A.nnz)


def _without_empty(part: Combination) -> Combination:
    return Combination(part.shape, tuple((c, A) for c, A in part.terms if nonzero(A)))
