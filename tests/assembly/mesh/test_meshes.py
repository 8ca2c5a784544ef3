"""Meshes from other programs, their named sets, and the faults of bad ones."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np
import pytest

import assembly
from assembly.elements.cells import CellBlock, Cells
from assembly.elements.reference import CELLS
from assembly.errors import MaterialError, MeshError
from assembly.gallery import block_mesh, sheet_mesh
from tests.support.continua import distorted_mesh
from tests.support.paths import ROOT

# Edges in the order each program counts a brick's mid-edge nodes (its manual), corners from 0.
NASTRAN_EDGES = (
    *((0, 1), (1, 2), (2, 3), (3, 0)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
    *((4, 5), (5, 6), (6, 7), (7, 4)),
)
ABAQUS_EDGES = CELLS["hexahedron20"].edges
BOX = np.array(CELLS["hexahedron"].corners, dtype=float) * [0.3, 0.2, 0.1]


def brick(edges: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Twenty nodes of one brick, the middles bulged so that a wrong order changes the volume."""
    return np.vstack([BOX, [0.5 * (BOX[a] + BOX[b]) for a, b in edges]])


def volume(body: assembly.Body) -> float:
    e = np.zeros(body.size)
    e[0::3] = 1.0
    return float(e @ (body.operators.M @ e)) / assembly.steel.rho


def check_brick(body: assembly.Body) -> None:
    """Volume of the box, and no force under a linear displacement but on the outside."""
    assert body.size == 60
    assert volume(body) == pytest.approx(0.3 * 0.2 * 0.1, rel=1e-12)
    fields = body.dofs.rigid_fields()
    K = body.operators.K
    assert abs(K @ fields).max() < 1e-12 * (abs(K) @ abs(fields)).max()


def test_nastran_brick(tmp_path: Path) -> None:
    lines = ["BEGIN BULK"]
    for k, x in enumerate(brick(NASTRAN_EDGES), start=1):
        lines.append(f"GRID,{k},,{x[0]:.6f},{x[1]:.6f},{x[2]:.6f}")
    nodes = [str(k) for k in range(1, 21)]
    lines.append("CHEXA,1,1," + ",".join(nodes[:6]) + ",+A")
    lines.append("+A," + ",".join(nodes[6:14]) + ",+B")
    lines.append("+B," + ",".join(nodes[14:]))
    lines.append("SET1,10,1,THRU,3,7")
    lines.append(f"{'SPC1*':<8}{4:>16}{123:>16}{5:>16}{6:>16}*")  # large fields, continued
    lines.append(f"{'*':<8}{8:>16}")
    path = tmp_path / "brick.bdf"
    for begin in (["SOL 103", "BEGIN BULK"], []):  # Gmsh writes no BEGIN BULK
        path.write_text("\n".join([*begin, *lines[1:], "ENDDATA"]) + "\n")
        body = assembly.solid(path, assembly.steel, clamped="spc 4")
        check_brick(body)
        assert body.sets["set 10"].tolist() == [0, 1, 2, 6]
        assert body.sets["spc 4"].tolist() == [4, 5, 7]
        assert body.sets["property 1"].tolist() == list(range(20))
        assert len(body.free) == 51
    path.write_text("\n".join([*lines, "SET1,11,77", "ENDDATA"]) + "\n")
    with pytest.raises(MeshError, match="set 11: there is no grid point 77"):
        assembly.solid(path, assembly.steel)


CALCULIX_DECK = """** a comment
*NODE, NSET=ALL
{nodes}
*ELEMENT, TYPE=C3D20R, ELSET=PART
1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
** a comment inside a block
16, 17, 18, 19, 20
*NSET, NSET=LOW
1, 2, 3
*NSET, NSET=MORE
4,
LOW
*NSET, NSET=TOP, GENERATE
5, 8, 1
"""


def test_calculix_deck_with_sets_of_sets(tmp_path: Path) -> None:
    rows = [
        f"{k}, {x[0]:.6f}, {x[1]:.6f}, {x[2]:.6f}"
        for k, x in enumerate(brick(ABAQUS_EDGES), start=1)
    ]
    path = tmp_path / "brick.inp"
    path.write_text(CALCULIX_DECK.format(nodes="\n".join(rows)))
    body = assembly.solid(path, assembly.steel, clamped="MORE")
    check_brick(body)
    assert body.sets["MORE"].tolist() == [0, 1, 2, 3]
    assert body.sets["TOP"].tolist() == [4, 5, 6, 7]
    assert len(body.free) == 48


def test_gmsh_deck_of_the_blade_equals_its_msh(tmp_path: Path) -> None:
    """Gmsh writes plane-stress faces (CPS6) into a deck of solids; a small piece of such a file."""
    mesh = meshio.read(ROOT / "studies" / "rotating_blade" / "blade.msh")
    lines = ["*Heading", " blade", "*NODE"]
    lines += [f"{k}, {x[0]:.15g}, {x[1]:.15g}, {x[2]:.15g}" for k, x in enumerate(mesh.points, 1)]
    lines.append("******* E L E M E N T S *************")
    number = 0
    for kind, label in (("triangle6", "CPS6"), ("tetra10", "C3D10")):
        lines.append(f"*ELEMENT, type={label}, ELSET={label}")
        for nodes in mesh.cells_dict[kind]:
            number += 1
            lines.append(", ".join(str(k) for k in [number, *(nodes + 1)]))
    path = tmp_path / "blade.inp"
    path.write_text("\n".join(lines) + "\n")
    found = assembly.solid(path, assembly.steel)
    expected = assembly.solid(mesh, assembly.steel)
    assert abs(found.operators.K - expected.operators.K).max() < 1e-9 * found.operators.K.max()


def med_order(kind: str, nodes: np.ndarray) -> np.ndarray:
    """Node lists as MED counts them: Gmsh's own table (GModelIO_MED.cpp), in VTK numbers."""
    table = {
        "tetra10": (0, 2, 1, 3, 6, 5, 4, 7, 9, 8),
        "hexahedron20": (0, 3, 2, 1, 4, 7, 6, 5, 11, 10, 9, 8, 15, 14, 13, 12, 16, 19, 18, 17),
    }
    return nodes[:, list(table[kind])]


@pytest.mark.parametrize("element", ("tet10", "hex20"))
@pytest.mark.parametrize("own_order", (True, False))
def test_med(tmp_path: Path, element: str, own_order: bool) -> None:
    mesh = distorted_mesh(element)
    (block,) = mesh.cells
    expected = assembly.solid(mesh, assembly.steel)
    cells = block.data if own_order else med_order(block.type, block.data)
    path = tmp_path / "box.med"
    meshio.write(path, meshio.Mesh(mesh.points, [(block.type, cells)]))
    found = assembly.solid(path, assembly.steel)
    assert abs(found.operators.K - expected.operators.K).max() < 1e-10 * found.operators.K.max()


@pytest.mark.parametrize("suffix", (".vtk", ".vtu", ".inp", ".bdf", ".msh"))
@pytest.mark.parametrize("element", ("tet10", "hex8"))
def test_formats(tmp_path: Path, suffix: str, element: str) -> None:
    mesh = distorted_mesh(element)
    path = tmp_path / f"box{suffix}"
    options = {"file_format": "gmsh"} if suffix == ".msh" else {}
    meshio.write(path, meshio.Mesh(mesh.points, mesh.cells), **options)
    assert volume(assembly.solid(path, assembly.steel)) == pytest.approx(
        0.6 * 0.4 * 0.3, rel=1e-5 if suffix == ".bdf" else 1e-12
    )


@pytest.mark.parametrize("element", ("tet4", "tet10", "hex8", "hex20", "t3", "t6", "q4", "q8"))
def test_volume_of_cells_is_the_determinant_of_the_map(element: str) -> None:
    """A unit cube or square of cells, mapped affinely: |det A|."""
    solid = element.startswith(("tet", "hex"))
    cube = (1.0, 1.0, 1.0)
    mesh = block_mesh(2, 2, 2, element, cube) if solid else sheet_mesh(2, 2, element, cube[:2])
    A = np.array([[2.0, 0.3, 0.0], [-0.4, 1.5, 0.2], [0.1, 0.6, 1.2]])
    A = A if solid else np.pad(A[:2, :2], (0, 1))
    points = np.pad(mesh.points, ((0, 0), (0, 3 - mesh.points.shape[1]))) @ A.T + 5.0
    blocks = [CellBlock(c.type, c.data) for c in mesh.cells]
    found = sum(Cells(points, blocks, 3 if solid else 2).volumes)
    expected = np.linalg.det(A if solid else A[:2, :2])
    assert found == pytest.approx(expected, rel=1e-12)


def test_nodes_without_elements_are_left_out() -> None:
    mesh = distorted_mesh("hex8")
    points = np.vstack([[9.0, 9.0, 9.0], mesh.points])
    moved = meshio.Mesh(
        points,
        [("hexahedron", mesh.cells[0].data + 1)],
        point_sets={"x0": mesh.point_sets["x0"] + 1, "centre": np.array([0])},
    )
    body = assembly.solid(moved, assembly.steel, clamped="x0")
    assert body.size == 3 * len(mesh.points)
    assert np.allclose(body.dofs.coordinates[body.sets["x0"], 0], 0.2)
    assert "centre" not in body.sets
    by_number = assembly.solid(moved, assembly.steel, clamped=mesh.point_sets["x0"] + 1)
    assert by_number.free.tolist() == body.free.tolist()
    with pytest.raises(MeshError, match="node 0 of the mesh belongs to no element"):
        assembly.solid(moved, assembly.steel, clamped=[0])
    with pytest.raises(MeshError, match="node numbers from 0 to"):
        assembly.solid(moved, assembly.steel, pinned=[len(points)])


def one_line(fault: pytest.ExceptionInfo[MeshError]) -> str:
    text = str(fault.value)
    assert "\n" not in text
    return text


def test_inverted_element_is_named() -> None:
    mesh = distorted_mesh("tet10")
    mesh.cells[0].data[7, [0, 1]] = mesh.cells[0].data[7, [1, 0]]
    with pytest.raises(MeshError) as fault:
        assembly.solid(mesh, assembly.steel)
    assert "element 7 of the tetra10 cells is inverted" in one_line(fault)


def test_missing_set_names_those_present() -> None:
    with pytest.raises(MeshError) as fault:
        assembly.solid(distorted_mesh("hex8"), assembly.steel, clamped="root")
    assert '"root"' in one_line(fault)
    assert "x0, x1, y0, y1, z0, z1" in one_line(fault)


def test_unsupported_cells_are_named() -> None:
    wedge = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], float)
    mesh = meshio.Mesh(wedge, [("wedge", np.arange(6)[None])])
    with pytest.raises(MeshError, match="wedge"):
        assembly.solid(mesh, assembly.steel)
    flat = meshio.Mesh(wedge[:3], [("triangle", np.arange(3)[None])])
    with pytest.raises(MeshError, match="it has: triangle"):
        assembly.solid(flat, assembly.steel)


def test_coordinate_that_is_not_a_number() -> None:
    mesh = distorted_mesh("hex8")
    mesh.points[5, 1] = np.nan
    with pytest.raises(MeshError, match="node 5"):
        assembly.solid(mesh, assembly.steel)


def test_plane_mesh_that_leaves_its_plane() -> None:
    mesh = distorted_mesh("q4")
    points = np.column_stack([mesh.points, np.linspace(0.0, 1.0, len(mesh.points))])
    with pytest.raises(MeshError, match="plane"):
        assembly.plane(meshio.Mesh(points, mesh.cells), assembly.steel)


@pytest.mark.parametrize(
    "text", ("nonsense", "*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D99\n1, 1\n", "")
)
def test_unreadable_files(tmp_path: Path, text: str) -> None:
    for suffix in (".inp", ".msh", ".vtk", ".bdf"):
        path = tmp_path / f"bad{suffix}"
        path.write_text(text)
        with pytest.raises(MeshError) as fault:
            assembly.solid(path, assembly.steel)
        assert str(path) in one_line(fault)
    with pytest.raises(MeshError, match="no such file"):
        assembly.solid(tmp_path / "absent.msh", assembly.steel)


def test_pin_that_leaves_no_rotation() -> None:
    with pytest.raises(MeshError, match="pinned"):
        assembly.solid(distorted_mesh("hex8"), assembly.steel, pinned="x0")


def test_negative_density() -> None:
    with pytest.raises(MaterialError, match="rho"):
        assembly.Material(E=210e9, nu=0.3, rho=-7850.0)


def test_many_blocks_and_kinds_are_one_body() -> None:
    """One block per tetrahedron beside bricks: the same matrices as two blocks."""
    mesh = distorted_mesh("hex8", 0.0)
    cells = mesh.cells[0].data
    low, high = cells[:2], cells[2:]
    tets = np.concatenate([high[:, [0, 1, 3, 4]], high[:, [1, 2, 3, 6]], high[:, [4, 6, 5, 1]]])
    tets = np.concatenate([tets, high[:, [4, 7, 6, 3]], high[:, [1, 3, 4, 6]]])
    whole = meshio.Mesh(mesh.points, [("hexahedron", low), ("tetra", tets)])
    split = [("hexahedron", low[:1]), ("hexahedron", low[1:])] + [("tetra", t[None]) for t in tets]
    expected = assembly.solid(whole, assembly.steel).operators
    found = assembly.solid(meshio.Mesh(mesh.points, split), assembly.steel).operators
    assert abs(found.K - expected.K).max() < 1e-12 * abs(expected.K).max()
    assert volume(assembly.solid(whole, assembly.steel)) == pytest.approx(0.6 * 0.4 * 0.3)


def marked_mesh() -> meshio.Mesh:
    """A box of bricks and the faces of its root, x = 0.2."""
    mesh = distorted_mesh("hex8")
    root, cells = mesh.point_sets["x0"], mesh.cells[0].data
    faces = np.array([c[[0, 4, 7, 3]] for c in cells if np.isin(c[[0, 4, 7, 3]], root).all()])
    assert len(faces) == 4
    return meshio.Mesh(mesh.points, [("quad", faces), ("hexahedron", cells)])


@pytest.mark.parametrize("style", ("msh 2.2", "med", "vtk cells", "vtk nodes"))
def test_named_sets(tmp_path: Path, style: str) -> None:
    mesh = marked_mesh()
    root = np.flatnonzero(abs(mesh.points[:, 0] - 0.2) < 1e-12)
    sizes = [len(block.data) for block in mesh.cells]
    tags = [np.full(size, tag) for size, tag in zip(sizes, (3, 8), strict=True)]
    path = tmp_path / ("box" + {"m": ".msh", "v": ".vtu"}[style[0]])
    if style.startswith("msh"):
        mesh.field_data = {"root": np.array([3, 2]), "part": np.array([8, 3])}
        mesh.cell_data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
        meshio.write(path, mesh, file_format="gmsh22")
    elif style == "med":
        path = path.with_suffix(".med")
        mesh.cell_data = {"cell_tags": [-tag for tag in tags]}
        mesh.cell_tags = {-3: ["root"], -8: ["part"]}
        meshio.write(path, mesh)
    else:
        if style == "vtk cells":
            mesh.cell_data = {"root": [np.ones(sizes[0], int), np.zeros(sizes[1], int)]}
        else:
            mesh.point_data = {"root": np.isin(np.arange(len(mesh.points)), root).astype(int)}
        meshio.write(path, mesh)
    body = assembly.solid(path, assembly.steel, clamped="root")
    assert body.sets["root"].tolist() == root.tolist()
    assert set(body.sets) <= {"root", "part"}


def test_calculix_deck_in_pieces(tmp_path: Path) -> None:
    """*INCLUDE, one set over two blocks of elements, a block without a set before them."""
    mesh = distorted_mesh("hex8")
    nodes = [
        f"{10 * k}, {x[0]!r}, {x[1]!r}, {x[2]!r}" for k, x in enumerate(mesh.points.tolist(), 1)
    ]
    (tmp_path / "nodes.inp").write_text("\n".join(["*node, nset=ALL", *nodes]) + "\n")
    cells = 10 * (mesh.cells[0].data + 1)
    lines = ["*INCLUDE, INPUT=nodes.inp"]
    for start, stop, label in (
        (0, 2, ""),
        (2, 5, ", ELSET=LEFT"),
        (5, 9, ""),
        (9, 12, ", ELSET=LEFT"),
    ):
        lines.append(f"*ELEMENT, TYPE=C3D8I{label}")
        lines += [", ".join(map(str, [100 + k, *cells[k]])) for k in range(start, stop)]
    lines += ["*ELSET, ELSET=REST, GENERATE", "100, 101, 1", "105, 108", "*ELSET, ELSET=BOTH"]
    lines += ["LEFT, REST", "*STEP", "*STATIC", "0.1, 1.", "*END STEP"]
    path = tmp_path / "job.inp"
    path.write_text("\n".join(lines) + "\n")
    found = assembly.solid(path, {"LEFT": assembly.steel, "REST": assembly.aluminium})
    expected = np.unique(mesh.cells[0].data[[2, 3, 4, 9, 10, 11]])
    assert found.sets["LEFT"].tolist() == expected.tolist()
    assert found.sets["BOTH"].tolist() == list(range(len(mesh.points)))
    one = assembly.solid(path, {"BOTH": assembly.steel})
    same = assembly.solid(mesh, assembly.steel)
    assert abs(one.operators.K - same.operators.K).max() < 1e-10 * same.operators.K.max()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("*NODE\n1, 0, 0, 0\n1, 1, 0, 0\n", "line 1: \\*NODE: node 1 has two positions"),
        ("*NODE\n1, 0, 0, zero\n", "line 1: \\*NODE: could not convert"),
        ("*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3\n", "C3D4 needs a number and 4"),
        ("*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n", "names node 2"),
        ("*NODE\n1, 0, 0, 0\n*NSET, NSET=A\nB\n", "names the set B"),
        ("*NODE\n1, 0, 0, 0\n*NSET, NSET=A\n7\n", "set A names node 7"),
        ("*INCLUDE, INPUT=absent.inp\n", "absent.inp: no such file"),
    ],
)
def test_faulty_decks(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.inp"
    path.write_text(text)
    with pytest.raises(MeshError, match=said) as fault:
        assembly.solid(path, assembly.steel)
    one_line(fault)
