"""Mechanisms with large elastic links: closed and open, planar and in space, soft joints, loads,
damping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import assembly
from assembly.bodies.body import Body
from assembly.gallery import block, four_bar, sheet, solid_slider_crank
from assembly.mechanisms.mechanism import Mechanism

STEEL = assembly.steel


@dataclass(frozen=True)
class Mesh:
    """How finely the links are meshed."""

    beam: int  # elements of a beam
    bar: int  # hex20 cells along a solid bar
    bricks: int  # hex8 cells along one
    tetrahedra: int  # bricks of tet10 cells along one
    sheet: tuple[int, int]  # q8 cells of a plane bar


FINE = Mesh(beam=70, bar=6, bricks=24, tetrahedra=8, sheet=(20, 2))
# With `LARGE_BODY` lowered to 40: for tests, and for whole monodromies in full order.
COARSE = Mesh(beam=14, bar=2, bricks=6, tetrahedra=2, sheet=(5, 1))
SPEED = 180.0  # rad/s of planar cranks: a turn of few vibrations, for whole monodromies


def strip(length: float, mesh: Mesh, planar: bool = True) -> Body:
    """A beam."""
    return assembly.beam(length, assembly.rectangle(0.02, 0.01), STEEL, mesh.beam, planar=planar)


def bar(length: float, cells: int, element: str = "hex20") -> Body:
    """A solid bar along x from the origin."""
    size, origin = (length, 0.02, 0.02), (0.0, -0.01, -0.01)
    return block(cells, 1, 1, element, size, origin, STEEL, clamped=None)


def planar_slider(
    rod: Body, ends: tuple[Any, Any], crank: Body | None = None, **more: Any
) -> Mechanism:
    """A slider-crank in the plane with a crank of 0.1 m, rigid by default."""
    rigid = assembly.rigid_body(0.3, 3e-4, centre=(0.05, 0, 0), planar=True)
    first, last = ((0, 0), (0.1, 0)) if crank is None else ("start", "end")
    return Mechanism(
        {
            "crank": rigid if crank is None else crank,
            "rod": rod,
            "slider": assembly.rigid_body(0.4, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", first, name="A"),
            assembly.revolute("crank", last, "rod", ends[0], name="B"),
            assembly.revolute("rod", ends[1], "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", SPEED)],
        initial={"rod": (0.1, 0, 0), "slider": (0.4, 0, 0)},
        **more,
    )


def plane_rod(mesh: Mesh) -> Mechanism:
    rod = sheet(*mesh.sheet, "q8", (0.3, 0.02), (0.0, -0.01), STEEL, clamped=None)
    return planar_slider(rod, ("x0", "x1"))


def loaded_beam(mesh: Mesh) -> Mechanism:
    rod = strip(0.3, mesh).with_damping(a=2.0, b=1e-6)
    pull = assembly.Load("rod", mesh.beam // 2, lambda t: (0.0, 20.0 * np.cos(SPEED * t)))
    push = assembly.Load("rod", 5 * mesh.beam // 7, (5.0, 0.0), follower=True)
    return planar_slider(rod, ("start", "end"), loads=[pull, push], gravity=(0, -9.81, 0))


def elastic_crank(mesh: Mesh) -> Mechanism:
    """A crank too small for a basis of its own, with damping in proportion to its stiffness."""
    section = assembly.rectangle(0.03, 0.02)
    crank = assembly.beam(0.1, section, STEEL, 2, planar=True).with_damping(b=4e-6)
    return planar_slider(strip(0.3, mesh).with_damping(b=4e-6), ("start", "end"), crank)


def two_solids(mesh: Mesh) -> Mechanism:
    return Mechanism(
        {
            "crank": bar(0.1, min(4, mesh.bar)),
            "rod": bar(0.3, mesh.bar),
            "slider": assembly.rigid_body(0.5, (1e-4,) * 3),
        },
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "x0", axis=(0, 0, 1), name="A"),
            assembly.universal(
                "crank", "x1", "rod", "x0", axis=(0, 0, 1), axis_second=(0, 1, 0), name="B"
            ),
            assembly.spherical("rod", "x1", "slider", (0, 0, 0), name="C"),
            assembly.prismatic("ground", (0, 0, 0), "slider", (0, 0, 0), axis=(1, 0, 0), name="D"),
        ],
        [assembly.driver("A", 120.0)],
        initial={"rod": (0.1, 0, 0, 0, 0, 0), "slider": (0.4, 0, 0, 0, 0, 0)},
    )


def arm(mesh: Mesh, **more: Any) -> Mechanism:
    """An open arm of two solid links."""
    return Mechanism(
        {"upper": bar(0.4, mesh.bar), "lower": bar(0.3, mesh.bricks, "hex8")},
        [
            assembly.revolute("ground", (0, 0, 0), "upper", "x0", axis=(0, 0, 1), name="A"),
            assembly.revolute("upper", "x1", "lower", "x0", axis=(0, 1, 0), name="B"),
        ],
        [assembly.driver("A", 30.0, **more), assembly.driver("B", 30.0)],
        initial={"lower": (0.4, 0, 0, 0, 0, 0)},
        gravity=(0, 0, -9.81),
    )


def elastic_drive(mesh: Mesh) -> Mechanism:
    return arm(mesh, stiffness=5e4, damping=5.0)


def chain(mesh: Mesh) -> Mechanism:
    """An open chain of four driven beams in the plane."""
    names = ["one", "two", "three", "four"]
    joints = [assembly.revolute("ground", (0, 0), "one", "start", name="A0")]
    joints += [
        assembly.revolute(a, "end", b, "start", name=f"A{k + 1}")
        for k, (a, b) in enumerate(pairwise(names))
    ]
    return Mechanism(
        {name: strip(0.2, mesh) for name in names},
        joints,
        [assembly.driver(f"A{k}", 60.0 * (-1) ** k) for k in range(4)],
        initial={name: (0.2 * k, 0, 0) for k, name in enumerate(names)},
    )


def rotating_beam(mesh: Mesh) -> Mechanism:
    return Mechanism(
        {"beam": strip(0.5, mesh, planar=False)},
        [assembly.revolute("ground", (0, 0, 0), "beam", "start", axis=(0, 0, 1), name="A")],
        [assembly.driver("A", 80.0)],
        gravity=(0, 0, -9.81),
    )


def bushed(mesh: Mesh) -> Mechanism:
    """A solid bar that a rigid hub carries on a bushing."""
    k6 = np.diag([4e6, 3e6, 3e6, 2e3, 3e3, 3e3])
    return Mechanism(
        {"hub": assembly.rigid_body(0.5, (2e-3,) * 3), "bar": bar(0.3, mesh.bar)},
        [assembly.revolute("ground", (0, 0, 0), "hub", (0, 0, 0), axis=(0, 0, 1), name="A")],
        [assembly.driver("A", 100.0)],
        bushings=[
            assembly.bushing(
                "hub", (0.05, 0, 0), "bar", "x0", stiffness=k6, damping=1e-5 * k6, name="mount"
            )
        ],
        initial={"bar": (0.05, 0, 0, 0, 0, 0)},
    )


def driven_arm(mesh: Mesh) -> Mechanism:
    """A solid arm on an elastic drive that swings a tool on a bushing."""
    size, origin = (0.6, 0.05, 0.04), (0.0, -0.025, -0.02)
    cells = (8, 2, 2) if mesh is FINE else (mesh.bar, 1, 1)
    return Mechanism(
        {
            "arm": block(*cells, "hex20", size, origin, STEEL, clamped=None),
            "tool": assembly.rigid_body(6.0, 0.02, centre=(0.05, 0.02, 0)),
        },
        [assembly.revolute("ground", (0, 0, 0), "arm", "x0", axis=(0, 0, 1), name="A")],
        [assembly.driver("A", assembly.Harmonic(0.5, 8.0), stiffness=3e4, damping=12.0)],
        bushings=[
            assembly.bushing(
                "arm",
                "x1",
                "tool",
                (0, 0, 0),
                stiffness=(2e7, 8e6, 8e6, 2e4, 3e4, 3e4),
                damping=(100, 50, 50, 0.5, 0.5, 0.5),
                name="mount",
            )
        ],
        gravity=(0, -9.81, 0),
    )


def solid_rod(mesh: Mesh) -> Mechanism:
    return solid_slider_crank((mesh.bar, 1, 1))(157.0)


def damped_solid_rod(mesh: Mesh) -> Mechanism:
    cells = (20, 2, 2) if mesh is FINE else (mesh.bricks, 1, 1)
    return solid_slider_crank(cells, "hex8", (5.0, 1e-6))(157.0)


def tetrahedra(mesh: Mesh) -> Mechanism:
    return solid_slider_crank((mesh.tetrahedra, 1, 1), "tet10")(157.0)


MACHINES: dict[str, Callable[[Mesh], Mechanism]] = {
    "solid rod": solid_rod,
    "damped solid rod": damped_solid_rod,
    "two solids": two_solids,
    "plane rod": plane_rod,
    "loaded beam": loaded_beam,
    "elastic crank": elastic_crank,
    "four-bar": lambda mesh: four_bar(lambda length: strip(length, mesh)),
    "arm": arm,
    "arm, elastic drive": elastic_drive,
    "chain": chain,
    "rotating beam": rotating_beam,
    "bushing": bushed,
    "drive and bushing": driven_arm,
    "tetrahedra": tetrahedra,
}
