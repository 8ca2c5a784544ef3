"""Free vibration to a tolerance from any start: decoupled groups of modes, and exponentials."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from assembly import FrozenSystem
from assembly.errors import InputError
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient import decoupled
from modal.transient.decoupled import Frames, propagated
from modal.types import Array
from studies import slider_crank


def state_matrices(motion: InterpolatedMotion, times: Array) -> Array:
    M, C, K = motion.matrices(times)
    n = M.shape[1]
    A = np.zeros((len(times), 2 * n, 2 * n))
    A[:, :n, n:] = np.eye(n)
    A[:, n:] = -np.linalg.solve(M, np.concatenate([K, C], axis=2))
    return A


def by_exponentials(motion: InterpolatedMotion, span: float, x: Array, steps: int) -> Array:
    """States (17, 2n, m) at equal parts of the span, by commutator-free exponentials of order 4 of
    the whole state (Blanes and Moan 2006)."""
    h, root, out = span / steps, np.sqrt(3.0) / 6.0, [x]
    for i in range(steps):
        first, second = state_matrices(motion, h * (i + 0.5 + root * np.array([-1.0, 1.0])))
        x = la.expm(h * ((0.25 + root) * first + (0.25 - root) * second)) @ x
        x = la.expm(h * ((0.25 - root) * first + (0.25 + root) * second)) @ x
        if (i + 1) % (steps // 16) == 0:
            out.append(x)
    return np.stack(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elements", "damping", "sharp"),
    [(2, 0.0, 3.0), (2, 1e-7, 3.0), (2, 1e-5, np.inf), (3, 1e-6, 8.0)],
)
def test_the_error_holds_from_any_start(
    elements: int, damping: float, sharp: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a mode, one displaced node and a blow; undamped, lightly damped, overdamped modes; by
    the cheaper method, and by decoupled groups alone.

    sharp: the least ratio of the stated error to the true one is below.
    """
    machine: Any = slider_crank.model(elements=elements, rayleigh=(0.0, damping))
    span = 0.25 * machine.period
    motion = InterpolatedMotion.of(machine, 0.0, span)
    assert motion is not None
    times = np.linspace(0.0, span, 17)
    frames = Frames.of(motion.matrices, times)
    n = frames.squares.shape[1]
    starts = np.zeros((2 * n, 3))
    starts[:n, 0] = frames.shapes[0][:, 2]
    starts[n // 2, 1] = starts[n + n // 2, 2] = 1.0
    exact = by_exponentials(motion, span, starts, 4096 if elements == 2 else 8192)
    ratios, cost = [], decoupled._cost_of_steps
    for groups, k, tolerance in itertools.product(
        (False, True), range(3), (0.2, 1e-2, 1e-4, 1e-5, 1e-6)
    ):
        by_groups = (lambda *options: (2.0, 16.0)) if groups else cost
        monkeypatch.setattr(decoupled, "_cost_of_steps", by_groups)
        if groups:  # large ones too
            monkeypatch.setattr(decoupled.Panel, "apart", True)
        found = propagated(motion.matrices, (0.0, span), starts[:, k], times, tolerance, 2)
        assert found.error <= tolerance
        assert found.pairs == 0 or not groups
        size, error = (
            max(la.norm(frames.amplitudes(i, x[i], 1.0 / span)[0]) for i in range(17))
            for x in (exact[:, :, k], found.states - exact[:, :, k])
        )
        assert error <= found.error * size
        ratios.append(found.error * size / error)
    assert min(ratios) < sharp


@pytest.mark.parametrize("damping", [1e-4, 1e-3])
def test_the_first_records_of_a_start_that_decays_at_once(damping: float) -> None:
    """The fastest mode, overdamped: steps that do not damp it would ring on."""
    machine: Any = slider_crank.model(elements=1, rayleigh=(0.0, damping))
    first = machine.freeze(0.0)
    M, C, K = (A.toarray() for A in (first.M, first.damping, first.stiffness))
    q = la.eigh(0.5 * (K + K.T), M)[1][:, -1]
    run = modal.integrate(
        machine, (0.0, machine.period), (q, 0.0 * q), displacement_tolerance=1e-4, probes="all"
    )
    n, early = len(q), slice(1, 4)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-la.solve(M, K), -la.solve(M, C)]])
    start = np.concatenate([q, 0.0 * q])
    for t, u in zip(run.time.values[early], run.displacement.values[early], strict=True):
        error = u - (la.expm(t * A) @ start)[:n]  # the motion changes M and K by less than 1e-4
        assert np.sqrt(error @ M @ error) <= 1e-4


def test_a_basis_serves_damped_motions_too() -> None:
    """The stiff modes of the basis answer the forces of damping: no error of the basis."""
    machine: Any = slider_crank.model(elements=24, rayleigh=(0.0, 1e-5))
    first = machine.freeze(0.0)
    K = first.stiffness.toarray()
    q = la.eigh(0.5 * (K + K.T), first.M.toarray())[1][:, 0]
    run = modal.integrate(
        machine, (0.0, 0.25 * machine.period), (q, 0.0 * q), displacement_tolerance=1e-4
    )
    assert "shapes" in run.attrs["basis"]


def test_a_constant_system_with_damping_and_a_free_mobility() -> None:
    rng = np.random.default_rng(5)
    K = np.diag([0.0, 1.0, 4.0e4, 9.0e8])
    Q = la.qr(rng.normal(size=(4, 4)))[0]
    system = FrozenSystem(
        M=np.eye(4), C=np.zeros((4, 4)), K=Q @ K @ Q.T, D=Q @ np.diag([0.0, 3.0, 0.5, 1e5]) @ Q.T
    )
    q, v = rng.normal(size=(2, 4))
    found = modal.integrate(
        system, (0.0, 2.0), (q, v), displacement_tolerance=1e-4, probes="all", every=3
    )
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-Q @ K @ Q.T, -system.D.toarray()]])
    x = la.expm(2.0 * A) @ np.concatenate([q, v])
    np.testing.assert_allclose(found.displacement.values[-1], x[:4], atol=1e-8)
    np.testing.assert_allclose(found.velocity.values[-1], x[4:], atol=1e-6)
    assert found.time.values[-1] == 2.0


def test_what_is_above_the_mesh_is_stated_and_left_out_on_request() -> None:
    """A chain of 9 masses: the shares are those of its modes, which the request cuts off."""
    K = 2.0 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    system = FrozenSystem(M=np.eye(9), C=np.zeros((9, 9)), K=K)
    squares, shapes = la.eigh(K)
    q, span = np.eye(9)[4], (0.0, 3.0)
    found = modal.integrate(system, span, (q, 0.0 * q), displacement_tolerance=1e-4, probes="all")
    above = shapes[4, 3:] ** 2
    assert found.attrs["mesh_frequency"] == pytest.approx(np.sqrt(squares[2]) / (2.0 * np.pi))
    assert found.attrs["displacement_above_mesh"] == pytest.approx(np.sqrt(above.sum()))
    share = (above * squares[3:]).sum() / (shapes[4] ** 2 * squares).sum()
    assert found.attrs["energy_above_mesh"] == pytest.approx(share)
    highest = np.sqrt(0.5 * (squares[2] + squares[3])) / (2.0 * np.pi)
    cut = modal.integrate(
        system, span, (q, 0.0 * q), displacement_tolerance=1e-4, highest_frequency=highest,
        probes="all",
    )  # fmt: skip
    low = shapes[:, :3] * np.cos(np.sqrt(squares[:3]) * 3.0) @ shapes[4, :3]
    np.testing.assert_allclose(cut.displacement.values[-1], low, atol=1e-9)
    assert cut.attrs["energy_above_mesh"] < 1e-12
    with pytest.raises(InputError, match="positive number of Hz"):
        modal.integrate(system, span, (q, 0.0 * q), highest_frequency=0.0)


def test_a_swinging_body_from_one_displaced_node() -> None:
    """A free mobility, decoupled groups; the matrices are those of the body at every time."""
    beam = assembly.beam(0.5, assembly.rectangle(0.02, 0.01), assembly.steel, 2)
    model: Any = assembly.moving(beam, assembly.swing(0.3, 400.0))
    span, n = 1.5e-3, len(beam.free)
    motion = InterpolatedMotion.of(model, 0.0, span)
    assert motion is not None
    for t in (0.0, 4.1e-4, 1.3e-3):
        system, found = model.freeze(t), motion.matrices(np.array([t]))[:, 0]
        for A, B in zip((system.M, system.damping, system.stiffness), found, strict=True):
            np.testing.assert_allclose(B, A.toarray(), atol=1e-12 * abs(A).max())
    q = np.eye(n)[n // 2]
    run = modal.integrate(
        model, (0.0, span), (q, 0.0 * q), displacement_tolerance=1e-5, probes="all"
    )
    x = np.concatenate([q, 0.0 * q])[:, None]
    exact = by_exponentials(motion, span, x, 4096)[-1, :, 0]
    frames = Frames.of(motion.matrices, np.array([0.0, span]))
    largest = la.norm(frames.amplitudes(0, x[:, 0], 1.0 / span)[0])
    end = np.concatenate([run.displacement.values[-1], run.velocity.values[-1]])
    error = la.norm(frames.amplitudes(1, end - exact, 1.0 / span)[0])
    assert error <= run.attrs["displacement_error_estimate"] * largest <= 1e-5 * largest
    assert np.abs(run.energy_defect.values).max() <= 1e-3 * run.energy.values.max()


@pytest.mark.parametrize(("share", "known"), [(0.98, True), (1.02, False)])
def test_groups_that_outgrow_their_frozen_rates_are_not_propagated(
    share: float, known: bool
) -> None:
    """Where transformations do not decouple; steps of such groups would be very many."""
    machine: Any = slider_crank.model(elements=3)
    motion = InterpolatedMotion.of(machine, 0.0, machine.period)
    assert motion is not None
    length = 0.1 * machine.period
    frames = Frames.of(motion.matrices, length * decoupled._chebyshev(13)[0])
    panel = decoupled.Panel(frames, length, 16.0 / length)
    H, widest = panel.H[0], panel._widest[0]
    H *= share * widest / decoupled._size(decoupled._centred(H[1])[0][::6])
    states, _, _ = panel.run(np.ones(2 * panel.n), np.array([1.0]))
    assert np.isfinite(states).all() == known
