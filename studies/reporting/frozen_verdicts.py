"""The verdict on all modes at a few states of a track, or the rates of a few instants, in words.

A frozen verdict is one on the machine where its equations do not change: at a state of a parameter,
or in a steady motion. At an instant of another motion the frozen system has a growth rate, which
holds while the instant lasts, and no verdict: that is of Floquet, or of the transient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xarray import Dataset

import modal
from assembly.errors import FrozenMotionError
from assembly.magnitudes import ROUND_OFF
from assembly.system.frozen import FrozenSystem
from modal.data.units import units_of
from modal.proofs.verdict import largest_rate
from modal.types import Array

HEAD = "verdict of modal.stability on all modes of the frozen system"
INSTANT = (
    "rate of the instant, from modal.stability of the frozen system; it holds while the instant "
    "lasts, and is no verdict on the motion:"
)


def verdicts(
    tracks: Dataset, freeze: Callable[[float], FrozenSystem], k: int, ends: bool = True
) -> str:
    """Lines of verdict and proof, or of rates, where a followed mode grows most and at both ends.

    Parameters
    ----------
    tracks : Dataset
        Tracks over one parameter or over time.
    freeze : callable
        The frozen system at a value of the tracks' parameter.
    k : int
        Lowest modes to examine where nothing proves a statement on all modes.
    ends : bool
        Whether the first and the last value are examined too.
    """
    dim = next(str(d) for d in tracks["eigenvalue"].dims if d != "mode")
    units = units_of(tracks[dim])
    values = [float(tracks[dim][i]) for i in _chosen(tracks, dim, ends)]
    all_values = tracks[dim].values.astype(float)
    is_state = dim != "time" or is_steady(freeze, all_values)
    lines = [f"{HEAD}:" if is_state else INSTANT]
    for value in values:
        lines.append(
            f"  {dim} = {value:.6g} {units}".rstrip()
            + f": {verdict(freeze(value), k, not is_state)}"
        )
    return "\n".join(lines)


def verdict(system: FrozenSystem, k: int, rate: bool = False) -> str:
    """Verdict and proof in one line, or the largest growth rate; why there is none where no modes
    are computed."""
    try:
        judged = modal.stability(system, k)
    except FrozenMotionError as fault:
        return f"{'not known' if rate else 'undecided'}: {fault}"
    return largest_rate(judged) if rate else str(judged).splitlines()[0]


def is_steady(freeze: Callable[[float], FrozenSystem], values: Array) -> bool:
    """Whether the equations are the same at the first of some times and at two others.

    The others divide the span in no ratio that a period has.
    """
    span = values[-1] - values[0]
    first, *others = (freeze(float(values[0] + s * span)) for s in (0.0, 0.3819660, 0.7861514))
    return all(
        abs(A - B).max() <= ROUND_OFF * max(abs(A).max(), abs(B).max())
        for other in others
        for A, B in (
            (getattr(first, name), getattr(other, name)) for name in ("M", "damping", "stiffness")
        )
    )


def _chosen(tracks: Dataset, dim: str, ends: bool) -> list[int]:
    """Numbers of the value of largest growth rate and, if asked for, of both ends."""
    counted = tracks["growth_rate"].where(tracks["kind"] != "prescribed")
    rates = counted.transpose(dim, "mode").values
    chosen = {0, len(rates) - 1} if ends else set()
    if np.isfinite(rates).any():
        chosen.add(int(np.nanargmax(np.nanmax(rates, axis=1, initial=-np.inf))))
    return sorted(chosen or {0})
