"""Files that never end, loop, or hold numbers that nobody can use: one line each, and at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

import assembly
from assembly.bodies.blade_files import beamdyn_blade, beamdyn_table, elastodyn_table
from assembly.errors import FrozenMotionError, InputError
from studies.__main__ import main
from studies.model_files.loading import load_model
from tests.support.model_files import BEAM

pytestmark = pytest.mark.timeout(60)

IDENTITY = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 1.0\n"
DOFS = "0,1,0,0,0\n0,2,0,0,0\n"
NODES = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,1\n*ELEMENT,TYPE=C3D4\n1,1,2,3,4\n"
SPIN = BEAM + '[motion]\nkind = "spin"\nomega = 10.0\n'


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "identity.mtx").write_text(IDENTITY)
    (tmp_path / "dofs.csv").write_text(DOFS)
    (tmp_path / "nodes.inp").write_text(NODES)
    return tmp_path


def refusal(read: Callable[..., Any], *arguments: Any) -> str:
    """The one line with which arguments are refused."""
    with pytest.raises(InputError) as fault:
        read(*arguments)
    line = str(fault.value)
    assert "\n" not in line and "\0" not in line and len(line) < 1000
    return line


READERS: dict[str, Callable[[Path, Path], Any]] = {
    "model": lambda path, here: load_model(path),
    "solid": lambda path, here: assembly.solid(path, assembly.steel),
    "plane": lambda path, here: assembly.plane(path, assembly.steel),
    "beamdyn": lambda path, here: beamdyn_blade(path),
    "beamdyn table": lambda path, here: beamdyn_table(path),
    "elastodyn table": lambda path, here: elastodyn_table(path),
    "calculix": lambda path, here: assembly.from_calculix(path),
    "abaqus deck": lambda path, here: assembly.from_abaqus(path, path, path),
    "abaqus matrix": lambda path, here: assembly.from_abaqus(here / "nodes.inp", path, path),
    "mass": lambda path, here: assembly.from_matrix_market(
        path, here / "identity.mtx", here / "dofs.csv"
    ),
    "stiffness": lambda path, here: assembly.from_matrix_market(
        here / "identity.mtx", path, here / "dofs.csv"
    ),
    "dofs": lambda path, here: assembly.from_matrix_market(
        here / "identity.mtx", here / "identity.mtx", path
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_by_every_reader(here: Path, reader: str) -> None:
    os.mkfifo(here / "pipe")
    with open(here / "endless", "wb") as sparse:
        sparse.truncate(2**42)
    (here / "noise").write_bytes(bytes(range(256)) * 40)
    (here / "empty").write_text("")
    for path, says in (
        (Path("/dev/zero"), "a device or a pipe"),
        (here / "pipe", "a device or a pipe"),
        (here, "a folder"),
        (here / "endless", "bytes"),
        (here / "absent", "no such file"),
        (here / ("n" * 5000), "name too long"),
        (here / "a\0b", "NUL"),
    ):
        line = refusal(READERS[reader], path, here)
        # CalculiX's reader puts .inp in the place of the ending.
        assert says in line or (reader == "calculix" and "no such file" in line), line
    for name in ("noise", "empty"):
        refusal(READERS[reader], here / name, here)


@pytest.mark.parametrize("ending", [".inp", ".bdf", ".msh", ".vtk", ".med"])
def test_a_link_to_a_device_is_no_mesh(here: Path, ending: str) -> None:
    (here / f"link{ending}").symlink_to("/dev/zero")
    line = refusal(assembly.solid, here / f"link{ending}", assembly.steel)
    assert "a device or a pipe" in line


@pytest.mark.parametrize(
    ("header", "entries", "says"),
    [
        ("coordinate complex general", "2 2 1\n1 1 1.0 0.0\n", "complex, expected real"),
        ("coordinate pattern general", "2 2 1\n1 1\n", "pattern, expected real"),
        ("coordinate integer general", f"2 2 1\n1 1 {'9' * 30}\n", "out of range"),
        ("coordinate real general", f"2 2 1\n1 {'9' * 30} 1.0\n", "out of range"),
        ("coordinate real general", "2 2 1\n0 1 1.0\n", "out of bounds"),
        ("coordinate real general", f"{'9' * 30} 2 1\n1 1 1.0\n", "out of range"),
        ("coordinate real general", "2 2 999999999999\n1 1 1.0\n", "the file is shorter"),
        ("coordinate real general", "3 3 1\n1 1 1.0\n", "the dof map has 2 rows"),
        ("coordinate real general", "2 2 1\n1 1 nan\n", "line 3: expected row, column and value"),
        ("coordinate real general", "2 2 1\n1 1 1e300\n", "above 1e+30"),
        ("array real general", "1000000 1000000\n1.0\n", "the dof map has 2 rows"),
        ("", "", "Matrix Market"),
    ],
)
def test_matrix_market_of_another_kind(here: Path, header: str, entries: str, says: str) -> None:
    path = here / "odd.mtx"
    path.write_text(f"%%MatrixMarket matrix {header}\n{entries}")
    line = refusal(
        assembly.from_matrix_market, path, here / "identity.mtx", here / "dofs.csv"
    ).lower()
    assert says.lower() in line


@pytest.mark.parametrize("node", [8, -1, 2**40])
def test_a_cell_with_a_node_that_is_not_there(here: Path, node: int) -> None:
    points = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    cells = [("hexahedron", np.array([[0, 4, 6, 2, 1, 5, 7, node]]))]
    meshio.Mesh(points, cells).write(here / "block.vtk")
    assert "has a node that the file does not have" in refusal(
        READERS["solid"], here / "block.vtk", here
    )


ENTRIES = "%%MatrixMarket matrix coordinate real general\n% N/m\n2 2 2\n1 1 {}\n2 2 3.5\n"


def test_matrix_market_takes_exponents_of_fortran(here: Path) -> None:
    for value in ("1.42D+08", "1.42d8", ".142E+09", "142000000"):
        (here / "odd.mtx").write_text(ENTRIES.format(value))
        body = READERS["stiffness"](here / "odd.mtx", here)
        assert body.operators.K.tocsr().diagonal().tolist() == [1.42e8, 3.5]


@pytest.mark.parametrize(
    "entry", ["1,42e+08", "1.42e+08 7", "1.42+08", "0x10", "1.42e", "1.4 2", ""]
)
def test_matrix_market_names_a_line_that_is_no_entry(here: Path, entry: str) -> None:
    (here / "odd.mtx").write_text(ENTRIES.format(entry))
    line = refusal(READERS["mass"], here / "odd.mtx", here)
    assert f"line 4: expected row, column and value, got '{f'1 1 {entry}'.strip()}'" in line


def test_matrix_market_cut_anywhere_is_refused(here: Path) -> None:
    """In a process of its own: scipy 1.17 ends with SIGSEGV at some of these places."""
    (here / "whole.mtx").write_text(ENTRIES.format("1.42e+08"))
    cut = """
import sys, assembly
from pathlib import Path
here = Path(sys.argv[1])
text = (here / "whole.mtx").read_text()
for end in range(len(text)):
    (here / "cut.mtx").write_text(text[:end])
    try:
        assembly.from_matrix_market(here / "cut.mtx", here / "identity.mtx", here / "dofs.csv")
    except assembly.InputError:
        continue
    raise SystemExit(f"accepted {text[:end]!r}")
"""
    subprocess.run([sys.executable, "-c", cut, str(here)], check=True)


@pytest.mark.parametrize("entry", ["nan", "1e300", "0.5", "9" * 6000])
@pytest.mark.parametrize("column", [0, 1])
def test_labels_that_are_no_whole_numbers(here: Path, entry: str, column: int) -> None:
    row = ["0", "1", "0", "0", "0"]
    row[column] = entry
    (here / "odd.csv").write_text(",".join(row) + "\n0,2,0,0,0\n")
    refusal(READERS["dofs"], here / "odd.csv", here)
    pair = ["1", "1", "1", "1", "5.0"]
    pair[column] = entry
    (here / "odd.mtx").write_text(",".join(pair) + "\n")
    refusal(READERS["abaqus matrix"], here / "odd.mtx", here)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (NODES + "*INCLUDE,INPUT=deck.inp\n", "included by itself"),
        ("*INCLUDE,INPUT=other.inp\n", "included by itself"),
        ("*INCLUDE,INPUT=wide.inp\n", "more than 200 files"),
        ("*INCLUDE\n", "a folder"),
        ("*INCLUDE,INPUT=/dev/zero\n", "a device or a pipe"),
        ("*INCLUDE,INPUT=" + "n" * 5000 + "\n", "name too long"),
        (NODES + "*NSET,NSET=Q,GENERATE\n1,999999999999,1\n", "more than 20000000 members"),
        (NODES + "*NSET,NSET=Q,GENERATE\n1,9,0\n", "must not be zero"),
        (NODES + "*NSET,NSET=Q\n1\n" + "Q\n" * 60, "more than 20000000 members"),
        ("*NODE\n" + "9" * 100 + ",0,0,0\n", "too large"),
        ("*NODE\n" + "9" * 5000 + ",0,0,0\n", "limit"),
        (NODES.replace("1,1,2", "9" * 30 + ",1,2"), "too large"),
        (NODES.replace("2,1,0", "2,nan,0"), "node 1 has the coordinates"),
        (NODES.replace("2,1,0", "2,1e300,0"), "node 1 has the coordinates"),
    ],
)
def test_decks_that_loop_or_overflow(here: Path, text: str, says: str) -> None:
    (here / "deck.inp").write_text(text)
    (here / "other.inp").write_text("*INCLUDE,INPUT=deck.inp\n")
    (here / "wide.inp").write_text("*INCLUDE,INPUT=wide0.inp\n")
    for k in range(9):
        (here / f"wide{k}.inp").write_text(f"*INCLUDE,INPUT=wide{k + 1}.inp\n" * 12)
    (here / "wide9.inp").write_text(NODES)
    assert says in refusal(assembly.solid, here / "deck.inp", assembly.steel)


def test_a_nastran_set_without_end(here: Path) -> None:
    grid = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,0.,1.,0.\nGRID,4,,0.,0.,1.\n"
    path = here / "deck.bdf"
    path.write_text(grid + "CTETRA,1,1,1,2,3,4\nSET1,1,1,THRU,999999999999\n")
    assert "more than 20000000 numbers" in refusal(assembly.solid, path, assembly.steel)


BEAMDYN = """a blade
3   kp_total
kp_xr kp_yr kp_zr initial_twist
(m) (m) (m) (deg)
0 0 0 {twist}
{point}
0 0 2 10
"sections.dat"  BldFile
"""


@pytest.mark.parametrize(
    ("twist", "point", "stations", "says"),
    [
        ("nan", "0 0 1 5", "3", "expected a finite number, got 'nan'"),
        ("5", "0 nan 1 5", "3", "expected a finite number, got 'nan'"),
        ("5", "0 0 1e300 5", "3", "key point 2: must be"),
        ("5", "0 0 0 5", "3", "key point 2 is where the one before it is"),
        ("5", "0 0 1 5", "nan", "expected a finite number"),
        ("5", "0 0 1 5", "1e300", "station_total must be a whole number"),
        ("5", "0 0 1 5", "-3", "station_total must be a whole number"),
        ("5", "0 0 1 5", "3", "stations are fractions from 0 to 1"),
    ],
)
def test_beamdyn_numbers_that_nobody_can_use(
    here: Path, twist: str, point: str, stations: str, says: str
) -> None:
    (here / "primary.dat").write_text(BEAMDYN.format(twist=twist, point=point))
    block = "\n".join(" ".join(str(x) for x in row) for row in np.eye(6))
    body = "\n".join(f"{eta}\n{block}\n{block}" for eta in (0.0, 0.5, 1e300))
    (here / "sections.dat").write_text(
        f"{stations} station_total\n--- DISTRIBUTED PROPERTIES\n{body}\n"
    )
    assert says in refusal(beamdyn_blade, here / "primary.dat")


VALUES = ["nan", "inf", "1e300", "-1e300", "1e-300", "0", "-1", "9" * 5000, "x", ""]


def answer(model: Callable[[], Any]) -> None:
    """Runs what may be refused, in one line."""
    try:
        with np.errstate(all="ignore"):
            model()
    except FrozenMotionError as fault:
        assert "\n" not in str(fault) and len(str(fault)) < 1000


@pytest.mark.parametrize("column", range(8))
def test_tables_with_any_value_anywhere(here: Path, column: int) -> None:
    sampled = [[f"{t:g}", f"{t:g}", "0", "0", "0", "0", "0", "1"] for t in np.linspace(0, 1, 9)]
    markers = [[f"{t:g}", *f"{t:g} 0 0 1 0 0 0 1 0".split()] for t in np.linspace(0, 1, 30)]
    blade = [["1", "13", "100", "1e7", "2e7"], *[[str(r), "9", "90", "9e6", "9e6"] for r in (2, 3)]]
    reference = ["0 0 0".split(), "1 0 0".split(), "0 1 0".split()]
    header = "r_from_hub_center[m],StrcTwst[deg],BMassDen[kg/m],FlpStff[N m^2],EdgStff[N m^2]\n"
    sampled_model, marked_model = here / "sampled.toml", here / "marked.toml"
    sampled_model.write_text(BEAM + '[motion]\nkind = "sampled"\nfile = "sampled.csv"\n')
    marked_model.write_text(
        BEAM + '[motion]\nkind = "markers"\nfile = "markers.csv"\nreference = "reference.csv"\n'
    )
    for value in VALUES:
        for table, name, first in (
            (sampled, "sampled.csv", ""),
            (markers, "markers.csv", ""),
            (blade, "blade.csv", header),
            (reference, "reference.csv", ""),
        ):
            rows = [list(row) for row in table]
            if column < len(rows[1]):
                rows[1][column] = value
            (here / name).write_text(first + "\n".join(",".join(row) for row in rows) + "\n")
        answer(lambda: load_model(sampled_model).motion.freeze(0.4))
        answer(lambda: load_model(marked_model).motion.freeze(0.4))
        answer(lambda: elastodyn_table(here / "blade.csv"))


DEEP = "a = " + "[" * 3000 + "]" * 3000
FAULTS = {
    "nested": (DEEP, "nested too deeply"),
    "digits": ("a = " + "9" * 5000, "5000 digits"),
    "device": (
        BEAM + '[motion]\nkind = "sampled"\nfile = "/dev/zero"\n',
        "/dev/zero: cannot be read: it is a device",
    ),
    "width": (SPIN.replace("width = 0.05", "width = 1.8e308"), "section.width = inf: expected"),
    "NUL": (
        SPIN.replace('kind = "beam"', 'kind = "solid"').split("length")[0]
        + 'mesh = "a\\u0000b"\nmaterial = "steel"\n',
        "NUL in the file name",
    ),
    "nothing": ("", "body: missing"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_hostile_model_file_exits_2_with_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, says = FAULTS[name]
    model = here / "model.toml"
    model.write_text(text)
    assert main(["track", str(model), "--over", "omega=0:10:2", "--out", str(here / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"frozen-motion: {model}: ") and says in error
    assert error.count("\n") == 1
    assert not (here / "out").exists()


@pytest.mark.parametrize("name", ["n" * 5000, "a\0b", "/dev/zero"])
@pytest.mark.parametrize("option", ["model", "--out"])
def test_a_hostile_file_name_exits_2_with_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    (here / "model.toml").write_text(SPIN)
    model, out = (name, str(here)) if option == "model" else (str(here / "model.toml"), name)
    assert main(["track", model, "--over", "omega=0:10:2", "--out", out]) == 2
    error = capsys.readouterr().err
    assert error.startswith("frozen-motion: ") and error.count("\n") == 1 and len(error) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", [r"$\frac{$", "$" * 100, os.fsdecode(b"\xff"), "a\nb", "a_{^"])
def test_a_file_name_is_no_formula(here: Path, name: str) -> None:
    """matplotlib reads what stands between two $ as a formula, and a title is the file's name."""
    model, out = here / f"{name}.toml", here / "out"
    model.write_text(SPIN.replace("elements = 6", "elements = 1"))
    over = ["--modes", "1", "--out", str(out), "--force"]
    assert main(["track", str(model), "--over", "omega=0:10:2", *over]) == 0
    assert main(["map", str(model), "--x", "omega=0:9:2", "--y", "epsilon=0:1:2", *over]) == 0
    assert (out / "tracks.png").is_file() and (out / "map.png").is_file()
