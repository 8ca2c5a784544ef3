"""The block method on free bodies and on stiffness with negative eigenvalues, against LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import assembly
from assembly import FrozenSystem
from assembly.errors import ConvergenceError, SingularSystemError
from assembly.gallery import block
from assembly.linalg.factorization import Factorization
from modal import solve
from modal.eigen.checked_modes import ModeProblem, checked_modes
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.block import BlockSolver
from modal.eigen.solvers.dense import solve_dense
from modal.eigen.solvers.shape_basis import ShapeBasis
from modal.eigen.solvers.symmetric_stiffness import SymmetricStiffness, has_symmetric_null_space
from modal.types import Array

SECTION = assembly.rectangle(0.05, 0.02)


def beam(clamped: Literal["start"] | None, a: float = 0.0, b: float = 0.0) -> assembly.Body:
    body = assembly.beam(1.0, SECTION, assembly.steel, 20, clamped=clamped)
    return body.with_damping(a=a, b=b) if a or b else body


def solid(clamped: str | None, a: float = 0.0, b: float = 0.0) -> assembly.Body:
    body = block(4, 1, 1, "hex20", clamped=clamped)
    return body.with_damping(a=a, b=b) if a or b else body


MACHINES: dict[str, Callable[[], FrozenSystem]] = {
    "free beam": lambda: beam(None).freeze(),
    "free beam, internal damping": lambda: beam(None, b=1e-6).freeze(),
    "free beam, mass damping": lambda: beam(None, a=6.0, b=1e-6).freeze(),
    "free beam that spins": lambda: beam(None, a=6.0, b=1e-6).freeze(omega=(0.0, 0.0, 200.0)),
    "free solid": lambda: solid(None).freeze(),
    "free solid, damped": lambda: solid(None, b=1e-6).freeze(),
    "free solid that spins up": lambda: solid(None, a=6.0, b=1e-6).freeze(
        omega=(0.0, 0.0, 300.0), epsilon=(0.0, 0.0, 1e4)
    ),
    "beam beyond its critical speed": lambda: beam("start").freeze(omega=(400.0, 0.0, 0.0)),
    "damped beam beyond it": lambda: beam("start", a=3.0, b=1e-6).freeze(omega=(400.0, 0.0, 0.0)),
    "solid beyond its critical speed": lambda: solid("x0").freeze(omega=(1500.0, 0.0, 0.0)),
    "damped solid that spins up beyond it": lambda: solid("x0", a=6.0, b=1e-6).freeze(
        omega=(1500.0, 0.0, 0.0), epsilon=(1e5, 0.0, 0.0)
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_modes_are_those_of_lapack(name: str) -> None:
    """Right and left vectors at round-off, the same eigenvalues, as many zeros left out."""
    system = MACHINES[name]()
    quadratic, chain = Quadratic(system), system.null_chain
    solver = BlockSolver(quadratic, chain, system.rigid)
    found = solver.find(8)
    solver.destroy()
    expected = solve_dense(quadratic, chain)
    lam = found.eigenvalues[:8]
    distance = np.abs(lam[:, None] - expected.eigenvalues[:9])
    rows, columns = linear_sum_assignment(distance)
    assert (distance[rows, columns] < 1e-8 * np.abs(lam)).all()
    assert np.abs(expected.eigenvalues[7]) >= np.abs(lam).max() * (1.0 - 1e-8)
    assert quadratic.backward_error(lam, found.right[:, :8]).max() < 1.01e-11
    if found.left is not None:
        left = quadratic.transposed.backward_error(found.eigenvalues, found.left.conj())
        assert left[:8].max() < 1.01e-10


def test_a_free_conservative_body_has_exactly_imaginary_eigenvalues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)
    modes = solve(block(6, 2, 2, "hex20", clamped=None).freeze(), k=8)
    assert modes.method == "block Rayleigh–Ritz"
    assert modes.deflated == 12
    assert not modes.eigenvalues.real.any()


@pytest.mark.parametrize("omega", [(5.0, 0.0, 0.0), (100.0, 0.0, 0.0)])
def test_a_free_solid_that_spins_is_solved_by_the_block_method(
    monkeypatch: pytest.MonkeyPatch, omega: tuple[float, float, float]
) -> None:
    """Slow spin leaves S next to singular; ±iΩ is defective. As LAPACK has it, nothing missed."""
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)
    system = block(10, 2, 2, clamped=None).freeze(omega=omega)
    modes = solve(system, k=10)
    assert modes.method == "block Rayleigh–Ritz"
    expected = np.abs(solve(system, k=10, backend="dense").eigenvalues)
    np.testing.assert_allclose(np.abs(modes.eigenvalues), expected, rtol=1e-4)  # √ of a defect
    np.testing.assert_allclose(np.abs(modes.eigenvalues[5:]), expected[5:], rtol=1e-9)
    assert modes.backward_error.max() < 1e-11


def indefinite(n: int, negative: int, null: int) -> tuple[FrozenSystem, Array]:
    """A stiffness with given inertia, its null fields known."""
    rng = np.random.default_rng(5)
    Q = la.qr(rng.standard_normal((n, n)))[0]
    values = np.geomspace(1.0, 1e4, n)
    values[null : null + negative] *= -3.0
    values[:null] = 0.0
    M = np.diag(rng.uniform(1.0, 2.0, n))
    K = Q * values @ Q.T
    system = FrozenSystem(M=M, K=0.5 * (K + K.T), C=np.zeros((n, n)), rigid=Q[:, :null])
    return system, Q[:, :null]


@pytest.mark.parametrize("negative", [0, 1, 5])
@pytest.mark.parametrize("null", [0, 2])
def test_the_operator_is_positive_definite_and_its_images_are_right(
    negative: int, null: int
) -> None:
    system, V = indefinite(40, negative, null)
    system = FrozenSystem(M=system.M, K=system.K)  # no rigid fields known: reflected
    reference = SymmetricStiffness(Quadratic(system), V, V[:, :0])
    whole = reference.apply(np.eye(40))
    np.testing.assert_allclose(whole, whole.T, atol=1e-9 * np.abs(whole).max())
    assert la.eigvalsh(0.5 * (whole + whole.T))[0] > 0.0
    assert reference.definite == (negative == 0)
    load = np.random.default_rng(1).standard_normal((40, 3))
    q, image = reference.solve(load)
    np.testing.assert_allclose(image, whole @ q, atol=1e-8 * np.abs(image).max())
    held = load - system.M @ (reference.null @ (reference.null.T @ load))
    np.testing.assert_allclose(system.K @ q, held, atol=1e-8 * np.abs(load).max())
    reference.destroy()


def test_a_free_body_has_its_elastic_stiffness_where_motion_softens_it() -> None:
    """K = elastic + what motion adds, with five negative eigenvalues; K_ref + softening = K."""
    system, V = indefinite(40, 5, 2)
    elastic, _ = indefinite(40, 0, 2)
    moving = FrozenSystem(M=system.M, K=elastic.K, K_omega2=system.K - elastic.K, rigid=V)
    reference = SymmetricStiffness(Quadratic(moving), V, V)
    whole = reference.apply(np.eye(40))
    assert not reference.definite and la.eigvalsh(0.5 * (whole + whole.T))[0] > 0.0
    motion = reference.softening - reference.added(np.eye(40))
    np.testing.assert_allclose(whole + motion, system.K.toarray(), atol=1e-8)
    reference.destroy()


@pytest.mark.parametrize("stiffness", [0.0, 1.0])
def test_a_stiffness_that_motion_softens_is_not_tried_as_positive_definite(
    monkeypatch: pytest.MonkeyPatch, stiffness: float
) -> None:
    """−Ω²M on the rigid motions says that S has no Cholesky factor: one factorization is made."""
    body = solid(None)
    for node in np.argmax(body.dofs.coordinates, axis=0) if stiffness else ():
        body = assembly.attach_spring(body, node, stiffness=stiffness)
    system = body.freeze(omega=(0.0, 0.0, 50.0))
    module = import_module("modal.eigen.solvers.symmetric_stiffness")
    made: list[str] = []

    def counted(A: Any, structure: str, **options: Any) -> Any:
        made.append(structure)
        return Factorization(A, structure, **options)

    monkeypatch.setattr(module, "Factorization", counted)
    null = np.zeros((system.n, 0))
    SymmetricStiffness(Quadratic(system), null, system.rigid).destroy()
    assert made == ["symmetric" if stiffness else "spd"]


def test_left_vectors_of_a_symmetric_damped_system_are_the_conjugate_right_ones() -> None:
    """Nothing is computed for them; those of a system that spins are vectors of their own."""
    body = solid("x0", a=1.0, b=1e-5)
    for omega, one_sided in ((0.0, True), (50.0, False)):
        quadratic = Quadratic(body.freeze(omega=(0.0, 0.0, omega)))
        solver = BlockSolver(quadratic)
        found = solver.find(4)
        solver.destroy()
        assert (found.left is None) == one_sided
        left = found.right.conj() if found.left is None else found.left
        error = quadratic.transposed.backward_error(found.eigenvalues, left.conj())
        assert error[:4].max() < 1e-10


def test_too_many_negative_eigenvalues_are_left_to_another_method() -> None:
    system, none = indefinite(80, 40, 0)
    with pytest.raises(ConvergenceError, match="40 negative eigenvalues"):
        SymmetricStiffness(Quadratic(system), none, none)


def test_a_null_space_that_is_not_known_is_an_error() -> None:
    K = sp.diags([np.r_[0.0, np.arange(1.0, 30.0)]], [0])
    none = np.zeros((30, 0))
    with pytest.raises((ConvergenceError, SingularSystemError)):
        SymmetricStiffness(Quadratic(FrozenSystem(M=np.eye(30), K=K)), none, none)


def test_a_null_space_of_an_unsymmetric_stiffness_is_compared_with_that_of_its_symmetric_part() -> (
    None
):
    """K = S + N with K v = 0 and S v = −N v ≠ 0: the left null field is another one."""
    K = np.diag([1.0, -1.0, 3.0, 4.0])
    K[0, 1], K[1, 0] = 1.0, -1.0  # K (1, −1, 0, 0) = 0
    v = np.array([[1.0, -1.0, 0.0, 0.0]]).T
    system = FrozenSystem(M=np.eye(4), K=np.diag(np.diag(K)), K_epsilon=K - np.diag(np.diag(K)))
    assert np.abs(system.stiffness @ v).max() == 0.0
    chained = FrozenSystem(M=np.eye(4), K=np.diag([0.0, 0.0, 3.0, 4.0]), rigid=v).null_chain
    assert not has_symmetric_null_space(Quadratic(system), chained)
    N = np.zeros((4, 4))
    N[2, 3], N[3, 2] = 1.0, -1.0
    free = FrozenSystem(M=np.eye(4), K=np.diag([0.0, 0.0, 3.0, 4.0]), K_epsilon=N, rigid=v)
    assert has_symmetric_null_space(Quadratic(free), chained)


@pytest.mark.parametrize("coupling", [1e-4, 1e-3])
def test_overdamped_modes_beside_a_zero_with_a_left_vector_of_its_own(
    monkeypatch: pytest.MonkeyPatch, coupling: float
) -> None:
    """A free chain with K = S + v wᵀ, v·w = 0, so that K v = 0 and Kᵀv ≠ 0. D = bS: beyond the
    lowest shapes the eigenvalues next to −1/b are smaller than those of the next ones."""
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)
    n, b = 150, 6.0
    S = sp.diags([np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1)], [0, 1], format="csr")
    S = sp.csr_matrix(S + sp.triu(S, 1).T)
    v, w = np.ones(n), coupling * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    coupled = sp.csr_matrix(np.outer(v, w) / n)
    system = FrozenSystem(sp.identity(n), D=b * S, K=S, K_epsilon=coupled, rigid=v[:, None])
    assert not has_symmetric_null_space(Quadratic(system), system.null_chain)
    modes, expected = solve(system, k=14), solve(system, k=14, backend="dense")
    assert modes.method == "block Rayleigh–Ritz"
    assert modes.deflated == expected.deflated == 2
    np.testing.assert_allclose(modes.eigenvalues, expected.eigenvalues, rtol=1e-8)


@pytest.mark.parametrize("elements", [30, 100, 200])
def test_overdamped_modes_are_those_of_the_lowest_shapes(elements: int) -> None:
    """D = bK with 2/b between two frequencies: λ² + bω²λ + ω² = 0 is next to −1/b for almost all ω.

    Both roots for the lowest ω come, the slow one first, by LAPACK and by the block method; they
    are the same on every mesh. The count ends at the first overdamped mode.
    """
    section = assembly.rectangle(0.05, 0.02)
    body = assembly.beam(1.0, section, assembly.steel, elements, clamped="start")
    omega = solve(body.freeze(), k=8).eigenvalues.imag
    b = 2.0 / (omega[1] + omega[2])
    damped = body.with_damping(b=b).freeze()
    modes = solve(damped, k=10, certify=True)
    expected = []
    for w in omega:
        root = np.roots([1.0, b * w**2, w**2])
        expected += [root[root.imag > 0.0]] if root.imag.any() else [np.sort(root)[::-1]]
    expected = np.concatenate(expected)[:10]
    np.testing.assert_allclose(modes.eigenvalues, expected, rtol=2e-6)
    assert (np.abs(modes.eigenvalues - expected) <= modes.error_bound + 1e-7 * abs(expected)).all()
    assert modes.method == ("dense LAPACK" if elements == 30 else "block Rayleigh–Ritz")
    assert modes.certified


def test_springs_below_the_round_off_of_a_beam_are_found_before_the_krylov_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The block method stops short; what the springs hold is free to round-off, and is left out
    before anything else is tried."""
    module = import_module("modal.eigen.solve")
    krylov = module._krylov

    def of_free_bodies(problem: Any, seed: int) -> Any:
        assert problem.rigid.shape[1]
        return krylov(problem, seed)

    monkeypatch.setattr(module, "_krylov", of_free_bodies)
    body = assembly.beam(2.0, assembly.rectangle(0.01, 0.01), assembly.steel, 300)
    body = body.with_damping(b=1e-4)
    for node in (0, 100, 300):
        body = assembly.attach_spring(body, node, stiffness=1e-4 * np.eye(6))
    modes = solve(body.freeze(omega=(0.0, 0.0, 1.0)), k=5)
    assert (modes.backward_error <= 1e-10).all()


@pytest.mark.parametrize("cells, stiffness", [((24, 10, 1), 100.0), ((30, 12, 1), 1.0)])
def test_modes_on_soft_springs_known_to_round_off_end_the_search(
    cells: tuple[int, int, int], stiffness: float
) -> None:
    """A load of round-off, divided by next to no stiffness, would take the digits of all modes:
    the block method stopped short, and one factorization a mode followed."""
    size = (0.72, 0.3, 0.008)
    origin = (-0.36, -0.15, -0.004)
    body = block(*cells, "tet4", size, origin, clamped=None).with_damping(b=1e-7)
    X = body.dofs.coordinates
    corners = [(1.0, 2.0, 3.0), (-1.0, 2.0, -3.0), (1.0, -2.0, -3.0)]
    for node in (0, *(int(np.argmax(X @ np.array(corner))) for corner in corners)):
        body = assembly.attach_spring(body, node, stiffness=stiffness)
    system = body.freeze(omega=(0.0, 0.0, 20.0))
    modes, other = solve(system, k=20), solve(system, k=20, backend="scipy")
    assert modes.method == "block Rayleigh–Ritz"
    allowed = modes.error_bound + other.error_bound
    assert np.all(np.abs(modes.eigenvalues - other.eigenvalues) <= allowed)


def test_null_fields_stay_first_where_the_first_shapes_are_recomputed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A free body that is spun up: one rigid rotation has no stiffness, the others have."""
    system = block(6, 2, 2, "hex20", clamped=None).freeze(
        omega=(0.0, 0.0, 300.0), epsilon=(0.0, 0.0, 1e4)
    )
    drifted = ShapeBasis._drifted
    monkeypatch.setattr(
        ShapeBasis, "_drifted", lambda self, q, load: self.m < 10 or drifted(self, q, load)
    )
    quadratic = Quadratic(system)
    solver = BlockSolver(quadratic, system.null_chain, system.rigid)
    try:
        found = solver.find(10).eigenvalues[:10]
    finally:
        solver.destroy()
    exact = solve(system, k=10, backend="scipy").eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(exact), rtol=1e-8)


def test_a_restarted_basis_holds_the_vectors_found() -> None:
    """And the first shapes, with their images, orthonormal in the stiffness."""
    system = solid(None, a=6.0).freeze(omega=(0.0, 0.0, 300.0))
    solver = BlockSolver(Quadratic(system), system.null_chain, system.rigid)
    solver.find(8)
    basis, first = solver.basis, solver.special
    lam, *found = solver._ritz()
    before, V = [basis.shapes(Y) for Y in found], basis.V[:, :first]
    found = basis.restarted(first, *found)
    assert first < basis.m <= first + 4 * len(lam)
    np.testing.assert_array_equal(basis.V[:, :first], V)
    for X, Y in zip(before, found, strict=True):
        change = np.linalg.norm(basis.shapes(Y) - X, axis=0)
        assert np.all(change <= 1e-11 * np.linalg.norm(X, axis=0))
    np.testing.assert_allclose(basis.V.T @ basis.KV, np.eye(basis.m), atol=1e-12)
    assert basis.verify()
    np.testing.assert_allclose(solver._ritz()[0], lam, rtol=1e-9, atol=1e-9)
    solver.destroy()


def test_a_long_search_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a free solid that spins fast: its projected problem grew to 237 shapes for 17 modes."""
    sizes, ritz = list[int](), BlockSolver._ritz

    def counted(self: BlockSolver) -> Any:
        sizes.append(self.basis.m)
        return ritz(self)

    monkeypatch.setattr(BlockSolver, "_ritz", counted)
    system = block(8, 3, 3, "hex20", clamped=None).freeze(omega=(0.0, 0.0, 1000.0))
    quadratic = Quadratic(system)
    solver = BlockSolver(quadratic, system.null_chain, system.rigid)
    found = solver.find(16)
    solver.destroy()
    assert max(sizes) < 8 * solver.count and sizes != sorted(sizes)
    expected = np.abs(solve(system, 16, backend="scipy").eigenvalues)
    lam = np.abs(found.eigenvalues[:16])
    np.testing.assert_allclose(lam[2:], expected[2:], rtol=1e-9)
    np.testing.assert_allclose(lam[:2], expected[:2], rtol=1e-5)  # √ of a defect


def test_what_a_search_leaves_near_a_mode_is_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    system = solid("x0", b=2e-5).freeze(omega=(0.0, 0.0, 300.0), epsilon=(0.0, 0.0, 1e4))
    exact = solve(system, k=10, backend="dense")
    monkeypatch.setattr(import_module("modal.eigen.solvers.block"), "ROUNDS", 3)
    solver = BlockSolver(Quadratic(system))
    try:
        found = solver.find(10)
        errors = solver.quadratic.backward_error(found.eigenvalues, found.right)[:10]
        assert 1e-10 < errors.max() < 1e-6
        with pytest.raises(ConvergenceError, match="stopped with"):
            monkeypatch.setattr(import_module("modal.eigen.solvers.block"), "ROUNDS", 1)
            solver.find(10)
    finally:
        solver.destroy()
    modes = checked_modes(
        ModeProblem(system.rigid, Quadratic(system), None, 10, "slepc", 1e-10), found
    )
    np.testing.assert_allclose(modes.eigenvalues, exact.eigenvalues, rtol=1e-10)


@pytest.mark.slow
def test_a_search_that_no_longer_gains_ends() -> None:
    """Of a plate that decays in no time: 60 rounds, then Krylov's method, which took 80 s."""
    size = (0.9080734523490819, 0.833097060356445, 0.06846619505816358)
    titanium = assembly.Material(E=114e9, nu=0.34, rho=4430.0, name="titanium")
    plate = block(25, 23, 2, "hex20", size, material=titanium).with_damping(a=1126.14, b=6.21826e-3)
    modes = solve(plate.freeze(epsilon=(0.0, 1669.01, 0.0)), k=20)
    assert modes.method == "block Rayleigh–Ritz"
    # Both eigenvalues of a shape: the first has ω = 445 rad/s.
    np.testing.assert_allclose(modes.eigenvalues[:2].real, [-2269.47, -87.1492], rtol=1e-5)
