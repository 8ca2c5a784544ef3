"""A bar whose motion is measured with markers: Vlase, Nicolescu & Marin, Mathematics 2020, 8, 1401,
example b.

The paper films a bar of a mechanism, differentiates the places of two markers, and puts the result
into both forms of the equations. Its records are not printed. Here the record is made from a motion
that is known (the lever of the wind pump, at the speeds of the paper's Table 2) with noise of a
stated size, so that every step can be compared with the truth: the rigid motion fitted to all
markers at once, its ω, ε and a_O with their uncertainty, and the bar's frequencies and response.
"""

from __future__ import annotations

import xarray as xr

import modal
from assembly.errors import InputError
from assembly.motion.markers import FittedMotion
from modal.data.datasets import provenance
from studies.measured_motion import figures as measured_motion_figures
from studies.measured_motion.bar import bar
from studies.measured_motion.data import fitted, frequencies, kinematics, scatter
from studies.measured_motion.record import MARKERS, speeds_of_table_2
from studies.measured_motion.response import responses
from studies.measured_motion.summary import report
from studies.reporting.output import OutputFolder

__all__ = ["main", "report"]


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
    out: OutputFolder | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """A bar whose rigid motion is fitted to marker records, its frequencies and response.

    noise: standard deviation of a marker's coordinate, m. camera_rate: pictures a second.
    knots_per_turn: of the fitted splines. instants, modes: of the frequencies over a turn.
    repeats: records with new noise, for the scatter of a frequency. response_turn, step,
    damping_ratio: part of a turn integrated from rest under the inertia loads, at the fastest speed
    (0 for none), time step in s, damping of the first mode. Returns kinematics and frequencies,
    true and fitted, with standard deviations. Raises MotionError when the record is too coarse.
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
    dataset = xr.merge(parts, combine_attrs="override")
    dataset.attrs = provenance() | dict(
        title="bar with a measured motion (Vlase, Nicolescu & Marin (2020), example b)",
        noise=noise,
        camera_rate=camera_rate,
        knots_per_turn=knots_per_turn,
        step=step,
        seed=seed,
        markers=str(MARKERS.tolist()),
    )
    if out is not None:
        out.write_dataset("measured-motion.nc", dataset)
        measured_motion_figures.draw(dataset, out)
        _animate(fits[-1], motions[-1].period, elements, out)
    return dataset


def _animate(fit: FittedMotion, period: float, elements: int, out: OutputFolder) -> None:
    from studies.figures.animation import moving_frames, write_gif

    body = bar(elements)
    mode = modal.solve(body.freeze(), k=1)
    frames = moving_frames(body, fit.frame, mode.right[:, 0], period)
    write_gif(out, "measured-motion.gif", frames, "the bar along its fitted motion, first mode")
