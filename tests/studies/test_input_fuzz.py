"""Every key of a model file with impossible values: an answer or one line, never a traceback."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import scipy.io

import modal
from assembly import gallery
from assembly.errors import FrozenMotionError, InputError
from studies.model_files.loading import load_model
from studies.model_files.schema import ModelSpec

VALUES = (
    *("0", "-0.0", "-1", "1e-320", "1e-300", "1e300", "-1e300", "1.8e308", "nan", "inf"),
    *("9223372036854775808", "9" * 400, '"x"', '"a\\u0000b"', f'"{"n" * 5000}"'),
    *("true", "[]", "[nan, 1]", "[1e300, 1e-300, 0]", "{}", "1979-05-27"),
)

STEEL = {"steel": {"E": 210e9, "nu": 0.3, "rho": 7850.0}}
RECTANGLE = {"shape": "rectangle", "width": 0.05, "height": 0.02}
DAMPING = {"a": 0.1, "b": 1e-6}
SPIN = {"kind": "spin", "axis": [0.0, 0.0, 1.0], "omega": 10.0, "epsilon": 0.0}
BEAM = {
    **{"kind": "beam", "length": 1.0, "section": RECTANGLE, "material": "steel", "elements": 1},
    **{"clamped": "start", "offset": 0.1, "theory": "timoshenko", "planar": False},
    **{"rotary_inertia": True, "damping": DAMPING, "pinned": "end"},
}
SHORT = {**{key: BEAM[key] for key in ("kind", "material", "elements")}, "section": RECTANGLE}
SAMPLED = {"kind": "sampled", "file": "sampled.csv"}
MARKERS = {"kind": "markers", "file": "markers.csv", "reference": "reference.csv"}
MESHED = {"material": "steel", "clamped": "left", "pinned": "right", "damping": DAMPING}


def one_body(body: dict[str, Any], motion: dict[str, Any]) -> dict[str, Any]:
    analysis = {"modes": 1, "prestress": "linear", "transport": True}
    return {"material": STEEL, "body": {"b": body}, "motion": motion, "analysis": analysis}


def revolute(first: str, second: str, x: float) -> dict[str, Any]:
    return {"kind": "revolute", "bodies": [first, second], "at": [x, 0.0]}


MODELS: dict[str, dict[str, Any]] = {
    "spin": one_body(BEAM, SPIN),
    "ramp": one_body(
        {
            **SHORT,
            "length": 1.0,
            "clamped": "start",
            "section": {"shape": "circle", "diameter": 0.02},
        },
        {"kind": "ramp", "axis": [0.0, 0.0, 1.0], "omega": 10.0, "epsilon": 1.0},
    ),
    "sampled": one_body(
        {**SHORT, "length": 1.0, "section": {"shape": "tube", "outer": 0.02, "inner": 0.01}},
        SAMPLED,
    ),
    "markers": one_body({**SHORT, "length": 1.0}, MARKERS),
    "plane": one_body(
        {"kind": "plane", "mesh": "plate.vtk", "thickness": 0.01, "state": "stress", **MESHED}, SPIN
    ),
    "solid": one_body({"kind": "solid", "mesh": "block.vtk", **MESHED}, SPIN),
    "matrices": one_body(
        {
            **{"kind": "matrices", "mass": "M.mtx", "stiffness": "K.mtx", "dofs": "dofs.csv"},
            **{"clamped": [0], "damping": DAMPING},
        },
        SPIN,
    ),
    "mechanism": {
        "material": STEEL,
        "body": {
            "crank": {**SHORT, "length": 0.15},
            "rod": {**SHORT, "length": 0.3},
            "slider": {"kind": "rigid", "mass": 0.3, "inertia": 0.01},
        },
        "joint": {
            "A": revolute("ground", "crank", 0.0),
            "B": revolute("crank", "rod", 0.15),
            "C": revolute("rod", "slider", 0.45),
            "D": {**revolute("ground", "slider", 0.45), "kind": "prismatic", "axis": [1.0, 0.0]},
        },
        "driver": {"motor": {"joint": "A", "speed_rpm": 1500.0, "held": True, "stiffness": 2e4}},
        "bushing": {
            "mount": {
                **{"bodies": ["ground", "slider"], "at": [0.45, 0.0], "damping": [2.0, 3.0, 0.1]},
                **{"stiffness": [2e4, 3e4, 10.0], "preload": [0.0, 5.0, 0.0]},
            }
        },
        "analysis": {"modes": 1, "prestress": "linear", "transport": True},
    },
}


MODELS |= {
    "attached": one_body(
        {
            **SHORT,
            **{"length": 1.0, "start": [0.1, 0.0, 0.0], "direction": [1.0, 0.0, 0.0]},
            **{"section_y": [0.0, 1.0, 0.0], "pitch": [0.0, 0.1], "pinned": "start"},
            **{"pin_axis": "z", "end_offsets": [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]},
            **{"mu": 1e-5, "wagner": False},
            "mass_at": [{"at": "end", "mass": 1.0, "inertia": 0.1, "offset": [0.0, 0.1, 0.0]}],
            "spring": [{"at": 0, "to": 1, "stiffness": 1e4, "damping": 1.0}],
            "damper": [{"at": 1, "damping": 2.0}],
        },
        {"kind": "swing", "amplitude": 0.1, "angular_frequency": 2.0, "phase": 0.1},
    ),
    "ring": one_body({**SHORT, "kind": "ring", "radius": 0.5, "elements": 3}, SPIN),
    "bar": one_body({**SHORT, "kind": "bar", "length": 0.5, "lumped": True}, {"kind": "spin"}),
    "rotor": {
        "body": {
            "r": {
                **{"kind": "rotor", "material": "steel", "elements": 1, "internal_damping": 1e-6},
                **{"axial_load": 10.0, "drive_at": 0.0, "lateral": False},
                "segment": [{"length": 1.0, "section": {"shape": "circle", "diameter": 0.05}}],
                "disc": [
                    {"at": 0.5, "mass": 1.0, "polar": 0.1, "diametral": 0.05, "skew": 0.01,
                     "skew_angle": 0.0},
                    {"at": 1.0, "outer": 0.2, "inner": 0.05, "width": 0.02, "material": "steel"},
                ],
                "bearing": [
                    {"at": 0.0, "stiffness": [1e7, 1e7], "damping": 1e3},
                    {"at": 1.0, "speeds_rpm": [0.0, 9e3], "stiffness": [1e7, 2e7]},
                    {"at": 0.5, "file": "bearing.csv"},
                ],
            }
        },
        "motion": {"kind": "spin", "speed_rpm": 100.0},
        "response": {
            "speeds_rpm": "0:1:2",
            "unbalance": [{"at": 0.5, "size": 1e-3, "phase": 0.0}],
            "probe": [{"at": 0, "component": "uy"}],
        },
    },
    "space": {
        "body": {
            "side": {**SHORT, "length": 0.5, "section": {
                "shape": "general", "A": 1e-3, "Iy": 1e-8, "Iz": 1e-8, "J": 1e-8, "Iyz": 0.0,
                "shear_y": 1.0, "shear_z": 1.0,
            }},
            "arm": {
                "kind": "frame",
                "members": [{"body": "side", "at": [0.0, 0.0], "rotation": 0.0}],
            },
            "tool": {
                "kind": "rigid", "mass": 1.0, "inertia": [0.1, 0.1, 0.1],
                "centre": [0.0, 0.0, 0.1], "position": [0.5, 0.0, 0.0], "rotation": [0.0, 0.0, 0.0],
            },
        },
        "joint": {
            "base": {
                "kind": "revolute", "bodies": ["ground", "arm"], "at": [0.0, 0.0, 0.0],
                "axis": [0.0, 0.0, 1.0], "second_point": "side.start", "first_point": [0, 0, 0],
            },
            "tip": {"kind": "fixed", "bodies": ["arm", "tool"], "at": [0.5, 0.0, 0.0]},
        },
        "driver": {"m": {"joint": "base", "omega": 3.0, "acceleration": 0.0, "of": "angle"}},
        "load": {
            "push": {"body": "tool", "at": "origin", "force": [1.0, 0.0, 0.0], "follower": True}
        },
        "mechanism": {"gravity": [0.0, 0.0, -9.8], "period": 1.0, "coordinates": {}},
        "response": {
            "frequencies": "1:2:2",
            "force": [{"body": "tool", "at": 0, "component": "ux", "amplitude": 1.0}],
        },
    },
}  # fmt: skip
# Keys of models that need files of other programs.
ELSEWHERE = {
    *("table", "format", "hub_radius", "refine", "deck", "op4", "G", "axes", "velocity"),
    *("axis_second", "flange", "web"),
}
FEWER = ("0", "1e300", '"x"', "[]", "[1e300, 1e-300, 0]", "{}")  # values for the models below


# The parts of each model that no other one has.
FUZZED: dict[str, list[tuple[str, ...]]] = {
    "spin": [()],
    "ramp": [("motion",), ("body", "b", "section")],
    "sampled": [("motion",), ("body", "b", "section")],
    "markers": [("motion",)],
    "plane": [("body", "b")],
    "solid": [("body", "b", "mesh"), ("body", "b", "clamped"), ("body", "b", "pinned")],
    "matrices": [("body", "b")],
    "mechanism": [("body", "slider"), ("body", "rod", "length"), ("joint", "A"), ("joint", "D")]
    + [("driver",), ("bushing",), ("analysis", "transport")],
    "attached": [("body",), ("motion",)],
    "ring": [("body", "b", "radius")],
    "bar": [("body", "b", "lumped"), ("body", "b", "length")],
    "rotor": [("body",), ("response",)],
    "space": [("body", "arm"), ("body", "tool"), ("joint",), ("driver",), ("load",), ("mechanism",)]
    + [("response",), ("body", "side", "section")],
}
FEW = ("attached", "ring", "bar", "rotor", "space")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the models name."""
    here = tmp_path_factory.mktemp("models")
    for name, mesh in (
        ("plate.vtk", gallery.sheet_mesh(2, 1, size=(0.2, 0.1))),
        ("block.vtk", gallery.block_mesh(2, 1, 1, size=(0.2, 0.1, 0.1))),
    ):
        x = mesh.points[:, 0]
        marks = {"left": x == x.min(), "right": x == x.max()}
        meshio.write(
            here / name,
            meshio.Mesh(
                mesh.points,
                mesh.cells,
                point_data={label: mark.astype(float) for label, mark in marks.items()},
            ),
        )
    scipy.io.mmwrite(here / "M.mtx", np.eye(4), symmetry="general")
    scipy.io.mmwrite(here / "K.mtx", 1e6 * np.eye(4), symmetry="general")
    (here / "dofs.csv").write_text("0,1,0,0,0\n0,2,0,0,0\n1,1,1,0,0\n1,2,1,0,0\n")
    (here / "bearing.csv").write_text(
        "speed_rpm,kyy,kyz,kzy,kzz,cyy,cyz,czy,czz\n0,1e6,0,0,1e6,1,0,0,1\n9e3,1e6,0,0,1e6,1,0,0,1\n"
    )
    t = np.linspace(0.0, 1.0, 40)
    still = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (40, 1))
    np.savetxt(here / "sampled.csv", np.column_stack([t, still]), delimiter=",")
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    np.savetxt(here / "reference.csv", points, delimiter=",")
    moved = np.tile(points.ravel(), (40, 1)) + t[:, None]
    np.savetxt(here / "markers.csv", np.column_stack([t, moved]), delimiter=",")
    return here


def toml(value: Any) -> str:
    """A value as inline TOML; a `Raw` as it is."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        entries = (f"{json.dumps(key)} = {toml(entry)}" for key, entry in value.items())
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


class Raw:
    """TOML text in the place of a value."""

    def __init__(self, text: str) -> None:
        self.text = text


def places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all tables, values and list entries."""
    entries = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in entries:
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from places(value, (*place, key))


def changed(content: dict[str, Any], place: tuple[Any, ...], text: str) -> str:
    """The model file with the text at a place."""
    copied = copy.deepcopy(content)
    at = copied
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = Raw(text)
    return "\n".join(f"{json.dumps(key)} = {toml(value)}" for key, value in copied.items())


def outcome(path: Path) -> str:
    """ "solved", or the one line of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load_model(path)
            modal.solve(model.motion.freeze(0.3), k=1)
    except FrozenMotionError as fault:
        line = str(fault)
        assert "\n" not in line and len(line) < 700
        return line
    return "solved"


def test_the_models_have_every_key_of_the_schema() -> None:
    named = {key for model in MODELS.values() for place in places(model) for key in place}
    schema = ModelSpec.model_json_schema()
    for name, part in {**schema["$defs"], "ModelSpec": schema}.items():
        assert set(part.get("properties", {})) <= named | ELSEWHERE, name


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", MODELS)
def test_no_value_of_any_key_ends_in_a_traceback(folder: Path, name: str) -> None:
    path = folder / f"{name}.toml"
    path.write_text(changed(MODELS[name], ("body",), toml(MODELS[name]["body"])))
    assert "cannot" not in outcome(path)
    for place in places(MODELS[name]):
        if not any(place[: len(part)] == part for part in FUZZED[name]):
            continue
        values = FEWER if name in FEW else VALUES
        if isinstance(place[-1], int) and place[-1] > 0:  # further components of a vector
            values = FEWER[1:]
        for text in values:
            path.write_text(changed(MODELS[name], place, text))
            line = outcome(path)
            if line.startswith(str(path)):
                continue
            # Values that the formulas can represent may be beyond an eigensolution.
            assert line == "solved" or "nan" not in line, (place, text, line)


@pytest.mark.parametrize(
    ("place", "text", "says"),
    [
        (("body", "b", "section", "width"), "1.8e308", "width = inf: expected a positive length"),
        (("body", "b", "section", "width"), "1e300", "width = 1e+300: expected a positive length"),
        (("material", "steel", "E"), "1e300", "E = 1e+300: expected a positive modulus"),
        (("material", "steel", "rho"), "1e-300", "rho = 1e-300: expected a positive density"),
        (("material", "steel", "nu"), "true", "nu = True: expected a valid number"),
        (("motion", "omega"), "1e-300", "omega = 1e-300: expected 0, or a rate"),
        (("body", "b", "damping", "b"), "1e300", "b = 1e+300: expected 0, or a coefficient b"),
        (("body", "b", "elements"), "9" * 60, "elements = a huge integer"),
    ],
)
def test_the_line_names_key_value_and_what_is_accepted(
    folder: Path, place: tuple[str, ...], text: str, says: str
) -> None:
    path = folder / "named.toml"
    path.write_text(changed(MODELS["spin"], place, text))
    line = outcome(path)
    assert line.startswith(f"{path}: {'.'.join(place[:-1])}") and says in line


@pytest.mark.parametrize(
    ("place", "text"),
    [(("body", "slider", "mass"), "1e300"), (("driver", "motor", "speed_rpm"), "1e-300")],
)
def test_extreme_mechanisms_are_refused(folder: Path, place: tuple[str, ...], text: str) -> None:
    path = folder / "extreme.toml"
    path.write_text(changed(MODELS["mechanism"], place, text))
    with pytest.raises(InputError, match=rf"extreme.toml: {'.'.join(place)} = 1e.300: expected 0"):
        load_model(path)
