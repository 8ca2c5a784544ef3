"""Prestress to first order in the load: the matrices of a body in their change with its deflection.

With the equilibrium u(s) of the deformed body (`assembly.bodies.nonlinear`) under a share s of its
load,

    K(s) = K + s (K_G + U) + O(s²),   U = ∂K_T/∂u · u₁,   M(s) = M + s ∂M/∂u · u₁ + O(s²),

u₁ = K⁻¹Q, and D alike. u₁ is a sum over unit loads, and so are the changes: one fixed matrix per
unit load, as K_G has. What the displaced shape changes in C is of order s^3/2, in K(ε) and K(ω²) of
order s².

K = ∫B₀ᵀHB₀ is a square of strains, and so is that of the bent or turned body: with B₁ = ∂B/∂u · u₁,
U = ∫B₀ᵀHB₁ + B₁ᵀHB₀. U alone couples bending and stretch by EA w₀′ and takes EA w₀′² off the
bending stiffness; V = ∫B₁ᵀHB₁ gives that back. So s²V is added: one fixed matrix per product of two
unit loads. What else is of second order is left out, and estimated as a share of φᵀKφ of modes φ:

    |φᵀ(V − U K⁻¹U)φ| + |φᵀUφ| |φᵀ(K_G + K(ω²) + U)φ|.

The first is the membrane stress of second order that bending makes where the ends are held: the
part of B₁φ that no displacement takes up. The second is the change of u₁ by the stiffness of the
load. φ are Ritz modes of the span of the responses to the twelve unit loads.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.bodies.operators import BodyOperators, nonzero, restrict, sum_operators
from assembly.elements.family import Displaced, Passage
from assembly.errors import ConvergenceError
from assembly.kinematics import UNIT_COUNT, Kinematics
from assembly.linalg.combination import Combination
from assembly.magnitudes import EQUAL
from assembly.materials.plausibility import ask
from assembly.types import Array

RITZ_MODES = 6
DOUBTED, REFUSED = 0.01, 1.0  # error estimates: relative errors of ω²


def judge(error: float) -> None:
    """Asks about an error estimate of first order that is large; ConvergenceError beyond one."""
    if error >= REFUSED:
        raise ConvergenceError(
            f"prestress: the deflection is too large for first order, which leaves out {error:.2g} "
            'times ω² of a mode; use prestress="nonlinear"'
        )
    if error > DOUBTED:
        ask(
            "prestress",
            "first-order",
            f"leaves out about {100.0 * error:.0f} % of ω² of a mode at this deflection; is "
            'prestress="nonlinear" meant?',
            stacklevel=7,
        )


def left_out(missing: Array, changes: Array, loads: Array) -> float:
    """The error estimate (module docstring) from forms (r, r) of Ritz modes with φᵀKφ = 1.

    missing: of V − UK⁻¹U; changes: of U; loads: of the stiffness of the loads.
    """
    if not missing.size:
        return 0.0
    own_changes, own_loads = np.diag(changes), np.diag(loads)
    of_loads = np.abs(own_changes).max() * np.abs(own_changes + own_loads).max()
    return max(0.0, float(la.eigvalsh(missing)[-1])) + float(of_loads)


class FirstOrder:
    """Changes of the matrices of a body over its free DOFs per unit load.

    Units 0–11 are the kinematics, 12–17 the dampers' v_O,i and ω_i.
    """

    def __init__(self, ops: BodyOperators) -> None:
        self.ops, self.body, self.statics = ops, ops.body, ops.statics
        self._load_changes: dict[bytes, Displaced] = {}
        # Each computed once.
        self.change, self._square = cache(self._change), cache(self._square_of_units)
        self._coupling, self._forms = cache(self._coupling_of), cache(self._forms_of)
        self._product = cache(self._product_of)

    def loads(self, motion: Kinematics) -> dict[int, float]:
        """The multiples of the unit loads that act, by their number."""
        numbers = motion.loads()[: len(self.ops.B)]
        return {int(k): float(numbers[k]) for k in np.flatnonzero(numbers)}

    def _change(self, unit: int) -> Displaced:
        """The derivatives of K_T (beyond K_G), M and D by one unit load."""
        return self.change_of(*self._response(unit))

    def load_changes(self, loads: Array) -> list[Displaced]:
        """Those by the responses to loads (all DOFs, k), the same objects for the same loads."""
        return self.statics.of_loads(loads, self._load_changes, self.change_of)

    @cached_property
    def mobile_changes(self) -> list[Displaced]:
        """Those by the motions `mobile`."""
        return [self.change_of(u) for u in self.mobile.T]

    def change_of(self, u: Array, coefficients: Array | None = None) -> Displaced:
        """The same by a displacement u (all DOFs,), and by the unit kinematics that cause it."""
        c = np.zeros(UNIT_COUNT) if coefficients is None else coefficients
        at = Passage.at_rest(u, c, self.body.rayleigh)
        return self._summed([family.displaced(at) for family in self.body.families])

    def square_of(self, u: Array, coefficients: Array) -> Displaced:
        """What completes the square of the strains: K and D, quadratic in (u, coefficients)."""
        at = Passage.at_rest(u, coefficients, self.body.rayleigh)
        return self._summed([family.strain_square(at) for family in self.body.families])

    def _square_of_units(self, i: int, j: int) -> Displaced:
        """The coefficient of the product of two unit loads in `square_of`; the same objects."""
        (u, c), (v, d) = (self._response(unit) for unit in (i, j))
        square = self.square_of(u, c)
        if i == j:
            return square
        # By polarization, with responses alike in size.
        sizes = np.abs(u).max(initial=0.0), np.abs(v).max(initial=0.0)
        scale = sizes[0] / sizes[1] if min(sizes) > 0.0 else 1.0
        both = self.square_of(u + scale * v, c + scale * d)
        three = zip(both, square, self._square(j, j), strict=True)
        return Displaced(*(_mixed(*matrices, scale) for matrices in three))

    def _response(self, unit: int) -> tuple[Array, Array]:
        """Displacement (all DOFs,) by a unit load, and its coefficients (12,)."""
        U = self.statics.unit_response
        return U[:, unit], np.eye(U.shape[1])[unit, :UNIT_COUNT]

    def _summed(self, each: list[Displaced]) -> Displaced:
        whole = []
        for matrices in zip(*each, strict=True):
            known = [A for A in matrices if A is not None and nonzero(A)]
            total = sum_operators(known, self.body.size) if known else None
            whole.append(None if total is None else restrict(total, self.body.free, {}))
        return Displaced(*whole)

    @cached_property
    def mobile(self) -> Array:
        """Rigid motions (all DOFs, m) that neither supports nor springs resist."""
        return self.body.unresisted(self.body.fixed)

    def mobility(self, u: Array) -> Array:
        """Coordinates (..., m) of the rigid motion in displacements u (..., DOFs).

        What is left of them are responses to loads on the held body, which rest where it is held.
        """
        held = np.flatnonzero(self.statics.held & ~self.body.fixed)
        return np.asarray(np.linalg.solve(self.mobile[held], u[..., held, None])[..., 0])

    def parts(self, motion: Kinematics) -> dict[str, Combination]:
        """What the deflection adds to K_G, M and D of an instant.

        Asks where the error estimate is above `DOUBTED`; ConvergenceError above `REFUSED`.
        """
        judge(self.error(motion))
        loads = self.loads(motion)
        changes = [(factor, self.change(unit)) for unit, factor in loads.items()]
        changes += [
            (loads[i] * loads[j], self._square(i, j)) for i in loads for j in loads if i <= j
        ]
        n = len(self.body.free)

        def total(part: int) -> Combination:
            acting = ((c, change[part]) for c, change in changes if change[part] is not None)
            return Combination((n, n), tuple(acting))

        return {name: total(part) for part, name in enumerate(("K_G", "M", "D"))}

    # The error estimate.

    @cached_property
    def _modes(self) -> Array:
        """Ritz modes (free, r) with φᵀKφ = 1, of the span of the responses to unit loads."""
        ops = self.ops
        U = self.statics.unit_response[self.body.free, :UNIT_COUNT]
        sizes = np.sqrt(np.sum(U * (ops.M @ U), axis=0))
        U = U[:, sizes > 0.0] / sizes[sizes > 0.0]
        values, vectors = la.eigh(U.T @ (ops.M @ U))
        kept = values > EQUAL * values.max(initial=0.0)
        U = U @ (vectors[:, kept] / np.sqrt(values[kept]))
        squares, vectors = la.eigh(U.T @ (ops.K @ U))
        lowest = slice(0, RITZ_MODES)
        return np.asarray(U @ (vectors[:, lowest] / np.sqrt(squares[lowest])))

    def _coupling_of(self, unit: int) -> tuple[Array, Array]:
        """U φ and K⁻¹U φ (free, r)."""
        K = self.change(unit).K
        image = np.zeros_like(self._modes) if K is None else K @ self._modes
        full = np.zeros((self.body.size, image.shape[1]))
        full[self.body.free] = image
        return image, self.statics.response(full)[self.body.free]

    def _forms_of(self, unit: int) -> tuple[Array, Array]:
        """φᵀUφ and φᵀ(K_G + K(ω²))φ (r, r)."""
        modes, ops, (change, _) = self._modes, self.ops, self._coupling(unit)
        image = ops.B[unit] @ modes
        if unit < len(ops.S):
            image = image + ops.S[unit] @ modes
        return modes.T @ change, modes.T @ image

    def _product_of(self, i: int, j: int) -> Array:
        """φᵀU_i K⁻¹U_j φ (r, r)."""
        (image, _), (_, response) = self._coupling(i), self._coupling(j)
        missing = -(image.T @ response)
        square = self._square(min(i, j), max(i, j)).K
        if square is not None:
            missing += (1.0 if i == j else 0.5) * self._modes.T @ (square @ self._modes)
        return np.asarray(missing)

    def error(self, motion: Kinematics) -> float:
        """The largest relative error of ω² of the Ritz modes by what first order leaves out."""
        loads = self.loads(motion)
        missing, changes, stiffness = np.zeros((3, *(self._modes.shape[1],) * 2))
        for i, a in loads.items():
            of_change, of_load = self._forms(i)
            changes += a * of_change
            stiffness += a * of_load
            for j, b in loads.items():
                missing += a * b * self._product(i, j)
        return left_out(missing, changes, stiffness)


def _mixed(both: Any, first: Any, second: Any, scale: float) -> sp.csr_matrix | None:
    """The mixed term of a quadratic form from its values at a + scale b, a and b."""
    if both is None:
        return None
    terms = [(1.0, both), (-1.0, first), (-(scale**2), second)]
    return sp.csr_matrix(sum(x / scale * A.tocsr() for x, A in terms if A is not None))
