"""Critical speeds of an undamped rotor as the eigenvalues of one Hermitian pencil.

A whirl e^{iΩt} of M q̈ + Ω𝒢 q̇ + (K + Ω²K₂) q = 0 is synchronous where (K − Ω²B) q = 0 with the
Hermitian B = M − i𝒢 − K₂ (M. I. Friswell et al., Dynamics of Rotating Machines, 2010, section 6.5).
All forward and backward criticals are eigenvalues; by Sylvester's law of inertia the number of
those below Ω is that of the negative eigenvalues of K − Ω²B, K positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.system.frozen import FrozenSystem
from modal.types import Array, Complex

EXACT = 1e-11  # relative misfit of matrices that are polynomials of the speed
LARGEST = 1500  # degrees of freedom up to which the pencil is solved by LAPACK


@dataclass(frozen=True)
class SynchronousPencil:
    """K (n, n) and B (n, n) of the eigenproblem K q = Ω² B q."""

    K: Array
    B: Complex

    def speeds(self) -> tuple[Array, Complex]:
        """All critical speeds, rad/s, rising, and their whirl shapes (n, m) for λ = iΩ."""
        L = la.cholesky(self.K, lower=True)
        half = la.solve_triangular(L, self.B, lower=True)
        inner = la.solve_triangular(L, half.conj().T, lower=True)
        values, vectors = la.eigh(0.5 * (inner + inner.conj().T))
        there = np.flatnonzero(values > np.finfo(float).eps * np.abs(values).max())[::-1]
        shapes = la.solve_triangular(L, vectors[:, there], lower=True, trans="C")
        return 1.0 / np.sqrt(values[there]), shapes

    def below(self, speed: float) -> int:
        """Number of critical speeds below a speed, by the inertia of K − Ω²B."""
        _, D, _ = la.ldl(self.K - speed**2 * self.B, hermitian=True)
        return int((la.eigvalsh(D) < 0.0).sum())


def synchronous_pencil(
    systems: tuple[FrozenSystem, ...], speeds: tuple[float, ...]
) -> SynchronousPencil | None:
    """The pencil of a conservative rotor, from its systems at three speeds and a fourth to check.

    None where the rotor is large, damped, not positive definite, or depends on the speed in another
    way.
    """
    if systems[0].n > LARGEST or not all(s.is_conservative for s in systems):
        return None
    M, C, K = ([_dense(s, name) for s in systems] for name in ("M", "damping", "stiffness"))
    if any(_misfit(m, M[0]) for m in M[1:]):
        return None
    G = C[2] / speeds[2]
    if any(_misfit(c, w * G, np.abs(C[2]).max()) for c, w in zip(C, speeds, strict=True)):
        return None
    second = (K[2] - K[0]) / (speeds[2] ** 2 - speeds[0] ** 2)
    first = K[0] - speeds[0] ** 2 * second
    if any(_misfit(k, first + w**2 * second) for k, w in zip(K, speeds, strict=True)):
        return None
    if la.lapack.dpotrf(first)[1]:  # not positive definite
        return None
    return SynchronousPencil(first, M[0] - 1j * G - second)


def _dense(system: FrozenSystem, name: str) -> Array:
    matrix = getattr(system, name)
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _misfit(A: Array, expected: Array, size: float | None = None) -> bool:
    scale = max(float(np.abs(expected).max()), size or 0.0)
    return bool(np.abs(A - expected).max() > EXACT * scale)
