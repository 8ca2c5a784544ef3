"""Short tables of datasets, for the terminal."""

from __future__ import annotations

import numpy as np
from xarray import Dataset

from modal.data.units import units_of
from modal.maps.classes import shares


def table(dataset: Dataset) -> str:
    """The table that fits the dataset: tracks, map, or a list of its variables."""
    if "verdict" in dataset and "growth_rate" in dataset:
        return map_table(dataset)
    if "frequency" in dataset and "mode" in dataset.dims:
        return tracks_table(dataset)
    return str(dataset)


def tracks_table(tracks: Dataset) -> str:
    """One line a mode: kind, frequency range, largest growth rates, worst error, events."""
    dim = next(str(d) for d in tracks["frequency"].dims if d != "mode")
    first, last = (float(tracks[dim][i]) for i in (0, -1))
    frequency = f"frequency ({units_of(tracks['frequency'])})"
    lines = [
        f"{tracks.sizes['mode']} modes at {tracks.sizes[dim]} values of {dim}, "
        f"{first:.6g} to {last:.6g} {units_of(tracks[dim])}".rstrip(),
        f"{'mode':>4} {'kind':<8} {frequency:>23} {'Re λ max':>10} {'σ max':>10} "
        f"{'error':>8}  events",
    ]
    for mode in range(tracks.sizes["mode"]):
        track = tracks.isel(mode=mode)
        kinds = np.unique(track["kind"].values.astype(str))
        values = track["frequency"].values
        span = f"{np.nanmin(values):.4f} … {np.nanmax(values):.4f}"
        events = track["event"].values.astype(str)
        place = track["event_at"].values
        named = [
            f"{events[i]} at {place[i]:.4g}" for i in np.flatnonzero(~np.isin(events, ("none", "")))
        ]
        lines.append(
            f"{mode + 1:>4} {'/'.join(kinds):<8} {span:>23} {_most(track, 'growth_rate'):>10} "
            f"{_most(track, 'growth_rate_corrected'):>10} "
            f"{float(track['backward_error'].max()):>8.0e}  {'; '.join(named[:3])}"
            + (f" and {len(named) - 3} more" if len(named) > 3 else "")
        )
    return "\n".join(lines)


def _most(track: Dataset, name: str) -> str:
    values = track[name].values
    # + 0.0 turns the −0 of an undamped mode into 0.
    return f"{np.nanmax(values) + 0.0:.3g}" if np.any(np.isfinite(values)) else "-"


def map_table(grid: Dataset) -> str:
    """Shares of the verdicts and of their proofs, the worst point, and the largest error bound."""
    dims = [str(d) for d in grid["verdict"].dims]
    total = grid["verdict"].size
    lines = [f"map of {' × '.join(f'{grid.sizes[d]} {d}' for d in dims)} = {total} points"]
    lines += shares(grid)
    growth = grid["growth_rate"]
    worst = np.unravel_index(int(np.nanargmax(growth.values)), growth.shape)
    place = ", ".join(f"{d} = {float(grid[d][i]):.6g}" for d, i in zip(dims, worst, strict=True))
    largest = f"{float(growth.values[worst]):.4g} {units_of(growth)}".rstrip()
    lines.append(f"  largest growth rate {largest} at {place}")
    lines.append(f"  largest error bound {float(np.nanmax(grid['error_bound'].values)):.2g}")
    words, counts = np.unique(grid["source"].values.astype(str), return_counts=True)
    named = (f"{count} {word}" for word, count in zip(words, counts, strict=True))
    lines.append(f"  solved: {', '.join(named)}")
    return "\n".join(lines)
