"""Rotors with axial load, acceleration and skewed discs, against own derivations."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
from assembly.bodies.body import Body
from assembly.errors import InputError
from assembly.kinematics import SKEW_UNITS

STEEL = assembly.steel


def two_discs(theory: str, drive_at: float) -> assembly.Rotor:
    return assembly.rotor(
        [(0.4, assembly.circle(0.06)), (0.5, assembly.circle(0.08))],
        STEEL,
        6,
        discs=[
            assembly.Disc.solid(0.4, 0.35, 0.08, 0.05, STEEL),
            assembly.Disc(0.6, 20.0, 0.4, 0.22),
        ],
        lateral=False,
        drive_at=drive_at,
        theory=theory,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("drive_at", [0.0, 0.9])
def test_acceleration_is_that_of_the_rotating_frame(theory: str, drive_at: float) -> None:
    """q_r = R(−ψ) q_f: ε G + K_G(ε) of the body that turns, held at the drive, less ε M J."""
    epsilon = 30.0
    rotor = two_discs(theory, drive_at)
    dofs = rotor.body.dofs
    held = np.zeros(len(dofs), dtype=bool)
    held[[dofs.index(rotor.drive, 0), dofs.index(rotor.drive, 3)]] = True
    turning = Body(dofs, rotor.body.families, held).freeze((0, 0, 0), (epsilon, 0, 0))
    kept = dofs.select(~held)
    lateral = np.isin(kept.component, (1, 2, 4, 5))
    J = kept.turning(SKEW_UNITS[0], rotations=True)
    expected = (turning.K_epsilon + turning.K_G - epsilon * turning.M @ J).toarray()
    expected = expected[np.ix_(lateral, lateral)]
    fixed = rotor.freeze(0.0, epsilon=epsilon)
    assert fixed.dofs is not None
    own = np.isin(fixed.dofs.component, (1, 2, 4, 5))
    found = (fixed.K_epsilon + fixed.K_G).toarray()[np.ix_(own, own)]
    np.testing.assert_allclose(found, expected, atol=1e-12 * abs(expected).max())
    assert abs(found).max() > 100.0


@pytest.mark.parametrize("share", [-0.9, -0.3, 0.5])
def test_axial_load_on_a_simply_supported_shaft(share: float) -> None:
    """ω² = ω₀² (1 + P/P_crit) of Euler and Bernoulli's beam, P_crit = π²EI/L²."""
    section, length = assembly.circle(0.02), 1.3
    critical = np.pi**2 * STEEL.E * section.Iy / length**2

    def lowest(load: float) -> float:
        rotor = assembly.rotor(
            [(length, section)],
            STEEL,
            12,
            bearings=[assembly.Bearing(0.0, np.inf), assembly.Bearing(length, np.inf)],
            theory="euler-bernoulli",
            rotary_inertia=False,
            axial_load=load,
        )
        system = rotor.freeze()
        values = np.linalg.eigvals(np.linalg.solve(system.M.toarray(), system.stiffness.toarray()))
        return float(np.sort(values.real)[0])

    assert lowest(share * critical) / lowest(0.0) == pytest.approx(1.0 + share, rel=1e-4)


def test_skewed_disc_excites_as_its_angular_momentum_demands() -> None:
    """The moment of a rigid disc, dH/dt by differences, H = R J Rᵀ ω in fixed axes."""
    polar, diametral, skew, angle = 0.8, 0.45, 1e-5, 0.7
    disc = assembly.Disc(0.5, 12.0, polar, diametral, skew=skew, skew_angle=angle)
    rotor = assembly.rotor([(1.0, assembly.circle(0.05))], STEEL, 4, discs=[disc])
    omega, epsilon, h = 80.0, 500.0, 1e-5
    axis = np.array([1.0, skew * np.cos(angle), skew * np.sin(angle)])
    axis /= np.linalg.norm(axis)
    J = diametral * np.eye(3) + (polar - diametral) * np.outer(axis, axis)

    def momentum(t: float) -> np.ndarray:
        psi, rate = omega * t + 0.5 * epsilon * t * t, omega + epsilon * t
        c, s = np.cos(psi), np.sin(psi)
        R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        return R @ J @ R.T @ np.array([rate, 0.0, 0.0])

    on_shaft = -(momentum(h) - momentum(-h)) / (2 * h)
    force = rotor.excitation(omega, epsilon).real
    dofs = rotor.body.dofs
    node = int(np.argmin(abs(dofs.coordinates[:, 0] - 0.5)))
    found = force[[dofs.index(node, 4), dofs.index(node, 5)]]
    np.testing.assert_allclose(found, on_shaft[1:], rtol=1e-6)
    assert np.count_nonzero(force) == 2


@pytest.mark.parametrize("options", [dict(axial_load=np.nan), dict(drive_at=2.0)])
def test_bad_input(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options)).split("_")[0]):
        assembly.rotor([(1.0, assembly.circle(0.05))], STEEL, 4, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="skew"):
        assembly.Disc(0.5, 1.0, 1.0, 1.0, skew=np.inf)
