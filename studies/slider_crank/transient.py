"""The transient of a mechanism released in its first frozen mode, beside what the frozen modes
predict.

To first order (WKB) a mode's amplitude, measured by energy, changes at σ(t) and its phase at Im
λ(t); Re λ alone leaves the change of the mode's shape out.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.sparse.linalg import splu

import assembly
import modal
from modal.data.datasets import described
from modal.types import Complex
from studies.slider_crank.variables import VARIABLES

STEPS_PER_CYCLE = 16  # of the Gauss method of order 4: phase error below 1e-5 a cycle
INITIAL = 1e-3  # m, transverse displacement at mid-rod when released
INVERSE_STEPS = 2  # of the inverse iteration: a tracked eigenvalue is known to 1e-8


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
    rate = {name: _repeat(first[name].values, turns) for name in RATES}
    predicted = {
        name: np.exp(cumulative_trapezoid(values, t, initial=0.0)) for name, values in rate.items()
    }
    start = modal.solve(mechanism.freeze(0.0), k=1)
    shape, lam = start.right[:, 0], start.eigenvalues[0]
    middle = _middle_of_rod(mechanism)
    shape = shape * (INITIAL / shape[middle])
    # Whole steps between instants: the transient then stops at every one, the same in every turn.
    longest = 2.0 * np.pi / abs(lam.imag) / STEPS_PER_CYCLE
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
    dataset = xr.Dataset(
        {
            "displacement": ("time", response["displacement"].values[:, middle]),
            "amplitude": ("instant", amplitude / amplitude[0]),
            "amplitude_corrected": ("instant", predicted["growth_rate_corrected"]),
            "amplitude_frozen": ("instant", predicted["growth_rate"]),
        },
        coords={"time": response["time"].values, "instant": t},
        attrs=response.attrs,
    )
    return described(dataset, VARIABLES)


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
    mechanism: assembly.Mechanism, first: xr.Dataset, response: xr.Dataset, between: int
) -> NDArray[np.float64]:
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
    for _ in range(INVERSE_STEPS):
        x, y = factor.solve(x / np.linalg.norm(x)), factor.solve(y / np.linalg.norm(y), trans="H")
    return x, y / (y.conj() @ (velocity @ x + lam * (system.M @ x))).conj()


def _middle_of_rod(mechanism: assembly.Mechanism) -> int:
    """Number, among the degrees of freedom of the frozen system, of uy at the rod's middle node."""
    dofs = mechanism.freeze(0.0).dofs
    assert dofs is not None
    before = len(mechanism.bodies["crank"].dofs.coordinates)
    nodes = len(mechanism.bodies["rod"].dofs.coordinates)
    return dofs.index(before + nodes // 2, 1)
