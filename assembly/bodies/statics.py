"""Loads of a motion on a body, displacements under them, the geometric stiffness they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.bodies.body_data import BodyData
from assembly.dofs import DofMap
from assembly.kinematics import Kinematics, skew
from assembly.linalg.combination import Kronecker
from assembly.linalg.factorization import Factorization
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
        d = sum_operators([f.external_damping() for f in self.families], self.body.size)
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
            _, _, order = la.qr(
                np.where(held[:, None], 0.0, fields).T, mode="economic", pivoting=True
            )
            held[order[: fields.shape[1]]] = True
        return held

    def response(self, loads: Array) -> Array:
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
            if np.array_equal(self.held, self.body.fixed):
                K = self.stiffness(False)
            else:
                K = self.stiffness(True).tocsr()[inner][:, inner]
            motions = self.dofs.select(inner).rigid_motions
            with Factorization(K, "spd", motions=motions) as factor:
                u[inner] = factor.solve(np.ascontiguousarray(loads[inner]))
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
        return self.response(self.inertia_loads)

    def geometric_unit(self, unit: int) -> Any:
        """K_G (n, n) over all degrees of freedom per unit of one kinematic quantity (0–11)."""
        # Given stress needs no statics: a cable's K is singular without it.
        needed = len(self.body.hold) > 0 or any(f.stress_from_displacement for f in self.families)
        u = self.unit_response[:, unit] if needed else np.zeros(self.body.size)
        return self._with_hub([self.geometric(u, unit)], self._inertia_forces[:, unit])

    def geometric_damper_unit(self, unit: int) -> Any:
        """K_G (n, n) per unit of one component of v_O (0–2) or ω (3–5).

        The load is that of the dampers against the surroundings.
        """
        stress = self.geometric(self.damper_response[:, unit])
        return self._with_hub([stress], self._damper_forces[:, unit])

    @cached_property
    def damper_response(self) -> Array:
        return self.response(self.damper_loads)

    def geometric(self, u: Array, unit: int | None = None) -> sp.csr_matrix:
        """K_G (n, n) of the stress under a displacement (see ElementFamily.geometric).

        Parameters
        ----------
        u : ndarray, shape (n,)
            Displacements and rotations, m and rad.
        unit : int, optional
            The unit kinematics that causes it, 0–11; None for another load.
        """
        total = sum_operators([f.geometric(u, unit) for f in self.families], self.body.size)
        if not len(self.body.hold):  # of a large body without a hub there is one copy of K
            return total
        reaction = self.stiffness(True).tocsr()[self.body.hold] @ u
        if unit is not None:
            reaction = reaction - self.inertia_loads[self.body.hold, unit]
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
