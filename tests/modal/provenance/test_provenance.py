"""What a dataset says it was computed from, and that this makes it again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from studies.__main__ import main
from studies.cli.rerun import compared
from studies.cli.runs import duration
from tests.support.model_files import BEAM

BLADE = BEAM + "[motion]\nkind = 'spin'\nspeed_rpm = 600\n[analysis]\nmodes = 2\n"


@pytest.fixture
def blade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "blade.toml"
    path.write_text(BLADE, encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_track_is_made_again_from_its_dataset_alone(
    blade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["track", "blade.toml", "--over", "speed_rpm=0:900:4", "--out", "t"]) == 0
    blade.unlink()
    assert main(["rerun", "t/tracks.nc", "--out", "again"]) == 0
    assert "identical: every number of every variable" in capsys.readouterr().out
    one, other = (modal.read_dataset(f"{place}/tracks.nc") for place in ("t", "again"))
    assert other["eigenvalue"].identical(one["eigenvalue"])
    assert one.attrs["model_text"] == BLADE
    assert json.loads(one.attrs["versions"])["numpy"] == np.__version__
    # A copy of the copy is still the same.
    assert main(["rerun", "again/tracks.nc", "--out", "third"]) == 0


@pytest.mark.slow
def test_maps_and_studies_are_made_again(blade: Path) -> None:
    axes = ["--x", "omega=0:90:3", "--y", "epsilon=-9:9:3", "--modes", "1"]
    assert main(["map", "blade.toml", *axes, "--out", "m"]) == 0
    assert main(["rerun", "m/map.nc"]) == 0
    few = [f"--set={setting}" for setting in ("blade=beam", "speeds=2", "modes=1", "map_points=0")]
    assert main(["run", "rotating-blade", *few, "--out", "z"]) == 0
    written = sorted(Path("z").glob("*.nc"))[0]
    assert main(["rerun", str(written), "--out", "zz"]) == 0


def test_files_that_are_missing_or_changed_are_named(
    blade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "matrices"]) == 0
    assert main(["solve", "matrices.toml", "--modes", "1", "--out", "s"]) == 0
    here = Path("K.mtx")
    text = here.read_text()
    here.write_text(text.replace("symmetric", "symmetric ", 1))
    assert main(["rerun", "s/modes.nc", "--out", "r"]) == 2
    assert "K.mtx: has changed: SHA-256" in capsys.readouterr().err
    here.unlink()
    assert main(["rerun", "s/modes.nc", "--out", "r"]) == 2
    assert "K.mtx: no such file; the dataset was computed from it" in capsys.readouterr().err
    assert not Path("r").exists()
    Path("moved").mkdir()
    (Path("moved") / "K.mtx").write_text(text)
    for name in ("M.mtx", "dofs.csv"):
        Path(name).rename(Path("moved") / name)
    assert main(["rerun", "s/modes.nc", "--files", "moved", "--out", "r"]) == 0


@pytest.mark.slow
def test_other_versions_and_other_numbers_are_said(
    blade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "blade.toml", "--out", "s"]) == 0
    dataset = modal.read_dataset("s/modes.nc")
    dataset["frequency"][0] *= 1.0 + 1e-9
    modal.write_dataset(dataset, "s/modes.nc")
    assert main(["rerun", "s/modes.nc", "--out", "a"]) == 3
    assert "the same versions give other numbers: frequency: largest" in capsys.readouterr().err
    used = json.loads(dataset.attrs["versions"]) | {"numpy": "0.1"}
    dataset.attrs["versions"] = json.dumps(used)
    modal.write_dataset(dataset, "s/modes.nc")
    assert main(["rerun", "s/modes.nc", "--out", "b"]) == 0
    shown = capsys.readouterr()
    assert f"numpy: 0.1 then, {np.__version__} now" in shown.err
    assert "largest difference" in shown.out


def test_a_dataset_of_a_script_says_what_it_was_computed_from(
    blade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = assembly.beam(1.0, assembly.circle(0.02), assembly.steel, 3, clamped="start")
    body = assembly.attach_mass(body, "end", 2.0)
    model = assembly.moving(body, assembly.spin(10.0))
    tracks = modal.track(model, times=[0.0, 0.1], k=1)
    assert tracks.attrs["made_from"].startswith("beam(length=1.0, section=Section(A=0.000314")
    assert (
        "attach_mass(node='end', mass=2.0) moved by Turning(law=Uniform(rate=10.0"
        in (tracks.attrs["made_from"])
    )
    modal.write_dataset(tracks, "mine.nc")
    assert main(["rerun", "mine.nc"]) == 2
    assert "was not written by a command of frozen-motion" in capsys.readouterr().err


def test_a_mesh_is_known_by_its_hash(tmp_path: Path) -> None:
    mesh = assembly.gallery.block_mesh(2, 1, 1)
    one = assembly.solid(mesh, assembly.steel)
    assert one.made_from == assembly.solid(mesh, assembly.steel).made_from
    mesh.points[0, 0] += 1e-6
    assert one.made_from != assembly.solid(mesh, assembly.steel).made_from


def test_printed_bodies_are_reports() -> None:
    body = assembly.beam(
        1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4, clamped="start", start=(0.1, 0.2, 0)
    )
    report = str(assembly.attach_mass(body, "end", 2.0).with_damping(b=1e-6))
    x = (7.85 * 0.6 + 2.0 * 1.1) / 9.85  # the beam and a lumped mass at its end
    assert f"mass: 9.85 kg, centre (m): {x:.6g}, 0.2, 0" in report
    assert "30 degrees of freedom (ux, uy, uz, rx, ry, rz), 24 free" in report
    assert "supports: 6 held at node 0" in report and "damping: 0 M + 1e-06 K" in report
    rotor = assembly.rotor(
        [(1.0, assembly.circle(0.05))], assembly.steel, 2, bearings=[assembly.Bearing(0.5, 1e7)]
    )
    assert str(rotor).startswith("rotor rotor: 3 nodes") and "bearing at 0.5 m" in str(rotor)


@pytest.mark.slow
def test_long_runs_ask_first_and_leave_nothing(
    blade: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--x", "omega=0:90:100000", "--y", "epsilon=-9:9:100000", "--modes", "1"]
    assert main(["map", "blade.toml", *axes, "--out", "m"]) == 2
    error = capsys.readouterr().err
    assert "1e+10 points, about" in error and "--yes starts it" in error
    assert not Path("m").exists()
    assert [duration(s) for s in (5.0, 600.0, 4.3e5)] == ["5 s", "10 min", "4.98 days"]


def test_nothing_is_written_for_bad_input(blade: Path) -> None:
    for arguments in (
        ["track", "blade.toml", "--over", "omga=0:1:3"],
        ["map", "blade.toml", "--x", "omega=0:1:3", "--y", "omega=0:1:3"],
        ["solve", "blade.toml", "--set", "omga=1"],
        ["response", "blade.toml"],
    ):
        assert main([*arguments, "--out", "nowhere"]) == 2
        assert not Path("nowhere").exists()


def test_differences_are_listed() -> None:
    first = xr.Dataset({"a": ("x", [1.0, np.nan]), "w": ("x", ["u", "v"])})
    second = xr.Dataset({"a": ("x", [1.5, np.nan]), "w": ("x", ["u", "z"])})
    assert compared(first, first) == (["identical: every number of every variable"], True)
    lines, same = compared(first, second)
    assert not same and lines[0] == "a: largest difference 0.5, of values up to 1"
    assert lines[1] == "w: 1 of 2 values differ"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("frozen-motion run sl", "slider-crank"),
        ("frozen-motion run slider-crank --set speed", "speed_rpm="),
        ("frozen-motion solve blade.toml --set spe", "speed_rpm="),
        ("frozen-motion new rot", "rotor"),
    ],
)
def test_the_shell_completes(
    blade: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    expected: str,
) -> None:
    monkeypatch.setenv("_FROZEN_MOTION_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert f"plain,{expected}" in capsys.readouterr().out.splitlines()
