"""Beams whose ends hang on nodes by rigid arms, against lumped masses with the same arms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.attachments import attach_mass
from assembly.bodies.body import Body
from assembly.bodies.nonlinear import equilibrium
from assembly.elements.family import Passage
from assembly.errors import InputError
from assembly.kinematics import Kinematics

ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
SHAPE = assembly.rectangle(0.06, 0.02)
ARM = np.array([0.03, -0.12, 0.07])
SPIN, RATE = np.array([30.0, -60.0, 120.0]), np.array([800.0, 300.0, -900.0])


def eigenvalues(body: Body) -> np.ndarray:
    """All λ of a spinning body, by imaginary part."""
    s = body.freeze(SPIN, RATE)
    M, C, K = (A.toarray() for A in (s.M, s.damping, s.stiffness))
    lower = -la.solve(M, np.hstack([K, C]))
    values = la.eigvals(np.vstack([np.eye(s.n, 2 * s.n, s.n), lower]))
    return values[np.lexsort((values.real.round(6), values.imag.round(6)))]


def plain(**options: object) -> Body:
    return assembly.beam(0.8, SHAPE, ALLOY, 6, clamped="start", offset=0.2, **options)  # type: ignore[arg-type]


def test_mass_at_the_end_of_an_arm() -> None:
    """The node is the mass's place, or the mass is offset from the node: one mechanical system."""
    at_node = attach_mass(plain(end_offsets=((0, 0, 0), -ARM)), "end", 3.0)
    at_offset = attach_mass(plain(), "end", 3.0, offset=ARM)
    found, exact = eigenvalues(at_node), eigenvalues(at_offset)
    np.testing.assert_allclose(found, exact, atol=1e-9 * abs(exact).max())
    # The arm's second-order work matters: without it the lowest pair moves by far more.
    assert abs(abs(exact).min() - abs(eigenvalues(plain())).min()) > 1.0


@pytest.mark.slow
def test_stretched_shape_is_the_same_with_either_description() -> None:
    at_node = attach_mass(plain(end_offsets=((0, 0, 0), -ARM)), "end", 3.0)
    at_offset = attach_mass(plain(), "end", 3.0, offset=ARM)
    motion = Kinematics(SPIN)
    one, two = (equilibrium(body.operators, motion).displacement for body in (at_node, at_offset))
    np.testing.assert_allclose(one[:-6], two[:-6], atol=1e-9 * abs(two).max())
    np.testing.assert_allclose(one[-3:], two[-3:], atol=1e-9 * abs(two).max())
    assert abs(two[-3:]).max() > 0.02


def test_clamped_arm_is_a_clamp() -> None:
    offset = plain(end_offsets=(ARM, (0.0, 0.0, 0.0)))
    np.testing.assert_allclose(offset.dofs.coordinates[0], [0.2 - ARM[0], -ARM[1], -ARM[2]])
    exact = eigenvalues(plain())
    np.testing.assert_allclose(eigenvalues(offset), exact, atol=1e-10 * abs(exact).max())


@pytest.mark.parametrize("planar", [True, False])
def test_pinned_arm_keeps_its_rotation(planar: bool) -> None:
    arm = (0.1, 0.06, 0.0 if planar else -0.04)
    body = assembly.beam(
        0.8, SHAPE, ALLOY, 8, pinned="start", pin_axis="z", planar=planar, start=arm,
        end_offsets=(arm, (0.0, 0.0, 0.0)),
    )  # fmt: skip
    assert np.all(body.dofs.coordinates[0] == 0.0)
    v = body.dofs.rigid_fields()[body.free, 5]
    s = body.freeze((0.0, 0.0, 150.0), (0.0, 0.0, 2e3))
    scale = np.linalg.norm(s.K_omega2 @ v) + np.linalg.norm(s.K_epsilon @ v)
    assert np.linalg.norm(s.stiffness @ v) <= 1e-10 * scale


def test_tangent_of_turned_arms() -> None:
    body = plain(end_offsets=(-ARM, 2.0 * ARM))
    family = body.families[0]
    rng = np.random.default_rng(3)
    u, c = 0.05 * rng.standard_normal(body.size), 30.0 * rng.standard_normal(12)
    found = family.tangents(Passage.at_rest(u, c))[1].toarray()
    h = 1e-6
    columns = [
        (family.force(Passage.at_rest(u + h * e, c)) - family.force(Passage.at_rest(u - h * e, c)))
        / (2.0 * h)
        for e in np.eye(body.size)
    ]
    np.testing.assert_allclose(found, np.stack(columns, axis=1), atol=2e-8 * abs(found).max())


@pytest.mark.parametrize("arms", [((0, 0, 0),), ((0, 0), (0, 0)), ((0, 0, 0.1), (0, 0, 0))])
def test_bad_arms_are_refused(arms: tuple) -> None:
    with pytest.raises(InputError, match="end_offsets") as fault:
        assembly.beam(1.0, SHAPE, ALLOY, 2, planar=True, end_offsets=arms)
    assert "\n" not in str(fault.value)
