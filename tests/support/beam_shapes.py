"""Shape functions of a beam with shear, and finite rotations, written apart from the package."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial


def bending_shapes(phi: float, L: float) -> tuple[list[Polynomial], list[Polynomial]]:
    """Displacement and rotation by x/L of (v₁, θ₁, v₂, θ₂) with θ = v′ − γ (Przemieniecki)."""
    f = 1.0 / (1.0 + phi)
    v = [
        f * Polynomial([1.0 + phi, -phi, -3.0, 2.0]),
        f * L * Polynomial([0.0, 1.0 + phi / 2.0, -2.0 - phi / 2.0, 1.0]),
        f * Polynomial([0.0, phi, 3.0, -2.0]),
        f * L * Polynomial([0.0, -phi / 2.0, phi / 2.0 - 1.0, 1.0]),
    ]
    theta = [
        f / L * Polynomial([0.0, -6.0, 6.0]),
        f * Polynomial([1.0 + phi, -4.0 - phi, 3.0]),
        f / L * Polynomial([0.0, 6.0, -6.0]),
        f * Polynomial([0.0, phi - 2.0, 3.0]),
    ]
    return v, theta


def coefficients(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³ by their series in θ² = q, also for complex q."""
    terms = np.stack([(-q) ** k for k in range(8)], axis=-1)
    factorial = np.cumprod(np.arange(1.0, 20.0))
    return (
        terms @ (1.0 / factorial[0:16:2]),
        terms @ (1.0 / factorial[1:17:2]),
        terms @ (1.0 / factorial[2:18:2]),
    )


def turned(phi: np.ndarray, v: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """exp(± φ̃) v."""
    f1, f2, _ = (f[..., None] for f in coefficients((phi * phi).sum(-1)))
    cross = np.cross(phi, v)
    return v + sign * f1 * cross + f2 * np.cross(phi, cross)
