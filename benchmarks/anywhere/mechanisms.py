"""Mechanisms drawn at random: slider-cranks, four-bars and chains, plane and in space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from scipy.spatial.transform import Rotation

import assembly
from assembly import gallery
from benchmarks.anywhere.models import MATERIALS, bending, draw_section, pick, spread

Bodies = dict[str, assembly.Body]


@dataclass(frozen=True)
class Machine:
    """A mechanism that was drawn.

    make(speed, b): the mechanism at a speed (rad/s) with damping b K of the elastic links (s);
    mechanisms of the same b share their bodies. elements: of all beams.
    """

    make: Callable[[float, float], assembly.Mechanism]
    speed: float
    damping: float
    elements: int
    planar: bool
    words: str

    def fresh(self) -> assembly.Mechanism:
        """The mechanism at its drawn speed and damping."""
        return self.make(self.speed, self.damping)

    @property
    def period(self) -> float:
        """s."""
        return 2.0 * np.pi / self.speed


def draw_machine(rng: Generator, dofs: int, kinds: tuple[str, ...] = ()) -> Machine:
    """A mechanism of about so many degrees of freedom."""
    kinds = kinds or ("slider-crank", "four-bar", "chain", "chain", "chain in space")
    kind = pick(rng, *kinds, *(("plane rod", "solid rod") if dofs > 400 else ()))
    return BUILDERS[kind](rng, dofs)


def _speed_and_damping(rng: Generator, frequency: float) -> tuple[float, float, str]:
    speed = spread(rng, 0.01, 0.25) * frequency
    kind = pick(rng, "undamped", "light damping", "heavy damping", p=(0.4, 0.4, 0.2))
    ratio = {"undamped": 0.0, "light damping": spread(rng, 1e-4, 1e-2)}.get(
        kind, spread(rng, 0.05, 1.0)
    )
    return speed, 2.0 * ratio / frequency, f"{kind}, {speed:.3g} rad/s"


def slider_crank(rng: Generator, dofs: int) -> Machine:
    """A plane slider-crank of beams; its crank may be rigid."""
    crank, ratio = spread(rng, 0.03, 0.2), float(rng.uniform(2.0, 5.0))
    rod = crank * ratio
    rigid_crank = bool(rng.random() < 0.3)
    elements = max(1, dofs // (3 if rigid_crank else 6))
    section, height = draw_section(rng, rod / spread(rng, 12.0, 60.0))
    material = pick(rng, *MATERIALS)
    mass = material.rho * section.A * rod * spread(rng, 0.3, 3.0)
    speed, damping, words = _speed_and_damping(rng, 2.8 * bending(material, height, rod))

    @cache
    def bodies(b: float) -> Bodies:
        def link(length: float) -> assembly.Body:
            beam = assembly.beam(length, section, material, elements, planar=True)
            return beam.with_damping(b=b)

        weight = material.rho * section.A * crank
        stiff = assembly.rigid_body(
            weight, weight * crank**2 / 12, centre=(crank / 2, 0, 0), planar=True
        )
        return {
            "crank": stiff if rigid_crank else link(crank),
            "rod": link(rod),
            "slider": assembly.rigid_body(mass, 1e-2 * mass * crank**2, planar=True),
        }

    tip = (crank, 0) if rigid_crank else "end"
    joints = [
        assembly.revolute("ground", (0, 0), "crank", (0, 0) if rigid_crank else "start", name="A"),
        assembly.revolute("crank", tip, "rod", "start", name="B"),
        assembly.revolute("rod", "end", "slider", "origin", name="C"),
        assembly.prismatic("ground", (0, 0), "slider", "origin", axis=(1, 0), name="D"),
    ]
    initial = {"rod": (crank, 0, 0), "slider": (crank + rod, 0, 0)}

    @cache
    def make(speed: float, b: float) -> assembly.Mechanism:
        return assembly.Mechanism(bodies(b), joints, [assembly.driver("A", speed)], initial=initial)

    words = f"slider-crank of {elements} elements a link{', rigid crank' * rigid_crank}, {words}"
    return Machine(make, speed, damping, elements * (2 - rigid_crank), True, words)


def four_bar(rng: Generator, dofs: int) -> Machine:
    """A plane four-bar linkage of beams, a crank and a rocker."""
    elements = max(1, dofs // 9)
    scale = spread(rng, 0.3, 3.0)
    section, height = draw_section(rng, scale * 0.3 / spread(rng, 12.0, 60.0))
    material = pick(rng, *MATERIALS)
    speed, damping, words = _speed_and_damping(rng, 2.8 * bending(material, height, 0.3 * scale))

    @cache
    def link(length: float, b: float) -> assembly.Body:
        beam = assembly.beam(length, section, material, elements, planar=True)
        return beam.with_damping(b=b)

    @cache
    def make(speed: float, b: float) -> assembly.Mechanism:
        lengths = (0.1 * scale, 0.3 * scale, 0.25 * scale)
        return gallery.four_bar(lambda length: link(length, b), lengths, 0.3 * scale, speed)

    words = f"four-bar of {elements} elements a link, {words}"
    return Machine(make, speed, damping, 3 * elements, True, words)


def plane_chain(rng: Generator, dofs: int) -> Machine:
    """A plane arm of 2 to 30 links."""
    return _chain(rng, dofs, True)


def space_chain(rng: Generator, dofs: int) -> Machine:
    """An arm in space of 2 to 12 links, its axes in turn z and y."""
    return _chain(rng, dofs, False)


def _chain(rng: Generator, dofs: int, planar: bool) -> Machine:
    """Links joined by pins; a motor at each, stiff or with a spring, all of one period."""
    per_node = 3 if planar else 6
    most = max(2, min(30 if planar else 12, dofs // per_node))
    count = int(np.exp(rng.uniform(np.log(2), np.log(most + 1))))
    elastic = rng.random(count) < 0.75
    elastic[int(rng.integers(count))] = True
    elements = max(1, dofs // (per_node * int(elastic.sum())))
    length = spread(rng, 0.1, 1.0)
    section, height = draw_section(rng, length / spread(rng, 8.0, 40.0))
    material = pick(rng, *MATERIALS)
    frequency = bending(material, height, length) / count**1.5
    speed, damping, words = _speed_and_damping(rng, frequency)
    spring = material.E * height**4 / 12.0 / length * spread(rng, 0.1, 1e3)
    sprung = rng.random(count) < 0.5
    turning = bool(rng.random() < 0.5)
    amplitudes, phases = rng.uniform(0.1, 0.8, count), rng.uniform(0.0, 2.0 * np.pi, count)
    means = rng.uniform(-0.6, 0.6, count)
    c = spread(rng, 1e-3, 1e-1) * spring / frequency * pick(rng, 0.0, 1.0)
    mass = material.rho * section.A * length
    names = [f"link {i + 1}" for i in range(count)]
    axes = [(0.0, 0.0, 1.0) if planar or i % 2 == 0 else (0.0, 1.0, 0.0) for i in range(count)]

    @cache
    def bodies(b: float) -> Bodies:
        inertia = mass * length**2 / 12.0
        rigid = assembly.rigid_body(
            mass, inertia if planar else (0.05 * inertia, inertia, inertia),
            centre=(length / 2, 0, 0), planar=planar,
        )  # fmt: skip
        beam = assembly.beam(length, section, material, elements, planar=planar).with_damping(b=b)
        return {name: beam if e else rigid for name, e in zip(names, elastic, strict=True)}

    def ends(i: int) -> tuple[object, object]:
        if i < 0:
            return (0, 0, 0)[: 2 if planar else 3], (0, 0, 0)[: 2 if planar else 3]
        if elastic[i]:
            return "start", "end"
        return ((0, 0), (length, 0)) if planar else ((0, 0, 0), (length, 0, 0))

    joints = [
        assembly.revolute(
            names[i - 1] if i else "ground", ends(i - 1)[1], names[i], ends(i)[0],  # type: ignore[arg-type]
            name=f"J{i}", axis=axes[i],
        )
        for i in range(count)
    ]  # fmt: skip

    def laws(speed: float) -> list[assembly.Law]:
        swings = [
            assembly.Harmonic(float(A), speed, float(p), float(m))
            for A, p, m in zip(amplitudes, phases, means, strict=True)
        ]
        return [assembly.Uniform(speed) if turning and i == 0 else s for i, s in enumerate(swings)]

    @cache
    def make(speed: float, b: float) -> assembly.Mechanism:
        motors = laws(speed)
        r, R, initial = np.zeros(3), Rotation.identity(), {}
        for name, law, axis in zip(names, motors, axes, strict=True):
            R = R * Rotation.from_rotvec(law.at(0.0)[0] * np.array(axis))
            turned = R.as_rotvec()
            initial[name] = (*r[:2], turned[2]) if planar else (*r, *turned)
            r = r + R.apply([length, 0.0, 0.0])
        drivers = [
            assembly.driver(f"J{i}", law, stiffness=spring, damping=c)
            if sprung[i]
            else assembly.driver(f"J{i}", law)
            for i, law in enumerate(motors)
        ]
        return assembly.Mechanism(
            bodies(b), joints, drivers, initial=initial, period=2.0 * np.pi / speed
        )

    words = (
        f"{'plane' if planar else 'space'} chain of {count} links, {int(elastic.sum())} elastic of "
        f"{elements} elements, {int(sprung.sum())} springs{', turning' * turning}, {words}"
    )
    return Machine(make, speed, damping, elements * int(elastic.sum()), planar, words)


def plane_rod(rng: Generator, dofs: int) -> Machine:
    """A plane slider-crank whose rod is a sheet."""
    crank, rod = 0.1, 0.3
    height = rod / spread(rng, 8.0, 60.0)
    ny = int(rng.integers(1, 4))
    nx = max(4, dofs // (2 * (ny + 1)))
    speed, damping, words = _speed_and_damping(rng, 2.8 * bending(assembly.steel, height, rod))

    @cache
    def bodies(b: float) -> Bodies:
        sheet = gallery.sheet(
            nx, ny, "q4", (rod, height), (0.0, -height / 2), clamped=None, thickness=0.01
        )
        return {
            "crank": assembly.rigid_body(0.5, 1e-3, centre=(crank / 2, 0, 0), planar=True),
            "rod": sheet.with_damping(b=b),
            "slider": assembly.rigid_body(0.5, 1e-4, planar=True),
        }

    joints = [
        assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
        assembly.revolute("crank", (crank, 0), "rod", "x0", name="B"),
        assembly.revolute("rod", "x1", "slider", "origin", name="C"),
        assembly.prismatic("ground", (0, 0), "slider", "origin", axis=(1, 0), name="D"),
    ]
    initial = {"rod": (crank, 0, 0), "slider": (crank + rod, 0, 0)}

    @cache
    def make(speed: float, b: float) -> assembly.Mechanism:
        return assembly.Mechanism(bodies(b), joints, [assembly.driver("A", speed)], initial=initial)

    words = f"slider-crank with a plane rod of {nx} × {ny} cells, {words}"
    return Machine(make, speed, damping, nx, True, words)


def solid_rod(rng: Generator, dofs: int) -> Machine:
    """A slider-crank in space whose rod is a solid block."""
    element = pick(rng, "hex8", "hex20")
    across = int(rng.integers(1, 4)) if dofs < 8000 else int(rng.integers(3, 9))
    nodes = (across + 1) ** 2 * (1.0 if element == "hex8" else 3.0)
    cells = (max(4, round(dofs / (3.0 * nodes))), across, across)
    speed, damping, words = _speed_and_damping(rng, 2.8 * bending(assembly.steel, 0.02, 0.3))

    @cache
    def family(b: float) -> Callable[[float], assembly.Mechanism]:
        return gallery.solid_slider_crank(cells, element, (0.0, b))

    @cache
    def make(speed: float, b: float) -> assembly.Mechanism:
        return family(b)(speed)

    words = f"slider-crank with a solid rod {element} {cells}, {words}"
    return Machine(make, speed, damping, 0, False, words)


BUILDERS: dict[str, Callable[[Generator, int], Machine]] = {
    "slider-crank": slider_crank,
    "four-bar": four_bar,
    "chain": plane_chain,
    "chain in space": space_chain,
    "plane rod": plane_rod,
    "solid rod": solid_rod,
}
