"""A sweep that hits an eigenvalue of exactly zero: the mode goes on through it, under its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import modal
from assembly import DofMap, FrozenSystem
from modal.eigen.deflation import with_zeros

J = np.array([[0.0, -1.0], [1.0, 0.0]])
POINT = DofMap.regular(np.zeros((1, 3)), (0, 1))


@dataclass(frozen=True)
class Model:
    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


def hidden(diagonal: Callable[[float], np.ndarray], seed: int, damping: float = 0.0) -> Model:
    """q̈ + 2·damping q̇ + diag q = 0 under a random change of unknowns."""
    rng = np.random.default_rng(seed)
    n = len(diagonal(0.0))
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    X = Q * rng.uniform(0.5, 2.0, n)

    def freeze(s: float) -> FrozenSystem:
        D = 2.0 * damping * X.T @ X if damping else None
        return FrozenSystem(M=X.T @ X, D=D, K=X.T @ (diagonal(s)[:, None] * X))

    return Model(freeze)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damping", [0.0, 0.2])
@pytest.mark.parametrize("up", [True, False])
def test_divergence_that_begins_at_an_instant(seed: int, damping: float, up: bool) -> None:
    """λ = −d ± √(d² + s − 1): zero at s = 1, which is one of the values."""
    s = np.linspace(0.0, 2.0, 9)[:: 1 if up else -1].copy()
    assert s[4] == 1.0
    model = hidden(lambda v: np.array([1.0 - v, 4.0, 9.0]), seed, damping)
    tracks = modal.track(model, s=s, k=2)
    lam = tracks["eigenvalue"].values
    exact = -damping + np.sqrt((damping**2 + s - 1.0).astype(complex))
    row = int(np.flatnonzero(lam[4] == 0.0)[0])
    np.testing.assert_allclose(lam[:, row], exact, rtol=1e-9, atol=1e-12)
    event = tracks["event"].values[:, row]
    kind, beyond = ("divergence onset", 5) if up else ("split", 4)
    assert [n for n, name in enumerate(event) if name == kind] == [beyond]
    there = np.isfinite(lam).sum(axis=1)
    twin = (s > 1.0) if damping == 0.0 else (s - 1.0 + damping**2 > 0.0)
    np.testing.assert_array_equal(there, np.where(twin, 3, 2))


@pytest.mark.parametrize("damped", [False, True])
def test_round_shaft_at_its_critical_speed(damped: bool) -> None:
    """In its own frame λ = ±i(ω − Ω): zero at Ω = ω, where forward becomes backward.

    With external damping d: λ = −iΩ − d/2 ± √(d²/4 − ω²), never zero.
    """
    d = 0.1 if damped else 0.0

    def freeze(s: float) -> FrozenSystem:
        return FrozenSystem(
            M=np.eye(2),
            C=2.0 * s * J,
            D=d * np.eye(2),
            K=np.eye(2),
            K_omega2=-s * s * np.eye(2),
            K_D=d * s * J,
            dofs=POINT,
        )

    s = np.linspace(0.0, 2.0, 9)
    tracks = modal.track(Model(freeze), s=s, k=2, whirl_axis=(0, 0, 1))
    assert tracks.sizes["mode"] == 2
    lam = tracks["eigenvalue"].values
    natural = np.sqrt(1.0 - 0.25 * d**2)
    row = int(np.argmin(np.abs(lam[-1])))
    assert np.all(np.isfinite(lam))
    np.testing.assert_allclose(np.abs(lam[:, row].imag), np.abs(natural - s), atol=1e-12)
    np.testing.assert_allclose(lam[:, row].real, -0.5 * d, atol=1e-12)
    np.testing.assert_allclose(lam[:, 1 - row].imag, natural + s, rtol=1e-12)
    before, after = tracks["whirl"].values[[0, -1], row]
    assert (before, after) == ("forward", "backward")
    if not damped:
        assert lam[4, row] == 0.0
        assert np.isinf(tracks["condition_number"].values[4, row])
        assert np.nanmin(tracks["mac"]) > 0.9


def test_zeros_are_eigenvectors_of_both_sides() -> None:
    """Kx = 0, yᴴK = 0, yᴴ(C + D)x = 1 for a gyroscopic, circulatory instant of three zeros."""
    rng = np.random.default_rng(2)
    n, m = 6, 3
    X, Y = rng.normal(size=(2, n, n - m))
    K = Y @ X.T
    G = rng.normal(size=(n, n))
    system = FrozenSystem(M=np.eye(n), C=G - G.T, D=0.3 * np.eye(n), K=K)
    plain = modal.solve(system, 4)
    modes = with_zeros(system, plain)
    added = len(modes) - len(plain)
    assert added in (2, 3)  # three real ones, or a real one and a pair
    x, y = modes.right[:, :added], modes.left[:, :added]
    assert np.abs(K @ x).max() < 1e-10 and np.abs(K.T @ y.conj()).max() < 1e-10
    np.testing.assert_allclose(y.conj().T @ system.damping @ x, np.eye(added), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(x, axis=0), 1.0)
    assert modes.kind.tolist() == ["elastic"] * len(modes)


def test_zeros_of_a_free_body_stay_out() -> None:
    free = FrozenSystem(M=np.eye(2), K=[[1.0, -1.0], [-1.0, 1.0]], rigid=[[1.0], [1.0]])
    modes = modal.solve(free, 1)
    assert modes.deflated == 2
    assert with_zeros(free, modes) is modes
