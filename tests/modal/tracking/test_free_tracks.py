"""Tracks of bodies that nothing holds, from one reduced space."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import assembly
import modal
from assembly.gallery import block
from modal.tracking.space_sources import ReducedSource
from modal.types import Array
from tests.support.chains import exact

RING = assembly.rectangle(0.03, 0.02)


@pytest.mark.parametrize(
    ("axis", "epsilon", "damping"),
    [((0, 0, 1), 0.0, 0.0), ((0, 1, 0), 0.0, 1e-5), ((0, 0, 1), 40.0, 1e-5), ((1, 0, 0), 0.0, 0.0)],
)
def test_modes_of_a_free_beam(axis: tuple[int, ...], epsilon: float, damping: float) -> None:
    """Every value of every track is one of LAPACK's, whose round-off is that of the fastest."""
    beam = assembly.beam(1.0, RING, assembly.steel, elements=6, start=(-0.5, 0.0, 0.0))
    beam = beam.with_damping(b=damping)
    omega = np.linspace(5.0, 200.0, 24)
    tracks = modal.track(beam, omega=omega, axis=axis, epsilon=epsilon, k=5)
    assert tracks.attrs["solver"].startswith("reduced basis")
    for n in (0, 11, 23):
        system = beam.freeze(omega=omega[n], axis=axis, epsilon=epsilon)
        values = exact(system, 2 * system.n)
        lam, kind = tracks["eigenvalue"].values[n], tracks["kind"].values[n]
        there = np.isfinite(lam)
        lam, kind = lam[there], kind[there]
        distance = np.abs(lam[:, None] - values[None])
        rows, columns = linear_sum_assignment(distance)
        error: Array = distance[rows, columns] / np.maximum(np.abs(lam), omega[n])
        assert error[kind == "elastic"].max() < 1e-8
        assert error.max(initial=0.0, where=kind == "rigid") < 1e-4
        assert error.max(initial=0.0, where=kind == "prescribed") < 1e-3
        assert np.sum(kind == "elastic") >= 5
        if epsilon == 0.0:
            assert np.sum(kind == "prescribed") >= 2
            assert lam[kind == "prescribed"] == pytest.approx(1j * omega[n], rel=1e-6)


@pytest.mark.parametrize(("axis", "left"), [((0, 0, 1), 2), ((1, 1, 0), 6)])
def test_as_many_modes_as_there_are_rigid_motions_that_count(
    axis: tuple[int, ...], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a principal axis the frame prescribes ten of the twelve eigenvalues: those of the
    translations, of the turned body and of its angle; the nutation is left. About another axis a
    moment acts, and no rotation is prescribed."""
    spaces = []
    original = ReducedSource._settle

    def settle(self: ReducedSource) -> None:
        original(self)
        spaces.append(self._space)

    monkeypatch.setattr(ReducedSource, "_settle", settle)
    size, origin = (0.6, 0.1, 0.05), (-0.3, -0.05, -0.025)
    solid = block(4, 1, 1, "hex8", size, origin, assembly.steel, clamped=None)
    tracks = modal.track(solid, omega=np.linspace(5.0, 200.0, 24), axis=axis, k=5, guard=2)
    assert tracks.attrs["solver"].startswith("reduced basis")
    assert [space.wanted for space in spaces] == [5 + 2 + left]
    assert ((tracks["kind"] == "elastic").sum("mode") >= 5).all()


def test_a_rigid_motion_next_to_zero() -> None:
    """Spin-up of a plane beam: an eigenvalue of 1e-6 of the first elastic one, against a root of
    det Q(λ) with 40 digits."""
    beam = assembly.beam(1.0, RING, assembly.steel, elements=2, start=(-0.5, 0.0, 0.0), planar=True)
    omega = np.linspace(0.0, 50.0, 24)
    tracks = modal.track(beam, omega=omega, axis=(0, 0, 1), epsilon=40.0, k=2, backend="reduced")
    system = beam.freeze(omega=omega[8], axis=(0, 0, 1), epsilon=40.0)
    with mpmath.workdps(40):
        M, C, K = (
            mpmath.matrix(A.toarray().tolist())
            for A in (system.M, system.damping, system.stiffness)
        )
        scale = mpmath.det(M) * mpmath.mpf(1e6) ** system.n
        root = mpmath.findroot(lambda z: mpmath.det(z**2 * M + z * C + K) / scale, 0.002j)
    rigid = tracks["eigenvalue"].values[8][tracks["kind"].values[8] == "rigid"]
    slow = rigid[np.argmin(np.abs(rigid))]
    assert 0.0 < abs(complex(root)) < 1e-3 * omega[8]
    assert abs(slow - complex(root)) < 1e-2 * abs(complex(root))
