"""A cantilever blade, and the process that makes or resumes its stability map.

python -m tests.support.blade_map STORE
"""

from __future__ import annotations

import sys

import numpy as np

import assembly
import modal.maps.stability_maps as stability


def blade(elements: int = 12) -> assembly.Body:
    return assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.steel,
        elements=elements,
        clamped="start",
    )


def main(store: str) -> None:
    """Make or resume the map of 14 by 15 points, in tiles of nine."""
    stability.TILE_POINTS = 9
    stability.stability_map(
        blade(8), omega=np.linspace(0.0, 400.0, 14), epsilon=np.linspace(-1e5, 1e5, 15),
        axis=(0, 0.2, 1), k=4, store=store, resume=True, progress=False,
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
