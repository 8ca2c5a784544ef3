"""Three verdicts on a rotor side by side, and where they part: `modal.rotor_verdict`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from tqdm import tqdm

from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.data.datasets import described, provenance
from modal.data.variables import ROTOR
from modal.eigen.solve import solve
from modal.periodic.blade_sets import Blade
from modal.periodic.floquet import Method, floquet
from modal.periodic.multiblade import MultibladeFamily
from modal.periodic.multiblade_model import MultibladeModel
from modal.periodic.tolerances import RESOLVED
from modal.types import Array, Mask

METHODS = ("frozen", "multiblade", "floquet")


def rotor_verdict(
    model: Callable[[float], Any],
    speeds: ArrayLike,
    blades: Sequence[Blade],
    *,
    turning: Sequence[Sequence[int]] = (),
    k: int = 12,
    azimuths: int = 36,
    method: Method | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Largest growth rates of a rotor over its speed: frozen, averaged multiblade, and Floquet.

    Parameters
    ----------
    model : callable ``model(omega)``
        Returns the rotor at a speed, rad/s: an object with ``freeze(t)``.
    speeds : array_like, shape (T,)
        Speeds, rad/s, positive.
    blades, turning
        As of `multiblade`.
    k : int, default 12
        Number of modes of large models.
    azimuths : int, default 36
        Number of positions of a turn at which the rotor is frozen.
    method : {"dense", "reduced"}, optional
        Of `modal.floquet`.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.

    Returns
    -------
    xarray.Dataset
        Dimensions ("omega", "analysis"), analyses "frozen", "multiblade" and "floquet": growth_rate
        (1/s) and frequency (Hz) of the mode that grows most, differs. Over "omega": error (1/s),
        variation, name. The attribute `differences` lists the speeds where verdicts differ.

    Raises
    ------
    InputError
        An argument cannot be used.
    ConvergenceError
        A speed could not be computed.

    Notes
    -----
    Frozen: the largest Re λ at the azimuths, in the degrees of freedom that are alike in all
    blades. Multiblade: of the matrices averaged over the azimuth. Both are exact only where the
    multiblade matrices are constant, and the frozen one not even there. Floquet is the verdict: see
    docs/theory.md, "Rotors with blades".

    Examples
    --------
    >>> import numpy as np, assembly, modal
    >>> def rotor(omega):
    ...     I = np.eye(3)
    ...     return assembly.FrozenSystem(M=I, D=0.2 * I, K=0.1 * omega**2 * I)
    >>> verdict = modal.rotor_verdict(rotor, [10.0, 20.0], blades=([0], [1], [2]))
    >>> verdict["growth_rate"].sel(analysis="floquet").values.round(6).tolist()
    [-0.1, -0.1]
    """
    if not callable(model):
        raise InputError(
            f"model: expected a function of the speed, rad/s, that returns a model, got "
            f"{type(model).__name__}"
        )
    values = np.asarray(speeds, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(values > 0.0):
        raise InputError(f"speeds: expected a list of positive speeds, rad/s, got {speeds!r}")
    check_count(azimuths, "azimuths")
    family = MultibladeFamily(model, blades, turning)
    growth, hertz = (np.full((len(values), len(METHODS)), np.nan) for _ in range(2))
    error, varied, names = np.zeros(len(values)), np.zeros(len(values)), []
    quiet = None if progress is None else not progress
    for n, omega in enumerate(tqdm(values, desc="rotor", disable=quiet)):
        here = family.at(float(omega))
        growth[n, 0], hertz[n, 0] = _frozen(here, k, azimuths)
        modes = solve(here.mean, k=min(k, here.mean.n))
        worst = int(modes.growth_rate.argmax())
        growth[n, 1], hertz[n, 1] = modes.growth_rate[worst], modes.frequency[worst]
        names.append(here.names(modes)[worst])
        found = floquet(here, here.period, k=k, method=method)
        growth[n, 2], hertz[n, 2] = found.growth_rate[0], found.frequency[0]
        error[n], varied[n] = found.error[0], max(here.variation.values())
    limit = np.maximum(error, RESOLVED * values / (2.0 * np.pi))
    unstable = growth > limit[:, None]
    differs = unstable != unstable[:, 2:]
    columns: dict[str, Any] = {
        "growth_rate": (("omega", "analysis"), growth),
        "frequency": (("omega", "analysis"), hertz),
        "differs": (("omega", "analysis"), differs),
        "error": (("omega",), error),
        "variation": (("omega",), varied),
        "name": (("omega",), np.array(names)),
    }
    coords = {"omega": values, "analysis": list(METHODS)}
    attributes = provenance(
        title="verdicts on a rotor: frozen, averaged multiblade, Floquet",
        model=getattr(model, "__name__", type(model).__name__),
        azimuths=azimuths,
        differences=_differences(values, differs, unstable[:, 2]),
    )
    return described(xr.Dataset(columns, coords=coords, attrs=attributes), ROTOR)


def _frozen(here: MultibladeModel, k: int, azimuths: int) -> tuple[float, float]:
    """Largest Re λ (1/s) at positions of a turn, and the frequency (Hz) there, of the degrees of
    freedom that are alike in all blades."""
    times = (here.period * np.arange(azimuths) / azimuths).tolist()
    found = (solve(here.of_blades(t), k=min(k, here.mean.n)) for t in times)
    best = max(found, key=lambda modes: modes.growth_rate.max())
    worst = int(best.growth_rate.argmax())
    return float(best.growth_rate[worst]), float(best.frequency[worst])


def _differences(values: Array, differs: Mask, unstable: Mask) -> list[str]:
    """Ranges of speed where a method's verdict differs from Floquet's, in words."""
    out = []
    for column, method in enumerate(METHODS[:2]):
        wrong = differs[:, column]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]])))
        for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
            said, true = ("stable", "unstable") if unstable[first] else ("unstable", "stable")
            span = f"{values[first]:.6g}"
            if last > first:
                span += f" to {values[last]:.6g}"
            out.append(f"{method}: {said} at {span} rad/s, Floquet: {true}")
    return out
