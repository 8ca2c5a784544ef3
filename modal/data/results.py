"""Datasets whose printed form begins with their verdict."""

from __future__ import annotations

from html import escape

import numpy as np
import xarray as xr
from xarray import DataArray, Dataset

from modal.data.growth import growing
from modal.data.units import units_of

INSTANTS = ("time", "turn")  # dimensions over which a state is an instant of a motion


class Results(xr.Dataset):  # type: ignore[no-untyped-call]
    """An `xarray.Dataset` of which `print` and notebooks show the verdict first.

    The line is read off the content when it is shown: it is that of what a selection leaves.
    Selections, copies and `xarray.concat` keep it; `merge`, `where` and files opened by xarray give
    plain datasets, which have no line.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        plain = super().__repr__().replace(f"<xarray.{type(self).__name__}>", "<xarray.Dataset>", 1)
        return f"{verdict_line(self)}\n{plain}"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(verdict_line(self))}</b></p>{super()._repr_html_()}"


def as_results(dataset: Dataset) -> Results:
    """The dataset with its verdict in the printed form; it shares the arrays."""
    results = Results(dataset.data_vars, dataset.coords, dataset.attrs)
    results.encoding = dataset.encoding
    for words in results.variables.values():
        if words.dtype.kind == "U":  # of any length, which Zarr specifies, in a store
            words.encoding["dtype"] = object
    return results


def verdict_line(dataset: Dataset) -> str:
    """The verdict of a dataset in one line; why there is none else."""
    if dataset.chunks:
        return "verdict: not loaded; dataset.load() reads the values"
    if not all(dataset.sizes.values()):
        return "verdict: none, the dataset is empty"
    for names, line in LINES:
        if set(names) <= set(dataset.variables) and _has_its_states(dataset):
            return f"verdict: {line(dataset)}"
    return f"verdict: none ({dataset.attrs.get('title', 'dataset')})"


def _has_its_states(dataset: Dataset) -> bool:
    """Whether the rows are states: a mean over a parameter takes its coordinate, or makes numbers
    of codes, and has no verdict."""
    swept = str(dataset.attrs.get("parameters", "")).split(", ")
    rows = dataset["verdict"] if "verdict" in dataset else None
    if rows is not None and "flag_values" in rows.attrs:
        return set(swept) <= set(dataset.coords) and rows.dtype.kind == "i"
    return "error" not in dataset or bool(set(dataset.coords) - {"mode"})


def _of_map(grid: Dataset) -> str:
    """Points of each verdict; "stable" without a proof on all modes is undecided."""
    verdict = grid["verdict"]
    names = str(verdict.attrs["flag_meanings"]).split()
    words = dict(zip(np.ravel(verdict.attrs["flag_values"]).tolist(), names, strict=True))
    unproved = (grid["proof"] == 0) & (verdict == 0)
    codes = verdict.where(~unproved, min(words)).values[grid["done"].values]
    counts = {words[code]: int((codes == code).sum()) for code in words}
    undecided = counts.pop("undecided") + verdict.size - codes.size
    floquet = "Floquet" in str(grid.attrs.get("title"))
    whose = "periodic motions (Floquet)" if floquet else "frozen states"
    if _of_instants(verdict):
        whose = "frozen instants; none on the motion"
    shares = [f"{count} {word}" for word, count in counts.items() if count]
    shares += [f"{undecided} undecided or not computed"] * bool(undecided)
    return f"{', '.join(shares)} of {_count(verdict.size, 'point')}, of {whose}"


def _of_tracks(tracks: Dataset) -> str:
    """Growing modes among those followed, and what is known of the others."""
    rate, mask = tracks["eigenvalue"].real, growing(tracks)
    line = _followed(rate, mask)
    beyond = tracks["unstable_not_followed"] if "unstable_not_followed" in tracks else None
    if beyond is None or not (beyond >= 0).any():
        line += "; other modes: not known"
    elif (beyond > 0).any():
        line += f"; {int(beyond.max())} unstable not followed"
    else:
        judged = _count(int((beyond >= 0).sum()), "value")
        line += f"; no other mode is unstable at the {judged} where all were judged"
    return f"none on the motion; of its frozen instants, {line}" if _of_instants(rate) else line


def _of_periodic(tracks: Dataset) -> str:
    """Floquet modes that grow, and those within their error."""
    rate, error = tracks["growth_rate"], tracks["error"]
    line = f"over the periods (Floquet), {_followed(rate, rate > error)}"
    unclear = int((abs(rate) <= error).sum())
    return line + (f"; {_count(unclear, 'rate')} within the error" if unclear else "")


def _followed(rate: DataArray, mask: DataArray, which: str = "followed") -> str:
    """How many modes grow anywhere, where the largest rate is, and how many are lost somewhere."""
    others = [dim for dim in mask.dims if dim != "mode"]
    modes = mask.sizes.get("mode", 1)
    count = int(mask.any(others).sum())
    missing = int(rate.isnull().any(others).sum())
    lost = f", {missing} lost somewhere" if missing else ""
    if not count:
        return f"none of {_count(modes, 'mode')} {which} grows{lost}"
    worst = rate.where(mask).fillna(-np.inf)
    place = {str(dim): int(i) for dim, i in worst.argmax(worst.dims).items()}
    here = rate.isel(place)
    at = ", ".join(
        f"{dim} = {here[dim].item():.6g} {units_of(rate[dim])}".rstrip()
        for dim in others
        if dim in rate.coords
    )
    line = f"{count} of {_count(modes, 'mode')} {which} grow, at most {here.item():+.4g} 1/s"
    return line + (f" at {at}" if at else "") + lost


def _of_rotor(rotor: Dataset) -> str:
    """Speeds at which a rotor is unstable by Floquet, and where other methods differ."""
    rate = rotor["growth_rate"].sel(analysis="floquet")
    unstable = int((rate > rotor["error"]).sum())
    unclear = int((abs(rate) <= rotor["error"]).sum())
    differ = rotor["differs"].any("omega") if "omega" in rotor["differs"].dims else rotor["differs"]
    others = [str(name) for name in rotor["analysis"].values[differ.values]]
    line = f"unstable at {unstable} of {_count(rate.size, 'speed')} (Floquet)"
    line += f", within the error at {unclear}" if unclear else ""
    return line + (f"; other verdict somewhere: {', '.join(others)}" if others else "")


def _of_crosscheck(compared: Dataset) -> str:
    words, counts = np.unique(compared["verdict"].values.astype(str), return_counts=True)
    shares = ", ".join(f"{n} {word}" for word, n in zip(words, counts, strict=True))
    line = f"frozen growth rates against the motion: {shares}"
    rate = compared["floquet_rate"]
    if not np.isfinite(rate).any():
        return f"{line}; no period, so no verdict over periods"
    error = compared["floquet_error"]
    grow = int((rate > error).sum())
    found = f"{grow} of {_count(rate.size, 'mode')} grow over the periods (Floquet)"
    return f"{line}; {found}"


def _of_amplitudes(compared: Dataset) -> str:
    limit = compared["linear_up_to"].item()
    if not limit > 0.0:
        return "the linear one holds at none of the amplitudes"
    return f"the linear one holds up to the amplitude {limit:.4g}"


def _of_modes(modes: Dataset) -> str:
    mask = (modes["eigenvalue"].real > modes["error_bound"]) & (modes["kind"] == "elastic")
    return f"{_followed(modes['eigenvalue'].real, mask, 'examined')}; other modes: not known"


def _of_instants(values: DataArray) -> bool:
    """Whether the states are instants of a motion, which have no verdict on it."""
    return bool(set(INSTANTS) & (set(values.dims) | set(values.coords)))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


LINES = (  # variables by which a kind of dataset is known, and its line
    (("verdict", "proof", "done"), _of_map),
    (("verdict", "floquet_rate", "floquet_error"), _of_crosscheck),
    (("linear_up_to",), _of_amplitudes),
    (("differs", "growth_rate", "error", "analysis"), _of_rotor),
    (("growth_rate", "error", "eigenvalue"), _of_periodic),
    (("eigenvalue", "error_bound", "kind"), _of_modes),
    (("eigenvalue", "frequency", "kind"), _of_tracks),
)
