"""Files for other programs, read back by those programs' libraries, and MAC."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import meshio
import numpy as np
import pytest
import pyuff
import scipy.io
import scipy.sparse as sp

import assembly
import modal
from assembly import gallery
from assembly.errors import InputError, StorageError
from studies import slider_crank


@pytest.fixture(scope="module")
def blade() -> assembly.Body:
    section = assembly.rectangle(0.05, 0.02)
    return assembly.beam(1.0, section, assembly.steel, 12, clamped="start")


@pytest.fixture(scope="module")
def spinning(blade: assembly.Body) -> modal.Modes:
    return modal.solve(blade.freeze(omega=(0, 30, 200.0)), k=4)


def test_shapes_of_a_blade_as_vtu(
    tmp_path: Path, blade: assembly.Body, spinning: modal.Modes
) -> None:
    path = modal.write_shapes(tmp_path / "modes.vtu", blade, spinning)
    mesh = meshio.read(path)
    np.testing.assert_array_equal(mesh.points, blade.dofs.coordinates)
    assert mesh.cells[0].type == "line" and len(mesh.cells[0].data) == 12
    dofs = blade.free_dofs
    for j in range(4):
        shape = dofs.displacement(spinning.right[:, j])
        np.testing.assert_array_equal(mesh.point_data[f"mode {j + 1} real"], shape.real)
        np.testing.assert_array_equal(mesh.point_data[f"mode {j + 1} imag"], shape.imag)


def test_shapes_of_a_solid_keep_its_cells(tmp_path: Path) -> None:
    block = gallery.block(4, 2, 2)
    modes = modal.solve(block.freeze(), k=2)
    mesh = meshio.read(modal.write_shapes(tmp_path / "block.vtu", block, modes))
    assert [block.type for block in mesh.cells] == ["hexahedron"]
    assert len(mesh.cells[0].data) == 16
    assert set(mesh.point_data) == {"mode 1 real", "mode 2 real"}


def test_pyvista_draws_the_shapes_of_a_solid(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    block = gallery.block(4, 2, 2)
    modes = modal.solve(block.freeze(), k=1)
    mesh = pyvista.read(modal.write_shapes(tmp_path / "block.vtu", block, modes))
    assert (mesh.n_points, mesh.n_cells) == (len(block.dofs.coordinates), 16)
    moved = mesh.warp_by_vector("mode 1 real")
    np.testing.assert_allclose(moved.points - mesh.points, mesh["mode 1 real"], atol=1e-6)
    plotter = pyvista.Plotter(off_screen=True)
    plotter.add_mesh(moved, scalars="mode 1 real")
    plotter.screenshot(tmp_path / "block.png")
    assert (tmp_path / "block.png").stat().st_size > 1000


def test_shapes_of_a_mechanism_are_where_it_stands(tmp_path: Path) -> None:
    mechanism = slider_crank.model()
    t = 0.004
    modes = modal.solve(mechanism.freeze(t=t), k=2)
    mesh = meshio.read(modal.write_shapes(tmp_path / "crank.vtu", mechanism, modes, t))
    standing = mechanism.deployed(t, modes.right[:, 1])
    np.testing.assert_allclose(mesh.points, np.concatenate([p for p, _ in standing.values()]))
    moved = np.concatenate([u for _, u in standing.values()])
    np.testing.assert_allclose(mesh.point_data["mode 2 real"], moved.real, atol=1e-15)


def test_a_motion_as_a_pvd_series(tmp_path: Path, blade: assembly.Body) -> None:
    shape = np.zeros(len(blade.free))
    shape[blade.free_dofs.index(12, 2)] = 1e-3
    times = [0.0, 0.25, 0.5]
    path = modal.write_motion(
        tmp_path / "swing.pvd", blade, times, np.outer([0, 1, 2], shape), scale=10
    )
    entries = ET.parse(path).getroot().findall("Collection/DataSet")
    assert [float(e.get("timestep", "nan")) for e in entries] == times
    last = meshio.read(tmp_path / str(entries[-1].get("file")))
    assert last.points[12, 2] == pytest.approx(0.02)
    assert last.point_data["displacement"][12, 2] == pytest.approx(2e-3)


def test_shapes_as_universal_file(
    tmp_path: Path, blade: assembly.Body, spinning: modal.Modes
) -> None:
    """Round trip, and the datasets as pyuff reads them."""
    shapes = modal.shape_set(blade, spinning)
    path = modal.write_uff(tmp_path / "modes.uff", shapes)
    assert pyuff.UFF(str(path)).get_set_types().tolist() == [15, 55, 55, 55, 55]
    again = modal.read_uff(path)
    np.testing.assert_allclose(again.points, shapes.points, atol=1e-6)
    size = np.abs(shapes.displacements).max()
    np.testing.assert_allclose(again.displacements, shapes.displacements, atol=1e-5 * size)
    np.testing.assert_allclose(again.eigenvalues, shapes.eigenvalues, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(np.diag(modal.mac(shapes, again)), 1.0, atol=1e-8)


def test_frequency_responses_as_universal_file(tmp_path: Path, blade: assembly.Body) -> None:
    system = blade.with_damping(b=1e-5).freeze()
    response = modal.frequency_response(
        system, np.linspace(1.0, 50.0, 20), {(12, "uz"): 1.0}, [(12, "uz"), (6, "uz")]
    )
    sets = pyuff.UFF(str(modal.write_uff(tmp_path / "frf.uff", response))).read_sets()
    assert [(s["type"], s["rsp_node"], s["rsp_dir"]) for s in sets] == [(58, 13, 3), (58, 7, 3)]
    for k, one in enumerate(sets):
        np.testing.assert_allclose(one["x"], response["frequency"].values, rtol=1e-5)
        values = response["displacement"].values[:, k]
        np.testing.assert_allclose(one["data"], values, atol=1e-6 * np.abs(values).max())


def test_mac_of_orthogonal_and_equal_shapes() -> None:
    X = np.eye(4, 3) + 0j
    Y = np.column_stack([1j * X[:, 0], X[:, 0] + X[:, 1], X[:, 2]])
    expected = [[1.0, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(modal.mac(X, Y), expected, atol=1e-15)


def test_mac_of_a_beam_and_a_finer_one_at_the_points_of_a_test() -> None:
    """Four accelerometers; the shapes of both meshes agree there."""
    sets = []
    for elements in (8, 24):
        body = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.02), assembly.steel, elements, clamped="start"
        )
        sets.append(modal.shape_set(body, modal.solve(body.freeze(), k=3)))
    few = modal.ShapeSet(
        sets[0].points[2::2], sets[0].displacements[:, 2::2], sets[0].frequency,
        sets[0].eigenvalues,
    )  # fmt: skip
    values = modal.mac(few, sets[1]).values
    assert values.shape == (3, 3)
    np.testing.assert_allclose(np.diag(values), 1.0, atol=1e-3)
    moved = modal.ShapeSet(
        few.points + [0, 0.01, 0], few.displacements, few.frequency, few.eigenvalues
    )
    with pytest.raises(InputError, match="allowed is"):
        modal.mac(moved, sets[1])
    np.testing.assert_allclose(modal.mac(moved, sets[1], distance=0.02), values)


@pytest.mark.parametrize("suffix", [".mtx", ".npz"])
def test_matrices_out_as_they_come_in(tmp_path: Path, blade: assembly.Body, suffix: str) -> None:
    system = blade.with_damping(b=1e-5).freeze(omega=(0, 0, 100.0))
    files = modal.write_matrices(tmp_path / f"blade{suffix}", system)
    read = scipy.io.mmread if suffix == ".mtx" else sp.load_npz
    for file, matrix in zip(files, (system.M, system.damping, system.stiffness), strict=True):
        assert abs(sp.csr_matrix(read(file)) - matrix).max() == 0.0
    assert [file.name for file in files] == [f"blade_{k}{suffix}" for k in "MCK"]


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda b, m, p: modal.write_shapes(p / "a.txt", b, m), InputError, "ends in .vtu"),
        (lambda b, m, p: modal.write_shapes(p / "no" / "a.vtu", b, m), StorageError, "written"),
        (lambda b, m, p: modal.write_shapes(p / "a.vtu", "blade", m), InputError, "mechanism"),
        (lambda b, m, p: modal.shape_set(b, np.ones((5, 2))), InputError, "degrees of freedom"),
        (lambda b, m, p: modal.write_motion(p / "a.pvd", b, [0.0], [[1.0]] * 2), InputError, "row"),
        (lambda b, m, p: modal.write_matrices(p / "a.dat", b.freeze()), InputError, ".mtx"),
        (lambda b, m, p: modal.write_uff(p / "a.uff", 3), InputError, "ShapeSet"),
        (lambda b, m, p: modal.read_uff(p / "none.uff"), StorageError, "no such file"),
        (lambda b, m, p: modal.mac(np.ones((3, 1)), np.ones((4, 1))), InputError, "shape_set"),
        (lambda b, m, p: modal.mac(np.zeros((3, 1)), np.ones((3, 1))), InputError, "zero"),
    ],
)
def test_bad_input_is_named(
    blade: assembly.Body, spinning: modal.Modes, tmp_path: Path, call: object,
    error: type[Exception], words: str,
) -> None:  # fmt: skip
    with pytest.raises(error, match=words):
        call(blade, spinning, tmp_path)  # type: ignore[operator]
