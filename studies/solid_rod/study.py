"""A slider-crank whose rod is a solid mesh, on a reduced basis of the rod: its modes over
a turn and its Floquet exponents.

The rod's displacements are restricted to a few dozen shapes, grown until the error bounds of the
modes of the whole machine hold at every instant; joints and motion stay exact.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from assembly.gallery import solid_slider_crank
from studies.figures import sheets
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import RPM, check_positive, one_turn
from studies.reporting.tables import tracks_table

__all__ = ["main", "report"]

report = tracks_table


def main(
    *,
    speed_rpm: float = 1500.0,
    cells: int = 12,
    across: int = 2,
    damping: float = 1e-7,
    modes: int = 6,
    instants: int = 41,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Modes of a slider-crank with a solid rod over a turn, and its Floquet exponents.

    Parameters
    ----------
    speed_rpm : float
        Speed of the crank, rpm.
    cells, across : int
        Quadratic bricks along the rod and in each direction across.
    damping : float
        b of the rod's damping D = b K, s.
    modes, instants : int
        Modes to follow over one turn, and instants of the turn.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks over one turn.

    Raises
    ------
    InputError
        The speed is not positive, or the damping is negative.
    """
    check_positive(speed_rpm=speed_rpm)
    if not (np.isfinite(damping) and damping >= 0.0):
        raise InputError(f"damping = {damping:g}: must be at least 0")
    mechanism = solid_slider_crank((cells, across, across), "hex20", (0.0, damping))(
        speed_rpm * RPM
    )
    times = one_turn(mechanism, instants)
    tracks = modal.track(mechanism, times=times, k=modes, progress=progress)
    out.write_dataset("tracks.nc", tracks)
    out.draw(sheets.tracks_sheet(tracks, f"solid rod over one turn at {speed_rpm:g} rpm"))
    out.explore(lambda: modal.explorer_view(tracks, mechanism, title="one turn"))
    out.remark(str(modal.floquet(mechanism, times[-1], k=modes, progress=progress)))
    return tracks
