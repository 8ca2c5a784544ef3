"""Elastic drives and bushings in model files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from assembly.errors import ModelFileError
from studies.__main__ import main
from studies.model_files.loading import load_model

ARM = """
[material.steel]
E = 210e9
nu = 0.3
rho = 7850

[body.arm]
kind = "beam"
length = 0.8
section = { shape = "rectangle", width = 0.05, height = 0.05 }
material = "steel"
elements = 4

[body.tool]
kind = "rigid"
mass = 5.0
inertia = 0.1

[joint.shoulder]
kind = "revolute"
bodies = ["ground", "arm"]
at = [0.1, 0.2]

[bushing.mount]
bodies = ["arm", "tool"]
at = [0.1, 1.0]
stiffness = [2e6, 3e6, 4e4]
damping = [[20, 0, 0], [0, 30, 1], [0, 1, 2]]
preload = [0, 50, 0]

[driver.gear]
joint = "shoulder"
speed_rpm = 60
stiffness = 2e4
damping = 5.0
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "arm.toml"
    path.write_text(ARM)
    return path


def test_the_file_is_the_mechanism_built_by_hand(path: Path) -> None:
    model = load_model(path)
    arm = assembly.beam(0.8, assembly.rectangle(0.05, 0.05), assembly.steel, 4, planar=True)
    quarter = 0.5 * np.pi  # the arm points along y where it is assembled
    same = assembly.Mechanism(
        {"arm": arm, "tool": assembly.rigid_body(5.0, 0.1, planar=True)},
        [assembly.revolute("ground", (0.1, 0.2), "arm", "start", name="shoulder")],
        [
            assembly.driver(
                "shoulder", assembly.Uniform(2.0 * np.pi, quarter), stiffness=2e4, damping=5.0
            )
        ],
        bushings=[
            assembly.bushing(
                "arm", "end", "tool", (0, 0), stiffness=(2e6, 3e6, 4e4), preload=(0, 50, 0),
                damping=[[20, 0, 0], [0, 30, 1], [0, 1, 2]], turned=-quarter, name="mount",
            )
        ],
        initial={"arm": (0.1, 0.2, quarter), "tool": (0.1, 1.0, 0)},
    )  # fmt: skip
    assert model.period == pytest.approx(1.0)
    for t in (0.0, 0.3):
        found, expected = model.motion.freeze(t), same.freeze(t)
        for name in ("M", "K", "K_G", "D", "damping", "stiffness"):
            a, b = getattr(found, name).toarray(), getattr(expected, name).toarray()
            assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max(), err_msg=name)


def test_bodies_on_bushings_alone(tmp_path: Path) -> None:
    """No joint and no driver: a box on two mounts."""
    text = '[body.box]\nkind = "rigid"\nmass = 2.0\ninertia = 0.5\n'
    for k, x in enumerate((-0.5, 0.5)):
        text += f'[bushing.m{k}]\nbodies = ["ground", "box"]\nat = [{x}, 0.0]\n'
        text += "stiffness = [100, 400, 0]\n"
    path = tmp_path / "box.toml"
    path.write_text(text)
    system = load_model(path).motion.freeze(0.0)
    # x, y and rotation about the first mount: 2·100, 2·400 and 400·1² N·m/rad.
    assert_allclose(system.K.diagonal(), [200.0, 800.0, 400.0], rtol=1e-12)


def test_the_speed_of_an_elastic_drive_is_a_parameter(path: Path) -> None:
    family, _ = load_model(path).family(("speed_rpm",))
    slow, fast = (family.freeze(speed_rpm=rpm) for rpm in (60.0, 600.0))
    assert_allclose(fast.K_omega2.toarray(), 100.0 * slow.K_omega2.toarray(), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("stiffness = 2e4", "stiffness = -2e4", r"driver\.gear\.stiffness = -20000\.0"),
        ("damping = 5.0", "damping = true", r"driver\.gear\.damping = True"),
        ("stiffness = 2e4", "stifness = 2e4", "did you mean 'stiffness'|stiffness"),
        (
            "stiffness = [2e6, 3e6, 4e4]",
            "stiffness = [2e6, -3e6, 4e4]",
            "stiffness: must not be",
        ),
        ("stiffness = [2e6, 3e6, 4e4]", "stiffness = [2e6, 3e6]", r"bushing\.mount\.stiffness"),
        ("preload = [0, 50, 0]", "preload = [0, 50]", r"bushing\.mount\.preload"),
        ('["arm", "tool"]', '["arm", "tol"]', r"bushing\.mount\.bodies: no body 'tol'"),
        ("speed_rpm = 60", "speed_rpm = 60\nheld = false", "exclude each other"),
    ],
)
def test_faults_are_named_in_one_line(path: Path, old: str, new: str, complaint: str) -> None:
    path.write_text(ARM.replace(old, new))
    with pytest.raises(ModelFileError, match=complaint) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_gear_is_the_first_mode_of_a_track(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first frequency of the table: that of the arm on its gear, below the arm's own."""
    out = tmp_path / "out"
    words = ["track", str(path), "--times", "0:0.1:3", "--modes", "2", "--out", str(out)]
    assert main(words) == 0
    assert "elastic" in capsys.readouterr().out
    tracks = modal.read_dataset(next(out.glob("*.nc")))
    arm = 7850.0 * 0.05**2 * 0.8
    about = arm * 0.8**2 / 3.0 + 5.0 * 0.8**2 + 0.1
    expected = np.sqrt(2e4 / about) / (2.0 * np.pi)
    assert float(tracks["frequency"][0, 0]) == pytest.approx(expected, rel=0.05)
    assert set(tracks["kind"].values.ravel().tolist()) == {"elastic"}
