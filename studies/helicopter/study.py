"""A four-bladed helicopter rotor on lag hinges with one lag damper out of work: ground resonance
that frozen modes and averaged multiblade coordinates do not see.

The hub's support differs in x and y. With all dampers the equations are constant in multiblade
coordinates; with one damper out they are constant in no frame. Data after Hammond (1974).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from modal import plot
from studies.figures import sheets
from studies.figures.drawing import drawing
from studies.helicopter.machine import BLADES, equations, geometry, model
from studies.reporting.protocol import (
    RPM,
    Data,
    Exploration,
    Outputs,
    report_of,
    rotor_speeds,
    study_main,
)

__all__ = ["equations", "main", "model", "report"]

RULES = modal.Rules(halvings=1, extra=0)  # of the Campbell diagram: no event is located
UNKNOWNS = [[2], [3], [4], [5]]  # of the equations: each blade's lag angle
CAMPBELL = (
    "Frequencies of the averaged multiblade equations. Each mode has the name of the coordinates"
    " that move most: collective, regressive, progressive, reactionless, or the support."
)


def _growth(verdict: xr.Dataset) -> Iterator[str]:
    """The largest growth rates over the speed, and where the verdicts differ."""
    yield "largest growth rate, 1/s"
    yield f"{'rpm':>8}{'frozen':>12}{'multiblade':>12}{'Floquet':>12}"
    for n, omega in enumerate(verdict["omega"].values):
        row = "".join(f"{value:12.6f}" for value in verdict["growth_rate"].values[n])
        yield f"{omega / RPM:8.1f}{row}"
    yield from [str(line) for line in np.atleast_1d(verdict.attrs["differences"])]


report = report_of(_growth)


@drawing("verdict.png")
def verdicts(axes: list[Axes], verdict: xr.Dataset) -> None:
    """Largest growth rate over the rotor's speed by three methods. Above zero the rotor is
    unstable. Shaded: a method's verdict differs from Floquet's, which is exact.
    """
    plot.rotor_verdict(verdict, axes[0])
    axes[0].set_title("helicopter rotor: largest growth rate")


@drawing("mode.png", rows=2, height=6.0)
def worst_mode(axes: list[Axes], modes: modal.FloquetModes, rpm: float) -> None:
    """The Floquet mode that grows most. Above: its harmonics on the hub and on the blades. Below:
    its amplitude over one turn, each curve relative to its largest value.
    """
    count = modes.vectors.shape[0] // 2
    mode = int(np.argmax(modes.exponents.real + 1e-9 * (modes.eigenvalues.imag > 0.0)))
    groups = {"hub": range(2), "blades": range(2, count)}
    plot.participation(modes.participation_of(groups).isel(mode=mode), axes[0])
    axes[0].set_title(f"{modes.frequency[mode]:.3f} Hz at {rpm:.4g} rpm")
    labels = ["hub x", "hub y", *(f"blade {b + 1}" for b in range(count - 2))]
    plot.periodic_mode(modes.orbit(mode), range(count), axes[1], labels)


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
    omega = rotor_speeds(min_rpm, max_rpm, speeds)
    works = (not damper_out, True, True, True)
    make, blades = (model, BLADES) if mechanism else (equations, UNKNOWNS)
    verdict = modal.rotor_verdict(lambda w: make(w / RPM, works), omega, blades, progress=progress)
    yield Data("verdict.nc", verdict)
    yield verdicts(verdict)
    family = modal.multiblade(lambda w: equations(w / RPM, works), UNKNOWNS)
    tracks = family.track(omega, k=6, rules=RULES, progress=progress)
    yield Data("multiblade.nc", tracks)
    title = "multiblade coordinates, averaged over the azimuth"
    yield sheets.campbell_sheet("multiblade.png", tracks, title, CAMPBELL, (7.0, 4.0))
    yield Exploration(
        lambda: modal.explorer_view(
            tracks, family, title="multiblade modes at azimuth 0", geometry=geometry(family)
        )
    )
    worst = float(omega[verdict["growth_rate"].sel(analysis="floquet").values.argmax()])
    rotor = equations(worst / RPM, works)
    yield worst_mode(modal.floquet(rotor, rotor.period), worst / RPM)
    return verdict
