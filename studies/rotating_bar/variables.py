"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import TRANSIENT, Table, Variable

_NATURAL, _RUN = ("omega", "mode"), ("damping", "scheme", "time")
_TIMING, _TABLE_3 = ("way", "formalism", "elements"), ("formalism", "elements")
_TIP = "axial displacement of the tip"
_TIP_ERROR = "largest relative difference from the closed form"

VARIABLES: Table = {
    "natural": Variable("natural frequency", "rad s-1", _NATURAL),
    "natural_exact": Variable("natural frequency of the element chain", "rad s-1", _NATURAL),
    "natural_continuum": Variable("natural frequency of the continuous bar", "rad s-1", _NATURAL),
    "natural_misprint": Variable(
        "natural frequency with −½[k] of equation (13) as printed, at 15 rad/s",
        "rad s-1",
        ("mode",),
    ),
    "displacement": Variable("axial displacement", "m", (*_RUN, "node")),
    "displacement_exact": Variable(
        "axial displacement, closed form", "m", ("damping", "time", "node")
    ),
    "energy": TRANSIENT["energy"].over(*_RUN),
    "energy_defect": TRANSIENT["energy_defect"].over(*_RUN),
    "tip_by_section": Variable(_TIP, "m", ("section", "speed", "instant")),
    "tip_by_section_error": Variable(_TIP_ERROR, "1", ("section", "speed")),
    "tip_by_excitation": Variable(_TIP, "m", ("excitation", "instant")),
    "tip_by_excitation_error": Variable(_TIP_ERROR, "1", ("excitation",)),
    "tip_by_mass": Variable(_TIP, "m", ("mass", "instant")),
    "tip_by_mass_error": Variable(_TIP_ERROR, "1", ("mass",)),
    "seconds": Variable("processor time", "s", _TIMING),
    "seconds_spread": Variable("largest less smallest computing time", "s", _TIMING),
    "evaluations": Variable("right-hand sides of the explicit runs", "1", _TABLE_3),
    "seconds_paper": Variable("computing time printed in the paper's Table 3", "s", _TABLE_3),
    "derivative": Variable(
        "derivative of the term by the displacements", None, ("lagrangian_term",)
    ),
    "derivative_error": Variable(
        "relative difference of the derivative from the complex step", "1", ("lagrangian_term",)
    ),
    "derivative_misprint": Variable("the same of the elastic term as printed, −½kδ", "1", ()),
    "damping": Variable("damping ratio of the first mode", "1"),
    "instant": Variable("time", "s"),
    "section": Variable("section area", "m2"),
    "speed": Variable("angular velocity", "rad s-1"),
    "excitation": Variable("excitation frequency", "rad s-1"),
    "mass": Variable("mass of the bar", "kg"),
    "node": Variable("number of the node, 1 on the axis", "1"),
    "elements": Variable("number of elements", "1"),
}
