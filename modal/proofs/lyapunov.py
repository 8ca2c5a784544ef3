"""Lyapunov's function with one parameter: stability without eigenvalues.

For M q̈ + (D + G) q̇ + (S + N) q = 0 and α > 0,

    V = ½ q̇ᵀMq̇ + α qᵀMq̇ + ½ qᵀ(S + αD)q,
    −V̇ = q̇ᵀ(D − αM)q̇ + q̇ᵀ(N − αG)q + α qᵀSq.

Where [[M, αM], [αM, S + αD]] and [[D − αM, (N − αG)/2], [(N − αG)ᵀ/2, αS]] are both positive
definite, every motion decays. Both are linear in α, so that the values of α which serve form an
interval below the smallest xᵀDx / xᵀMx.
"""

from __future__ import annotations

import scipy.sparse as sp

from modal.proofs.forms import Forms
from modal.proofs.ratios import is_definite, largest_ratio

FRACTIONS = (0.5, 0.25, 0.75, 0.1, 0.9)  # of the largest possible α that are tried


def decays(forms: Forms) -> bool:
    """Whether Lyapunov's function proves that every motion decays."""
    if not is_definite(forms.damping):
        return False
    largest = 1.0 / largest_ratio(forms.mass, forms.damping)
    return any(_serves(forms, fraction * largest) for fraction in FRACTIONS)


def _serves(forms: Forms, alpha: float) -> bool:
    M, D, G, S, N = (
        forms.mass, forms.damping, forms.gyroscopic, forms.symmetric, forms.circulatory,
    )  # fmt: skip
    half = 0.5 * (N - alpha * G)
    power = sp.bmat([[D - alpha * M, half], [half.T, alpha * S]], format="csr")
    energy = sp.bmat([[M, alpha * M], [alpha * M, S + alpha * D]], format="csr")
    return is_definite(power) and is_definite(energy)
