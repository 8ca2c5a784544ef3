"""Single cases that were slow or refused beside a benchmark that was met.

Each was measured on commit 4f0c7d5; `CASES` gives its words there. The models are fixed: what is
drawn at random of such kinds is `verbs`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

import assembly
from assembly import gallery
from benchmarks.anywhere import references as plainly
from benchmarks.anywhere import work
from benchmarks.anywhere.models import bending
from benchmarks.anywhere.references import Array
from benchmarks.anywhere.work import Draw
from studies import slider_crank

SECTION = assembly.rectangle(0.01, 0.02)
CRANK_SPEED = 1500.0 * np.pi / 30.0  # rad/s, of `slider_crank.model`
Z = (0.0, 0.0, 1.0)


def beam(elements: int, clamped: bool = True, planar: bool = False) -> assembly.Body:
    """A steel beam of 1 m, 10 × 20 mm."""
    return assembly.beam(
        1.0, SECTION, assembly.steel, elements, clamped="start" if clamped else None, planar=planar,
        start=(0.0 if clamped else -0.5, 0.0, 0.0),
    )  # fmt: skip


FREQUENCY = bending(assembly.steel, 0.01, 1.0)  # rad/s, of that beam


def chain(links: int, elements: int, b: float = 0.0, speed: float = 2.0) -> assembly.Mechanism:
    """A plane arm, its first link turning, the others swinging; damping b K of the links, s."""
    length, names = 0.3, [f"link {i + 1}" for i in range(links)]
    link = assembly.beam(length, SECTION, assembly.steel, elements, planar=True).with_damping(b=b)
    laws: list[assembly.Law] = [assembly.Uniform(speed)]
    laws += [assembly.Harmonic(0.3, speed, 0.7 * i, 0.2) for i in range(1, links)]
    r, angle, initial = np.zeros(2), 0.0, {}
    for name, law in zip(names, laws, strict=True):
        angle += law.at(0.0)[0]
        initial[name] = (*r, angle)
        r = r + length * np.array([np.cos(angle), np.sin(angle)])
    joints = [assembly.revolute("ground", (0, 0), names[0], "start", name="J0")]
    joints += [
        assembly.revolute(names[i - 1], "end", names[i], "start", name=f"J{i}")
        for i in range(1, links)
    ]
    drivers = [assembly.driver(f"J{i}", law) for i, law in enumerate(laws)]
    return assembly.Mechanism(
        {name: link for name in names}, joints, drivers, initial=initial,
        period=2.0 * np.pi / speed,
    )  # fmt: skip


def crank(elements: int, **more: Any) -> assembly.Mechanism:
    """The slider-crank of the studies."""
    return slider_crank.model(elements=elements, **more)


class Turning:
    """A slider-crank at a speed, rpm, and a position, turns."""

    def __init__(self) -> None:
        self.at = cache(lambda speed: crank(2, speed_rpm=speed))

    def freeze(self, speed: float, turn: float) -> assembly.FrozenSystem:
        """The mechanism of that speed at that time."""
        return self.at(speed).freeze(turn * 60.0 / speed)


def small_map() -> Draw:
    turns = np.linspace(0.0, 1.0, 20, endpoint=False)
    axes = dict(speed=np.linspace(450.0, 1500.0, 20), turn=turns)
    size = crank(2).freeze(0.0).n
    return work.stability_map(Turning(), axes, {}, "slider-crank", size, 10.0 * CRANK_SPEED)


def damped_chain() -> Draw:
    model = chain(7, 2, 1e-3)
    return work.floquet(model, 2.0 * np.pi / 2.0, "overdamped chain", 20.0)


def small_chain() -> Draw:
    return work.floquet(chain(4, 1, 1e-5, 22.0), 2.0 * np.pi / 22.0, "chain at 22 rad/s", 220.0)


def response(system: assembly.FrozenSystem, words: str, top: float, count: int) -> Draw:
    hertz = np.linspace(1e-3 * top, top, count) / (2.0 * np.pi)
    return work.frequency_response(system, words, hertz, system.n - 2)


def plane_response(nx: int, count: int) -> Draw:
    sheet = gallery.sheet(nx, 3, "q8", (1.0, 0.05), material=assembly.steel, clamped="x0")
    system = sheet.with_damping(b=1e-6).freeze(omega=10.0, axis=Z)
    top = 20.0 * bending(assembly.steel, 0.05, 1.0)
    return response(system, f"sheet of {nx} × 3 cells", top, count)


def long_response() -> Draw:
    system = beam(2000).with_damping(b=1e-5).freeze(omega=10.0, axis=Z)
    return response(system, "beam of 2,000 elements", 20.0 * FREQUENCY, 300)


def mode(system: assembly.FrozenSystem, number: int) -> tuple[Array, Array]:
    """A start from a mode of the symmetric part, 1e-6 m, at rest."""
    K = 0.5 * (system.stiffness + system.stiffness.T)
    if system.n <= plainly.DENSE:
        q = la.eigh(K.toarray(), system.M.toarray())[1][:, number - 1]
    else:
        values, vectors = spla.eigsh(K, number, system.M, sigma=0.0, v0=np.ones(system.n))
        q = vectors[:, np.argsort(values)[number - 1]]
    return 1e-6 * q / np.abs(q).max(), np.zeros(system.n)


def node(system: assembly.FrozenSystem) -> tuple[Array, Array]:
    """A start from one displaced DOF, at rest."""
    return 1e-6 * np.eye(1, system.n, system.n // 2)[0], np.zeros(system.n)


def transient(
    model: Any,
    span: float,
    start: Callable[[assembly.FrozenSystem], tuple[Array, Array]],
    words: str,
    frequency: float,
    turns: float = 1.0,
) -> Draw:
    system = deepcopy(model).freeze(0.0)
    return work.integrate(model, system, span, start(system), words, frequency, turns)


def turn(start: Callable[[assembly.FrozenSystem], tuple[Array, Array]], words: str) -> Draw:
    return transient(crank(2), 2.0 * np.pi / CRANK_SPEED, start, words, 10.0 * CRANK_SPEED)


def nonlinear_step() -> Draw:
    model = crank(2)
    system, h = deepcopy(model).freeze(0.0), 2.0 * np.pi / CRANK_SPEED / 500.0
    q = spla.spsolve(system.stiffness.tocsc(), system.Q)
    passes = lambda: plainly.one_pass(4, True)  # noqa: E731
    return work.nonlinear(model, system, q, h, 20, "slider-crank", passes)


def heavily_damped() -> Draw:
    body = beam(16, clamped=False).with_damping(b=2.0 / FREQUENCY)
    system = body.freeze(omega=0.1 * FREQUENCY, axis=Z)
    return work.solve(system, "free beam, heavily damped", 6.0 * FREQUENCY, 10)


def on_springs() -> Draw:
    body = beam(44, clamped=False, planar=True)
    for at in (0, 22, 44):
        body = assembly.attach_spring(body, at, stiffness=1e4)
    system = body.freeze(omega=0.1 * FREQUENCY, axis=Z)
    return work.solve(system, "beam on springs of 1e4 N/m", 100.0, 10)


def solid(soft: bool) -> Draw:
    body = gallery.block(
        40, 6, 6, "hex8", (1.0, 0.1, 0.1), (-0.5, -0.05, -0.05), assembly.steel, clamped=None
    )
    frequency = bending(assembly.steel, 0.1, 1.0)
    words = "free solid, spun"
    if soft:
        X, words = body.dofs.coordinates, "solid on soft springs"
        for d in np.array([[1, 2, 3], [-1, 2, -3], [1, -2, -3.0], [-1.0, -2, 3]]):
            body = assembly.attach_spring(body, int(np.argmax(X @ d)), stiffness=1e3)
    return work.solve(body.freeze(omega=0.3 * frequency, axis=Z), words, 6.0 * frequency, 10)


def damper_outside() -> Draw:
    body = assembly.attach_damper(beam(50, clamped=False), 50, 10.0)
    speeds = np.linspace(0.0, 0.5 * FREQUENCY, 50)
    freeze = lambda i: body.freeze(omega=float(speeds[i]), axis=Z)  # noqa: E731
    swept = dict(model=body, omega=speeds, axis=Z)
    words = "free beam, a damper outside"
    return work.track(swept, freeze, words, len(body.free), 6.0 * FREQUENCY)


def solid_rod() -> Draw:
    speed = 10.0
    mechanism = gallery.solid_slider_crank((110, 8, 8), "hex8")(speed)
    times = np.linspace(0.0, 2.0 * np.pi / speed, 60)
    size = deepcopy(mechanism).freeze(0.0).n
    freeze = lambda i: mechanism.freeze(float(times[i]))  # noqa: E731
    words = "slider-crank, rod of 110 × 8 × 8 cells"
    return work.track(dict(model=mechanism, times=times), freeze, words, size, 500.0)


def solid_transient() -> Draw:
    body = gallery.block(31, 5, 4, "hex8", (1.0, 0.1, 0.08), material=assembly.steel)
    frequency = bending(assembly.steel, 0.08, 1.0)
    model = assembly.moving(body, assembly.swing(0.3, 0.3 * frequency, axis=Z))
    span = 2.0 * np.pi / frequency
    return transient(model, span, lambda s: mode(s, 6), "block from its mode 6", frequency)


def shaft() -> Draw:
    pieces = [0.3, 1e-4, 0.4, 0.3]
    segments = [(s, assembly.circle(0.05)) for s in pieces]
    bearings = [assembly.Bearing(at, [1e7, 1e7], 100.0) for at in (0.0, float(np.sum(pieces)))]
    body = assembly.rotor(
        segments, assembly.steel, 95, discs=[assembly.Disc(0.5, 10.0, 0.1, 0.06)], bearings=bearings
    )
    frequency = 2.8 * bending(assembly.steel, 0.05, 1.0)
    return work.stability(body.freeze(omega=0.3 * frequency), "shaft, a short element", frequency)


def fast_swing() -> Draw:
    model = assembly.moving(beam(10), assembly.swing(0.5, 500.0, axis=Z))
    return work.floquet(model, 2.0 * np.pi / 500.0, "beam swinging ±0.5 rad", FREQUENCY)


def crosschecked_chain() -> Draw:
    model = chain(15, 4, 1e-4, 0.4)
    start = node(deepcopy(model).freeze(0.0))
    return work.crosscheck(model, 2.0 * np.pi / 0.4, start, "damped chain of 15 links")


def plane_rod() -> Draw:
    sheet = gallery.sheet(500, 2, "q4", (0.3, 0.02), (0.0, -0.01), clamped=None, thickness=0.01)
    mechanism = assembly.Mechanism(
        {
            "crank": assembly.rigid_body(0.5, 1e-3, centre=(0.05, 0, 0), planar=True),
            "rod": sheet,
            "slider": assembly.rigid_body(0.5, 1e-4, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
            assembly.revolute("crank", (0.1, 0), "rod", "x0", name="B"),
            assembly.revolute("rod", "x1", "slider", "origin", name="C"),
            assembly.prismatic("ground", (0, 0), "slider", "origin", axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 50.0)],
        initial={"rod": (0.1, 0, 0), "slider": (0.4, 0, 0)},
    )
    words = "slider-crank, plane rod of 500 × 2 cells"
    return transient(mechanism, 2.0 * np.pi / 500.0, lambda s: mode(s, 3), words, 500.0, 0.1)


def arm() -> Draw:
    model = chain(3, 13)
    frequency = bending(assembly.steel, 0.01, 0.9)
    span = 4.0 * np.pi / frequency
    return transient(model, span, node, "arm, one node displaced", frequency, 2.0)


def chain_trims() -> Draw:
    times = np.linspace(0.0, np.pi, 20, endpoint=False)
    passes = lambda: plainly.one_pass(15, True)  # noqa: E731
    return work.trims(chain(15, 1), times, "chain of 15 links", passes)


def short_by_an_ulp() -> Draw:
    segments = [(0.486, assembly.circle(0.05)), (1.134, assembly.circle(0.05))]
    body = assembly.rotor(
        segments, assembly.steel, 20, discs=[assembly.Disc(1.62, 10.0, 0.1, 0.06)],
        bearings=[assembly.Bearing(at, [1e7, 1e7]) for at in (0.0, 1.62)],
    )  # fmt: skip
    return work.solve(body.freeze(omega=10.0), "rotor, a disc at 0.486 + 1.134 m", 200.0, 5)


# What each gave on 4f0c7d5.
CASES: dict[str, tuple[Callable[[], Draw], str]] = {
    "small map": (small_map, "9 s"),
    "damped chain": (damped_chain, "> 60 s"),
    "small chain": (small_chain, "21 s"),
    "plane response": (lambda: plane_response(34, 300), "> 60 s"),
    "long response": (long_response, "> 25 s"),
    "turn from mode 3": (lambda: turn(lambda s: mode(s, 3), "slider-crank from mode 3"), "32 s"),
    "turn from a node": (lambda: turn(node, "slider-crank, one node displaced"), "> 5 min"),
    "nonlinear step": (nonlinear_step, "285 ms a step"),
    "heavily damped": (heavily_damped, "141 eigensolutions"),
    "on springs": (on_springs, "12 s"),
    "free solid": (lambda: solid(False), "17 to 40 TOAR"),
    "soft springs": (lambda: solid(True), "37 TOAR"),
    "damper outside": (damper_outside, "358 TOAR"),
    "solid rod": (solid_rod, "6.7 TOAR"),
    "solid transient": (solid_transient, "75 s, 3 GiB, then refused"),
    "shaft": (shaft, "10 to 78 s, undecided"),
    "fast swing": (fast_swing, "118 s, then refused"),
    "chain crosschecked": (crosschecked_chain, "refused"),
    "plane rod": (plane_rod, "refused"),
    "chain trims": (chain_trims, "> 12 s"),
    "760 frequencies": (lambda: plane_response(24, 760), "> 20 s"),
    "arm": (arm, "> 12 s"),
    "disc at the end": (short_by_an_ulp, "refused"),
}
