"""A tumbling rigid motion with nothing special about it, and its kinematics by differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly

Array = NDArray[np.float64]


def tumble(t: Array) -> tuple[Array, Rotation]:
    """A path and attitudes with nothing special about them."""
    t = np.asarray(t)
    r = np.stack([0.3 * np.sin(2 * t), 0.2 * np.cos(3 * t), 0.1 * t**2], axis=-1)
    angles = np.stack([1.0 + 0.8 * t, 0.5 * np.sin(2.0 * t), 0.3 * t**2], axis=-1)
    return r, Rotation.from_euler("xyz", angles)


def exact(t: float) -> assembly.Kinematics:
    """ω̃ = RᵀṘ, ε = ω̇, a = Rᵀr̈ of the tumble by differences of the formulas themselves."""
    h = 1e-4

    def matrix(s: float) -> Array:
        return np.asarray(tumble(np.array(s))[1].as_matrix())

    def omega(s: float) -> Array:
        rate = (8 * (matrix(s + h) - matrix(s - h)) - (matrix(s + 2 * h) - matrix(s - 2 * h))) / (
            12 * h
        )
        W = matrix(s).T @ rate
        return np.array([W[2, 1], W[0, 2], W[1, 0]])

    epsilon = (8 * (omega(t + h) - omega(t - h)) - (omega(t + 2 * h) - omega(t - 2 * h))) / (12 * h)
    second = np.array([-1.2 * np.sin(2 * t), -1.8 * np.cos(3 * t), 0.2])
    return assembly.Kinematics(omega(t), epsilon, matrix(t).T @ second)
