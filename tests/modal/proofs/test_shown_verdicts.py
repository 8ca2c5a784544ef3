"""What people see of a verdict: tables, figures and commands name the modes that it is on."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from modal.maps.classes import (
    DIVERGENCE,
    FLUTTER,
    NOT_COMPUTED,
    STABLE,
    UNDECIDED,
    classes,
)
from modal.plot.map_regions import growth, hatch, verdict
from modal.plot.track_curves import instability_box, root_locus
from studies.__main__ import main
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.tables import map_table

matplotlib.use("agg")

SHAFT = """
[material.steel]
E = 210e9
nu = 0.3
rho = 7850
[body.shaft]
kind = "beam"
length = 1.0
section = { shape = "rectangle", width = 0.02, height = 0.024 }
material = "steel"
elements = 6
clamped = "both"
damping = { b = 2e-6 }
[motion]
kind = "spin"
axis = [1, 0, 0]
omega = 100.0
[analysis]
modes = 2
"""


def grid() -> xr.Dataset:
    """Every verdict with every proof that it can have, and one point that is not computed."""
    verdicts = [[0, 0, 0, 0], [1, 2, 0, 0]]
    proofs = [[0, 1, 2, 3], [4, 4, 0, 0]]
    done = [[True] * 4, [True, True, True, False]]
    dims = ("omega", "epsilon")
    rates = np.where(np.array(verdicts) > 0, 1.0, -1.0)
    return xr.Dataset(
        {
            "verdict": (dims, np.array(verdicts)), "proof": (dims, np.array(proofs)),
            "done": (dims, np.array(done)), "growth_rate": (dims, rates),
            "error_bound": (dims, np.full((2, 4), 1e-6)), "source": (dims, np.zeros((2, 4), int)),
        },
        coords={"omega": [0.0, 10.0], "epsilon": [0.0, 1.0, 2.0, 3.0]},
    )  # fmt: skip


def test_a_point_is_stable_only_with_a_proof_on_all_modes() -> None:
    due = [[UNDECIDED, STABLE, STABLE, STABLE], [DIVERGENCE, FLUTTER, UNDECIDED, NOT_COMPUTED]]
    assert classes(grid()).values.tolist() == due


def test_stable_points_of_a_map_without_proofs_are_undecided() -> None:
    found = classes(grid().drop_vars("proof")).values
    assert not np.any(found == STABLE) and (found == UNDECIDED).sum() == 5


def test_the_table_of_a_map_counts_proofs_and_undecided_points() -> None:
    lines = map_table(grid()).splitlines()

    def count(words: str) -> int:
        (line,) = (line for line in lines if words in line)
        return int(line.split(" points")[0].split()[-1])

    assert count("stable (all modes)") == 3
    assert [count(by) for by in ("by energy", "by a count", "by a Lyapunov")] == [1, 1, 1]
    assert count("undecided: other modes may be unstable") == 2
    assert [count(name) for name in ("divergence", "flutter", "not computed")] == [1, 1, 1]


@pytest.mark.parametrize("draw", [verdict, growth])
def test_a_figure_hatches_the_undecided_cells(draw) -> None:  # type: ignore[no-untyped-def]
    fig, ax = plt.subplots()
    draw(grid(), ax)
    hatched = [artist for artist in ax.get_children() if getattr(artist, "get_hatch", str)()]
    assert len(hatched) == 1
    path = hatched[0].get_path()
    # x is omega: the cells are about omega = 0, epsilon = 0 and about omega = 10, epsilon = 2.
    assert path.contains_point((1.0, 0.2)) and path.contains_point((9.0, 2.2))
    assert not path.contains_point((1.0, 1.0)) and not path.contains_point((9.0, 3.2))
    plt.close(fig)


def test_the_legend_of_a_map_names_the_modes() -> None:
    fig, ax = plt.subplots()
    verdict(grid(), ax)
    names = [" ".join(text.get_text().split()) for text in ax.get_legend().get_texts()]
    assert names == [
        "stable (all modes)", "undecided", "divergence", "flutter",
    ]  # fmt: skip
    proved = grid().isel(omega=[0], epsilon=[1, 2])
    assert hatch(proved, ax).get_path().vertices.size == 0
    plt.close(fig)


def test_the_box_of_a_root_locus_is_that_of_the_verdict() -> None:
    """Full internal damping of a shaft at Ω: no unstable mode is above Ω (Genta 2005)."""
    ends = [assembly.Bearing(x, stiffness=np.inf) for x in (0.0, 1.0)]
    slender = dict(theory="euler-bernoulli", rotary_inertia=False)
    rotor = assembly.rotor(
        [(1.0, assembly.circle(0.03))], assembly.steel, 6, bearings=ends, internal_damping=2e-6,
        **slender,
    )  # fmt: skip
    tracks = modal.track(rotor, omega=np.linspace(0.0, 800.0, 9), k=4)
    fig, ax = plt.subplots()
    lines = root_locus(tracks, ax)
    patch = instability_box(modal.stability(rotor.freeze(omega=800.0)).box, ax)
    assert len(lines) == tracks.sizes["mode"]
    assert patch.get_xy() == (0.0, 0.0) and patch.get_height() == pytest.approx(800.0)
    unbounded = modal.Box(1.0, np.inf, 0.0)
    everything = instability_box(unbounded, ax)
    assert everything.get_height() >= ax.get_ylim()[1]
    assert everything.get_width() >= ax.get_xlim()[1]
    plt.close(fig)


def test_a_track_ends_with_the_verdict_on_all_modes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between its two bending frequencies the shaft diverges (Dimentberg 1961): 646 to 775 rad/s.
    Above them internal damping makes it flutter."""
    (tmp_path / "shaft.toml").write_text(SHAFT, encoding="utf-8")
    out = str(tmp_path / "out")
    assert (
        main(["track", str(tmp_path / "shaft.toml"), "--over", "omega=0:700:8", "--out", out]) == 0
    )
    shown = capsys.readouterr().out
    assert "events and growth rates are those of the modes followed" in shown
    assert "omega = 0 rad/s: stable (proof: energy)" in shown
    assert "omega = 700 rad/s: divergence (proof: mode)" in shown


def test_the_worst_value_is_examined_and_a_failure_is_not_a_verdict() -> None:
    shape = {"dims": ("omega", "mode")}
    rates = np.array([[-1.0], [3.0], [2.0], [np.nan]])
    tracks = xr.Dataset(
        {
            "eigenvalue": (shape["dims"], rates + 1j),
            "growth_rate": (shape["dims"], rates),
            "kind": (shape["dims"], np.full((4, 1), "elastic")),
        },
        coords={"omega": [0.0, 1.0, 2.0, 3.0]},
    )

    def freeze(value: float) -> assembly.FrozenSystem:
        return assembly.FrozenSystem(
            M=[[1.0 if value < 3.0 else -1.0]], D=[[0.1 - value]], K=[[4.0]]
        )

    lines = verdicts(tracks, freeze, 1).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "omega = 0",
        "omega = 1",
        "omega = 3",
    ]
    assert "stable (proof: energy)" in lines[1] and "flutter (proof: mode)" in lines[2]
    assert lines[3].endswith("undecided: M: expected a symmetric positive definite matrix")


def test_floquet_says_how_many_multipliers_it_is_of() -> None:
    class Pair:
        period = 1.0

        def freeze(self, t: float) -> assembly.FrozenSystem:
            return assembly.FrozenSystem(
                M=np.eye(2), D=0.1 * np.eye(2), K=np.diag([1.0, 4.0 + np.cos(2 * np.pi * t)])
            )

    some = str(modal.floquet(Pair(), 1.0, k=1, method="reduced"))
    assert "in 2 multipliers (others were not computed)" in some
    whole = modal.floquet(Pair(), 1.0, method="dense")
    assert whole.is_complete and "stable in 4 multipliers (all)" in str(whole)


def test_a_hill_chart_is_proved_by_all_multipliers() -> None:
    def mathieu(a: float, q: float):  # type: ignore[no-untyped-def]
        return lambda t: np.array([[0.0, 1.0], [-(a - 2.0 * q * np.cos(2.0 * t)), -0.1]])

    chart = modal.hill_chart(mathieu, np.pi, a=[0.5, 1.0], q=[0.0, 0.4])
    assert np.all(classes(chart).values[chart["verdict"].values == 0] == STABLE)
