"""The studies of the main job, run small: what they return and write, and what they show."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import modal
from assembly.errors import InputError, MechanismError
from modal.data.variables import MAP, TRACKS
from studies import rotating_blade, slider_crank
from studies.__main__ import main
from studies.cli import html_report
from studies.registry import study
from studies.reporting.output import OutputFolder
from studies.slider_crank.comparison import compare_with_transient
from tests.support.dataset_checks import assert_as_xarray_users_expect, assert_described

# Real machines: no value of them is questioned.
pytestmark = pytest.mark.filterwarnings("error::assembly.PlausibilityWarning")

TRACK_VARIABLES = {
    "eigenvalue", "frequency", "damping_ratio", "growth_rate", "growth_rate_corrected",
    "backward_error", "condition_number", "mac", "event", "kind", "frozen_interval",
}  # fmt: skip
MAP_VARIABLES = {
    "growth_rate", "unstable_modes", "verdict", "proof", "critical_frequency", "error_bound",
    "source", "done",
}  # fmt: skip


@pytest.mark.slow
def test_slider_crank_writes_datasets_of_the_schema(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out", "slider-crank")
    tracks = slider_crank.main(
        elements=4, modes=4, instants=17, turns=1, map_points=3, chart_points=6, out=out
    )
    assert set(tracks.data_vars) >= TRACK_VARIABLES
    assert (tracks.sizes["time"], tracks.sizes["mode"]) == (17, 4)
    read = modal.read_dataset(out.path / "tracks.nc")
    assert np.array_equal(read["eigenvalue"], tracks["eigenvalue"], equal_nan=True)
    assert np.iscomplexobj(read["eigenvalue"])
    grid = modal.read_dataset(out.path / "map.nc")
    assert set(grid.data_vars) == MAP_VARIABLES
    assert [(view.is_map, len(view.states)) for view in out.views] == [(False, 17), (True, 9)]
    html_report.write(out, study("slider-crank"), {}, tracks, "")
    page = (out.path / "report.html").read_text("utf-8")
    pictures = re.findall(r'src="data:image/[a-z]+;base64,([^"]+)"', page)
    assert len(pictures) == len(set(pictures)) == 7 and page.count('id="fm-views"') == 1
    compared = modal.read_dataset(out.path / "transient.nc")
    assert_described(read, TRACKS)
    assert_described(grid, {**MAP, **slider_crank.comparison.VARIABLES})
    assert_described(compared, slider_crank.comparison.VARIABLES)
    for dataset in (read, grid, compared):
        assert_as_xarray_users_expect(dataset, tmp_path)
    assert_described(
        modal.read_dataset(out.path / "chart.nc"), {**MAP, **slider_crank.comparison.VARIABLES}
    )
    rates = modal.read_dataset(out.path / "growth.nc")
    assert_described(rates, slider_crank.comparison.VARIABLES)
    compared_at = rates["growth_integrated"].notnull()
    assert compared_at.sum() >= 4  # as Floquet, but for what beats over the turns
    difference = (rates["growth_integrated"] - rates["growth_floquet"]).where(compared_at)
    assert float(abs(difference).max()) < 1.0
    for figure in ("tracks", "shapes", "transient", "overview", "map", "chart", "growth"):
        assert (out.path / f"{figure}.png").stat().st_size > 10_000
    assert all(out.captions.values())
    assert not list(out.path.glob(".*"))


@pytest.mark.slow
def test_the_corrected_rate_predicts_the_transient_and_the_frozen_rate_does_not() -> None:
    """Time integration of the full equations is the reference (modal.integrate, order 4)."""
    b = slider_crank.stiffness_damping(0.005, elements=6)
    mechanism = slider_crank.model(elements=6, rayleigh=(0.0, b))
    assert mechanism.period is not None
    tracks = modal.track(mechanism, times=np.linspace(0.0, mechanism.period, 81), k=3)
    compared = compare_with_transient(mechanism, tracks, turns=1)
    true = compared["amplitude"].values
    corrected = np.abs(compared["amplitude_corrected"].values / true - 1.0)
    frozen = np.abs(compared["amplitude_frozen"].values / true - 1.0)
    assert corrected.max() < 0.015
    assert frozen.max() > 0.03


def test_slider_crank_refuses_what_cannot_turn() -> None:
    with pytest.raises(MechanismError, match=r"crank = 0\.4 m must be shorter than rod = 0\.3 m"):
        slider_crank.main(crank=0.4)
    with pytest.raises(InputError, match=r"rod = -0\.3: must be positive"):
        slider_crank.main(rod=-0.3)


def test_solid_blade_against_calculix() -> None:
    """CalculiX 2.20 on the same mesh: within 3e-3 with linear prestress."""
    compared = rotating_blade.compare_with_calculix(rotating_blade.solid_model())
    assert_described(compared, rotating_blade.study.VARIABLES)
    assert np.abs(compared["relative_difference"].values).max() < 3e-3


@pytest.mark.slow
def test_rotating_blade_with_its_own_settings(tmp_path: Path) -> None:
    """Its solid sweep is verified in full order at a drawn speed."""
    assert main(["run", "rotating-blade", "--out", str(tmp_path / "out")]) == 0


@pytest.mark.slow
def test_rotating_blade_runs_and_its_map_has_all_three_verdicts(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out", "rotating-blade")
    tracks = rotating_blade.main(blade="beam", speeds=9, map_points=15, out=out)
    # Undamped, unaccelerated instants: exactly imaginary.
    assert np.all(tracks["growth_rate"].values == 0.0)
    grid = modal.read_dataset(out.path / "map.nc")
    assert set(np.unique(grid["verdict"].values)) == {0, 1, 2}
    # An asymmetric shaft diverges between its two bending frequencies, at rest ω₁ and ω₂ (A5).
    still = modal.solve(rotating_blade.beam_model().freeze(), k=2)
    low, high = np.sort(np.abs(still.eigenvalues.imag))
    spun = modal.events(modal.read_dataset(out.path / "campbell-spun.nc"))["event"].values
    assert {"divergence onset", "flutter onset"} <= set(spun)
    divergent = grid["omega"].values[(grid["verdict"] == 1).any("epsilon").values]
    between = grid["omega"].values[(grid["omega"] > low) & (grid["omega"] < high)]
    assert set(between) <= set(divergent)
