"""What is symmetric is decided entry by entry and part by part, whatever the largest entry is.

K = diag(1e20, 1e20, 1e7, 1e7), M = 10 I and a cross-coupled stiffness ±n on the soft pair:
with z = x + iy, 10 λ² + 1e7 ± i n = 0.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import assembly
import modal
from assembly import gallery
from assembly.linalg.combination import Combination, Kronecker, Lazy
from assembly.linalg.symmetric import is_negative_on, is_skew, is_symmetric, symmetry_of
from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import Quadratic

STIFF, SOFT, CROSS, MASS = 1e20, 1e7, 1e6, 10.0
EXACT = np.sqrt((-SOFT + 1j * CROSS) / MASS + 0j)  # growing: +49.94 + 1001i


def parts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    K = np.diag([STIFF, STIFF, SOFT, SOFT])
    cross = np.zeros((4, 4))
    cross[2, 3], cross[3, 2] = CROSS, -CROSS
    return MASS * np.eye(4), K, cross


@pytest.mark.parametrize("backend", ["slepc", "scipy", "dense"])
@pytest.mark.parametrize("where", ["K", "K_transport", "K_D", "K_G"])
def test_a_small_cross_coupled_stiffness_beside_a_stiff_one(where: str, backend: str) -> None:
    assert EXACT == pytest.approx(49.94 + 1001.25j, abs=0.01)
    M, K, cross = parts()
    given = {"K": K + cross} if where == "K" else {"K": K, where: cross}
    system = FrozenSystem(M=M, **given)
    assert not system.is_conservative and not system.symmetric_stiffness
    modes = modal.solve(system, k=2, certify=True, backend=backend)
    found = modes.eigenvalues[np.argsort(modes.eigenvalues.real)]
    np.testing.assert_allclose(found, [-EXACT.conjugate(), EXACT], rtol=1e-9)


def test_a_map_sees_a_small_cross_coupled_stiffness() -> None:
    M, K, cross = (sp.csr_matrix(A) for A in parts())

    class Model:
        def freeze(self, a: float, b: float) -> FrozenSystem:
            K_total = Combination.of(4, (1.0, a + b), (K, cross))
            return FrozenSystem(M=Combination.of(4, (1.0,), (M,)), K=K_total)

    values = np.array([0.0, 0.5])
    grid = modal.stability_map(Model(), a=values, b=values, k=2)
    growth = [[np.sqrt((-SOFT + 1j * (a + b) * CROSS) / MASS).real for b in values] for a in values]
    np.testing.assert_allclose(grid.growth_rate.values, growth, rtol=1e-6, atol=1e-12)
    assert grid.verdict.values.tolist() == [[0, 2], [2, 2]]


def test_a_circulatory_part_below_round_off_counts() -> None:
    """A quadratic and its transposed and rescaled forms keep what the parts say."""
    M, K, cross = parts()
    for part in ("K_epsilon", "K_D"):
        quadratic = Quadratic(FrozenSystem(M=M, K=K, **{part: 1e-15 * cross}))
        for same in (quadratic, quadratic.transposed, quadratic.scaled):
            assert not same.conservative and not same.symmetric_stiffness
    damped = FrozenSystem(M=M, K=K, D=1e-300 * np.eye(4))
    assert not damped.is_conservative and damped.symmetric_stiffness


def chain(n: int, width: int) -> sp.csr_matrix:
    """A symmetric positive definite band whose sizes reach from 1 to 1e20."""
    rng = np.random.default_rng(3)
    scale = sp.diags(np.logspace(0.0, 10.0, n))
    bands = [rng.standard_normal(n) for _ in range(width)]
    upper = sp.diags(bands, range(1, width + 1), shape=(n, n))
    return sp.csr_matrix(scale @ (upper + upper.T + 10.0 * width * sp.identity(n)) @ scale)


@pytest.mark.parametrize(
    ("n", "width"), [(40, 3), (900, 3), (9000, 6)], ids=["full", "sparse", "by a product"]
)
def test_symmetry_is_seen_in_every_entry(n: int, width: int) -> None:
    A = chain(n, width)
    assert is_symmetric(A) and symmetry_of(A) == 1 and not is_skew(A)
    upper = sp.triu(A, 1)
    S = sp.csr_matrix(upper - upper.T)
    assert is_skew(S) and symmetry_of(S) == -1 and not is_symmetric(S)
    rounded = A.copy()
    rounded.data *= 1.0 + 4e-16 * np.random.default_rng(1).uniform(-1.0, 1.0, A.nnz)
    assert is_symmetric(rounded)
    for row in (0, n // 2, n - 2):
        B, T = A.copy(), S.copy()
        for changed in (B, T):
            changed[row, row + 1] *= 1.0 + 1e-9
        assert symmetry_of(B) == 0 and symmetry_of(T) == 0


def test_an_entry_without_an_opposite_is_seen() -> None:
    A = sp.lil_matrix((400, 400))
    A[0, 0] = 1e20
    A[5, 7] = 1e-20
    assert symmetry_of(sp.csr_matrix(A)) == 0
    assert symmetry_of(sp.csr_matrix((3, 3))) == 1


def test_operators_with_parts_answer_for_them() -> None:
    m = chain(6, 2)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert symmetry_of(Kronecker(m, np.eye(2))) == 1
    assert symmetry_of(Kronecker(m, turn)) == -1
    assert symmetry_of(Kronecker(sp.csr_matrix(sp.kron(m, turn)), turn)) == 1
    assert symmetry_of(Kronecker(m, np.array([[0.0, 1.0], [0.0, 0.0]]))) == 0
    assert symmetry_of(Lazy((12, 12), lambda: Kronecker(m, turn))) == -1


@pytest.mark.parametrize("prestress", ["linear", "nonlinear"])
@pytest.mark.parametrize("kind", ["solid", "beam"])
def test_round_off_of_the_assembly_leaves_a_turning_body_conservative(
    kind: str, prestress: str
) -> None:
    """Its K_G is symmetric by form: no eigenvalue has a real part."""
    section = assembly.rectangle(0.05, 0.02)
    beam = assembly.beam(1.0, section, assembly.steel, 12, clamped="start")
    body = gallery.block(6, 2, 2, "hex20") if kind == "solid" else beam
    system = body.freeze((20.0, 30.0, -50.0), prestress=prestress)
    assert system.is_conservative
    modes = modal.solve(system, k=4)
    assert np.all(modes.eigenvalues.real == 0.0)


def test_the_couple_of_a_ball_pin_is_seen_in_a_stiff_beam() -> None:
    """½ M̃ of the couple is circulatory, and 1e-16 of the stiffness of a beam as stiff as that."""
    stiff = assembly.Material(E=2.1e20, nu=0.3, rho=7850.0)
    section = assembly.rectangle(0.05, 0.02)
    beam = assembly.beam(1.0, section, stiff, 6, pinned="start")
    system = beam.freeze((0.5, 0.75, -1.25))
    assert abs(system.K_G).max() < 1e-15 * abs(system.K).max()
    assert not system.symmetric_stiffness


@pytest.mark.parametrize("shift, negative", [(1e-9, False), (0.0, False), (-1e-9, True)])
def test_a_stiffness_is_negative_on_rigid_motions_beyond_round_off_alone(
    shift: float, negative: bool
) -> None:
    """K + sM of a free beam on its rigid motions is sM: the round-off of K has either sign."""
    body = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 40)
    system = body.freeze()
    scale = float(np.mean(system.K.diagonal() / system.M.diagonal()))
    A = sp.csr_matrix(system.K + shift * scale * system.M)
    assert is_negative_on(A, system.dofs.rigid_motions().fields) == negative
    assert not is_negative_on(A, np.eye(A.shape[0])[:, :3])
