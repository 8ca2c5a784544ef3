"""Coordinates that move with the slow shapes of a periodic model.

In fixed coordinates the slow shapes of a machine that changes its posture turn away from themselves
within a period, and no elimination of fast shapes in these coordinates is smooth. Here
q = Φ(t) y with Φ(t) = (slow, fast) shapes that are orthonormal in M(t): each block spans the frozen
modes of its part, and turns no more than its span does (parallel transport). What a block has
turned by after a period, a rotation, is taken back evenly over the period, so that Φ is periodic.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.types import Array

SHORTEST_PATH = 0.5  # least cosine between the blocks of neighbouring instants


def moving_frame(M: Array, K: Array, slow: int) -> Array | None:
    """Φ (J, r, r) at equal parts of a period, its first `slow` columns the slow shapes.

    M, K (J, r, r) symmetric. None where a block does not come back to itself by a rotation, or
    where the instants are too far apart.
    """
    shapes = np.stack([la.eigh(k, m)[1] for m, k in zip(M, K, strict=True)])
    blocks = [_transported(M, shapes[:, :, part]) for part in (slice(slow), slice(slow, None))]
    if any(block is None for block in blocks):
        return None
    return np.concatenate([block for block in blocks if block is not None], axis=2)


def _transported(M: Array, shapes: Array) -> Array | None:
    """The spans of shapes (J, r, m) in periodic coordinates that turn as little as they can."""
    out = shapes.copy()
    count, size = len(out), shapes.shape[2]
    for j in range(1, count + 1):
        # The mass matrix between two instants makes neighbours comparable.
        mass = 0.5 * (M[j - 1] + M[j % count])
        left, cosines, right = la.svd(shapes[j % count].T @ mass @ out[j - 1])
        if cosines[-1] < SHORTEST_PATH:
            return None
        if j < count:
            out[j] = shapes[j] @ (left @ right)
    turned = left @ right  # of the first shapes, after a period
    if la.det(turned) < 0.0:
        return None
    turning = np.asarray(la.logm(turned))
    if np.abs(turning.imag).max(initial=0.0) > 1e-8 * size:
        return None
    back = np.stack([la.expm(-j / count * turning.real) for j in range(count)])
    return np.asarray(out @ back)


def moving_states(A: Array, frame: Array, frequencies: Array, period: float) -> tuple[Array, Array]:
    """T and A_z of x' = A x, x = T z, z' = A_z z, (J, 2r, 2r) each.

    x = (ω η, η̇) and z = (υ y, ẏ) with η = Φ y; frequencies: ω and υ (2, r), rad/s.
    """
    count, r = frame.shape[:2]
    rate = _derivative(frame, period)
    T = np.zeros((count, 2 * r, 2 * r))
    first, second = frequencies
    T[:, :r, :r] = first[:, None] * frame / second
    T[:, r:, :r], T[:, r:, r:] = rate / second, frame
    return T, np.linalg.solve(T, A @ T - _derivative(T, period))


def _derivative(values: Array, period: float) -> Array:
    """Of the trigonometric polynomial through values at equal parts of a period."""
    count = len(values)
    waves = 2j * np.pi / period * np.fft.fftfreq(count, 1.0 / count)
    waves[count // 2] = 0.0
    shape = (-1,) + (1,) * (values.ndim - 1)
    return np.asarray(np.fft.ifft(waves.reshape(shape) * np.fft.fft(values, axis=0), axis=0).real)
