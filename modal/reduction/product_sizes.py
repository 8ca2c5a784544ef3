"""How large the terms are that the product of an operator with a shape sums.

In floating point yᴴAx is wrong by about ε Σ_ij |A_ij||y_i||x_j|: the stiffness of a fine mesh is
many orders above what its terms leave for a smooth shape. With any t > 0,

    Σ_ij |A_ij||y_i||x_j| ≤ ‖y‖_s ‖x‖_s,   ‖x‖_s² = Σ_i s_i |x_i|²,
    s_i = max(Σ_j |A_ij| t_j, Σ_j |A_ji| t_j) / t_i

(Schur's test). t = 1/√diag M makes it independent of units. On a basis V the sizes are the small
matrix Vᵀ diag(s) V. Operators with about the same entries share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assembly.linalg.combination import absolute_of, transpose_of
from modal.reduction.affine import Term
from modal.types import Array


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
