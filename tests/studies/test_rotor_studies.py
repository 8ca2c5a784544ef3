"""The studies of rotors with blades, run small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import modal
from assembly.errors import InputError
from studies import helicopter, wind_turbine
from studies.reporting.output import OutputFolder


@pytest.mark.slow
def test_helicopter_as_equations_and_as_a_mechanism() -> None:
    """Hammond's rotor at 250 rpm with one damper out: both models have the three growth rates."""
    exact = [-0.057435, -0.023022, 0.322031]
    omega = [250.0 * np.pi / 30.0]
    unknowns = [[2], [3], [4], [5]]
    names = ("b1", "b2", "b3", "b4")
    for make, blades in ((helicopter.equations, unknowns), (helicopter.model, names)):
        verdict = modal.rotor_verdict(lambda w, make=make: make(w * 30.0 / np.pi), omega, blades)
        assert verdict["growth_rate"].values[0].tolist() == pytest.approx(exact, abs=1e-5)


@pytest.mark.slow
def test_helicopter_study(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out", "helicopter")
    verdict = helicopter.main(speeds=3, min_rpm=240.0, max_rpm=260.0, out=out)
    assert len(out.views) == 1 and len(out.views[0].states) == 3
    assert verdict["differs"].sel(analysis="multiblade").all()
    assert "Floquet: unstable" in helicopter.report(verdict)
    for figure in ("verdict", "multiblade", "mode"):
        assert (out.path / f"{figure}.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="max_rpm"):
        helicopter.main(min_rpm=5.0, max_rpm=4.0)


def test_wind_turbine_is_constant_in_multiblade_coordinates() -> None:
    """Three alike blades on a tower that is not isotropic; first tower and blade modes near the
    published 0.32 Hz and 0.6 to 0.7 Hz of the whole turbine (NREL/TP-500-38060, table 9-1)."""
    turbine = wind_turbine.model(1.0, tower_elements=2)
    fixed = modal.multiblade(turbine, ("b1", "b2", "b3"))
    assert fixed.is_constant
    modes = modal.solve(fixed.mean, k=5)
    assert modes.frequency[:2] == pytest.approx([0.32, 0.32], abs=0.05)
    assert np.all((modes.frequency[2:5] > 0.5) & (modes.frequency[2:5] < 0.85))
    assert set(fixed.names(modes)[:2]) == {"support"}
