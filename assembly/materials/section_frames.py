"""Axes of beam sections, and section matrices rotated from them into body axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.kinematics import as_vector
from assembly.types import Array


def section_axes(tangent: ArrayLike, section_y: ArrayLike, pitch: ArrayLike) -> Array:
    """Columns (t, y, z) of the section axes in body axes, (..., 3, 3), at pitch angles (...,).

    tangent: (3,) or (..., 3) unit vectors. Raises InputError when section_y lies along the tangent.
    """
    pitch = np.asarray(pitch, dtype=float)
    t = np.broadcast_to(np.asarray(tangent, dtype=float), (*pitch.shape, 3))
    direction = as_vector(section_y, "section_y")
    y = direction - (t @ direction)[..., None] * t
    size = np.linalg.norm(y, axis=-1, keepdims=True)
    if np.any(size < 1e-8 * np.linalg.norm(direction)) or not np.any(direction):
        raise InputError("section_y: must not lie along the beam: it is the section's y axis")
    y = y / size
    z = np.cross(t, y)
    c, s = np.cos(pitch)[..., None], np.sin(pitch)[..., None]
    return np.stack([t, c * y + s * z, c * z - s * y], axis=-1)


def turned(matrices: Array, frames: Array) -> Array:
    """6×6 section matrices (..., 6, 6) from section axes into body axes; frames (..., 3, 3)."""
    Q = np.zeros((*frames.shape[:-2], 6, 6))
    Q[..., :3, :3] = Q[..., 3:, 3:] = frames
    return np.asarray(Q @ matrices @ Q.swapaxes(-1, -2))
