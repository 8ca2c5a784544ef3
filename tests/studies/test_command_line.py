"""The command line: what it prints, writes and returns, and how a new user's mistakes end."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import modal
from studies.__main__ import main
from studies.model_files.loading import load_model
from tests.support.model_files import BEAM, CRANK

BLADE = (
    BEAM
    + """
[motion]
kind = "spin"
axis = [0, 0, 1]
omega = 100.0
epsilon = 0.0

[analysis]
modes = 3
prestress = "linear"
"""
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The error output, which must be one line of ours."""
    error = capsys.readouterr().err
    assert error.startswith("frozen-motion: ")
    assert error.count("\n") == 1
    return error


def test_list_names_the_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "slider-crank" in shown and "rotating-blade" in shown and "speed_rpm = 1500" in shown


@pytest.mark.slow
def test_track_over_speed_writes_the_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    out = tmp_path / "out"
    assert main(["track", str(model), "--over", "omega=0:200:5", "--out", str(out)]) == 0
    tracks = modal.read_dataset(out / "tracks.nc")
    assert (tracks.sizes["omega"], tracks.sizes["mode"]) == (5, 3)
    assert (out / "tracks.png").stat().st_size > 10_000
    assert "3 modes at 5 values of omega" in capsys.readouterr().out
    # The same study may write there again.
    assert main(["track", str(model), "--over", "omega=0:200:5", "--out", str(out)]) == 0


def test_more_modes_than_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    count = load_model(model).freeze().n
    over = ["--over", "omega=0:100:3", "--modes", "1000"]
    assert main(["track", str(model), *over, "--out", str(tmp_path / "out")]) == 0
    assert f"1000 modes requested, there are {count}" in capsys.readouterr().out
    assert modal.read_dataset(tmp_path / "out" / "tracks.nc").sizes["mode"] == count


def test_rerun_of_a_model_file_says_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    assert main(["rerun", str(model)]) == 2
    assert f"type frozen-motion track {model}, or solve, map or check" in one_line(capsys)


@pytest.mark.slow
def test_a_mechanism_of_a_file_is_the_library_s(tmp_path: Path) -> None:
    """The file's slider-crank has the frequencies of the one put together in Python."""
    import assembly

    model = write(tmp_path / "crank.toml", CRANK)
    out = tmp_path / "out"
    assert (
        main(["track", str(model), "--times", "0:0.01:3", "--modes", "3", "--out", str(out)]) == 0
    )
    found = modal.read_dataset(out / "tracks.nc")["eigenvalue"].values[-1]
    steel = assembly.steel
    crank = assembly.beam(0.15, assembly.rectangle(0.03, 0.03), steel, 2, planar=True, name="crank")
    rod = assembly.beam(0.30, assembly.rectangle(0.01, 0.02), steel, 3, planar=True, name="rod")
    slider = assembly.rigid_body(0.3, planar=True)
    mechanism = assembly.Mechanism(
        {"crank": crank, "rod": rod, "slider": slider},
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0, 0), name="D"),
        ],
        [assembly.driver("A", 1500 * 2 * 3.141592653589793 / 60)],
        initial={"rod": (0.15, 0, 0), "slider": (0.45, 0, 0)},
    )
    expected = modal.solve(mechanism.freeze(0.01), k=3).eigenvalues
    assert sorted(found, key=abs) == pytest.approx(expected, rel=1e-8)


def test_a_mechanism_assembled_in_another_position_is_the_same(tmp_path: Path) -> None:
    """The same slider-crank with its crank at 60° at first is the other a sixth of a turn on."""
    x, y = 0.15 * np.cos(np.pi / 3), 0.15 * np.sin(np.pi / 3)
    reach = x + np.sqrt(0.30**2 - y**2)
    turned = CRANK.replace("at = [0.15, 0.0]", f"at = [{x}, {y}]")
    turned = turned.replace("at = [0.45, 0.0]", f"at = [{reach}, 0.0]")
    period = 60.0 / 1500.0
    found = []
    for name, text, t in (("straight", CRANK, period / 6), ("turned", turned, 0.0)):
        model = load_model(write(tmp_path / f"{name}.toml", text))
        found.append(modal.solve(model.motion.freeze(t), k=4).eigenvalues)
    assert found[1] == pytest.approx(found[0], rel=1e-8)


@pytest.mark.slow
def test_map_of_a_mechanism_over_speed_and_position(tmp_path: Path) -> None:
    model = write(tmp_path / "crank.toml", CRANK)
    out = tmp_path / "out"
    arguments = ["map", str(model), "--x", "speed_rpm=500:1500:3", "--y", "turn=0:0.5:2"]
    assert main([*arguments, "--modes", "2", "--out", str(out)]) == 0
    grid = modal.read_dataset(out / "map.nc")
    assert dict(grid["verdict"].sizes) == {"speed_rpm": 3, "turn": 2}
    assert bool(grid["done"].all())


MISTAKES = [
    ("length = 1.0", "length = -1.0", "body.blade.length = -1.0"),
    ("length = 1.0", "lenght = 1.0", 'did you mean "length"?'),
    ("rho = 7850", "rho = -7850", "material.steel.rho = -7850"),
    ('material = "steel"', 'material = "stel"', 'did you mean "steel"?'),
    ('shape = "rectangle"', 'shape = "rectangel"', "section.shape = 'rectangel'"),
    ("width = 0.05", "width = nan", "section.width = nan"),
    ("[motion]", "[moton]", 'did you mean "motion"?'),
    ("modes = 3", "modes = 0", "analysis.modes = 0"),
    ('kind = "spin"', 'kind = "spni"', "motion.kind = 'spni'"),
    ("axis = [0, 0, 1]", "axis = [0, 0, 0]", "axis"),
    ("elements = 6", "elements = 6 7", "not valid TOML"),
    ("[analysis]", '[body.second]\nkind = "rigid"\nmass = 1.0\n[analysis]', "need joints"),
]


@pytest.mark.parametrize(("right", "wrong", "says"), MISTAKES)
def test_a_mistake_in_a_model_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, says: str
) -> None:
    assert right in BLADE
    model = write(tmp_path / "blade.toml", BLADE.replace(right, wrong))
    out = tmp_path / "out"
    assert main(["track", str(model), "--over", "omega=0:200:5", "--out", str(out)]) == 2
    error = one_line(capsys)
    assert str(model) in error and says in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('bodies = ["crank", "rod"]', 'bodies = ["crank", "rood"]', 'did you mean "rod"?'),
        ('joint = "A"', 'joint = "Z"', "driver.motor.joint"),
        ("length = 0.30", "length = 0.20", "body.rod.length = 0.2"),
        ("[driver.motor]", "[motion]\nkind='spin'\n[driver.motor]", "remove it"),
    ],
)
def test_a_mistake_in_a_mechanism_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, says: str
) -> None:
    assert right in CRANK
    model = write(tmp_path / "crank.toml", CRANK.replace(right, wrong))
    assert main(["track", str(model), "--out", str(tmp_path / "out")]) == 2
    error = one_line(capsys)
    assert str(model) in error and says in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "slider-cranck"], 'did you mean "slider-crank"?'),
        (["run", "slider-crank", "--set", "sped_rpm=3"], 'did you mean "speed_rpm"?'),
        (["run", "slider-crank", "--set", "speed_rpm=fast"], "expected a number"),
        (["run", "slider-crank", "--set", "elements=2.5"], "expected a whole number"),
        (["run", "slider-crank", "--set", "speed_rpm"], "expected key=value"),
        (["run", "slider-crank", "--set", "crank=0.4"], "crank = 0.4 m must be shorter than"),
        (["run", "slider-crank", "--set", "crank=-0.1"], "crank = -0.1: must be positive"),
        (["track", "missing.toml"], "missing.toml: no such file"),
        (["trak"], "No such command"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert says in one_line(capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["0:400", "a:b:3", "0:400:1", "0:0:5", "0:inf:5", "0:1:2:3"])
def test_a_range_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    assert main(["track", str(model), "--times", text, "--out", str(tmp_path / "o")]) == 2
    assert "--times" in one_line(capsys)


def test_out_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    taken = write(tmp_path / "taken", "mine")
    arguments = ["track", str(model), "--over", "omega=0:200:5", "--out"]
    assert main([*arguments, str(taken)]) == 2
    assert "is a file" in one_line(capsys)
    assert main([*arguments, str(taken / "below")]) == 2
    assert "is a file" in one_line(capsys)
    assert taken.read_text() == "mine"


def test_a_folder_of_something_else_needs_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    out = tmp_path / "out"
    out.mkdir()
    write(out / "thesis.txt", "years of work")
    arguments = ["track", str(model), "--over", "omega=0:200:3", "--out", str(out)]
    assert main(arguments) == 2
    assert "--force" in one_line(capsys)
    assert main([*arguments, "--force"]) == 0
    assert (out / "thesis.txt").read_text() == "years of work"


def test_a_parameter_the_model_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    arguments = ["map", str(model), "--x", "omega=0:1:3", "--y", "epsilom=0:1:3"]
    assert main([*arguments, "--out", str(tmp_path / "o")]) == 2
    assert 'did you mean "epsilon"?' in one_line(capsys)


@pytest.mark.slow
def test_check_prints_properties_comparison_and_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write(tmp_path / "blade.toml", BLADE)
    assert main(["check", str(model), "--modes", "2"]) == 0
    shown = capsys.readouterr().out
    for number in range(1, 7):
        assert f"  P{number}" in shown
    assert "fails" not in shown
    assert "the frozen eigenvalues stand for the motion" in shown
    assert shown.rstrip().splitlines()[-1].startswith("verdict: stable (proof: energy)")


def test_check_of_a_motion_without_a_period_asks_for_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ramp = BLADE.replace('kind = "spin"', 'kind = "ramp"').replace(
        "epsilon = 0.0", "epsilon = 50.0"
    )
    model = write(tmp_path / "blade.toml", ramp)
    assert main(["check", str(model)]) == 2
    assert "give --times start:stop:count" in one_line(capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (BLADE, ["track", "--over", "omega=0:300:3"]),
        (BLADE, ["track", "--over", "speed_rpm=0:3000:3"]),
        (BLADE, ["track", "--times", "0:0.01:3"]),
        (BLADE, ["map", "--x", "omega=0:300:3", "--y", "epsilon=-100:100:2"]),
        (CRANK, ["track", "--times", "0:0.01:3"]),
        (CRANK, ["map", "--x", "speed_rpm=500:1500:2", "--y", "turn=0:0.5:2"]),
    ],
)
def test_explore_writes_a_page_with_shapes(text: str, options: list[str], tmp_path: Path) -> None:
    model, out = write(tmp_path / "model.toml", text), tmp_path / "out"
    command, *rest = options
    assert main([command, str(model), *rest, "--modes", "2", "--explore", "--out", str(out)]) == 0
    page = (out / "explore.html").read_text("utf-8")
    encoded = page.split('id="fm-views">')[1].split("<")[0]
    (view,) = json.loads(gzip.decompress(base64.b64decode(encoded)))
    assert len(view["states"]) >= 3 and not view["missing"]
    assert all(state["modes"][0] for state in view["states"])
