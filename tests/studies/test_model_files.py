"""Model files against the same models built in Python; starters; units; the schema."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pydantic_core import PydanticCustomError

import assembly
import modal
from assembly.errors import ModelFileError
from studies.__main__ import main
from studies.cli.completion import KINDS
from studies.model_files.loading import load_model
from studies.model_files.quantities import dimension, in_si
from tests.support.paths import ROOT

ROTOR = """
[body.shaft]
kind = "rotor"
material = "steel"
elements = 4
internal_damping = 2e-6
axial_load = "1 kN"
[[body.shaft.segment]]
length = "400 mm"
section = { shape = "circle", diameter = 0.05 }
[[body.shaft.segment]]
length = 0.6
section = { shape = "tube", outer = 0.06, inner = 0.02 }
[[body.shaft.disc]]
at = 0.4
outer = 0.3
inner = 0.05
width = 0.04
skew = "1 deg"
[[body.shaft.disc]]
at = 0.7
mass = 5.0
polar = 0.05
diametral = 0.03
[[body.shaft.bearing]]
at = 0.0
stiffness = [[2e7, 1e6], [-1e6, 3e7]]
damping = 2e3
[[body.shaft.bearing]]
at = 1.0
speeds_rpm = [0, 3000, 9000]
stiffness = [2e7, 2.2e7, 2.5e7]
damping = [[2e3, 2e3], [1.8e3, 1.9e3], [1.5e3, 1.6e3]]
[motion]
kind = "spin"
speed_rpm = 3000
"""
SPACE = """
[body.arm]
kind = "beam"
length = 0.8
section = { shape = "i_profile", width = 0.04, height = 0.06, flange = 0.004, web = 0.003 }
material = "aluminium"
elements = 2
[[body.arm.mass_at]]
at = 1
mass = 0.5
[[body.arm.spring]]
at = "start"
to = "end"
stiffness = 1e4
[body.tool]
kind = "rigid"
mass = 5.0
inertia = [0.02, 0.03, 0.04]
centre = [0.1, 0.0, 0.02]
position = [0, 0.8, 0]
rotation = [0, 0, "90 deg"]
[joint.shoulder]
kind = "revolute"
bodies = ["ground", "arm"]
at = [0, 0, 0]
axis = [1, 0, 0]
[bushing.wrist]
bodies = ["arm", "tool"]
at = [0, 0.8, 0]
stiffness = [2e6, 3e6, 3e6, 4e4, 5e4, 5e4]
damping = [20, 30, 30, 2, 2, 2]
[driver.gear]
joint = "shoulder"
amplitude = "20 deg"
angular_frequency = 5.0
stiffness = 2e4
[load.push]
body = "tool"
at = "origin"
force = [1, 2, "3 N"]
follower = true
[mechanism]
gravity = [0, 0, -9.81]
"""
FRAME = """
[body.side]
kind = "beam"
length = 1.0
section = { shape = "circle", diameter = 0.05 }
material = "steel"
elements = 3
[body.triangle]
kind = "frame"
clamped = "side.start"
members = [
  { body = "side", at = [0.0, 0.0] },
  { body = "side", at = [1.0, 0.0], rotation = "120 deg" },
  { body = "side", at = [0.5, 0.8660254037844386], rotation = [0, 0, "240 deg"] },
]
[motion]
kind = "spin"
omega = "300 rpm"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.toml"
    path.write_text(text, encoding="utf-8")
    return path


def assert_same(found: assembly.FrozenSystem, expected: assembly.FrozenSystem) -> None:
    assert found.n == expected.n
    for name in ("M", "damping", "stiffness"):
        one, other = (np.asarray(getattr(s, name).toarray()) for s in (found, expected))
        assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())
    assert_allclose(found.Q, expected.Q, atol=1e-9 * (1.0 + np.abs(expected.Q).max()))


def test_a_rotor_is_the_one_built_by_hand(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, ROTOR))
    rpm = np.pi / 30.0
    speeds = np.array([0.0, 3000.0, 9000.0]) * rpm
    big = assembly.Disc.solid(0.4, 0.3, 0.05, 0.04, assembly.steel)
    rotor = assembly.rotor(
        [(0.4, assembly.circle(0.05)), (0.6, assembly.tube(0.06, 0.02))],
        assembly.steel,
        4,
        discs=[
            assembly.Disc(0.4, big.mass, big.polar, big.diametral, skew=np.pi / 180.0),
            assembly.Disc(0.7, 5.0, 0.05, 0.03),
        ],
        bearings=[
            assembly.Bearing(0.0, [[2e7, 1e6], [-1e6, 3e7]], 2e3),
            assembly.Bearing(
                1.0,
                assembly.speed_table(speeds, [2e7, 2.2e7, 2.5e7]),
                assembly.speed_table(speeds, [[2e3, 2e3], [1.8e3, 1.9e3], [1.5e3, 1.6e3]]),
            ),
        ],
        internal_damping=2e-6,
        axial_load=1000.0,
    )
    assert_same(model.motion.freeze(), rotor.freeze(3000.0 * rpm))
    family, fixed = model.family(("speed_rpm", "epsilon"))
    found = family.freeze(speed_rpm=6000.0, epsilon=5.0, **fixed)
    assert_same(found, rotor.freeze(6000.0 * rpm, epsilon=5.0))
    assert model.rotor is not None
    assert_allclose(model.rotor.excitation(100.0), rotor.excitation(100.0))


def test_a_bearing_of_a_csv_file_is_that_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "film.csv").write_text(
        "speed_rpm,kyy,kyz,kzy,kzz,cyy,cyz,czy,czz\n0,2e7,1e6,-1e6,2e7,1e3,0,0,1e3\n"
        "3000,3e7,2e6,-2e6,2e7,1e3,0,0,1e3\n"
    )
    text = ROTOR.replace(
        "stiffness = [[2e7, 1e6], [-1e6, 3e7]]\ndamping = 2e3", 'file = "film.csv"'
    )
    model = load_model(written(tmp_path, text))
    assert model.rotor is not None
    _, bearing = model.rotor.bearings[0]
    k, c = bearing.matrices(3000.0 * np.pi / 30.0)
    assert_allclose(k, [[3e7, 2e6], [-2e6, 2e7]])
    assert_allclose(c, 1e3 * np.eye(2))
    assert set(model.files) == {"film.csv"}


def test_a_mechanism_in_space_is_the_one_built_by_hand(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, SPACE))
    arm = assembly.beam(
        0.8, assembly.i_profile(0.04, 0.06, 0.004, 0.003), assembly.aluminium, 2, name="arm"
    )
    arm = assembly.attach_spring(assembly.attach_mass(arm, 1, 0.5), "start", "end", stiffness=1e4)
    quarter = 0.5 * np.pi  # the arm and the tool point along y where the mechanism is assembled
    same = assembly.Mechanism(
        {"arm": arm, "tool": assembly.rigid_body(5.0, (0.02, 0.03, 0.04), centre=(0.1, 0, 0.02))},
        [
            assembly.revolute(
                "ground", (0, 0, 0), "arm", "start", name="shoulder",
                axis=(1, 0, 0), axis_second=(0, -1, 0),
            )
        ],
        [assembly.driver("shoulder", assembly.Harmonic(np.pi / 9.0, 5.0), stiffness=2e4)],
        bushings=[
            assembly.bushing(
                "arm", "end", "tool", "origin", name="wrist",
                stiffness=(2e6, 3e6, 3e6, 4e4, 5e4, 5e4), damping=(20, 30, 30, 2, 2, 2),
            )
        ],
        loads=[assembly.Load("tool", "origin", (1, 2, 3), follower=True)],
        initial={"arm": (0, 0, 0, 0, 0, quarter), "tool": (0, 0.8, 0, 0, 0, quarter)},
        gravity=(0, 0, -9.81),
    )  # fmt: skip
    for t in (0.0, 0.2):
        assert_allclose(model.drawn.position(t)["tool"][0], same.position(t)["tool"][0], atol=1e-12)
        assert_same(model.motion.freeze(t), same.freeze(t))


END = np.array([0.3, 0.4, 0.5])  # from one end of an oblique rod to the other, m
OBLIQUE = """
[body.base]
kind = "rigid"
mass = 1.0
inertia = 0.1
[body.rod]
kind = "rigid"
mass = 2.0
inertia = [0.1, 0.2, 0.3]
[joint.pin]
kind = "revolute"
bodies = ["ground", "base"]
at = [0, 0, 0]
[driver.motor]
joint = "pin"
omega = 3.0
"""
FAR = (np.array([0.1, 0.2, 0.0]) + END).tolist()
CHAINS = {
    "fixed": f"""
[joint.tie]
kind = "fixed"
bodies = ["base", "rod"]
at = [0.1, 0.2, 0]
[bushing.hold]
bodies = ["base", "rod"]
at = {FAR}
stiffness = [1e5, 1e5, 1e5, 10, 10, 10]
""",
    "cylindrical": f"""
[joint.tie]
kind = "cylindrical"
bodies = ["base", "rod"]
at = [0.1, 0.2, 0]
axis = [1, 2, 3]
[bushing.hold]
bodies = ["base", "rod"]
at = {FAR}
stiffness = [1e5, 1e5, 1e5, 10, 10, 10]
[driver.turn]
joint = "tie"
of = "angle"
omega = 0.0
[driver.slide]
joint = "tie"
of = "displacement"
velocity = 0.0
""",
    "universal": f"""
[body.slider]
kind = "rigid"
mass = 1.0
inertia = 0.1
[joint.tie]
kind = "universal"
bodies = ["base", "rod"]
at = [0.1, 0.2, 0]
axis = [4, -3, 0]
axis_second = [3, 4, -5]
[joint.ball]
kind = "spherical"
bodies = ["rod", "slider"]
at = {FAR}
[joint.rail]
kind = "prismatic"
bodies = ["ground", "slider"]
at = {FAR}
axis = [1, 0, 0]
""",
}


@pytest.mark.parametrize("joint", CHAINS)
def test_joints_in_space_are_assembled_where_they_are_given(tmp_path: Path, joint: str) -> None:
    """A rod oblique to the axes is where its joints say, with y of its frame horizontal."""
    model = load_model(written(tmp_path, OBLIQUE + CHAINS[joint]))
    origin, rotation = model.drawn.position(0.0)["rod"]
    assert_allclose(origin, [0.1, 0.2, 0.0], atol=1e-9)
    assert_allclose(rotation[:, 0], END / np.linalg.norm(END), atol=1e-9)
    assert_allclose(rotation[2, 1], 0.0, atol=1e-9)


def test_a_frame_is_the_weld_of_its_members(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, FRAME))
    side = assembly.beam(1.0, assembly.circle(0.05), assembly.steel, 3, name="side")
    corners = [(0, 0, 0), (1, 0, 0), (0.5, 0.75**0.5, 0)]
    sides = [side.placed(r, 2.0 * k * np.pi / 3.0) for k, r in enumerate(corners)]
    frame = assembly.weld(sides, clamped="side.start")
    assert_same(model.motion.freeze(0.0), frame.freeze(omega=(0, 0, 10.0 * np.pi)))


def test_a_blade_of_a_table_and_other_bodies(tmp_path: Path) -> None:
    assert main(["new", "blade", str(tmp_path / "b.toml")]) == 0
    model = load_model(tmp_path / "b.toml")
    table = assembly.beamdyn_table(tmp_path / "blade-sections.csv", hub_radius=1.5)
    body = assembly.blade(table, refine=2, clamped="start").with_damping(b=1e-3)
    assert_same(model.motion.freeze(0.0), body.freeze(omega=(0, 0.5 * np.pi, 0)))
    section = 'section = { shape = "rectangle", width = 0.05, height = 0.02 }'
    ring = f'[body.r]\nkind = "ring"\nradius = 0.5\n{section}\nmaterial = "steel"\nelements = 6\n'
    expected = assembly.ring(0.5, assembly.rectangle(0.05, 0.02), assembly.steel, 6)
    assert_same(load_model(written(tmp_path, ring)).motion.freeze(0.0), expected.freeze())
    damped = ring + "planar = true\nmu = [1e-5, 0, 0, 0, 0, 2e-5]\nwagner = false\n"
    expected = assembly.ring(
        0.5, assembly.rectangle(0.05, 0.02), assembly.steel, 6, planar=True,
        mu=(1e-5, 0, 0, 0, 0, 2e-5), wagner=False,
    )  # fmt: skip
    assert_same(load_model(written(tmp_path, damped)).motion.freeze(0.0), expected.freeze())
    blade = (tmp_path / "b.toml").read_text().replace("refine = 2", "refine = 2\nmu = 2e-3")
    expected = assembly.blade(replace(table, mu=2e-3), refine=2, clamped="start")
    expected = expected.with_damping(b=1e-3)
    found = load_model(written(tmp_path, blade)).motion.freeze(0.0)
    assert_same(found, expected.freeze(omega=(0, 0.5 * np.pi, 0)))
    bar = f'[body.r]\nkind = "bar"\nlength = 2\n{section}\nmaterial = "steel"\nclamped = "end"\n'
    expected = assembly.bar(2.0, 0.001, assembly.steel, 20, clamped="end")
    assert_same(load_model(written(tmp_path, bar)).motion.freeze(0.0), expected.freeze())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('length = "400 mm"', 'length = "400 kg"', "segment.1.length = '400 kg': expected a value"),
        ('length = "400 mm"', 'length = "400"', 'expected a number, or one with a unit as in "1.5'),
        ("width = 0.04", "thick = 0.04", "disc.1.thick: unknown key; known: "),
        (
            "speed_rpm = 3000",
            "omega = '50 Hz'",
            "omega = '50 Hz': expected a value in rad/s",
        ),
        (
            "speed_rpm = 3000",
            "omega = 1.0\nspeed_rpm = 3000",
            "omega and speed_rpm exclude",
        ),
        (
            "polar = 0.05\n",
            "",
            "disc at 0.7 m: give mass, polar and diametral",
        ),
        ("[0, 3000, 9000]", "[0, 9000]", "bearing at 1 m: stiffness: values: expected shape"),
        ("at = 0.7", "at = 7", "body.shaft: disc at 7.0: the shaft reaches from 0 to 1 m"),
        ('material = "steel"', 'material = "stel"', "body.shaft.material: no material 'stel'; did"),
        ('kind = "spin"', 'kind = "ramp"\nepsilon = 1.0', "a rotor takes"),
    ],
)
def test_faults_are_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in ROTOR
    path = written(tmp_path, ROTOR.replace(old, new, 1))
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    line = str(caught.value)
    assert line.startswith(str(path)) and says in line and "\n" not in line, line


def test_units_are_read_and_checked() -> None:
    assert dimension("N·m/rad") == (1.0, (2, 1, -2, -1))
    assert dimension("kg mm²")[0] == pytest.approx(1e-6)
    assert in_si("1500 rpm", "rad/s", angular=True) == pytest.approx(50.0 * np.pi)
    assert in_si("30 ksi", "Pa") == pytest.approx(206842718.8)
    assert in_si("2e4 N m/rad", "N/m or N m/rad") == 2e4
    for text in ("5", "5 furlong", "m", "5 m/s/s/", "1e5", "5 kg"):
        with pytest.raises(PydanticCustomError):
            in_si(text, "m")


@pytest.mark.parametrize("kind", KINDS)
def test_every_starter_solves_and_responds(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "mine.toml", tmp_path / "out"
    assert main(["new", kind, str(model)]) == 0
    assert main(["new", kind, str(model)]) == 2  # it is there already
    if kind == "solid":
        load_model(model)
        return
    options = ["--frequencies", "1:20:3"] if kind != "rotor" else ["--speeds", "100:3000:3"]
    assert main(["solve", str(model), "--modes", "2", "--out", str(out / "a")]) == 0
    assert main(["response", str(model), *options, "--out", str(out / "b")]) == 0
    shown = capsys.readouterr().out
    assert "2 modes by" in shown and "largest amplitude" in shown
    assert "proof" in shown or "rate of an instant" in shown
    modes = modal.read_dataset(out / "a" / "modes.nc")
    assert modes["mode"].values.tolist() == [0, 1]
    table = (out / "a" / "modes.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in table] == ["mode", "1", "2"]
    expected = modal.solve(load_model(model).motion.freeze(0.0), 2).eigenvalues
    assert_allclose(modes["eigenvalue"].values, expected, rtol=1e-9)
    assert (out / "a" / "modes.vtu").exists() and (out / "a" / "modes.png").exists()
    assert modal.read_dataset(out / "b" / "response.nc").sizes["probe"] >= 1


def test_the_response_of_a_mechanism_is_that_of_its_matrices(tmp_path: Path) -> None:
    """A force on a node at a joint goes to the independent degrees of freedom by Tᵀ."""
    model, out = tmp_path / "m.toml", tmp_path / "out"
    assert main(["new", "mechanism", str(model)]) == 0
    text = model.read_text().replace("at = 4 ", 'at = "start" ')
    text += '[[response.probe]]\nbody = "rod"\nat = 4\ncomponent = "uy"\n'
    model.write_text(text)
    arguments = ["--set", "turn=0.2", "--frequencies", "50:60:2", "--out", str(out)]
    assert main(["response", str(model), *arguments]) == 0
    found = modal.read_dataset(out / "response.nc")["displacement"].values[:, 0]
    mechanism = load_model(model).drawn
    t = 0.2 * mechanism.period
    system, T = mechanism.freeze(t), mechanism.transformation(t)[0]
    full = np.zeros(T.shape[0])
    crank = mechanism.bodies["crank"]
    full[crank.size + mechanism.bodies["rod"].dofs.index(0, 1)] = 1.0
    for hertz, q in zip((50.0, 60.0), found, strict=True):
        w = 2.0 * np.pi * hertz
        H = (system.stiffness + 1j * w * system.damping - w * w * system.M).toarray()
        moved = T @ np.linalg.solve(H, T.T @ full)
        assert q == pytest.approx(moved[crank.size + mechanism.bodies["rod"].dofs.index(4, 1)])


def test_the_schema_and_the_tables_of_keys_are_of_today() -> None:
    tool = ROOT / "tools" / "model_file_keys.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"], cwd=ROOT, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, f"run tools/model_file_keys.py\n{done.stdout}{done.stderr}"
    schema = json.loads((ROOT / "studies" / "model_files" / "model.schema.json").read_text("utf-8"))
    assert schema["additionalProperties"] is False and "RotorSpec" in schema["$defs"]


def test_the_schema_command_writes_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.schema.json"
    assert main(["schema", str(target)]) == 0 and main(["schema"]) == 0
    assert target.read_text("utf-8") in capsys.readouterr().out
