"""Critical speeds of an undamped rotor as the eigenvalues of one Hermitian pencil.

A whirl e^{iΩt} of M q̈ + Ω𝒢 q̇ + (K + Ω²K₂) q = 0 is synchronous where (K − Ω²B) q = 0 with the
Hermitian B = M − i𝒢 − K₂ (M. I. Friswell et al., Dynamics of Rotating Machines, 2010, section 6.5).
All forward and backward criticals are eigenvalues, K positive definite.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.system.frozen import FrozenSystem
from modal.eigen.tolerances import ZERO
from modal.proofs.verdict import AFFORDABLE
from modal.types import Array


def synchronous_speeds(
    systems: tuple[FrozenSystem, ...], speeds: tuple[float, ...]
) -> Array | None:
    """All critical speeds of a conservative rotor, rad/s, rising, from its systems at four speeds.

    None where the rotor is too large for LAPACK, damped, not positive definite, or depends on the
    speed in another way: three speeds make the pencil, the fourth is to fit it.
    """
    if systems[0].n > AFFORDABLE or not all(s.is_conservative for s in systems):
        return None
    M, C, K = (
        [getattr(s, name).toarray() for s in systems] for name in ("M", "damping", "stiffness")
    )
    if any(_misfit(m, M[0]) for m in M[1:]):
        return None
    G = C[2] / speeds[2]
    if any(_misfit(c, w * G, np.abs(C[2]).max()) for c, w in zip(C, speeds, strict=True)):
        return None
    second = (K[2] - K[0]) / (speeds[2] ** 2 - speeds[0] ** 2)
    first = K[0] - speeds[0] ** 2 * second
    if any(_misfit(k, first + w**2 * second) for k, w in zip(K, speeds, strict=True)):
        return None
    L, indefinite = la.lapack.dpotrf(first, lower=1, clean=1)
    if indefinite:
        return None
    half = la.solve_triangular(L, M[0] - 1j * G - second, lower=True)
    inner = la.solve_triangular(L, half.conj().T, lower=True)
    values = la.eigvalsh(0.5 * (inner + inner.conj().T))[::-1]
    return np.asarray(1.0 / np.sqrt(values[values > np.finfo(float).eps * np.abs(values).max()]))


def _misfit(A: Array, expected: Array, size: float = 0.0) -> bool:
    scale = max(float(np.abs(expected).max()), size)
    return bool(np.abs(A - expected).max() > ZERO * scale)
