"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

_TURN, _MODES = ("regime", "turn"), ("regime", "turn", "mode")
_MARKERS = ("regime", "marker", "extreme")
_QUANTITIES = {
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
    for name, (words, units) in _QUANTITIES.items()
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
