"""The verdict on all modes at a few instants or states of a track, in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xarray import Dataset

import modal
from assembly.errors import FrozenMotionError
from assembly.system.frozen import FrozenSystem
from modal.data.units import units_of

HEAD = "verdict of modal.stability on all elastic modes of the frozen system"
INSTANT = (
    "  a growth rate of an instant holds while the instant lasts; over a period the Floquet "
    "exponents decide (modal.floquet)"
)


def verdicts(
    tracks: Dataset, freeze: Callable[[float], FrozenSystem], k: int, ends: bool = True
) -> str:
    """Lines of verdict, proof and place where a followed mode grows most, and at both ends.

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
    lines = [f"{HEAD}:"]
    for i in _chosen(tracks, dim, ends):
        value = float(tracks[dim][i])
        lines.append(f"  {dim} = {value:.6g} {units}".rstrip() + f": {verdict(freeze(value), k)}")
    return "\n".join(lines + [INSTANT] * (dim == "time"))


def verdict(system: FrozenSystem, k: int) -> str:
    """Verdict and proof in one line; why there is none where no modes are found."""
    try:
        return str(modal.stability(system, k)).splitlines()[0]
    except FrozenMotionError as fault:
        return f"undecided: {fault}"


def _chosen(tracks: Dataset, dim: str, ends: bool) -> list[int]:
    """Numbers of the value of largest growth rate and, if asked for, of both ends."""
    counted = tracks["growth_rate"].where(tracks["kind"] != "prescribed")
    rates = counted.transpose(dim, "mode").values
    chosen = {0, len(rates) - 1} if ends else set()
    if np.isfinite(rates).any():
        chosen.add(int(np.nanargmax(np.nanmax(rates, axis=1, initial=-np.inf))))
    return sorted(chosen or {0})
