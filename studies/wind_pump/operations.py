"""The paper's Table 1: how many differentiations each formalism needs to set up the equations."""

from __future__ import annotations

import numpy as np
import xarray as xr

ELEMENTS = (5, 10, 15, 20, 25, 30, 40)
METHODS = ("Lagrange", "Gibbs–Appell", "Kane")
PRINTED = (
    (288, 528, 768, 1008, 1248, 1488, 1968),
    (120, 220, 320, 420, 520, 620, 820),
    (10, 20, 30, 40, 50, 60, 80),
)
# Per node and constant: every row of the table is one straight line over the elements.
RULES = {"Lagrange": "48 (n + 1)", "Gibbs–Appell": "20 (n + 1)", "Kane": "2 n"}


def operations() -> xr.Dataset:
    """The printed counts, and those of the straight line through the first and the last."""
    n, printed = np.array(ELEMENTS), np.array(PRINTED)
    slope = (printed[:, -1] - printed[:, 0]) / (n[-1] - n[0])
    line = printed[:, :1] + slope[:, None] * (n - n[0])
    return xr.Dataset(
        {
            "differentiations": (("formalism", "lever_elements"), printed),
            "differentiations_by_rule": (("formalism", "lever_elements"), line),
        },
        coords={"formalism": list(METHODS), "lever_elements": n},
    )
