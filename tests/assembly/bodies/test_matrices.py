"""Bodies from the matrices of other programs, against the same solid assembled here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import assembly
from assembly.errors import InputError
from tests.support.continua import body

MOTION = dict(omega=(110.0, -70.0, 230.0), epsilon=(900.0, 400.0, -1500.0))


@pytest.fixture(scope="module")
def solid() -> assembly.Body:
    return body("tet10", clamped="x0")


def assert_same(found: assembly.FrozenSystem, expected: assembly.FrozenSystem, names: str) -> None:
    for name in names.split():
        A, B = getattr(found, name), getattr(expected, name)
        assert abs(A - B).max() <= 1e-12 * abs(B).max(), name


def test_matrices_before_supports(solid: assembly.Body) -> None:
    """G, S and the inertia loads follow from M and the coordinates."""
    full = solid.operators
    given = assembly.from_matrices(
        full.M.tocsr(), full.K, solid.dofs.coordinates, clamped=solid.sets["x0"]
    )
    found, expected = given.freeze(**MOTION), solid.freeze(**MOTION)
    assert_same(found, expected, "M C K K_epsilon K_omega2")
    np.testing.assert_allclose(found.Q, expected.Q, atol=1e-12 * abs(expected.Q).max())


def test_matrices_after_supports_in_any_order(solid: assembly.Body) -> None:
    """Some nodes without unknowns, and the unknowns shuffled."""
    expected = solid.freeze(**MOTION)
    order = np.random.default_rng(3).permutation(expected.n)
    dofs = np.column_stack([expected.dofs.node, expected.dofs.component])[order]
    given = assembly.from_matrices(
        expected.M[order][:, order], expected.K[order][:, order], solid.dofs.coordinates, dofs
    )
    table = np.full((len(solid.dofs.coordinates), 3), -1)
    table[dofs[:, 0], dofs[:, 1]] = np.arange(expected.n)
    same = assembly.from_matrices(
        expected.M[order][:, order], expected.K[order][:, order], solid.dofs.coordinates, table
    )
    assert np.array_equal(same.dofs.node, given.dofs.node)
    assert np.array_equal(same.dofs.component, given.dofs.component)
    found = given.freeze(**MOTION)
    for name in ("M", "C", "K", "K_epsilon", "K_omega2"):
        B = getattr(expected, name)[order][:, order]
        assert abs(getattr(found, name) - B).max() <= 1e-12 * abs(B).max(), name


def test_node_with_some_components_held(solid: assembly.Body) -> None:
    """A roller takes one component of some nodes: the scalar mass is read from the others."""
    fixed = solid.fixed.copy()
    fixed[solid.dofs.of_nodes(solid.sets["y0"], [1])] = True
    keep = np.flatnonzero(~fixed)
    dofs = np.column_stack([solid.dofs.node, solid.dofs.component])[keep]
    full = solid.operators
    M, K = full.M.tocsr()[keep][:, keep], full.K[keep][:, keep]
    given = assembly.from_matrices(M, K, solid.dofs.coordinates, dofs).freeze(**MOTION)
    whole = assembly.from_matrices(full.M.tocsr(), full.K, solid.dofs.coordinates).freeze(**MOTION)
    expected = whole.C[keep][:, keep]
    assert abs(given.C - expected).max() <= 1e-12 * abs(expected).max()


def test_geometric_stiffness_is_given_or_missed(solid: assembly.Body) -> None:
    full, free = solid.operators, solid.free
    unit = full.B[2].tocsr()
    given = assembly.from_matrices(
        full.M.tocsr(), full.K, solid.dofs.coordinates, geometric={"zz": unit}
    )
    found = given.freeze(omega=(0.0, 0.0, 50.0))
    assert abs(found.K_G - 2500.0 * unit).max() < 1e-12 * abs(2500.0 * unit).max()
    assert found.K_G[free][:, free].nnz > 0
    with pytest.raises(InputError, match='unit "xx"'):
        _ = given.freeze(omega=(50.0, 0.0, 0.0)).K_G


def test_given_stress_needs_no_statics() -> None:
    """A taut string across its axis: K is zero there, the given K_G alone holds it; one mass m
    between two ends at a distance h under the tension T ω² has the stiffness 2Tω²/h."""
    m, h, T, speed = 2.0, 0.5, 3.0, 7.0
    across = np.diag([0.0, T / h, T / h])
    string = assembly.from_matrices(
        np.kron(np.diag([m, m, m]), np.eye(3)),
        np.zeros((9, 9)),
        [(0, 0, 0), (h, 0, 0), (2 * h, 0, 0)],
        clamped=[0, 2],
        geometric={"xx": np.kron([[1, -1, 0], [-1, 2, -1], [0, -1, 1]], across)},
    )
    found = string.freeze(omega=(speed, 0.0, 0.0)).K_G.toarray()
    np.testing.assert_allclose(found, np.diag([0.0, 2.0, 2.0]) * T * speed**2 / h)


def test_matrix_market(solid: assembly.Body, tmp_path: Path) -> None:
    full, X = solid.operators, solid.dofs.coordinates
    scipy.io.mmwrite(tmp_path / "m.mtx", sp.coo_matrix(full.M.tocsr()), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "k.mtx", sp.coo_matrix(full.K), symmetry="symmetric", precision=17)
    rows = [
        f"{10 * n + 5}, {c + 1}, {X[n, 0]:.17g}, {X[n, 1]:.17g}, {X[n, 2]:.17g}"
        for n, c in zip(solid.dofs.node, solid.dofs.component, strict=True)
    ]
    (tmp_path / "map.csv").write_text("# node, component, x, y, z\n" + "\n".join(rows) + "\n")
    given = assembly.from_matrix_market(
        tmp_path / "m.mtx",
        tmp_path / "k.mtx",
        tmp_path / "map.csv",
        clamped=[10 * int(n) + 5 for n in solid.sets["x0"]],
    )
    assert_same(given.freeze(**MOTION), solid.freeze(**MOTION), "M C K K_epsilon K_omega2")


def test_abaqus_matrix_input(solid: assembly.Body, tmp_path: Path) -> None:
    full, X = solid.operators, solid.dofs.coordinates
    label = {n: 7 * n + 3 for n in range(len(X))}
    deck = ["*NODE"] + [
        f"{label[n]}, {x[0]:.17g}, {x[1]:.17g}, {x[2]:.17g}" for n, x in enumerate(X)
    ]
    (tmp_path / "job.inp").write_text("\n".join(deck) + "\n")
    for name, A in (("stif", full.K), ("mass", full.M.tocsr())):
        half = sp.tril(A).tocoo()
        rows = [
            f"{label[i // 3]},{i % 3 + 1},{label[j // 3]},{j % 3 + 1},{v:.17e}"
            for i, j, v in zip(half.row, half.col, half.data, strict=True)
        ]
        (tmp_path / f"job_{name}.mtx").write_text("\n".join(rows) + "\n")
    paths = [tmp_path / name for name in ("job.inp", "job_stif.mtx", "job_mass.mtx")]
    given = assembly.from_abaqus(*paths)
    free = assembly.from_matrices(full.M.tocsr(), full.K, X)
    assert_same(given.freeze(**MOTION), free.freeze(**MOTION), "M C K K_epsilon K_omega2")


def test_nastran_op4(solid: assembly.Body, tmp_path: Path) -> None:
    pytest.importorskip("pyyeti")
    from pyyeti.nastran import op4

    full, X = solid.operators, np.round(solid.dofs.coordinates, 6)
    place = (6 * np.arange(len(X))[:, None] + np.arange(3)).ravel()
    spread = sp.csr_matrix(
        (np.ones(len(place)), (place, np.arange(len(place)))), (6 * len(X), len(place))
    )
    matrices = {
        "MGG": (spread @ full.M.tocsr() @ spread.T).toarray(),
        "KGG": (spread @ full.K @ spread.T).toarray(),
    }
    op4.write(str(tmp_path / "job.op4"), matrices)
    grids = [f"GRID,{n + 1},,{x[0]:.6f},{x[1]:.6f},{x[2]:.6f}" for n, x in enumerate(X)]
    (tmp_path / "job.bdf").write_text("\n".join(["BEGIN BULK", *grids, "ENDDATA"]) + "\n")
    given = assembly.from_nastran(tmp_path / "job.op4", tmp_path / "job.bdf")
    free = assembly.from_matrices(full.M.tocsr(), full.K, X)
    assert_same(given.freeze(**MOTION), free.freeze(**MOTION), "M C K K_epsilon K_omega2")


def test_beam_matrices_are_refused() -> None:
    beam = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4)
    full = beam.operators
    with pytest.raises(InputError, match="rotations"):
        assembly.from_matrices(full.M.tocsr(), full.K.tocsr(), beam.dofs.coordinates, beam.dofs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (dict(K=np.eye(5)), "one shape"),
        (dict(M=np.triu(np.ones((6, 6)))), "M: must be symmetric"),
        (dict(M=np.full((6, 6), np.nan)), "not finite"),
        (dict(M=np.diag([1.0, 2.0, 1.0] * 2)), "different masses"),
        (dict(M=np.eye(6) + 0.1 * (np.eye(6, k=1) + np.eye(6, k=-1))), "couple directions"),
        (dict(coordinates=np.zeros((3, 3))), "6 DOFs are not 3"),
        (dict(dofs=[(0, 0)] * 6), "appears twice"),
        (dict(dofs=[(k, 0) for k in range(6)]), "node numbers"),
        (dict(geometric={"zx": np.eye(6)}), "no unit 'zx'"),
    ],
)
def test_faults(change: dict[str, object], said: str) -> None:
    given = dict(M=np.eye(6), K=np.eye(6), coordinates=np.zeros((2, 3))) | change
    with pytest.raises(InputError, match=said) as fault:
        assembly.from_matrices(**given)
    assert "\n" not in str(fault.value)
