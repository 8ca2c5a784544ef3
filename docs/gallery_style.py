"""The gallery's figures in the look of the studies'."""

from typing import Any

import matplotlib

from studies.figures.drawing import RC


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Called by sphinx-gallery before each example."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(RC)
