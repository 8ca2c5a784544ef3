"""Which modes grow: by more than their error and round-off."""

from __future__ import annotations

import numpy as np
from xarray import DataArray, Dataset

from assembly.magnitudes import HALF
from modal.types import Array, Complex, Mask


def growth_floor(eigenvalues: Complex) -> Array:
    """Growth rate of each mode below which it is round-off, 1/s."""
    return np.asarray(HALF * np.abs(eigenvalues))


def grows(eigenvalues: Complex, error: Array) -> Mask:
    """Which eigenvalues grow by more than their error and round-off."""
    return np.asarray(eigenvalues.real > growth_floor(eigenvalues) + error)


def growing(tracks: Dataset) -> DataArray:
    """Whether each elastic mode of tracks grows, at each value; of those whose error is not stored,
    by more than round-off. None does of tracks without eigenvalues.
    """
    if "eigenvalue" not in tracks:
        return tracks["frequency"] < 0.0
    eigenvalue = tracks["eigenvalue"]
    error = 0.0 * eigenvalue.real
    if {"backward_error", "condition_number"} <= set(tracks):
        error = abs(eigenvalue) * tracks["backward_error"] * tracks["condition_number"]
    error = error.fillna(0.0).transpose(*eigenvalue.dims)
    mask = eigenvalue.copy(data=grows(eigenvalue.values, error.values))
    return mask & (tracks["kind"] == "elastic") if "kind" in tracks else mask
