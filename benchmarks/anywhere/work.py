"""The work of a verb on a given model: the public call, and the same work plainly.

A draw gives the model at random (`verbs`), a single case by name (`cases`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

import assembly
import modal
from benchmarks.anywhere import references as plainly
from benchmarks.anywhere.references import Array, Plain, pairs

Model = Any


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


def solve(system: assembly.FrozenSystem, words: str, frequency: float, k: int) -> Draw:
    """Modes of a frozen system. frequency: rough lowest one, rad/s."""

    def call() -> dict[str, Any]:
        modes = modal.solve(system, k=k)
        return dict(eigenvalues=pairs(modes.eigenvalues), bounds=modes.error_bound.tolist(), k=k)

    def plain() -> Plain:
        return plainly.eigensolution(system, k, frequency)

    return Draw("solve", f"{words}; {k} modes", system.n, 1, call, plain)


def stability(system: assembly.FrozenSystem, words: str, frequency: float) -> Draw:
    """The verdict of a frozen system."""

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


def track(
    model: dict[str, Any],
    freeze: Callable[[int], assembly.FrozenSystem],
    words: str,
    dofs: int,
    frequency: float,
    k: int = 6,
) -> Draw:
    """Modes along a sweep. model: arguments of `modal.track`; freeze: the model at a point."""
    count = len(model["times"] if "times" in model else model["omega"])

    def call() -> dict[str, Any]:
        tracks = modal.track(**model, k=k, progress=False)
        values = tracks.eigenvalue.values
        return dict(points=[(i, pairs(values[i])) for i in plainly.order(count)[:3]], k=k)

    def plain() -> Plain:
        return plainly.freeze_and_solve(freeze, count, k, frequency)

    return Draw("track", f"{words}; {count} points, {k} modes", dofs, count, call, plain)


def stability_map(
    model: Model, axes: dict[str, Array], fixed: dict[str, Any], words: str, dofs: int,
    frequency: float,
) -> Draw:  # fmt: skip
    """A map over two axes with m values each."""
    names, m = list(axes), len(next(iter(axes.values())))

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

    return Draw("stability_map", f"{words}; {m} × {m} points", dofs, m * m, call, plain)


def _verdict(found: Any, at: tuple[int, int]) -> str:
    code, proof = int(found.verdict.values[at]), int(found.proof.values[at])
    if code < 0 or (code == 0 and proof == 0):
        return "undecided"
    return ("stable", "divergence", "flutter")[code]


def frequency_response(system: assembly.FrozenSystem, words: str, hertz: Array, at: int) -> Draw:
    """Response to a force at a DOF."""
    count, top = len(hertz), hertz[-1]
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


def integrate(
    model: Model,
    system: assembly.FrozenSystem,
    span: float,
    start: tuple[Array, Array],
    words: str,
    frequency: float,
    turns: float,
    constant: bool = False,
) -> Draw:
    """A transient. system: the model at the start; turns: of a mechanism; constant: no motion."""
    q, v = start
    freeze = (lambda t: system) if constant else model.freeze
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
            return plainly.plain_steps(freeze, (0.0, span), shape, constant)
        times = np.linspace(0.0, span, plainly.EIGENSOLUTIONS)
        found = plainly.many_eigensolutions(freeze, times, 10, frequency, max(turns, 1e-2))
        x, truth = np.concatenate([q, v]), {}
        if constant and records:
            end = plainly.constant_transient(system, span, x)
            truth = dict(end=end[: system.n].tolist(), error=0.0)
        elif system.n <= plainly.TRUTH:
            end, rough = plainly.propagated_truth(freeze, span, x)
            error = np.linalg.norm((end - rough)[: system.n])
            truth = dict(end=end[: system.n].tolist(), error=float(error))
        return Plain(found.seconds, found.measured, truth)

    return Draw("integrate", words, system.n, 1, call, plain)


def nonlinear(
    model: Model,
    system: assembly.FrozenSystem,
    q: Array,
    h: float,
    steps: int,
    words: str,
    passes: Callable[[], Plain],
) -> Draw:
    """Nonlinear steps. system: the model at the start; passes: the plain work of one step."""

    def call() -> dict[str, Any]:
        found = modal.integrate(model, (0.0, steps * h), (q, 0.0 * q), step=h, nonlinear=True)
        return dict(finite=bool(np.isfinite(found.displacement.values).all()))

    def plain() -> Plain:
        one = passes()
        return Plain(one.seconds * steps, (1, steps))

    words = f"{words}; {steps} steps of {h:.3g} s"
    return Draw("nonlinear", words, system.n, steps, call, plain)


def floquet(model: Model, period: float, words: str, frequency: float) -> Draw:
    """Floquet multipliers."""
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
            # LAPACK squares entries: of pairs below 1e-154 it says half of the logarithm.
            seen = np.abs(both[0]).max() ** 2 > np.finfo(float).tiny
            truth = dict(growth=fine, error=abs(fine - rough) if seen else np.inf)
        return Plain(found.seconds, found.measured, truth)

    return Draw("floquet", f"{words}; a period of {period:.4g} s", system.n, 1, call, plain)


def hill_chart(
    family: Callable[..., Any], axes: dict[str, Array], words: str, dofs: int, frequency: float
) -> Draw:
    """A chart over a speed and one other axis, m values each."""
    swept: dict[str, Any] = dict(axes)
    names, m = list(axes), len(axes["speed"])

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

    return Draw("hill_chart", f"{words}; {m} × {m} points", dofs, m * m, call, plain)


def trims(
    mechanism: assembly.Mechanism, times: Array, words: str, passes: Callable[[], Plain]
) -> Draw:
    """Trims at several times. passes: the plain work of one trim."""
    count = len(times)
    size = deepcopy(mechanism).freeze(0.0).n

    def call() -> dict[str, Any]:
        found = mechanism.trims(times)
        return dict(finite=all(bool(np.isfinite(trim.q).all()) for trim in found))

    def plain() -> Plain:
        one = passes()
        return Plain(one.seconds * count, (1, count))

    return Draw("trims", f"{words}; {count} trims", size, count, call, plain)


def crosscheck(model: Model, period: float, start: tuple[Array, Array], words: str) -> Draw:
    """The cross-check. start: of the plain transient."""
    (q, v), size = start, len(start[0])

    def call() -> dict[str, Any]:
        return dict(confirmed=bool(modal.crosscheck(model, period=period).confirmed))

    def plain() -> Plain:
        def apart() -> None:
            modal.track(model, times=np.linspace(0.0, period, 65), k=6, progress=False)
            modal.floquet(model, period)
            tolerance = plainly.ACCURACY
            modal.integrate(model, (0.0, period), (q, v), displacement_tolerance=tolerance)

        return Plain(plainly.spent(apart)[0])

    return Draw("crosscheck", f"{words}; a period of {period:.4g} s", size, 1, call, plain)
