"""The table of variables: long name, units, dimensions and codes of every variable of a dataset.

A new variable of the library's datasets is one row here; a variable that only one study writes is
one row in the table `VARIABLES` of the study. `modal.data.datasets.described` gives a dataset the
attributes of its rows. docs/datasets.md describes the datasets for their readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

SWEPT = "swept"  # stands for the swept parameter or parameters, by whatever name


@dataclass(frozen=True)
class Variable:
    """One row of the table.

    Attributes
    ----------
    long_name : str
        What the variable is.
    units : str or None
        UDUNITS of CF; `SWEPT` for those of the swept parameter; None for words.
    dims : tuple of str
        Dimensions in order; `SWEPT` stands for the swept parameters.
    flags : tuple of str
        Meanings of the codes of an integer variable, in order (CF `flag_meanings`).
    dtype : str
        Type of a variable that is stored point by point.
    lowest : int
        Code of the first of `flags`.
    """

    long_name: str
    units: str | None
    dims: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    dtype: str = "float64"
    lowest: int = 0

    @property
    def attributes(self) -> dict[str, Any]:
        """CF attributes: `long_name`; `units` of numbers; `flag_values` and `flag_meanings`."""
        out: dict[str, Any] = {} if self.units is None else {"units": self.units}
        out["long_name"] = self.long_name
        if self.flags:
            codes = self.lowest + np.arange(len(self.flags))
            out["flag_values"] = codes.astype(self.dtype)
            out["flag_meanings"] = " ".join(self.flags)
        return out

    def over(self, *dims: str) -> Variable:
        """The same variable with other dimensions."""
        return replace(self, dims=dims)

    @property
    def fill(self) -> float | int | bool:
        """Value of a point that is not computed."""
        return {"f": np.nan, "i": self.lowest, "b": False}[np.dtype(self.dtype).kind]


Table = Mapping[str, Variable]

_TRACK, _MAP, _MODE, _EVENT = (SWEPT, "mode"), (SWEPT,), ("mode",), ("occurrence",)
_PROBES = ("time", "probe")

TRACKS: Table = {
    "eigenvalue": Variable("eigenvalue of the frozen instant", "rad s-1", _TRACK),
    "frequency": Variable("frequency of vibration, |Im λ| / 2π", "Hz", _TRACK),
    "damping_ratio": Variable("damping ratio, −Re λ / |λ|", "1", _TRACK),
    "growth_rate": Variable("growth rate of the frozen instant, Re λ", "s-1", _TRACK),
    "growth_rate_corrected": Variable(
        "growth rate σ with the first-order effect of the motion", "s-1", _TRACK
    ),
    "growth_rate_action": Variable(
        "growth rate of the action, energy over frequency, of a mode", "s-1", _TRACK
    ),
    "backward_error": Variable("backward error of the eigenpair", "1", _TRACK),
    "condition_number": Variable("relative condition number of the eigenvalue", "1", _TRACK),
    "mac": Variable(
        "modal assurance criterion to the previous instant, from left and right vectors",
        "1",
        _TRACK,
    ),
    "certainty": Variable("least MAC accepted since the previous instant", "1", _TRACK),
    "event": Variable("event of the mode since the previous instant", None, _TRACK),
    "kind": Variable("elastic, rigid, or prescribed by the frame", None, _TRACK),
    "frozen_interval": Variable(
        "how long the modes of the instant stand for the motion", "s", _TRACK
    ),
    "coupling": Variable(
        "largest coupling with another mode by the motion, |yᴴȦx| / |λ_i − λ_j|²", "1", _TRACK
    ),
    "partner": Variable("the other mode of the event, −1 for none", "1", _TRACK),
    "gap": Variable("least distance of the two eigenvalues of a veering", "rad s-1", _TRACK),
    "event_at": Variable(
        "place of the event, between the previous instant and this one", SWEPT, _TRACK
    ),
    "unstable_not_followed": Variable(
        "number of unstable modes that no track follows, −1 where it is not known", "1", (SWEPT,)
    ),
    "whirl_number": Variable(
        "whirl about the axis: +1 circular, positive sense; −1 circular, negative sense; 0 planar",
        "1",
        _TRACK,
    ),
    "whirl": Variable(
        "sense of whirl to the rotation: forward, backward, planar or none", None, _TRACK
    ),
}

MODES: Table = {
    name: TRACKS[name].over("mode")
    for name in (
        *("eigenvalue", "frequency", "damping_ratio", "growth_rate"),
        *("backward_error", "condition_number", "kind"),
    )
} | {
    "error_bound": Variable("error bound of the eigenvalue", "rad s-1", _MODE),
    "position": Variable("position of the node", "m", ("node", "axis")),
    "shape": Variable("displacement of the node in the mode", "1", ("mode", "node", "axis")),
}

EVENTS: Table = {
    "event": Variable("kind of the event", None, _EVENT),
    "event_mode": Variable("number of the track, −1 for a mode that is not followed", "1", _EVENT),
    "partner": Variable("number of the other track, −1 for none", "1", _EVENT),
    "event_at": Variable("place of the event", SWEPT, _EVENT),
    "gap": Variable("least distance of the two eigenvalues of a veering", "rad s-1", _EVENT),
}

MAP: Table = {
    "growth_rate": Variable("largest growth rate of the elastic modes examined", "s-1", _MAP),
    "unstable_modes": Variable(
        "elastic modes whose growth rate exceeds its error bound", "1", _MAP, dtype="int32"
    ),
    "verdict": Variable(
        "stability of all elastic modes",
        "1",
        _MAP,
        ("undecided", "stable", "divergence", "flutter"),
        "int8",
        lowest=-1,
    ),
    "proof": Variable(
        "what the verdict rests on",
        "1",
        _MAP,
        ("lowest_modes_only", "energy", "count", "lyapunov", "unstable_mode"),
        "int8",
    ),
    "critical_frequency": Variable("frequency of the mode of largest growth rate", "Hz", _MAP),
    "error_bound": Variable("error bound of the growth rate", "s-1", _MAP),
    "source": Variable("how the point was solved", "1", _MAP, ("reduced", "full"), "int8"),
    "done": Variable("the point is finished", "1", _MAP, dtype="bool"),
}

TRANSIENT: Table = {
    "displacement": Variable("elastic displacement (rotations: rad)", "m", _PROBES),
    "velocity": Variable("elastic velocity (rotations: rad/s)", "m s-1", _PROBES),
    "energy": Variable(
        "kinetic and potential energy of the vibration in its moving frame", "J", ("time",)
    ),
    "energy_defect": Variable(
        "energy less its initial value and less the work done", "J", ("time",)
    ),
}

TRANSIENT_NONLINEAR: Table = (
    dict(TRANSIENT)
    | {
        name: Variable(long_name, units, ("time",))
        for name, long_name, units in (
            ("energy", "kinetic energy and potentials of the absolute motion", "J"),
            ("kinetic_energy", "kinetic energy of the absolute motion", "J"),
            ("strain_energy", "energy of elements, springs and bushings", "J"),
            ("gravity_energy", "potential of the weight", "J"),
            ("load_work", "work of the applied loads since the start", "J"),
            ("drive_work", "work of the drives since the start", "J"),
            ("damper_work", "work of dampers and internal damping since the start", "J"),
        )
    }
    | {
        "momentum": Variable("momentum in fixed axes", "N s", ("time", "axis")),
        "angular_momentum": Variable(
            "angular momentum about the origin of the fixed axes", "N m s", ("time", "axis")
        ),
    }
)

CROSSCHECK: Table = {
    "frozen_rate": Variable("mean over the motion of the frozen growth rate Re λ", "s-1", _MODE),
    "corrected_rate": Variable("mean over the motion of the corrected growth rate σ", "s-1", _MODE),
    "transient_rate": Variable(
        "growth rate of the mode's coordinate in the full transient", "s-1", _MODE
    ),
    "transient_uncertainty": Variable("uncertainty of transient_rate", "s-1", _MODE),
    "floquet_rate": Variable("real part of the Floquet exponent", "s-1", _MODE),
    "floquet_error": Variable("error bound of floquet_rate", "s-1", _MODE),
    "mean_frequency": Variable("mean over the motion of |Im λ| / 2π", "Hz", _MODE),
    "frozen_interval": Variable("least frozen interval over the motion", "s", _MODE),
    "vibration_period": Variable("2π over the mean of |λ|", "s", _MODE),
    "frozen_share": Variable(
        "share of the motion whose frozen interval is at least that period", "1", _MODE
    ),
    "gain": Variable(
        "largest growth of the energy norm of a motion that starts in the mode", "1", _MODE
    ),
    "verdict": Variable("confirmed, frozen misleads, or undecided", None, _MODE),
    "reason": Variable("why the frozen verdict misleads", None, _MODE),
    "remark": Variable("explanation, or what to refine", None, _MODE),
}

_AMPLITUDE = ("amplitude",)

CROSSCHECK_AMPLITUDES: Table = {
    "frequency": Variable("frequency of the mode's coordinate at the start", "Hz", _AMPLITUDE),
    "growth_rate": Variable("growth rate of the mode's coordinate at the start", "s-1", _AMPLITUDE),
    "frequency_difference": Variable(
        "frequency less the linear one, of the linear one (of |λ| where that is zero)",
        "1",
        _AMPLITUDE,
    ),
    "growth_rate_difference": Variable(
        "growth rate less the linear one, of the linear one (of |λ| where that is zero)",
        "1",
        _AMPLITUDE,
    ),
    "final_amplitude": Variable(
        "displacement of the mode's largest DOF in the last quarter (rotations: rad)",
        "m",
        _AMPLITUDE,
    ),
    "frequency_holds": Variable("the frequency is the linear one", "1", _AMPLITUDE),
    "growth_rate_holds": Variable("growth rate and stability are the linear ones", "1", _AMPLITUDE),
    "linear_holds": Variable(
        "frequency, growth rate and stability are the linear ones", "1", _AMPLITUDE
    ),
    "outcome": Variable("what the motion becomes", None, _AMPLITUDE),
    "linear_frequency": Variable("frequency of the mode, |Im λ| / 2π", "Hz"),
    "linear_growth_rate": Variable("growth rate of the mode, Re λ", "s-1"),
    "linear_up_to": Variable(
        "largest amplitude up to which the linear verdict holds (rotations: rad)", "m"
    ),
    "frequency_linear_up_to": Variable(
        "largest amplitude up to which the frequency is the linear one (rotations: rad)", "m"
    ),
    "growth_rate_linear_up_to": Variable(
        "largest amplitude up to which growth rate and stability are the linear ones "
        "(rotations: rad)",
        "m",
    ),
}

IDENTIFIED: Table = {
    "eigenvalue": Variable("identified eigenvalue", "rad s-1", _MODE),
    "frozen_eigenvalue": Variable("eigenvalue of the frozen instant", "rad s-1", _MODE),
    "amplitude": Variable("amplitude of the mode at the first instant", "1", _MODE),
}

_FORCED = ("frequency", "probe")

RESPONSE: Table = {
    "displacement": Variable(
        "complex amplitude of the displacement (rotations: rad)", "m", _FORCED
    ),
    "error_bound": Variable("error bound of the displacement", "m", _FORCED),
}

RESPONSE_SWEPT: Table = {name: row.over(SWEPT, *row.dims) for name, row in RESPONSE.items()}

UNBALANCE: Table = {
    "displacement": Variable(
        "complex amplitude of the synchronous displacement (rotations: rad)",
        "m",
        ("speed", "probe"),
    ),
    "speed": Variable("angular velocity", "rad s-1"),
}

STATE_SPACE: Table = {
    "A": Variable("state matrix", "s-1", (SWEPT, "state", "state_from")),
    "B": Variable("input matrix: forces, N and N m, on the states", "1", (SWEPT, "state", "input")),
    "C": Variable("output matrix: displacements, m and rad", "1", (SWEPT, "output", "state")),
    "D": Variable(
        "static response of the modes that are left out", "m N-1", (SWEPT, "output", "input")
    ),
    "eigenvalue": Variable("eigenvalue of the frozen instant", "rad s-1", _TRACK),
    "certainty": Variable("pairing with the same mode of the previous value", "1", _TRACK),
}

PERIODIC: Table = {
    "eigenvalue": Variable("λ of the harmonic that is followed", "rad s-1", _TRACK),
    "frequency": Variable("frequency of that harmonic, |Im λ| / 2π", "Hz", _TRACK),
    "growth_rate": Variable("growth rate, real part of the Floquet exponent", "s-1", _TRACK),
    "error": Variable("bound on the error of the exponent", "s-1", _TRACK),
    "mac": Variable(
        "modal assurance criterion to the previous value, of all harmonics", "1", _TRACK
    ),
}

ROTOR: Table = {
    "growth_rate": Variable("largest growth rate", "s-1", ("omega", "analysis")),
    "frequency": Variable(
        "frequency of the mode with the largest growth rate", "Hz", ("omega", "analysis")
    ),
    "error": Variable("bound on the error of the Floquet growth rate", "s-1", ("omega",)),
    "variation": Variable(
        "largest relative variation of the multiblade matrices over a turn", "1", ("omega",)
    ),
    "differs": Variable(
        "whether the method's verdict is not that of Floquet", "1", ("omega", "analysis")
    ),
    "name": Variable("name of the multiblade mode with the largest growth rate", None, ("omega",)),
}

MULTIBLADE: Table = {
    **TRACKS,
    "share": Variable("share of the kinetic energy in multiblade groups", "1", (*_TRACK, "group")),
    "name": Variable("group with the largest share", None, _TRACK),
}

# Arrays that are no datasets.
ARRAYS: Table = {
    "share": Variable("share of the kinetic energy", "1", ("mode", "group")),
    "participation": Variable("participation of the harmonic", "1"),
    "frequency": Variable("frequency of the harmonic", "Hz"),
    "harmonic": Variable("harmonic of the period", "1"),
    "shape": Variable("periodic part of the mode", "1", ("time", "dof")),
    "mac": Variable("modal assurance criterion", "1", ("first", "second")),
    "first": Variable("mode of the first set", "1"),
    "second": Variable("mode of the second set", "1"),
}

# Coordinates of all datasets, and parameters that are swept often. Any other swept parameter has
# its own name as long name and the unit "1".
COORDINATES: Table = {
    "time": Variable("time", "s"),
    "t": Variable("time", "s"),
    "omega": Variable("angular velocity", "rad s-1"),
    "epsilon": Variable("angular acceleration", "rad s-2"),
    "acceleration": Variable("acceleration of the frame's origin", "m s-2"),
    "speed_rpm": Variable("speed of rotation", "rpm"),
    "mode": Variable("number of the mode, from 0", "1"),
    "probe": Variable("recorded degree of freedom: body, node of the body, component", None),
    "unknown": Variable("number of the recorded degree of freedom", "1"),
    "input": Variable("degree of freedom of a force", None),
    "output": Variable("degree of freedom of a displacement", None),
    "node": Variable("number of the node, through all bodies", "1"),
    "axis": Variable("direction", None),
    "amplitude": Variable("amplitude of the mode at the start (rotations: rad)", "m"),
    "frequency": Variable("frequency", "Hz"),
}
