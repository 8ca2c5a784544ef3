"""The zero eigenvalues of the rigid motion: both deflations against each other and a 50-digit
reference."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly import FrozenSystem
from assembly.errors import SingularSystemError
from modal import solve
from modal.eigen.deflation import Projector, deflate_by_similarity, transposed_chain
from modal.eigen.quadratic import Quadratic, companion
from modal.eigen.solvers.block import BlockSolver
from tests.support.quadratics import free, upper_spectrum

# Real machines: no value of them is questioned.
pytestmark = pytest.mark.filterwarnings("error::assembly.PlausibilityWarning")


@pytest.mark.parametrize(
    ("m", "coupled", "zeros"), [(1, False, 2), (2, False, 4), (2, True, 2), (3, True, 4)]
)
def test_deflations_agree_with_fifty_digits(m: int, coupled: bool, zeros: int) -> None:
    system = free(8, m, seed=10 * m + coupled, coupled=coupled)
    reference = upper_spectrum(system)
    # K V is zero to round-off only, and a Jordan block of size two splits by its square root.
    elastic = reference[np.abs(reference) > 1e-6 * np.abs(reference).max()]
    found = solve(system, k=len(elastic), backend="dense")
    assert found.deflated == zeros
    np.testing.assert_allclose(found.eigenvalues, elastic, rtol=1e-9)
    assert 2 * len(elastic) + zeros == 2 * system.n


@pytest.mark.parametrize("backend", ["slepc", "scipy"])
@pytest.mark.parametrize(("m", "coupled"), [(1, False), (3, False), (3, True), (6, False)])
def test_sparse_projection_agrees_with_dense_transformation(
    backend: str, m: int, coupled: bool
) -> None:
    system = free(70, m, seed=m, coupled=coupled)
    dense = solve(system, k=6, backend="dense")
    sparse = solve(system, k=6, backend=backend)
    np.testing.assert_allclose(sparse.eigenvalues, dense.eigenvalues, rtol=1e-9)
    assert sparse.deflated == dense.deflated == system.null_chain.count


def test_transformation_leaves_a_matrix_two_smaller() -> None:
    system = free(40, 1, seed=7)
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    matrix = deflate_by_similarity(A, B, system.null_chain.right).matrix
    assert matrix.shape == (78, 78)
    left = np.sort(np.abs(np.linalg.eigvals(matrix)))
    np.testing.assert_allclose(
        left[::2], np.abs(solve(system, k=39, backend="dense").eigenvalues), rtol=1e-7
    )


@pytest.mark.parametrize("coupled", [False, True])
def test_transformation_gives_back_both_sides(coupled: bool) -> None:
    """(A − λB)z = 0 and yᴴ(A − λB) = 0 with z, y lifted from the smaller pencil."""
    system = free(12, 2, seed=4, coupled=coupled)
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    deflated = deflate_by_similarity(A, B, system.null_chain.right)
    lam, Y, Z = la.eig(deflated.A, deflated.B, left=True)
    assert len(lam) == 24 - system.null_chain.count
    Z, Y = deflated.lift(lam, Z), deflated.lift_left(Y)
    size = np.linalg.norm(A) + np.abs(lam) * np.linalg.norm(B)
    right = np.linalg.norm(A @ Z - (B @ Z) * lam, axis=0) / np.linalg.norm(Z, axis=0)
    left = np.linalg.norm(A.T @ Y - (B.T @ Y) * lam.conj(), axis=0) / np.linalg.norm(Y, axis=0)
    assert (right / size).max() < 1e-12 and (left / size).max() < 1e-12


def test_a_definite_instant_is_left_when_its_plain_zeros_are_eliminated() -> None:
    """The Hermitian solver of free bodies against the transformation, coupled by Coriolis."""
    system = free(30, 3, seed=8)
    assert abs(system.null_chain.null.T @ (system.C @ system.null_chain.null)).max() < 1e-12
    assert np.linalg.norm(system.C @ system.null_chain.null) > 1.0
    found = solve(system, k=40, backend="dense")
    assert found.method == "dense Hermitian" and len(found) == 27
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    deflated = deflate_by_similarity(A, B, system.null_chain.right)
    omega = np.sort(np.abs(la.eigvals(deflated.A, deflated.B)))[::2]
    np.testing.assert_allclose(found.eigenvalues.imag, omega, rtol=1e-9)
    assert found.backward_error.max() <= 1e-12


def test_projector_is_the_spectral_one_on_both_sides() -> None:
    """P² = P, and P commutes with B⁻¹A: only then are the other eigenvalues untouched."""
    system = free(30, 2, seed=3, coupled=False)
    quadratic, chain = Quadratic(system), system.null_chain
    for q, c in ((quadratic, chain), (quadratic.transposed, transposed_chain(quadratic, chain))):
        A, B = companion(q.M.toarray(), q.C.toarray(), q.K.toarray())
        P = Projector(q, c)(np.eye(60))
        S = np.linalg.solve(B, A)
        np.testing.assert_allclose(P @ P, P, atol=1e-11)
        np.testing.assert_allclose(P @ S, S @ P, atol=1e-10 * np.abs(S).max())
        np.testing.assert_allclose(P @ c.right, 0.0, atol=1e-11)


def slider_crank(elements: int, transport: bool) -> FrozenSystem:
    """M, C, K of a slider-crank without a motor, its position and speed those of a turning one."""
    section = assembly.rectangle(0.02, 0.01)

    def link(length: float) -> assembly.Body:
        return assembly.beam(length, section, assembly.steel, elements, planar=True)

    mechanism = assembly.Mechanism(
        {
            "crank": link(0.15),
            "rod": link(0.30),
            "slider": assembly.rigid_body(0.5, 1e-3, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 157.0, held=False)],
    )
    return mechanism.freeze(t=0.004, transport=transport).only("C", "K")


@pytest.mark.slow
def test_free_slider_crank_has_two_zeros_and_its_elastic_modes_are_untouched() -> None:
    """Both deflations against 50 digits: the two zeros gone, the others to 1e-9."""
    system = slider_crank(elements=2, transport=False)
    assert system.rigid.shape[1] == 1
    reference = upper_spectrum(system, digits=50)
    first = np.abs(reference[np.abs(reference) > 1e-6 * np.abs(reference).max()]).min()
    elastic = reference[np.abs(reference) > 1e-3 * first]
    assert 2 * len(elastic) + 2 == 2 * system.n
    for backend in ("dense", "scipy", "slepc"):
        found = solve(system, k=8, backend=backend)
        assert found.deflated == 2
        assert np.abs(found.eigenvalues).min() > 1e-6 * first
        np.testing.assert_allclose(found.eigenvalues.imag, elastic[:8].imag, rtol=1e-9)
        assert np.all(found.eigenvalues.real == 0.0)


def test_free_slider_crank_of_many_elements() -> None:
    """Too large for 50 digits: the transformation, which keeps every eigenvalue, against
    projection."""
    system = slider_crank(elements=20, transport=False)
    dense = solve(system, k=10, backend="dense")
    for backend in ("scipy", "slepc"):
        sparse = solve(system, k=10, backend=backend)
        np.testing.assert_allclose(sparse.eigenvalues, dense.eigenvalues, rtol=1e-9)
        assert sparse.deflated == dense.deflated == 2


@pytest.mark.parametrize("backend", ["dense", "scipy", "slepc"])
def test_null_space_of_imported_matrices_is_found(backend: str) -> None:
    for system in (free(60, 3, seed=5), free(60, 4, seed=6, coupled=True)):
        bare = FrozenSystem(M=system.M, C=system.C, K=system.K)
        known, found = solve(system, k=6, backend=backend), solve(bare, k=6, backend=backend)
        assert found.deflated == known.deflated
        np.testing.assert_allclose(found.eigenvalues, known.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize(("share", "zeros"), [(0.1, 6), (10.0, 4)])
def test_a_coupling_below_round_off_leaves_zeros_in_pairs(share: float, zeros: int) -> None:
    """As of a body that turns with 1e-13 rad/s, for a moment, where it swings back."""
    system = free(8, 3, seed=31, coupled=True)
    V, C = system.null_chain.null, system.C.toarray()
    M, K = la.norm(system.M.toarray()), la.norm(system.K.toarray())
    noise = np.finfo(float).eps * np.sqrt(M * K) * la.norm(V) ** 2
    slow = FrozenSystem(
        M=system.M, C=system.C * (share * noise / la.norm(V.T @ C @ V, 2)), K=system.K
    )
    assert solve(slow, k=5).deflated == zeros


def test_modes_stand_where_their_null_space_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A soft spring, taken for none: its field is no null field, so the second solution ends."""
    K = np.diag([1e-14, 1.0, 2.0, 3.0])
    K[2, 3] = 0.1
    soft = FrozenSystem(M=np.eye(4), K=K)
    wrong = FrozenSystem(M=np.eye(4), K=K, rigid=np.eye(4)[:, :1])
    alone = solve(soft, k=3, deflation=None)

    def chain(system: FrozenSystem) -> None:
        if system is wrong:
            raise SingularSystemError("a zero eigenvalue has a Jordan chain longer than given")

    monkeypatch.setattr(FrozenSystem, "null_chain", property(chain))
    monkeypatch.setattr(import_module("modal.eigen.solve"), "_completed", lambda system: wrong)
    np.testing.assert_allclose(solve(soft, k=3).eigenvalues, alone.eigenvalues)


def free_bodies() -> dict[str, FrozenSystem]:
    """Bodies at rest without supports: a beam of square section, a square plate."""
    beam = assembly.beam(1.0, assembly.rectangle(0.03, 0.03), assembly.steel, 10)
    plate = assembly.gallery.block(6, 6, 1, size=(1.0, 1.0, 0.05), clamped=None)
    return {"square beam": beam.freeze(), "square plate": plate.freeze()}


@pytest.mark.parametrize("name", ["square beam", "square plate"])
def test_free_bodies_keep_degenerate_pairs_under_random_shifts(name: str) -> None:
    """Twelve zeros, and the elastic pairs the same to 1e-9 from wherever the solver looks at
    them."""
    system = free_bodies()[name]
    reference = solve(system, k=24, backend="dense")
    assert reference.deflated == 12
    omega = reference.eigenvalues.imag
    assert np.any(np.diff(omega[:10]) < 1e-8 * omega[1:10])  # a square section, a square plate
    r = np.random.default_rng(4)
    for backend in ("scipy", "slepc"):
        found = solve(system, k=10, backend=backend)
        np.testing.assert_allclose(found.eigenvalues.imag, omega[:10], rtol=1e-9)
        for _ in range(4):
            shift = r.uniform(omega[0], omega[9])
            nearest = np.sort(omega[np.argsort(np.abs(omega - shift), kind="stable")[:5]])
            around = solve(system, k=5, backend=backend, target=1j * shift).eigenvalues
            np.testing.assert_allclose(np.sort(around.imag), nearest, rtol=1e-9)
            assert np.all(around.real == 0.0)


def test_two_bodies_joined_by_an_elastic_boom() -> None:
    """A satellite of two rigid bodies: twelve zeros, axial and torsional frequencies in closed
    form."""
    EA, GJ, m1, m2, J1, J2 = 3e4, 50.0, 80.0, 15.0, 9.0, 2.0
    K = np.zeros((12, 12))
    boom = (
        assembly.beam(2.0, assembly.rectangle(0.05, 0.05), assembly.steel, 1).freeze().K.toarray()
    )
    K += 1e-4 * 0.5 * (boom + boom.T)
    for a, stiffness in ((0, EA), (3, GJ)):
        K[np.ix_([a, a + 6], [a, a + 6])] = stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
    M = np.diag([m1] * 3 + [J1] * 3 + [m2] * 3 + [J2] * 3)
    system = FrozenSystem(M=M, K=K)
    modes = solve(system, k=12)
    assert modes.deflated == 12 and len(modes) == 6
    # Elastic pairs, the boom's equal bending ones among them, undisturbed by the solver's shift.
    elastic = modes.eigenvalues.imag
    for shift in np.random.default_rng(3).uniform(elastic[0], elastic[-1], 5):
        around = solve(system, k=3, target=1j * shift).eigenvalues
        nearest = np.sort(elastic[np.argsort(np.abs(elastic - shift))[:3]])
        np.testing.assert_allclose(np.sort(around.imag), nearest, rtol=1e-9)
    for exact in (np.sqrt(EA * (1 / m1 + 1 / m2)), np.sqrt(GJ * (1 / J1 + 1 / J2))):
        assert np.abs(modes.eigenvalues.imag / exact - 1.0).min() < 1e-9


def flying(rates: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)) -> assembly.Mechanism:
    """A satellite of two rigid bodies: hub, hinge, elastic boom, tip. Carriages without mass let it
    move and turn freely; motors that hold nothing keep its motion going."""
    bodies = {
        "x": assembly.rigid_body(0.0, planar=True),
        "y": assembly.rigid_body(0.0, planar=True),
        "hub": assembly.rigid_body(80.0, 20.0, planar=True),
        "boom": boom(),
        "tip": assembly.rigid_body(5.0, 0.4, planar=True),
    }
    joints = [
        assembly.prismatic("ground", (0, 0), "x", (0, 0), axis=(1, 0), name="X"),
        assembly.prismatic("x", (0, 0), "y", (0, 0), axis=(0, 1), name="Y"),
        assembly.revolute("y", (0, 0), "hub", (0, 0), name="Z"),
        assembly.revolute("hub", (0.5, 0), "boom", "start", name="H"),
        assembly.fixed("boom", "end", "tip", (0, 0), name="T"),
    ]
    return assembly.Mechanism(
        bodies,
        joints,
        [assembly.driver(name, rate, held=False) for name, rate in zip("XYZH", rates, strict=True)],
        initial={"boom": (0.5, 0, 0), "tip": (3.5, 0, 0)},
    )


def boom() -> assembly.Body:
    return assembly.beam(3.0, assembly.rectangle(0.03, 0.02), assembly.aluminium, 6, planar=True)


def boom_between_bodies() -> np.ndarray:
    """Elastic frequencies (rad/s) of the same at rest, from the boom's matrices alone: the tip's
    inertia on its last node, the hub's on top of it through u_start = u_hub + 0.5 θ e_y."""
    free = boom().freeze()
    M, K = free.M.toarray(), free.K.toarray()
    n = len(M)
    M[-3:, -3:] += np.diag([5.0, 5.0, 0.4])
    start = np.zeros((2, 3))  # displacement of the hinge by (x, y, θ) of the hub
    start[0, 0] = start[1, 1] = 1.0
    start[1, 2] = 0.5
    T = np.zeros((n, n + 1))
    T[:2, :3], T[2:, 3:] = start, np.eye(n - 2)
    Mr, Kr = T.T @ M @ T, T.T @ K @ T
    Mr[:3, :3] += np.diag([80.0, 80.0, 20.0])
    squares = la.eigh(Kr, Mr, eigvals_only=True)
    assert np.abs(squares[:4]).max() < 1e-9 * squares[4]
    return np.sqrt(squares[4:])


@pytest.mark.parametrize("backend", ["dense", "scipy", "slepc"])
def test_satellite_of_two_hinged_bodies_flies_free(backend: str) -> None:
    """Four mobilities, eight zeros; elastic modes to 1e-9 from wherever the solver looks at
    them."""
    system = flying().freeze(0.0)
    assert system.rigid.shape[1] == 4
    expected = boom_between_bodies()
    modes = solve(system, k=6, backend=backend, certify=True)
    assert modes.deflated == 8 and np.all(modes.kind == "elastic")
    np.testing.assert_allclose(modes.eigenvalues.imag, expected[:6], rtol=1e-9)
    assert np.all(modes.eigenvalues.real == 0.0)
    for shift in np.random.default_rng(8).uniform(expected[0], expected[5], 3):
        nearest = np.sort(expected[np.argsort(np.abs(expected - shift))[:2]])
        around = solve(system, k=2, backend=backend, target=1j * shift).eigenvalues.imag
        np.testing.assert_allclose(np.sort(around), nearest, rtol=1e-9)


def test_zeros_of_a_turning_satellite_are_counted_by_its_coriolis_coupling() -> None:
    """2m − rank(VᵀCV) zeros of the literal form without prestress and inertia stiffness."""
    system = flying((0.0, 0.0, 0.3, 0.2)).freeze(0.1, transport=False, prestress=None)
    bare = system.only("M", "C", "K")
    V = bare.rigid
    coupling = V.T @ (bare.C @ V)
    rank = np.linalg.matrix_rank(coupling, tol=1e-9 * np.abs(coupling).max())
    assert rank == 4
    # LAPACK scatters the Jordan blocks' zeros to 1e-6; the slowest other mode is at 5e-3 rad/s.
    whole = la.eigvals(*companion(*(A.toarray() for A in (bare.M, bare.C, bare.K))))
    assert (np.abs(whole) < 1e-4).sum() == 8 - rank
    for backend in ("dense", "slepc"):
        assert solve(bare, k=4, backend=backend).deflated == 8 - rank


def test_a_start_that_collapses_on_the_rigid_motion_is_extended() -> None:
    """A stiffness that is nearly singular leaves one of the random first shapes of a search."""
    n = 60
    spring = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    spring[0, 0] = spring[-1, -1] = 1.0
    spring += 1e-12 * np.eye(n)
    solver = BlockSolver(Quadratic(assembly.FrozenSystem(M=np.eye(n), K=spring)))
    shapes, _ = solver.reference.solve(np.random.default_rng(0).standard_normal((n, 8)))
    sizes = la.svdvals(shapes)
    assert sizes[1] < 1e-8 * sizes[0]
    modes = solver.find(4)
    solver.destroy()
    chain = 2.0 * np.sin(np.arange(1, 4) * np.pi / (2 * n))  # of n equal masses, n − 1 springs
    np.testing.assert_allclose(modes.eigenvalues.imag[1:4], chain, rtol=1e-9)
