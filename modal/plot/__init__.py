"""Plots of results, one line each: a result and `ax=` in, artists out. Nothing is computed here."""

from modal.plot.campbell_diagram import campbell
from modal.plot.forced import bode, nyquist, orbit, response, waterfall
from modal.plot.map_regions import growth, verdict
from modal.plot.mode_shape import shape
from modal.plot.periodic import participation, periodic_mode, rotor_verdict
from modal.plot.track_curves import frequencies, growth_rates, instability_box, root_locus

map = verdict
tracks = frequencies

__all__ = [
    "bode",
    "campbell",
    "frequencies",
    "growth",
    "growth_rates",
    "instability_box",
    "map",
    "nyquist",
    "orbit",
    "participation",
    "periodic_mode",
    "response",
    "root_locus",
    "rotor_verdict",
    "shape",
    "tracks",
    "verdict",
    "waterfall",
]
