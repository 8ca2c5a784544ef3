"""A small free system without the motions that the kinematics prescribe.

In the coordinates x = T p + R q + N y, with T the prescribed translations, R the other rigid fields
and N the shapes y of the degrees of freedom that are not pinned, less their share of T, the
equations of p decouple, K is zero for q to the last digit, and is K itself, without the pinned rows
and columns, for y. So round-off of a stiff body does not hide how it moves as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.symmetric import symmetry_of
from assembly.system.frozen import PARTS, FrozenSystem
from assembly.system.null_chain import ELASTIC_TOLERANCE, pinned_dofs
from modal.eigen.prescribed import (
    PrescribedMotion,
    prescribed_motion,
    rigid_images,
    uncounted_motions,
)
from modal.types import Array


def without_translations(
    system: FrozenSystem,
) -> tuple[FrozenSystem, PrescribedMotion | None] | None:
    """The equations of q and y, full matrices, and their prescribed fields, if q is not empty.

    `rigid` are the coordinates q, and `parameters` holds the rate of the frame. None where nothing
    but prescribed translations is left.
    """
    images = rigid_images(system)
    motion = uncounted_motions(system, images)[0]
    T = images.fields @ motion.translations
    rest = la.null_space(motion.translations.T) if T.shape[1] else np.eye(len(motion.translations))
    R = images.fields @ rest
    free = np.setdiff1d(np.arange(system.n), pinned_dofs(images.fields))
    N = np.eye(system.n)[:, free] - T @ (system.M @ T).T[:, free]
    V = np.hstack([R, N])
    if V.shape[1] == 0:
        return None
    parts: dict[str, Any] = {}
    for name in PARTS:
        part = system.parts[name]
        matrices = [sp.csr_matrix(_projected(A, R, T, V, free)) for _, A in part.terms]
        parts[name] = Combination.of(V.shape[1], [weight for weight, _ in part.terms], matrices)
    coordinates = np.eye(V.shape[1], R.shape[1])
    rate = dict(omega=np.array([0.0, 0.0, motion.turned_rates.max(initial=0.0)]))
    reduced = FrozenSystem(**parts, rigid=coordinates, parameters=rate)
    return reduced, prescribed_motion(reduced) if R.shape[1] else None


def _projected(operator: Any, R: Array, T: Array, V: Array, free: Any) -> Array:
    """VᵀAV; where A annihilates all rigid fields it has the entries of A and zeros."""
    A = operator.tocsr()
    rigid = np.hstack([R, T])
    terms = np.linalg.norm(abs(A) @ np.abs(rigid))
    images = max(np.linalg.norm(A @ rigid), np.linalg.norm(A.T @ rigid))
    if images <= ELASTIC_TOLERANCE * terms:
        out = np.zeros((V.shape[1], V.shape[1]))
        out[R.shape[1] :, R.shape[1] :] = A[free][:, free].toarray()
        return out
    out = V.T @ (A @ V)
    symmetry = symmetry_of(operator)
    return np.asarray(0.5 * (out + symmetry * out.T) if symmetry else out)
