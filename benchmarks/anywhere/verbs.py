"""The draws: a verb, a model, a motion, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.random import Generator

import assembly
from benchmarks.anywhere import references as plainly
from benchmarks.anywhere import work
from benchmarks.anywhere.mechanisms import Machine, draw_machine
from benchmarks.anywhere.models import Model, draw_body, pick, spread
from benchmarks.anywhere.motions import frozen, in_time
from benchmarks.anywhere.references import Array, Plain
from benchmarks.anywhere.work import Draw

GENERATOR = 2  # to be counted up when a draw of the same seed and index becomes another
TRIMS, NONLINEAR_STEPS = 20, 20
LARGEST = 0.1  # m or rad, of the start of a nonlinear transient
BEAMS = ("slider-crank", "four-bar", "chain", "chain", "chain in space")


def draw(seed: int, index: int, tiny: bool = False) -> Draw:
    """The draw of a seed and an index; it depends on nothing else. tiny: of few DOFs and points."""
    rng = np.random.default_rng([seed, index])
    verb = VERBS[index % len(VERBS)]
    low, high = SIZES[verb]
    dofs = int(spread(rng, low, 20 if tiny else high))
    return DRAWERS[verb](rng, dofs, 4 if tiny else 0)


def _system(rng: Generator, dofs: int) -> tuple[assembly.FrozenSystem, str, float]:
    """A frozen system, words and its rough lowest frequency."""
    if rng.random() < 0.25:
        machine = draw_machine(rng, dofs)
        t = float(rng.uniform()) * machine.period
        return machine.fresh().freeze(t), f"{machine.words}, at {t:.4g} s", 10.0 * machine.speed
    model = draw_body(rng, dofs)
    system, words = frozen(rng, model)
    return system, f"{model.words}; {words}", model.frequency


def _solve(rng: Generator, dofs: int, points: int) -> Draw:
    system, words, frequency = _system(rng, dofs)
    k = int(pick(rng, 5, 10, 20))
    return work.solve(system, words, frequency, k)


def _stability(rng: Generator, dofs: int, points: int) -> Draw:
    system, words, frequency = _system(rng, dofs)
    return work.stability(system, words, frequency)


def _track(rng: Generator, dofs: int, points: int) -> Draw:
    count, k = points or int(rng.integers(20, 201)), 6
    if rng.random() < 0.4:
        machine = draw_machine(rng, dofs)
        mechanism = machine.fresh()
        times = np.linspace(0.0, machine.period, count)
        words, frequency = f"{machine.words}; a turn", 10.0 * machine.speed
        swept: dict[str, Any] = dict(model=mechanism, times=times)
        freeze = lambda i: mechanism.freeze(float(times[i]))  # noqa: E731
        size = deepcopy(mechanism).freeze(0.0).n
    else:
        model = draw_body(rng, dofs)
        top = spread(rng, 0.05, 0.8) * model.frequency
        speeds = np.linspace(0.0, top, count)
        words, frequency = f"{model.words}; ω to {top:.3g} rad/s", model.frequency
        swept = dict(model=model.body, omega=speeds, axis=model.axis)
        freeze = lambda i: model.body.freeze(omega=float(speeds[i]), axis=model.axis)  # noqa: E731
        size = model.dofs
    return work.track(swept, freeze, words, size, frequency, k)


class _Turning:
    """A mechanism at a speed, rad/s, and a position, turns."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def freeze(self, speed: float, turn: float) -> assembly.FrozenSystem:
        mechanism = self.machine.make(speed, self.machine.damping)
        return mechanism.freeze(turn * 2.0 * np.pi / speed)


def _map(rng: Generator, dofs: int, points: int) -> Draw:
    m = points // 2 or int(rng.integers(10, 25))
    model: Any
    if rng.random() < 0.4:
        machine = draw_machine(rng, dofs)
        model, frequency = _Turning(machine), 10.0 * machine.speed
        axes = dict(
            speed=np.linspace(0.3, 1.0, m) * machine.speed,
            turn=np.linspace(0.0, 1.0, m, endpoint=False),
        )
        fixed: dict[str, Any] = {}
        words, size = machine.words, deepcopy(machine.fresh()).freeze(0.0).n
    else:
        body = draw_body(rng, dofs)
        model, frequency, size = body.body, body.frequency, body.dofs
        top = spread(rng, 0.05, 0.8) * body.frequency
        rate = spread(rng, 1e-3, 0.1) * body.frequency**2
        axes = dict(omega=np.linspace(0.0, top, m), epsilon=np.linspace(-rate, rate, m))
        fixed = dict(axis=body.axis)
        words = f"{body.words}; ω to {top:.3g} rad/s, ε to {rate:.3g} rad/s²"
    return work.stability_map(model, axes, fixed, words, size, frequency)


def _response(rng: Generator, dofs: int, points: int) -> Draw:
    system, words, frequency = _system(rng, dofs)
    count = points or int(rng.integers(100, 1001))
    top = spread(rng, 2.0, 30.0) * frequency / (2.0 * np.pi)
    hertz = np.linspace(1e-3 * top, top, count)
    at = int(rng.integers(system.n))
    return work.frequency_response(system, words, hertz, at)


def _start(
    rng: Generator, system: assembly.FrozenSystem, frequency: float
) -> tuple[Array, Array, str]:
    """A displacement and a velocity: a mode, one displaced node, a plucked body, a blow."""
    n = system.n
    kind = pick(rng, "mode 1", "mode 3", "mode 6", "one node", "plucked", "a blow")
    at = int(rng.integers(n))
    K = 0.5 * (system.stiffness + system.stiffness.T) + 1e-6 * frequency**2 * system.M
    unit = np.eye(1, n, at)[0]
    if kind == "one node":
        q = unit
    elif kind in ("plucked", "a blow"):
        q = spla.splu(sp.csc_matrix(K)).solve(unit)
    else:
        number = min(int(kind[-1]), n) + system.rigid.shape[1]
        if n <= plainly.DENSE:
            top = min(number, n) - 1
            q = la.eigh(K.toarray(), system.M.toarray(), subset_by_index=[top, top])[1][:, 0]
        else:
            start = np.ones(n)
            values, vectors = spla.eigsh(K, number, system.M, sigma=0.0, v0=start)
            q = vectors[:, np.argsort(values)[number - 1]]
    q = 1e-6 * q / np.abs(q).max()
    if kind == "a blow":
        return np.zeros(n), frequency * q, kind
    return q, np.zeros(n), kind


def _integrate(rng: Generator, dofs: int, points: int) -> Draw:
    kind = pick(rng, "constant", "in time", "mechanism", "mechanism")
    if kind == "mechanism":
        machine = draw_machine(rng, dofs)
        model: Any = machine.fresh()
        span, frequency, words = machine.period, 10.0 * machine.speed, machine.words
        span *= float(pick(rng, 0.25, 1.0))
        turns = span / machine.period
        system = deepcopy(model).freeze(0.0)
    elif kind == "in time":
        body = draw_body(rng, dofs, ("beam", "beam", "frame", "sheet", "block"))
        body = body if isinstance(body.body, assembly.Body) else _plain_body(body)
        model, span, motion = in_time(rng, body, False)
        system, frequency, turns = deepcopy(model).freeze(0.0), body.frequency, 1.0
        words = f"{body.words}; {motion}"
    else:
        system, words, frequency = _system(rng, dofs)
        model, span, turns = deepcopy(system), 2.0 * np.pi / frequency, 1.0
    q, v, start = _start(rng, system, frequency)
    words = f"{words}; {kind}, {span:.4g} s from {start}"
    constant = kind == "constant"
    return work.integrate(model, system, span, (q, v), words, frequency, turns, constant)


def _plain_body(model: Model) -> Model:
    """The body without a negative damper: a motion in time takes bodies of the package only."""
    return replace(model, body=model.body.model, words=model.words + " left out")


def _beam_machine(rng: Generator, dofs: int) -> Machine:
    return draw_machine(rng, min(dofs, 390), BEAMS)


def _nonlinear(rng: Generator, dofs: int, points: int) -> Draw:
    passes: Callable[[], Plain]
    if rng.random() < 0.6:
        machine = _beam_machine(rng, dofs)
        model: Any = machine.fresh()
        span, words = machine.period, machine.words
        passes = lambda: plainly.one_pass(machine.elements, machine.planar)  # noqa: E731
    else:
        body = draw_body(rng, dofs, ("beam", "beam", "sheet"))
        body = body if isinstance(body.body, assembly.Body) else _plain_body(body)
        model, span, motion = in_time(rng, body, False)
        words = f"{body.words}; {motion}"
        passes = lambda: plainly.body_pass(model, body.dofs)  # noqa: E731
    system = deepcopy(model).freeze(0.0)
    steps = points or NONLINEAR_STEPS
    h = span / spread(rng, 200.0, 2000.0)
    q = np.zeros(system.n)
    if not system.rigid.shape[1]:
        q = spla.splu(sp.csc_matrix(system.stiffness)).solve(system.Q)
        # On soft springs the linear deflection may be hundreds of metres, or many turns.
        q *= min(1.0, LARGEST / np.abs(q).max(initial=LARGEST))
    return work.nonlinear(model, system, q, h, steps, words, passes)


def _periodic(rng: Generator, dofs: int) -> tuple[Any, float, str, float]:
    """A periodic model, its period, words, and a rough lowest frequency."""
    if rng.random() < 0.6:
        machine = draw_machine(rng, dofs)
        return machine.fresh(), machine.period, machine.words, 10.0 * machine.speed
    body = draw_body(rng, dofs, ("beam", "beam", "frame", "sheet"))
    body = body if isinstance(body.body, assembly.Body) else _plain_body(body)
    model, period, motion = in_time(rng, body, True)
    return model, period, f"{body.words}; {motion}", body.frequency


def _floquet(rng: Generator, dofs: int, points: int) -> Draw:
    model, period, words, frequency = _periodic(rng, dofs)
    return work.floquet(model, period, words, frequency)


def _chart(rng: Generator, dofs: int, points: int) -> Draw:
    m = points // 2 or int(rng.integers(4, 9))
    if rng.random() < 0.6:
        machine = draw_machine(rng, dofs)
        speeds = np.linspace(0.5, 1.0, m) * machine.speed
        dampings = np.linspace(0.1, 1.0, m) * spread(rng, 1e-4, 0.1) / machine.speed
        axes = dict(speed=speeds, b=dampings)
        family: Callable[..., Any] = machine.make
        words, size = machine.words, deepcopy(machine.fresh()).freeze(0.0).n
        frequency = 10.0 * machine.speed
    else:
        body = draw_body(rng, dofs, ("beam", "frame", "sheet"))
        body = body if isinstance(body.body, assembly.Body) else _plain_body(body)
        fastest = spread(rng, 0.1, 2.0) * body.frequency
        axes = dict(speed=np.linspace(0.5, 1.0, m) * fastest, amplitude=np.linspace(0.05, 0.6, m))

        def family(speed: float, amplitude: float) -> Any:
            return assembly.moving(body.body, assembly.swing(amplitude, speed, axis=body.axis))

        words = f"{body.words}; swinging at up to {fastest:.3g} rad/s"
        size, frequency = body.dofs, body.frequency
    return work.hill_chart(family, axes, words, size, frequency)


def _trims(rng: Generator, dofs: int, points: int) -> Draw:
    machine = _beam_machine(rng, dofs)
    times = np.linspace(0.0, machine.period, points or TRIMS, endpoint=False)
    passes = lambda: plainly.one_pass(machine.elements, machine.planar)  # noqa: E731
    return work.trims(machine.fresh(), times, machine.words, passes)


def _crosscheck(rng: Generator, dofs: int, points: int) -> Draw:
    model, period, words, frequency = _periodic(rng, dofs)
    system = deepcopy(model).freeze(0.0)
    q, v, _ = _start(np.random.default_rng(0), system, frequency)
    return work.crosscheck(model, period, (q, v), words)


DRAWERS: dict[str, Callable[[Generator, int, int], Draw]] = {
    "solve": _solve,
    "stability": _stability,
    "track": _track,
    "stability_map": _map,
    "frequency_response": _response,
    "integrate": _integrate,
    "nonlinear": _nonlinear,
    "floquet": _floquet,
    "hill_chart": _chart,
    "trims": _trims,
    "crosscheck": _crosscheck,
}
VERBS = tuple(DRAWERS)
# Degrees of freedom between which a draw lies.
SIZES = {
    "solve": (10, 30_000),
    "stability": (10, 10_000),
    "track": (10, 20_000),
    "stability_map": (10, 3_000),
    "frequency_response": (10, 6_000),
    "integrate": (10, 3_000),
    "nonlinear": (10, 300),
    "floquet": (10, 1_000),
    "hill_chart": (10, 200),
    "trims": (10, 300),
    "crosscheck": (10, 400),
}
