"""Bounds where they are sharp: less than three times the true value, so that no factor is spare.

True values: LAPACK on the full matrices, and closed forms. `make mutants` breaks each factor.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

import modal
from assembly import FrozenSystem
from assembly.linalg.combination import Combination
from modal.proofs.family_box import PointBoxes
from modal.proofs.poles import Poles, largest_on_axis
from modal.proofs.proving import ProvingReducer
from modal.reduction.affine import AffineFamily
from modal.reduction.error_bounds import bounds_of
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
    of_family = PointBoxes(
        np.array([g]), np.array([0.0]), np.array([True])
    ).angular_frequency.item()
    for bound in (found.box.angular_frequency, of_family):
        assert height * (1.0 - 1e-12) <= bound <= height * (1.0 + 1e-12)
    assert found.growth_rate <= found.box.growth


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
    reducer = ProvingReducer(family, at, 4)
    completeness = reducer.prover._completeness
    assert completeness is not None
    weights = reducer.reference.weights
    terms = [term.operator.toarray() for term in family.terms[: len(weights)]]
    K_ref = sum(w * A for w, A in zip(weights, terms, strict=True))
    K_ref = K_ref + reducer.reference.shift * np.eye(n)
    Z = la.null_space(reducer.basis.columns.V.T @ K_ref)
    assert Z.shape[1] > 0
    S = np.diag(squares + p * changes)
    least = la.eigh(Z.T @ S @ Z, Z.T @ K_ref @ Z, eigvals_only=True)[0]
    forms = reducer.prover.forms(reducer.projected)
    theta = completeness.theta(forms, family.coefficients([{"p": p}]), np.zeros(1)).item()
    reducer.destroy()
    assert (1.0 - 1e-5) * (1.0 - least) <= theta < 3.0 * (1.0 - least)


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
    poles = Poles(
        np.array([[pole]]), one[..., None] + 0j, one[..., None] + 0j, one, one + 0j,
        np.array([[False]]),
    )  # fmt: skip
    unknown = np.full((1, 1), np.inf)
    used = np.ones((1, 1), dtype=bool)
    found = largest_on_axis(W, np.ones(1), 0.0, np.zeros(1), poles, (unknown, unknown), used)
    true = 1.0 / abs(pole.real)
    assert true <= found.item() < 3.0 * true


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
    """Sixty pairs of masses on springs, each pair turned by itself: nothing couples them."""

    own = 1.0 + 0.05 * np.arange(60)
    M = sp.identity(120, format="csr")
    K = sp.diags(np.repeat(own**2, 2), format="csr")
    G = sp.kron(sp.identity(60), J, format="csr")

    def freeze(self, omega: float) -> FrozenSystem:
        return FrozenSystem(M=self.M, C=Combination(self.G.shape, ((omega, self.G),)), K=self.K)


def test_shapes_that_only_the_motion_brings_down_are_in_the_basis() -> None:
    """The twenty lowest modes of fast gyroscopes are the slow ones of twenty pairs,
    √(Ω²/4 + ω²) − Ω/2. At rest they are those of ten pairs. No residual of these sees the others.
    """
    speeds = np.linspace(0.0, 3.0, 13)
    tracks = modal.track(Gyroscopes(), omega=speeds, k=20, checks=0, progress=False)
    for speed in (speeds[6], speeds[12]):
        low = np.sqrt(0.25 * speed**2 + Gyroscopes.own**2) - 0.5 * speed
        true = np.sort(np.concatenate([low, low + speed]))[:20]
        found = np.sort(np.abs(tracks.eigenvalue.sel(omega=speed).dropna("mode").values))[:20]
        np.testing.assert_allclose(found, true, rtol=1e-6)


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
