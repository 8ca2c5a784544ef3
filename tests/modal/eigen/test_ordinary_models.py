"""Ordinary models that once gave an error or a poor mode: all modes, each once, to 1e-12."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg as la
from scipy.optimize import linear_sum_assignment

import assembly
from assembly import FrozenSystem
from modal import Modes, solve
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.engines import krylov_schur
from modal.eigen.solvers.krylov import solve_krylov
from modal.eigen.solvers.shift_invert import ShiftInvert
from tests.support.cases import with_slow
from tests.support.quadratics import upper_spectrum

BACKENDS = ("dense", "scipy", "slepc")
SECTION = assembly.rectangle(0.05, 0.02)


def beam(elements: int, planar: bool = False, **support: str) -> assembly.Body:
    return assembly.beam(1.0, SECTION, assembly.steel, elements, planar=planar, **support)


def square(pinned: list[int], origin: float = 0.0, cells: int = 2) -> assembly.Body:
    mesh = dict(size=(1.0, 1.0), origin=(origin, origin))
    return assembly.gallery.sheet(cells, cells, clamped=None, pinned=pinned, **mesh)


def left_errors(system: FrozenSystem, modes: Modes) -> np.ndarray:
    transposed = Quadratic(system).transposed
    return transposed.backward_error(modes.eigenvalues, modes.left.conj())


def check_vectors(system: FrozenSystem, modes: Modes) -> None:
    """Both sides solve their problem to 1e-12, pair to one, and no state comes twice.

    The two vectors of a defective eigenvalue (infinite condition but for round-off) are one.
    """
    assert modes.backward_error.max(initial=0.0) <= 1e-12
    assert left_errors(system, modes).max(initial=0.0) <= 1e-12
    pairing = Quadratic(system).pairing(modes.eigenvalues, modes.left, modes.right)
    sound = modes.condition_number < 1e9
    np.testing.assert_allclose(pairing[sound], 1.0, rtol=1e-6)
    scale = np.abs(modes.eigenvalues).max(initial=1.0)
    states = np.vstack([modes.right, modes.right * modes.eigenvalues / scale])
    states = (states / np.linalg.norm(states, axis=0))[:, sound]
    assert la.svdvals(states).min(initial=1.0) > 1e-9


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("planar", [True, False])
def test_free_beam_at_rest_for_every_number_of_modes(planar: bool, backend: str) -> None:
    """All elastic modes of K x = ω²M x, by LAPACK's symmetric solver, and no others."""
    system = beam(6, planar).freeze()
    zeros = 3 if planar else 6
    omega = np.sqrt(la.eigh(system.K.toarray(), system.M.toarray())[0][zeros:])
    for k in (1, 6, 15, 17, 18, 19, 22, 30, system.n, 3 * system.n):
        modes = solve(system, k=k, backend=backend)
        there = min(k, system.n - zeros)
        np.testing.assert_allclose(modes.eigenvalues.imag, omega[:there], rtol=1e-9)
        assert np.all(modes.eigenvalues.real == 0.0) and modes.deflated == 2 * zeros
        check_vectors(system, modes)


@pytest.mark.parametrize("k", [10, 22, 30])
def test_krylov_space_that_is_nearly_everything(k: int) -> None:
    """The sparse method itself, without LAPACK in its stead: high modes of next to no energy."""
    system = beam(6).freeze()
    omega = np.sqrt(la.eigh(system.K.toarray(), system.M.toarray())[0][6:])
    operator = ShiftInvert(Quadratic(system), system.null_chain)
    found = solve_krylov(operator, k, krylov_schur, "Krylov–Schur")
    operator.destroy()
    np.testing.assert_allclose(found.eigenvalues[:k].imag, omega[:k], rtol=1e-9)
    assert np.all(found.eigenvalues.real == 0.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_imported_matrices_of_a_beam_that_turns_about_a_pin(backend: str) -> None:
    """M, C, K alone, K singular beyond what is said of it: the same modes as with its rotations."""
    system = beam(4, pinned="start").freeze(omega=(0, 0, 80.0))
    bare = FrozenSystem(M=system.M, C=system.damping, K=system.stiffness)
    known, found = solve(system, k=6, backend="dense"), solve(bare, k=6, backend=backend)
    assert len(found) == 6
    np.testing.assert_allclose(found.eigenvalues[1:], known.eigenvalues[1:], rtol=1e-9)
    check_vectors(bare, found)


MODELS: dict[str, Callable[[], FrozenSystem]] = {
    "free, speeding up": lambda: beam(2, True).freeze(epsilon=(0, 0, 2000.0)),
    "free, spinning": lambda: beam(2, True).freeze(omega=(0, 0, 80.0)),
    "free, accelerated": lambda: beam(2, True).freeze(acceleration=(9.8, 3.0, 0.0)),
    "pinned, speeding up": lambda: beam(2, True, pinned="start").freeze(
        omega=(0, 0, 80.0), epsilon=(0, 0, 500.0)
    ),
    "stiff damper, speeding up": lambda: assembly.attach_damper(beam(2, True), "end", 1e6).freeze(
        epsilon=(0, 0, 2000.0)
    ),
    "square pinned in its middle": lambda: square([4], -0.5).freeze(
        omega=(0, 0, 80.0), epsilon=(0, 0, 500.0)
    ),
    "square pinned in its corner": lambda: square([0]).freeze(epsilon=(0, 0, 2000.0)),
}
LONG = ("square pinned in its middle", "square pinned in its corner")


@pytest.mark.parametrize("name", with_slow(MODELS, LONG))
def test_all_modes_of_a_body_in_motion_against_forty_digits(name: str) -> None:
    """Whole spectra over up to fourteen orders; zeros of the chain are left out of the reference.

    An eigenvalue is held to its own error bound, or 1e-9 where that is sharper.
    """
    system = MODELS[name]()
    exact = upper_spectrum(system, digits=40)
    for backend in BACKENDS:
        for k in (6, 2 * system.n):
            modes = solve(system, k=k, backend=backend)
            check_vectors(system, modes)
            lam = modes.eigenvalues
            # The smallest of the reference are the zeros, which round-off of the matrices splits.
            members = 1 + (exact.imag > 1e-12 * np.abs(exact))
            beyond = exact[np.cumsum(members) > modes.deflated]
            expected = beyond[: len(lam)]
            if k > system.n:
                assert len(lam) == len(beyond)
                assert members.sum() == 2 * system.n
            distance = np.abs(lam[:, None] - expected[None, :])
            # Of a double eigenvalue round-off takes two apart, which may have one nearest.
            paired = distance[linear_sum_assignment(distance)]
            bound = modes.error_bound + 1e-15 * modes.condition_number * np.abs(lam)
            assert np.all(paired <= np.maximum(bound, 1e-9 * np.abs(lam))), backend


@pytest.mark.parametrize("seed", range(6))
def test_a_singular_stiffness_without_a_null_chain(seed: int) -> None:
    """All eigenvalues are those of LAPACK's QZ on the pencil, also where heavy damping spreads them
    over many orders."""
    rng = np.random.default_rng(seed)
    n = 12
    X = rng.standard_normal((n, n - 2))
    K = X @ np.diag(10.0 ** rng.uniform(-2.0, 6.0, n - 2)) @ X.T
    D = np.diag(10.0 ** rng.uniform(-3.0, 4.0, n))
    system = FrozenSystem(M=np.eye(n), D=D, K=0.5 * (K + K.T), K_D=0.0 * K)
    found = solve(system, k=2 * n, backend="dense", deflation=None)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-0.5 * (K + K.T), -D]])
    B = np.eye(2 * n)
    true = la.eigvals(A, B)
    true = true[true.imag >= 0.0]
    assert len(found.eigenvalues) == len(true)
    apart = np.abs(found.eigenvalues[:, None] - true).min(axis=1)
    assert apart.max() <= 1e-12 * np.abs(true).max()
    assert np.abs(true[:, None] - found.eigenvalues).min(axis=1).max() <= 1e-12 * np.abs(true).max()
