"""The error of Floquet exponents of a model on a reduced basis, from the residuals of its modes.

A mode q(t) = p(t) e^{λt} of a space of shapes leaves the residual ρ = M q̈ + (C + D) q̇ + K q in the
equations. By what lies in the space λ is wrong by |yᴴρ| / (2ω pᴴMp) to first order, and by the
shapes that are missing by ρᴴ(K − ω²M)⁻¹ρ / (2ω pᴴMp), second order in the residual, as a Rayleigh
quotient. Both are means over the period. Of λ²M + λC + K with λ ≈ iω the adjoint mode is
y = p − (K − ω²M)⁻¹ ((C + Cᵀ) q̇ + (K − Kᵀ) q), to first order in damping and circulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.types import Inexact
from modal.eigen.tolerances import ROUND_OFF
from modal.periodic.galerkin import GalerkinModel
from modal.reduction.motion import ReducedMotion
from modal.reduction.tolerances import SAFETY
from modal.transient.tolerances import PIECES
from modal.types import Array, Complex


def orbit_error(
    source: ReducedMotion | GalerkinModel,
    shapes: Array,
    eta: Complex,
    rates: Complex,
    span: tuple[float, float],
    exact: bool = False,
) -> Array:
    """The error (m,) of exponents, 1/s, by the residuals of their modes.

    shapes (r, k): of the space, in the coordinates of `source`. eta (s, k, m): periodic parts p at
    s equal parts of the period, a power of two from 32. rates (m,): λ. span: start and period, s.
    exact: the modes are those of the space, so that their residual has no part in it.
    """
    (t0, period), count = span, len(eta)
    turns = 2j * np.pi / period * np.fft.fftfreq(count, 1.0 / count)[:, None, None] + rates
    waves = np.fft.fft(eta, axis=0)
    # Odd numbers: none of the instants at which spaces and bases are trained, which are multiples
    # of the 24th part of the period.
    part = slice(1, None, max(2, count // PIECES))
    velocity, acceleration = (np.fft.ifft(waves * turns**n, axis=0)[part] for n in (1, 2))
    times = t0 + period * np.arange(count)[part] / count
    q, v, a = (shapes @ values for values in (eta[part], velocity, acceleration))
    return residual_error(source, times, q, v, a, exact=exact)


def residual_error(
    source: ReducedMotion | GalerkinModel,
    times: Array,
    q: NDArray[Any],
    v: NDArray[Any],
    a: NDArray[Any],
    *,
    exact: bool = False,
    share: float = 0.3,
) -> Array:
    """The error (m,) of exponents, 1/s, by the residuals of their modes at some instants.

    q, v, a (P, r, m): displacement, velocity and acceleration in the coordinates of `source`.
    exact: as of `orbit_error`. share: of ω, K + (share ω)² M for K − ω²M: with SAFETY it covers
    shapes whose frequencies are not within a fifth of ω.
    """
    series = source.freeze_many(times)
    M, C, K = series.mass, series.damping, series.stiffness
    force = M @ a + C @ v + K @ q
    inertia, speed = (_form(x, M @ x).mean(axis=0) for x in (q, v))
    omega = np.sqrt(speed / np.maximum(inertia, np.finfo(float).tiny))
    inside = np.abs((q.conj() * force).sum(axis=1)).mean(axis=0)
    # The other shapes of the basis respond to what the space leaves, then those that it misses.
    # Slow shapes and rigid motions respond as at a share of the frequency of the mode.
    stiffest = (K.diagonal(axis1=1, axis2=2) / M.diagonal(axis1=1, axis2=2)).max()
    shifts, S = np.maximum((share * omega) ** 2, ROUND_OFF * stiffest), 0.5 * (K + K.swapaxes(1, 2))
    alone = zip(shifts, np.split(force, len(shifts), axis=2), strict=True)
    response = np.concatenate([np.linalg.solve(S + s * M, f) for s, f in alone], axis=2)
    between = np.abs((force.conj() * response).sum(axis=1)).mean(axis=0)
    # The adjoint mode is p less the response to twice the forces that are not self-adjoint.
    aside = C @ v + C.swapaxes(1, 2) @ v + K @ q - K.swapaxes(1, 2) @ q
    inside = inside + SAFETY * np.abs((aside.conj() * response).sum(axis=1)).mean(axis=0)
    q = q - response
    a = np.asarray(-np.linalg.solve(M, C @ v + K @ q), dtype=complex)
    outside = (source.missing(times, q, v, a)[0] ** 2).mean(axis=0)
    inside = 0.0 * inside if exact else inside
    # For K_ref instead of K − ω²M, for the residual of the mode instead of that of the adjoint one,
    # and for instants instead of a mean.
    pairing = np.maximum(2.0 * omega * inertia, np.finfo(float).tiny)
    missing = (inside + SAFETY * (between + outside)) / pairing
    return np.asarray(missing + source.round_off(omega))


def _form(left: Inexact, right: Inexact) -> Array:
    return np.asarray((left.conj() * right).sum(axis=-2).real)
