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

    dofs: all n unknowns, before supports. fixed (n,): unknowns a clamp or pin removes. hold
    (indices): unknowns that carry the reaction while the prestress is computed though they are
    free to vibrate (the hub torque of a pinned body). rayleigh: (a, b) of internal damping D = a M
    + b K. sets: named node sets.
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
        """Number of unknowns before supports."""
        return len(self.dofs)

    @cached_property
    def free(self) -> Index:
        """Numbers of the unknowns that supports leave."""
        return np.flatnonzero(~self.fixed)

    @cached_property
    def free_dofs(self) -> DofMap:
        """Which unknown is which, of those that supports leave; one object for all instants."""
        return self.dofs.select(self.free)

    def with_damping(self, a: float = 0.0, b: float = 0.0) -> Body:
        """The same body with internal Rayleigh damping D = a M + b K (a in 1/s, b in s)."""
        DAMPING_MASS.check(a, "damping: a")
        DAMPING_STIFFNESS.check(b, "damping: b")
        return replace(self, rayleigh=(float(a), float(b)))

    @cached_property
    def operators(self) -> BodyOperators:
        """The fixed matrices over all unknowns (mechanisms constrain them later)."""
        return BodyOperators(self, np.arange(self.size))

    @cached_property
    def supported(self) -> BodyOperators:
        """The fixed matrices over the free unknowns."""
        return BodyOperators(self, self.free) if self.fixed.any() else self.operators

    @cached_property
    def inertia_loads(self) -> Array:
        """Forces (n, 12) of the unit kinematics on all unknowns, N and N·m, balanced by a hub."""
        return self._balanced(self._inertia_forces)

    @cached_property
    def damper_loads(self) -> Array:
        """Forces (n, 6) of the dampers against the surroundings, N and N·m, balanced by a hub.

        −d(v_O + ω̃X) per unit of v_O,i and ω_i.
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

        omega (rad/s), epsilon (rad/s²), acceleration of the origin (m/s²): three components in
        body axes, or a scalar along `axis`. velocity: of the origin (m/s), in the same form; at
        rest by default. It matters to dampers against the surroundings (`attach_damper`) only:
        they resist the steady motion of their node by −d(v_O + ω̃X), which is part of Q and of the
        prestress. prestress: "linear" (loads and geometry undeformed);
        "nonlinear", where the unknowns count from the stretched shape (Q is then zero) and K_G is
        all that the tangent there adds to K; or None, which leaves K_G out (a spurious divergence
        follows: DESIGN.md, section 2). Raises InputError for values that are not finite or of the
        wrong shape, ConvergenceError when there is no stretched equilibrium.
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
        """As `freeze`, for kinematics already put together."""
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
        """Unknowns held while the prestress is computed: supports, `hold`, and what statics still
        needs.

        A free body gets a statically determinate support; balanced loads leave it without reaction.
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
        """Rigid motions (n, m) that leave the held unknowns at rest and that no spring resists."""
        fields = self.dofs.rigid_fields()
        scale = 1.0 + np.abs(self.dofs.coordinates).max(initial=0.0)
        fields = fields[:, np.abs(fields).max(axis=0, initial=0.0) > 0.0]
        return unresisted(_allowed(fields, held, scale), *self.frame_stiffness)

    def static_response(self, loads: Array) -> Array:
        """Displacements (n, k), m and rad, under loads (n, k), N and N·m, on the held body."""
        u = np.zeros_like(loads)
        inner = np.flatnonzero(~self.held)
        if inner.size:
            if np.array_equal(self.held, self.fixed):
                K = self.supported.K.tocsr()  # of a million unknowns one copy is enough
            else:
                K = self.operators.K.tocsr()[inner][:, inner]
            with Factorization(K, "spd") as factor:
                u[inner] = factor.solve(np.ascontiguousarray(loads[inner]))
        return u

    @cached_property
    def _unit_response(self) -> Array:
        return self.static_response(self.inertia_loads)

    def geometric_unit(self, unit: int) -> Any:
        """K_G (n, n) over all unknowns per unit of one kinematic quantity (0–11)."""
        # Given stress needs no statics: a cable's K is singular without it.
        needed = len(self.hold) > 0 or any(f.stress_from_displacement for f in self.families)
        u = self._unit_response[:, unit] if needed else np.zeros(self.size)
        return self._with_hub([self.geometric(u, unit)], self._inertia_forces[:, unit])

    def geometric_damper_unit(self, unit: int) -> Any:
        """K_G (n, n) over all unknowns per unit of one component of v_O (0–2) or ω (3–5) that the
        dampers against the surroundings resist.
        """
        stress = self.geometric(self._damper_response[:, unit])
        return self._with_hub([stress], self._damper_forces[:, unit])

    @cached_property
    def _damper_response(self) -> Array:
        return self.static_response(self.damper_loads)

    def geometric(self, u: Array, unit: int | None = None) -> sp.csr_matrix:
        """K_G (n, n) over all unknowns of the stress under displacement u (see
        ElementFamily.geometric).
        """
        total = sum_operators([f.geometric(u, unit) for f in self.families], self.size)
        reaction = self.operators.K.tocsr()[self.hold] @ u
        if unit is not None:
            reaction = reaction - self.operators.inertia_loads[self.hold, unit]
        couples = self.held_couples(reaction)
        return total if couples is None else sp.csr_matrix(total.tocsr() + couples)

    def held_couples(self, reaction: Array) -> sp.csr_matrix | None:
        """½ M̃ on the rotations of each held node, M the couple that holds them; None without such.

        reaction: forces and couples on the unknowns `hold`. A pin's couple turns with its node: on
        the rotation vector its virtual work is ½ (φ × M)·δφ beyond M·δφ. It vanishes for a hinge
        and in the plane.
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
    """The fixed matrices of a body on a chosen set of its unknowns, each made once."""

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
        self.B_damper = self._lazy(body.geometric_damper_unit, 6 if _nonzero(self.d) else 0)

    def _lazy(self, geometric_unit: Callable[[int], Any], count: int) -> tuple[Lazy, ...]:
        def maker(unit: int) -> Callable[[], Any]:
            return lambda: restrict(geometric_unit(unit), self.keep, {})

        return tuple(Lazy((self.n, self.n), maker(k)) for k in range(count))

    @cached_property
    def damper_loads(self) -> Array:
        """Forces (n, 6) of the dampers against the surroundings per unit of v_O and ω."""
        return np.zeros((self.n, 6)) if not self.B_damper else self.body.damper_loads[self.keep]

    def stretched(self, tangent: sp.csr_matrix) -> Combination:
        """K_G of a stretched shape: its tangent, over all unknowns of the body, less K."""
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
            if _nonzero(self.d)
            else Combination((n, n)),
        )
        return {name: _without_empty(part) for name, part in parts.items()}


def _allowed(fields: Array, fixed: Mask, scale: float) -> Array:
    """The combinations of rigid fields (n, k) that do not move the fixed unknowns."""
    if not fixed.any():
        return fields
    triangle = la.qr(fields[fixed], mode="economic")[1]
    _, sizes, Zt = la.svd(triangle, full_matrices=True)
    return np.asarray(fields @ Zt[int((sizes > 1e-10 * scale).sum()) :].T)


def sum_operators(operators: list[Any], size: int) -> Any:
    """The sum; a single operator that is not empty is handed on as it is (Kronecker stays
    Kronecker).
    """
    present = [A for A in operators if _nonzero(A)]
    if not present:
        return sp.csr_matrix((size, size))
    if len(present) == 1:
        return present[0]
    total = present[0].tocsr()
    for A in present[1:]:
        total = total + A.tocsr()
    return sp.csr_matrix(total)


def restrict(A: Any, keep: Index, slices: dict[int, sp.csr_matrix]) -> Any:
    """A on the kept unknowns; Kronecker form survives when whole nodes are kept or dropped.

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


def _nonzero(A: Any) -> bool:
    if isinstance(A, Kronecker):
        return bool(A.m.nnz and np.any(A.a))
    return not sp.issparse(A) or bool(A.nnz)


def _without_empty(part: Combination) -> Combination:
    return Combination(part.shape, tuple((c, A) for c, A in part.terms if _nonzero(A)))
