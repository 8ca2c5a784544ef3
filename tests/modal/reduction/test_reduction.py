"""Certified sweeps: error bounds hold, structure is kept, nothing is missed, one factorization."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import assembly
import modal
from assembly.errors import SingularSystemError
from assembly.gallery import block
from assembly.linalg.combination import Combination
from assembly.linalg.symmetric import symmetry_of
from assembly.system.frozen import FrozenSystem
from modal.proofs.completeness import orthonormal
from modal.reduction.affine import AffineFamily, shares_operators
from modal.reduction.basis import SKETCHES, mass_bounds, random_sketches
from modal.reduction.body_space import BodySpace
from modal.reduction.error_bounds import bounds_of, coupled
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.space import spread
from tests.support.affine_families import Planar
from tests.support.chains import KINDS, Chain, exact
from tests.support.reduced_sweep import Sweep, sweep


def assert_bounded(found: Sweep, point: int, reference: np.ndarray, k: int, noise: float) -> float:
    """Every reduced eigenvalue has its own exact one within its bound; returns the worst ratio."""
    left = list(reference)
    worst = 0.0
    for j in range(k):
        lam = found.eigenvalues[point, j]
        distances = np.abs(np.array(left) - lam)
        nearest = int(np.argmin(distances))
        ratio = (distances[nearest] - noise * abs(lam)) / found.error_bound[point, j]
        assert ratio <= 1.0, (point, j, lam, distances[nearest], found.error_bound[point, j])
        worst = max(worst, ratio)
        left.pop(nearest)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
@pytest.mark.parametrize("kind", KINDS)
def test_error_bounds_hold_on_random_families(kind: str, tolerance: float) -> None:
    """Two random families a kind, 40 instants, against LAPACK on all unknowns at some of them.

    A bound is no wider than it has to be: the largest error is a tenth of its bound or so.
    """
    arguments, at = KINDS[kind]
    k = 7
    sizes = []
    for seed in range(2):
        model = Chain(seed, **arguments)
        points = [at(s) for s in np.linspace(0.0, 1.0, 40)]
        found = sweep(lambda p, m=model: m.freeze(**p), points, k=k, tolerance=tolerance)
        sizes.append(found.size)
        assert np.all(found.error_bound <= 1.0001 * tolerance * np.abs(found.eigenvalues))
        for point in (0, 7, 16, 28, 39):
            reference = exact(model.freeze(**points[point]), k + 3)
            assert assert_bounded(found, point, reference, k, 1e-11) >= 0.03
            missing = [
                lam
                for lam in reference[: k - 1]
                if np.abs(found.eigenvalues[point] - lam).min() > 1e-2 * abs(lam)
            ]
            assert not missing
    assert max(sizes) < 80  # of 160: it is a reduction


def test_conservative_instants_are_exactly_imaginary() -> None:
    model = Chain(3)
    points = [dict(omega=s) for s in np.linspace(0.0, 1.0, 30)]
    found = sweep(lambda p: model.freeze(**p), points, k=6)
    assert found.exact.all() and np.all(found.eigenvalues.real == 0.0)


def test_bounds_hold_at_the_coalescence_of_two_modes() -> None:
    """Circulatory flutter at Ω = d = 0: λ² = −(k₁ + k₂)/2 ± √((k₁ − k₂)²/4 − ε²), defective at
    ε = |k₁ − k₂|/2 (A10); a growth is called so only beyond it.
    """
    pairs = np.arange(1.0, 61.0)[:, None] ** 2 * np.array([[4.0, 9.0]])
    model = Planar(pairs)
    offsets = np.array([-0.5, -1e-2, -1e-4, -1e-7, -1e-11, 0.0, 1e-11, 1e-7, 1e-4, 1e-2, 0.5])
    points = [dict(epsilon=2.5 + x) for x in offsets]
    found = sweep(lambda p: model.freeze(**p), points, k=4, checks=0)
    assert found.size < model.n
    for p, point in enumerate(points):
        root = np.sqrt(6.25 - point["epsilon"] ** 2 + 0j)
        for lam in np.sqrt(np.array([-6.5 + root, -6.5 - root])):
            lam = lam if lam.imag >= 0.0 else -lam
            near = np.argmin(np.abs(found.eigenvalues[p] - lam))
            assert abs(found.eigenvalues[p, near] - lam) <= found.error_bound[p, near]
        grows = np.any(found.eigenvalues[p].real > found.error_bound[p])
        assert not grows if offsets[p] <= 0.0 else grows or offsets[p] < 1e-7


def test_bounds_hold_where_an_eigenvalue_passes_zero() -> None:
    """The asymmetric shaft of A5: λ⁴ + (a + b + 2Ω²)λ² + (a − Ω²)(b − Ω²) = 0, so the small
    λ² = −2c/(B + √(B² − 4c)) changes sign at Ω = √a, where λ is defective.
    """
    n4 = np.arange(1.0, 61.0) ** 4
    a, b = 1.0, 1.44
    model = Planar(np.column_stack([a * n4, b * n4]))
    offsets = np.array([-1e-1, -1e-3, -1e-6, -1e-10, 0.0, 1e-10, 1e-6, 1e-3, 1e-1])
    points = [dict(omega=1.0 + x) for x in offsets]
    found = sweep(lambda p: model.freeze(**p), points, k=4, checks=0)
    assert found.size < model.n
    for p, x in enumerate(point["omega"] - 1.0 for point in points):  # as rounded
        B, c = a + b + 2.0 * (1.0 + x) ** 2, -x * (2.0 + x) * (b - (1.0 + x) ** 2)
        lam = np.sqrt(-2.0 * c / (B + np.sqrt(B**2 - 4.0 * c)) + 0j)
        near = np.argmin(np.abs(found.eigenvalues[p] - lam))
        assert abs(found.eigenvalues[p, near] - lam) <= found.error_bound[p, near]
        grows = np.any(found.eigenvalues[p].real > found.error_bound[p])
        assert not grows if x <= 0.0 else grows or x < 1e-7


def test_modes_that_come_down_at_speed_are_not_missed() -> None:
    """The round shaft in its own frame, modes n² apart from each other: |ω_n − Ω| is small for one
    n after the other, long after the lowest reference modes have gone up again.
    """
    n4 = np.arange(1.0, 41.0) ** 4
    model = Planar(np.column_stack([n4, 1.0001 * n4]), mixed=False)
    speeds = np.linspace(0.0, 90.3, 60)
    found = sweep(lambda p: model.freeze(**p), [dict(omega=w) for w in speeds], k=2, checks=0)
    assert (
        found.size <= model.n // 2
    )  # they are in the basis from the start, not found one residual at a time
    for p, speed in enumerate(speeds):
        a, b = n4, 1.0001 * n4
        B, c = a + b + 2.0 * speed**2, (a - speed**2) * (b - speed**2)
        high = 0.5 * (B + np.sqrt(B**2 - 4.0 * c))
        expected = np.sort(np.sqrt(np.abs(np.concatenate([c / high, high]))))[:2]
        np.testing.assert_allclose(np.abs(found.eigenvalues[p]), expected, rtol=1e-5)


def test_full_vectors_solve_the_full_problem() -> None:
    model = Chain(4, damping=0.05, lopsided=0.2)
    points = [dict(omega=s, epsilon=0.1) for s in np.linspace(0.1, 0.9, 20)]
    found = sweep(lambda p: model.freeze(**p), points, k=5, tolerance=1e-10)
    for point in (0, 11, 19):
        system = model.freeze(**points[point])
        lam, X, Y = found.eigenvalues[point], found.right(point), found.left(point)
        M, C, K = system.M, system.damping, system.stiffness
        right = (M @ X) * lam**2 + (C @ X) * lam + K @ X
        left = (M.T @ Y) * lam.conj() ** 2 + (C.T @ Y) * lam.conj() + K.T @ Y
        assert np.all(np.linalg.norm(right, axis=0) < 1e-3 * np.linalg.norm(K @ X, axis=0))
        assert np.all(np.linalg.norm(left, axis=0) < 1e-3 * np.linalg.norm(K.T @ Y, axis=0))


def test_sketched_norms_bound_the_residual_in_the_dual_norm() -> None:
    """‖r‖ in K_ref⁻¹ by a direct solve is not above twice the sketch, for 400 residuals."""
    model = Chain(5)
    points = [dict(omega=s, epsilon=0.2) for s in np.linspace(0.0, 1.0, 50)]
    family = AffineFamily(lambda p: model.freeze(**p), points[1])
    at = family.coefficients(points)
    reducer = BodySpace(family, at, k=8, tolerance=1e-3)
    modes = reducer.solve(at).modes
    sketched = reducer.on(at).dual_norms(modes.eigenvalues, modes.right, transposed=False)
    ratios = []
    for p, point in enumerate(points):
        system = model.freeze(**point)
        X = reducer.basis.lift(modes.right[p])
        lam = modes.eigenvalues[p]
        residual = (system.M @ X) * lam**2 + (system.damping @ X) * lam + system.stiffness @ X
        square = np.einsum("ij,ij->j", residual.conj(), reducer.reference.factor.solve(residual))
        ratios.append(np.sqrt(square.real) / sketched[p])
    reducer.destroy()
    assert np.max(ratios) <= 2.0
    assert np.median(ratios) > 0.05  # and it is not a bound of no use


def test_pinned_body_keeps_its_zeros_out_of_the_elastic_modes() -> None:
    """A pinned beam turns freely: its two zeros, and the motion that the frame prescribes at ω, are
    kept apart."""
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=14,
        pinned="start",
    )  # fmt: skip
    free = beam.freeze(omega=(0.0, 0.0, 60.0))
    m = free.rigid.shape[1]
    assert m >= 1
    points = [dict(omega=w) for w in np.linspace(0.0, 60.0, 20)]
    found = sweep(lambda p: beam.freeze(axis=(0, 0, 1), **p), points, k=5)
    from modal.eigen.solve import solve

    for point in (0, 9, 19):
        modes = solve(beam.freeze(axis=(0, 0, 1), **points[point]), k=5 + 2 * m, backend="dense")
        counted = modes.eigenvalues[np.asarray(modes.kind) != "prescribed"][:5]
        lam = found.eigenvalues[point][~found.rigid[point]][:5]
        np.testing.assert_allclose(lam.imag, counted.imag, rtol=2e-6)


def test_a_sweep_factorizes_once_and_repeats_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    import modal.reduction.reference_operator as reference_module

    made = []
    original = reference_module.cholesky
    monkeypatch.setattr(
        reference_module, "cholesky", lambda *a, **k: made.append(1) or original(*a, **k)
    )
    model = Chain(6)
    points = [dict(omega=s) for s in np.linspace(0.0, 1.0, 25)]
    one, other = (sweep(lambda p: model.freeze(**p), points, k=6) for _ in range(2))
    assert len(made) == 2
    assert one.eigenvalues.tobytes() == other.eigenvalues.tobytes()
    assert one.error_bound.tobytes() == other.error_bound.tobytes()


def test_symmetry_of_operators_is_recognised() -> None:
    model = Chain(7)
    assert [symmetry_of(A) for A in (model.K, model.G, model.H)] == [1, -1, 0]


def test_shared_operators_are_recognised() -> None:
    model = Chain(8)
    points = [dict(omega=0.0), dict(omega=1.0, epsilon=0.5)]
    assert shares_operators(lambda p: model.freeze(**p), points)
    M, K = model.M.toarray(), model.K.toarray()
    assert not shares_operators(lambda p: FrozenSystem(M=M, K=(1.0 + p["omega"]) * K), points)
    assert not shares_operators(lambda p: FrozenSystem(M=M, K=K), points[:1])


def test_a_matrix_made_anew_with_the_same_entries_is_one_operator() -> None:
    model, at = Chain(8), np.linspace(0.0, 1.0, 5)

    def freeze(point: Any) -> FrozenSystem:
        system = model.freeze(**point)
        damper = sp.diags(np.where(np.arange(system.n) == 3, -0.1, 0.0), format="csr")
        return system.only("M", "C", "K", "K_epsilon", "K_omega2", D=system.D + damper)

    points = [dict(omega=omega) for omega in at]
    assert shares_operators(freeze, points)
    family = AffineFamily(freeze, points[0])
    coefficients = family.coefficients(points)
    apart = AffineFamily(lambda p: model.freeze(**p), points[0])
    apart.coefficients(points)
    assert len(family.terms) == len(apart.terms) + 1
    x = np.random.default_rng(5).standard_normal(model.freeze(**points[0]).n)
    for row, point in zip(coefficients.damping, points, strict=True):
        image = sum(c * term.apply(x) for c, term in zip(row, family.terms, strict=True))
        np.testing.assert_allclose(image, freeze(point).damping @ x, rtol=0.0, atol=1e-14)


def test_mass_bounds_enclose_the_spectrum() -> None:
    model = Chain(9)
    d = model.M.diagonal()
    low, high = mass_bounds(model.M, d)
    theta = la.eigvalsh(model.M.toarray() / np.sqrt(np.outer(d, d)))
    assert low <= theta[0] and high >= theta[-1] and high / low < 2.0 * theta[-1] / theta[0]


def test_indefinite_mass_is_refused() -> None:
    M = sp.diags([1.0, 0.0, 1.0]).tocsr()
    system = FrozenSystem(M=M, K=sp.identity(3, format="csr"))
    family = AffineFamily(lambda p: system, {})
    with pytest.raises(SingularSystemError, match="M: must be positive definite"):
        ReferenceOperator(family, family.coefficients([{}]))


def test_sketches_are_unbiased() -> None:
    """Mean of ‖Θr‖² over p columns near c₁‖K⁻¹r‖²_diag: within the spread of χ²_p.

    Masses of 1e-3 to 1e3 kg.
    """
    model = Chain(10)
    s = sp.diags(10.0 ** np.random.default_rng(1).uniform(-1.5, 1.5, model.n))
    M, K = sp.csr_matrix(s @ model.M @ s), sp.csr_matrix(s @ model.K @ s)
    system = FrozenSystem(M=M, K=K)
    family = AffineFamily(lambda p: system, {})
    reference = ReferenceOperator(family, family.coefficients([{}]))
    theta, xi = (sketch.T for sketch in random_sketches(reference))
    d = M.diagonal()
    low, high = mass_bounds(M, d)
    R = np.random.default_rng(0).standard_normal((model.n, 50))
    e = la.solve(K.toarray(), R)
    weak = np.linalg.norm(theta.T @ R, axis=0) ** 2 / (high * (d[:, None] * e**2).sum(axis=0))
    strong = np.linalg.norm(xi.T @ R, axis=0) ** 2 * low / (R**2 / d[:, None]).sum(axis=0)
    for ratio in (weak, strong):
        assert np.all((ratio > 0.25) & (ratio < 4.0)) and abs(ratio.mean() - 1.0) < 4.0 * np.sqrt(
            2.0 / SKETCHES
        )


def test_mass_basis_drops_what_is_already_there() -> None:
    model = Chain(11)
    basis = MassBasis(model.M)
    rng = np.random.default_rng(0)
    basis.append(*basis.directions(rng.standard_normal((model.n, 6))))
    block = np.hstack([basis.V[:, :2], 1e6 * basis.V[:, 2:3] + rng.standard_normal((model.n, 3))])
    fresh, product = basis.directions(block)
    assert fresh.shape[1] == 3
    basis.append(fresh, product)
    assert np.abs(basis.V.T @ (model.M @ basis.V) - np.eye(9)).max() < 1e-12
    assert np.abs(model.M @ basis.V - basis.MV).max() < 1e-12


def test_spread_has_both_ends() -> None:
    assert list(spread(5, 9)) == [0, 1, 2, 3, 4]
    chosen = spread(200, 9)
    assert chosen[0] == 0 and chosen[-1] == 199 and len(chosen) == 9


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_where_a_third_mode_is_next_to_a_nearly_defective_pair(seed: int) -> None:
    """Perturbed by matrices of norm E, no eigenvalue of [[1, 1], [0, 1 + g]] ⊕ (1 + d) moves by
    more than its bound from E and its condition number, but for 1.5 of the theory's first order.
    """
    rng = np.random.default_rng(seed)
    for _ in range(40):
        g, d, size = 10.0 ** rng.uniform((-6.0, -9.0, -8.0), (-1.0, -1.0, -3.0))
        Q = la.qr(rng.standard_normal((3, 3)))[0]
        A = Q @ la.block_diag([[1.0, 1.0], [0.0, 1.0 + g]], 1.0 + d) @ Q.T
        lam, left, right = la.eig(A, left=True)
        condition = 1.0 / np.abs((left.conj() * right).sum(axis=0))
        bound = coupled((size * condition)[None], 1j * lam[None], condition[None])[0]
        changes = rng.standard_normal((20, 3, 3))
        changes[::2] *= rng.random((10, 3, 3)) < 0.4
        for change in changes[np.any(changes, axis=(1, 2))]:
            moved = la.eigvals(A + size * change / la.norm(change, 2))
            assert np.all(np.abs(lam[:, None] - moved).min(axis=1) <= 1.5 * bound)


def test_shapes_are_orthonormal_in_the_reference_stiffness() -> None:
    """K_ref from its definition: the weighted symmetric parts of all terms and the shift."""
    model = Chain(12)
    family = AffineFamily(lambda p: model.freeze(**p), {})
    points = [dict(omega=w, epsilon=0.2) for w in (0.3, 0.9)]
    reference = ReferenceOperator(family, family.coefficients(points))
    K = reference.shift * model.M.toarray()
    for weight, term in zip(reference.weights, family.terms, strict=False):
        full = term.apply(np.eye(model.n))
        K += 0.5 * weight * (full + full.T)
    assert np.any(np.abs(np.asarray(reference.weights)[np.asarray(reference.weights) != 0] - 1) > 0)
    V = np.random.default_rng(3).standard_normal((model.n, 5))
    (X, KX), median = orthonormal(reference, V)
    np.testing.assert_allclose(KX, K @ X, rtol=0, atol=1e-12 * np.abs(KX).max())
    np.testing.assert_allclose(X.T @ K @ X, np.eye(5), atol=1e-12)
    assert la.subspace_angles(X, V).max() < 1e-10
    assert median == pytest.approx(np.median(la.eigvalsh(V.T @ K @ V)))


def test_a_stored_space_goes_on_bit_by_bit() -> None:
    model = Chain(5)
    family = AffineFamily(lambda p: model.freeze(**p), dict(omega=0.1))
    at = family.coefficients([dict(omega=0.1), dict(omega=0.5)])
    space = BodySpace(family, at, 2)
    space.destroy()
    stored = space.arrays()
    again = BodySpace(family, at, 2, stored=stored)
    assert np.array_equal(again.solve(at).modes.eigenvalues, space.solve(at).modes.eigenvalues)
    del stored["held"]  # as earlier versions
    again = BodySpace(family, at, 2, stored=stored)
    assert np.array_equal(again.solve(at).modes.eigenvalues, space.solve(at).modes.eigenvalues)


@pytest.mark.parametrize("b", [2e-3, 2e-2])
def test_bounds_beside_the_accumulation_of_overdamped_modes(b: float) -> None:
    """Next to λ = −1/b damping takes the stiffness away on every shape of the mesh: what the basis
    leaves out is not small there, however small a residual is."""
    section = assembly.rectangle(0.05, 0.02)
    body = assembly.beam(1.0, section, assembly.steel, 30, clamped="start").with_damping(b=b)
    points = [dict(omega=(0.0, 0.0, s), epsilon=(0.0, 0.0, 500.0)) for s in (0.0, 150.0, 300.0)]
    family = AffineFamily(lambda p: body.freeze(**p), points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, 8, 1e-8)
    exact = [modal.solve(body.freeze(**point), k=40, backend="dense") for point in points]
    beside = 0
    for trained in (False, True):
        found = space.train(at) if trained else space.solve(at)
        values, bounds = found.modes.eigenvalues, found.bounds.error_bound
        for lam, bound, true in zip(values, bounds, exact, strict=True):
            apart = np.abs(lam[:, None] - true.eigenvalues) - true.error_bound
            assert (apart.min(axis=1) <= bound).all()
            beside += np.sum(np.abs(lam * b + 1.0) < 0.1)
    assert beside > 0
    space.destroy()


def test_no_bound_where_damping_takes_the_stiffness_of_high_shapes_away() -> None:
    """At λ = −1/b, not at twice that."""
    section, b = assembly.rectangle(0.05, 0.02), 2e-3
    body = assembly.beam(1.0, section, assembly.steel, 30, clamped="start").with_damping(b=b)
    family = AffineFamily(lambda p: body.freeze(), {})
    at = family.coefficients([{}])
    space = BodySpace(family, at, 4, 1e-8)
    instants = space.on(at)
    modes = space.lowest(instants, 4)
    norms, pairing = np.ones(modes.eigenvalues.shape), instants.pairing(modes)
    for lam, some in ((-1.0 / b, False), (-2.0 / b, True)):
        there = replace(modes, eigenvalues=np.full(norms.shape, lam + 0j))
        found = bounds_of(
            there, norms, norms, pairing, instants.resolved, complement=instants.complement
        )
        assert (np.isfinite(found.error_bound) == some).all()
    space.destroy()


@pytest.mark.parametrize("local", [False, True])
def test_bounds_of_modes_that_a_strong_damper_overdamps(local: bool) -> None:
    """The basis holds how a damper at one node bends the body, also where few of its vectors are
    used, so that no other shape knows of the damper. Where it was taken for damping of all others,
    it took their stiffness away: bounds were infinite."""
    body = block(4, 2, 2, "hex20", (1.0, 0.2, 0.15), material=assembly.steel, clamped="x0")
    node = int(body.dofs.node[np.argmax(np.linalg.norm(body.dofs.coordinates, axis=1))])
    body = assembly.attach_spring(body, node, damping=1e7)
    points = [dict(omega=(0.0, 0.0, speed)) for speed in (0.0, 60.0)]
    family = AffineFamily(lambda p: body.freeze(**p), points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, 12, 1e-8)
    exact = [modal.solve(body.freeze(**point), k=30, backend="dense") for point in points]
    for trained in (False, True):
        if trained:
            space.train(at)
        found = (space.local(at) if local else space).solve(at)
        values, bounds = found.modes.eigenvalues, found.bounds.error_bound
        for lam, bound, true in zip(values, bounds, exact, strict=True):
            apart = np.abs(lam[:, None] - true.eigenvalues) - true.error_bound
            assert (apart.min(axis=1) <= bound).all()
    assert ((values.imag == 0.0) & (values.real < -400.0)).any()
    assert (bounds <= 1e-7 * np.abs(values)).all()
    space.destroy()


def test_local_spaces_hold_what_a_damper_bends() -> None:
    """No shape of the basis that is orthogonal to those of a local space moves the damper, also
    where it hardly changes the modes."""
    body = block(4, 2, 2, "hex8", (1.0, 0.2, 0.15), material=assembly.steel, clamped="x0")
    node = int(body.dofs.node[np.argmax(np.linalg.norm(body.dofs.coordinates, axis=1))])
    body = assembly.attach_spring(body, node, damping=1e3)
    points = [dict(omega=(0.0, 0.0, speed)) for speed in (0.0, 60.0, 120.0)]
    family = AffineFamily(lambda p: body.freeze(**p), points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, 4, 1e-8)
    space.train(at)
    shared, used = space.projected, space.local(at.take(slice(1))).coordinates
    assert used is not None and used.shape[1] < shared.size
    others = la.null_space((shared.frequency[:, None] ** 2 * used).T)
    (damper,) = shared.matrices[shared.held]
    assert np.linalg.norm(others.T @ damper @ others) <= 1e-9 * np.linalg.norm(damper)
    space.destroy()


def test_a_local_space_ends_at_a_gap() -> None:
    """The first frequency that it leaves out is not next to the last wanted one, on which its
    bounds rest: here two guards lie within 3 % of it."""
    frequencies = np.concatenate([[1.0, 2.0, 2.0, 2.05], np.linspace(5.0, 40.0, 36)])
    M, K = sp.csr_matrix(sp.eye(40)), sp.csr_matrix(sp.diags([frequencies**2], [0]))

    def freeze(point: Any) -> FrozenSystem:
        parts = (Combination.of(40, (c,), (A,)) for c, A in ((1.0, M), (1.0 + point["s"], K)))
        return FrozenSystem(**dict(zip("MK", parts, strict=True)), C=sp.csr_matrix((40, 40)))

    family = AffineFamily(freeze, {"s": 0.0})
    at = family.coefficients([{"s": 0.0}, {"s": 0.01}])
    space = BodySpace(family, at, 2, 1e-6)
    assert space.local(at).projected.resolved > 2.0 / 0.8
    assert space.local(at, guards=1).projected.resolved < 2.1


def test_many_blocks_stay_orthonormal() -> None:
    """A block that loses nine tenths of its columns' squares to V in one pass of Gram–Schmidt
    brings tenfold what V itself lacks in orthogonality: 40 blocks were no basis at all."""
    system = block(8, 4, 4, "hex8").freeze()
    family = AffineFamily(lambda _: system, {})
    reference = ReferenceOperator(family, family.coefficients([{}]))
    V = reference.start(system.n // 3).V
    reference.destroy()
    gram = V.T @ (system.M @ V)
    assert np.abs(gram - np.eye(len(gram))).max() < 1e-11


def test_a_local_space_of_a_free_body_is_smaller_and_knows_what_the_frame_prescribes() -> None:
    body = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 8)
    points = [dict(omega=30.0 + s, epsilon=400.0 + 5.0 * s) for s in range(5)]
    family = AffineFamily(lambda p: body.freeze(**p, axis=(0, 1, 1)), points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, 6, 1e-6)
    space.train(at)
    local = space.local(at)
    assert local.projected.size < space.projected.size
    shared, own = (one.solve(at) for one in (space, local))
    assert np.array_equal(shared.prescribed, own.prescribed)
    assert local.worst(own) <= 1.0
    space.destroy()


def test_an_undamped_free_body_that_turns_keeps_its_structure_and_lacks_no_mode() -> None:
    """Turned about itself it is at rest again: a null field of K, and no mode."""
    body = assembly.beam(1.0, assembly.rectangle(0.05, 0.05), assembly.steel, 6)
    axis = np.array([0.0, 0.3, 1.0])
    points = [dict(omega=w) for w in (5.0, 20.0, 60.0)]
    family = AffineFamily(lambda p: body.freeze(**p, axis=axis), points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, 9, 1e-8)
    found = space.train(at)
    space.destroy()
    assert found.modes.exact.all() and not found.modes.eigenvalues[~found.prescribed].real.any()
    for p, point in enumerate(points):
        modes = modal.solve(family.freeze(point), k=20, backend="dense")
        counted = modes.eigenvalues[np.asarray(modes.kind) != "prescribed"].imag
        np.testing.assert_allclose(found.counted(p, 5)[0].imag, counted[:5], rtol=1e-7)
