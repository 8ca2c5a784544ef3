"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

VARIABLES: Table = {
    "displacement": Variable("transverse displacement at mid-rod", "m", ("time",)),
    "amplitude": Variable("amplitude of the first mode, time integration", "1", ("instant",)),
    "amplitude_corrected": Variable("amplitude predicted by σ", "1", ("instant",)),
    "amplitude_frozen": Variable("amplitude predicted by Re λ", "1", ("instant",)),
    "instant": Variable("time", "s"),
    "speed_rpm": Variable("crank speed", "rpm"),
    "first_damping": Variable("damping ratio of the first mode at t = 0", "1"),
    "growth_floquet": Variable("largest growth rate, Floquet", "s-1", ("speed_rpm",)),
    "growth_corrected": Variable("mean of σ over a turn, first mode", "s-1", ("speed_rpm",)),
    "growth_integrated": Variable("growth rate, time integration", "s-1", ("speed_rpm",)),
    "turn": Variable("crank position", "turns"),
}
