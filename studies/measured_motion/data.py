"""The measured-motion study's data: a marker record of a bar whose motion is known (the lever of
the wind pump, seen by cameras), fits, kinematics, frequencies of the bar, how noise comes
through, and the bar's response to the inertia of its fitted motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

import assembly
import modal
from assembly import Kinematics
from assembly.motion.motion import Motion
from assembly.motion.moving import MovingBody
from assembly.motion.records import FittedMotion, Uncertainty, fit_markers
from assembly.types import Array
from modal.data.variables import Table, Variable
from studies.reporting.protocol import dataset_of
from studies.wind_pump.machine import Pump, motion

# Vlase, Nicolescu & Marin (2020), Table 2: least and greatest speed (m/s) and acceleration (m/s²)
# of markers 1 and 2.
TABLE_2 = np.array(
    [
        [[0.3064, 0.8942, 1.923, 8.991], [0.2524, 0.6702, 1.480, 7.325]],
        [[0.2633, 1.006, 1.763, 9.962], [0.2423, 0.8458, 0.8995, 9.851]],
        [[0.2538, 1.194, 2.448, 14.580], [0.3259, 1.015, 2.233, 14.490]],
        [[0.3464, 1.243, 2.445, 13.980], [0.2592, 0.9965, 2.421, 12.610]],
        [[0.3155, 1.538, 2.957, 16.330], [0.3552, 1.296, 3.000, 14.260]],
    ]
)
# Markers in the axes of the bar, m: 1 and 2 on it, two on brackets: they must not be in line.
MARKERS = np.array([[0.35, 0.0, 0.0], [0.2, 0.0, 0.0], [0.1, 0.06, 0.0], [0.5, -0.06, 0.0]])


@dataclass(frozen=True)
class KnownMotion:
    """The lever's exact motion at a crank speed (rad/s). The frame's origin is the joint B."""

    speed: float

    @property
    def pump(self) -> Pump:
        return Pump(speed_rpm=self.speed * 60.0 / (2.0 * np.pi))

    @property
    def period(self) -> float:
        return 2.0 * np.pi / self.speed

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3), body to fixed axes."""
        now = motion(self.pump, t)
        phi, beta = now.q[0], now.angles[0]
        c, s = np.cos(beta), np.sin(beta)
        r = self.pump.l1 * np.array([np.cos(phi), np.sin(phi), 0.0])
        return r, np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def at(self, t: float) -> Kinematics:
        """ω, ε, a_O and v_O in body axes, exact."""
        now = motion(self.pump, t)
        r, R = self.frame(t)
        moved = np.array([-self.speed * r[1], self.speed * r[0], 0.0])
        return Kinematics(
            np.array([0.0, 0.0, now.angle_rates[0]]),
            np.array([0.0, 0.0, now.angle_accelerations[0]]),
            R.T @ (-(self.speed**2) * r),
            R.T @ moved,
        )

    def markers(self, times: Array) -> Array:
        """Exact places (n, N, 3) of the markers, m."""
        return np.array([r + MARKERS @ R.T for r, R in map(self.frame, times)])

    def marker_rates(self, t: float) -> tuple[Array, Array]:
        """Speed and size of the acceleration (N,) of the markers, m/s and m/s²."""
        now = self.at(t)
        velocity = now.velocity + np.cross(now.omega, MARKERS)
        acceleration = now.acceleration + np.cross(now.epsilon, MARKERS)
        acceleration = acceleration + np.cross(now.omega, np.cross(now.omega, MARKERS))
        return np.linalg.norm(velocity, axis=1), np.linalg.norm(acceleration, axis=1)


def speeds_of_table_2() -> list[KnownMotion]:
    """Motions whose marker 1 reaches the greatest speeds of Table 2.

    All places of the pump depend on the crank angle alone, so speeds are in proportion to ω.
    """
    unit = KnownMotion(1.0)
    turn = np.linspace(0.0, unit.period, 361)
    fastest = max(float(unit.marker_rates(t)[0][0]) for t in turn)
    return [KnownMotion(float(row[0, 1]) / fastest) for row in TABLE_2]


def record(motion: KnownMotion, rate: float, noise: float, seed: int) -> tuple[Array, Array]:
    """Times (n,) and markers (n, N, 3) at `rate` (1/s) over a turn and a margin, each coordinate
    with independent normal noise of standard deviation `noise` (m).
    """
    margin = 0.12 * motion.period  # at each end: splines are loose at their ends
    times = np.arange(-margin, motion.period + margin, 1.0 / rate)
    generator = np.random.default_rng(seed)
    exact = motion.markers(times)
    return times, exact + noise * generator.standard_normal(exact.shape)


def extremes(motion: KnownMotion) -> Array:
    """(2, 4): least and greatest speed and acceleration of markers 1 and 2, as in Table 2."""
    turn = np.linspace(0.0, motion.period, 181)
    rates = np.array([motion.marker_rates(t) for t in turn])[:, :, :2]
    ends = np.stack([rates.min(axis=0), rates.max(axis=0)], axis=-1)
    return np.asarray(ends.swapaxes(0, 1).reshape(2, 4))


_TURN, _MODES = ("regime", "turn"), ("regime", "turn", "mode")
_MARKERS = ("regime", "marker", "extreme")
QUANTITIES = {
    "omega_z": ("angular velocity", "rad s-1"),
    "epsilon_z": ("angular acceleration", "rad s-2"),
    "a_x": ("acceleration of the origin along the bar", "m s-2"),
    "a_y": ("acceleration of the origin across the bar", "m s-2"),
}
_COLUMNS = {
    "true": "known motion",
    "fitted": "fitted to the markers",
    "deviation": "standard deviation",
    "smoothing": "error of the fit without noise",
}

VARIABLES: Table = {
    f"{name}_{column}": Variable(f"{words}, {kind}", units, _TURN)
    for name, (words, units) in QUANTITIES.items()
    for column, kind in _COLUMNS.items()
} | {
    "noise_found": Variable("noise estimated from the rigid fit", "m", ("regime",)),
    "marker_speed": Variable("speed of the markers", "m s-1", _MARKERS),
    "marker_acceleration": Variable("acceleration of the markers", "m s-2", _MARKERS),
    "marker_speed_paper": Variable("speed printed in the paper's Table 2", "m s-1", _MARKERS),
    "marker_acceleration_paper": Variable(
        "acceleration printed in the paper's Table 2", "m s-2", _MARKERS
    ),
    "speed": Variable("crank speed", "rad s-1", ("regime",)),
    "frequency_true": Variable("frequency, known motion", "Hz", _MODES),
    "frequency_fitted": Variable("frequency, fitted motion", "Hz", _MODES),
    "frequency_deviation": Variable("standard deviation of the frequency", "Hz", _MODES),
    "frequency_at_rest": Variable("frequency at rest", "Hz", ("mode",)),
    "repeated_frequency": Variable(
        "first frequency at half a turn, records with new noise", "Hz", ("repeat",)
    ),
    "repeated_true": Variable("first frequency at half a turn, known motion", "Hz"),
    "repeated_predicted": Variable("predicted deviation", "Hz"),
    "swept_error": Variable(
        "error of the first frequency over a turn, rms", "Hz", ("swept_noise",)
    ),
    "swept_predicted": Variable("predicted standard deviation, rms", "Hz", ("swept_noise",)),
    "deflection": Variable("deflection of the middle of the bar", "m", ("run", "time")),
    "energy_balance": Variable("largest energy defect over largest energy", "1", ("run",)),
    "regime": Variable("number of the regime of Table 2", "1"),
    "turn": Variable("part of a turn", "1"),
    "marker": Variable("number of the marker", "1"),
    "repeat": Variable("number of the record", "1"),
    "swept_noise": Variable("noise of a marker's coordinate", "m"),
}


def bar(elements: int = 10, damping_ratio: float = 0.0) -> assembly.Body:
    """The pump's lever in its own frame: a pin at B, free to slide along itself at C'.

    Markers tell the motion, not the forces of the joints: the bar carries its own inertia only.
    damping_ratio: internal, stiffness-proportional, of the first mode.
    """
    pump = Pump()
    both = assembly.beam(
        pump.l2, pump.section, assembly.steel, elements, pinned="both", planar=True, name="bar"
    )
    fixed = both.fixed.copy()
    fixed[both.dofs.index(elements, 0)] = False
    body = replace(both, fixed=fixed)
    first = modal.solve(body.freeze(), k=1).eigenvalues[0].imag
    return body.with_damping(b=2.0 * damping_ratio / float(first))


def frequency(body: assembly.Body, motion: Kinematics, modes: int) -> Array:
    """Frequencies (modes,), Hz, at one instant of a rigid motion."""
    system = body.freeze_kinematics(motion)
    return np.asarray(modal.solve(system, k=modes, backend="dense").frequency)


def frequency_deviation(body: assembly.Body, fit: FittedMotion, t: float, modes: int) -> Array:
    """One standard deviation (modes,), Hz, of the frequencies, to first order.

    Each in-plane quantity (ω_z, ε_z, a_x, a_y) is moved by its own standard deviation; the shifts
    add as if they were independent.
    """
    now, spread = fit.at(t), fit.uncertainty(t)
    middle = frequency(body, now, modes)
    total = np.zeros(modes)
    for name, component in (("omega", 2), ("epsilon", 2), ("acceleration", 0), ("acceleration", 1)):
        moved = getattr(now, name).copy()
        moved[component] += getattr(spread, name)[component]
        total += (frequency(body, replace(now, **{name: moved}), modes) - middle) ** 2
    return np.asarray(np.sqrt(total))


def fitted(
    motion: KnownMotion, rate: float, noise: float, smoothing: float, seed: int
) -> FittedMotion:
    """The motion fitted to a record of it; smoothing: time between knots, as a share of a turn."""
    times, markers = record(motion, rate, noise, seed)
    return fit_markers(times, markers, MARKERS, smoothing=smoothing * motion.period)


def kinematics(
    motions: list[KnownMotion],
    fits: list[FittedMotion],
    instants: int,
    rate: float,
    smoothing: float,
) -> xr.Dataset:
    """ω_z, ε_z, a_x, a_y: true, fitted, standard deviation, and what smoothing alone takes away."""
    size = (len(motions), instants, 4)
    true, estimated, spread, smoothed = (np.empty(size) for _ in range(4))
    for i, (known, fit) in enumerate(zip(motions, fits, strict=True)):
        noiseless = fitted(known, rate, 0.0, smoothing, 0)
        for k, t in enumerate(np.linspace(0.0, known.period, instants)):
            true[i, k], estimated[i, k] = in_plane(known.at(t)), in_plane(fit.at(t))
            smoothed[i, k] = in_plane(noiseless.at(t))
            spread[i, k] = in_plane(fit.uncertainty(t))
    columns = {"true": true, "fitted": estimated, "deviation": spread, "smoothing": smoothed - true}
    of_fits = {
        f"{quantity}_{key}": values[..., n]
        for n, quantity in enumerate(QUANTITIES)
        for key, values in columns.items()
    }
    ranges = np.array([extremes(known) for known in motions])
    return dataset_of(
        VARIABLES,
        **of_fits,
        noise_found=[fit.noise for fit in fits],
        marker_speed=ranges[..., :2],
        marker_acceleration=ranges[..., 2:],
        marker_speed_paper=TABLE_2[..., :2],
        marker_acceleration_paper=TABLE_2[..., 2:],
        speed=[known.speed for known in motions],
        regime=np.arange(1, len(motions) + 1),
        turn=np.linspace(0.0, 1.0, instants),
        marker=[1, 2],
        extreme=["min", "max"],
    )


def in_plane(values: Kinematics | Uncertainty) -> Array:
    """(ω_z, ε_z, a_x, a_y) of kinematics or of their deviations."""
    return np.array([values.omega[2], values.epsilon[2], *values.acceleration[:2]])


def frequencies(
    motions: list[KnownMotion], fits: list[FittedMotion], instants: int, modes: int, elements: int
) -> xr.Dataset:
    """Frequencies along the true and the fitted motion, and their standard deviation."""
    body = bar(elements)
    rows = [
        [
            true_and_fitted(body, known, fit, t, modes)
            for t in np.linspace(0.0, known.period, instants)
        ]
        for known, fit in zip(motions, fits, strict=True)
    ]
    true, estimated, spread = np.moveaxis(np.array(rows), 2, 0)
    return dataset_of(
        VARIABLES,
        frequency_true=true,
        frequency_fitted=estimated,
        frequency_deviation=spread,
        frequency_at_rest=frequency(body, Kinematics(), modes),
        mode=np.arange(modes),
    )


def true_and_fitted(
    body: assembly.Body, true_motion: KnownMotion, fit: FittedMotion, t: float, modes: int
) -> Array:
    """Frequencies of the known and of the fitted motion and their deviation, (3, modes), Hz."""
    deviation = frequency_deviation(body, fit, t, modes)
    return np.stack(
        [frequency(body, motion.at(t), modes) for motion in (true_motion, fit)] + [deviation]
    )


def scatter(
    motion: KnownMotion, rate: float, noise: float, smoothing: float, repeats: int, elements: int,
    seed: int,
) -> xr.Dataset:  # fmt: skip
    """The first frequency from `repeats` records at half a turn, beside its predicted deviation;
    and its error over the turn for noise ten times smaller and ten times larger.
    """
    body, t = bar(elements), 0.5 * motion.period
    fits = [fitted(motion, rate, noise, smoothing, seed + 100 + r) for r in range(repeats)]
    noises = [factor * noise for factor in (0.1, 1.0, 10.0)]
    errors = []
    for k, level in enumerate(noises):
        fit = fitted(motion, rate, level, smoothing, seed + 200 + k)
        turn = np.linspace(0.0, motion.period, 13)
        frequencies = np.array([true_and_fitted(body, motion, fit, s, 1)[:, 0] for s in turn])
        errors.append((frequencies[:, 1] - frequencies[:, 0], frequencies[:, 2]))
    error, expected = np.sqrt(np.mean(np.square(errors), axis=-1)).T
    return dataset_of(
        VARIABLES,
        repeated_frequency=[frequency(body, fit.at(t), 1)[0] for fit in fits],
        repeated_true=frequency(body, motion.at(t), 1)[0],
        repeated_predicted=frequency_deviation(body, fits[-1], t, 1)[0],
        swept_error=error,
        swept_predicted=expected,
        repeat=np.arange(1, repeats + 1),
        swept_noise=noises,
    )


def responses(
    motion: KnownMotion, fit: FittedMotion, part: float, step: float, elements: int,
    damping_ratio: float,
) -> xr.Dataset:  # fmt: skip
    """From rest over `part` of a turn: deflection of the middle under the inertia loads.

    Both formalisms along the fitted motion at order 2, Hamilton's at order 4 for the error of
    either, and Lagrange's along the true motion for what the noise changes. Runs with the step and
    with half of it tell the order in which the two approach each other.
    """
    body, end = bar(elements, damping_ratio), part * motion.period
    # A step that divides the span, so that halves meet at the same instants.
    whole = end / int(np.ceil(end / step))
    lagrange, hamilton = ("lagrange", None), ("hamilton", "midpoint")
    runs: dict[str, tuple[Motion, tuple[Any, str | None], int]] = {
        "Lagrange": (fit, lagrange, 1),
        "Hamilton": (fit, hamilton, 1),
        "Lagrange, half the step": (fit, lagrange, 2),
        "Hamilton, half the step": (fit, hamilton, 2),
        "Hamilton, order 4": (fit, ("hamilton", "gauss4"), 1),
        "Lagrange, true motion": (motion, lagrange, 1),
    }
    deflections, balances = [], []
    for along, (formalism, method), every in runs.values():
        run = modal.integrate(
            MovingBody(body, along), (0.0, end), formalism=formalism, method=method,
            step=whole / every, every=every, loads=[modal.InertiaLoads()],
            probes=[(body.name, elements // 2, "uy")],
        )  # fmt: skip
        deflections.append(run["displacement"].values[:, 0])
        balances.append(float(abs(run["energy_defect"]).max()) / float(run["energy"].max()))
    return dataset_of(
        VARIABLES,
        deflection=np.array(deflections),
        energy_balance=balances,
        run=list(runs),
        time=np.linspace(0.0, end, len(deflections[0])),
    )
