"""The draws: a verb, a model, a motion, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.random import Generator

import assembly
import modal
from benchmarks.anywhere import references as plainly
from benchmarks.anywhere.mechanisms import Machine, draw_machine
from benchmarks.anywhere.models import Model, draw_body, pick, spread
from benchmarks.anywhere.motions import frozen, in_time
from benchmarks.anywhere.references import Array, Plain, pairs

GENERATOR = 1  # to be counted up when a draw of the same seed and index becomes another
TRIMS, NONLINEAR_STEPS = 20, 20
BEAMS = ("slider-crank", "four-bar", "chain", "chain", "chain in space")


@dataclass(frozen=True)
class Draw:
    """One piece of work. call: the public function, with what of its result is checked, as JSON.

    Whatever the drawing itself has to know (sizes, starts) it takes from copies of the model, so
    that `call` meets a model of which nothing has been computed.
    """

    verb: str
    words: str
    dofs: int
    points: int
    call: Callable[[], dict[str, Any]]
    plain: Callable[[], Plain]


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

    def call() -> dict[str, Any]:
        modes = modal.solve(system, k=k)
        return dict(eigenvalues=pairs(modes.eigenvalues), bounds=modes.error_bound.tolist(), k=k)

    def plain() -> Plain:
        return plainly.eigensolution(system, k, frequency)

    return Draw("solve", f"{words}; {k} modes", system.n, 1, call, plain)


def _stability(rng: Generator, dofs: int, points: int) -> Draw:
    system, words, frequency = _system(rng, dofs)

    def call() -> dict[str, Any]:
        verdict = modal.stability(system)
        return dict(
            verdict=verdict.verdict, growth=float(verdict.growth_rate),
            bound=float(verdict.error_bound), proof=verdict.proof,
            undecided=float(verdict.verdict == "undecided"),
        )  # fmt: skip

    def plain() -> Plain:
        return plainly.eigensolution(system, 10, frequency)

    return Draw("stability", words, system.n, 1, call, plain)


def _track(rng: Generator, dofs: int, points: int) -> Draw:
    count, k = points or int(rng.integers(20, 201)), 6
    if rng.random() < 0.4:
        machine = draw_machine(rng, dofs)
        mechanism = machine.fresh()
        times = np.linspace(0.0, machine.period, count)
        words, frequency = f"{machine.words}; a turn", 10.0 * machine.speed
        found: dict[str, Any] = dict(model=mechanism, times=times)
        freeze = lambda i: mechanism.freeze(float(times[i]))  # noqa: E731
        size = deepcopy(mechanism).freeze(0.0).n
    else:
        model = draw_body(rng, dofs)
        top = spread(rng, 0.05, 0.8) * model.frequency
        speeds = np.linspace(0.0, top, count)
        words, frequency = f"{model.words}; ω to {top:.3g} rad/s", model.frequency
        found = dict(model=model.body, omega=speeds, axis=model.axis)
        freeze = lambda i: model.body.freeze(omega=float(speeds[i]), axis=model.axis)  # noqa: E731
        size = model.dofs

    def call() -> dict[str, Any]:
        tracks = modal.track(**found, k=k, progress=False)
        values = tracks.eigenvalue.values
        return dict(points=[(i, pairs(values[i])) for i in plainly.order(count)[:3]], k=k)

    def plain() -> Plain:
        return plainly.freeze_and_solve(freeze, count, k, frequency)

    return Draw("track", f"{words}; {count} points, {k} modes", size, count, call, plain)


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
    names = list(axes)

    def at(i: int) -> tuple[int, int]:
        return divmod(i, m)

    def freeze(i: int) -> Any:
        return model.freeze(
            **{name: float(axes[name][j]) for name, j in zip(names, at(i), strict=True)}, **fixed
        )

    def call() -> dict[str, Any]:
        found = modal.stability_map(model, over=axes, fixed=fixed, progress=False)
        chosen = [
            (i, dict(
                verdict=_verdict(found, at(i)), growth=float(found.growth_rate.values[at(i)]),
                bound=float(found.error_bound.values[at(i)]),
            ))
            for i in plainly.order(m * m)[:3]
        ]  # fmt: skip
        undecided = (found.verdict.values < 1) & (found.proof.values == 0)
        return dict(verdicts=chosen, undecided=float(np.mean(undecided)))

    def plain() -> Plain:
        return plainly.freeze_and_solve(freeze, m * m, 6, frequency)

    return Draw("stability_map", f"{words}; {m} × {m} points", size, m * m, call, plain)


def _verdict(found: Any, at: tuple[int, int]) -> str:
    code, proof = int(found.verdict.values[at]), int(found.proof.values[at])
    if code < 0 or (code == 0 and proof == 0):
        return "undecided"
    return ("stable", "divergence", "flutter")[code]


def _response(rng: Generator, dofs: int, points: int) -> Draw:
    system, words, frequency = _system(rng, dofs)
    count = points or int(rng.integers(100, 1001))
    top = spread(rng, 2.0, 30.0) * frequency / (2.0 * np.pi)
    hertz = np.linspace(1e-3 * top, top, count)
    at = int(rng.integers(system.n))
    force = np.zeros(system.n)
    force[at] = 1.0

    def call() -> dict[str, Any]:
        found = modal.frequency_response(system, hertz, force)
        values = found.displacement.values[:, 0]
        return dict(
            responses=[(i, pairs([values[i]])[0]) for i in plainly.order(count)[:200]],
        )  # fmt: skip

    def plain() -> Plain:
        return plainly.direct_solves(system, hertz, force, at)

    words = f"{words}; {count} frequencies to {top:.4g} Hz, force at DOF {at}"
    return Draw("frequency_response", words, system.n, count, call, plain)


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
    freeze = (lambda t: system) if kind == "constant" else model.freeze
    records = "all" if system.n <= 150 else None

    def call() -> dict[str, Any]:
        found = modal.integrate(
            model, (0.0, span), (q, v), displacement_tolerance=plainly.ACCURACY, probes=records
        )
        out: dict[str, Any] = dict(steps=int(found.sizes["time"]))
        size = np.abs(found.energy.values).max()
        if size > 0.0 and system.is_conservative:
            out["defect"] = float(np.abs(found.energy_defect.values).max() / size)
        if records:
            u = found.displacement.values
            out |= dict(end=u[-1].tolist(), largest=float(np.linalg.norm(u, axis=1).max()))
        return out

    def plain() -> Plain:
        if system.n > plainly.DENSE:
            shape = q if q.any() else v
            return plainly.plain_steps(freeze, (0.0, span), shape, kind == "constant")
        times = np.linspace(0.0, span, plainly.EIGENSOLUTIONS)
        found = plainly.many_eigensolutions(freeze, times, 10, frequency, max(turns, 1e-2))
        x, truth = np.concatenate([q, v]), {}
        if kind == "constant" and records:
            end = plainly.constant_transient(system, span, x)
            truth = dict(end=end[: system.n].tolist(), error=0.0)
        elif system.n <= plainly.TRUTH:
            end, rough = plainly.propagated_truth(freeze, span, x)
            error = np.linalg.norm((end - rough)[: system.n])
            truth = dict(end=end[: system.n].tolist(), error=float(error))
        return Plain(found.seconds, found.measured, truth)

    words = f"{words}; {kind}, {span:.4g} s from {start}"
    return Draw("integrate", words, system.n, 1, call, plain)


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

    def call() -> dict[str, Any]:
        found = modal.integrate(model, (0.0, steps * h), (q, 0.0 * q), step=h, nonlinear=True)
        return dict(finite=bool(np.isfinite(found.displacement.values).all()))

    def plain() -> Plain:
        one = passes()
        return Plain(one.seconds * steps, (1, steps))

    words = f"{words}; {steps} steps of {h:.3g} s"
    return Draw("nonlinear", words, system.n, steps, call, plain)


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
    system = deepcopy(model).freeze(0.0)

    def call() -> dict[str, Any]:
        found = modal.floquet(model, period)
        return dict(
            growth=float(found.exponents.real.max()) * period, verdict=found.verdict,
            bound=float(found.error[np.argmax(found.exponents.real)]) * period,
        )  # fmt: skip

    def plain() -> Plain:
        times = np.linspace(0.0, period, plainly.EIGENSOLUTIONS)
        found = plainly.many_eigensolutions(model.freeze, times, 12, frequency)
        truth = {}
        if system.n <= plainly.TRUTH:
            both = plainly.propagated_truth(model.freeze, period, np.eye(2 * system.n))
            with np.errstate(divide="ignore"):
                fine, rough = (float(np.log(np.abs(la.eigvals(P))).max()) for P in both)
            truth = dict(growth=fine, error=abs(fine - rough))
        return Plain(found.seconds, found.measured, truth)

    return Draw("floquet", f"{words}; a period of {period:.4g} s", system.n, 1, call, plain)


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
    names, swept = list(axes), cast(dict[str, Any], axes)

    def period(speed: float, **_: float) -> float:
        return float(2.0 * np.pi / speed)

    def point(i: int) -> dict[str, float]:
        return {name: float(axes[name][j]) for name, j in zip(names, divmod(i, m), strict=True)}

    def call() -> dict[str, Any]:
        found = modal.hill_chart(family, period, progress=False, **swept)
        undecided = (found.verdict.values < 1) & (found.proof.values == 0)
        return dict(undecided=float(np.mean(undecided)))

    def plain() -> Plain:
        each = plainly.EIGENSOLUTIONS
        model, T = family(**point(0)), period(**point(0))
        times = np.linspace(0.0, T, each)
        one = plainly.many_eigensolutions(model.freeze, times, 6, frequency)
        return Plain(one.seconds * m * m, (one.measured[0], each * m * m))

    return Draw("hill_chart", f"{words}; {m} × {m} points", size, m * m, call, plain)


def _trims(rng: Generator, dofs: int, points: int) -> Draw:
    machine = _beam_machine(rng, dofs)
    mechanism, count = machine.fresh(), points or TRIMS
    size = deepcopy(mechanism).freeze(0.0).n
    times = np.linspace(0.0, machine.period, count, endpoint=False)

    def call() -> dict[str, Any]:
        found = mechanism.trims(times)
        return dict(finite=all(bool(np.isfinite(trim.q).all()) for trim in found))

    def plain() -> Plain:
        one = plainly.one_pass(machine.elements, machine.planar)
        return Plain(one.seconds * count, (1, count))

    return Draw("trims", f"{machine.words}; {count} trims", size, count, call, plain)


def _crosscheck(rng: Generator, dofs: int, points: int) -> Draw:
    model, period, words, frequency = _periodic(rng, dofs)
    system = deepcopy(model).freeze(0.0)
    q, v, _ = _start(np.random.default_rng(0), system, frequency)

    def call() -> dict[str, Any]:
        return dict(confirmed=bool(modal.crosscheck(model, period=period).confirmed))

    def plain() -> Plain:
        def apart() -> None:
            modal.track(model, times=np.linspace(0.0, period, 65), k=6, progress=False)
            modal.floquet(model, period)
            tolerance = plainly.ACCURACY
            modal.integrate(model, (0.0, period), (q, v), displacement_tolerance=tolerance)

        return Plain(plainly.spent(apart)[0])

    return Draw("crosscheck", f"{words}; a period of {period:.4g} s", system.n, 1, call, plain)


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
