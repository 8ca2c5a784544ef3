"""A spinning ring against its exact travelling waves, and Bryan's split of thin rings."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.beams import ring
from assembly.bodies.body import Body
from assembly.errors import InputError
from assembly.materials.sections import Section
from tests.support.ring_waves import RingWaves

ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
R = 0.4


def waves(section: Section, n: int, omega: float, theory: str = "timoshenko") -> np.ndarray:
    """Frequencies (6,) of (w, v, φ) e^{i(nθ + ωt)}, with their signs, in the turning frame.

    γ_t = (v′ + w)/R, γ_r = (w′ − v)/R + φ, κ = φ′/R, hoop tension ρAΩ²R² on ((w′ − v)/R)²,
    Coriolis between w and v; rotary inertia ρI without softening (the turn's second order).
    """
    A, I = section.A, section.Iz
    stretch = np.array([1.0, 1j * n, 0.0]) / R
    tilt = np.array([1j * n, -1.0, 0.0]) / R
    shear = tilt + np.array([0.0, 0.0, 1.0])
    curvature = np.array([0.0, 0.0, 1j * n]) / R
    M = ALLOY.rho * np.diag([A, A, I]).astype(complex)
    C = 2.0 * omega * ALLOY.rho * A * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]], dtype=complex)
    K = np.zeros((3, 3), dtype=complex)
    for factor, strain in [
        (ALLOY.E * A, stretch),
        (section.shear_y * ALLOY.G * A, shear),
        (ALLOY.E * I, curvature),
        (ALLOY.rho * A * omega**2 * R**2, tilt),
    ]:
        K += factor * np.outer(strain.conj(), strain)
    K -= omega**2 * ALLOY.rho * A * np.diag([1.0, 1.0, 0.0])
    if theory == "euler-bernoulli":  # φ = (v − w′)/R, without rotary inertia
        T = np.vstack([np.eye(2), -tilt[:2]])
        M = np.delete(np.delete(M, 2, 0), 2, 1)
        C, K = C[:2, :2], T.conj().T @ K @ T
    m = len(M)
    B = np.block([[K, np.zeros((m, m))], [np.zeros((m, m)), M]])
    S = 1j * np.block([[np.zeros((m, m)), K], [-K, -C]])
    return la.eigh(S, B, eigvals_only=True)


def frequencies(body: Body, omega: float) -> np.ndarray:
    """Frequencies (rad/s) of the frozen ring spun about its axis, ascending."""
    s = body.freeze((0.0, 0.0, omega))
    M, C, K = (A.toarray() for A in (s.M, s.damping, s.stiffness))
    lower = -la.solve(M, np.hstack([K, C]))
    values = la.eigvals(np.vstack([np.eye(s.n, 2 * s.n, s.n), lower]))
    return np.sort(values.imag[values.imag > 0.0])


def matched(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.array([found[abs(found - value).argmin()] for value in exact])


@pytest.mark.parametrize(
    ("omega", "theory"),
    [(0.0, "timoshenko"), (80.0, "timoshenko"), (300.0, "timoshenko"), (300.0, "euler-bernoulli")],
)
def test_travelling_waves_split_by_rotation(omega: float, theory: str) -> None:
    section = assembly.rectangle(0.03, 0.05)
    exact = np.concatenate([np.sort(abs(waves(section, n, omega, theory)))[:2] for n in (2, 3, 4)])
    if omega:
        assert np.all(abs(exact[1::2] - exact[::2]) > 0.3 * omega)

    def found(elements: int) -> np.ndarray:
        body = ring(
            R, section, ALLOY, elements, planar=True, theory=theory,  # type: ignore[arg-type]
            rotary_inertia=theory == "timoshenko",
        )  # fmt: skip
        return matched(frequencies(body, omega), exact)

    fine = found(100)
    np.testing.assert_allclose(fine, exact, rtol=2e-4)
    # Stretch and shear of inertia loads are not interpolated: error h², removed by extrapolation.
    np.testing.assert_allclose((4.0 * fine - found(50)) / 3.0, exact, rtol=1e-5)


def test_bryans_split_of_a_thin_ring() -> None:
    """Bryan (1890): ω_n ± 2nΩ/(n² + 1), ω_n² = n²(n² − 1)²/(n² + 1) EI/(ρAR⁴), for slow spin."""
    thin = assembly.rectangle(0.004, 0.05)
    omega = 2.0
    body = ring(R, thin, ALLOY, 48, planar=True)
    found = frequencies(body, omega)
    for n in (2, 3, 4):
        scale = ALLOY.E * thin.Iz / (ALLOY.rho * thin.A * R**4)
        level = np.sqrt(n**2 * (n**2 - 1) ** 2 / (n**2 + 1) * scale)
        pair = matched(found, level + np.array([-1.0, 1.0]) * 2 * n * omega / (n**2 + 1))
        assert pair.mean() == pytest.approx(level, rel=1e-3)
        assert pair[1] - pair[0] == pytest.approx(4 * n * omega / (n**2 + 1), rel=1e-2)


def test_ring_out_of_its_plane_at_rest() -> None:
    """Love: ω² = n²(n² − 1)²/(n² + EI/GJ) EI/(ρAR⁴) of a thin ring across its plane."""
    thin = assembly.circle(0.004)
    body = ring(R, thin, ALLOY, 48, theory="euler-bernoulli")
    s = body.freeze()
    across = np.flatnonzero(np.isin(body.dofs.component, (2, 3, 4)))
    K, M = (A[across][:, across].toarray() for A in (s.K, s.M))
    found = np.sqrt(abs(la.eigh(K, M, eigvals_only=True)))
    for n in (2, 3, 4):
        ratio = ALLOY.E * thin.Iy / (ALLOY.G * thin.J)
        scale = ALLOY.E * thin.Iy / (ALLOY.rho * thin.A * R**4)
        exact = np.sqrt(n**2 * (n**2 - 1) ** 2 / (n**2 + ratio) * scale)
        assert abs(found - exact).min() < 2e-3 * exact


def test_hoop_tension_holds_the_ring_wherever_it_turns() -> None:
    """A ring at steady spin turned about its axis is the same ring: K_total v = 0."""
    body = ring(R, assembly.rectangle(0.03, 0.05), ALLOY, 12)
    s = body.freeze((0.0, 0.0, 500.0))
    v = body.dofs.rigid_fields()[:, 5]
    assert np.linalg.norm(s.stiffness @ v) < 1e-9 * np.linalg.norm(s.K_omega2 @ v)


@pytest.mark.parametrize("change", [dict(radius=-1.0), dict(elements=2), dict(theory="thin")])
def test_bad_rings_are_refused(change: dict) -> None:
    given = dict(radius=R, section=assembly.circle(0.01), material=ALLOY, elements=8) | change
    with pytest.raises(InputError, match=next(iter(change))) as fault:
        ring(**given)
    assert "\n" not in str(fault.value)


def of_three_waves(body: Body, omega: float, exact: RingWaves) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of the two lowest waves with 2, 3 and 4 periods, in and across the plane."""
    system = body.freeze((0.0, 0.0, omega), prestress="nonlinear")
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    out = []
    for components, waves_of in (((0, 1, 5), (0, 1, 5)), ((2, 3, 4), (2, 3, 4))):
        keep = np.flatnonzero(np.isin(body.dofs.component, components))
        m, c, k = (A[np.ix_(keep, keep)] for A in (M, C, K))
        # The plane and what crosses it do not couple.
        others = np.setdiff1d(np.arange(system.n), keep)
        assert abs(K[np.ix_(keep, others)]).max() < 1e-8 * abs(K).max()
        one = np.eye(len(keep), 2 * len(keep), len(keep))
        values = la.eigvals(np.vstack([one, -la.solve(m, np.hstack([k, c]))]))
        found = np.sort(values.imag[values.imag > 0.0])
        due = [np.sort(abs(exact.frequencies(n, waves_of)))[:2] for n in (2, 3, 4)]
        expected = np.concatenate(due)
        out.append(matched(found, expected) / expected - 1.0)
    return out[0], out[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "omega", "bound"),
    [
        (assembly.rectangle(0.004, 0.05), 500.0, 6e-4),
        (assembly.rectangle(0.03, 0.05), 2500.0, 6e-4),  # stretched by 4 %
    ],
)
def test_nonlinear_prestress_of_a_spinning_ring(
    section: Section, omega: float, bound: float
) -> None:
    """Waves about the stretched circle, by their Fourier solution (tests/support/ring_waves.py)."""
    exact = RingWaves(R, section, ALLOY, omega)
    worst = []
    for elements in (48, 96):
        errors = of_three_waves(ring(R, section, ALLOY, elements), omega, exact)
        worst.append(np.abs(errors).max())
    assert worst[0] < bound
    assert np.log2(worst[0] / worst[1]) > 1.8


@pytest.mark.slow
def test_exact_waves_of_the_stretched_ring_are_those_of_the_slow_one() -> None:
    """The Fourier solution against `waves`, which has the linear prestress, up to the strain."""
    section = assembly.rectangle(0.03, 0.05)
    for omega in (0.0, 50.0):
        strain = ALLOY.rho * omega**2 * R**2 / ALLOY.E
        for n in (2, 3, 4):
            found = np.sort(abs(RingWaves(R, section, ALLOY, omega).frequencies(n, (0, 1, 5))))
            expected = np.sort(abs(waves(section, n, omega)))
            np.testing.assert_allclose(found, expected, rtol=2e-8 + 2.0 * strain)
