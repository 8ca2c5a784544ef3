"""A still smaller basis for a few neighbouring points, inside the basis of a whole sweep.

Over a tile of a map the wanted modes span far fewer directions than over the map. The modes of a
few anchor points, solved in the shared basis, are compressed to the directions that matter (second
order: what is left out at relative size t costs t² in an eigenvalue), and everything that is
projected or sketched is restricted to them. The certificate is the same, since residuals stay those
of the full problem.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as la

from modal.reduction.basis import Projected
from modal.reduction.reduced_eigen import SmallModes
from modal.types import Array

KEPT = 0.15  # of √tolerance: the relative size of directions that are kept


def local(projected: Projected, anchors: SmallModes, tolerance: float) -> tuple[Projected, Array]:
    """The restriction to the span of the anchors' modes, right and left, real and imaginary parts.

    Returns it and its basis (r, s) in the coordinates of `projected`.

    anchors: modes of a few points in `projected`, the last of each point being the first that is
    left out; tolerance: of the eigenvalues, relative.
    """
    columns = []
    for vectors in (anchors.right, anchors.left):
        kept = vectors[:, :, :-1].transpose(1, 0, 2).reshape(projected.size, -1)
        kept = kept[:, np.isfinite(kept).all(axis=0)] * projected.frequency[:, None]
        kept = kept / np.linalg.norm(kept, axis=0)
        columns += [kept.real, kept.imag]
    U, sizes, _ = la.svd(np.hstack(columns), full_matrices=False)
    U = U[:, sizes > KEPT * np.sqrt(tolerance)]
    # With all rigid fields: what the frame prescribes is then exact here too.
    U = np.hstack([projected.overlap.T, U / projected.frequency[:, None]])
    Q, _ = la.qr(U, mode="economic")
    Z = la.eigh(Q.T @ (projected.frequency[:, None] ** 2 * Q))[1]
    outside = np.nanmin(np.abs(anchors.eigenvalues[:, -1]))
    limit = projected.resolved if np.isnan(outside) else min(float(outside), projected.resolved)
    return restricted(projected, Q @ Z, limit), np.asarray(Q @ Z)


def restricted(projected: Projected, Z: Array, resolved: float) -> Projected:
    """Everything in `projected` on the columns of Z (r, s), with Zᵀ K_ref Z diagonal."""
    squares = np.einsum("rs,r,rs->s", Z, projected.frequency**2, Z)
    return replace(
        projected,
        matrices=np.matmul(Z.T, np.matmul(projected.matrices, Z)),
        sketches=projected.sketches @ Z,
        adjoint_sketches=projected.adjoint_sketches @ Z,
        frequency=np.sqrt(squares),
        sizes=np.matmul(Z.T, np.matmul(projected.sizes, Z)),
        overlap=projected.overlap @ Z,
        resolved=resolved,
        complete=False,
    )
