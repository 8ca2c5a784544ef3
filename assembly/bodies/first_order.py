"""Prestress to first order in the load: the matrices of a body in their change with its deflection.

With the equilibrium u(s) of the deformed body (`assembly.bodies.nonlinear`) under a share s of its
load,

    K(s) = K + s (K_G + ∂K_T/∂u · u₁) + O(s²),   M(s) = M + s ∂M/∂u · u₁ + O(s²),   u₁ = K⁻¹Q,

and D alike. u₁ is a sum over unit loads, and so are the changes: one fixed matrix per unit load, as
K_G has. What the displaced shape changes in C is of order s^3/2, in K(ε) and K(ω²) of order s².

The truncation couples bending and stretch by EA w₀′ and leaves out EA w₀′², which cancels what the
coupling does to the eigenvalues in second order. For a mode φ that is

    −φᵀU K⁻¹U φ,   U = ∂K_T/∂u · u₁,

as a share of φᵀKφ: the error estimate. At one the stiffness is not definite any more, whatever the
body. φ are Ritz modes of the span of the responses to the twelve unit loads.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as la

from assembly.bodies.operators import nonzero, restrict, sum_operators
from assembly.elements.passage import Displaced
from assembly.errors import ConvergenceError
from assembly.kinematics import UNIT_COUNT, Kinematics
from assembly.linalg.combination import Combination
from assembly.materials.plausibility import ask
from assembly.types import Array

if TYPE_CHECKING:
    from assembly.bodies.body import Body

RITZ_MODES = 6
DOUBTED, REFUSED = 0.01, 1.0  # error estimates: relative errors of ω²
DEPENDENT = 1e-10  # of the largest Gram eigenvalue: responses that are combinations of others


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


class FirstOrder:
    """Changes of the matrices of a body over its free DOFs per unit load.

    Units 0–11 are the kinematics, 12–17 the dampers' v_O,i and ω_i.
    """

    def __init__(self, body: Body) -> None:
        self.body, self.statics = body, body.statics
        self._changes: dict[int, Displaced] = {}
        self._load_changes: dict[bytes, Displaced] = {}
        self._couplings: dict[int, tuple[Array, Array]] = {}
        self._products: dict[tuple[int, int], Array] = {}

    def loads(self, motion: Kinematics) -> dict[int, float]:
        """The multiples of the unit loads that act, by their number."""
        values = [motion.coefficients()]
        if self.body.operators.B_damper:
            values.append(motion.twist())
        numbers = np.concatenate(values)
        return {int(k): float(numbers[k]) for k in np.flatnonzero(numbers)}

    def change(self, unit: int) -> Displaced:
        """The derivatives of K_T (beyond K_G), M and D by one unit load."""
        if unit not in self._changes:
            if unit < UNIT_COUNT:
                change = self.change_of(self.statics.unit_response[:, unit], unit)
            else:
                change = self.change_of(self.statics.damper_response[:, unit - UNIT_COUNT])
            self._changes[unit] = change
        return self._changes[unit]

    def load_changes(self, loads: Array) -> list[Displaced]:
        """Those by the responses to loads (all DOFs, k), the same objects for the same loads."""
        keys = [column.tobytes() for column in np.ascontiguousarray(loads.T)]
        new = [j for j, key in enumerate(keys) if key not in self._load_changes]
        if new:
            for j, u in zip(new, self.statics.response(loads[:, new]).T, strict=True):
                self._load_changes[keys[j]] = self.change_of(u)
        return [self._load_changes[key] for key in keys]

    @cached_property
    def mobile_changes(self) -> list[Displaced]:
        """Those by the motions `mobile`."""
        return [self.change_of(u) for u in self.mobile.T]

    def change_of(self, u: Array, unit: int | None = None) -> Displaced:
        """The same by a displacement u (all DOFs,), and by one unit kinematics that causes it."""
        c = np.zeros(UNIT_COUNT)
        if unit is not None:
            c[unit] = 1.0
        each = [family.displaced(u, c, self.body.rayleigh) for family in self.body.families]
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
        terms: dict[str, list[tuple[float, Any]]] = {"K_G": [], "M": [], "D": []}
        for unit, factor in self.loads(motion).items():
            for name, A in zip(terms, self.change(unit), strict=True):
                if A is not None:
                    terms[name].append((factor, A))
        n = len(self.body.free)
        return {name: Combination((n, n), tuple(own)) for name, own in terms.items()}

    # The error estimate.

    @cached_property
    def _modes(self) -> Array:
        """Ritz modes (free, r) with φᵀKφ = 1, of the span of the responses to unit loads."""
        ops = self.body.supported
        U = self.statics.unit_response[self.body.free]
        sizes = np.sqrt(np.sum(U * (ops.M @ U), axis=0))
        U = U[:, sizes > 0.0] / sizes[sizes > 0.0]
        values, vectors = la.eigh(U.T @ (ops.M @ U))
        kept = values > DEPENDENT * values.max(initial=0.0)
        U = U @ (vectors[:, kept] / np.sqrt(values[kept]))
        squares, vectors = la.eigh(U.T @ (ops.K @ U))
        lowest = slice(0, RITZ_MODES)
        return np.asarray(U @ (vectors[:, lowest] / np.sqrt(squares[lowest])))

    def _product(self, i: int, j: int) -> Array:
        """φᵀU_i K⁻¹U_j φ (r, r)."""
        if (i, j) not in self._products:
            for unit in (i, j):
                if unit not in self._couplings:
                    K = self.change(unit).K
                    image = np.zeros_like(self._modes) if K is None else K @ self._modes
                    full = np.zeros((self.body.size, image.shape[1]))
                    full[self.body.free] = image
                    self._couplings[unit] = image, self.statics.response(full)[self.body.free]
            (image, _), (_, response) = self._couplings[i], self._couplings[j]
            self._products[i, j] = image.T @ response
        return self._products[i, j]

    def error(self, motion: Kinematics) -> float:
        """The largest relative error of ω² of the Ritz modes by what first order leaves out."""
        loads = self.loads(motion)
        total = np.zeros((self._modes.shape[1],) * 2)
        for i, a in loads.items():
            for j, b in loads.items():
                total += a * b * self._product(i, j)
        return float(la.eigvalsh(total).max(initial=0.0)) if total.size else 0.0
