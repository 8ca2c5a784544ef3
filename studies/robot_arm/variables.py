"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

_JOINTS = ("joint", "time")

VARIABLES: Table = {
    "first_frequency": Variable("first frequency", "Hz", ("arm", "time")),
    "deflection": Variable("deflection of the gear", "rad", _JOINTS),
    "torque": Variable("torque of the drive", "N m", _JOINTS),
    "time": Variable("time", "s"),
    "arm": Variable("what is elastic", None),
    "joint": Variable("joint", None),
}
