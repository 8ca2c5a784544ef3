"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

_DIMS = ("speed_rpm", "mode")

VARIABLES: Table = {
    "frequency": Variable("frequency", "Hz", _DIMS),
    "frequency_calculix": Variable("frequency by CalculiX 2.20", "Hz", _DIMS),
    "relative_difference": Variable("relative difference", "1", _DIMS),
}
