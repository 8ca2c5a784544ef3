"""A four-bladed helicopter rotor on lag hinges with one lag damper out of work: ground resonance
that frozen modes and averaged multiblade coordinates do not see.

The hub's support differs in x and y. With all dampers the equations are constant in multiblade
coordinates; with one damper out they are constant in no frame. Data after Hammond (1974).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from studies.helicopter import figures
from studies.helicopter.geometry import geometry
from studies.helicopter.machine import BLADES, equations, model
from studies.reporting.protocol import Data, Exploration, Outputs, report_of, study_main

__all__ = ["equations", "main", "model", "report"]

RPM = np.pi / 30.0
RULES = modal.Rules(halvings=1, extra=0)  # of the Campbell diagram: no event is located
UNKNOWNS = [[2], [3], [4], [5]]  # of the equations: each blade's lag angle


def _growth(verdict: xr.Dataset) -> list[str]:
    """The largest growth rates over the speed, and where the verdicts differ."""
    lines = [
        "largest growth rate, 1/s",
        f"{'rpm':>8}{'frozen':>12}{'multiblade':>12}{'Floquet':>12}",
    ]
    for n, omega in enumerate(verdict["omega"].values):
        row = "".join(f"{value:12.6f}" for value in verdict["growth_rate"].values[n])
        lines.append(f"{omega / RPM:8.1f}{row}")
    return lines + [str(line) for line in np.atleast_1d(verdict.attrs["differences"])]


report = report_of(_growth)


@study_main
def main(
    *,
    min_rpm: float = 50.0,
    max_rpm: float = 400.0,
    speeds: int = 24,
    damper_out: bool = True,
    mechanism: bool = False,
    progress: bool = False,
) -> Outputs:
    """Ground resonance of a helicopter rotor: frozen, averaged multiblade and Floquet verdicts.

    Parameters
    ----------
    min_rpm, max_rpm : float
        Range of the rotor's speed, rpm.
    speeds : int
        Number of speeds.
    damper_out : bool
        Whether the lag damper of the first blade is out of work.
    mechanism : bool
        Whether the rotor is the mechanism of rigid blades; otherwise its six equations.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        The three verdicts over the speed, of `modal.rotor_verdict`.

    Raises
    ------
    InputError
        The range of speeds is empty or not positive.
    """
    if not 0.0 < min_rpm < max_rpm:
        raise InputError(f"min_rpm, max_rpm: expected 0 < min < max, got {min_rpm}, {max_rpm}")
    if speeds < 2:
        raise InputError(f"speeds: at least 2, got {speeds}")
    works = (not damper_out, True, True, True)
    omega = np.linspace(min_rpm, max_rpm, speeds) * RPM
    make, blades = (model, BLADES) if mechanism else (equations, UNKNOWNS)
    verdict = modal.rotor_verdict(lambda w: make(w / RPM, works), omega, blades, progress=progress)
    yield Data("verdict.nc", verdict)
    yield figures.verdicts(verdict)
    family = modal.multiblade(lambda w: equations(w / RPM, works), UNKNOWNS)
    tracks = family.track(omega, k=6, rules=RULES, progress=progress)
    yield Data("multiblade.nc", tracks)
    yield figures.campbell(tracks)
    yield Exploration(
        lambda: modal.explorer_view(
            tracks, family, title="multiblade modes at azimuth 0", geometry=geometry(family)
        )
    )
    worst = float(omega[verdict["growth_rate"].sel(analysis="floquet").values.argmax()])
    rotor = equations(worst / RPM, works)
    yield figures.worst_mode(modal.floquet(rotor, rotor.period), worst / RPM)
    return verdict
