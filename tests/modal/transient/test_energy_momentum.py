"""Energy and momentum of nonlinear transients: the ledger, and steps that keep them."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from tests.support.free_plate import free_plate

SOFT = assembly.Material(E=2e9, nu=0.3, rho=2000.0)


@pytest.mark.slow
def test_a_free_plate_keeps_energy_and_momentum() -> None:
    """A plate that turns and vibrates; generalised-α keeps the momenta alone."""
    model, start = free_plate()
    options = dict(nonlinear=True, step=2e-3, probes=[0])
    kept, other = (
        modal.integrate(model, (0.0, 0.1), start, method=method, **options)
        for method in ("energy-momentum", "generalized-alpha")
    )
    energy = kept.energy.values
    assert kept.strain_energy.values.max() > 1e-2 * energy[0]
    assert np.abs(energy - energy[0]).max() < 1e-8 * energy[0]
    for name in ("momentum", "angular_momentum"):
        for run in (kept, other):
            change = np.abs(run[name].values - run[name].values[0]).max()
            assert change < 1e-8 * np.abs(run[name].values[0]).max()
    assert np.abs(other.energy.values - energy[0]).max() > 1e-5 * energy[0]
    assert kept.attrs["solver"] == "energy-momentum"


def pendulum(damping: float) -> assembly.Mechanism:
    bob = assembly.rigid_body(2.0, 0.05, centre=(0.4, 0.0, 0.0), planar=True)
    return assembly.Mechanism(
        {"bob": bob},
        [assembly.revolute("ground", (0, 0), "bob", (0, 0), name="hinge")],
        [assembly.driver("hinge", 0.0, stiffness=0.0, damping=damping)],
        gravity=(9.81, 0.0, 0.0),
    )


@pytest.mark.slow
def test_a_pendulum_with_a_damper() -> None:
    """Energy-momentum steps balance energy and damper; others do to second order."""
    machine, span, start = pendulum(0.3), (0.0, 0.4), ([0.8], [0.0])
    kept = modal.integrate(
        machine, span, start, nonlinear=True, step=0.02, method="energy-momentum"
    )
    lost = kept.damper_work.values[-1]
    assert lost < -0.05
    assert kept.energy.values[-1] - kept.energy.values[0] == pytest.approx(lost, rel=1e-8)
    assert kept.gravity_energy.values[0] == pytest.approx(-2.0 * 9.81 * 0.4 * np.cos(0.8))
    coarse, fine = (
        np.abs(
            modal.integrate(machine, span, start, nonlinear=True, step=h).energy_defect.values
        ).max()
        for h in (0.02, 0.01)
    )
    assert 3.5 < coarse / fine < 4.5


def arm(law: assembly.Law | float, **drive: float) -> assembly.Mechanism:
    beam = assembly.beam(0.5, assembly.rectangle(0.02, 0.02), SOFT, 2, planar=True)
    return assembly.Mechanism(
        {"arm": beam.with_damping(a=0.5, b=1e-4)},
        [assembly.revolute("ground", (0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", law, **drive)],
        gravity=(3.0, -9.81, 0.0) if law == 0.0 else (0.0, 0.0, 0.0),
        loads=[
            assembly.Load("arm", "end", (3.0, 40.0)),
            assembly.Load("arm", "end", (3.0, 40.0), follower=True),
        ],
    )


def mounted() -> assembly.Mechanism:
    link = assembly.beam(0.5, assembly.rectangle(0.02, 0.02), SOFT, 2, planar=True)
    K = np.array([1e4, 1e4, 200.0])
    return assembly.Mechanism(
        {"table": assembly.rigid_body(1.0, 0.1, planar=True), "link": link},
        [assembly.revolute("ground", (0, 0), "table", (0, 0), name="hub")],
        [assembly.driver("hub", 12.0)],
        bushings=[
            assembly.bushing(
                "table", (0.1, 0), "link", "start", stiffness=K, damping=1e-2 * K,
                preload=(1.0, 2.0, 3.0), name="mount",
            )
        ],
        initial={"link": (0.1, 0, 0)},
    )  # fmt: skip


@pytest.mark.parametrize(
    "machine",
    [arm(0.0), arm(3.0), arm(3.0, stiffness=50.0, damping=2.0), mounted()],
    ids=["weight", "driven", "elastic drive", "bushing"],
)
def test_powers_change_the_energy(machine: assembly.Mechanism) -> None:
    """dE/dt along any motion, by differences, is the power of all forces and of what is out of
    balance: kinetic energy and strains are written apart from the forces."""
    n = machine.freeze(0.1).n
    q, v, a = 0.02 * np.random.default_rng(0).normal(size=(3, n))

    def energy(s: float) -> float:
        path = (q + s * v + 0.5 * s * s * a, v + s * a, a)
        return float(machine.displaced(0.1 + s, *path).energies.total)

    h = 1e-4
    rate = (8.0 * (energy(h) - energy(-h)) - energy(2 * h) + energy(-2 * h)) / (12.0 * h)
    at = machine.displaced(0.1, q, v, a)
    powers = at.powers
    total = powers.loads + powers.drives + powers.dampers + at.power(at.residual)
    assert powers.dampers < 0.0
    assert rate == pytest.approx(total, rel=1e-8)
