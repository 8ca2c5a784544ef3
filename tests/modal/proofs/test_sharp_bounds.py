"""Bounds where they are sharp: less than three times the true value, so that no factor is spare.

True values: LAPACK on the full matrices, and closed forms. `make mutants` breaks each factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import modal
from assembly import FrozenSystem
from assembly.linalg.combination import Combination
from modal.eigen.quadratic import Quadratic
from modal.proofs import verdict
from modal.proofs.box import PointBoxes, highest_growing
from modal.proofs.judge import COUNT
from modal.proofs.one_state import examine
from modal.proofs.poles import Poles, largest_on_axis
from modal.proofs.proving import ProvingSpace
from modal.proofs.ratios import lanczos
from modal.reduction.affine import AffineFamily, Coefficients, Term
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.body_space import BodySpace
from modal.reduction.error_bounds import bounds_of, round_off
from modal.reduction.full_order import full_order_modes
from modal.reduction.instants import Instants
from modal.reduction.motion import ReducedMotion
from modal.reduction.projection import ProductSizes
from modal.reduction.reduced_eigen import SmallModes
from modal.types import Array
from studies import slider_crank

J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def test_the_height_of_the_box_is_that_of_a_softened_gyroscope() -> None:
    """λ² ± igλ − s = 0 has Im λ = ±g/2 where s > g²/4: the height of the box itself."""
    g, s = 6.0, 10.0
    system = FrozenSystem(M=np.eye(2), C=g * J, K=-s * np.eye(2))
    found = modal.stability(system)
    assert found.verdict == "flutter"
    assert found.growth_rate == pytest.approx(np.sqrt(s - g**2 / 4.0), rel=1e-12)
    height = 2.0 * np.pi * found.critical_frequency
    point = PointBoxes(np.array([g]), np.array([0.0]), np.array([True]))
    of_family = point.angular_frequency.item()
    for bound in (found.box.angular_frequency, of_family):
        assert height * (1.0 - 1e-12) <= bound <= height * (1.0 + 1e-12)
    assert found.growth_rate <= found.box.growth


@pytest.mark.parametrize(
    "rates", [(0.0, 1.0, 50.0, 2.0), (6.0, 1.0, 1.0, 1.0), (0.0, 1.0, 1e-3, 100.0)]
)
def test_highest_growing_frequency(rates: tuple[float, float, float, float]) -> None:
    """The largest |ω| of λ² + (d + ig)λ + s + in = 0, r ≥ 0, over all d, s, g, n that κ, ρ, δ and γ
    allow: with n = −κ (d + δ) and g = −γ, d follows from r, and s from both."""
    gyroscopic, ratio, slope, shift = rates
    omega = max(ratio, 0.5 * gyroscopic) * np.geomspace(1.0001, 1e3, 4000)[:, None]
    r = np.linspace(0.0, 1.0, 500) * ratio * shift / (2.0 * omega - gyroscopic)
    d = (ratio * shift - r * (2.0 * omega - gyroscopic)) / (omega - ratio)
    s = omega**2 - gyroscopic * omega - r**2 - r * d
    possible = (s <= slope * (d + shift)).any(axis=1)
    largest = float(omega[possible].max())
    found = highest_growing(gyroscopic, ratio, slope, shift)
    assert largest <= found <= 1.4 * largest


def undamped_at_the_ground(circulatory: float) -> FrozenSystem:
    """160 masses in a plane, damped where they are tied to each other, not at the ground."""
    count = 160
    chain = sp.diags([np.full(count, 2.0), np.full(count - 1, -1.0)], [0, 1]).tolil()
    chain[0, 0] = chain[count - 1, count - 1] = 1.0
    chain = sp.csr_matrix(chain + sp.triu(chain, 1).T)
    ground = sp.csr_matrix(([1.0], ([0], [0])), (count, count))
    S = 1e4 * sp.kron(chain, np.eye(2)) + sp.kron(ground, np.diag([5.0, 8.0]))
    N = circulatory * sp.kron(sp.identity(count), [[0.0, 1.0], [-1.0, 0.0]])
    return FrozenSystem(M=np.eye(2 * count), C=2.0 * sp.kron(chain, np.eye(2)), K=S + N)


def test_damping_that_grows_with_stiffness_bounds_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Circulatory forces act on rigid motions, which no damper resists: κ is infinite. All modes
    are counted without LAPACK."""
    expected = {}
    for nu in (1e-6, 0.02):
        system = undamped_at_the_ground(nu)
        n, K, C = system.n, system.stiffness.toarray(), system.damping.toarray()
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
        expected[nu] = la.eigvals(A)
    monkeypatch.setattr(verdict, "all_modes", None)
    for nu, word in ((1e-6, "stable"), (0.02, "flutter")):
        found, every = modal.stability(undamped_at_the_ground(nu)), expected[nu]
        assert found.verdict == word
        assert found.box.is_bounded and found.examined_to == np.inf
        growing = every[every.real > 1e-9]
        assert (np.abs(growing.imag) <= found.box.angular_frequency).all()
        assert found.growth_rate == pytest.approx(every.real.max(), abs=found.error_bound)


@pytest.mark.parametrize("p", [-1.0, 1.0])
def test_theta_is_what_the_complement_of_a_basis_loses(p: float) -> None:
    """zᵀSz ≥ (1 − θ) zᵀK_ref z for z orthogonal to the basis in K_ref, S the stiffness."""
    n = 30
    squares = (1.0 + np.arange(n)) ** 2
    changes = np.where(np.arange(n) % 2, 0.3, -0.15) * squares
    unit = np.ones(n)
    M, D, K, B = (sp.diags(d, format="csr") for d in (unit, 0.1 * unit, squares, changes))

    def freeze(point: Mapping[str, float]) -> FrozenSystem:
        parts = (((1.0, M),), ((1.0, D),), ((1.0, K), (point["p"], B)))
        return FrozenSystem(
            **{name: Combination((n, n), part) for name, part in zip("MDK", parts, strict=True)}
        )

    family = AffineFamily(freeze, {"p": 1.0})
    at = family.coefficients([{"p": value} for value in (-1.0, 0.0, 1.0)])
    reducer = ProvingSpace(family, at, 4)
    completeness = reducer._completeness
    assert completeness is not None
    weights = reducer.reference.weights
    terms = [term.operator.toarray() for term in family.terms[: len(weights)]]
    K_ref = sum(w * A for w, A in zip(weights, terms, strict=True))
    K_ref = K_ref + reducer.reference.shift * np.eye(n)
    Z = la.null_space(reducer.basis.columns.V.T @ K_ref)
    assert Z.shape[1] > 0
    S = np.diag(squares + p * changes)
    least = la.eigh(Z.T @ S @ Z, Z.T @ K_ref @ Z, eigvals_only=True)[0]
    forms = reducer.forms()
    theta = completeness.theta(forms, family.coefficients([{"p": p}]), np.zeros(1)).item()
    reducer.destroy()
    assert (1.0 - 1e-12) * (1.0 - least) <= theta < 3.0 * (1.0 - least)


def small(values: Array) -> SmallModes:
    lam = np.asarray(values, dtype=complex)[None]
    k = lam.shape[1]
    vectors = np.eye(k, dtype=complex)[None]
    return SmallModes(lam, vectors, vectors, np.ones((1, k)), np.ones(1), np.zeros(1, dtype=bool))


def test_the_sum_over_poles_between_the_nodes() -> None:
    """One pole half-way up the side of the box, its residual not known: 1/|Re λ| at its height."""
    W = np.array([8.0])
    pole = -2.0 + 4.0j
    one = np.ones((1, 1))
    poles = Poles(np.array([[pole]]), one[..., None] + 0j, one[..., None] + 0j, one + 0j)
    unknown = np.full((1, 1), np.inf)
    none = np.zeros((2, 1, 1))
    found = largest_on_axis(W, np.ones(1), none, none, poles, unknown, unknown)
    true = 1.0 / abs(pole.real)
    assert true <= found.item() < 3.0 * true


@pytest.mark.parametrize("parts", [(5.0, 7.0, 0.0, 0.0), (5.0, 0.0, 0.0, 3.0), (0.0, 7.0, 2.0, 0.0),
                                   (0.0, 0.0, 2.0, 3.0)])  # fmt: skip
def test_a_pole_of_known_residuals_has_the_couplings_of_its_own_vectors(
    parts: tuple[float, ...],
) -> None:
    """‖r + d E_zv x‖ ‖s + d E_vzᵀy‖ / d, d = |iω − λ|, at the ω of the side where it is largest."""
    right, left, of_right, of_left = parts
    W, pole = np.array([8.0]), -2.0 + 3.0j
    one = np.ones((1, 1))
    poles = Poles(np.array([[pole]]), one[..., None] + 0j, one[..., None] + 0j, 0.5 * one + 0j)
    damping = np.array([of_right, of_left]).reshape(2, 1, 1)
    d = np.abs(1j * np.linspace(0.0, 8.0, 801) - pole)
    true = 0.5 * np.max((right + d * of_right) * (left + d * of_left) / d)
    found = largest_on_axis(
        W, np.full(1, np.inf), 0.0 * damping, damping, poles, right * one, left * one
    )
    assert found.item() == pytest.approx(true, rel=1e-12)


def test_what_a_mode_couples_with_the_complement_is_that_of_its_own_vector() -> None:
    """Dampers turn each shape of the basis into another one outside it, the stiffer the less."""
    n = 80
    squares = (1.0 + np.arange(n)) ** 2
    forces = np.zeros((n, n))
    forces[np.arange(70, 80), np.arange(10)] = 0.1 * np.exp(-np.arange(10.0))
    forces[np.arange(10), np.arange(60, 70)] = 0.1 * np.exp(-np.arange(10.0)[::-1])
    every = forces + np.eye(n)
    M, D, K = (sp.csr_matrix(A) for A in (np.eye(n), every, np.diag(squares)))
    family = AffineFamily(lambda point: FrozenSystem(M=M, D=D, K=K), {})
    at = family.coefficients([{}])
    space = ProvingSpace(family, at, 4)
    completeness, projected = space._completeness, space.projected
    assert completeness is not None and projected.size < 40
    basis, r = space.basis, projected.size
    K_ref = np.diag(squares + space.reference.shift)
    X = basis.V @ basis.rotation / projected.frequency
    assert X.T @ K_ref @ X == pytest.approx(np.eye(r), abs=1e-10)
    Z = la.null_space(X.T @ K_ref)
    Z = Z @ la.inv(la.cholesky(Z.T @ K_ref @ Z))
    unit = np.eye(r, dtype=complex)[None]
    poles = Poles(np.zeros((1, r), dtype=complex), unit, unit, np.ones((1, r), dtype=complex))
    mass, damping = completeness._of_modes(projected, at, poles)
    space.destroy()
    for found, B in zip(np.concatenate([mass, damping])[:, 0], (M, M, every, every.T), strict=True):
        true = np.linalg.norm(Z.T @ B @ X, axis=0)
        assert np.all(true <= found) and np.all(found < 3.0 * true)


@pytest.mark.parametrize(("uneven", "support"), [(1.0, 0.1), (1.0, 0.001), (30.0, 0.1)])
def test_motions_on_soft_springs_couple_with_next_to_nothing(uneven: float, support: float) -> None:
    """Two chains of masses that turn, of different springs: as a whole they are poles of 1e5, on
    the imaginary axis. Every mode is counted, though others couple the chains. True: ω ± Ω of a
    whole motion on its supports."""
    n, spin = 170, 100.0
    springs = np.ones(n - 1), 0.5 + uneven * np.arange(n - 1) / (n - 1)
    chains = [
        sp.diags([np.append(k, 0.0) + np.append(0.0, k), -k, -k], [0, 1, -1]) for k in springs
    ]
    M = sp.identity(2 * n, format="csr")
    K = (1.5 * spin * n / np.pi) ** 2 * sp.block_diag(chains) + (support**2 - spin**2) * M
    C = 2.0 * spin * sp.kron(J, sp.identity(n))
    found = examine(FrozenSystem(M=M, C=sp.csr_matrix(C), K=sp.csr_matrix(K)), 10)
    assert found is not None
    lam, bound, proof, *_ = found
    assert proof == COUNT
    whole = np.array([spin - support, spin + support])
    apart = np.abs(lam[:, None] - 1j * whole).min(axis=0)
    assert np.all(apart <= bound.max() + 1e-9 * spin)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.75])
def test_the_error_bound_of_a_basis_that_lacks_one_shape(ratio: float) -> None:
    """Two masses, the basis has one. A sketched norm may be half of the true one; the bound is then
    still one, and at most 10 % too large. True error: the eigenvalues of the 2 × 2 matrix."""
    square, coupling = ratio**2, 1e-3  # (|λ|/ω_c)², ω_c = 1
    exact = np.sqrt(la.eigvalsh(np.array([[square, coupling], [coupling, 1.0]]))[0])
    sketched = np.array([[0.5 * coupling]])
    modes = small(np.array([1j * ratio]))
    pairing = np.array([[2j * ratio]])
    found = bounds_of(modes, sketched, sketched, pairing, 1.0).error_bound.item()
    error = abs(exact - ratio)
    assert error * (1.0 - 1e-3) <= found <= 1.1 * error


class Gyroscopes:
    """Pairs of masses on springs, each pair turned by itself: nothing couples them."""

    own = np.concatenate([1.0 + 0.05 * np.arange(14), 10.0 + 0.5 * np.arange(60)])
    M, K = sp.identity(148, format="csr"), sp.diags(np.repeat(own**2, 2), format="csr")
    G = sp.kron(sp.identity(74), J, format="csr")

    def freeze(self, point: Mapping[str, float]) -> FrozenSystem:
        parts = (1.0, self.M), (point["omega"], self.G), (1.0, self.K)
        return FrozenSystem(
            **{name: Combination(self.M.shape, (p,)) for name, p in zip("MCK", parts, strict=True)}
        )


def test_shapes_that_only_the_motion_brings_down_are_in_the_basis() -> None:
    """The twenty lowest modes of fast gyroscopes are slow ones of twenty pairs,
    √(Ω²/4 + ω²) − Ω/2. At rest they are those of ten pairs. No residual of these sees the others.
    """
    family = AffineFamily(Gyroscopes().freeze, {"omega": 0.0})
    speeds = np.linspace(0.0, 10.0, 5)
    at = family.coefficients([{"omega": speed} for speed in speeds])
    space = BodySpace(family, at, 20)
    found = space.train(at)
    assert space.worst(found) <= 1.0
    modes, bounds = found.modes, found.bounds
    space.destroy()
    for n, speed in enumerate(speeds):
        low = np.sqrt(0.25 * speed**2 + Gyroscopes.own**2) - 0.5 * speed
        true = np.sort(np.concatenate([low, low + speed]))[:20]
        error = np.abs(np.sort(np.abs(modes.eigenvalues[n, :20])) - true)
        assert np.all(error <= bounds.error_bound[n, :20] + 1e-9)


def test_lanczos_of_clusters_beside_known_vectors() -> None:
    """Two ratios, mixed by the vectors that are left out: clusters, where vectors of the iteration
    nearly depend on one another. Its bounds hold to the last digits, and are no wider."""
    n = 30
    squares = (1.0 + np.arange(n)) ** 2
    ratios = np.where(np.arange(n) % 2, 0.3, -0.15) * np.sqrt(2.0)
    t = np.linspace(0.0, 1.0, n)
    V = np.stack([np.exp(-8.0 * (t - c) ** 2) / (1.0 + squares) for c in np.linspace(0, 1, 6)]).T
    A, B = np.diag(squares), np.diag(squares * ratios)
    X = V @ la.inv(la.cholesky(V.T @ A @ V))
    rest = la.null_space((A @ X).T)
    true = la.eigh(rest.T @ B @ rest, rest.T @ A @ rest, eigvals_only=True)[[0, -1]]
    ((low, high),) = lanczos(
        lambda x: x / squares[:, None], A.__matmul__, [B.__matmul__], np.ones(n), without=(X, A @ X)
    )
    width = 1e-7 * (true[1] - true[0])
    assert true[0] - width <= low <= true[0] + 1e-13
    assert true[1] - 1e-13 <= high <= true[1] + width


def test_an_invariant_space_of_lanczos_adds_its_residual() -> None:
    """Equal ratios, coupled just below what counts as invariant: 1 ± c. The space has 1 alone."""
    c = 0.9e-10
    B = np.array([[1.0, c], [c, 1.0]])
    ((low, high),) = lanczos(lambda b: b, lambda x: x, [B.__matmul__], np.array([1.0, 0.0]))
    assert c * (1.0 - 1e-5) <= 1.0 - low <= 2.0 * c
    assert c * (1.0 - 1e-5) <= high - 1.0 <= 2.0 * c


@pytest.mark.parametrize(("lost", "verdict"), [(6e-14, "undecided"), (2e-13, "divergence")])
def test_a_stiffness_below_what_its_sums_lose_has_no_sign(lost: float, verdict: str) -> None:
    """A free motion whose springs do not cancel: the sum of 5,000 times 0.7 loses 8e-14."""
    K = np.array([[1.0 - lost, -1.0], [-1.0, 1.0 - lost]])
    found = modal.stability(FrozenSystem(M=np.eye(2), D=np.eye(2), K=K))
    assert found.verdict == verdict


@pytest.mark.parametrize(("decay", "beyond"), [(0.99, True), (1.01, False), (-1.01, False)])
def test_lapack_does_not_tell_a_decay_below_its_round_off(decay: float, beyond: bool) -> None:
    """n ε ω/ω_1 of the frequency; a growth is looked for."""
    n, omega = 3, np.array([1.0, 10.0, 1000.0])
    off = n * np.finfo(float).eps * omega
    D = np.diag([0.1, 0.1, 2.0 * decay * off[2] * omega[2]])
    damped = FrozenSystem(np.eye(n), D=D, K=np.diag(omega**2))
    assert verdict._is_beyond_precision(Quadratic(damped)) == beyond
    reversible = FrozenSystem(np.eye(n), K=np.diag(omega**2))  # the axis is a symmetry
    assert not verdict._is_beyond_precision(Quadratic(reversible))


def test_the_bound_of_full_order_modes_of_a_basis_that_lacks_one_shape() -> None:
    """|λ|² is half of what is missing. True error: the eigenvalues of the 2 × 2 matrix."""
    ratio, coupling = np.sqrt(0.5), 1e-3
    K = np.array([[0.5, coupling], [coupling, 1.0]])
    e = np.array([[1.0], [0.0]])
    terms = [Term(sp.csr_matrix(A)) for A in (np.eye(2), K)]
    part = SimpleNamespace(
        family=SimpleNamespace(terms=terms), V=e, rotation=np.eye(1),
        include=lambda vectors: 0, free=lambda residuals: residuals,
        solve=lambda block: block,  # K_ref is 1 in the shape that is missing
    )  # fmt: skip
    point = Coefficients(np.array([[[1.0, 0.0]], [[0.0, 0.0]], [[0.0, 1.0]]]))
    none = np.zeros((2, 0, 1, 1))
    projected: Any = SimpleNamespace(
        matrices=np.stack([np.eye(1), K[:1, :1]]), frequency=np.ones(1), overlap=np.zeros((0, 1)),
        images=none, resolved=1.0, held=np.zeros(2, dtype=bool),
    )  # fmt: skip
    instants = Instants.of_body(projected, point)
    modes = small(np.array([1j * ratio]))
    bases: Any = SimpleNamespace(
        tolerance=1e-2, complete=False, parts={"body": part},
        refresh=lambda: None, on=lambda point: instants, lowest=lambda at, count: modes,
        quotient_round_off=lambda sizes: 0.0 * sizes,
    )  # fmt: skip
    modes_of_point = full_order_modes(bases, point, 1, {"body": np.zeros((2, 1))})
    error = abs(np.sqrt(la.eigvalsh(K)[0]) - ratio)
    assert error * (1.0 - 1e-3) <= modes_of_point.error_bound.item() <= 1.1 * error


def test_the_size_of_products_is_that_of_their_terms() -> None:
    """Σ |y_i||A_ij||x_j| itself where the moduli of the entries follow √diag M."""
    n = 40
    rng = np.random.default_rng(5)
    mass = np.exp(rng.uniform(3.0, 5.0, n))  # none near one, which hides a missing weight
    A = sp.diags([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], [-1, 0, 1])
    scaled = sp.csr_matrix(sp.diags(np.sqrt(mass)) @ A @ sp.diags(np.sqrt(mass)))
    skew = sp.csr_matrix(sp.triu(scaled, 1) - sp.tril(scaled, -1))
    one_sided = sp.csr_matrix(sp.triu(scaled))
    for operator in (scaled, skew, one_sided):
        sizes = ProductSizes.of([Term(operator)], mass)
        s = sizes.factors[0] @ sizes.weights
        x, y = (rng.choice([-1.0, 1.0], n) / np.sqrt(mass) for _ in range(2))
        true = np.abs(y) @ (abs(operator) @ np.abs(x))
        stated = np.sqrt((s @ y**2) * (s @ x**2))
        assert true * (1.0 - 1e-12) <= stated < 1.5 * true


def test_the_size_of_an_operator_of_one_entry_is_that_entry() -> None:
    operator = sp.csr_matrix(([-7.0], ([0], [1])), shape=(2, 2))
    sizes = ProductSizes.of([Term(operator)], np.array([2.0, 5.0]))
    s = sizes.factors[0] @ sizes.weights
    assert np.sqrt(s[0] * s[1]) == pytest.approx(7.0)


def test_round_off_is_that_of_the_products() -> None:
    """ε times the sum of the moduli of all terms over |wᴴT′(λ)u|, whatever the condition."""
    modes = replace(small(np.array([1j])), condition=np.array([[3.0]]), spread=np.array([1e-9]))
    rounded = round_off(modes, np.array([[2j]]), np.array([[1e8]])) * modes.condition
    assert rounded.item() == pytest.approx(np.finfo(float).eps * 1e8 / 2.0, rel=1e-6)


def two_links() -> tuple[Any, dict[str, Any]]:
    """Sketched residuals of two links, of norms 3 and 4: together 5."""

    def sketch(name: str, roles: Any, transposed: bool = False) -> Array:
        return np.full((1, 2, 1, 1), {"crank": 3.0, "rod": 4.0}[name])

    bases = dict.fromkeys(("crank", "rod"))
    instants: Any = Instants(np.zeros((3, 1, 1, 1)), bases, {})
    vars(instants)["sketch"] = sketch
    return instants, bases


def test_residuals_of_all_links_count() -> None:
    instants, bases = two_links()
    one = np.ones((1, 1, 1), dtype=complex)
    for transposed in (False, True):
        assert instants.dual_norms(np.ones((1, 1)), one, transposed).item() == pytest.approx(5.0)
    motion: Any = object.__new__(ReducedMotion)
    motion.space, motion.instants = SimpleNamespace(parts=bases), lambda times: instants
    for size in motion.missing(np.zeros(1), one, one, one):
        assert size.item() == pytest.approx(5.0 * UNDERESTIMATE)


def test_the_bound_of_a_track_from_one_basis() -> None:
    """Against LAPACK at every instant, with a basis so coarse that its error is no round-off."""
    machine = slider_crank.model(elements=14, rayleigh=(2.0, 1e-6), speed_rpm=900.0)
    assert machine.period is not None
    times = np.linspace(0.0, machine.period, 13)
    tracks = modal.track(machine, times=times, k=3, tolerance=1e-3, checks=0, progress=False)
    assert tracks.attrs["solver"].startswith("basis of")
    size = np.abs(tracks.eigenvalue.values)
    bound = (tracks.condition_number * tracks.backward_error).values * size
    worst = 0.0
    for t, values, bounds in zip(times, tracks.eigenvalue.values, bound, strict=True):
        exact = modal.solve(machine.freeze(t), k=6, backend="dense").eigenvalues
        error = np.abs(values[:, None] - exact).min(axis=1)
        assert np.all(error <= bounds + 1e-11 * np.abs(values))
        worst = max(worst, float((error / bounds).max()))
    assert worst > 1.0 / 12.0
