"""Draw the picture of the manual's page on reading results: docs/images/figures-after.png.

    python tools/figure_pictures.py [FOLDER]

`figures-before.png` beside it is the same script under the figure code of commit 4f0c7d5.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import assembly  # noqa: E402
import modal  # noqa: E402


def main() -> None:
    """A beam that is spun about its length: Campbell diagram and map, side by side."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    section = assembly.rectangle(0.034, 0.03)
    shaft = assembly.beam(0.5, section, assembly.steel, 6, clamped="start").with_damping(b=2e-6)
    speeds = np.linspace(0.0, 1000.0, 41)
    tracks = modal.track(shaft, omega=speeds, axis=(1, 0, 0), k=4)
    points = dict(omega=speeds[::2], epsilon=np.linspace(-1000.0, 1000.0, 21))
    grid = modal.stability_map(shaft, axis=(1, 0, 0), k=4, **points)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    modal.plot.campbell(tracks, left)
    modal.plot.map(grid, right)
    figure.savefig(folder / "figures-after.png", dpi=72)


if __name__ == "__main__":
    main()
