"""A wind turbine of 5 MW: three elastic blades on a soft tower, its modes with their names over the
speed of the rotor.

Alike blades on any tower have constant equations in multiblade coordinates: the modes are those of
the whole motion, and nothing is averaged away.
"""

from __future__ import annotations

from collections.abc import Iterator

import xarray as xr

import modal
from studies.figures import sheets
from studies.reporting.protocol import (
    RPM,
    Data,
    Exploration,
    Outputs,
    Remark,
    report_of,
    rotor_speeds,
    study_main,
)
from studies.wind_turbine.machine import BLADES, DATA, model

__all__ = ["main", "model", "report"]

RULES = modal.Rules(halvings=1, extra=0)  # of the Campbell diagram: no event is located
CAMPBELL = (
    "Frequencies of the turbine in axes that do not turn, over the speed of the rotor. Each mode"
    " has the name of the coordinates that move most. Dotted: one, three and six times the speed."
)


def _named(tracks: xr.Dataset) -> Iterator[str]:
    """Names, frequencies and damping at the first and the last speed."""
    first, last = (float(v) / RPM for v in tracks["omega"].values[[0, -1]])
    ends = "".join(f"{f'at {rpm:.4g} rpm':<35}" for rpm in (first, last))
    yield f"{'mode':>4}  {ends}"
    for mode in range(tracks.sizes["mode"]):
        cells = []
        for n in (0, -1):
            one = tracks.isel(omega=n, mode=mode)
            hertz, damping = float(one["frequency"]), float(one["damping_ratio"])
            cells.append(f"{one['name'].values!s:<13}{hertz:8.4f} Hz {100 * damping:6.2f} %")
        yield f"{mode + 1:>4}  {'  '.join(cells)}"


report = report_of(_named)


@study_main
def main(
    *,
    min_rpm: float = 4.0,
    max_rpm: float = DATA.rated_rpm,
    speeds: int = 9,
    modes: int = 8,
    tower_elements: int = 4,
    table: str = "",
    progress: bool = False,
) -> Outputs:
    """Modes of a three-bladed wind turbine on its tower, in multiblade coordinates, with names.

    Parameters
    ----------
    min_rpm, max_rpm : float
        Range of the rotor's speed, rpm.
    speeds : int
        Number of speeds.
    modes : int
        Modes to follow.
    tower_elements : int
        Beam elements of the tower.
    table : str
        File with ElastoDyn's table of the blade; a coarse table by default.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks over the speed, with the names of the modes.

    Raises
    ------
    InputError
        The range of speeds is empty or not positive.
    """
    omega = rotor_speeds(min_rpm, max_rpm, speeds)
    family = modal.multiblade(
        lambda w: model(w / RPM, tower_elements=tower_elements, table=table), BLADES
    )
    tracks: xr.Dataset = family.track(omega, k=modes, rules=RULES, progress=progress)
    yield Data("tracks.nc", tracks)
    title, orders = "wind turbine: multiblade modes", (1, 3, 6)
    yield sheets.campbell_sheet("campbell.png", tracks, title, CAMPBELL, (7.6, 4.6), orders=orders)
    yield Exploration(lambda: modal.explorer_view(tracks, family, title="over the rotor's speed"))
    variation = max(family.at(max_rpm * RPM).variation.values())
    yield Remark(
        "can it be believed? Over a turn the multiblade matrices vary by"
        f" {variation:.1e} of their size: the modes are those of the whole motion"
    )
    return tracks
