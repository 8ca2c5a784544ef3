"""Steps of transients on links, against plain arrays of the matrices of the same instants."""

from __future__ import annotations

import numpy as np
import pytest

import modal
from assembly.mechanisms import mechanism as mechanisms
from modal.transient.reduced_transient import ReducedTransient, on_basis
from modal.types import Array
from tests.support.link_machines import COARSE, loaded_beam

SPAN = (0.0, 2e-3)  # s, half a cycle of the slowest mode


@pytest.fixture(scope="module")
def links() -> ReducedTransient:
    """A rod with damping, and a force that follows it, which has no potential."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "LARGE_BODY", 40)
        mechanism = loaded_beam(COARSE)
        shape = modal.solve(mechanism.freeze(0.0), k=1).right[:, 0].real
        state = (1e-3 * shape / np.abs(shape).max(), 0.0 * shape)
        found = on_basis(mechanism, SPAN, state, (), None)
    assert found is not None
    return found


def stepped(
    links: ReducedTransient, q: Array, v: Array, count: int, rho: float
) -> tuple[Array, ...]:
    """Chung and Hulbert (1993), eqs. 14 to 25, as written there: q, v and the energy."""
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma, beta = 0.5 - am + af, 0.25 * (1.0 - am + af) ** 2
    h, out = SPAN[1] / count, []

    def acceleration(t: float, q: Array, v: Array) -> Array:
        M, C, K = matrices(t)
        return np.linalg.solve(M, -C @ v - K @ q)

    def matrices(t: float) -> tuple[Array, Array, Array]:
        series = links.freeze_many([t])
        return series.mass[0], series.damping[0], series.stiffness[0]

    a = acceleration(0.0, q, v)
    # The carried acceleration belongs to t + (am - af) h; the matrices end with the span.
    ahead = (am - af) * h
    a = acceleration(0.0, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a)
    for n in range(count + 1):
        M, _, K = matrices(n * h)
        circulatory = links.freeze(n * h).K_D
        S = K if circulatory is None else K - circulatory.toarray()
        out.append((q, v, 0.5 * (v @ M @ v + q @ S @ q)))
        M, C, K = matrices((n + 1.0 - af) * h)
        forward = (h * h * beta, h * gamma)
        q_next = q + h * v + h * h * (0.5 - beta) * a
        v_next = v + h * (1.0 - gamma) * a
        left = (1.0 - am) * M + (1.0 - af) * (forward[1] * C + forward[0] * K)
        right = (
            -am * M @ a - C @ ((1.0 - af) * v_next + af * v) - K @ ((1.0 - af) * q_next + af * q)
        )
        a = np.linalg.solve(left, right)
        q, v = q_next + forward[0] * a, v_next + forward[1] * a
    return tuple(np.array(part) for part in zip(*out, strict=True))


@pytest.mark.parametrize("rho", [1.0, 0.7])
def test_steps_are_those_of_plain_arrays(links: ReducedTransient, rho: float) -> None:
    q, v = links.state
    found = modal.integrate(links, SPAN, (q, v), step=SPAN[1] / 40, rho_infinity=rho, probes="all")
    exact = stepped(links, q, v, 40, rho)
    for name, values in zip(("displacement", "velocity", "energy"), exact, strict=True):
        scale = np.abs(values).max()
        np.testing.assert_allclose(found[name].values, values, atol=1e-9 * scale, rtol=0.0)
    few = modal.integrate(links, SPAN, (q, v), step=SPAN[1] / 40, rho_infinity=rho, every=7)
    np.testing.assert_array_equal(few.time, found.time[[0, 7, 14, 21, 28, 35, 40]])


def test_the_energy_defect_falls_with_the_square_of_the_step(links: ReducedTransient) -> None:
    q, v = links.state
    worst = []
    for count in (400, 800):
        found = modal.integrate(links, SPAN, (q, v), step=SPAN[1] / count)
        change = float(np.abs(found.energy - found.energy[0]).max())
        worst.append(float(np.abs(found.energy_defect).max()) / change)
    assert worst[0] < 1e-2
    assert worst[0] / worst[1] == pytest.approx(4.0, rel=0.1)
