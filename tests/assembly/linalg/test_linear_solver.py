"""How linear systems are solved: on disk, by conjugate gradients, from one triangle; one rank.

Runs of several ranks are in tests/modal/maps/test_ranks.py.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import modal
from assembly.bodies.body import Body
from assembly.elements import scatter
from assembly.errors import ConvergenceError, InputError, SingularSystemError, StorageError
from assembly.gallery import block
from assembly.linalg import multigrid
from assembly.linalg.combination import Combination, Kronecker
from assembly.linalg.factorization import Factorization, Structure
from assembly.linalg.solver import VARIABLE, linear_solver
from assembly.linalg.symmetric import Symmetric, upper_triangle
from tests.support.paths import ROOT

SIZE = (1.0, 0.2, 0.15)  # m; no double frequency, so that tracks have one order at rest
SWEEP = dict(omega=np.linspace(0.0, 300.0, 5), axis=(0.0, 0.0, 1.0), k=3)


@pytest.fixture(scope="module")
def body() -> Body:
    return block(8, 3, 3, size=SIZE)


@pytest.fixture(scope="module")
def stiffness(body: Body) -> sp.csr_matrix:
    return body.freeze().K


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("structure", ["spd", "symmetric", "general"])
def test_a_factor_on_disk_solves_as_one_in_memory(
    stiffness: sp.csr_matrix, structure: Structure, tmp_path: Path
) -> None:
    b = np.random.default_rng(0).standard_normal((stiffness.shape[0], 20))
    expected = np.linalg.solve(stiffness.toarray(), b)
    with linear_solver(out_of_core=tmp_path, least=100):
        with Factorization(stiffness, structure) as factor:
            assert files(tmp_path)
            for k in (1, 20):
                np.testing.assert_allclose(factor.solve(b[:, :k]), expected[:, :k], rtol=1e-8)
            np.testing.assert_allclose(factor.solve(b[:, 0]), expected[:, 0], rtol=1e-8)
        assert not files(tmp_path)
    assert not list(tmp_path.iterdir()) and VARIABLE not in os.environ


def test_small_matrices_stay_in_memory(stiffness: sp.csr_matrix, tmp_path: Path) -> None:
    with linear_solver(out_of_core=tmp_path), Factorization(stiffness, "spd"):
        assert not files(tmp_path)


def test_tracks_on_disk_equal_those_in_memory(body: Body, tmp_path: Path) -> None:
    expected = modal.track(body, **SWEEP).eigenvalue.values
    with linear_solver(out_of_core=tmp_path, least=100):
        found = modal.track(body, **SWEEP).eigenvalue.values
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_files_of_a_killed_run_are_removed_by_the_next(
    stiffness: sp.csr_matrix, tmp_path: Path
) -> None:
    """kill -9 leaves them; a run that is alive keeps its own."""
    program = (
        "import sys; from pathlib import Path; from assembly.linalg.solver import scratch\n"
        "with scratch(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'factor').write_text('x'); print(folder, flush=True); sys.stdin.read()\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    with linear_solver(out_of_core=tmp_path):
        assert (left / "factor").exists()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left.exists()
    with linear_solver(out_of_core=tmp_path):
        assert not left.exists()


def test_an_exception_leaves_no_files(stiffness: sp.csr_matrix, tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        linear_solver(out_of_core=tmp_path, least=100),
        Factorization(stiffness, "spd"),
    ):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Files cannot grow beyond a size: a write fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_error(stiffness: sp.csr_matrix, tmp_path: Path) -> None:
    Factorization(stiffness, "spd", small=0).destroy()  # MPI and PETSc have their own files
    with linear_solver(out_of_core=tmp_path, least=100), largest_file(65536):
        with pytest.raises(StorageError, match="could not be written"):
            Factorization(stiffness, "spd")
    assert not list(tmp_path.iterdir())


def test_bad_arguments(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, words in ((tmp_path / "file", "not a folder"), (tmp_path / ("x" * 250), "longer")):
        with pytest.raises(InputError, match=words), linear_solver(out_of_core=place):
            pass
    with pytest.raises(InputError, match="method"), linear_solver("krylov"):  # type: ignore[arg-type]
        pass
    with pytest.raises(InputError, match="comm"), linear_solver(comm=3):
        pass


# Conjugate gradients.


def test_a_sweep_by_conjugate_gradients(body: Body) -> None:
    """The certificate is that of the direct solver, and so are the eigenvalues."""
    expected = modal.track(body, **SWEEP)
    with linear_solver("iterative", least=100):
        found = modal.track(block(8, 3, 3, size=SIZE), **SWEEP)
    np.testing.assert_allclose(found.eigenvalue.values, expected.eigenvalue.values, rtol=1e-8)
    assert float((found.condition_number * found.backward_error).max()) < 1e-7


def test_rigid_motions_make_few_iterations(stiffness: sp.csr_matrix, body: Body) -> None:
    """Smoothed aggregation without the rotations needs more of them."""
    b = np.random.default_rng(0).standard_normal(stiffness.shape[0])
    counts = []
    for fields in (slice(None), slice(3)):
        motions = body.free_dofs.rigid_motions()
        assert motions.block == 3
        solver = multigrid.MultigridSolver(
            (stiffness, motions.fields[:, fields]), stiffness.shape[0], motions.block
        )
        x = solver.solve(b, False)
        assert np.linalg.norm(stiffness @ x - b) < 1e-10 * np.linalg.norm(b)
        counts.append(solver.iterations)
        solver.destroy()
    assert counts[0] < counts[1]


def test_conjugate_gradients_refuse_what_they_cannot_solve(
    stiffness: sp.csr_matrix, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = stiffness.shape[0]
    motions = body.free_dofs.rigid_motions()
    indefinite = sp.csr_matrix(stiffness - 1e-2 * abs(stiffness).max() * sp.identity(n))
    solver = multigrid.MultigridSolver((indefinite, motions.fields), n, 3)
    with pytest.raises((SingularSystemError, ConvergenceError)):
        solver.solve(np.ones(n), False)
    solver.destroy()
    monkeypatch.setattr(multigrid, "MOST_STEPS", 2)
    solver = multigrid.MultigridSolver((stiffness, motions.fields), n, 3)
    with pytest.raises(ConvergenceError, match="2 iterations"):
        solver.solve(np.ones(n), False)
    solver.destroy()
    fresh = block(8, 3, 3, size=SIZE)
    with linear_solver("iterative", least=100):
        with pytest.raises(ConvergenceError, match="2 iterations"):
            modal.track(fresh, **SWEEP)
    with linear_solver(least=100):
        modal.track(fresh, **SWEEP)  # by a factor


# Storage.


def random_symmetric(n: int) -> sp.csr_matrix:
    A = sp.random(n, n, density=0.1, random_state=np.random.default_rng(3), format="csr")
    return sp.csr_matrix(A + A.T + sp.diags(np.arange(1.0, n + 1.0)))


def test_one_triangle_is_the_matrix() -> None:
    A = random_symmetric(60)
    half, dense = Symmetric.of(A), A.toarray()
    np.testing.assert_array_equal(upper_triangle(A).toarray(), np.triu(dense))
    np.testing.assert_array_equal(half.tocsr().toarray(), dense)
    np.testing.assert_array_equal(half.diagonal(), np.diag(dense))
    keep = np.array([0, 3, 4, 17, 40])
    np.testing.assert_array_equal(half.restricted(keep).tocsr().toarray(), dense[keep][:, keep])
    for x in (np.arange(60.0), np.random.default_rng(1).standard_normal((60, 3))):
        np.testing.assert_allclose(half @ x, dense @ x, rtol=1e-13, atol=1e-12)


def test_triangles_of_a_combination() -> None:
    """Sums of all kinds of operators: the triangle and the diagonal of the whole matrix."""
    A, m = random_symmetric(60), random_symmetric(20)
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    terms = (A, Symmetric.of(A), Kronecker(m, np.eye(3)), Kronecker(m, a))
    total = Combination.of(60, (1.0, 0.5, 2.0, -3.0), terms)
    dense = total.tocsr().toarray()
    expected = 1.5 * A.toarray() + np.kron(m.toarray(), 2.0 * np.eye(3) - 3.0 * a)
    np.testing.assert_allclose(dense, expected, atol=1e-12)
    np.testing.assert_allclose(total.upper_triangle().toarray(), np.triu(dense), atol=1e-12)
    np.testing.assert_allclose(total.diagonal(), np.diag(dense), atol=1e-12)


def test_large_bodies_are_stored_by_one_triangle(
    body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same stiffness, and the same tracks to round-off."""
    expected = modal.track(body, **SWEEP).eigenvalue.values
    monkeypatch.setattr(scatter, "LARGE", 0)
    monkeypatch.setattr(scatter, "ENTRIES", 1000)
    large = block(8, 3, 3, size=SIZE)
    assert isinstance(large.supported.K, Symmetric)
    difference = large.freeze().K - body.freeze().K
    assert abs(difference).max() < 1e-15 * abs(body.freeze().K).max()
    np.testing.assert_allclose(modal.track(large, **SWEEP).eigenvalue.values, expected, rtol=1e-10)
