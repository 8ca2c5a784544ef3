"""Placed and welded bodies: against the builders, other programs and an independent assembly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly
import modal
from assembly import gallery
from tests.support import space_frames

Array = NDArray[np.float64]

SECTION = assembly.rectangle(0.05, 0.02)
R = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()
ORIGIN = np.array([0.2, -0.1, 0.4])
OMEGA, EPSILON, ACCELERATION = (10.0, -40.0, 60.0), (100.0, 50.0, -30.0), (1.0, 2.0, 3.0)
PARTS = ("M", "C", "D", "K", "K_epsilon", "K_omega2", "K_G", "K_D")
CORNERS = {
    "A": (0.0, 0.0, 0.0), "B": (0.0, 0.0, 2.0), "C": (1.5, 0.0, 2.0), "D": (1.5, 0.0, 0.0),
    "E": (0.7, 0.8, 2.6),
}  # fmt: skip
BRACED = ("AB", "BC", "CD", "AC", "BE", "CE")


def member(name: str, section: assembly.Section, elements: int, **options: object) -> assembly.Body:
    start, end = (np.array(CORNERS[c]) for c in name)
    axes, length = space_frames.axes(start, end)
    body = assembly.beam(length, section, assembly.steel, elements, name=name, **options)  # type: ignore[arg-type]
    return body.placed(start, axes)


def assert_same(found: assembly.FrozenSystem, expected: assembly.FrozenSystem, rtol: float) -> None:
    for name in PARTS:
        a, b = getattr(found, name).toarray(), getattr(expected, name).toarray()
        assert_allclose(a, b, rtol=0, atol=rtol * max(np.abs(b).max(), 1e-300), err_msg=name)
    assert_allclose(found.Q, expected.Q, atol=1e-11 * max(np.abs(expected.Q).max(), 1e-300))


def rotated(elements: int = 6, **options: object) -> assembly.Body:
    """The beam that the builder lays out at ORIGIN along R."""
    return assembly.beam(
        1.0, SECTION, assembly.steel, elements, start=ORIGIN, direction=R[:, 0],
        section_y=R[:, 1], **options,
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize("prestress", ["linear", "nonlinear"])
def test_a_placed_beam_is_the_beam_built_there(prestress: str) -> None:
    body = assembly.beam(1.0, SECTION, assembly.steel, 6, clamped="start")
    motion = (OMEGA, EPSILON, ACCELERATION)
    found = body.placed(ORIGIN, R).freeze(*motion, prestress=prestress)
    assert_same(found, rotated(clamped="start").freeze(*motion, prestress=prestress), 1e-10)


def test_what_is_attached_goes_along() -> None:
    """A lumped mass with offset, a spring to the frame, a damper to the surroundings, damping."""

    def dressed(body: assembly.Body, turn: Array) -> assembly.Body:
        inertia = turn @ np.diag([0.02, 0.03, 0.04]) @ turn.T
        spring = turn @ np.diag([1e4, 2e4, 3e4]) @ turn.T
        body = assembly.attach_mass(body, "end", 2.0, inertia, turn @ (0.1, 0.05, -0.02))
        body = assembly.attach_spring(body, 3, stiffness=0.5 * (spring + spring.T))
        body = assembly.attach_damper(body, "end", 7.0)
        return body.with_damping(a=2.0, b=1e-4)

    body = dressed(assembly.beam(1.0, SECTION, assembly.steel, 6, clamped="start"), np.eye(3))
    expected = dressed(rotated(clamped="start"), R)
    motion = (OMEGA, EPSILON, ACCELERATION)
    assert_same(body.placed(ORIGIN, R).freeze(*motion), expected.freeze(*motion), 1e-10)


def test_a_placed_solid_is_the_solid_meshed_there() -> None:
    points = gallery.block_mesh(3, 1, 1, "hex20", (0.4, 0.06, 0.04))
    moved = gallery.block_mesh(3, 1, 1, "hex20", (0.4, 0.06, 0.04))
    moved.points = ORIGIN + moved.points @ R.T
    found = assembly.solid(points, assembly.steel, clamped="x0").placed(ORIGIN, R)
    expected = assembly.solid(moved, assembly.steel, clamped="x0")
    motion = (OMEGA, EPSILON, ACCELERATION)
    assert_same(found.freeze(*motion), expected.freeze(*motion), 1e-9)


def test_two_halves_are_one_beam() -> None:
    half = assembly.beam(0.5, SECTION, assembly.steel, 3)
    frame = assembly.weld(
        [half.placed(ORIGIN, R), half.placed(ORIGIN + 0.5 * R[:, 0], R)], clamped="beam.start"
    )
    motion = (OMEGA, EPSILON, ACCELERATION)
    assert_same(frame.freeze(*motion), rotated(clamped="start").freeze(*motion), 1e-10)
    assert frame.freeze(OMEGA).is_conservative
    assert list(frame.sets["beam 2.end"]) == [6]
    by_point = assembly.weld([half], clamped=[(0.0, 0.0, 0.0)])
    assert np.array_equal(by_point.fixed, assembly.weld([half], clamped="start").fixed)


def test_members_keep_their_damping() -> None:
    """Rayleigh damping of one half: D = a M + b K of that half alone."""
    half = assembly.beam(0.5, SECTION, assembly.steel, 3, name="half")
    damped = half.with_damping(a=3.0, b=2e-4)
    frame = assembly.weld([half, damped.placed((0.5, 0, 0))]).freeze()
    alone = damped.freeze().D.toarray()
    expected = np.zeros((frame.n, frame.n))
    expected[18:, 18:] = alone
    assert_allclose(frame.D.toarray(), expected, atol=1e-9 * np.abs(alone).max())


def test_a_braced_frame_is_that_of_one_mesh() -> None:
    """Six members in space, two of another section: direct stiffness with textbook matrices."""
    thin = assembly.rectangle(0.03, 0.02)
    bars = {}
    for name, section in (("thick", SECTION), ("thin", thin)):
        s, m = section, assembly.steel
        bars[name] = space_frames.Bar(m.E, m.G, m.rho, s.A, s.J, s.Iy, s.Iz)
    kinds = {name: "thin" if name in ("AC", "BE") else "thick" for name in BRACED}
    expected = space_frames.frequencies(
        {c: np.array(x) for c, x in CORNERS.items()},
        [(*name, bars[kinds[name]]) for name in BRACED],
        clamped="AD",
        elements=4,
    )
    simple = dict(theory="euler-bernoulli", rotary_inertia=False)
    frame = assembly.weld(
        [member(n, thin if kinds[n] == "thin" else SECTION, 4, **simple) for n in BRACED],
        clamped=["AB.start", "CD.end"],
    )
    modes = modal.solve(frame.freeze(), k=10)
    assert_allclose(modes.eigenvalues.imag / (2.0 * np.pi), expected[:10], rtol=1e-9)


def test_a_plane_braced_frame_in_calculix() -> None:
    """Hz, CalculiX 2.20: a portal with one diagonal, 12 × 8 mm, 60 elements B32R a member.

    CalculiX expands its beams to bricks with rigid corners as large as the section, so that its
    frequencies are the higher ones.
    """
    published = [5.769687, 8.315737, 9.570962, 14.37425, 18.03559, 26.01143, 27.72665, 35.07687]
    parts = []
    for name in BRACED[:4]:
        start, end = (np.array(CORNERS[c])[[0, 2]] for c in name)
        along = end - start
        beam = assembly.beam(
            float(np.linalg.norm(along)), assembly.rectangle(0.008, 0.012), assembly.steel, 8,
            planar=True, name=name,
        )  # fmt: skip
        parts.append(beam.placed(start, float(np.arctan2(along[1], along[0]))))
    frame = assembly.weld(parts, clamped=["AB.start", "CD.end"])
    found = modal.solve(frame.freeze(), k=8).eigenvalues.imag / (2.0 * np.pi)
    assert_allclose(found, published, rtol=3.5e-3)
    assert (found < published).all()


def test_a_turning_triangle_keeps_its_rigid_rotation() -> None:
    """(K + K(ε) + K(ω²) + K_G) v = 0 for the rotation about the pinned corner: P5 of a loop."""
    side = assembly.beam(1.0, SECTION, assembly.steel, 4, planar=True)
    corners = [(0, 0), (1, 0), (0.5, 0.75**0.5)]
    triangle = assembly.weld(
        [side.placed(r, 2.0 * k * np.pi / 3.0) for k, r in enumerate(corners)], name="triangle"
    )
    model = assembly.Mechanism(
        {"triangle": triangle},
        [assembly.revolute("ground", (0, 0), "triangle", (0, 0), name="A")],
        [assembly.driver("A", assembly.Uniform(30.0, acceleration=200.0), held=False)],
    )
    system = model.freeze(0.1)
    left = system.stiffness @ system.rigid
    assert system.rigid.shape[1] == 1
    assert np.abs(left).max() < 1e-9 * abs(system.K_G).max()


def test_a_member_of_a_mechanism() -> None:
    """A kinked rod, welded of two beams, is the two beams on a fixed joint."""
    half = assembly.beam(0.3, SECTION, assembly.steel, 3)
    bend = Rotation.from_rotvec([0.0, 0.4, 0.3]).as_matrix()
    kinked = assembly.weld([half, half.placed((0.3, 0, 0), bend)], name="kinked")
    joint = assembly.revolute("ground", (0, 0, 0), "a", (0, 0, 0), name="A")
    drive = assembly.driver("A", 60.0)
    one = assembly.Mechanism({"a": kinked}, [joint], [drive])
    axis = Rotation.from_matrix(bend).as_rotvec()
    weld = assembly.fixed(
        "a", "end", "b", "start", turned=np.linalg.norm(axis), axis=axis, name="B"
    )
    two = assembly.Mechanism({"a": half, "b": half}, [joint, weld], [drive])
    found, expected = (modal.solve(m.freeze(0.02), k=5).eigenvalues for m in (one, two))
    assert_allclose(found, expected, rtol=1e-9)


def beam(name: str = "beam", **options: object) -> assembly.Body:
    return assembly.beam(1.0, SECTION, assembly.steel, 2, name=name, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "clamped", "complaint"),
    [
        ([], None, "at least one member"),
        ([beam(clamped="start")], None, "is clamped or pinned"),
        ([beam(), beam("other").placed((0, 3, 0))], None, "'other' shares no node"),
        ([beam(), beam("flat", planar=True)], None, "'flat': all are planar"),
        ([beam(), beam().placed((1, 0, 0))], "start", "name beam.start, beam 2.start"),
        ([beam(), beam().placed((1, 0, 0))], "root", "no set 'root'; sets are beam.start"),
        ([beam(), beam().placed((1, 0, 0))], 7, "nodes are 0 to 4"),
        ([beam()], [(0.4, 0, 0)], "no node at"),
        ([beam()], [(0.4,)], "two or three coordinates"),
    ],
)
def test_members_that_cannot_be_welded(
    members: list[assembly.Body], clamped: object, complaint: str
) -> None:
    with pytest.raises(assembly.InputError, match=complaint):
        assembly.weld(members, clamped=clamped)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "r", "turn", "complaint"),
    [
        ({}, (0, 0, 0), 2.0 * np.eye(3), "must be a rotation"),
        ({}, (0, 0, 0), np.diag([1.0, 1.0, -1.0]), "must be a rotation"),
        ({}, (0, 0, 0), [1, 2], "expected a rotation"),
        (dict(planar=True), (0, 0, 1), None, "must stay in the x-y plane"),
        (dict(planar=True), (0, 0, 0), R, "must stay in the x-y plane"),
        (dict(pinned="start", pin_axis="z"), (0, 0, 0), R, "held in some directions only"),
    ],
)
def test_places_that_cannot_be(
    options: dict[str, object], r: tuple[float, ...], turn: object, complaint: str
) -> None:
    with pytest.raises(assembly.InputError, match=complaint):
        beam(**options).placed(r, turn)  # type: ignore[arg-type]
