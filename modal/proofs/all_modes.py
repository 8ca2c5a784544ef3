"""All modes of a small system, with error bounds, and which of them cannot grow.

For the pair λ, x with the left vector y, yᴴQ′(λ)x = 1, LAPACK leaves residuals r = Q(λ)x and
s = Q(λ)ᴴy. One two-sided Rayleigh step λ − yᴴr makes the error of λ of second order in those of x
and y. The bound is of first order, with the larger of the two backward errors: it is safe, and wide
compared with the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.eigen.checked_modes import alone_on_axis, decisive, growth_bounds
from modal.eigen.quadratic import Quadratic
from modal.eigen.solve import all_modes as solved
from modal.eigen.tolerances import SURE
from modal.types import Array, Complex, Mask

FORMED = 4e-14  # of |K|: what round-off of the sums that form a stiffness can make, with a margin


@dataclass(frozen=True)
class AllModes:
    """Modes that the kinematics do not prescribe: eigenvalues (m,), Im λ ≥ 0, and bounds (m,).

    on_axis (m,): eigenvalues on the imaginary axis by symmetry. zeros: zero eigenvalues that were
    removed. complete: with these, and with the prescribed modes, they are all there are.
    """

    eigenvalues: Complex
    bounds: Array
    on_axis: Mask
    zeros: int
    complete: bool


def all_modes(system: FrozenSystem) -> AllModes:
    """The modes of a system by LAPACK. Raises AccuracyError, ConvergenceError."""
    modes, quadratic = solved(system), Quadratic(system)
    lam, X, Y = modes.eigenvalues, modes.right, modes.left
    bound = growth_bounds(quadratic, lam, X, Y)
    bound = np.maximum(bound, sign_of_stiffness(quadratic, lam, X, Y))
    step = (Y.conj() * quadratic.residual(lam, X)).sum(axis=0)
    lam = lam - np.where(np.isfinite(bound) & (lam.real != 0.0), step, 0.0)
    lam = np.where(modes.eigenvalues.imag == 0.0, lam.real + 0j, lam)
    total = modes.deflated + int(np.where(lam.imag > 0.0, 2, 1).sum())
    counts = np.asarray(modes.kind) != "prescribed"
    lam, bound = lam[counts], bound[counts]
    on_axis = alone_on_axis(quadratic, lam, bound)
    unsure = (np.abs(lam.real) <= SURE * bound) & ~decisive(quadratic, lam, bound) & ~on_axis
    bound = np.where(unsure, SURE * bound, bound)
    return AllModes(lam, bound, on_axis, modes.deflated, total == 2 * system.n)


def sign_of_stiffness(quadratic: Quadratic, lam: Complex, right: Complex, left: Complex) -> Array:
    """What the round-off of the stiffness changes in real eigenvalues (k,), rad/s; zero elsewhere.

    A stiffness below the round-off of K may be of either sign: a soft spring beside a stiff body,
    or a null space that is not given as `rigid`. A change of K that is symmetric moves an undamped
    oscillation along the imaginary axis.
    """
    terms = (np.abs(left) * (abs(quadratic.K) @ np.abs(right))).sum(axis=0)
    pairing = np.abs(quadratic.pairing(lam, left, right))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.nan_to_num(FORMED * terms / pairing, nan=np.inf)
    return np.asarray(np.where(lam.imag == 0.0, change, 0.0))
