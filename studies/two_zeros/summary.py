"""The two-zeros study's numbers in words."""

from __future__ import annotations

import numpy as np
import xarray as xr

from modal.data.units import units_of
from studies.reporting.protocol import report_of
from studies.two_zeros.pair import COEFFICIENTS


def _rayleigh(dataset: xr.Dataset) -> list[str]:
    omega = f"ω ({units_of(dataset['rayleigh_frequency'])})"
    lines = [
        "P1: frequency from the Rayleigh quotient, relative error",
        f"  {'':<15} {'mode':>4} {omega:>12} {'printed, real':>14} {'complex':>10} {'true':>10}",
    ]
    for name in dataset["example"].values:
        one = dataset.sel(example=name)
        for j, mode in enumerate(one["mode"].values):
            error = one["rayleigh_error"].values[j]
            lines.append(
                f"  {name:<15} {mode + 1:>4} {float(one['rayleigh_frequency'][j]):>12.3f} "
                f"{error[0]:>14.1e} {error[1]:>10.1e} {error[2]:>10.0e}"
            )
    return lines


def _zeros(dataset: xr.Dataset) -> list[str]:
    lines = [
        "P2: zero eigenvalues of (M, C, K)",
        f"  {'':<21} {'equations':<11} {'m':>2} {'rank VᵀCV':>10} {'2m − rank':>10} {'found':>6} "
        f"{'their |λ| up to':>16} {'next |λ|':>10}",
    ]
    for name in dataset["system"].values:
        for kind in dataset["equations"].values:
            one = dataset.sel(system=name, equations=kind)
            lines.append(
                f"  {name:<21} {kind:<11} {int(one['mobility']):>2} "
                f"{int(one['coupling_rank']):>10} {int(one['zeros_formula']):>10} "
                f"{int(one['zeros_found']):>6} {float(one['zeros_spread']):>16.1e} "
                f"{float(one['first_other']):>10.4g}"
            )
    return lines


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


def _pair(dataset: xr.Dataset) -> list[str]:
    units = units_of(dataset["pair"])
    lines = [f"the pair over a turn of the slider-crank: largest |Re λ| and |Im λ| ({units})"]
    for name in dataset["variant"].values:
        pair = dataset["pair"].sel(variant=name).values
        lines.append(
            f"  {name:<16} {np.abs(pair.real).max():>9.3g} {np.abs(pair.imag).max():>9.3g}"
        )
    rigid = dataset["pair_crank_angle"].values
    sizes = np.abs(rigid.real).max(), np.abs(rigid.imag).max()
    lines.append(f"  {'in crank angle':<16} {sizes[0]:>9.3g} {sizes[1]:>9.3g}")
    gaps = []
    for name in COEFFICIENTS:
        exact = dataset[f"{name}_exact"]
        gaps.append(float(abs(dataset[name] - exact).max() / abs(exact).max()))
    lines.append(
        "  projected on q = v(t) δφ the equations are J, J'ω, ½J''ω² of the rigid mechanism within "
        + ", ".join(f"{gap:.0e}" for gap in gaps)
    )
    return lines


def _interval(dataset: xr.Dataset) -> list[str]:
    lines = ["frozen interval of the driven slider-crank (5 %), in turns of the crank"]
    for mode in dataset["interval_mode"].values:
        one = dataset.sel(interval_mode=mode)
        values = one["interval"].values
        mixed = 100.0 * float((values == 0.0).mean())
        positive = values[values > 0.0]
        span = f"{positive.min():.2g} at the shortest" if positive.size else "none"
        vibrations = positive.min() / float(one["vibration_period"].max()) if positive.size else 0.0
        lines.append(
            f"  mode {mode}: {span}, {vibrations:.1f} of its vibrations; mixed with another mode "
            f"in {mixed:.0f} % of the turn"
        )
    return lines


# P1, P2, the deflations, the pair and the frozen interval.
report = report_of(_rayleigh, _zeros, _deflation, _pair, _interval)
