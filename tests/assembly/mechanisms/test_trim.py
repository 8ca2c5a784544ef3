"""Trim of mechanisms: equilibrium, frozen matrices and results at finite deflections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from tests.support.constrained_motion import FIRST, TINY
from tests.support.sprung_arm import DRIVE, SLIDE, SPIN, WRIST, Exact, T, mechanism

Array = NDArray[np.float64]


class Deflected(Exact):
    """The equations of the arm with its springs at their true deflections.

    Springs carry what they are deflected by, and nothing else; the hinge without a spring has the
    torque of its motor.
    """

    def __init__(self) -> None:
        super().__init__()
        laws = {2: WRIST, 4: SLIDE}
        motor = self.carried[3] - self.springs[3].C @ self.rate0[3]
        for k, spring in enumerate(self.springs):
            self.rate0[k] = np.zeros_like(self.rate0[k])
            if k in laws:
                self.x0[k], self.carried[k] = np.array([laws[k].at(T)[0]]), np.zeros(1)
            elif k == 3:
                self.x0[k], self.carried[k] = np.array([SPIN.at(T)[0]]), motor
            else:
                self.x0[k], self.carried[k] = np.zeros(6), spring.preload

    def _angle(self, *arguments: Any) -> Any:
        law, t = arguments[-2:]
        tangent = super()._angle(*arguments) - law.at(t)[0]
        real = np.arctan(tangent.real)
        return law.at(t)[0] + real + 1j * tangent.imag / (1.0 + tangent.real**2)


@pytest.fixture(scope="module")
def exact() -> Deflected:
    return Deflected()


@pytest.fixture(scope="module")
def trim(exact: Deflected) -> assembly.Trim:
    return exact.rigid.trim(T)


def test_the_deflections_are_large(trim: assembly.Trim) -> None:
    assert np.linalg.norm(trim.deflections["mount"][3:]) > 1.0
    assert abs(trim.deflections["wrist"][0]) > 0.1


def test_equilibrium_is_that_of_the_nonlinear_equations(
    exact: Deflected, trim: assembly.Trim
) -> None:
    """The residual at the trim, against that at zero deflection."""
    at_rest = np.abs(exact.residual(np.zeros(len(trim.q)))).max()
    assert np.abs(exact.residual(trim.q)).max() < 1e-9 * at_rest


def test_mass_and_damping_about_the_trim(exact: Deflected, trim: assembly.Trim) -> None:
    now, rate, h = exact.directions(trim.q, T), 0.0, exact.step
    for k, weight in FIRST.items():
        after, before = (exact.directions(trim.q, T + s * k * h) for s in (1, -1))
        rate = rate + weight * (after - before) / (60.0 * h)
    M = np.einsum("p,npi,mpi->nm", exact.masses, now, now)
    C = 2.0 * np.einsum("p,npi,mpi->nm", exact.masses, now, rate)
    d = exact.varied(trim.q, T)
    for spring in exact.springs:
        G = spring.x(d, T).imag / TINY
        C += G @ spring.C @ G.T
    assert_allclose(trim.system.M.toarray(), M, atol=1e-12 * np.abs(M).max())
    assert_allclose(trim.system.damping.toarray(), C, atol=1e-8 * np.abs(C).max())


@pytest.mark.slow
def test_stiffness_about_the_trim_is_the_tangent_there(
    exact: Deflected, trim: assembly.Trim
) -> None:
    n, h, columns = len(trim.q), 4e-4, []
    for e in np.eye(n):
        r = {k: exact.residual(trim.q + k * h * e) for k in (-2, -1, 1, 2)}
        columns.append((8.0 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12.0 * h))
    expected = np.stack(columns, axis=1)
    undeformed = exact.rigid.freeze(T).stiffness
    assert abs(trim.system.stiffness - undeformed).max() > 0.1 * abs(undeformed).max()
    atol = 1e-7 * np.abs(expected).max()
    assert_allclose(trim.system.stiffness.toarray(), expected, rtol=0, atol=atol)


@pytest.mark.slow
def test_freeze_is_about_the_trim(trim: assembly.Trim) -> None:
    system = mechanism().freeze(T, prestress="nonlinear")
    assert_allclose(system.stiffness.toarray(), trim.system.stiffness.toarray(), atol=1e-8)
    assert not np.any(system.Q)


def test_reactions_balance_each_body(exact: Deflected, trim: assembly.Trim) -> None:
    """Force of the base on everything = Σ m (ẍ − g), less what the strut pulls."""
    times = {k: T + k * exact.step for k in range(-3, 4)}
    x = {k: exact.points(exact.close(trim.q[None], t), t).real[0] for k, t in times.items()}
    second = {0: -490.0, 1: 270.0, 2: -27.0, 3: 2.0}
    a = sum(second[abs(k)] * x[k] for k in x) / (180.0 * exact.step**2)
    total = exact.masses @ (a - exact.rigid.gravity)
    held = trim.reactions["base"].force + trim.reactions["strut"].force
    assert_allclose(held, total, rtol=1e-8)
    assert DRIVE.at(T)[1] != 0.0
