"""Which modes grow: by more than their error and round-off."""

from __future__ import annotations

import numpy as np
from xarray import DataArray, Dataset

from modal.types import Array, Complex, Mask

# Relative size below which a rate or a difference of eigenvalues is round-off.
ROUND_OFF = 1e-8


def growth_floor(eigenvalues: Complex) -> Array:
    """Growth rate of each mode below which it is round-off, 1/s."""
    return np.asarray(ROUND_OFF * np.abs(eigenvalues))


def grows(eigenvalues: Complex, error: Array) -> Mask:
    """Which eigenvalues grow by more than their error and round-off."""
    return np.asarray(eigenvalues.real > growth_floor(eigenvalues) + error)


def growing(tracks: Dataset) -> DataArray:
    """Whether each elastic mode of tracks grows, at each value; of those whose error is not stored,
    by more than round-off.
    """
    eigenvalue = tracks["eigenvalue"]
    error = 0.0 * eigenvalue.real.fillna(0.0)
    if {"backward_error", "condition_number"} <= set(tracks):
        relative = tracks["backward_error"] * tracks["condition_number"]
        error = (abs(eigenvalue) * relative).fillna(0.0)
    mask = eigenvalue.copy(data=grows(eigenvalue.values, error.transpose(*eigenvalue.dims).values))
    return mask & (tracks["kind"] == "elastic") if "kind" in tracks else mask
