"""The linear verdict on a mode against the nonlinear motion, by amplitude.

From the equilibrium q₀ of a steady motion, with an eigenpair (λ, x) of the frozen system about it,
nonlinear transients start at q₀ + a Re x, a Re λx: in the linear motion q₀ + a Re(x e^{λt}). What
other degrees of freedom need to be in balance at a finite amplitude is added to q₀ + a Re x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers, check_between
from assembly.errors import InputError
from assembly.magnitudes import EQUAL, check_count
from modal.checks.identification import rate_of_turns
from modal.checks.nonlinear_start import NonlinearStart
from modal.data.datasets import described, made_from, provenance
from modal.data.progress import shown
from modal.data.variables import CROSSCHECK_AMPLITUDES
from modal.transient.nonlinear import check_nonlinear
from modal.types import Array, Complex

STABLE = ("decays", "periodic", "bounded")  # outcomes that a stable linear verdict allows


def crosscheck_amplitudes(
    model: Any,
    amplitudes: ArrayLike,
    *,
    mode: int = 0,
    t: float = 0.0,
    cycles: int = 12,
    steps: int = 32,
    tolerance: float = 0.05,
    progress: bool | None = False,
) -> xr.Dataset:
    """Compare the frozen verdict on a mode with nonlinear transients of growing amplitude.

    Parameters
    ----------
    model : Mechanism or MovingBody
        In steady motion: its equilibrium and the mode do not depend on time.
    amplitudes : array_like, shape (A,)
        Positive, increasing. Largest displacement of the mode shape at the start, m; of a mode
        without displacements largest rotation, rad.
    mode : int, default 0
        Number of the mode in `modal.solve` of the frozen system about the equilibrium.
    t : float, default 0.0
        Start, s.
    cycles : int, default 12
        Length of the transients in cycles 2π/|λ|, 8 or more.
    steps : int, default 32
        Steps of a cycle, 8 or more; two and four times as many where a step fails.
    tolerance : float, default 0.05
        Differences of frequency and growth rate up to which the linear verdict holds, between 0
        and 1: of the frequency relative to |Im λ|, of the growth rate relative to |Re λ|. A mode
        that neither grows nor decays may do so by the square of `tolerance` times |λ|.
    progress : bool or None, default False
        Progress bar on stderr; None shows it in a terminal only.

    Returns
    -------
    xarray.Dataset
        Over "amplitude": frequency (Hz) and growth_rate (1/s) of the mode's coordinate, their
        differences from the linear ones, each relative to the linear one (to |λ| where that is
        zero), final_amplitude (m, rad), frequency_holds, growth_rate_holds (the growth rate and the
        stability), linear_holds (all), and outcome: "decays", "periodic", "bounded" (conservative,
        not periodic), "limit cycle", "another equilibrium", "grows" (to the end of the transient)
        or "diverges" (a step fails). Scalars: linear_frequency, linear_growth_rate, and
        linear_up_to, the largest amplitude up to which the linear verdict holds at all amplitudes,
        NaN for none; frequency_linear_up_to and growth_rate_linear_up_to the same for each.

    Raises
    ------
    InputError
        An argument cannot be used, or the motion is not steady.
    ConvergenceError
        There is no equilibrium at t, the modes could not be computed, or an amplitude is out of the
        range of the elements from the start.

    Notes
    -----
    Frequency and growth rate are those of the first turn of the phase of the coordinate
    yᴴB(q − q₀, q̇), y the left vector; of a real λ the growth rate is that over 1/|λ|. A periodic
    motion has its exact frequency, whatever its harmonics. The steps are those of the midpoint
    rule, whose error in λ is taken out in closed form; amplitudes are those of their middles. See
    docs/verdict.md.

    Examples
    --------
    >>> import assembly, modal
    >>> bob = assembly.rigid_body(2.0, 0.05, centre=(0.4, 0.0, 0.0), planar=True)
    >>> pendulum = assembly.Mechanism(
    ...     {"bob": bob}, [assembly.revolute("ground", (0, 0), "bob", (0, 0), name="hinge")],
    ...     [assembly.driver("hinge", 0.0, stiffness=0.0)], gravity=(9.81, 0.0, 0.0))
    >>> check = modal.crosscheck_amplitudes(pendulum, [0.1, 1.5], cycles=8, steps=8)
    >>> check.linear_holds.values.tolist(), float(check.linear_up_to)
    ([True, False], 0.1)
    """
    check_nonlinear(model, "lagrange", ())
    lengths = as_numbers(amplitudes, "amplitudes")
    if lengths.ndim != 1 or not lengths.size or not np.all(np.diff(lengths, prepend=0.0) > 0.0):
        raise InputError("amplitudes: expected positive increasing numbers, m or rad")
    check_count(mode, "mode", 0)
    check_count(cycles, "cycles", 8)
    check_count(steps, "steps", 8)
    check_between(tolerance, "tolerance", 0.0, 1.0)
    start = NonlinearStart(model, as_number(t, "t"), mode)
    start.check_steady(cycles * start.cycle, float(lengths[0]))
    rows = [
        _row(start, a, cycles, steps, tolerance)
        for a in shown(lengths.tolist(), "transients", "amplitude", progress)
    ]
    scalars = dict(
        linear_frequency=abs(start.lam.imag) / (2.0 * np.pi),
        linear_growth_rate=start.lam.real,
        linear_up_to=_up_to(lengths, rows, "linear_holds"),
        frequency_linear_up_to=_up_to(lengths, rows, "frequency_holds"),
        growth_rate_linear_up_to=_up_to(lengths, rows, "growth_rate_holds"),
    )
    dataset = xr.Dataset(
        {name: ("amplitude", [row[name] for row in rows]) for name in rows[0]} | scalars,
        coords={"amplitude": lengths},
        attrs=provenance(
            title="linear verdict on a mode against nonlinear transients",
            model=type(model).__name__,
            made_from=made_from(model),
            mode=mode,
            start=start.t,
            cycles=cycles,
            steps=steps,
            tolerance=tolerance,
        ),
    )
    return described(dataset, CROSSCHECK_AMPLITUDES)


def _up_to(amplitudes: Array, rows: list[dict[str, Any]], holds: str) -> float:
    """The largest amplitude up to which `holds` is true of all rows, NaN for none."""
    true = int(np.logical_and.accumulate([row[holds] for row in rows]).sum())
    return float(amplitudes[true - 1]) if true else np.nan


def _row(
    start: NonlinearStart, amplitude: float, cycles: int, steps: int, tolerance: float
) -> dict[str, Any]:
    """The results of one amplitude."""
    motion = start.motion(amplitude, cycles, steps)
    t, c, lam = motion.time, motion.coordinate, start.lam
    found = rate_of_turns(t, c) if start.oscillates else _real_rate(t, c, lam)
    # The midpoint rule turns e^{λt} into the powers of (2 + hλ)/(2 − hλ).
    found = complex(2.0 / motion.step * np.tanh(0.5 * motion.step * found))
    outcome, last = "diverges", np.nan
    if not motion.failed:
        outcome = outcome_of(c, lam, cycles * start.cycle, start.conservative)
        last = float(np.abs(np.array_split(motion.displacement, 4)[3]).max())
    of_frequency, of_growth = sizes(lam)
    same_frequency, same_growth = agreement(found, lam, outcome, tolerance)
    return dict(
        frequency=abs(found.imag) / (2.0 * np.pi),
        growth_rate=found.real,
        frequency_difference=(abs(found.imag) - abs(lam.imag)) / of_frequency,
        growth_rate_difference=(found.real - lam.real) / of_growth,
        final_amplitude=last,
        frequency_holds=same_frequency,
        growth_rate_holds=same_growth,
        linear_holds=same_frequency and same_growth,
        outcome=outcome,
    )


def _real_rate(t: Array, c: Complex, lam: complex) -> complex:
    """Growth rate over 1/|λ|, or to the end, of a mode that does not oscillate."""
    if len(t) < 2 or not c.all():
        return complex(np.nan)
    end, logs = min(1.0 / abs(lam), float(t[-1] - t[0])), np.log(np.abs(c))
    return complex((np.interp(t[0] + end, t, logs) - logs[0]) / end)


def outcome_of(
    coordinate: Complex,
    lam: complex,
    span: float,
    conservative: bool,
    *,
    settled: float = 0.02,
    vanished: float = 1e-3,
) -> str:
    """The outcome of a motion that was integrated to its end.

    coordinate (T,): at evenly spaced instants over `span` s, 1 at the start in the linear motion
    e^{λt}. Envelopes are the largest |coordinate| of the quarters of the motion. settled: relative
    change of an envelope from one quarter to the next. vanished: part of the initial amplitude.
    """
    third, last = np.array_split(coordinate, 4)[2:]
    envelope = float(np.abs(last).max())
    if not conservative and envelope < vanished * abs(coordinate[0]):
        return "decays"
    change = float(np.log(envelope / np.abs(third).max()))
    spreads = [float(np.abs(part - part.mean()).max()) for part in (third, last)]
    offset = abs(complex(last.mean()))
    if conservative:
        if abs(change) <= settled:
            return "periodic"
        return "grows" if change > 0.0 and envelope > 2.0 * abs(coordinate[0]) else "bounded"
    comes_to_rest = spreads[1] < (1.0 - settled) * spreads[0] or spreads[1] < settled * offset
    if comes_to_rest and offset > spreads[1]:
        return "another equilibrium"
    # A slow linear rate changes the envelope by less than `settled`, yet it has not settled.
    if abs(change) <= min(settled, 0.1 * abs(lam.real) * 0.25 * span):
        return "limit cycle"
    if change > 0.0:
        return "grows"
    # Where the equilibrium is unstable, a falling envelope ends at a finite amplitude.
    return "limit cycle" if lam.real > EQUAL * abs(lam) else "decays"


def sizes(lam: complex) -> tuple[float, float]:
    """The sizes, 1/s, to which differences of frequency and of growth rate are relative: |Im λ| and
    |Re λ|, each |λ| where there is none of it."""
    size = abs(lam)
    grows = abs(lam.real) > EQUAL * size
    return abs(lam.imag) or size, abs(lam.real) if grows else size


def agreement(motion: complex, lam: complex, outcome: str, tolerance: float) -> tuple[bool, bool]:
    """Whether the frequency of a motion is the linear one, and whether growth rate and stability
    are.

    motion: growth rate and angular frequency at the start, NaN for none. A mode without growth is
    taken to keep its amplitude where the motion's rate is below tolerance² |λ|.
    """
    frequency, growth = sizes(lam)
    same_frequency = abs(motion.imag - lam.imag) <= tolerance * frequency
    none = abs(lam.real) <= EQUAL * abs(lam)
    allowed = tolerance**2 * growth if none else tolerance * growth
    stable = outcome in STABLE if lam.real <= EQUAL * abs(lam) else motion.real > 0.0
    return same_frequency, abs(motion.real - lam.real) <= allowed and stable
