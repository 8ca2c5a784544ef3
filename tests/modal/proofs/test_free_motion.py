"""Free bodies: only what the kinematics of their frame prescribe is left out of a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import eigs

import assembly
import modal
import modal.proofs.verdict
from assembly.system.frozen import FrozenSystem
from modal.eigen.prescribed import PrescribedMotion, RigidImages, counted, prescribed_motion
from modal.reduction.affine import AffineFamily
from studies.reporting.frozen_verdicts import verdicts
from tests.support.free_machines import dual_spin, energy_sink, weak_energy_sink

AXES = {"largest": (0.0, 0.0, 1.0), "middle": (0.0, 1.0, 0.0), "smallest": (1.0, 0.0, 0.0)}
PRINCIPAL = np.array([1.0, 2.0, 2.8])


def box(speed: float, axis: str, third: float = 2.8) -> FrozenSystem:
    """A rigid body that turns about one of its principal axes."""
    body = assembly.rigid_body(5.0, np.diag([1.0, 2.0, third]))
    return body.freeze(omega=speed, axis=AXES[axis])


def nutation(speed: float, axis: str, third: float = 2.8) -> complex:
    """Euler's equations: λ² = −ω² (C − A)(C − B)/(A B), C about the spin."""
    spin = AXES[axis].index(1.0)
    inertia = np.array([1.0, 2.0, third])
    C, (A, B) = inertia[spin], np.delete(inertia, spin)
    return complex(np.emath.sqrt(-(speed**2) * (C - A) * (C - B) / (A * B)))


def beam(damping: float = 0.0, elements: int = 6) -> assembly.Body:
    section = assembly.rectangle(0.05, 0.02)
    start = (-0.5, 0.0, 0.0)
    made = assembly.beam(1.0, section, assembly.steel, elements, start=start)
    return made.with_damping(b=damping)


@pytest.fixture(params=["small", "large"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both ways of `modal.stability`."""
    if request.param == "large":
        monkeypatch.setattr(modal.proofs.verdict, "ALL_MODES", 0)
    yield request.param


def test_a_body_that_turns_about_its_middle_axis_tumbles(way: str) -> None:
    """5√(0.8/2.8) = 2.67 1/s for inertias 1, 2, 2.8 at 5 rad/s: Euler's equations."""
    result = modal.stability(box(5.0, "middle"))
    assert (result.verdict, result.unstable_modes) == ("divergence", 1)
    assert result.growth_rate == pytest.approx(5.0 * np.sqrt(0.8 / 2.8), rel=1e-12)


@pytest.mark.parametrize("axis", ["largest", "smallest"])
def test_a_body_that_turns_about_another_principal_axis_does_not(axis: str) -> None:
    result = modal.stability(box(5.0, axis))
    assert result.verdict == "stable"
    modes = modal.solve(box(5.0, axis), k=12)
    rigid = modes.eigenvalues[modes.kind == "rigid"]
    assert rigid == pytest.approx([nutation(5.0, axis)], rel=1e-12)
    # The others: zeros, and +iω of both translations across the axis and of a turned body.
    assert modes.deflated == 4
    assert modes.eigenvalues[modes.kind == "prescribed"] == pytest.approx([5j, 5j, 5j], rel=1e-8)


@pytest.mark.parametrize("speed", [0.01, 50.0])
@pytest.mark.parametrize("damping", [0.0, 1e-5])
def test_a_free_beam_at_slow_and_fast_spin(speed: float, damping: float) -> None:
    """Slow: ω² is 1e-16 of the stiffness over the mass; the inertias alone give the growth.

    The middle axis of the bar is that across its wide side; the ratio of growth to speed is that of
    the rigid bar, whose inertias the mass matrix has.
    """
    free = beam(damping)
    system = free.freeze(omega=speed, axis=(0.0, 1.0, 0.0))
    turned = system.dofs.rigid_fields()[:, 3:]
    A, C, B = np.diag(turned.T @ (system.M @ turned))
    rate = speed * np.sqrt((C - A) * (B - C) / (A * B))
    result = modal.stability(system)
    assert result.verdict == "divergence"
    assert result.growth_rate == pytest.approx(rate, rel=2e-3 if speed > 1.0 else 1e-6)
    assert modal.stability(free.freeze(omega=speed, axis=(0.0, 0.0, 1.0))).verdict == "stable"


def test_translations_seen_from_a_frame_that_speeds_up_are_prescribed() -> None:
    """Uniform motion has no growth; the frozen equation has √(ε/2) (A8)."""
    system = beam().freeze(omega=(0.0, 0.0, 50.0), epsilon=(0.0, 0.0, 30.0))
    modes = modal.solve(system, k=8)
    frozen = -50j + np.emath.sqrt(-30j)
    prescribed = modes.eigenvalues[modes.kind == "prescribed"]
    assert np.abs(prescribed - frozen.conj()).min() < 1e-6
    assert modal.stability(system).growth_rate < 0.1 * np.sqrt(30.0 / 2.0)


@pytest.mark.parametrize("damper", [1e-4, -1e-4])
def test_a_weak_force_on_the_spin_counts(damper: float) -> None:
    """A torque d ω on the axis of rotation: λ = −d/C beside the prescribed zero of the angle."""
    system = box(5.0, "largest")
    D = np.zeros((6, 6))
    D[5, 5] = damper
    result = modal.stability(system.only("C", "K", "K_omega2", "K_G", D=D))
    assert result.verdict == ("stable" if damper > 0.0 else "divergence")
    if damper < 0.0:
        assert result.growth_rate == pytest.approx(-damper / 2.8, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [energy_sink, dual_spin])
def test_families_against_all_eigenvalues(make: Any, seed: int, way: str) -> None:
    """The growth of machines derived apart from the package, by LAPACK on the full matrices.

    The translations and the angle about the spin, which decouple, are left out: their eigenvalues
    ±iΩ and 0 are defective, and relative changes ε of the matrices make growth √ε Ω of them.
    """
    machine = make(np.random.default_rng(seed))
    system = machine.system
    rest = np.delete(np.arange(system.n), [0, 1, 2, 5])
    matrices = (system.M, system.damping, system.stiffness)
    M, C, K = (A.toarray()[np.ix_(rest, rest)] for A in matrices)
    lower = -la.solve(M, np.hstack([K, C]))
    values = la.eigvals(np.vstack([np.eye(len(M), 2 * len(M), len(M)), lower]))
    growth = values.real.max()
    result = modal.stability(system)
    if growth > 1e-10 * np.abs(values).max():  # of the prescribed ±iΩ, at the round-off of LAPACK
        assert result.unstable_modes
        assert result.growth_rate == pytest.approx(growth, rel=1e-5)
    else:
        assert not result.unstable_modes
        assert way == "large" or result.verdict == "stable"


def test_the_growth_of_rigid_motion_in_maps_and_tracks() -> None:
    class Body:
        def freeze(self, third: float, speed: float) -> FrozenSystem:
            return box(speed, "middle", third)

    speeds, thirds = [2.0, 5.0], [1.5, 2.5]
    grid = modal.stability_map(Body(), third=thirds, speed=speeds, progress=False)
    np.testing.assert_array_equal(grid.verdict.transpose("third", "speed"), [[0, 0], [1, 1]])
    rates = [nutation(speed, "middle", 2.5).real for speed in speeds]
    np.testing.assert_allclose(grid.growth_rate.sel(third=2.5), rates, rtol=1e-9)

    class Changing:
        def freeze(self, third: float) -> FrozenSystem:
            return box(5.0, "middle", third)

    tracks = modal.track(Changing(), third=np.linspace(1.5, 2.6, 5), k=2, progress=False)
    place = tracks.event_at.values[tracks.event.values == "divergence onset"]
    assert place == pytest.approx([2.0], abs=1e-4)
    assert set(tracks.kind.values[0]) == {"rigid", "prescribed", ""}
    assert "third = 2.6: divergence (proof: mode)" in verdicts(tracks, Changing().freeze, 2)


def test_the_frame_prescribes_what_moves_uniformly_and_nothing_else() -> None:
    """Counts of the exact eigenvalues of a free body: 10 of its 12, and all 12 at rest."""
    turning = prescribed_motion(beam().freeze(omega=(50.0, 0.0, 0.0)))
    across = int((turning.rates > 1.0).sum())
    assert turning.zero_eigenvalues + 2 * (2 * across + turning.turned.shape[1]) == 10
    assert prescribed_motion(beam().freeze()).zero_eigenvalues == 12
    skew = prescribed_motion(box(5.0, "largest").only("K", "K_omega2", "K_G", "C", K_D=np.eye(6)))
    assert not skew.zero_eigenvalues and not skew.translations.size


def test_points_of_a_stack_have_their_own_prescribed_motions() -> None:
    """Rest, spins along and across the body, and accelerations: as each of them alone."""
    states = [((0.0,) * 3, 0.0), ((50.0, 0.0, 0.0), 0.0), ((0.0, 50.0, 0.0), 0.0),
              ((0.0, 50.0, 0.0), 900.0), ((0.0,) * 3, 900.0), ((30.0, 40.0, 0.0), 0.0)]  # fmt: skip
    points: list[Any] = [dict(omega=w, epsilon=e, axis=(0, 0, 1)) for w, e in states]
    free = beam()
    systems = [free.freeze(**point) for point in points]
    family = AffineFamily(lambda point: free.freeze(**point), points[0])
    at = family.coefficients(points)
    operators = [term.operator for term in family.terms]
    images = RigidImages(systems[0].M, family.rigid, operators)
    euler = np.where(family.is_euler, at.stiffness, 0.0)
    motions = images.prescribed(at.damping, at.stiffness, euler, at.rate)
    M, C, K = (
        np.stack([A.toarray() for A in of_all])
        for of_all in zip(*((s.M, s.damping, s.stiffness) for s in systems), strict=True)
    )
    together = counted(motions, M, C, K, images.fields)
    for one, system in zip(together, systems, strict=True):
        alone = prescribed_motion(system)
        assert one.zero_eigenvalues == alone.zero_eigenvalues
        for name in ("translations", "turned", "null", "without_force"):
            assert getattr(one, name).shape == getattr(alone, name).shape, name
        assert np.sort(one.rates) == pytest.approx(np.sort(alone.rates), abs=1e-9 * alone.scale)
    assert {one.zero_eigenvalues for one in together} >= {12}
    assert len({one.zero_eigenvalues for one in together}) > 2


def test_zeros_of_one_null_field_are_counted_at_every_point() -> None:
    """det Q = λ²(λ² + 1), λ⁴ and λ(λ + 3)(λ² + 1), full and sparse; all with K e₁ = 0."""
    K = np.array([[[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    C = np.array([np.zeros((2, 2)), np.zeros((2, 2)), np.diag([3.0, 0.0])])
    M, field = np.tile(np.eye(2), (3, 1, 1)), np.eye(2, 1)
    motion = replace(PrescribedMotion.none(1), zeros=None, without_force=np.eye(1))
    together = counted([motion] * 3, M, C, K, field)
    assert [one.zero_eigenvalues for one in together] == [2, 4, 1]
    for matrices, one in zip(zip(M, C, K, strict=True), together, strict=True):
        (alone,) = counted([motion], *map(sp.csr_matrix, matrices), field)
        assert alone.zero_eigenvalues == one.zero_eigenvalues


# A stiffness below the round-off of K


def test_a_stiffness_that_is_round_off_decides_nothing() -> None:
    """The lowest eigenvalue −3e-15 of the others: its sign is that of the last bits of K."""
    Q = la.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    K = (Q * [-3e-15, 1.0, 2.0]) @ Q.T
    K = 0.5 * (K + K.T)
    for D in (np.zeros((3, 3)), 0.01 * np.eye(3)):
        assert modal.stability(FrozenSystem(M=np.eye(3), K=K, D=D)).verdict == "undecided"
    clear = K - 1e-9 * np.outer(Q[:, 0], Q[:, 0])
    assert modal.stability(FrozenSystem(M=np.eye(3), K=clear)).verdict == "divergence"


def test_springs_below_the_round_off_of_a_stiff_body_decide_nothing() -> None:
    """314 kg of steel on 1e-3 N/m: K has lost the springs, and what is left of them is negative."""
    bar = assembly.beam(2.0, assembly.rectangle(0.1, 0.2), assembly.steel, 10)
    for node in (0, 5, 10):
        bar = assembly.attach_spring(bar, node, stiffness=1e-3)
    result = modal.stability(bar.freeze())
    assert result.verdict == "undecided"
    firm = assembly.beam(2.0, assembly.rectangle(0.1, 0.2), assembly.steel, 10)
    for node in (0, 10):
        firm = assembly.attach_spring(firm, node, stiffness=1e6 * np.eye(3))
    assert modal.stability(firm.freeze()).verdict in ("stable", "undecided")


@pytest.mark.parametrize("seed", [2019, 2023])
def test_a_weak_energy_sink_by_a_reduced_basis(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Growth of 2e-5 of the rate, as LAPACK and the small way have it.

    The vectors of the whole small pencil, next to its defective zeros, made a "stable" of it: every
    mode seemed to be a translation.
    """
    weak = weak_energy_sink(np.random.default_rng(seed)).system
    growth = modal.stability(weak).growth_rate
    monkeypatch.setattr(modal.proofs.verdict, "ALL_MODES", 0)
    monkeypatch.setattr(modal.proofs.verdict, "AFFORDABLE", 0)
    result = modal.stability(weak)
    assert (result.verdict, result.unstable_modes) == ("flutter", 1)
    assert result.growth_rate == pytest.approx(growth, rel=1e-6)


def satellite(hub: tuple[float, float, float], elements: int) -> FrozenSystem:
    """A hub with two damped booms along x that turns about z at 3 rad/s."""
    section = assembly.rectangle(0.06, 0.04)
    booms = assembly.beam(12.0, section, assembly.aluminium, elements, start=(-6.0, 0.0, 0.0))
    body = assembly.attach_mass(booms, elements // 2, 50.0, np.diag(hub))
    return body.with_damping(b=0.05).freeze(omega=(0.0, 0.0, 3.0))


@pytest.mark.parametrize(
    ("hub", "verdict"),
    [
        ((40.0, 50.0, 80.0), "stable"),  # about the largest inertia
        ((2900.0, 1400.0, 1600.0), "divergence"),  # about the middle one
        ((3200.0, 1900.0, 1400.0), "flutter"),  # about the smallest one: the damping of the booms
    ],
)
def test_a_large_satellite_is_decided_by_a_reduced_basis(
    hub: tuple[float, float, float], verdict: str
) -> None:
    """3,006 degrees of freedom; ARPACK on the full matrices has the same growth."""
    system = satellite(hub, 500)
    result = modal.stability(system)
    assert result.verdict == verdict
    assert result.proof == ("count" if verdict == "stable" else "mode")
    one = sp.identity(system.n)
    A = sp.bmat([[None, one], [-system.stiffness, -system.damping]], format="csc")
    B = sp.block_diag([one, system.M], format="csc")
    nearest = [eigs(A, 12, B, sigma, return_eigenvectors=False) for sigma in (0.4, 0.4 + 2j, 6j)]
    values = np.concatenate(nearest)
    # The frame prescribes 0 and ±3i, which are defective.
    counts = np.abs(values[:, None] - [0.0, 3j, -3j]).min(axis=1) > 0.01
    growth = values[counts].real.max()
    assert result.growth_rate == pytest.approx(growth, abs=2.0 * result.error_bound)
    assert result.error_bound < 0.2 * abs(growth)
