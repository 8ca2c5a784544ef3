"""Bushings against closed forms, and against the fixed joints that they become when stiff."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
import modal
from assembly import gallery
from assembly.kinematics import skew

Array = NDArray[np.float64]

SWING = assembly.Harmonic(0.2, 7.0)
SECTION = assembly.rectangle(0.03, 0.02)


def link(length: float = 0.6, elements: int = 4, planar: bool = False) -> assembly.Body:
    return assembly.beam(length, SECTION, assembly.steel, elements, planar=planar)


def frequencies(system: assembly.FrozenSystem, k: int) -> Array:
    return np.asarray(modal.solve(system, k=k).eigenvalues.imag)


def test_an_engine_on_four_mounts() -> None:
    """K = Σ Gᵀ k G with G = [1, −ã] at the mounts, M about the centre of mass."""
    mass, inertia, centre = 120.0, np.diag([4.0, 6.0, 5.0]), np.array([0.05, 0.02, 0.3])
    corners = [(x, y, 0.1) for x in (-0.4, 0.5) for y in (-0.25, 0.3)]
    k = np.diag([4e5, 3e5, 6e5, 0.0, 0.0, 0.0])
    engine = assembly.rigid_body(mass, inertia, centre=centre)
    model = assembly.Mechanism(
        {"engine": engine},
        [],
        [],
        bushings=[
            assembly.bushing("ground", p, "engine", p, stiffness=k, name=f"mount {i}")
            for i, p in enumerate(corners)
        ],
    )
    K = np.zeros((6, 6))
    for p in corners:
        G = np.hstack([np.eye(3), -skew(p)])
        K += G.T @ k[:3, :3] @ G
    to_centre = np.hstack([np.eye(3), -skew(centre)])
    M = mass * to_centre.T @ to_centre
    M[3:, 3:] += inertia
    expected = np.sqrt(la.eigh(K, M, eigvals_only=True))
    assert_allclose(frequencies(model.freeze(0.0), 6), expected, rtol=1e-10)
    assert "bushing mount 0: ground – engine" in str(model)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_a_mass_on_a_turning_bushing(damping: float) -> None:
    """m (z̈ + 2iΩ ż − Ω² z) + c ż + k z = 0 in the turning frame (Genta, Dynamics of Rotating
    Systems, 2005): internal damping, unstable above the critical speed."""
    mass, k, spin = 2.0, 800.0, 30.0  # critical speed 20 rad/s
    model = assembly.Mechanism(
        {
            "hub": assembly.rigid_body(1.0, 0.1, planar=True),
            "disc": assembly.rigid_body(mass, 1.0, planar=True),
        },
        [assembly.revolute("ground", (0, 0), "hub", "origin", name="shaft")],
        [assembly.driver("shaft", spin)],
        bushings=[
            assembly.bushing(
                "hub", (0, 0), "disc", (0, 0), stiffness=(k, k, 5e4),
                damping=(damping, damping, 0.0), name="spider",
            )
        ],
    )  # fmt: skip
    roots = np.roots([mass, 2j * spin * mass + damping, k - mass * spin**2])
    expected = np.concatenate([roots, roots.conj(), [1j * np.sqrt(5e4), -1j * np.sqrt(5e4)]])
    system = model.freeze(0.03)
    K, C, M = (A.toarray() for A in (system.stiffness, system.damping, system.M))
    state = np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -C]])
    found = la.eigvals(state, la.block_diag(np.eye(3), M))
    found, expected = (x[np.argsort(x.imag)] for x in (found, expected))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert (expected.real.max() > 1e-3) == (damping > 0.0)
    assert modal.stability(system).verdict == ("flutter" if damping else "stable")


def crank_and_rod(stiffness: float | None, kind: str) -> assembly.Mechanism:
    """A driven crank whose rod is fixed to it at an angle, by a joint or by a stiff bushing."""
    planar = kind == "plane"
    if planar:
        bodies = {"crank": gallery_plane(), "rod": gallery_plane()}
        ends, size = ("x1", "x0"), 3
    elif kind == "solid":
        bodies = {"crank": gallery_solid(), "rod": gallery_solid()}
        ends, size = ("x1", "x0"), 6
    else:
        bodies, ends, size = {"crank": link(), "rod": link()}, ("end", "start"), 6
    root = ends[1]
    points = ("crank", ends[0], "rod", ends[1])
    joints = [assembly.revolute("ground", (0, 0, 0), "crank", root, name="A")]
    bushings = []
    if stiffness is None:
        joints.append(assembly.fixed(*points, turned=0.7, name="B"))
    else:
        k = stiffness * np.eye(size)
        bushings.append(assembly.bushing(*points, stiffness=k, turned=0.7, name="B"))
    return assembly.Mechanism(bodies, joints, [assembly.driver("A", 40.0)], bushings=bushings)


def gallery_plane() -> assembly.Body:
    mesh = gallery.sheet_mesh(4, 2, "q8", (0.4, 0.05))
    return assembly.plane(mesh, assembly.steel, thickness=0.02)


def gallery_solid() -> assembly.Body:
    mesh = gallery.block_mesh(3, 1, 1, "hex20", (0.4, 0.05, 0.04), (0.0, -0.025, -0.02))
    return assembly.solid(mesh, assembly.steel)


@pytest.mark.parametrize("kind", ["beam", "plane", "solid"])
def test_a_stiff_bushing_is_a_fixed_joint(kind: str) -> None:
    """With k → ∞ the modes tend to those of the joint as 1/k, the centrifugal stress included."""
    expected = frequencies(crank_and_rod(None, kind).freeze(0.01), 3)
    errors = []
    for stiffness in (1e11, 1e12):
        found = frequencies(crank_and_rod(stiffness, kind).freeze(0.01), 3)
        errors.append(np.abs(found / expected - 1.0).max())
    assert errors[1] < 1e-4
    assert errors[1] < 0.2 * errors[0]


def test_reactions_are_those_of_the_fixed_joint() -> None:
    stiff, rigid = (crank_and_rod(k, "beam").reactions(0.02)["B"] for k in (1e7, None))
    assert_allclose(stiff.force, rigid.force, rtol=1e-10, atol=1e-9)
    assert_allclose(stiff.moment, rigid.moment, rtol=1e-9, atol=1e-9)


def turning(**options: object) -> assembly.Mechanism:
    """A rotor that a driver turns, with a bushing between it and the ground."""
    held, law = bool(options.pop("held", True)), options.pop("law", 25.0)
    return assembly.Mechanism(
        {"rotor": assembly.rigid_body(3.0, 0.2, planar=True)},
        [assembly.revolute("ground", (0, 0), "rotor", "origin", name="A")],
        [assembly.driver("A", law, held=held)],  # type: ignore[arg-type]
        bushings=[assembly.bushing("ground", (0, 0), "rotor", "origin", name="B", **options)],  # type: ignore[arg-type]
    )


def test_the_drive_supplies_what_a_bushing_takes() -> None:
    """Friction torque c Ω, at any angle of rotation."""
    model = turning(stiffness=np.zeros(3), damping=(0.0, 0.0, 0.8))
    for t in (0.01, 0.2, 3.0):
        assert_allclose(model.driving(t)["A"], 0.8 * 25.0, rtol=1e-12)


def test_a_spring_beyond_half_a_turn_is_refused() -> None:
    model = turning(stiffness=(0.0, 0.0, 10.0))
    assert_allclose(model.driving(0.04)["A"], 10.0 * 25.0 * 0.04, rtol=1e-12)
    with pytest.raises(assembly.MechanismError, match=r"B is turned by 3.07 rad at t = 0.12"):
        model.driving(0.1229)


def test_a_motion_that_a_bushing_resists_is_not_rigid() -> None:
    """What no stiffness at all resists is rigid: a free drive, but not with a spring beside it."""
    free = turning(stiffness=np.zeros(3), damping=(0.0, 0.0, 1.0), held=False)
    assert free.freeze(0.01).rigid.shape == (1, 1)
    sprung = turning(stiffness=(0.0, 0.0, 50.0), held=False, law=SWING)
    system = sprung.freeze(0.0)
    assert system.rigid.shape == (1, 0)
    assert_allclose(frequencies(system, 1), [np.sqrt(50.0 / 0.2)], rtol=1e-12)


def test_deflection_under_weight_and_preload() -> None:
    """k x + preload = weight, for each direction."""
    k = np.array([2e4, 3e4, 4e4, 900.0, 800.0, 700.0])
    preload = np.array([5.0, -3.0, 20.0, 0.0, 0.0, 0.0])
    model = assembly.Mechanism(
        {"box": assembly.rigid_body(7.0, 0.2)},
        [],
        [],
        bushings=[
            assembly.bushing(
                "ground", (0.2, 0, 0), "box", (0, 0, 0), stiffness=k, preload=preload, name="seat"
            )
        ],
        initial={"box": (0.2, 0, 0, 0, 0, 0)},
        gravity=(0, 0, -10.0),
    )
    weight = np.array([0.0, 0.0, -70.0, 0.0, 0.0, 0.0])
    found = model.deflections(0.0)["seat"]
    assert_allclose(k * found, weight - preload, rtol=1e-12, atol=1e-12)
    assert_allclose(model.reactions(0.0)["seat"].force, [0, 0, 70.0], atol=1e-10)


def test_stiffness_over_time() -> None:
    model = turning(stiffness=lambda t: (0.0, 0.0, 5.0 + t), held=False, law=SWING)
    assert_allclose([model.freeze(t).K[0, 0] for t in (0.0, 0.02)], [5.0, 5.02], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (dict(stiffness=np.eye(6)), r"in the plane \(x, y, rotation\)"),
        (dict(stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "finite and symmetric"),
        (dict(stiffness=(1.0, -1.0, 0.0)), "must not be negative"),
        (dict(stiffness=(1.0, np.nan, 0.0)), "finite and symmetric"),
        (dict(stiffness=np.ones(3), damping=(0, 0, -1.0)), "damping: must not be negative"),
        (dict(stiffness=np.ones(3), preload=(1.0, 2.0)), "preload needs 3 finite numbers"),
        (dict(stiffness=np.ones(3), turned=np.inf), "angle must be finite"),
    ],
)
def test_bushings_that_cannot_be(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(assembly.MechanismError, match=complaint):
        turning(**options)


def test_names_that_are_not_there() -> None:
    def seat(body: str) -> assembly.Bushing:
        return assembly.bushing("ground", (0, 0, 0), body, 0, stiffness=np.ones(6), name="seat")

    box = {"box": assembly.rigid_body(1.0, 1.0)}
    with pytest.raises(assembly.MechanismError, match="bushing seat: no body 'bax'"):
        assembly.Mechanism(box, [], [], bushings=[seat("bax")])
    with pytest.raises(assembly.MechanismError, match="driver: no joint 'seat'; joints are none"):
        assembly.Mechanism(box, [], [assembly.driver("seat", 1.0)], bushings=[seat("box")])
    with pytest.raises(assembly.MechanismError, match="connects 'box' to itself"):
        assembly.bushing("box", 0, "box", 0, stiffness=np.ones(6))
