"""The verdict of the command check, from the numbers above it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import modal


def floquet_lines(compared: modal.CrossCheck) -> list[str]:
    """What the Floquet exponents say, and of which modes they speak."""
    floquet = compared.floquet
    assert floquet is not None
    count = len(floquet.multipliers)
    if floquet.method == "dense":
        scope = f"all {count} multipliers of the model"
        others = []
    else:
        scope = f"the {count} multipliers of the slowest modes"
        others = ["  faster modes were not examined"]
    at = int(np.argmax(floquet.growth_rate))
    fastest = floquet.growth_rate[at]
    hertz = abs(floquet.exponents[at].imag) / (2.0 * np.pi)
    text = {
        "stable": "none grows",
        "unstable": "one grows",
        "undecided": "undecided, the error is larger than the growth",
    }[floquet.verdict]
    return [
        f"  {scope}: {text}; largest growth rate {fastest:+.4g} ± {floquet.error[at]:.1e} 1/s "
        f"(at {hertz:.6g} Hz, modulo {1.0 / floquet.period:.6g} Hz)",
        *others,
    ]


def verdict_lines(
    report: modal.PropertyReport, compared: modal.CrossCheck, steady: str | None = None
) -> list[str]:
    """Modes one by one: whose growth rate holds, whose frozen mode stands; then the one verdict.

    The verdict on a steady motion is that on all modes of any of its instants, `steady`; that on
    another periodic motion is of its Floquet exponents. What the frozen eigenvalues are worth is a
    line of its own.
    """
    modes = compared.dataset.mode.values
    outcomes = np.array([d.outcome for d in compared.diagnoses])
    stands = compared.stands
    lines = [f"the {len(modes)} modes followed (others were not examined)"]
    for outcome, text in (
        ("confirmed", "frozen growth rate is that of the unfrozen motion"),
        ("frozen misleads", "frozen growth rate is wrong, for the reason above"),
        ("undecided", "frozen growth rate could not be judged, for the reason above"),
    ):
        if np.any(outcomes == outcome):
            lines.append(f"  {_named(modes[outcomes == outcome])}: the {text}")
    if np.any(stands):
        lines.append(
            f"  {_named(modes[stands])}: the frozen interval covers a period of the vibration at "
            "every instant"
        )
    if not np.all(stands):
        shares = 100.0 * (1.0 - compared.dataset.frozen_share.values[~stands])
        lines.append(
            f"  {_named(modes[~stands])}: the frozen interval is shorter than a period of the "
            f"vibration in {_range(shares)} % of the motion; frequency and shape of an instant "
            "mean little there"
        )
    if not report.ok:
        failed = sorted({p.name for p in report.properties if p.verdict == "fails"})
        broken = f"verdict: the model breaks {', '.join(failed)}; do not trust its eigenvalues"
        return [*lines, "", broken]
    if steady is not None:
        return [*lines, f"  {_frozen(compared)}", "", f"verdict: {steady}"]
    if compared.floquet is None:
        return [*lines, "", f"verdict: {_frozen(compared)}"]
    return [*lines, f"  {_frozen(compared)}", "", compared.headline]


def _frozen(compared: modal.CrossCheck) -> str:
    """What the frozen eigenvalues are worth."""
    if compared.misleading:
        return "a frozen eigenvalue misleads here; use the unfrozen rates above"
    if not compared.confirmed:
        return "undecided whether the frozen rates hold; the remarks above say what to refine"
    if not np.all(compared.stands):
        return (
            "the frozen eigenvalues do not stand for the motion; only the mean growth rates of "
            "these modes are confirmed"
        )
    return "the frozen eigenvalues stand for the motion"


def _named(modes: Iterable[int]) -> str:
    numbers = [str(int(m) + 1) for m in modes]
    return ("mode " if len(numbers) == 1 else "modes ") + ", ".join(numbers)


def _range(values: NDArray[Any]) -> str:
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return low if low == high else f"{low} to {high}"
