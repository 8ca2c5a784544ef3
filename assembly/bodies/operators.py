"""The fixed matrices of a body on a subset of its degrees of freedom."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import daxpy

from assembly.bodies.body_data import BodyData
from assembly.bodies.statics import BodyStatics, nonzero, sum_operators
from assembly.kinematics import SKEW_UNITS, UNIT_COUNT, Kinematics
from assembly.linalg.combination import Combination, Kronecker, Lazy
from assembly.linalg.symmetric import Symmetric
from assembly.types import Array, Index


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
        Per unit of ω_i (3), of ω_iω_j (6), and geometric stiffness per unit of the kinematics.
    inertia_loads : ndarray
        Loads (n, units) per unit of the kinematics.
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
        self.G = tuple(
            total(list(group)) for group in zip(*(f.gyroscopic() for f in families), strict=True)
        )
        self.S = tuple(
            total(list(group)) for group in zip(*(f.centrifugal() for f in families), strict=True)
        )
        self.inertia_loads: Array = np.asfortranarray(statics.inertia_loads[keep])
        self.B = self._lazy(statics.geometric_unit, UNIT_COUNT)
        # Per unit of v_O and ω; none without dampers against the surroundings.
        self.B_damper = self._lazy(statics.geometric_damper_unit, 6 if nonzero(self.d) else 0)

    def _lazy(self, geometric_unit: Callable[[int], Any], count: int) -> tuple[Lazy, ...]:
        def maker(unit: int) -> Callable[[], Any]:
            return lambda: restrict(geometric_unit(unit), self.keep, {})

        return tuple(Lazy((self.n, self.n), maker(k)) for k in range(count))

    @cached_property
    def damper_loads(self) -> Array:
        """Forces (n, 6) of the dampers against the surroundings per unit of v_O and ω."""
        return np.zeros((self.n, 6)) if not self.B_damper else self.statics.damper_loads[self.keep]

    @cached_property
    def dampers(self) -> sp.csr_matrix:
        """D + d, internal dampers and those against the surroundings."""
        return sp.csr_matrix(self.D.tocsr() + self.d.tocsr())

    def load(self, motion: Kinematics) -> Array:
        """Loads (n,) of the inertia of a motion and of the dampers against the surroundings."""
        total = np.zeros(self.n)
        add_weighted(total, self.inertia_loads, motion.coefficients())
        if self.B_damper:
            add_weighted(total, self.damper_loads, motion.twist())
        return total

    @cached_property
    def _zeros(self) -> frozenset[int]:
        """Identities of the fixed operators that are zero."""
        fixed = (self.M, self.K, self.D, self.d, *self.G, *self.S)
        held = self.circulatory if nonzero(self.d) else ()
        return frozenset(id(A) for A in (*fixed, *held) if not nonzero(A))

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
        return present(parts, lambda A: id(A) not in self._zeros)


def present(parts: dict[str, Any], acts: Callable[[Any], bool] | None = None) -> dict[str, Any]:
    """Combinations without their terms of zeros."""
    acts = acts or nonzero
    return {
        name: Combination(part.shape, tuple((c, A) for c, A in part.terms if acts(A)))
        for name, part in parts.items()
    }


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
