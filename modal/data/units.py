"""Units of a dataset's variables as they are shown: CF's `rad s-1` as rad/s."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xarray import DataArray

PREFIXES: Mapping[str, float] = {"": 1.0, "m": 1e3, "µ": 1e6}


def shown_units(units: str) -> str:
    """CF units for a reader: `rad s-1` as rad/s, `s-1` as 1/s, `m s-2` as m/s², `degree` as °."""
    text = re.sub(r"^(\w+)-1$", r"1/\1", units)
    text = re.sub(r" (\w+)-1\b", r"/\1", text)
    text = re.sub(r" (\w+)-2\b", r"/\1²", text)
    text = re.sub(r"([a-z])2\b", r"\1²", text)
    return "°" if text == "degree" else text


def units_of(variable: DataArray) -> str:
    """Units of a variable for a reader; empty for numbers without a unit."""
    units = str(variable.attrs.get("units", ""))
    return "" if units == "1" else shown_units(units)
