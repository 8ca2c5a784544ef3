"""Products of fixed operators with one block of vectors, in which M, G and S share one product.

Isotropic interpolations have M, G_i and S_ij = m ⊗ a with one scalar matrix m: m X is formed once,
and Lᵀ(m ⊗ a)X = Σ_ik a_ik L_iᵀ(m X_k) with the components i, k of the nodes.

In floating point yᴴAx is wrong by about ε Σ_ij |A_ij||y_i||x_j|: the stiffness of a fine mesh is
many orders above what its terms leave for a smooth shape. With any t > 0,

    Σ_ij |A_ij||y_i||x_j| ≤ ‖y‖_s ‖x‖_s,   ‖x‖_s² = Σ_i s_i |x_i|²,
    s_i = max(Σ_j |A_ij| t_j, Σ_j |A_ji| t_j) / t_i

(Schur's test). t = 1/√diag M makes it independent of units. On a basis V the sizes are the small
matrix Vᵀ diag(s) V. Operators with about the same entries share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assembly.linalg.combination import Kronecker, absolute_of, transpose_of
from modal.reduction.affine import Term
from modal.types import Array


def projections(
    terms: Sequence[Term], left: Sequence[Array], block: Array, transposed: bool = False
) -> list[list[Array]]:
    """LᵀA_jX of all operators A_j, or LᵀA_jᵀX, for every L (n, l) of `left` and X (n, q)."""
    shared: dict[int, list[Array]] = {}
    out = []
    for term, shares in zip(terms, _sharing(terms), strict=True):
        operator = term.operator
        if not shares:
            image = term.apply(block, transposed)
            out.append([L.T @ image for L in left])
            continue
        if id(operator.m) not in shared:
            image = operator.m @ block.reshape(operator.m.shape[1], -1)
            shared[id(operator.m)] = [_by_components(L, image, len(operator.a)) for L in left]
        a = term.symmetry * operator.a if transposed else operator.a
        out.append([np.einsum("ik,ilkq->lq", a, parts) for parts in shared[id(operator.m)]])
    return out


def combined(
    terms: Sequence[Term], V: Array, coordinates: Array, transposed: bool = False
) -> Array:
    """Σ_j A_j V x_j (n, q), or that of A_jᵀ, with V (n, r) and coordinates (J, r, q).

    Σ_j (m ⊗ a_j) V x_j has the components m Σ_k V_k Σ_j a_j,ik x_j at the nodes.
    """
    out = np.zeros((V.shape[0], coordinates.shape[2]))
    shared: dict[int, tuple[Any, Any]] = {}
    for term, shares, x in zip(terms, _sharing(terms), coordinates, strict=True):
        if not np.any(x):
            continue
        if not shares:
            out += term.apply(V @ x, transposed)
            continue
        m, a = term.operator.m, term.operator.a
        a = term.symmetry * a if transposed else a
        mixed = shared.get(id(m), (m, 0.0))[1]
        shared[id(m)] = m, mixed + a[:, :, None, None] * x
    for m, mixed in shared.values():
        components = V.reshape(m.shape[1], len(mixed), -1)
        total = np.zeros((m.shape[1], len(mixed), out.shape[1]))
        for i, k in np.argwhere(mixed.any(axis=(2, 3))):
            total[:, i] += components[:, k] @ mixed[i, k]
        out += (m @ total.reshape(len(total), -1)).reshape(out.shape)
    return out


def _sharing(terms: Sequence[Term]) -> list[bool]:
    """Which operators are m ⊗ a, symmetric or skew, with an m that occurs more than once."""
    scalar = [
        id(term.operator.m) if isinstance(term.operator, Kronecker) and term.symmetry else None
        for term in terms
    ]
    times = Counter(scalar)
    return [m is not None and times[m] > 1 for m in scalar]


def _by_components(left: Array, image: Array, d: int) -> Array:
    """L_iᵀ Y_k of all pairs of components, (d, l, d, q), from L (n, l) and Y (N, d q)."""
    rows = left.T.reshape(left.shape[1], len(image), d)
    parts = [np.ascontiguousarray(rows[:, :, i]) @ image for i in range(d)]
    return np.asarray(np.stack(parts).reshape(d, left.shape[1], d, image.shape[1] // d))


@dataclass(frozen=True)
class ProductSizes:
    """s of groups of operators.

    weights (G, n): s of each group. factors (J, G): s of operator j is at most Σ_g factors[j, g]
    weights[g].
    """

    weights: Array
    factors: Array

    @classmethod
    def of(cls, terms: Sequence[Term], mass_diagonal: Array, alike: float = 4.0) -> ProductSizes:
        """alike: times an operator's own sizes, those of another that it may share."""
        t = 1.0 / np.sqrt(mass_diagonal)
        groups: list[Array] = []
        rows: list[tuple[int, float]] = []
        for term in terms:
            s = _sums(term, t) / t
            for g, weights in enumerate(groups):
                acts = s > 0.0
                if np.all(weights[acts] > 0.0):
                    factor = float((s[acts] / weights[acts]).max(initial=0.0))
                    if factor * weights @ t**2 <= alike * (s @ t**2):
                        rows.append((g, factor))
                        break
            else:
                rows.append((len(groups), 1.0))
                groups.append(s)
        factors = np.zeros((len(rows), len(groups)))
        for j, (g, factor) in enumerate(rows):
            factors[j, g] = factor
        return cls(np.array(groups).reshape(len(groups), len(t)), factors)


def _sums(term: Term, t: Array) -> Array:
    """max(|A| t, |Aᵀ| t), entry by entry."""
    size = absolute_of(term.operator)
    return np.asarray(size @ t if term.symmetry else np.maximum(size @ t, transpose_of(size) @ t))
