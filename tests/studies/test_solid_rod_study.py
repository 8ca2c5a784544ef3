"""The study of a slider-crank with a solid rod."""

from pathlib import Path

import numpy as np
import pytest

from assembly.errors import InputError
from studies import solid_rod
from studies.reporting.output import OutputFolder


@pytest.mark.slow
def test_solid_rod_study(tmp_path: Path) -> None:
    """The first frequency is that of a slender beam on pins, less its shear and rotary inertia."""
    out = OutputFolder(tmp_path / "out", "solid-rod")
    tracks = solid_rod.main(cells=12, across=1, instants=9, modes=2, out=out)
    pinned = 0.5 * np.pi * np.sqrt(210e9 / 7850.0 / 12.0) * 0.02 / 0.3**2
    np.testing.assert_allclose(tracks["frequency"][0, 0], pinned, rtol=0.03)
    assert (tmp_path / "out" / "tracks.nc").exists()
    assert tracks.attrs["solver"].startswith("reduced bases of links")


def test_mistaken_settings() -> None:
    with pytest.raises(InputError, match="speed_rpm"):
        solid_rod.main(speed_rpm=0.0)
    with pytest.raises(InputError, match="damping"):
        solid_rod.main(damping=-1.0)
