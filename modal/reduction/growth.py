"""One round of growth of reduced bases: K_ref⁻¹ × the dominant residuals of modes whose error bound
is too large, right and left, of every part of a model (a body, or each large link of a mechanism).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg as la

from modal.eigen.quadratic import in_parts
from modal.reduction.basis import ReducedBasis
from modal.reduction.instants import Instants
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.residuals import roles_of_modes
from modal.types import Array, Index

WIDEST = 20  # vectors that one round adds to a part
DOMINANT = 0.7  # of a residual that just meets the tolerance: least size of a new direction
MOST = 400  # modes whose residuals are compressed in one round, the worst


def grown(
    parts: Mapping[str, ReducedBasis], instants: Instants, modes: SmallModes, ratio: Array
) -> int:
    """Number of vectors added to the bases of all parts.

    ratio (P, k): error bound / allowed error of the modes.
    """
    sides: dict[str, list[tuple[bool, Array, Array]]] = {name: [] for name in parts}
    points, index = np.nonzero(ratio > 1.0)
    worst = np.argsort(-ratio[points, index], kind="stable")[:MOST]
    _collect(sides, instants, modes, ratio, points[worst], index[worst])
    svds = {
        name: la.svd(np.hstack([sketch for _, sketch, _ in columns]), full_matrices=False)[1:]
        for name, columns in sides.items()
        if columns
    }
    least = min(DOMINANT, max((sizes[0] for sizes, _ in svds.values()), default=0.0))
    added = 0
    for name, (sizes, Wt) in svds.items():
        count = int(min((sizes >= least).sum(), WIDEST))
        if count:
            added += parts[name].grow(_residuals(parts[name], sides[name], Wt[:count].T))
    return added


def _collect(
    sides: dict[str, list[tuple[bool, Array, Array]]],
    instants: Instants,
    modes: SmallModes,
    ratio: Array,
    points: Index,
    index: Index,
) -> None:
    """Sketches Θρ (p, c) and coordinates (J, r, c) of the residuals of some modes, by part.

    Real columns, scaled so that one of norm 1 just meets the tolerance: the bound goes with the
    square of the norm.
    """
    here = instants.taken(points)
    for transposed in (False,) if modes.exact[points].all() else (False, True):
        vectors = (modes.left if transposed else modes.right)[points, :, index][:, :, None]
        lam = modes.eigenvalues[points, index][:, None]
        motion = roles_of_modes(lam.conj() if transposed else lam, vectors)[::-1]
        roles = {name: here.roles(name, *motion, transposed) for name in sides}
        both = {name: here.sketch(name, roles[name], transposed) for name in sides}
        sketches = {name: sketch[:, 0, :, 0].T for name, sketch in both.items()}
        square = sum((np.abs(sketch) ** 2).sum(axis=0) for sketch in sketches.values())
        scale = np.sqrt(ratio[points, index] / np.maximum(square, np.finfo(float).tiny))
        for name, sketch in sketches.items():
            at = here.coefficients[name]
            coordinates = scale * sum(
                table.T[:, None, :] * x[..., 0].T
                for table, x in zip(at.table, roles[name], strict=True)
            )
            wide = np.concatenate([coordinates.real, coordinates.imag], axis=2)
            sides[name].append((transposed, in_parts(sketch * scale), wide))


def _residuals(part: ReducedBasis, sides: list[tuple[bool, Array, Array]], mix: Array) -> Array:
    """Combinations (n, count) of the residuals of a part; mix (columns, count)."""
    blocks: dict[bool, Any] = {False: 0.0, True: 0.0}
    start = 0
    for transposed, sketch, coordinates in sides:
        blocks[transposed] = blocks[transposed] + coordinates @ mix[start : start + sketch.shape[1]]
        start += sketch.shape[1]
    J, r, _ = np.shape(blocks[False])
    terms, V = part.terms[:J], part.V[:, :r]
    right = part.rotation[:r, :r] @ blocks[False]
    if not np.ndim(blocks[True]):
        return combined(terms, V, right)
    left = part.rotation[:r, :r] @ blocks[True]
    # Symmetric and skew matrices multiply both kinds of residuals at once.
    symmetry = np.array([term.symmetry for term in terms])[:, None, None]
    both = combined(terms, V, right + symmetry * left)
    return both + combined(terms, V, np.where(symmetry == 0, left, 0.0), transposed=True)
