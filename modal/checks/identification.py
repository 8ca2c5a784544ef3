"""Frequency and growth rate of modes, identified from a transient.

Two independent ways: the projection on left vectors, which needs the modes, and the matrix pencil,
which needs only evenly sampled signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from assembly.arguments import as_numbers, check_kind
from assembly.errors import InputError
from assembly.magnitudes import EQUAL, WRITTEN
from assembly.system.frozen import FrozenSystem, check_is_frozen
from modal.data.datasets import described, provenance
from modal.data.variables import IDENTIFIED
from modal.eigen.modes import Modes
from modal.types import Array, Complex


@dataclass(frozen=True)
class Identified:
    """Exponentials c e^{λt} in a signal.

    Attributes
    ----------
    eigenvalues : ndarray of complex, shape (m,)
        λ, 1/s, in the order of decreasing amplitude.
    amplitudes : ndarray of complex, shape (m,)
        |c|, the 2-norm over the channels, in the unit of the signal.
    misfit : float
        Relative residual of the fit, 2-norm.
    """

    eigenvalues: Complex
    amplitudes: Complex
    misfit: float


def modal_coordinates(
    q: Array, v: Array, system: FrozenSystem, eigenvalues: ArrayLike, left: ArrayLike
) -> Complex:
    """The complex coordinate yᴴB x(t) of each mode, (time, k), of a transient q, v (time, n).

    x = (q, q̇) and B = diag(I, M); y is the left vector of the first-order pencil that belongs to
    the left vector of Q(λ) in `left` (n, k): (Cᵀy + λ̄Mᵀy, y). Scaled as `modal.solve` scales, a
    motion a e^{λt} of the mode's right vector has the coordinate a e^{λt}.
    """
    lam, Y = np.asarray(eigenvalues, dtype=complex), np.asarray(left, dtype=complex)
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


def rate_of_turns(time: ArrayLike, coordinate: ArrayLike, turns: int = 1) -> complex:
    """λ of a coordinate from the first `turns` turns of its phase, NaN where it has not so many.

    The change of log|c| between equal phases: harmonics of a periodic motion do not enter.
    """
    t, c = np.asarray(time, dtype=float), np.asarray(coordinate, dtype=complex)
    if t.size < 4 or np.any(np.abs(c) == 0.0):
        return complex(np.nan, np.nan)
    phase = np.unwrap(np.angle(c))
    sense = np.sign(phase[-1] - phase[0])
    angle = 2.0 * np.pi * turns
    reached = np.flatnonzero(sense * (phase - phase[0]) >= angle)
    if not reached.size:
        return complex(np.nan, np.nan)
    upto = slice(max(int(reached[0]) - 4, 0), int(reached[0]) + 4)
    turned = CubicSpline(t[upto], phase[upto])
    end = float(turned.solve(phase[0] + sense * angle, extrapolate=False)[0])
    grown = float(CubicSpline(t[upto], np.log(np.abs(c[upto])))(end) - np.log(np.abs(c[0])))
    return complex(grown / (end - t[0]), sense * angle / (end - t[0]))


def matrix_pencil(time: ArrayLike, signals: ArrayLike, modes: int | None = None) -> Identified:
    """Exponentials in evenly sampled signals, by the matrix pencil method.

    Parameters
    ----------
    time : array_like, shape (T,)
        Evenly spaced instants, s, six or more.
    signals : array_like, shape (T,) or (T, channels)
        Real signals.
    modes : int, optional
        Number of exponentials, two for each real vibration. Default: the number of singular
        values above 1e-6 of the largest.

    Returns
    -------
    Identified
        Eigenvalues (1/s), amplitudes and the misfit.

    Raises
    ------
    InputError
        The samples are too few, not evenly spaced or not finite.

    Notes
    -----
    λ follows from the shift invariance of the signal subspace of the Hankel matrix (Hua & Sarkar,
    IEEE Trans. ASSP 38, 1990, 814).

    Examples
    --------
    >>> import numpy as np, modal
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> found = modal.matrix_pencil(t, np.exp(-0.5 * t) * np.cos(20.0 * t))
    >>> bool(np.allclose(found.eigenvalues.real, -0.5))
    True
    >>> bool(np.allclose(abs(found.eigenvalues.imag), 20.0))
    True
    """
    t, Y = as_numbers(time, "time"), as_numbers(signals, "signals")
    Y = Y[:, None] if Y.ndim == 1 else Y
    if t.ndim != 1 or t.size != Y.shape[0] or t.size < 6:
        raise InputError(f"matrix pencil: expected 6 samples or more, got {t.shape} and {Y.shape}")
    dt = np.diff(t)
    if np.ptp(dt) > EQUAL * np.abs(dt).max() + 4 * np.finfo(float).eps * np.abs(t).max():
        raise InputError(
            "matrix pencil: samples must be evenly spaced; integrate with a fixed step"
        )
    if not np.all(np.isfinite(Y)):
        raise InputError("matrix pencil: signals must be finite numbers")
    N, L = t.size, t.size // 3
    windows = np.arange(N - L)[:, None] + np.arange(L + 1)[None, :]
    hankel = np.concatenate([Y[windows, c] for c in range(Y.shape[1])])
    _, sizes, Vt = la.svd(hankel, full_matrices=False)
    order = int((sizes > WRITTEN * sizes[0]).sum()) if modes is None else int(modes)
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
    """Frequency and growth rate of modes in a transient, by projection on their left vectors.

    Parameters
    ----------
    response : xarray.Dataset
        Transient of `modal.integrate` with ``probes="all"``.
    modes : Modes
        Modes of `modal.solve` for `system`, k of them.
    system : FrozenSystem
        Frozen system of the modes. The modes of the motion must remain those of this instant.

    Returns
    -------
    xarray.Dataset
        Over "mode": eigenvalue (identified) and frozen_eigenvalue, 1/s; amplitude, the modulus of
        the mode's coordinate at the first instant.

    Raises
    ------
    InputError
        The transient lacks degrees of freedom, or does not contain a mode.

    Notes
    -----
    The coordinate yᴴB x(t) of a mode, x = (q, q̇), B = diag(I, M), is c e^{λt}; λ is a least-squares
    fit to its logarithm.

    Examples
    --------
    >>> import numpy as np, modal
    >>> from assembly import FrozenSystem
    >>> system = FrozenSystem(M=np.eye(1), C=np.zeros((1, 1)), K=[[4.0]])
    >>> modes = modal.solve(system, k=1)
    >>> response = modal.integrate(system, (0.0, 10.0), ([1.0], [0.0]), "hamilton",
    ...                            method="gauss6", step=0.05, probes="all")
    >>> bool(abs(modal.identify(response, modes, system).eigenvalue.values[0] - 2.0j) < 1e-6)
    True
    """
    check_kind(response, xr.Dataset, "response", "a transient of modal.integrate")
    check_kind(modes, Modes, "modes", "modes of modal.solve")
    check_is_frozen(system)
    if response.sizes["probe"] != system.n:
        raise InputError(
            f'response: needs all {system.n} DOFs, has {response.sizes["probe"]}: probes="all"'
        )
    q, v = response.displacement.values, response.velocity.values
    coordinates = modal_coordinates(q, v, system, modes.eigenvalues, modes.left)
    t = response.time.values
    found = np.array([rate_of(t, c) for c in coordinates.T])
    dataset = xr.Dataset(
        {
            "eigenvalue": ("mode", found),
            "frozen_eigenvalue": ("mode", np.asarray(modes.eigenvalues)),
            "amplitude": ("mode", np.abs(coordinates[0])),
        },
        coords={"mode": np.arange(len(found))},
        attrs=provenance(title="modes identified in a transient"),
    )
    return described(dataset, IDENTIFIED)
