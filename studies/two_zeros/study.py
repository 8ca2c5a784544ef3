"""Two properties of the equations of elastic mechanisms: Scutaru & Vlase, J. Appl. Math. 2012,
628503, as they are printed and as they hold.

P1, the Rayleigh quotient, is printed for a real shape; the modes of a turning system are complex,
and uᴴCu is then imaginary, not zero. P2, two zero eigenvalues, is one Jordan block for one degree
of mobility without K(ε), K(ω²) and K_G; in general there are 2m − rank(VᵀCV) zeros. The paper's
transformation that takes them out is shown matrix by matrix, the sparse projector on a model a
dense matrix is too large for, and the pair is followed when the neglected terms act. The interval
Δt in which the motion may be taken as frozen, "difficult to estimate" there, is computed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from modal.data.units import units_of
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import dataset_of, merged, one_turn, report_of
from studies.two_zeros import data, figures
from studies.two_zeros.machines import slider_crank
from studies.two_zeros.transformation import small_case, text

__all__ = ["main", "report"]


def _rayleigh(dataset: xr.Dataset) -> Iterator[str]:
    omega = f"ω ({units_of(dataset['rayleigh_frequency'])})"
    yield "P1: frequency from the Rayleigh quotient, relative error"
    yield f"  {'':<15} {'mode':>4} {omega:>12} {'printed, real':>14} {'complex':>10} {'true':>10}"
    for name in dataset["example"].values:
        one = dataset.sel(example=name)
        for j, mode in enumerate(one["mode"].values):
            error = one["rayleigh_error"].values[j]
            yield (
                f"  {name:<15} {mode + 1:>4} {float(one['rayleigh_frequency'][j]):>12.3f} "
                f"{error[0]:>14.1e} {error[1]:>10.1e} {error[2]:>10.0e}"
            )


def _zeros(dataset: xr.Dataset) -> Iterator[str]:
    yield "P2: zero eigenvalues of (M, C, K)"
    yield (
        f"  {'':<21} {'equations':<11} {'m':>2} {'rank VᵀCV':>10} {'2m − rank':>10} {'found':>6} "
        f"{'their |λ| up to':>16} {'next |λ|':>10}"
    )
    for name in dataset["system"].values:
        for kind in dataset["equations"].values:
            one = dataset.sel(system=name, equations=kind)
            yield (
                f"  {name:<21} {kind:<11} {int(one['mobility']):>2} "
                f"{int(one['coupling_rank']):>10} {int(one['zeros_formula']):>10} "
                f"{int(one['zeros_found']):>6} {float(one['zeros_spread']):>16.1e} "
                f"{float(one['first_other']):>10.4g}"
            )


def _deflation(dataset: xr.Dataset) -> list[str]:
    about = dataset.attrs
    apart = dataset["deflated_sparse"] / dataset["deflated_dense"] - 1.0
    values = ", ".join(f"{v:.3f}" for v in dataset["deflated_large"].values)
    return [
        "deflation",
        f"  other eigenvalues: the sparse projector against the paper's T within "
        f"{float(abs(apart).max()):.0e}",
        "  a dense solver that keeps the zeros is off in the others by up to "
        f"{float(dataset['deflation_difference'].max()):.0e} (the slowest)",
        f"  sparse, {about['large_unknowns']} DOFs: {about['large_seconds']:.2f} s, "
        f"{about['large_zeros_removed']} zeros removed, chain residual "
        f"{about['large_chain_residual']:.0e}, backward errors up to "
        f"{float(dataset['deflated_large_error'].max()):.0e}",
        f"  ω = {values} {units_of(dataset['deflated_large'])}",
        f"  without deflation: {about['without_deflation']}",
    ]


def _pair(dataset: xr.Dataset) -> Iterator[str]:
    units = units_of(dataset["pair"])
    yield f"the pair over a turn of the slider-crank: largest |Re λ| and |Im λ| ({units})"
    for name in dataset["variant"].values:
        pair = dataset["pair"].sel(variant=name).values
        yield f"  {name:<16} {np.abs(pair.real).max():>9.3g} {np.abs(pair.imag).max():>9.3g}"
    rigid = dataset["pair_crank_angle"].values
    sizes = np.abs(rigid.real).max(), np.abs(rigid.imag).max()
    yield f"  {'in crank angle':<16} {sizes[0]:>9.3g} {sizes[1]:>9.3g}"
    gaps = []
    for name in data.COEFFICIENTS:
        exact = dataset[f"{name}_exact"]
        gaps.append(float(abs(dataset[name] - exact).max() / abs(exact).max()))
    yield (
        "  projected on q = v(t) δφ the equations are J, J'ω, ½J''ω² of the rigid mechanism within "
        + ", ".join(f"{gap:.0e}" for gap in gaps)
    )


def _interval(dataset: xr.Dataset) -> Iterator[str]:
    yield "frozen interval of the driven slider-crank (5 %), in turns of the crank"
    for mode in dataset["interval_mode"].values:
        one = dataset.sel(interval_mode=mode)
        values = one["interval"].values
        mixed = 100.0 * float((values == 0.0).mean())
        positive = values[values > 0.0]
        span = f"{positive.min():.2g} at the shortest" if positive.size else "none"
        vibrations = positive.min() / float(one["vibration_period"].max()) if positive.size else 0.0
        yield (
            f"  mode {mode}: {span}, {vibrations:.1f} of its vibrations; mixed with another mode "
            f"in {mixed:.0f} % of the turn"
        )


# P1, P2, the deflations, the pair and the frozen interval.
report = report_of(_rayleigh, _zeros, _deflation, _pair, _interval)


def main(
    *,
    modes: int = 6,
    speed_rpm: float = 1500.0,
    instants: int = 72,
    large_elements: int = 4000,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Rayleigh's quotient and the zero eigenvalues of Scutaru & Vlase (2012).

    Parameters
    ----------
    modes : int
        Modes whose Rayleigh quotients are computed.
    speed_rpm : float
        Speed of the slider-crank, rpm.
    instants : int
        Instants of one turn at which the pair of zeros is followed.
    large_elements : int
        Elements of each link of the model that only the sparse deflation can solve.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Accepted as by every study; this one shows none.

    Returns
    -------
    Dataset
        Quotients, counts of zeros, the pair over the turn and the deflated eigenvalues.

    Raises
    ------
    InputError
        Too few modes, instants or elements, or a speed that is not positive.
    """
    if modes < 1 or instants < 8 or large_elements < 8 or not speed_rpm > 0.0:
        raise InputError("modes: at least 1; instants, large_elements: at least 8; speed_rpm > 0")
    case = small_case()
    values = case.eigenvalues
    printed = dataset_of(
        data.VARIABLES, small_eigenvalues=values, small_mode=np.arange(1, len(values) + 1)
    )
    large = data.large_model(large_elements, 4, speed_rpm)
    dataset = merged(
        [
            data.quotients(modes),
            data.zero_counts(),
            data.pair_over_turn(speed_rpm, 4, instants),
            data.interval_over_turn(speed_rpm, 3, instants + 1),
            large,
            printed,
        ],
        data.VARIABLES,
        title="zero eigenvalues and Rayleigh quotient of Scutaru & Vlase (2012)",
        speed_rpm=speed_rpm,
        large_elements=large_elements,
        **large.attrs,
    )
    out.write_dataset("two-zeros.nc", dataset)
    out.write_text("transformation.txt", text(case) + "\n")
    out.explore(lambda: over_turn(speed_rpm, instants))
    out.draw(figures.quotients(dataset))
    out.draw(figures.zeros(dataset.sel(equations="literal")))
    out.draw(figures.intervals(dataset))
    out.draw(figures.pair(dataset))
    out.draw(figures.first_mode(speed_rpm))
    return dataset


def over_turn(speed_rpm: float, instants: int) -> modal.ExplorerView:
    """The modes of the slider-crank that no drive holds, over one turn, to explore."""
    mechanism = slider_crank(speed_rpm=speed_rpm)
    tracks = modal.track(mechanism, times=one_turn(mechanism, instants + 1), k=3, progress=False)
    return modal.explorer_view(tracks, mechanism, title="slider-crank that no drive holds")
