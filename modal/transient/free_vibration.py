"""Free vibration to a tolerance: all records of a transient at once.

A small constant system is propagated by exponentials, a small smooth motion on a basis of shapes,
or by decoupled groups of modes and by collocation; larger models by collocation with sparse
factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from scipy.interpolate import CubicSpline

from assembly.system.frozen import FrozenSeries, FrozenSystem
from modal.data.datasets import made_from
from modal.eigen.tolerances import SMALL
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import SeparatedArrays
from modal.transient.collocated import PHASE, STAGES, Collocation, Matrices, Sparse
from modal.transient.decoupled import WITHIN, Frames, propagated
from modal.transient.equations import GROUPS, SecondOrderModel, freezer, on_pattern, potential
from modal.transient.initial import initial_state
from modal.transient.measures import DisplacementNorm
from modal.transient.records import Recorder, Vibration, chosen_probes, run_attributes
from modal.transient.small_steps import SmallRun
from modal.transient.small_transient import Trial, small_transient
from modal.transient.step_matrices import OnPattern, SharedPattern
from modal.transient.tolerances import BATCH_NUMBERS, FEW, PIECES, REMEMBERED
from modal.types import Array

Propagated = tuple[Array, Array, float, dict[str, Any]]  # times, states, error, attributes
LARGEST = 5_000  # DOFs of models whose states at all records are in memory


def free_vibration(
    model: Any, span: tuple[float, float], initial: Any, probes: Any, settings: Mapping[str, Any]
) -> xr.Dataset | None:
    """The dataset of the free vibration of a model; None of a large one that moves, and of one that
    is not smooth.

    settings: of the run, with `displacement_tolerance` and `every`."""
    start, tolerance = freezer(model)(span[0]), settings["displacement_tolerance"]
    state = initial_state(initial, start.n)
    constant = isinstance(model, FrozenSystem)
    if not np.any(state) or start.n > LARGEST:
        return None
    probed, x = chosen_probes(probes, start.n, start), np.concatenate(state)
    motion = None if constant else InterpolatedMotion.of(model, *span, largest=LARGEST)
    if motion is None and not constant:
        return None
    if start.n > SMALL:
        found = _sparse(model if motion is None else motion, span, x, tolerance)
    elif motion is None:
        times, states, error, about = _constant(model, span, x, tolerance)
        found = _vibration(times, states, _balance_of_constant(model, states), error, about)
    else:
        small = small_transient(motion, span, state, tolerance)
        if isinstance(small, Vibration):
            found = small
        else:
            found = _moving(motion, span, x, tolerance, small)
    recorder = Recorder(probed)
    recorder.restore(found.rows(probed.numbers, settings["every"]))
    attributes = {"formalism": "lagrange", **found.attributes, "unknowns": start.n}
    attributes |= run_attributes(settings, model) | {"made_from": made_from(model)}
    return recorder.dataset(attributes)


def _fastest(frames: Frames, span: tuple[float, float], x: Array, tolerance: float) -> float:
    """ω of the fastest mode that moves by more than the tolerance, rad/s."""
    amplitudes, omega = frames.amplitudes(0, x, 1.0 / (span[1] - span[0]))
    return float(omega[amplitudes >= tolerance * la.norm(amplitudes)].max())


def _record_times(
    span: tuple[float, float],
    fastest: float,
    per_cycle: int = 30,
    fewest: int = 192,
    most: int = 2048,
) -> Array:
    """Equal parts of the span that resolve a frequency, rad/s.

    per_cycle: records a cycle of it. fewest, most: records.
    """
    count = np.clip(per_cycle * fastest * (span[1] - span[0]) / (2.0 * np.pi), fewest, most)
    return np.linspace(*span, PIECES * int(np.ceil(count / PIECES)) + 1)


def _constant(
    system: FrozenSystem, span: tuple[float, float], x: Array, tolerance: float
) -> Propagated:
    """By the exponential of a part between two records, in coordinates of equal energy."""
    stacked = np.stack([A.toarray() for A in (system.M, system.damping, system.stiffness)])
    frames = Frames.of(lambda _: stacked[:, None], np.zeros(1))
    times = _record_times(span, _fastest(frames, span, x, tolerance))
    X, n, h = frames.shapes[0], system.n, times[1] - times[0]
    scale = np.sqrt(np.maximum(np.abs(frames.squares[0]), (span[1] - span[0]) ** -2.0))
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.diag(scale)
    A[n:, :n], A[n:, n:] = -(X.T @ frames.K[0] @ X) / scale, -X.T @ frames.C[0] @ X
    step, states = la.expm(h * A), np.empty((len(times), 2 * n))
    a, rate = x.reshape(2, n) @ frames.M[0] @ X
    states[0] = np.concatenate([scale * a, rate])
    for i in range(len(times) - 1):
        states[i + 1] = step @ states[i]
    both = states.reshape(-1, 2, n)
    both[:, 0] /= scale
    round_off = float(np.finfo(float).eps * la.norm(A, 2) * (span[1] - span[0]))
    states = (both @ X.T).reshape(len(times), 2 * n)
    attributes = {"solver": "exponential", "order": np.inf}
    return times, states, round_off, attributes


def _sparse(
    model: FrozenSystem | InterpolatedMotion, span: tuple[float, float], x: Array, tolerance: float
) -> Vibration:
    """By collocation with sparse factors."""
    if isinstance(model, FrozenSystem):
        series, zero = FrozenSeries.of([model], np.zeros(1)).summed(), np.zeros(1)
        pattern = SharedPattern(series.pattern)
        values = np.zeros((3, 1, len(pattern.rows)))
        for part, name in zip(values, ("M", "C", "K"), strict=True):
            part[:, pattern.places] = series.values.get(name, zero)
        found = _sparse_steps(model, lambda _: Sparse(pattern, values), span, x, tolerance, 1)
        times, states, error, about = found
        return _vibration(times, states, _balance_of_constant(model, states), error, about)
    matrices, panels = _sparse_matrices(model), _panels(model, span)
    times, states, error, about = _sparse_steps(model, matrices, span, x, tolerance, panels)
    about |= _read_off(model)
    return _vibration(times, states, _balance(model, times, states), error, about)


def _sparse_matrices(motion: InterpolatedMotion) -> Matrices:
    """M, C + D and K at times, sparse."""
    entries, pattern = on_pattern(motion, *GROUPS[:3])
    read = SeparatedArrays(entries)
    return lambda times: Sparse(pattern, np.stack(read.many(times)))


def _panels(motion: InterpolatedMotion, span: tuple[float, float], rows: float = 24.0) -> int:
    """How many at first. rows: coefficients of the matrices' polynomials a panel."""
    length, period = span[1] - span[0], motion.period
    turns = length / period if period and length > 0.5 * period else 1.0
    return max(1, int(np.ceil(len(motion.interpolant.table) * turns / rows)))


def _read_off(motion: InterpolatedMotion) -> dict[str, Any]:
    """What a dataset says of the polynomial of its matrices."""
    polynomial = motion.interpolant
    return {
        "interpolated": str(polynomial), "interpolation_deviation": polynomial.deviation
    }  # fmt: skip


def _sparse_steps(
    model: FrozenSystem | InterpolatedMotion, matrices: Matrices, span: tuple[float, float],
    x: Array, tolerance: float, panels: int,
) -> Propagated:  # fmt: skip
    """Errors are measured with the stiffness at the start of each of `panels` equal parts."""
    (q, v), here, length = x.reshape(2, -1), freezer(model)(span[0]), span[1] - span[0]
    M, K = here.M, here.stiffness
    bent, moved = (float(y @ (A @ y)) for y, A in ((q, K), (q, M)))
    shaken, pushed = float(v @ (M @ v)), (M @ v) / M.diagonal()
    # The frequency of the displacement by itself, and of the velocity.
    squares = [bent / moved if moved > 0.0 else 0.0]
    squares.append(float(pushed @ (K @ pushed)) / shaken if shaken > 0.0 else 0.0)
    times = _record_times(span, float(np.sqrt(max(*squares, 0.0))))
    steps, equations = Collocation(matrices, length / panels), SecondOrderModel(model)
    allowed = (1.0 - WITHIN) * tolerance / panels, WITHIN * tolerance
    states, error, within, largest = [x[None]], 0.0, 0.0, 0.0
    for t, end in pairwise(np.linspace(*span, panels + 1).tolist()):
        norm = DisplacementNorm(equations, (t, t + length))

        def sizes(
            states: Array, h: float, norm: DisplacementNorm = norm, t: float = t
        ) -> tuple[Array, Array]:
            both = np.split(states, 2, axis=1)
            slow = norm.resolved(2.0 * h / PHASE, *both)
            fast = (x - y for x, y in zip(both, slow, strict=True))
            return norm(t, *slow), norm(t, *fast)

        try:
            largest = max(largest, float(norm(t, *x.reshape(2, -1))))
            inside = times[(times > t) & (times <= end)]
            parts = np.append(np.minimum((inside - t) / (end - t), 1.0), 1.0)
            found, lost, inner = steps.run(t, end - t, x, parts, allowed, sizes, largest)
        finally:
            norm.destroy()
        states.append(found[:-1])
        x, error, within = found[-1], error + lost, max(within, inner)
    attributes = {
        "solver": "Radau collocation", "order": 2 * STAGES - 1, "pairs_of_steps": steps.pairs,
    }  # fmt: skip
    return times, np.vstack(states), error + within, attributes


def _moving(
    motion: InterpolatedMotion, span: tuple[float, float], x: Array, tolerance: float,
    trial: Trial | None,
) -> Vibration:  # fmt: skip
    """By decoupled groups and by collocation, that of many DOFs with sparse factors; on the basis
    of a trial if that serves."""
    matrices: Matrices = trial.matrices if trial else motion.matrices
    start, about, missed = trial.state if trial else x, {}, 0.0
    allowed = tolerance - trial.by_basis if trial else tolerance
    first = Frames.of(matrices, np.array(span[:1]))
    times = _record_times(span, _fastest(first, span, start, tolerance))
    sparse = None if trial or motion.n <= FEW else _sparse_matrices(motion)
    found = propagated(matrices, span, start, times, allowed, _panels(motion, span), sparse)
    states = found.states
    if trial:
        both = states.reshape(len(times), 2, -1)
        trial.follow(SmallRun(times, both[:, 0], both[:, 1], 0.0 * times))
        missed = trial.by_basis
        if found.error + missed > tolerance:
            return _moving(motion, span, x, tolerance, None)
        states, about = (both @ trial.V.T).reshape(len(times), -1), {"basis": trial.description}
    attributes = {
        "solver": "decoupled groups of modes" if found.panels else "Radau collocation",
        "order": np.inf if found.panels else 2 * STAGES - 1,
        "panels": found.panels,
        "pairs_of_steps": found.pairs,
        **about,
        **_read_off(motion),
    }
    balance = _balance(motion, times, states)
    return _vibration(times, states, balance, found.error + missed, attributes)


def _balance_of_constant(system: FrozenSystem, states: Array) -> tuple[Array, Array]:
    """The energy of states (R, 2n) and its rate, by matrices that do not change."""
    q, v = np.split(states, 2, axis=1)
    M, D, K, S = system.M, system.damping, system.stiffness, potential(system)
    bent = (S @ q.T).T
    energy = 0.5 * (v * (M @ v.T).T + q * bent).sum(axis=1)
    return energy, (v * (bent - (D @ v.T + K @ q.T).T)).sum(axis=1)


def _balance(motion: InterpolatedMotion, times: Array, states: Array) -> Array:
    """½ q̇ᵀMq̇ + ½ qᵀSq of states (R, 2n), and its rate along the motion: forms on one pattern."""
    entries, pattern = on_pattern(motion, *GROUPS)
    M, C, K, S = entries.table.swapaxes(0, 1)
    S, rate = 0.5 * (S + S[:, pattern.transposed]), entries.differentiated
    terms = np.stack([M, S, 0.5 * rate(M) - C, S - K, 0.5 * rate(S)], axis=1)
    forms, out = SeparatedArrays(replace(entries, table=terms)), []
    q, v = np.split(states, 2, axis=1)
    batch = max(REMEMBERED, BATCH_NUMBERS // len(pattern.rows))
    for first in range(0, len(times), batch):
        at = slice(first, first + batch)
        here = [OnPattern(pattern, part) for part in forms.many(times[at])]
        right, left = (v, q, v, q, q), (v, q, v, v, q)
        products = [
            (y[at] * (A @ x[at])).sum(axis=1) for A, x, y in zip(here, right, left, strict=True)
        ]
        out.append(np.stack([0.5 * sum(products[:2]), sum(products[2:])]))
    return np.concatenate(out, axis=1)


def _vibration(
    times: Array, states: Array, balance: Any, error: float, attributes: dict[str, Any]
) -> Vibration:
    """Of states (R, 2n), with the energy and the integral of its rate, of `balance`."""
    (q, v), (energy, power) = np.split(states, 2, axis=1), balance
    work = CubicSpline(times, power).antiderivative()(times)
    attributes = {"steps": len(times) - 1, **attributes, "displacement_error_estimate": error}
    return Vibration(times, q, v, energy, work, attributes)
