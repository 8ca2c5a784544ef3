"""A bar whose motion is measured with markers: Vlase, Nicolescu & Marin, Mathematics 2020, 8, 1401,
example b.

The paper films a bar of a mechanism, differentiates the places of two markers, and puts the result
into both forms of the equations. Its records are not printed. Here the record is made from a motion
that is known (the lever of the wind pump, at the speeds of the paper's Table 2) with noise of a
stated size, so that every step can be compared with the truth: the rigid motion fitted to all
markers at once, its ω, ε and a_O with their uncertainty, and the bar's frequencies and response.
"""

from __future__ import annotations

import numpy as np

import assembly
import modal
from assembly.errors import InputError
from assembly.motion.markers import FittedMotion
from studies.measured_motion import figures
from studies.measured_motion.bar import bar
from studies.measured_motion.data import fitted, frequencies, kinematics, scatter
from studies.measured_motion.record import MARKERS, speeds_of_table_2
from studies.measured_motion.response import responses
from studies.measured_motion.summary import report
from studies.measured_motion.variables import VARIABLES
from studies.reporting.protocol import Data, Exploration, Outputs, merged, study_main

__all__ = ["main", "report"]


@study_main
def main(
    *,
    noise: float = 1e-4,
    camera_rate: float = 500.0,
    knots_per_turn: float = 14.0,
    instants: int = 37,
    modes: int = 2,
    elements: int = 10,
    repeats: int = 20,
    response_turn: float = 0.25,
    step: float = 4e-4,
    damping_ratio: float = 0.01,
    seed: int = 1,
    progress: bool = False,
) -> Outputs:
    """A bar whose rigid motion is fitted to marker records, its frequencies and response.

    Parameters
    ----------
    noise : float
        Standard deviation of a marker's coordinate, m.
    camera_rate : float
        Pictures a second.
    knots_per_turn : float
        Knots of the fitted splines in one turn.
    instants, modes : int
        Instants of one turn and frequencies at each.
    elements : int
        Beam elements of the bar.
    repeats : int
        Records with new noise, for the scatter of a frequency.
    response_turn : float
        Part of a turn integrated from rest under the inertia loads, at the fastest speed; 0 for
        none.
    step : float
        Time step of the integration, s.
    damping_ratio : float
        Damping ratio of the first mode in the integration.
    seed : int
        Of the random noise.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Accepted as by every study; this one shows none.

    Returns
    -------
    Dataset
        Kinematics and frequencies, true and fitted, with standard deviations.

    Raises
    ------
    MotionError
        The record is too coarse for the fit.
    InputError
        Noise that is not positive, or too few instants, modes or records.
    """
    if not noise > 0.0 or instants < 3 or modes < 1 or repeats < 2:
        raise InputError("noise: positive; instants: at least 3; modes: 1 or more; repeats: 2")
    smoothing = 1.0 / knots_per_turn
    motions = speeds_of_table_2()
    fits = [
        fitted(known, camera_rate, noise, smoothing, seed + k) for k, known in enumerate(motions)
    ]
    parts = [
        kinematics(motions, fits, instants, camera_rate, smoothing),
        frequencies(motions, fits, instants, modes, elements),
        scatter(motions[-1], camera_rate, noise, smoothing, repeats, elements, seed),
    ]
    if response_turn > 0.0:
        parts.append(responses(motions[-1], fits[-1], response_turn, step, elements, damping_ratio))
    dataset = merged(
        parts,
        VARIABLES,
        title="bar with a measured motion of Vlase, Nicolescu & Marin (2020), example b",
        noise=noise,
        camera_rate=camera_rate,
        knots_per_turn=knots_per_turn,
        step=step,
        seed=seed,
        markers=str(MARKERS.tolist()),
    )
    yield Data("measured-motion.nc", dataset)
    yield Exploration(lambda: along_fit(fits[-1], motions[-1].period, instants, modes, elements))
    yield from figures.drawings(dataset)
    yield figures.animation(fits[-1], motions[-1].period, elements)
    return dataset


def along_fit(
    fit: FittedMotion, period: float, instants: int, modes: int, elements: int
) -> modal.ExplorerView:
    """The bar's modes along one turn of its fitted motion, to explore."""
    model = assembly.moving(bar(elements), fit)
    times = np.linspace(0.0, period, instants)
    tracks = modal.track(model, times=times, k=modes, progress=False)
    return modal.explorer_view(tracks, model, title="one turn of the fitted motion")
