"""Loads of a motion on a body, displacements under them, the geometric stiffness they make; the
fixed matrices of a body on a subset of its degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg.blas import daxpy

from assembly.bodies.body_data import BodyData
from assembly.dofs import DofMap
from assembly.kinematics import SKEW_UNITS, UNIT_COUNT, Kinematics, skew
from assembly.linalg.combination import Combination, Kronecker, Lazy
from assembly.linalg.factorization import Factorization
from assembly.linalg.symmetric import Symmetric
from assembly.materials.plausibility import ask
from assembly.types import Array, Index, Mask


def held_couples(dofs: DofMap, hold: Index, reaction: Array) -> sp.csr_matrix:
    """½ M̃ (n, n) on the rotations of each held node, M the couple that holds it.

    The couple of a pin rotates with its node. On the rotation vector its virtual work is
    ½ (φ × M)·δφ beyond M·δφ. It vanishes for a hinge and in the plane.

    Parameters
    ----------
    dofs : DofMap
        The n degrees of freedom of the body.
    hold : ndarray of int
        Degrees of freedom that carry a reaction.
    reaction : ndarray
        Forces and couples on them, N and N·m.
    """
    component, node_of = dofs.component[hold], dofs.node[hold]
    nodes, counts = np.unique(node_of[component >= 3], return_counts=True)
    nodes = nodes[counts > 1]
    shape = (len(dofs), len(dofs))
    if not nodes.size:
        return sp.csr_matrix(shape)
    couples = sp.lil_matrix(shape)
    for node in nodes:
        of_node = (component >= 3) & (node_of == node)
        rows, axes = hold[of_node], component[of_node] - 3
        M = np.zeros(3)
        M[axes] = reaction[of_node]
        couples[np.ix_(rows, rows)] = 0.5 * skew(M)[np.ix_(axes, axes)]
    return sp.csr_matrix(couples)


class BodyStatics:
    """Statics of a body: loads per unit of the kinematics, displacements under them, K_G of each.

    Parameters
    ----------
    body : BodyData
        The body.
    stiffness : callable of one bool
        K over all degrees of freedom (True) or over those that supports leave (False).
    """

    def __init__(self, body: BodyData, stiffness: Callable[[bool], Any]) -> None:
        self.stiffness, self.body = stiffness, body
        self.families, self.dofs = body.families, body.dofs

    @cached_property
    def unit_loads(self) -> Array:
        """Forces of the unit loads on all degrees of freedom, (n, 12 or 18), N and N·m.

        0–11: the unit kinematics. 12–17, with dampers against the surroundings only: −d(v_O + ω̃X)
        per unit of v_O,i and ω_i. The forces of the hub of a pinned body are included.
        """
        hubs = [f.balance(self._forces) for f in self.families]
        balanced = (forces for forces in hubs if forces is not None)
        return np.asarray(sum(balanced, self._forces))

    @property
    def inertia_loads(self) -> Array:
        """Those of the 12 unit kinematics, (n, 12)."""
        return self.unit_loads[:, :UNIT_COUNT]

    @cached_property
    def _forces(self) -> Array:
        """The unit loads without what a hub adds to them."""
        inertia = np.sum([f.inertia_loads() for f in self.families], axis=0)
        d = sum_operators([f.external_damping() for f in self.families], self.body.size)
        of_dampers = [-(d @ self.dofs.rigid_fields())] if nonzero(d) else []
        return np.hstack([inertia, *of_dampers])

    def balance_stiffness(self, motion: Kinematics) -> sp.csr_matrix:
        """K_G (n, n) of the forces by which a hub balances all loads of a motion."""
        loads = self._forces @ motion.loads()[: self._forces.shape[1]]
        return sp.csr_matrix(self._with_hub([], loads).tocsr())

    def _with_hub(self, operators: list[Any], loads: Array) -> Any:
        """The sum of operators and of the stiffness of what a hub adds to loads (n,)."""
        hubs = [f.balance_stiffness(loads) for f in self.families]
        return sum_operators([*operators, *hubs], self.body.size)

    @cached_property
    def held(self) -> Mask:
        """Degrees of freedom held while the prestress is computed.

        These are the supports, `hold`, and what statics still needs: a free body gets a statically
        determinate support. Balanced loads cause no reaction in it.
        """
        held = self.body.fixed.copy()
        held[self.body.hold] = True
        fields = self.body.unresisted(held)
        if fields.shape[1]:
            loose = np.where(held[:, None], 0.0, fields)
            order = la.qr(loose.T, mode="economic", pivoting=True)[2]
            held[order[: fields.shape[1]]] = True
        return held

    def response(self, loads: Array, most: float = 1e-4) -> Array:
        """Displacements under loads on the held body.

        Parameters
        ----------
        loads : ndarray, shape (n, k)
            Forces and moments, N and N·m.
        most : float
            Of a load: round-off of the stresses, beyond which a PlausibilityWarning is issued.

        Returns
        -------
        ndarray, shape (n, k)
            Displacements and rotations, m and rad.
        """
        u = np.zeros_like(loads)
        inner = np.flatnonzero(~self.held)
        if inner.size:
            if np.array_equal(self.held, self.body.fixed):
                K = self.stiffness(False)
            else:
                K = self.stiffness(True).tocsr()[inner][:, inner]
            motions = self.dofs.select(inner).rigid_motions
            with Factorization(K, "spd", motions=motions) as factor:
                u[inner] = factor.solve(np.ascontiguousarray(loads[inner]))
            # What soft supports yield has no stress, but its round-off has.
            fields = motions().fields
            rigid = fields @ np.linalg.lstsq(fields.T @ fields, fields.T @ u[inner], rcond=None)[0]
            lost = np.finfo(float).eps * (K.diagonal()[:, None] * np.abs(rigid)).max(axis=0)
            if np.any(lost > most * np.abs(loads).max(axis=0)):
                question = (
                    "the supports are so soft that round-off changes stresses; hold the body?"
                )
                ask("prestress", None, question)
        return u

    def of_loads(
        self, loads: Array, known: dict[bytes, Any], form: Callable[[Array], Any]
    ) -> list[Any]:
        """What is formed of the responses to loads (n, k); known: by load, the same objects."""
        keys = [column.tobytes() for column in np.ascontiguousarray(loads.T)]
        new = [j for j, key in enumerate(keys) if key not in known]
        if new:
            for j, u in zip(new, self.response(loads[:, new]).T, strict=True):
                known[keys[j]] = form(u)
        return [known[key] for key in keys]

    @cached_property
    def unit_response(self) -> Array:
        """Displacements (n, 12 or 18) under the unit loads."""
        return self.response(self.unit_loads)

    def geometric_unit(self, unit: int) -> Any:
        """K_G (n, n) over all degrees of freedom per unit load."""
        # Given stress needs no statics: a cable's K is singular without it.
        needed = len(self.body.hold) > 0 or any(f.stress_from_displacement for f in self.families)
        u = self.unit_response[:, unit] if needed else np.zeros(self.body.size)
        stress = self.geometric(u, np.eye(UNIT_COUNT)[unit] if unit < UNIT_COUNT else None)
        return self._with_hub([stress], self._forces[:, unit])

    def geometric(self, u: Array, coefficients: Array | None = None) -> sp.csr_matrix:
        """K_G (n, n) of the stress under a displacement (see ElementFamily.geometric).

        Parameters
        ----------
        u : ndarray, shape (n,)
            Displacements and rotations, m and rad.
        coefficients : ndarray, shape (12,), optional
            Of the unit kinematics that cause it; None for another load.
        """
        total = sum_operators([f.geometric(u, coefficients) for f in self.families], self.body.size)
        if not len(self.body.hold):  # of a large body without a hub there is one copy of K
            return total
        reaction = self.stiffness(True).tocsr()[self.body.hold] @ u
        if coefficients is not None:
            reaction = reaction - self.inertia_loads[self.body.hold] @ coefficients
        couples = held_couples(self.dofs, self.body.hold, reaction)
        return sp.csr_matrix(total.tocsr() + couples) if couples.nnz else total


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


def nonzero(A: Any) -> bool:
    """Whether an operator may differ from zero."""
    if isinstance(A, Kronecker):
        return bool(A.m.nnz and np.any(A.a))
    return not sp.issparse(A) or bool(A.nnz)


class BodyOperators:
    """The fixed matrices of a body on a subset of its DOFs, each computed once.

    Parameters
    ----------
    body : BodyData
        The body.
    keep : ndarray of int, shape (n,)
        Numbers of the degrees of freedom.
    statics : BodyStatics
        Loads of a motion and the geometric stiffness they make, over all degrees of freedom.

    Attributes
    ----------
    M, K, D, d : operator, shape (n, n)
        Mass, stiffness, internal damping and dampers against the surroundings.
    G, S, B : tuple of operators
        Per unit of ω_i (3), of ω_iω_j (6), and geometric stiffness per unit load (12 or 18).
    unit_loads : ndarray
        Unit loads (n, 12 or 18), see `BodyStatics.unit_loads`.
    """

    def __init__(self, body: BodyData, keep: Index, statics: BodyStatics) -> None:
        self.body, self.keep, self.statics, self.n = body, keep, statics, len(keep)
        slices: dict[int, sp.csr_matrix] = {}

        def total(operators: list[Any]) -> Any:
            return restrict(sum_operators(operators, body.size), keep, slices)

        families = body.families
        self.M = total([f.mass() for f in families])
        self.K = total([f.stiffness() for f in families])
        self.D = total([f.damping() for f in families])
        self.d = total([f.external_damping() for f in families])
        each = zip(*(f.frame_inertia() for f in families), strict=True)
        moving = tuple(total(list(group)) for group in each)
        self.S, self.G = moving[:6], moving[6:]
        self.unit_loads: Array = np.asfortranarray(statics.unit_loads[keep])
        self.B = tuple(self._lazy(unit) for unit in range(self.unit_loads.shape[1]))

    def _lazy(self, unit: int) -> Lazy:
        return Lazy(
            (self.n, self.n), lambda: restrict(self.statics.geometric_unit(unit), self.keep, {})
        )

    @property
    def inertia_loads(self) -> Array:
        """Forces (n, 12) of the unit kinematics."""
        return self.unit_loads[:, :UNIT_COUNT]

    @cached_property
    def damper_loads(self) -> Array:
        """Forces (n, 6) of the dampers against the surroundings per unit of v_O and ω."""
        loads = self.unit_loads[:, UNIT_COUNT:]
        return loads if loads.size else np.zeros((self.n, 6))

    @cached_property
    def dampers(self) -> sp.csr_matrix:
        """D + d, internal dampers and those against the surroundings."""
        return sp.csr_matrix(self.D.tocsr() + self.d.tocsr())

    def load(self, motion: Kinematics) -> Array:
        """Loads (n,) of the inertia of a motion and of the dampers against the surroundings."""
        total = np.zeros(self.n)
        add_weighted(total, self.unit_loads, motion.loads()[: len(self.B)])
        return total

    @cached_property
    def circulatory(self) -> tuple[sp.csr_matrix, ...]:
        """d ẽ_i for i = x, y, z: K_D = Σ ω_i (d ẽ_i), on the displacement components."""
        dofs = self.body.dofs.select(self.keep)
        return tuple(sp.csr_matrix(self.d.tocsr() @ dofs.turning(unit)) for unit in SKEW_UNITS)

    @cached_property
    def _terms(self) -> dict[str, list[tuple[int, Any]]]:
        """The fixed matrices of each part that are not zero, with the places of their multipliers
        in `parts`."""
        whole = dict(
            M=[(0, self.M)],
            C=enumerate(self.G, 3),
            D=[(1, self.M), (2, self.K), (0, self.D), (0, self.d)],
            K=[(0, self.K)],
            K_epsilon=enumerate(self.G, 6),
            K_omega2=enumerate(self.S, 12),
            K_G=enumerate(self.B, 12),
            K_D=enumerate(self.circulatory if nonzero(self.d) else (), 9),
        )
        return {name: [(k, A) for k, A in terms if nonzero(A)] for name, terms in whole.items()}

    def parts(self, motion: Kinematics) -> dict[str, Any]:
        """The named matrices of an instant as combinations of the fixed ones."""
        terms = self.terms(motion.omega, motion.epsilon, motion.loads())
        return {
            name: Combination.of(self.n, [c for c, _ in part], [A for _, A in part])
            for name, part in terms.items()
        }

    def terms(self, omega: Array, epsilon: Array, loads: Array) -> dict[str, list[tuple[Any, Any]]]:
        """The multipliers (...) of the fixed matrices in each part, of instants (..., 3).

        loads: `Kinematics.loads`, (..., 18).
        """
        rates = np.tile((1.0, *self.body.rayleigh), (*omega.shape[:-1], 1))
        numbers = np.concatenate([rates, 2.0 * omega, epsilon, omega, loads], axis=-1).T.tolist()
        return {name: [(numbers[k], A) for k, A in part] for name, part in self._terms.items()}


def add_weighted(total: Array, columns: Array, weights: Array) -> None:
    """Add Σ_j w_j × column j to `total` (n,); only the columns are read whose weight is not 0."""
    for j in np.flatnonzero(weights):
        daxpy(columns[:, j], total, a=weights[j])


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
    if isinstance(A, Symmetric):
        return A.restricted(keep)
    return sp.csr_matrix(A.tocsr()[keep][:, keep])
