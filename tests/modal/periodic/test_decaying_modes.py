"""The proof that all but 2m Floquet exponents lie below a rate, against the whole monodromy."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from modal.periodic import decaying_modes
from modal.periodic.chart_method import Rest
from modal.periodic.chart_motion import ChartMotion
from modal.periodic.collocation import Multipliers
from modal.periodic.decaying_modes import MARGIN, FrozenForms, bernstein, on_all_shapes
from modal.periodic.product_eigen import product_modes
from modal.proofs.judge import COUNT
from modal.reduction.interpolation import ParameterPolynomial, parameter_polynomial
from modal.types import Array

PARTS = 64
PHASES = 2.0 * np.pi * np.arange(PARTS) / PARTS


def proofs(M: Array, C: Array, K: Array, rate: float) -> list[float | None]:
    """s of every number of slow modes."""
    forms = FrozenForms.of(M, C, K)
    if forms is None:
        return [None] * M.shape[1]
    H = -np.linalg.solve(M, np.concatenate([K, C], axis=2))
    return [forms.separating_rate(m, *forms.in_modes(H), rate) for m in range(M.shape[1])]


def exponents(M: Any, C: Any, K: Any, rate: float) -> Array:
    """Real parts of all exponents by Magnus steps of order 4; matrices of the phase."""
    n, steps, period = len(M(0.0)), 1600, 2.0 * np.pi / rate
    h, root = period / steps, np.sqrt(3.0)

    def A(phase: float) -> Array:
        below = -np.linalg.solve(M(phase), np.hstack([K(phase), C(phase)]))
        return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), below])

    nodes = (np.arange(steps) + 0.5) / steps
    one, two = (
        np.stack([A(2.0 * np.pi * (node + part / steps)) for node in nodes])
        for part in (-root / 6.0, root / 6.0)
    )
    maps = la.expm(0.5 * h * (one + two) + root / 12.0 * h * h * (two @ one - one @ two))
    factors = [np.linalg.multi_dot(part[::-1]) for part in maps.reshape(-1, 4, 2 * n, 2 * n)]
    modes = product_modes(np.stack(factors), np.zeros(len(factors)))
    return np.sort(modes.logs.real / period)


def waves(rng: np.random.Generator, size: float, n: int) -> Any:
    parts = size * rng.standard_normal((4, n, n))

    def at(phase: float) -> Array:
        angles = [np.cos(phase), np.sin(phase), np.cos(2.0 * phase), np.sin(2.0 * phase)]
        return np.asarray(np.tensordot(angles, parts, axes=1))

    return at


@pytest.mark.parametrize("seed", range(12))
def test_as_many_exponents_are_above_as_are_said(seed: int) -> None:
    """Moving mass, turning modes, gyroscopic and circulatory forces, of any size."""
    rng, n = np.random.default_rng(seed), 4
    rate, size = 10.0 ** rng.uniform(-0.7, 0.5), 10.0 ** rng.uniform(-2.5, -0.5)
    omega = np.cumprod(rng.uniform(1.0, 3.0, n))
    changing = [waves(rng, size, n) for _ in range(3)]
    turn = la.expm(rng.standard_normal((n, n)) * 0.3)
    damping = turn.T @ np.diag(rng.uniform(0.0, 2.0) * omega ** rng.uniform(0.0, 2.5)) @ turn

    def M(phase: float) -> Array:
        root = turn + changing[0](phase)
        return np.asarray(root.T @ root)

    def K(phase: float) -> Array:
        root = omega[:, None] * (turn + changing[1](phase))
        return np.asarray(root.T @ root) + size * (changing[2](phase) - changing[2](phase).T)

    def C(phase: float) -> Array:
        return damping + omega[0] * changing[2](phase)

    sampled = (np.stack([A(phase) for phase in PHASES]) for A in (M, C, K))
    found = proofs(*sampled, rate)
    if any(s is not None for s in found):
        truth = exponents(M, C, K, rate)
        for m, s in enumerate(found):
            assert s is None or int(np.sum(truth > s)) == 2 * m


def test_proofs_are_had() -> None:
    """Where modes turn and change slowly beside their decay."""
    omega, damping = np.array([1.0, 3.0, 9.0]), 0.05

    def turned(phase: float, values: Array) -> Array:
        angle = 0.3 * np.sin(phase)
        R = la.expm(np.array([[0.0, angle, 0.0], [-angle, 0.0, angle], [0.0, -angle, 0.0]]))
        return np.asarray(R.T @ np.diag(values) @ R)

    K = np.stack([turned(phase, omega**2) for phase in PHASES])
    M = np.repeat(np.eye(3)[None], PARTS, axis=0)
    found = proofs(M, damping * K, K, 0.02)
    assert found[0] == 0.0  # all decay
    for m in (1, 2):
        s = found[m]
        assert s is not None
        assert -0.5 * damping * omega[m] ** 2 < s < -0.5 * damping * omega[m - 1] ** 2


@pytest.mark.parametrize("pumped", ["stiffness", "mass", "turning"])
def test_parametric_resonance_of_a_damped_mode_is_no_proof(pumped: str) -> None:
    """Each of the three changes of S by itself; the frozen modes decay at all instants."""
    w = 5.0

    def M(phase: float) -> Array:
        return np.eye(2) * (1.0 + (0.2 * np.cos(phase) if pumped == "mass" else 0.0))

    def K(phase: float) -> Array:
        angle = phase if pumped == "turning" else 0.0
        R = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        size = 1.0 + (0.2 * np.cos(phase) if pumped == "stiffness" else 0.0)
        return np.asarray(size * R.T @ np.diag([w**2, 1.5 * w**2]) @ R)

    def C(phase: float) -> Array:
        return 0.1 * np.eye(2)

    rate = 2.0 * w if pumped != "turning" else 1.1 * w
    assert exponents(M, C, K, rate)[-1] > 0.01
    assert proofs(*(np.stack([A(p) for p in PHASES]) for A in (M, C, K)), rate)[0] is None


def test_the_change_of_the_form_is_its_derivative() -> None:
    """Against differences of S, of modes that cross and of others."""
    rng, n = np.random.default_rng(3), 5
    parts = 0.1 * rng.standard_normal((2, n, n))
    base = np.diag([1.0, 2.0, 2.0, 3.0, 8.0])

    def of(phase: Array) -> FrozenForms:
        wave = np.sin(phase)[:, None, None]
        M = np.eye(n) + wave * (parts[0] + parts[0].T)
        K = base + wave * (parts[1] + parts[1].T)
        forms = FrozenForms.of(M, 0.3 * M + 0.2 * K, K)
        assert forms is not None
        return forms

    h = 1e-4
    forms, ahead, behind = of(PHASES), of(PHASES + h), of(PHASES - h)

    def values(one: FrozenForms, sign: Array) -> tuple[Array, ...]:
        back = one.inverse.swapaxes(1, 2)
        diagonals = (sign * one.squares, sign * one.f, sign + 0.0 * one.f)
        return tuple(back @ (g[:, :, None] * one.inverse) for g in diagonals)

    sign = np.where(np.arange(n) < 1, -1.0, 1.0)
    ones = sign + 0.0 * forms.f
    said = (
        forms.change(sign * forms.squares, ones),
        forms.change(sign * forms.f, sign * forms.slope),
        forms.change(ones, 0.0 * ones),
    )
    for block, after, before in zip(said, values(ahead, sign), values(behind, sign), strict=True):
        due = forms.shapes.swapaxes(1, 2) @ (after - before) @ forms.shapes / (2.0 * h)
        np.testing.assert_allclose(block, due, atol=1e-5)


@pytest.mark.parametrize("share, holds", [(0.98, True), (1.02, False)])
def test_the_margin_decides(share: float, holds: bool) -> None:
    """Damping [d, g; g, d] of equal modes, half of d for displacements: R ∝ [d, 2g; 2g, d]."""
    d = 1e-3
    g = share * (1.0 - MARGIN) * 0.5 * d
    M = np.repeat(np.eye(2)[None], PARTS, axis=0)
    C = np.repeat(np.array([[d, g], [g, d]])[None], PARTS, axis=0)
    assert (proofs(M, C, M, 1.0)[0] is not None) == holds


def test_a_margin_that_changes_between_instants_is_no_proof() -> None:
    """A coupling by damping in one part of the period alone: between the parts it may be larger."""
    M, C = (np.repeat(A[None], PARTS, axis=0) for A in (np.eye(2), 0.1 * np.eye(2)))
    assert proofs(M, C, M, 1.0)[0] is not None
    C[5, [0, 1], [1, 0]] = 0.05
    assert proofs(M, C, M, 1.0)[0] is None


def test_a_box_is_bounded_by_its_coefficients() -> None:
    def value(x: Array) -> Array:
        return np.array([[x[0] ** 2 - 3.0 * x[0], x[0] * x[1] ** 2]])

    low, high = np.array([1.0, -1.0]), np.array([3.0, 2.0])
    polynomial = parameter_polynomial(value, low, high, 1e-10, lambda x: 1.0)
    assert polynomial is not None
    inner = np.array([1.2, -0.5]), np.array([1.8, 1.0])
    coefficients = bernstein(polynomial, *inner)
    rng = np.random.default_rng(1)
    inside = np.stack([value(rng.uniform(*inner)) for _ in range(200)])
    assert np.all(coefficients.min(axis=0) <= inside.min(axis=0))
    assert np.all(coefficients.max(axis=0) >= inside.max(axis=0))
    assert coefficients[:, 0, 0].min() == pytest.approx(1.5 * 1.5 - 4.5 - 0.09)


@pytest.mark.parametrize(
    "speed, count, bound, due",
    [(9.0, 2, 0.1, True), (11.0, 2, 0.1, False), (9.0, 1, 0.1, False), (9.0, 1, 9.0, True)],
)
def test_what_is_known_of_the_other_modes(
    speed: float, count: int, bound: float, due: bool
) -> None:
    """All up to the speed of the slow modes; no more above s than are proved."""
    logs = np.array([-1.0 + 1.0j, -1.0 - 1.0j, -8.0])
    none = np.zeros(3)
    found = Multipliers(logs, none, none, np.eye(3) + 0.0j, none, 10.0)
    assert Rest(speed, count, -5.0).decays(found, logs, np.full(3, bound)) == due
    assert not Rest().decays(found, logs, none)


@dataclass(frozen=True)
class Chain:
    """20 modes of ω 1 to 20 rad/s on mixed coordinates; the fastest is pumped or driven."""

    damping: float
    pumping: float = 0.0
    feeding: float = 0.0
    wave: float = 40.0
    fastest: float = 20.0

    def freeze(self, t: float) -> assembly.FrozenSystem:
        n = 20
        mixing = la.eigh(np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1))[1]
        squares = np.geomspace(1.0, self.fastest, n) ** 2
        dampings = self.damping * squares
        squares[-1] *= 1.0 + self.pumping * np.cos(self.wave * t)
        squares[0] *= 1.0 + 0.002 * np.cos(4.0 * t)
        dampings[-1] -= self.feeding * squares[-1]
        K, D = ((mixing * values) @ mixing.T for values in (squares, dampings))
        return assembly.FrozenSystem(M=np.eye(n), D=D, K=K)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pumping", "feeding"])
def test_a_fast_mode_that_grows_is_never_called_stable(way: str) -> None:
    """Pumped at twice its frequency, or fed: the shapes of the chart do not have this mode."""

    def family(damping: float, size: float) -> Chain:
        return Chain(damping, **{way: size})

    period, axes = 0.5 * np.pi, dict(damping=[0.01, 0.02], size=[0.0, 0.02, 0.6, 0.95])
    if way == "feeding":
        axes["size"] = [0.0, 0.001, 0.015, 0.03]
    chart = modal.hill_chart(family, period, k=2, **axes)
    for i, damping in enumerate(axes["damping"]):
        for j, size in enumerate(axes["size"]):
            pumping, feeding = (size, 0.0) if way == "pumping" else (0.0, size)
            last = [
                lambda phase: np.eye(1),
                lambda phase, d=damping - feeding: 400.0 * d * np.eye(1),
                lambda phase, p=pumping: 400.0 * (1.0 + p * np.cos(10.0 * phase)) * np.eye(1),
            ]
            assert exponents(*last, 4.0)[-1] < 0.0 or int(chart.verdict[i, j]) != 0
    assert np.all(chart.verdict[:, :2] == 0) and np.all(chart.proof[:, :2] == COUNT)
    assert not np.all(chart.verdict == 0)


@pytest.mark.slow
def test_waves_that_are_constant_at_all_parts_are_seen() -> None:
    """Pumped 64 times a period at twice its frequency: the same at each of 32 and 64 parts."""

    def family(damping: float, size: float) -> Chain:
        return Chain(damping, size, wave=256.0, fastest=128.0)

    motions, points = (lambda point: (family(**point), 0.5 * np.pi)), [dict(damping=0.01, size=0.5)]
    motion = ChartMotion.of(motions, points, 2)
    every = on_all_shapes(motion, motions, points)
    assert every is not None and every.parts > 128


def test_no_proof_is_looked_for_where_no_corner_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two undamped oscillators: the whole chart is tried, then its four corners, once each."""
    tried: list[bool] = []

    def none(*arguments: Any) -> None:
        tried.append(True)

    monkeypatch.setattr(decaying_modes, "_proof", none)
    row = np.hstack([np.eye(2), np.diag([1.0, 2.0]), np.zeros((2, 2))])
    motion: Any = None
    axes = [np.linspace(1.0, 2.0, 8), np.linspace(0.1, 0.2, 8)]
    boxes = decaying_modes.decaying_boxes(
        motion, lambda x: np.repeat(row[None], 4, axis=0), lambda x: float(x[0]), axes, 1, 1e-8
    )
    assert not boxes.size and len(tried) == 5


def test_a_proof_at_a_few_instants_is_none() -> None:
    """A pulse of negative damping between the instants that are tried first."""
    omega, damping = 3.0 ** np.arange(6), 1e-3
    K, M = (np.repeat(np.diag(x)[None], PARTS, axis=0) for x in (omega**2, np.ones(6)))
    whole, pulsed = damping * K, damping * K
    pulsed[PARTS // (2 * decaying_modes.FEW)] *= -1.0

    def proved(C: Array) -> tuple[int, float] | None:
        H = -np.concatenate([K, C], axis=2)
        moved = np.concatenate([H, np.full_like(H[:, :1], 0.02)], axis=1)
        point = np.zeros(1)
        accelerations = ParameterPolynomial(point, point, (0,), moved[None])
        motion: Any = SimpleNamespace(frequencies=np.ones(6))
        matrices = np.concatenate([M, K, C], axis=2)
        return decaying_modes._proof(motion, lambda x: matrices, accelerations, (point, point), 1)

    assert proved(whole) is not None
    assert proved(pulsed) is None
