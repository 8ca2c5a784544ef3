"""Frames of beams by the direct stiffness method: textbook element matrices, one global mesh.

Euler–Bernoulli beams with consistent masses (Przemieniecki, Theory of Matrix Structural Analysis,
1968), rotated to the frame's axes and added up by node numbers. Nothing of the package is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bar:
    """E, G, ρ, A, J, I_y, I_z and polar moment of one member's section."""

    E: float
    G: float
    rho: float
    A: float
    J: float
    Iy: float
    Iz: float


def axes(start: Array, end: Array) -> tuple[Array, float]:
    """Columns t, y, z of a member, y the part of the frame's y across it, and its length."""
    span = end - start
    length = float(np.linalg.norm(span))
    t = span / length
    y = np.array([0.0, 1.0, 0.0]) - t[1] * t
    y /= np.linalg.norm(y)
    return np.stack([t, y, np.cross(t, y)], axis=1), length


def element(bar: Bar, L: float) -> tuple[Array, Array]:
    """K and M (12, 12) in the member's axes."""
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    for rows, k, m in (
        ((0, 6), bar.E * bar.A / L, bar.rho * bar.A * L / 6.0),
        ((3, 9), bar.G * bar.J / L, bar.rho * (bar.Iy + bar.Iz) * L / 6.0),
    ):
        at = np.ix_(rows, rows)
        K[at] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
        M[at] += m * np.array([[2.0, 1.0], [1.0, 2.0]])
    bend = np.array(
        [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2],
         [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
    )  # fmt: skip
    heavy = np.array(
        [[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2],
         [54, 13 * L, 156, -22 * L], [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]
    )  # fmt: skip
    for rows, inertia, sign in (((1, 5, 7, 11), bar.Iz, 1.0), ((2, 4, 8, 10), bar.Iy, -1.0)):
        signs = np.outer((1.0, sign, 1.0, sign), (1.0, sign, 1.0, sign))
        at = np.ix_(rows, rows)
        K[at] += bar.E * inertia / L**3 * signs * bend
        M[at] += bar.rho * bar.A * L / 420.0 * signs * heavy
    return K, M


def frequencies(
    corners: dict[str, Array], members: list[tuple[str, str, Bar]], clamped: str, elements: int
) -> Array:
    """All frequencies (Hz) of a frame with clamped corners."""
    numbers: dict[tuple[float, ...], int] = {}

    def node(x: Array) -> int:
        return numbers.setdefault(tuple(np.round(x, 9).tolist()), len(numbers))

    pieces = []
    for first, second, bar in members:
        start, end = corners[first], corners[second]
        chain = [node(start + (end - start) * i / elements) for i in range(elements + 1)]
        pieces += [(pair, *axes(start, end), bar) for pair in pairwise(chain)]
    size = 6 * len(numbers)
    K, M = np.zeros((size, size)), np.zeros((size, size))
    for (i, j), R, length, bar in pieces:
        turn = np.kron(np.eye(4), R)
        at = np.r_[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
        for total, own in zip((K, M), element(bar, length / elements), strict=True):
            total[np.ix_(at, at)] += turn @ own @ turn.T
    held = [6 * node(corners[c]) + k for c in clamped for k in range(6)]
    free = np.setdiff1d(np.arange(size), held)
    squares = la.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)
    return np.asarray(np.sqrt(squares) / (2.0 * np.pi))
