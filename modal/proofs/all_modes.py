"""All eigenvalues of a small damped system from one LAPACK solution, with first-order error bounds.

For the pair λ, x with the left vector y, yᴴQ′(λ)x = 1, LAPACK leaves residuals r = Q(λ)x and
s = Q(λ)ᴴy. One two-sided Rayleigh step λ − yᴴr makes the error of λ of second order in those of x
and y. The bound is that of `Modes.error_bound`, of first order, with the larger of the two backward
errors: it is safe, and wide compared with the error. Where the bounds of a group of eigenvalues
reach one another, each gets the largest of them and the width of the group.
"""

from __future__ import annotations

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.dense import solve_dense
from modal.eigen.solvers.pairs import clusters
from modal.eigen.tolerances import EPS
from modal.types import Array, Complex

SURE = 4.0  # times its error bound: a growth rate beyond this has a certain sign
FORMED = 4e-14  # of |K|: what round-off of the sums that form a stiffness can make, with a margin


def all_modes(system: FrozenSystem) -> tuple[Complex, Array] | None:
    """All eigenvalues (m,), Im λ ≥ 0, and their error bounds (m,), rad/s.

    None where a free mobility or a singular stiffness has zero eigenvalues, or where the spectrum
    is symmetric to the axis: modal/eigen has methods for these. Raises ConvergenceError.
    """
    quadratic = Quadratic(system)
    if quadratic.reversible or system.rigid.shape[1] or system.null_chain is not None:
        return None
    found = solve_dense(quadratic, None)
    if found.factorization != "LU" or found.left is None or found.total != 2 * system.n:
        return None
    lam, X, Y = found.eigenvalues, found.right, found.left
    MX, CX, _ = quadratic.images(X)
    right = quadratic.residual(lam, X)
    left = quadratic.transposed.residual(lam, Y.conj())
    pairing = (Y.conj() * (MX * (2.0 * lam) + CX)).sum(axis=0)
    weights = quadratic.weights(lam)
    sizes = [np.linalg.norm(vectors, axis=0) for vectors in (X, Y)]
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = [
            np.linalg.norm(residual, axis=0) / (weights * size)
            for residual, size in zip((right, left), sizes, strict=True)
        ]
        # No solution is expected to have a smaller backward error than 4ε.
        bound = np.maximum(np.maximum(*errors), 4.0 * EPS) * weights * sizes[0] * sizes[1]
        bound = bound / np.abs(pairing)
        bound = np.maximum(bound, sign_of_stiffness(quadratic, lam, X, Y, pairing))
        corrected = lam - (Y.conj() * right).sum(axis=0) / pairing
    for group in (members for members in clusters(lam) if len(members) > 1):
        apart = np.abs(lam[group][:, None] - lam[group])
        largest = bound[group].max()
        if SURE * largest >= apart[~np.eye(len(group), dtype=bool)].min():
            bound[group] = largest + apart.max()
    return np.where(lam.imag == 0.0, corrected.real + 0j, corrected), bound


def sign_of_stiffness(
    quadratic: Quadratic, lam: Complex, right: Complex, left: Complex, pairing: Complex
) -> Array:
    """What the round-off of the stiffness changes in real eigenvalues (k,), rad/s; zero elsewhere.

    A stiffness below the round-off of K may be of either sign: a soft spring beside a stiff body,
    or a null space that is not given as `rigid`. pairing (k,): yᴴQ′(λ)x. A change of K that is
    symmetric moves an undamped oscillation along the imaginary axis.
    """
    terms = (np.abs(left) * (abs(quadratic.K) @ np.abs(right))).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.nan_to_num(FORMED * terms / np.abs(pairing), nan=np.inf)
    return np.asarray(np.where(lam.imag == 0.0, change, 0.0))
