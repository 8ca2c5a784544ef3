"""Values that nobody means are questioned; real materials and machines are not.

Constants of the materials: Ashby, Materials Selection in Mechanical Design, and data sheets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assembly
from assembly import PlausibilityWarning, gallery
from studies.__main__ import main
from studies.model_files.loading import load_model
from tests.support.model_files import BEAM

SILENT = pytest.mark.filterwarnings("error::assembly.PlausibilityWarning")

# E (Pa), nu, rho (kg/m³).
MATERIALS = {
    "steel": (2.1e11, 0.3, 7850.0),
    "stainless_steel": (1.93e11, 0.29, 8000.0),
    "maraging steel": (1.9e11, 0.3, 8100.0),
    "cast iron": (1.1e11, 0.26, 7150.0),
    "aluminium": (7e10, 0.33, 2700.0),
    "7075-T6": (7.17e10, 0.33, 2810.0),
    "titanium": (1.14e11, 0.34, 4430.0),
    "magnesium": (4.5e10, 0.29, 1740.0),
    "lithium": (4.9e9, 0.36, 534.0),
    "beryllium": (2.87e11, 0.032, 1848.0),
    "copper": (1.2e11, 0.34, 8960.0),
    "lead": (1.6e10, 0.44, 11340.0),
    "gold": (7.8e10, 0.44, 19300.0),
    "tungsten": (4.1e11, 0.28, 19250.0),
    "osmium": (5.6e11, 0.25, 22590.0),
    "tungsten carbide": (7e11, 0.22, 15600.0),
    "diamond": (1.22e12, 0.1, 3510.0),
    "silicon carbide": (4.1e11, 0.14, 3200.0),
    "alumina": (3.7e11, 0.22, 3900.0),
    "silicon (MEMS)": (1.69e11, 0.22, 2329.0),
    "polysilicon": (1.6e11, 0.22, 2320.0),
    "fused silica": (7.3e10, 0.17, 2200.0),
    "quartz": (9.7e10, 0.08, 2650.0),
    "zerodur": (9e10, 0.24, 2530.0),
    "concrete": (3e10, 0.2, 2400.0),
    "granite": (5e10, 0.25, 2700.0),
    "ice": (9.3e9, 0.33, 917.0),
    "carbon/epoxy, along": (1.35e11, 0.3, 1550.0),
    "carbon/epoxy, across": (9e9, 0.02, 1550.0),
    "pitch carbon fibre": (9.35e11, 0.2, 2200.0),
    "glass/epoxy": (4e10, 0.26, 1900.0),
    "aramid": (1.1e11, 0.36, 1440.0),
    "polyethylene fibre": (1.2e11, 0.3, 970.0),
    "spruce": (1.1e10, 0.37, 450.0),
    "spruce, across": (5e8, 0.03, 450.0),
    "balsa": (3e9, 0.3, 150.0),
    "bamboo": (1.8e10, 0.3, 700.0),
    "cork": (2e7, 0.0, 150.0),
    "PEEK": (3.6e9, 0.38, 1300.0),
    "nylon": (2.7e9, 0.4, 1140.0),
    "acrylic": (3e9, 0.37, 1180.0),
    "low-density polyethylene": (2e8, 0.46, 920.0),
    "PTFE": (5e8, 0.46, 2200.0),
    "natural rubber": (2e6, 0.4999, 930.0),
    "hard rubber": (1e8, 0.48, 1250.0),
    "filled tyre rubber": (6e6, 0.49, 1150.0),
    "silicone": (1e6, 0.49, 1100.0),
    "soft silicone (Ecoflex 00-30)": (7e4, 0.49, 1070.0),
    "PDMS": (1.8e6, 0.495, 970.0),
    "gelatine": (5e3, 0.49, 1020.0),
    "muscle": (3e4, 0.49, 1060.0),
    "bone": (1.8e10, 0.3, 1900.0),
    "polyurethane foam": (5e5, 0.3, 30.0),
    "expanded polystyrene": (5e6, 0.1, 20.0),
    "structural foam": (1e8, 0.3, 100.0),
    "aluminium foam": (5e9, 0.3, 500.0),
    "aluminium honeycomb": (1e9, 0.3, 80.0),
    "silica aerogel": (1e6, 0.2, 100.0),
    "auxetic foam": (1e5, -0.5, 80.0),
    "steel with the mass of blades": (2.1e11, 0.3, 20000.0),
}


@SILENT
@pytest.mark.parametrize("name", MATERIALS)
def test_real_materials_are_not_questioned(name: str) -> None:
    E, nu, rho = MATERIALS[name]
    assembly.Material(E=E, nu=nu, rho=rho, name=name)
    assembly.Material(E=E, nu=nu, rho=rho)


@SILENT
def test_composites_and_dimensionless_models_are_not_questioned() -> None:
    assembly.Orthotropic(
        E=(135e9, 9e9, 9e9), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3e9), rho=1550.0, name="carbon"
    )
    assembly.Material(E=1.0, nu=0.3, rho=1.0)


STIFF = {name: row for name, row in MATERIALS.items() if row[0] >= 1e9 and row[2] >= 1000.0}


@pytest.mark.parametrize("name", STIFF)
@pytest.mark.parametrize("factor", [1e-6, 1e-9])
def test_moduli_in_other_units_are_questioned(name: str, factor: float) -> None:
    """All solids with E above 1 GPa that are heavier than water, with E in MPa and in GPa."""
    E, nu, rho = STIFF[name]
    with pytest.warns(PlausibilityWarning, match=r"^E = "):
        assembly.Material(E=E * factor, nu=nu, rho=rho)


@pytest.mark.parametrize("name", [name for name, row in MATERIALS.items() if row[0] >= 2e10])
@pytest.mark.parametrize("factor", [1e-3, 1e-9, 1e-12])
def test_densities_in_other_units_are_questioned(name: str, factor: float) -> None:
    """All solids with E above 20 GPa, with rho in g/cm³, kg/mm³ and t/mm³."""
    E, nu, rho = MATERIALS[name]
    with pytest.warns(PlausibilityWarning):
        assembly.Material(E=E, nu=nu, rho=rho * factor)


@pytest.mark.parametrize(
    ("E", "rho", "asked"),
    [
        (210e3, 7850.0, ["E = 210000.0: steel has E = 2.1e+11 Pa; is this in MPa?"]),
        (210.0, 7850.0, ["E = 210.0: steel has E = 2.1e+11 Pa; is this in GPa?"]),
        (30e6, 7850.0, ["E = 30000000.0: steel has E = 2.1e+11 Pa; is this in psi?"]),
        (210e9, 7.85, ["rho = 7.85: steel has rho = 7850 kg/m³; is this in g/cm³?"]),
        (
            210e3,
            7.85e-9,
            [
                "E = 210000.0: steel has E = 2.1e+11 Pa; is this in MPa?",
                "rho = 7.85e-09: steel has rho = 7850 kg/m³; is this in t/mm³?",
            ],
        ),
        (1e20, 7850.0, ["E = 1e+20: no known material has it with rho = 7850 kg/m³"]),
    ],
)
def test_the_question_names_the_unit(E: float, rho: float, asked: list[str]) -> None:
    with pytest.warns(PlausibilityWarning) as caught:
        assembly.Material(E=E, nu=0.3, rho=rho)
    found = [str(warning.message) for warning in caught]
    assert len(found) == len(asked)
    assert all(line.startswith(start) for line, start in zip(found, asked, strict=True))


def test_a_named_material_is_compared_with_its_name() -> None:
    with pytest.warns(PlausibilityWarning, match="aluminium has E = 7e\\+10 Pa; is this in kPa"):
        assembly.Material(E=7e7, nu=0.33, rho=2700.0, name="Aluminium")
    with pytest.warns(PlausibilityWarning, match="is this another material"):
        assembly.Material(E=7e10, nu=0.33, rho=2000.0, name="tungsten")
    with pytest.warns(PlausibilityWarning, match=r"^nu = -0.33"):
        assembly.Material(E=70e9, nu=-0.33, rho=2700.0)


SILICON = assembly.Material(E=1.69e11, nu=0.22, rho=2329.0, name="silicon")
CARBON = assembly.Material(E=1.35e11, nu=0.3, rho=1550.0)
steel = assembly.steel


def on_springs() -> Any:
    free = assembly.beam(1.0, assembly.circle(0.03), steel, 2)
    return assembly.attach_spring(
        assembly.attach_spring(free, "start", stiffness=1e6), "end", stiffness=1e6
    )


MACHINES: dict[str, Callable[[], Any]] = {
    "turbine blade": lambda: assembly.beam(0.2, assembly.rectangle(0.05, 0.01), steel, 2),
    "wind turbine blade": lambda: assembly.beam(61.5, assembly.tube(1.5, 1.46), CARBON, 2),
    "helicopter blade": lambda: assembly.beam(8.0, assembly.rectangle(0.5, 0.06), CARBON, 2),
    "micro beam": lambda: assembly.beam(2e-4, assembly.rectangle(2e-6, 1e-7), SILICON, 2),
    "nanowire": lambda: assembly.beam(1e-5, assembly.circle(2e-8), SILICON, 2),
    "satellite boom": lambda: assembly.beam(30.0, assembly.tube(0.02, 0.0198), CARBON, 2),
    "wire antenna": lambda: assembly.beam(1.0, assembly.circle(0.0004), steel, 2),
    "disc as a beam": lambda: assembly.beam(0.03, assembly.circle(0.4), steel, 1),
    "crank of a ship's engine": lambda: assembly.beam(1.2, assembly.circle(0.9), steel, 1),
    "bar": lambda: assembly.bar(1.0, 2e-5, steel, 2),
    "free shaft about its axis": lambda: assembly.moving(
        assembly.beam(1.0, assembly.circle(0.05), steel, 2), assembly.spin(500.0, (1, 0, 0))
    ),
    "free satellite about its centre": lambda: assembly.moving(
        assembly.beam(4.0, assembly.circle(0.05), CARBON, 2, offset=-2.0), assembly.spin(1.0)
    ),
    "body on springs": lambda: assembly.moving(on_springs(), assembly.spin(50.0)),
    "pinned pendulum": lambda: assembly.moving(
        assembly.beam(1.0, assembly.circle(0.05), steel, 2, pinned="start"), assembly.spin(5.0)
    ),
    "carbon flywheel at 1400 m/s": lambda: assembly.moving(
        assembly.beam(0.2, assembly.circle(0.02), CARBON, 2, clamped="start"),
        assembly.spin(7000.0),
    ),
    "body at rest": lambda: assembly.moving(
        assembly.beam(1.0, assembly.circle(0.05), steel, 2), assembly.Steady()
    ),
    "excavator's body": lambda: assembly.rigid_body(1.42e7),
    "sheet per metre": lambda: assembly.plane(gallery.sheet_mesh(2, 2, size=(1e-3, 1e-3)), steel),
    "micro plate": lambda: assembly.plane(
        gallery.sheet_mesh(2, 2, size=(1e-4, 1e-4)), SILICON, thickness=2e-6
    ),
    "block": lambda: assembly.solid(gallery.block_mesh(2, 2, 2, size=(2.0, 1.0, 1.0)), steel),
    "NREL 5 MW rotor's tip": lambda: assembly.moving(
        assembly.beam(61.5, assembly.tube(1.5, 1.46), CARBON, 2, clamped="start", offset=1.5),
        assembly.spin(1.267, (0, 1, 0)),
    ),
}


@SILENT
@pytest.mark.parametrize("name", MACHINES)
def test_real_machines_are_not_questioned(name: str) -> None:
    MACHINES[name]()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "length in mm": (
        lambda: assembly.beam(1000.0, assembly.rectangle(0.05, 0.02), steel, 2),
        r"^length = 1000.0: the beam is 2e\+04 times as long",
    ),
    "section in mm": (
        lambda: assembly.beam(1.0, assembly.rectangle(50.0, 20.0), steel, 2),
        "length = 1.0: the beam is 0.02 times as long",
    ),
    "all in mm": (
        lambda: assembly.beam(1000.0, assembly.rectangle(50.0, 20.0), steel, 2),
        r"length = 1000.0: the body has a mass of 7.8e\+09 kg",
    ),
    "bar in mm": (lambda: assembly.bar(1000.0, 2e-5, steel, 2), "length = 1000.0"),
    "mesh in mm": (
        lambda: assembly.solid(gallery.block_mesh(2, 2, 2, size=(200.0, 50.0, 50.0)), steel),
        r"mesh = .*: the body has a mass of 3.9e\+09 kg",
    ),
    "tetrahedra in mm": (
        lambda: assembly.solid(
            gallery.block_mesh(2, 2, 2, size=(200.0, 50.0, 50.0), element="tet4"), steel
        ),
        r"mesh = .*: the body has a mass of 3.9e\+09 kg",
    ),
    "thickness in mm": (
        lambda: assembly.plane(gallery.sheet_mesh(2, 2, size=(0.1, 0.1)), steel, thickness=20.0),
        "thickness = 20.0: the body is 2e\\+02 times as thick",
    ),
    "mass in g of a ship": (lambda: assembly.rigid_body(3e11), "mass = .*is this in kg"),
    "spin in rpm": (
        lambda: assembly.moving(
            assembly.beam(0.5, assembly.circle(0.02), steel, 2, clamped="start"),
            assembly.spin(6000.0),
        ),
        "omega = 6000.0: a point of the body moves at 3e\\+03 m/s; is this in rad/s",
    ),
    "no clamp": (
        lambda: assembly.moving(
            assembly.beam(1.0, assembly.circle(0.02), steel, 2), assembly.spin(60.0)
        ),
        "clamped: nothing holds the body, and its centre of mass is 0.5 m from the axis",
    ),
    "no clamp on a solid": (
        lambda: assembly.moving(
            assembly.solid(gallery.block_mesh(2, 1, 1, size=(0.2, 0.1, 0.1)), steel),
            assembly.ramp(5.0),
        ),
        "clamped: nothing holds the body",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_questioned(name: str) -> None:
    made, asked = MISTAKES[name]
    with pytest.warns(PlausibilityWarning, match=asked):
        made()


SPIN = BEAM.replace("elements = 6", "elements = 1") + '[motion]\nkind = "spin"\nomega = 10.0\n'
FILES = [
    ("E = 210e9", "E = 210e3", "material.steel.E = 210000.0: steel has E = 2.1e+11 Pa; is this in"),
    ("E = 210e9", "E = 210.0", "material.steel.E = 210.0: steel has"),
    ("rho = 7850", "rho = 7.85", "material.steel.rho = 7.85: steel has rho = 7850 kg/m³"),
    ("length = 1.0", "length = 1000.0", "body.blade.length = 1000.0: the beam is"),
    ('clamped = "start"', "", "body.blade.clamped: nothing holds the body"),
    ("omega = 10.0", "omega = 1e4", "motion.omega = 10000.0: a point of the body moves at"),
]


@pytest.mark.parametrize(("right", "wrong", "asked"), FILES)
def test_a_model_file_is_asked_in_one_line_and_strict_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, asked: str
) -> None:
    model, out = tmp_path / "blade.toml", tmp_path / "out"
    assert right in SPIN
    model.write_text(SPIN.replace(right, wrong))
    arguments = ["track", str(model), "--over", "omega=0:9:2", "--modes", "1", "--out", str(out)]
    assert main([*arguments, "--strict"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"frozen-motion: {model}: {asked}") and error.count("\n") == 1
    assert not out.exists()
    assert main(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"frozen-motion: {model}: {asked}")
    assert len(lines) == len(set(lines)) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["track", "map", "check"])
def test_a_right_model_file_is_silent_under_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    model = tmp_path / "blade.toml"
    model.write_text(SPIN)
    options = {
        "track": ["--over", "omega=0:9:2", "--out", str(tmp_path / "out")],
        "map": ["--x", "omega=0:9:2", "--y", "epsilon=0:1:2", "--out", str(tmp_path / "out")],
        "check": [],
    }
    assert main([command, str(model), "--modes", "1", "--strict", *options[command]]) == 0
    assert not capsys.readouterr().err


def test_a_study_asks_and_strict_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "slider-crank", "--set", "crank=100", "--set", "rod=300", "--strict"]
    assert main([*run, "--out", str(tmp_path / "out")]) == 2
    assert "times as long as its section" in capsys.readouterr().err


def test_a_fast_driver_and_a_heavy_part_of_a_mechanism(tmp_path: Path) -> None:
    model = tmp_path / "crank.toml"
    model.write_text(
        BEAM.replace("blade", "crank").replace('clamped = "start"', "")
        + """
[body.wheel]
kind = "rigid"
mass = 1e9
inertia = 1.0
[joint.A]
kind = "revolute"
bodies = ["ground", "crank"]
at = [0.0, 0.0]
[joint.B]
kind = "revolute"
bodies = ["crank", "wheel"]
at = [1.0, 0.0]
[driver.motor]
joint = "A"
speed_rpm = 3e4
[driver.second]
joint = "B"
speed_rpm = 0
"""
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_model(model)
    lines = [str(warning.message) for warning in caught]
    assert [line.split(" = ")[0] for line in lines] == [
        f"{model}: body.wheel.mass",
        f"{model}: driver.motor.speed_rpm",
    ]
    assert f"{2 * np.pi * 3e4 / 60:.3g} m/s" in lines[1]
