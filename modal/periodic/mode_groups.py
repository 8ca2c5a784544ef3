"""Which frozen modes of a periodic motion belong together.

Where matrices vary little, the modes of their mean serve for all instants: to first order the rest
E of x' = (D + E) x is taken away by x = (I − W) z with W' = D W − W D − E, whose waves are those of
E over d_i − d_j − 2πin/T. Only modes with W near unity or above belong together. Modes that change
more are followed from instant to instant.
"""

from __future__ import annotations

import numpy as np
import scipy.fft as fft
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from modal.periodic.tolerances import GAIN
from modal.types import Array, Complex, Index

Flags = NDArray[np.bool_]

STRONG = 0.1  # W of modes that belong together


def periodic_changes(E: Complex, apart: Complex, period: float) -> Complex:
    """W (m, N, N) of couplings E at equal parts of a period.

    apart: d_i − d_j (N, N), infinite where nothing is to be changed.
    """
    turns = 2j * np.pi / period * np.fft.fftfreq(len(E), 1.0 / len(E))[:, None, None]
    return np.asarray(fft.ifft(fft.fft(E, axis=0) / (apart - turns), axis=0))


def second_order(E: Complex, apart: Complex, period: float) -> tuple[Array, Flags]:
    """By how much couplings E (m, N, N) change an eigenvalue at most, each (N, N), 1/s, and where
    they are too strong for their distance.

    Of waves e_n and f_n of E_ij and E_ji, Σ e_n f_−n / (d_j − d_i − 2πin/T) joins d_i: no more than
    the product of their roots of mean squares over the least denominator.
    """
    rate = 2.0 * np.pi / period
    waves = np.clip(np.round(apart.imag / rate), -len(E) // 2, len(E) // 2)
    nearest = np.maximum(np.abs(apart - 1j * rate * waves), np.finfo(float).tiny)
    squares = (E.real**2 + E.imag**2).mean(axis=0)
    product = np.sqrt(squares * squares.T)
    return np.minimum(product / nearest, np.sqrt(product)), product > (GAIN * np.abs(apart)) ** 2


def coupled(B: Complex, values: Complex, period: float) -> Flags:
    """Which modes belong together, (N, N): in theirs, the mean of B (m, N, N) is diagonal, of
    eigenvalues (N,)."""
    apart = values[:, None] - values
    np.fill_diagonal(apart, np.inf)
    W = np.abs(periodic_changes(B, apart, period)).max(axis=0)
    return np.asarray((W * W.T > STRONG**2) | (np.abs(apart) * period <= STRONG))


def followed(values: Complex) -> tuple[Index, Index]:
    """Eigenvalues (m, N) of each instant in the order of their nearest ones an instant before,
    (m, N), and the order in which those of the last instant continue as those of the first."""
    order = np.empty(values.shape, dtype=np.intp)
    order[0] = np.argsort(values[0].imag, kind="stable")
    last = values[0][order[0]]
    for i in range(1, len(values)):
        order[i] = linear_sum_assignment(np.abs(last[:, None] - values[i]))[1]
        last = values[i][order[i]]
    closing = linear_sum_assignment(np.abs(last[:, None] - values[0][order[0]]))[1]
    return order, np.asarray(closing, dtype=np.intp)


def extreme_distances(values: Complex) -> tuple[Array, Array]:
    """Least and largest distance of each two of N eigenvalues over m instants, (N, N)."""
    least = np.full((values.shape[1],) * 2, np.inf)
    most = np.zeros_like(least)
    for instant in values:
        apart = np.abs(instant[:, None] - instant)
        least, most = np.minimum(least, apart), np.maximum(most, apart)
    return least, most
