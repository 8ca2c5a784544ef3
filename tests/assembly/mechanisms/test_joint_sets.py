"""Joints on sets of nodes: solids and plane bodies as links of mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.linalg import eigh, polar
from scipy.spatial.transform import Rotation

import assembly
from assembly.gallery import block, sheet
from assembly.mechanisms.joint_points import at_rest

Array = NDArray[np.float64]


def polar_vector(X: Array, u: Array) -> Array:
    """Rotation vector of the polar decomposition of Σ (X + u) Xᵀ, X from the centre."""
    arms = X - X.mean(axis=0)
    return np.asarray(Rotation.from_matrix(polar((arms + u).T @ arms)[0]).as_rotvec())


@pytest.mark.parametrize("planar", [False, True])
def test_fitted_rotation_is_the_polar_one_to_second_order(planar: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6, 3)) + 3.0
    u, g = rng.normal(size=(6, 3)), rng.normal(size=3)
    if planar:
        # A flat set of nodes; a layer above and below it fixes the polar rotation to the plane.
        X[:, 2], u[:, 2], g[:2] = 0.0, 0.0, 0.0
    fitted = at_rest(X, planar)

    def along(s: float) -> float:
        if planar:
            arms = X - X.mean(axis=0)
            F = ((arms + s * u).T @ arms)[:2, :2]
            return float(g[2] * np.arctan2(F[1, 0] - F[0, 1], F[0, 0] + F[1, 1]))
        return float(g @ polar_vector(X, s * u))

    h = 1e-3
    first = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    ends = -(along(2 * h) + along(-2 * h)) + 16 * (along(h) + along(-h)) - 30 * along(0.0)
    flat = u.ravel()
    assert g @ fitted.W.value[3:] @ flat == pytest.approx(first, rel=1e-8)
    second = flat @ np.tensordot(g, fitted.bend(np.eye(len(flat))), 1) @ flat
    assert second == pytest.approx(ends / (12 * h**2), rel=1e-6)
    by_direction = np.tensordot(g, fitted.bend(flat[:, None]), 1)
    assert by_direction == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize(
    ("body", "hub", "planar"),
    [
        (block(4, 2, 2, "hex8", clamped=None), "x0", False),
        (block(2, 1, 1, "tet10", origin=(0.3, -0.1, -0.1), clamped=None), "x0", False),
        (sheet(4, 2, "q8", clamped=None), "x0", True),
    ],
)
def test_a_body_turned_by_a_hub_keeps_its_rotation(
    body: assembly.Body, hub: str, planar: bool
) -> None:
    """(K + K(ε) + K(ω²) + K_G) v = 0 for the free rotation, hub torque balancing ε."""
    centre = body.dofs.coordinates[body.sets[hub]].mean(axis=0)
    spun = assembly.Mechanism(
        {"body": body},
        [assembly.revolute("ground", centre, "body", hub, name="hub")],
        [assembly.driver("hub", assembly.Uniform(rate=200.0, acceleration=3e4), held=False)],
    )
    system = spun.freeze(0.01)
    v = system.rigid[:, 0]
    left = np.linalg.norm(system.stiffness @ v)
    size = np.linalg.norm(system.K_omega2 @ v) + np.linalg.norm(system.K_epsilon @ v)
    assert system.rigid.shape[1] == 1
    assert size > 1e3
    # The elastic stiffness adds its own round-off: K v is zero to 1e-16 of |K||v|.
    assert left <= 1e-10 * size + 1e-15 * np.linalg.norm(abs(system.K) @ np.abs(v))
    assert np.linalg.norm((system.stiffness - system.K_G) @ v) > 0.1 * size


def test_a_rod_of_plane_elements_behaves_as_the_beam() -> None:
    """Frequencies of a slider-crank's rod: plane stress against beam elements."""
    length, width, thickness = 0.4, 0.02, 0.01
    found = []
    for plane in (True, False):
        if plane:
            rod = sheet(
                20, 2, "q8", size=(length, width), thickness=thickness, clamped=None,
                origin=(0.0, -width / 2),
            )  # fmt: skip
            ends = ("x0", "x1")
        else:
            section = assembly.rectangle(width, thickness)
            rod = assembly.beam(length, section, assembly.steel, 20, planar=True)
            ends = ("start", "end")
        crank = assembly.rigid_body(0.5, 1e-3, planar=True)
        mechanism = assembly.Mechanism(
            {"crank": crank, "rod": rod, "slider": assembly.rigid_body(0.4, planar=True)},
            [
                assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
                assembly.revolute("crank", (0.1, 0), "rod", ends[0], name="B"),
                assembly.revolute("rod", ends[1], "slider", (0, 0), name="C"),
                assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
            ],
            [assembly.driver("A", 100.0)],
        )
        system = mechanism.freeze(0.013)
        K = system.stiffness.toarray()
        found.append(np.sqrt(eigh(0.5 * (K + K.T), system.M.toarray(), eigvals_only=True)[:3]))
    # Beam theory leaves out how an end face warps: a few thousandths in the stretching mode.
    assert_allclose(found[0], found[1], rtol=5e-3)


def test_a_set_on_one_line_shows_no_rotation_about_it() -> None:
    body = block(2, 1, 1, clamped=None)
    X = body.dofs.coordinates
    edge = np.flatnonzero((X[:, 0] == X[:, 0].min()) & (X[:, 1] == X[:, 1].min()))
    line = assembly.Body(body.dofs, body.families, body.fixed, name="b", sets={"edge": edge})
    joint = assembly.revolute("ground", (0, 0, 0), "b", "edge", name="hinge")
    with pytest.raises(assembly.MechanismError, match=r"hinge.*has no rotations"):
        assembly.Mechanism({"b": line}, [joint], [assembly.driver("hinge", 1.0)])
