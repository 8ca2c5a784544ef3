"""The frozen rates beside time integration and Floquet.

Over one turn: the transient of a mechanism released in its first frozen mode. To first order (WKB)
a mode's amplitude, measured by energy, changes at σ(t) and its phase at Im λ(t); Re λ alone leaves
the change of the mode's shape out. Over whole turns: the mean of σ, the Floquet exponents and the
growth of the transient at several speeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from scipy.integrate import cumulative_trapezoid
from scipy.sparse.linalg import splu

import assembly
import modal
from modal.data.datasets import described, provenance
from modal.data.variables import Table, Variable
from modal.types import Array, Complex
from studies.reporting.protocol import dataset_of, one_turn

VARIABLES: Table = {
    "displacement": Variable("transverse displacement at mid-rod", "m", ("time",)),
    "amplitude": Variable("amplitude of the first mode, time integration", "1", ("instant",)),
    "amplitude_corrected": Variable("amplitude predicted by σ", "1", ("instant",)),
    "amplitude_frozen": Variable("amplitude predicted by Re λ", "1", ("instant",)),
    "instant": Variable("time", "s"),
    "speed_rpm": Variable("crank speed", "rpm"),
    "first_damping": Variable("damping ratio of the first mode at t = 0", "1"),
    "growth_floquet": Variable("largest growth rate, Floquet", "s-1", ("speed_rpm",)),
    "growth_corrected": Variable("mean of σ over a turn, first mode", "s-1", ("speed_rpm",)),
    "growth_integrated": Variable("growth rate, time integration", "s-1", ("speed_rpm",)),
    "turn": Variable("crank position", "turns"),
}


def compare_with_transient(
    mechanism: assembly.Mechanism, tracks: xr.Dataset, turns: int, progress: bool = False
) -> xr.Dataset:
    """Transient from the first mode at t = 0, with the predicted amplitudes.

    Parameters
    ----------
    mechanism : Mechanism
        The slider-crank.
    tracks : Dataset
        Its tracks over one turn.
    turns : int
        Turns to integrate.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Dimensions `time` (of the integration) and `instant` (of the tracks, repeated each turn).
        The amplitude is that of the first mode, √ of its energy, one at t = 0: identified in the
        transient by the left eigenvectors, and predicted by σ and by Re λ alone.
    """
    period = float(tracks["time"][-1])
    t = np.concatenate([np.asarray(tracks["time"])[:-1] + k * period for k in range(turns)])
    t = np.append(t, turns * period)
    first = tracks.isel(mode=0)
    rates = ("growth_rate", "growth_rate_corrected")
    repeated = {n: np.append(np.tile(first[n].values[:-1], turns), first[n][-1]) for n in rates}
    predicted = {
        name: np.exp(cumulative_trapezoid(values, t, initial=0.0))
        for name, values in repeated.items()
    }
    start = modal.solve(mechanism.freeze(0.0), k=1)
    shape, lam = start.right[:, 0], start.eigenvalues[0]
    middle = _middle_of_rod(mechanism)
    shape = shape * (1e-3 / shape[middle])  # m at mid-rod when released
    # Whole steps between instants: the transient then stops at every one, the same in every turn.
    # 16 of the Gauss method of order 4 a cycle: a phase error below 1e-5.
    longest = 2.0 * np.pi / abs(lam.imag) / 16
    between = int(np.ceil(float(np.diff(tracks["time"]).max()) / longest))
    step = float(np.diff(tracks["time"]).min()) / between
    response = modal.integrate(
        mechanism,
        (0.0, turns * period),
        initial=(shape.real, (lam * shape).real),
        formalism="hamilton",
        method="gauss4",
        step=step,
        probes="all",
        progress=progress,
    )
    amplitude = _identify(mechanism, first, response, between)
    dataset = dataset_of(
        VARIABLES,
        displacement=response["displacement"].values[:, middle],
        amplitude=amplitude / amplitude[0],
        amplitude_corrected=predicted["growth_rate_corrected"],
        amplitude_frozen=predicted["growth_rate"],
        time=response["time"].values,
        instant=t,
    )
    return described(dataset.assign_attrs(response.attrs), VARIABLES)


def believed(compared: xr.Dataset) -> str:
    """Can the frozen rates be believed? How far each is from the integrated amplitude."""
    true = compared["amplitude"].values
    corrected, frozen = (
        float(np.abs(compared[name].values / true - 1.0).max())
        for name in ("amplitude_corrected", "amplitude_frozen")
    )
    turns = f"{float(compared['instant'][-1]):.3g} s of time integration"
    return (
        f"can it be believed? Over {turns} from the first mode, its amplitude is predicted by σ "
        f"within {100.0 * corrected:.1f} %, by Re λ alone within {100.0 * frozen:.1f} %"
    )


def _identify(
    mechanism: assembly.Mechanism, first: xr.Dataset, response: xr.Dataset, between: int
) -> Array:
    """|amplitude| of the tracked mode in the transient, by the left vectors of the frozen instants,
    which are those of the first turn in every turn. between: steps from one instant to the next.

    With state s = (q, v), right state x = (x, λx) of unit energy and the left state z of the
    pencil, s = Σ a_j x_j gives a = zᴴBs / zᴴBx, B = diag(I, M); z = (λ̄M + Cᵀ … ) follows from
    yᴴQ(λ) = 0.
    """
    q, v = (response[name].values[::between] for name in ("displacement", "velocity"))
    count = len(first["time"]) - 1
    out = np.empty(len(q))
    for i in range(count):
        system = mechanism.freeze(float(first["time"][i]))
        lam = complex(first["eigenvalue"].values[i])
        x, y = _vectors(system, lam)
        # yᴴ(2λM + C)x = 1 is the pairing of the first-order form, so the coordinate of s = (q, v)
        # is yᴴ((λM + C)q + Mv): with q = x, v = λx it is one.
        on_q, on_v = y.conj() @ (lam * system.M + system.damping), y.conj() @ system.M
        energy = (
            abs(lam) ** 2 * (x.conj() @ (system.M @ x)) + x.conj() @ (system.stiffness @ x)
        ).real
        turns = slice(i, None, count)
        out[turns] = np.abs(q[turns] @ on_q + v[turns] @ on_v) * np.sqrt(0.5 * energy)
    return out


def _vectors(system: assembly.FrozenSystem, lam: complex) -> tuple[Complex, Complex]:
    """Right and left vectors x, y (n,) of an eigenvalue, with yᴴ(2λM + C)x = 1, by inverse
    iteration."""
    velocity = lam * system.M + system.damping
    factor = splu((lam * velocity + system.stiffness).tocsc())
    x = y = np.ones(system.n, dtype=complex)
    for _ in range(2):  # a tracked eigenvalue is known to 1e-8
        x, y = factor.solve(x / np.linalg.norm(x)), factor.solve(y / np.linalg.norm(y), trans="H")
    return x, y / (y.conj() @ (velocity @ x + lam * (system.M @ x))).conj()


def _middle_of_rod(mechanism: assembly.Mechanism) -> int:
    """Number, among the degrees of freedom of the frozen system, of uy at the rod's middle node."""
    dofs, nodes = mechanism.freeze(0.0).dofs, len(mechanism.bodies["rod"].dofs.coordinates)
    assert dofs is not None
    return dofs.at("rod", nodes // 2, "uy")


def growth_over_speed(
    family: Callable[[float, float], assembly.Mechanism], chart: xr.Dataset, ratio: float
) -> xr.Dataset:
    """Growth rates over speed at the damping ratio of a chart that is nearest to `ratio`.

    Parameters
    ----------
    family : callable ``family(speed_rpm, first_damping)``
        The mechanism of a point of the chart.
    chart : Dataset
        Hill chart over speed_rpm and first_damping.
    ratio : float
        Damping ratio of the first mode.

    Returns
    -------
    Dataset
        Over speed_rpm: `growth_floquet`; `growth_corrected` and `growth_integrated` at some speeds,
        NaN at the others.
    """
    row = chart.sel(first_damping=ratio, method="nearest")
    damping, speeds = float(row["first_damping"]), row["speed_rpm"].values
    floquet = row["growth_rate"].values
    sigma, integrated = np.full((2, len(speeds)), np.nan)
    for n in _chosen(floquet):
        mechanism = family(float(speeds[n]), damping)
        sigma[n], integrated[n] = _corrected(mechanism), _integrated(mechanism)
    values = dict(growth_floquet=floquet, growth_corrected=sigma, growth_integrated=integrated)
    dataset = dataset_of(VARIABLES, **values, speed_rpm=speeds)
    dataset.attrs = provenance(title="growth over whole turns, three ways")
    return described(dataset.assign_coords(first_damping=damping), VARIABLES)


def _chosen(growth: Array, spaced: int = 4) -> list[int]:
    """Evenly spaced numbers, and those of the largest growth of each unstable range."""
    even = np.linspace(0, len(growth) - 1, min(spaced, len(growth))).round().astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], growth > 0.0, [0]])))
    peaks = [a + int(np.argmax(growth[a:b])) for a, b in edges.reshape(-1, 2)]
    return sorted({*even.tolist(), *peaks})


def _corrected(mechanism: assembly.Mechanism, instants: int = 13) -> float:
    """The mean of σ over a turn, of the first mode; NaN where it is not followed all the turn."""
    tracks = modal.track(mechanism, times=one_turn(mechanism, instants), k=2, progress=False)
    sigma = tracks["growth_rate_corrected"].isel(mode=0, time=slice(1, None))
    return float(sigma.mean("time", skipna=False))


def _integrated(mechanism: assembly.Mechanism, turns: int = 40, steps: int = 48) -> float:
    """Growth rate of √energy at whole turns, after the faster decaying motion has gone, 1/s."""
    period = mechanism.period
    assert period is not None
    start = modal.solve(mechanism.freeze(0.0), k=1).right[:, 0].real
    response = modal.integrate(
        mechanism, (0.0, turns * period), initial=(start, np.zeros_like(start)),
        formalism="hamilton", method="gauss4", step=period / steps, every=steps, progress=False,
    )  # fmt: skip
    later = slice(turns // 4, None)
    energy = response["energy"].values[later]
    return 0.5 * float(np.polyfit(response["time"].values[later], np.log(energy), 1)[0])


def agreement(compared: xr.Dataset) -> str:
    """What the comparison says, from its values."""
    there = compared.dropna("speed_rpm", subset=["growth_integrated"])
    floquet, sigma, integrated = (
        there[f"growth_{way}"].values for way in ("floquet", "corrected", "integrated")
    )
    speeds = there["speed_rpm"].values
    misled = speeds[sigma * integrated < 0.0]
    words = (
        f"at {len(speeds)} speeds time integration grows at Floquet's rate"
        f" within {np.abs(floquet - integrated).max():.2g} 1/s"
    )
    without, missing = "", speeds[np.isnan(sigma)]
    if missing.size:
        without = (
            f"; at {_listed(missing)} rpm that mode does not oscillate in a part of the turn"
            " and has no mean of σ"
        )
    if not misled.size:
        return f"{words}; the mean of σ of the first mode has no other sign{without}"
    return (
        f"{words}; the mean of σ of the first mode, from frozen instants, has the wrong sign"
        f" at {_listed(misled)} rpm (parametric resonance){without}"
    )


def _listed(speeds: Array) -> str:
    return ", ".join(f"{speed:.0f}" for speed in speeds)


def first_look(chart: xr.Dataset, compared: xr.Dataset) -> str:
    """The caption of the chart above the comparison, from their values."""
    verdict = chart["verdict"].values
    damping = float(compared["first_damping"])
    return (
        "A slider-crank with an elastic rod. Top: the Floquet verdict over speed and damping,"
        f" {(verdict >= 0).sum()} of {verdict.size} points decided,"
        f" {(verdict > 0).sum()} unstable. Bottom, at damping ratio {damping:.3g}: "
        f"{agreement(compared)}."
    )
