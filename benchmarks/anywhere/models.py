"""Bodies drawn at random: beams, sheets, blocks and plates, rings, frames, rotors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator

import assembly
from assembly import gallery

PARTS = ("M", "C", "D", "K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
MATERIALS = (assembly.steel, assembly.aluminium, assembly.titanium)
SUPPORTS = ("clamped", "free", "soft springs", "stiff springs")
DAMPINGS = (
    *("undamped", "light damping", "heavy damping", "a damper inside", "a damper outside"),
    "negative damping at a node",
)
# Degrees of freedom a node; nodes a cell of solids and sheets, far from the boundary.
NODES = {"hex8": 1.0, "hex20": 4.0, "tet4": 1.0, "tet10": 8.0, "q4": 1.0, "q8": 3.0, "t6": 4.0}


def spread(rng: Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def pick(rng: Generator, *choices: Any, p: tuple[float, ...] | None = None) -> Any:
    """One of the choices, of equal probability unless p is given."""
    return choices[int(rng.choice(len(choices), p=p))]


@dataclass(frozen=True)
class Extra:
    """A model with another damping matrix (n, n) in addition, which may be negative."""

    model: Any
    node: int
    damping: float

    def freeze(self, *values: Any, **parameters: Any) -> assembly.FrozenSystem:
        """The frozen system with the damper at a node."""
        system: assembly.FrozenSystem = self.model.freeze(*values, **parameters)
        dofs = system.dofs
        assert dofs is not None
        at = (dofs.node == self.node) & (dofs.component < 3)
        D = sp.diags(np.where(at, self.damping, 0.0), format="csr")
        return system.only(*PARTS, D=system.D + D)


@dataclass(frozen=True)
class Model:
    """A body that was drawn.

    frequency: rough lowest bending frequency, rad/s; axis: about which it turns, through the
    clamp or the centre of mass; tip: a node; clamped: at all, or a shaft in bearings.
    """

    body: Any
    words: str
    frequency: float
    mass: float
    axis: tuple[float, float, float]
    tip: int
    clamped: bool

    @property
    def is_rotor(self) -> bool:
        """Whether it is described in a frame that does not turn."""
        return isinstance(self.body, assembly.Rotor)

    @cached_property
    def dofs(self) -> int:
        """Number of degrees of freedom."""
        return len(self.body.free)


def draw_body(rng: Generator, dofs: int, kinds: tuple[str, ...] = (), damped: bool = True) -> Model:
    """A body of about so many degrees of freedom, supported and damped in some way."""
    kind = pick(rng, *(kinds or _kinds(dofs)))
    support = pick(rng, *SUPPORTS)
    model = BUILDERS[kind](rng, dofs, support == "clamped")
    if kind == "rotor":
        return model
    if not model.clamped:
        support = "free" if support == "clamped" else support
        model = _sprung(rng, model, support)
    # A free body vibrates at a multiple of the clamped one's frequency.
    model = replace(model, frequency=model.frequency * (1.0 if model.clamped else 6.0))
    words = f"{model.words}, {support}"
    return _damped(rng, replace(model, words=words)) if damped else replace(model, words=words)


def _kinds(dofs: int) -> tuple[str, ...]:
    lines = ("beam", "beam", "frame", "rotor", "ring")
    if dofs < 60:
        return (*lines, "sheet")
    return (*(lines if dofs < 6000 else ("beam",)), "sheet", "block", "block", "plate")


def beam_body(rng: Generator, dofs: int, clamped: bool, planar: bool | None = None) -> Model:
    """A slender or thick beam."""
    planar = bool(rng.random() < 0.25) if planar is None else planar
    elements = max(2, dofs // (3 if planar else 6))
    length, slenderness = spread(rng, 0.1, 5.0), spread(rng, 5.0, 200.0)
    section, height = draw_section(rng, length / slenderness)
    material = pick(rng, *MATERIALS)
    clamp: Literal["start"] | None = "start" if clamped else None
    start = (0.0 if clamped else -0.5 * length, 0.0, 0.0)
    body = assembly.beam(
        length, section, material, elements, clamped=clamp, planar=planar, start=start
    )
    words = f"beam of {elements} elements, length/height {slenderness:.0f}"
    axis = (0.0, 0.0, 1.0) if planar else pick(rng, (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    mass = material.rho * section.A * length
    return Model(
        body, words + (", plane" if planar else ""), bending(material, height, length), mass,
        axis, elements, clamped,
    )  # fmt: skip


def draw_section(rng: Generator, height: float) -> tuple[assembly.Section, float]:
    """A section and its least height, m."""
    kind = pick(rng, "rectangle", "circle", "tube")
    if kind == "rectangle":
        return assembly.rectangle(height, spread(rng, 1.0, 4.0) * height), height
    if kind == "circle":
        return assembly.circle(height), height
    return assembly.tube(height, 0.8 * height), height


def bending(material: assembly.Material, height: float, length: float) -> float:
    """Lowest bending frequency, rad/s, of a clamped strip."""
    return float(3.5 * np.sqrt(material.E / (12.0 * material.rho)) * height / length**2)


def sheet_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A plane body, slender to square."""
    element, aspect = pick(rng, "q4", "q8", "t6"), spread(rng, 1.0, 60.0)
    cells = dofs / (2.0 * NODES[element])
    ny = max(1, round(np.sqrt(cells / min(aspect, 12.0))))
    nx = max(2, round(cells / (ny + 0.5)))
    length = spread(rng, 0.1, 3.0)
    size = (length, length / aspect)
    material, thickness = pick(rng, *MATERIALS), 0.02 * length
    body = gallery.sheet(
        nx, ny, element, size, origin=_first_corner(size, clamped), material=material,
        clamped="x0" if clamped else None, thickness=thickness,
    )  # fmt: skip
    words = f"sheet {element} of {nx} × {ny} cells, length/height {aspect:.0f}"
    mass = material.rho * size[0] * size[1] * thickness
    return Model(
        body, words, bending(material, size[1], length), mass, (0.0, 0.0, 1.0), far_node(body),
        clamped,
    )  # fmt: skip


def block_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A solid rod or block."""
    aspect = spread(rng, 1.0, 20.0)
    return _solid(rng, dofs, clamped, (1.0, 1.0 / aspect, spread(rng, 0.5, 1.0) / aspect))


def _first_corner(size: Any, clamped: bool) -> Any:
    """The clamp at the axis, or the centre of mass."""
    return tuple(0.0 if clamped else -0.5 * s for s in size)


def plate_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A solid plate, one or two cells thick."""
    thin = spread(rng, 0.01, 0.1)
    return _solid(rng, dofs, clamped, (1.0, spread(rng, 0.4, 1.0), thin), layers=True)


def _solid(
    rng: Generator, dofs: int, clamped: bool, shape: tuple[float, float, float],
    layers: bool = False,
) -> Model:  # fmt: skip
    element = pick(rng, "hex8", "hex20", "tet4", "tet10") if dofs > 300 else "hex8"
    length = spread(rng, 0.1, 2.0)
    size = (length, length * shape[1], length * shape[2])
    cells = dofs / (3.0 * NODES[element])
    nz = int(rng.integers(1, 3)) if layers else max(1, round((cells / shape[0]) ** (1 / 3) * 0.5))
    # Nodes a layer: one more than the cells of it.
    plane = max(2.0, cells / (nz + 0.5))
    ny = max(1, round(np.sqrt(plane * max(shape[1], 0.1))))
    nx = max(2, round(plane / (ny + 0.5)))
    material = pick(rng, *MATERIALS)
    body = gallery.block(
        nx, ny, nz, element, size, origin=_first_corner(size, clamped), material=material,
        clamped="x0" if clamped else None,
    )  # fmt: skip
    words = f"{'plate' if layers else 'block'} {element} of {nx} × {ny} × {nz} cells"
    height = min(size)
    axis = pick(rng, (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    return Model(
        body, words, bending(material, height, length), material.rho * float(np.prod(size)), axis,
        far_node(body), clamped,
    )  # fmt: skip


def ring_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A circular ring; it is never clamped."""
    elements, radius = max(4, dofs // 6), spread(rng, 0.1, 1.0)
    section, height = draw_section(rng, radius / spread(rng, 8.0, 60.0))
    material = pick(rng, *MATERIALS)
    body = assembly.ring(radius, section, material, elements)
    mass = material.rho * section.A * 2.0 * np.pi * radius
    frequency = 0.2 * bending(material, height, radius)
    axis = (0.0, 0.0, 1.0)
    return Model(body, f"ring of {elements} elements", frequency, mass, axis, 0, False)


def frame_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A polygon of beams, clamped at a corner or free."""
    sides = int(rng.integers(3, 7))
    elements = max(1, dofs // (6 * sides))
    length = spread(rng, 0.2, 2.0)
    section, height = draw_section(rng, length / spread(rng, 8.0, 60.0))
    material = pick(rng, *MATERIALS)
    side = assembly.beam(length, section, material, elements)
    angles = 2.0 * np.pi * np.arange(sides) / sides
    steps = length * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    corners = np.cumsum(steps, axis=0) - steps
    corners -= 0.0 if clamped else corners.mean(axis=0)
    members = [side.placed(r, angle) for r, angle in zip(corners, angles, strict=True)]
    body = assembly.weld(members, clamped=[(0.0, 0.0, 0.0)] if clamped else None)
    mass = material.rho * section.A * sides * length
    words = f"frame of {sides} sides of {elements} elements"
    frequency = bending(material, height, length) * (0.3 if clamped else 0.6)
    return Model(body, words, frequency, mass, (0.0, 0.0, 1.0), far_node(body), clamped)


def rotor_body(rng: Generator, dofs: int, clamped: bool) -> Model:
    """A stepped shaft with discs in bearings, oil films and internal damping."""
    pieces = rng.uniform(0.2, 1.0, int(rng.integers(1, 5))).round(3)
    total = float(np.cumsum(pieces)[-1])  # where the last segment ends, to the last bit
    diameter, material = total / spread(rng, 10.0, 40.0), assembly.steel
    segments = [(float(s), assembly.circle(diameter * rng.uniform(0.7, 1.3))) for s in pieces]
    elements = max(len(pieces), dofs // 4)
    stiffness = (material.E * np.pi * diameter**4 / 64.0) * 48.0 / total**3
    mass = material.rho * np.pi / 4.0 * diameter**2 * total
    discs = [
        assembly.Disc(float(at) * total, m, 0.04 * m * total**2, 0.021 * m * total**2)
        for at, m in zip(
            rng.uniform(0.1, 0.9, 3), mass * np.exp(rng.uniform(-3.0, 1.0, 3)), strict=True
        )
    ][: int(rng.integers(0, 4))]
    k = stiffness * spread(rng, 1e-2, 1e3)
    c = spread(rng, 1e-3, 1.0) * np.sqrt(k * mass) * pick(rng, 0.0, 1.0)
    bearings = [assembly.Bearing(at, [k, spread(rng, 0.4, 1.0) * k], c) for at in (0.0, total)]
    film = bool(rng.random() < 0.3)
    if film:
        cross = float(rng.uniform(0.2, 0.6)) * max(c, 1e-2 * np.sqrt(k * mass))
        bearings[0] = assembly.Bearing(0.0, _film(k, cross), c)
    internal = spread(rng, 1e-8, 1e-5) * pick(rng, 0.0, 1.0)
    body = assembly.rotor(
        segments, material, elements, discs=discs, bearings=bearings, internal_damping=internal
    )
    words = (
        f"rotor of {len(pieces)} pieces, {elements} elements, {len(discs)} discs, bearings of "
        f"{k / stiffness:.1e} of the shaft's stiffness{', an oil film' if film else ''}"
        f"{', damped inside' if internal else ''}"
    )
    frequency = 2.8 * bending(material, 0.85 * diameter, total)
    return Model(body, words, frequency, mass, (1.0, 0.0, 0.0), elements // 2, True)


def _film(k: float, cross: float) -> Callable[[float], Any]:
    return lambda spin: np.array([[k, cross * spin], [-cross * spin, k]])


BUILDERS: dict[str, Callable[[Generator, int, bool], Model]] = {
    "beam": beam_body,
    "sheet": sheet_body,
    "block": block_body,
    "plate": plate_body,
    "ring": ring_body,
    "frame": frame_body,
    "rotor": rotor_body,
}


def far_node(body: assembly.Body) -> int:
    """The node that is farthest from the frame's origin."""
    return int(np.argmax(np.linalg.norm(body.dofs.coordinates, axis=1)))


def _sprung(rng: Generator, model: Model, support: str) -> Model:
    """The body on four springs between nodes and the frame, or free."""
    if support == "free":
        return model
    share = spread(rng, 1e-6, 1e-2) if support == "soft springs" else spread(rng, 1e2, 1e6)
    k = share * model.mass * model.frequency**2
    X = model.body.dofs.coordinates
    nodes = {int(np.argmax(X @ d)) for d in np.array([[1, 2, 3], [-1, 2, -3], [1, -2, -3.0]])}
    nodes |= {int(np.argmin(X @ np.array([1.0, 0.1, 0.1]))), model.tip}
    body = model.body
    planar = bool(np.all(np.isin(body.dofs.component, (0, 1, 5))))
    turns = bool(np.any(body.dofs.component >= 3))
    extent = float(np.ptp(X, axis=0).max())
    values = np.diag([k] * 3 + [k * extent**2] * 3) if turns and not planar else k
    for node in sorted(nodes):
        body = assembly.attach_spring(body, node, stiffness=values)
    return replace(model, body=body, words=f"{model.words}, k {k:.1e} N/m")


def _damped(rng: Generator, model: Model) -> Model:
    kind = pick(rng, *DAMPINGS, p=(0.3, 0.25, 0.15, 0.1, 0.1, 0.1))
    words = f"{model.words}, {kind}"
    if kind == "undamped":
        return replace(model, words=words)
    body, w = model.body, model.frequency
    if kind in ("light damping", "heavy damping"):
        ratio = spread(rng, 1e-4, 1e-2) if kind == "light damping" else spread(rng, 0.1, 3.0)
        a, b = pick(rng, (2.0 * ratio * w, 0.0), (0.0, 2.0 * ratio / w), (ratio * w, ratio / w))
        return replace(model, body=body.with_damping(a=a, b=b), words=f"{words} {ratio:.1e}")
    c = spread(rng, 1e-3, 10.0) * 2.0 * model.mass * w
    if kind == "a damper inside":
        body = assembly.attach_spring(body, model.tip, damping=c)
    elif kind == "a damper outside":
        body = assembly.attach_damper(body, model.tip, c)
    else:
        body = _Negative(body, model.tip, -1e-2 * c)
    return replace(model, body=body, words=f"{words} {c:.1e} N·s/m")


class _Negative(Extra):
    """A body with a negative damper."""

    @property
    def free(self) -> Any:
        """Numbers of the free degrees of freedom, as of a body."""
        return self.model.free
