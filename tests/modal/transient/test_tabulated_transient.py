"""Transients off a polynomial: matrices on one pattern, against plain arrays and the sparse way."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import modal
from assembly import FrozenSystem
from assembly.errors import SingularSystemError
from assembly.linalg.combination import Pattern
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import SeparatedArrays, periodic_interpolant
from modal.transient.equations import TabulatedModel
from modal.transient.step_matrices import OnPattern, PatternFactor, SharedPattern
from studies import slider_crank


class OneByOne:
    """A mechanism of which only one instant at a time can be had: no polynomial."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism, self.period = mechanism, mechanism.period

    def freeze(self, t: float) -> FrozenSystem:
        return self.mechanism.freeze(t)


def shared(n: int, width: int) -> tuple[SharedPattern, np.random.Generator]:
    rng = np.random.default_rng(n)
    offsets = range(-width, width)  # not symmetric
    A = sp.diags([np.ones(n - abs(k)) for k in offsets], offsets, format="csr")
    shuffled = rng.permutation(n)
    A = sp.csr_matrix(A[shuffled][:, shuffled])
    return SharedPattern(Pattern(n, A.indices, A.indptr)), rng


def test_arithmetic_on_a_pattern_is_that_of_dense_matrices() -> None:
    pattern, rng = shared(9, 2)
    A, B = (OnPattern(pattern, rng.normal(size=len(pattern.rows))) for _ in range(2))
    x = rng.normal(size=9)
    a, b = A.toarray(), B.toarray()
    np.testing.assert_allclose((2.0 * A - B.T / 3.0 + B).toarray(), 2.0 * a - b.T / 3.0 + b)
    np.testing.assert_allclose(A @ x, a @ x)
    full = SharedPattern(Pattern(3, np.tile(np.arange(3), 3), np.arange(0, 10, 3)))
    several, y = OnPattern(full, rng.normal(size=(4, 9))), rng.normal(size=(4, 3))
    due = np.einsum("pij,pj->pi", several.values.reshape(4, 3, 3), y)
    np.testing.assert_allclose(several @ y, due)
    np.testing.assert_allclose(OnPattern(full, several.values[0]) @ y[0], due[0])


def test_fixed_steps_read_several_instants_off_the_polynomial_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism, made = slider_crank.model(elements=1), [0]
    many = SeparatedArrays.many

    def counted(self: SeparatedArrays, times: Any) -> Any:
        made[0] += 1
        return many(self, times)

    monkeypatch.setattr(SeparatedArrays, "many", counted)
    q = 1e-6 * np.eye(1, mechanism.freeze(0.0).n)[0]
    h = mechanism.period / 300.0
    modal.integrate(mechanism, (0.0, mechanism.period), (q, 0.0 * q), step=h)
    assert made[0] <= 300 / 6


@pytest.mark.parametrize(("n", "width", "banded"), [(40, 2, True), (12, 6, False)])
@pytest.mark.parametrize("stages", [1, 3])
def test_band_and_dense_factors_solve_the_block_matrix(
    n: int, width: int, banded: bool, stages: int
) -> None:
    pattern, rng = shared(n, width)
    values = rng.normal(size=(stages, stages, len(pattern.rows)))
    rows = [[OnPattern(pattern, block).toarray() for block in row] for row in values]
    whole, b = np.block(rows), rng.normal(size=stages * n)
    factor = PatternFactor(OnPattern(pattern, values))
    assert factor.banded == banded
    x = factor.solve(b)
    np.testing.assert_allclose(whole @ x, b, atol=1e-9 * np.abs(whole).max() * np.abs(x).max())
    with pytest.raises(SingularSystemError):
        PatternFactor(OnPattern(pattern, 0.0 * values))


def test_tabulated_matrices_are_those_of_the_mechanism() -> None:
    mechanism = slider_crank.model(elements=2)
    assert mechanism.period is not None
    motion = InterpolatedMotion.of(mechanism, 0.0, mechanism.period)
    assert motion is not None
    assert motion.interpolant.deviation < 1e-11
    model = TabulatedModel(motion)
    for t in mechanism.period * np.array([0.0, 0.1234, 0.517, 0.99, 1.0]):
        exact, here = mechanism.freeze(float(t)), model.at(float(t))
        parts = [(here.M, exact.M), (here.damping, exact.damping)]
        for found, due in [*parts, (here.stiffness, exact.stiffness)]:
            assert np.abs(found.toarray() - due.toarray()).max() < 1e-11 * np.abs(due).max()


def test_few_directions_give_every_entry_within_the_deviation_of_its_size() -> None:
    """Three functions of time with hundreds of terms, of entries from 1e-9 to 1e9: a sum of three
    rows has every entry; a group of zeros has none."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(3, 50)) * 10.0 ** rng.uniform(-9, 9, size=50)

    def values(t: Any) -> Any:
        shares = np.stack([np.ones_like(t), 1.0 / (1.1 + np.cos(t)), np.sin(t)], axis=1)
        return np.stack([shares @ rows, np.zeros((len(t), 50))], axis=1)

    sizes = np.abs(rows).sum(axis=0)
    smooth = periodic_interpolant(values, 0.0, 2.0 * np.pi, lambda _: sizes + np.zeros((2, 1)))
    assert smooth is not None and len(smooth.table) > 50
    separated, times = SeparatedArrays(smooth), rng.uniform(0.0, 2.0 * np.pi, 20)
    assert [len(part) for part in separated._rows] == [3, 0]
    limit = 20.0 * max(smooth.deviation, 1e-15)
    for found, due in zip(separated.many(times), values(times).swapaxes(0, 1), strict=True):
        assert np.all(np.abs(found - due) <= limit * sizes)


@pytest.mark.parametrize("method", ["generalized-alpha", "midpoint", "gauss6"])
def test_the_transient_is_that_of_instants_one_by_one(method: str) -> None:
    # The way without a polynomial freezes every instant and solves with sparse matrices.
    mechanism = slider_crank.model(elements=2)
    assert mechanism.period is not None
    lowest = modal.solve(mechanism.freeze(0.0), k=1)
    shape, value = lowest.right[:, 0], lowest.eigenvalues[0]
    initial = (shape.real, (value * shape).real)
    formalism: Any = "lagrange" if method == "generalized-alpha" else "hamilton"
    span = (0.0, 0.1 * mechanism.period)
    options: Any = dict(method=method, step=span[1] / 20, probes="all")
    fast = modal.integrate(mechanism, span, initial, formalism, **options)
    slow = modal.integrate(OneByOne(mechanism), span, initial, formalism, **options)
    for name in ("displacement", "velocity", "energy", "energy_defect"):
        size = np.abs(slow["energy" if "energy" in name else name]).max()
        assert float(np.abs(fast[name] - slow[name]).max() / size) < 1e-6
    assert fast.attrs["interpolation_deviation"] < 1e-10
    assert "polynomial" in fast.attrs["interpolated"]
    assert "interpolated" not in slow.attrs


def test_adaptive_steps_state_an_estimate_of_their_error() -> None:
    # q̈ + 4q = 0 from (1, 0): cos 2t.
    system = FrozenSystem(M=np.eye(1), K=[[4.0]])
    found = modal.integrate(
        system, (0.0, 5.0), ([1.0], [0.0]), "hamilton", method="gauss4", displacement_tolerance=1e-6
    )
    stated = found.attrs["displacement_error_estimate"]
    error = np.abs(found.displacement.values[:, 0] - np.cos(2.0 * found.time.values)).max()
    assert 0.0 < stated <= 1e-6
    assert error <= 1.5 * stated
