"""Which rigid motions no stiffness resists: K v = 0.

Springs to the frame, bearings, and the cross-coupled (skew) stiffness of films and seals count. A
damper does not: it holds nothing at rest, and its K_D = d ω̃ in a turning frame is damping seen from
there. Whether a motion is rigid therefore does not depend on the speed.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.magnitudes import ROUND_OFF
from assembly.types import Array, Mask


def unresisted(motions: Array, *stiffnesses: sp.csr_matrix) -> Array:
    """The combinations of motions that every one of the stiffnesses annihilates.

    Parameters
    ----------
    motions : ndarray, shape (n, m)
        Rigid motions, of any units.
    *stiffnesses : sparse matrix, shape (n, n)
        Symmetric or not.

    Returns
    -------
    ndarray, shape (n, k)
        A basis; `motions` itself when nothing resists.

    Notes
    -----
    Entry i of K v counts as zero below 1e-12 Σ_j max(|K_ij|, √|K_ii K_jj|) |v_j|. The bound is that
    of the row alone, and each stiffness is judged by itself: a soft spring counts next to a stiff
    one.
    """
    present = [sp.csr_matrix(K) for K in stiffnesses if K.nnz]
    if not present or motions.shape[1] == 0:
        return motions
    size = np.linalg.norm(motions, axis=0)
    U, sizes, _ = la.svd(motions / np.where(size > 0.0, size, 1.0), full_matrices=False)
    V = U[:, sizes > ROUND_OFF]
    forces = np.vstack([_relative_forces(K, V) for K in present])
    Z = la.svd(forces, full_matrices=False)[2].T
    free = np.abs(forces @ Z).max(axis=0) <= ROUND_OFF
    return motions if free.all() else np.asarray(V @ Z[:, free])


def compatible(fields: Array, fixed: Mask, scale: float) -> Array:
    """The combinations of rigid fields (n, k), of points up to `scale` m away, that leave the
    fixed DOFs (n,) at rest.
    """
    if not fixed.any():
        return fields
    triangle = la.qr(fields[fixed], mode="economic")[1]
    _, sizes, Zt = la.svd(triangle, full_matrices=True)
    return np.asarray(fields @ Zt[int((sizes > 1e-10 * scale).sum()) :].T)


def _relative_forces(K: sp.csr_matrix, V: Array) -> Array:
    """K V (n, m), each row divided by what its entries could exert."""
    d = np.sqrt(np.abs(K.diagonal()))
    rows = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
    largest = np.maximum(np.abs(K.data), d[rows] * d[K.indices])
    bound = np.bincount(rows, largest * np.abs(V).max(axis=1)[K.indices], K.shape[0])
    return np.asarray((K @ V) / np.where(bound > 0.0, bound, 1.0)[:, None])
