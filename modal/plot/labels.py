"""Labels of axes from the attributes of what is drawn."""

from __future__ import annotations

from xarray import DataArray

from modal.data.units import units_of
from modal.plot.colours import plain


def axis_label(variable: DataArray, words: str | None = None, prefix: str = "") -> str:
    """`long name (units)` of a coordinate or variable.

    Parameters
    ----------
    variable : DataArray
        Its attributes `units` and `long_name` are shown.
    words : str, optional
        Shown in place of the long name, where that is too long for an axis or names one curve of
        several.
    prefix : {"", "m", "µ"}
        Prefix of the unit, for values drawn with the factor of `PREFIXES`.
    """
    name = words or plain(str(variable.attrs.get("long_name", variable.name)).replace("_", " "))
    units = units_of(variable)
    return f"{name} ({prefix}{units})" if units else name
