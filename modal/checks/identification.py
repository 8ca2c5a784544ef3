"""Frequency and growth of modes, identified from a transient.

Two ways, independent of each other: the projection on left vectors, which needs the modes, and
the matrix pencil, which needs nothing but evenly sampled signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Complex

EVEN = 1e-9  # relative scatter of the sampling interval
SIGNIFICANT = 1e-6  # of the largest singular value: what the matrix pencil takes for signal


@dataclass(frozen=True)
class Identified:
    """Eigenvalues λ (m,) 1/s and amplitudes (m,) of c e^{λt} terms in a signal; misfit: relative
    residual of the fit, in the 2-norm."""

    eigenvalues: Complex
    amplitudes: Complex
    misfit: float


def modal_coordinates(
    response: xr.Dataset, system: FrozenSystem, eigenvalues: ArrayLike, left: ArrayLike
) -> Complex:
    """The complex coordinate yᴴB x(t) of each mode, (time, k), of a transient with probes="all".

    x = (q, q̇) and B = diag(I, M); y is the left vector of the first-order pencil that belongs to
    the left vector of Q(λ) in `left` (n, k): (Cᵀy + λ̄Mᵀy, y). Scaled as `modal.solve` scales, a
    motion a e^{λt} of the mode's right vector has the coordinate a e^{λt}.
    """
    if response.sizes["probe"] != system.n:
        raise InputError(
            f'response: needs all {system.n} unknowns, has {response.sizes["probe"]}: probes="all"'
        )
    lam, Y = np.asarray(eigenvalues, dtype=complex), np.asarray(left, dtype=complex)
    q, v = response.displacement.values, response.velocity.values
    on_q = system.damping.T @ Y + (system.M.T @ Y) * lam.conj()
    on_v = system.M.T @ Y
    return np.asarray(q @ on_q.conj() + v @ on_v.conj())


def rate_of(time: ArrayLike, coordinate: ArrayLike) -> complex:
    """λ of a coordinate c e^{λt} sampled at `time`: least squares on log|c| and the unwrapped
    phase.

    Raises InputError when the coordinate vanishes or turns by more than half a turn between
    samples.
    """
    t, c = np.asarray(time, dtype=float), np.asarray(coordinate, dtype=complex)
    if t.shape != c.shape or t.size < 2:
        raise InputError(f"rate_of: expected two lists of one length, got {t.shape} and {c.shape}")
    if np.any(np.abs(c) == 0.0):
        raise InputError("rate_of: the coordinate is zero at an instant; the mode is not there")
    centred = t - t.mean()
    norm = centred @ centred
    return complex(centred @ np.log(np.abs(c)) / norm, centred @ np.unwrap(np.angle(c)) / norm)


def matrix_pencil(time: ArrayLike, signals: ArrayLike, modes: int | None = None) -> Identified:
    """The exponentials in evenly sampled signals (time,) or (time, channels).

    Hua & Sarkar, IEEE Trans. ASSP 38 (1990) 814: the shift of the Hankel matrix's signal subspace.
    modes: number of exponentials (2 for each real vibration); by default the singular values above
    SIGNIFICANT of the largest. Eigenvalues come sorted by amplitude. Raises InputError.
    """
    t, Y = np.asarray(time, dtype=float), np.asarray(signals, dtype=float)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if t.ndim != 1 or t.size != Y.shape[0] or t.size < 6:
        raise InputError(f"matrix pencil: expected 6 samples or more, got {t.shape} and {Y.shape}")
    dt = np.diff(t)
    if np.ptp(dt) > EVEN * np.abs(dt).max() + 4 * np.finfo(float).eps * np.abs(t).max():
        raise InputError(
            "matrix pencil: samples must be evenly spaced; integrate with a fixed step"
        )
    if not np.all(np.isfinite(Y)):
        raise InputError("matrix pencil: signals must be finite numbers")
    N, L = t.size, t.size // 3
    windows = np.arange(N - L)[:, None] + np.arange(L + 1)[None, :]
    hankel = np.concatenate([Y[windows, c] for c in range(Y.shape[1])])
    _, sizes, Vt = la.svd(hankel, full_matrices=False)
    order = int((sizes > SIGNIFICANT * sizes[0]).sum()) if modes is None else int(modes)
    if not 1 <= order <= min(L, len(sizes)):
        raise InputError(f"matrix pencil: {order} exponentials need more than {N} samples")
    V = Vt[:order].T
    poles = la.eigvals(la.lstsq(V[:-1], V[1:])[0]).astype(complex)
    lam = np.log(poles) / float(dt.mean())
    basis = np.exp(lam[None, :] * (t - t[0])[:, None])
    amplitudes = la.lstsq(basis, Y.astype(complex))[0]
    misfit = float(la.norm(basis @ amplitudes - Y) / la.norm(Y))
    strength = np.linalg.norm(amplitudes, axis=1)
    rank = np.argsort(-strength, kind="stable")
    return Identified(lam[rank], np.asarray(strength[rank] + 0j), misfit)


def identify(response: xr.Dataset, modes: Any, system: FrozenSystem) -> xr.Dataset:
    """Frequency and growth of each of `modes` (of `modal.solve` at `system`) in a transient.

    The transient needs probes="all" and motion that does not leave the frozen instant's modes.
    Returns, over `mode`, eigenvalue (identified, 1/s), frozen_eigenvalue and amplitude at the
    first instant.
    """
    coordinates = modal_coordinates(response, system, modes.eigenvalues, modes.left)
    t = response.time.values
    found = np.array([rate_of(t, c) for c in coordinates.T])
    return xr.Dataset(
        {
            "eigenvalue": ("mode", found, {"units": "s-1", "long_name": "identified eigenvalue"}),
            "frozen_eigenvalue": (
                "mode",
                np.asarray(modes.eigenvalues),
                {"units": "s-1", "long_name": "eigenvalue of the frozen instant"},
            ),
            "amplitude": (
                "mode",
                np.abs(coordinates[0]),
                {"units": "1", "long_name": "amplitude of the mode at the first instant"},
            ),
        }
    )
