"""The transient of a mechanism released in its first frozen mode, beside what the frozen modes
predict.

To first order (WKB) a mode's amplitude, measured by energy, changes at σ(t) and its phase at Im
λ(t); Re λ alone leaves the change of the mode's shape out (DESIGN.md, "What freezing leaves out").
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid

import assembly
import modal

STEPS_PER_CYCLE = 16  # of the Gauss method of order 4: phase error below 1e-5 a cycle
INITIAL = 1e-3  # m, transverse displacement at mid-rod when released


def compare_with_transient(
    mechanism: assembly.Mechanism, tracks: xr.Dataset, turns: int, progress: bool = False
) -> xr.Dataset:
    """Transient from the first mode at t = 0 over `turns` turns, with the predicted amplitudes.

    Dims: time (of the integration) and instant (of the tracks, repeated each turn). The amplitude
    is that of the first mode, √ of its energy, one at t = 0: identified from the transient by the
    left eigenvectors, predicted by σ and by Re λ alone.
    """
    period = float(tracks["time"][-1])
    t = np.concatenate([np.asarray(tracks["time"])[:-1] + k * period for k in range(turns)])
    t = np.append(t, turns * period)
    first = tracks.isel(mode=0)
    rate = {name: _repeat(first[name].values, turns) for name in RATES}
    predicted = {
        name: np.exp(cumulative_trapezoid(values, t, initial=0.0)) for name, values in rate.items()
    }
    start = modal.solve(mechanism.freeze(0.0), k=1)
    shape, lam = start.right[:, 0], start.eigenvalues[0]
    middle = _middle_of_rod(mechanism)
    shape = shape * (INITIAL / shape[middle])
    step = 2.0 * np.pi / abs(lam.imag) / STEPS_PER_CYCLE
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
    amplitude = _identify(mechanism, first, response, t)
    return xr.Dataset(
        {
            "displacement": (
                ("time",),
                response["displacement"].values[:, middle],
                {"units": "m", "long_name": "transverse displacement at mid-rod"},
            ),
            "amplitude": (
                ("instant",),
                amplitude / amplitude[0],
                {"units": "1", "long_name": "amplitude of the first mode, time integration"},
            ),
            "amplitude_corrected": (
                ("instant",),
                predicted["growth_rate_corrected"],
                {"units": "1", "long_name": "amplitude predicted by σ"},
            ),
            "amplitude_frozen": (
                ("instant",),
                predicted["growth_rate"],
                {"units": "1", "long_name": "amplitude predicted by Re λ"},
            ),
        },
        coords={
            "time": ("time", response["time"].values, {"units": "s", "long_name": "time"}),
            "instant": ("instant", t, {"units": "s", "long_name": "time"}),
        },
        attrs=response.attrs,
    )


RATES = ("growth_rate", "growth_rate_corrected")


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


def _repeat(values: NDArray[np.float64], turns: int) -> NDArray[np.float64]:
    return np.append(np.tile(values[:-1], turns), values[-1])


def _identify(
    mechanism: assembly.Mechanism, first: xr.Dataset, response: xr.Dataset, t: NDArray[np.float64]
) -> NDArray[np.float64]:
    """|amplitude| of the tracked mode in the transient, by the left vectors of the frozen instants.

    With state s = (q, v), right state x = (x, λx) of unit energy and the left state z of the
    pencil, s = Σ a_j x_j gives a = zᴴBs / zᴴBx, B = diag(I, M); z = (λ̄M + Cᵀ … ) follows from
    yᴴQ(λ) = 0.
    """
    q, v = response["displacement"].values, response["velocity"].values
    steps = np.asarray(response["time"])
    count = len(first["time"]) - 1
    out = np.empty(len(t))
    for i, instant in enumerate(t):
        k = int(np.argmin(np.abs(steps - instant)))
        lam_track = complex(first["eigenvalue"].values[i % count])
        system = mechanism.freeze(float(steps[k]))
        found = modal.solve(system, k=3)
        j = int(np.argmin(np.abs(found.eigenvalues - lam_track)))
        lam, x, y = found.eigenvalues[j], found.right[:, j], found.left[:, j]
        # yᴴ(2λM + C)x = 1 is the pairing of the first-order form, so the coordinate of s = (q, v)
        # is yᴴ((λM + C)q + Mv): with q = x, v = λx it is one.
        a = y.conj() @ (lam * (system.M @ q[k]) + system.damping @ q[k] + system.M @ v[k])
        energy = (
            abs(lam) ** 2 * (x.conj() @ (system.M @ x)) + x.conj() @ (system.stiffness @ x)
        ).real
        out[i] = abs(a) * np.sqrt(0.5 * energy)
    return out


def _middle_of_rod(mechanism: assembly.Mechanism) -> int:
    """Number, among the unknowns of the frozen system, of uy at the rod's middle node."""
    dofs = mechanism.freeze(0.0).dofs
    assert dofs is not None
    before = len(mechanism.bodies["crank"].dofs.coordinates)
    nodes = len(mechanism.bodies["rod"].dofs.coordinates)
    return dofs.index(before + nodes // 2, 1)
