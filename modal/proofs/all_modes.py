"""All modes of a small system, with error bounds, and which of them cannot grow.

The bound is of first order, with the larger of the backward errors of both vectors: it is safe, and
wide compared with the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.eigen.checked_modes import alone_on_axis, decisive
from modal.eigen.prescribed import PrescribedMotion
from modal.eigen.quadratic import Quadratic
from modal.eigen.solve import all_modes as solved
from modal.eigen.tolerances import EPS, ROUND_OFF, SURE
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


def all_modes(system: FrozenSystem, motion: PrescribedMotion | None = None) -> AllModes:
    """The modes of a system by LAPACK; motion: its prescribed fields, where they are known.

    Raises AccuracyError, ConvergenceError.
    """
    modes, quadratic = solved(system, motion), Quadratic(system)
    lam, bound = modes.eigenvalues, modes.error_bound
    static = np.flatnonzero(lam.imag == 0.0)
    change = sign_of_stiffness(
        quadratic, lam[static], modes.right[:, static], modes.left[:, static]
    )
    bound[static] = np.maximum(bound[static], change)
    total = modes.deflated + int(np.where(lam.imag > 0.0, 2, 1).sum())
    counts = np.asarray(modes.kind) != "prescribed"
    lam, bound = lam[counts], bound[counts]
    on_axis = alone_on_axis(quadratic, lam, bound)
    unsure = (np.abs(lam.real) <= SURE * bound) & ~decisive(quadratic, lam, bound) & ~on_axis
    bound = np.where(unsure, SURE * bound, bound)
    return AllModes(lam, bound, on_axis, modes.deflated, total == 2 * system.n)


def beyond_precision(eigenvalues: Complex, symmetric: Mask) -> Mask:
    """Points (P,) of whose modes (P, m), all there are, LAPACK cannot tell more.

    No growth rate is above round-off, and one of a mode is below the last digit of its eigenvalue:
    no bound is so small. Where the spectrum is `symmetric` (P,) to the imaginary axis that decides
    on a mode that is alone: there another one is next to it. NaN entries are modes that do not
    exist.
    """
    size = np.abs(eigenvalues)
    on_axis = np.abs(eigenvalues.real) <= EPS * size
    gaps = np.abs(eigenvalues[:, :, None] - eigenvalues[:, None]) <= ROUND_OFF * size[:, None]
    on_axis &= ~symmetric[:, None] | (gaps.sum(axis=1) > 1)
    grows = (eigenvalues.real > ROUND_OFF * size).any(axis=1)
    return np.asarray(on_axis.any(axis=1) & ~grows)


def sign_of_stiffness(quadratic: Quadratic, lam: Complex, right: Complex, left: Complex) -> Array:
    """What the round-off of the stiffness changes in real eigenvalues (k,), rad/s.

    A stiffness below the round-off of K may be of either sign: a soft spring beside a stiff body,
    or a null space that is not given as `rigid`. A change of K that is symmetric moves an undamped
    oscillation along the imaginary axis.
    """
    terms = (np.abs(left) * (abs(quadratic.K) @ np.abs(right))).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = FORMED * terms / np.abs(quadratic.pairing(lam, left, right))
    return np.asarray(np.nan_to_num(change, nan=np.inf))
