"""The first shapes of a basis: a block Krylov space of the inverse first-order form.

States (q, v) of q = V a, v = V b are kept by their coordinates only, as in TOAR (Lu, Su and Bai,
SIAM J. Matrix Anal. Appl. 37 (2016) 195): the next state is (−K_ref⁻¹(M v + C q), q), one solve and
no residual for each new shape. Without C it is the Krylov space of K_ref⁻¹M.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.eigen.solvers.shape_basis import ShapeBasis
from modal.types import Array

BLOCK = 4  # states that are continued together: fewer converge sooner, more cost less each
FEW = 4.5  # shapes for each mode requested, with those of the random start


def extend(basis: ShapeBasis, modes: int, seed: int) -> None:
    """Extend the random first shapes of a basis to about FEW for each of the modes."""
    rng = np.random.default_rng(seed)
    wanted = min(int(FEW * modes), basis.quadratic.n - BLOCK)
    quadratic, room = basis.quadratic, basis.m + wanted
    gamma = 1.0 / np.sqrt(np.linalg.norm(basis.projected()[0], 2))  # about the lowest frequency
    moving = quadratic.C.nnz > 0
    first = np.linalg.qr(rng.standard_normal((basis.m, BLOCK)))[0]
    a = _padded(first, room)
    b = _padded(rng.standard_normal(first.shape), room) if moving else 0.0 * a
    known = np.zeros((2 * room, 0))
    while basis.m < wanted:
        state = np.vstack([a, b])
        for _ in range(2):
            state = state - known @ (known.T @ state)
        state = la.qr(state, mode="economic", check_finite=False)[0]
        known = np.hstack([known, state])
        a, b = state[: basis.m], state[room : room + basis.m]
        load = basis.inertia(gamma * a, gamma**2 * b) if moving else basis.inertia(a, a)
        shapes, image = basis.reference.solve(-load)
        if basis.add(shapes, image) == 0:
            break
        a, b = _padded(basis.coordinates(shapes), room), _padded(a, room)
        if not moving:
            b = 0.0 * a


def _padded(coordinates: Array, rows: int) -> Array:
    out = np.zeros((rows, coordinates.shape[1]))
    out[: len(coordinates)] = coordinates
    return out
