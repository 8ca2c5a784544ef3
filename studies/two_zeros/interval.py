"""The length of the interval Δt in which the motion may be taken as frozen. Scutaru & Vlase (2012)
call it difficult to estimate.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import modal
from studies.slider_crank import machine as slider_crank_model

TOLERANCE = 0.05  # relative change of the eigenvalue, and coupling to other modes


def interval_over_turn(speed_rpm: float, modes: int, instants: int) -> xr.Dataset:
    """The frozen interval (s) of the driven slider-crank's modes over one turn.

    The Δt in which λ, or its real part by itself, changes by `TOLERANCE` (`modal.frozen_interval`),
    and zero where the motion couples the mode to another by more than that. With it the period of
    the vibration.
    """
    mechanism = slider_crank_model.model(elements=8, speed_rpm=speed_rpm)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, instants)
    tracks = modal.track(mechanism, times=times, k=modes, interval_change=TOLERANCE, progress=False)
    tracks = tracks.isel(mode=slice(0, modes))
    interval = tracks["frozen_interval"].values / mechanism.period
    vibration = 1.0 / (tracks["frequency"].values * mechanism.period)
    dims = ("interval_angle", "interval_mode")
    return xr.Dataset(
        {
            "interval": (dims, interval),
            "vibration_period": (dims, vibration),
        },
        coords={
            "interval_angle": 360.0 * times / mechanism.period,
            "interval_mode": np.arange(1, interval.shape[1] + 1),
        },
    )
