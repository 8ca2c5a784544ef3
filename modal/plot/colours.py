"""Colours and line styles that all plots share."""

from __future__ import annotations

from typing import Any

from matplotlib import rcParams

from assembly.mesh.text_files import shown

# Okabe & Ito's eight colours, told apart by all common kinds of colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
DASHES = ("-", "--", "-.", ":")  # a colour that comes again has another line style
RIGID = "#8A8A8A"
STABLE, UNDECIDED, DIVERGENCE, FLUTTER = "#E8EEF4", "#C3CAD1", "#E69F00", "#D55E00"
HATCH: Any = {"hatch": "////", "edgecolor": "#66727E"}  # where a verdict is not on all modes
MARK = "#5A2A00"  # of the hatches of what is unstable


def ink() -> str:
    """The colour of text: black, or white on a dark ground."""
    return str(rcParams["text.color"])


def colour(index: int) -> str:
    """The palette's colour for a mode number; that of text stands for black."""
    shade = PALETTE[index % len(PALETTE)]
    return ink() if shade == "#000000" else shade


def dashes(index: int) -> str:
    """The line style for a mode number."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def plain(text: str) -> str:
    """A name that a user chose, for a title or a label: no formula, one line, not endless."""
    line = shown(text)
    return (line if len(line) <= 60 else line[:59] + "…").replace("$", r"\$")
