"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

_LINKS, _VARIANTS, _TIME = ("time", "link"), ("variant", "time", "mode"), ("time",)
_REDUCED, _GENERAL = "by the reduced equations (A43)", "by the general mechanism"
_PROJECTED = "by the projection (A46)"

VARIABLES: Table = {
    "angle": Variable("angle", "rad", _LINKS),
    "angular_velocity": Variable("angular velocity", "rad s-1", _LINKS),
    "angular_acceleration": Variable("angular acceleration", "rad s-2", _LINKS),
    "difference_check": Variable(
        "largest relative difference from finite differences", "1", ("checked",)
    ),
    "joint_force": Variable(f"joint force {_REDUCED}", "N", ("time", "force")),
    "joint_force_general": Variable(f"joint force {_GENERAL}", "N", ("time", "force")),
    "motor_torque": Variable(f"torque of the motor {_REDUCED}", "N m", _TIME),
    "motor_torque_general": Variable(f"torque of the motor {_GENERAL}", "N m", _TIME),
    "motor_torque_projected": Variable(f"torque of the motor {_PROJECTED}", "N m", _TIME),
    "slide_force": Variable(f"force of the slide's drive {_REDUCED}", "N", _TIME),
    "slide_force_general": Variable(f"force of the slide's drive {_GENERAL}", "N", _TIME),
    "slide_force_projected": Variable(f"force of the slide's drive {_PROJECTED}", "N", _TIME),
    "eigenvalue": Variable("eigenvalue", "rad s-1", _VARIANTS),
    "frequency": Variable("frequency", "Hz", _VARIANTS),
    "shift": Variable("frequency shift by one term", "Hz", ("term", "time", "mode")),
    "together": Variable("frequency shift by all terms", "Hz", ("time", "mode")),
    "shift_by_hand": Variable(
        "first-order shift by the axial force of a pinned beam", "Hz", ("time", "mode")
    ),
    "differentiations": Variable(
        "differentiations to set up the equations, printed in the paper's Table 1",
        "1",
        ("formalism", "lever_elements"),
    ),
    "differentiations_by_rule": Variable(
        "the same by a straight line through the first and the last",
        "1",
        ("formalism", "lever_elements"),
    ),
    "lever_elements": Variable("number of elements of the lever", "1"),
    "pinned_frequency": Variable(
        "frequency of the lever pinned at both ends, at rest", "Hz", ("mode",)
    ),
}
