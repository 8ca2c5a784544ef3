"""Following Floquet modes over a parameter: `modal.track_periodic`.

A Floquet mode p(t) e^{λt} is one eigenvector of A(t) − d/dt on periodic functions, Hill's operator,
for each multiple of 2πi/T: the harmonics of p, shifted. Which of them continues a mode is decided
by its shape, as for frozen modes and by the same matching (modal/tracking/matching.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike
from tqdm import tqdm

from assembly.arguments import axis_values
from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.data.datasets import constants_text, described, provenance
from modal.data.variables import PERIODIC
from modal.periodic.floquet import Method, floquet
from modal.periodic.floquet_modes import FloquetModes
from modal.periodic.periodic_modes import harmonics
from modal.tracking.following import Rules
from modal.tracking.matching import Match, Overlap, align, assign
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index

Period = float | Callable[..., float]

HARMONICS = 24  # largest number of a harmonic in the comparison


@dataclass(frozen=True)
class Point:
    """The Floquet modes at one value, and the snapshot of Hill's modes.

    numbers (K,): which of the Floquet modes each of Hill's modes is. The first `base` of these are
    the modes with their strongest harmonics.
    """

    found: FloquetModes
    snapshot: Snapshot
    numbers: Index

    @property
    def base(self) -> int:
        return len(np.unique(self.numbers))


def track_periodic(
    family: Callable[..., Any],
    period: Period,
    *,
    k: int = 6,
    guard: int | None = None,
    method: Method | None = None,
    rules: Rules | None = None,
    fixed: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **parameter: ArrayLike,
) -> xr.Dataset:
    """Follow Floquet modes over one parameter.

    Parameters
    ----------
    family : callable ``family(**point)``
        Returns the model of a value: an object with ``freeze(t)``, or a callable A(t).
    period : float or callable ``period(**point)``
        Period of the motion, s.
    k : int, default 6
        Number of modes that are followed, one of each conjugate pair: those of lowest frequency
        of their strongest harmonic at the first value.
    guard : int, optional
        Number of further modes in the comparison. Default: all that the analysis finds, at most
        2 k.
    method : {"dense", "reduced"}, optional
        Of `modal.floquet`.
    rules : modal.Rules, optional
        Thresholds of the matching.
    fixed : mapping, optional
        Constant arguments of `family` and of a callable `period`.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.
    **parameter : array_like, shape (T,)
        Values of the parameter, strictly rising or falling.

    Returns
    -------
    xarray.Dataset
        Dimensions (parameter, "mode"): eigenvalue (rad/s), frequency (Hz), growth_rate and error
        (1/s), mac. NaN from where a mode is lost.

    Raises
    ------
    InputError
        An argument cannot be used.
    ConvergenceError
        A value could not be computed.

    Notes
    -----
    Modes are compared as eigenvectors of Hill's operator, by all harmonics of their displacements,
    and assigned as frozen modes are. A step with a MAC below `rules.clear_mac` is halved. The
    harmonic that is followed is the strongest at the first value; elsewhere its shape decides.

    Examples
    --------
    >>> import numpy as np, modal
    >>> def mathieu(drive):
    ...     return lambda t: np.array([[0.0, 1.0], [-4.0 - drive * np.cos(3.0 * t), -0.1]])
    >>> tracks = modal.track_periodic(mathieu, 2 * np.pi / 3.0, drive=[0.0, 0.2, 0.4], k=1)
    >>> tracks["frequency"].values.ravel().round(4).tolist()
    [0.3182, 0.3181, 0.3178]
    """
    name, values = _sweep(parameter)
    check_count(k, "k")
    rules, constants = rules or Rules(), dict(fixed or {})
    count = k + (2 * k if guard is None else int(guard))

    def at(value: float) -> Point:
        point = {name: value, **constants}
        T = period(**point) if callable(period) else period
        found = floquet(family(**point), T, k=count, method=method)
        return Point(found, *_hill_snapshot(value, found, count))

    mac_found, error = (np.full((len(values), k), np.nan) for _ in range(2))
    eigenvalue = np.full((len(values), k), np.nan, dtype=complex)
    quiet = None if progress is None else not progress
    with tqdm(total=len(values), desc="Floquet", disable=quiet) as bar:
        here = at(float(values[0]))
        chosen = np.full(k, -1, dtype=np.intp)
        chosen[: min(k, here.base)] = np.arange(min(k, here.base))
        mac, slope = np.ones(k), np.zeros(k, dtype=complex)
        for n, value in enumerate(values):
            if n:
                there = at(float(value))
                here, chosen, mac = _follow(here, there, chosen, slope, rules, at, rules.halvings)
                after = _values(here, chosen)
                slope = np.nan_to_num((after - eigenvalue[n - 1]) / (value - values[n - 1]))
            eigenvalue[n] = _values(here, chosen)
            seen = np.flatnonzero(chosen >= 0)
            mac_found[n, seen] = mac[seen]
            error[n, seen] = here.found.error[here.numbers[chosen[seen]]]
            bar.update()
    lost = np.isnan(eigenvalue)
    columns = {
        "eigenvalue": eigenvalue,
        "frequency": np.where(lost, np.nan, np.abs(eigenvalue.imag) / (2.0 * np.pi)),
        "growth_rate": eigenvalue.real,
        "error": error,
        "mac": mac_found,
    }
    data = {key: ((name, "mode"), column) for key, column in columns.items()}
    coords = {name: values, "mode": np.arange(k)}
    attributes = provenance(
        title=f"Floquet modes followed over {name}",
        model=getattr(family, "__name__", type(family).__name__),
        fixed=constants_text(constants),
        solver="Floquet multipliers at every value",
    )
    return described(xr.Dataset(data, coords=coords, attrs=attributes), PERIODIC)


def _sweep(parameter: Mapping[str, ArrayLike]) -> tuple[str, Array]:
    if len(parameter) != 1:
        raise InputError(f"give one parameter as an array, got {', '.join(parameter) or 'none'}")
    ((name, given),) = parameter.items()
    values = axis_values(name, given)
    steps = np.diff(values)
    if not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        raise InputError(f"{name}: expected finite numbers that only rise or only fall")
    return name, values


def _values(point: Point, chosen: Index) -> Complex:
    """Eigenvalues of the modes that are followed, NaN for those that are lost."""
    return np.where(chosen >= 0, point.snapshot.eigenvalues[chosen], np.nan)


def _follow(
    here: Point,
    there: Point,
    chosen: Index,
    slope: Complex,
    rules: Rules,
    at: Callable[[float], Point],
    left: int,
) -> tuple[Point, Index, Array]:
    """The modes `chosen` of one value at another: its modes, and the MACs. The step is halved
    while a MAC is not clear."""
    followed = np.flatnonzero(chosen >= 0)
    a = _rows(here.snapshot, chosen[followed])
    b = align(there.snapshot, a)
    a = align(a, _rows(b, np.arange(there.base)))
    overlap = Overlap.between(a, b)
    predicted = a.eigenvalues + slope[followed] * (b.at - a.at)
    match = _one_of_each(a, b, overlap, predicted, there.numbers)
    if left > 0 and np.any(match.mac < rules.clear_mac):
        middle = at(0.5 * (a.at + b.at))
        half, inside, first = _follow(here, middle, chosen, slope, rules, at, left - 1)
        last, outside, second = _follow(half, there, inside, slope, rules, at, left - 1)
        return last, outside, np.minimum(first, second)
    onward = np.full(len(chosen), -1, dtype=np.intp)
    onward[followed] = np.where(match.mac >= rules.least_mac, match.target, -1)
    mac = np.zeros(len(chosen))
    mac[followed] = match.mac
    return replace(there, snapshot=b), onward, mac


def _one_of_each(
    a: Snapshot, b: Snapshot, overlap: Overlap, predicted: Complex, numbers: Index
) -> Match:
    """The assignment in which no two modes continue as shifts of the same mode."""
    for _ in range(a.size**2 + 1):
        match = assign(a, b, overlap, predicted)
        number = numbers[match.target]
        losers = []
        for one in np.unique(number):
            same = np.flatnonzero(number == one)
            worse = same[np.argsort(-match.mac[same], kind="stable")][1:]
            losers += [(int(i), int(one)) for i in worse]
        if not losers:
            break
        mac, mirrored = overlap.mac.copy(), overlap.mirrored_mac.copy()
        for i, taken in losers:
            mac[i, numbers == taken] = mirrored[i, numbers == taken] = 0.0
        overlap = replace(overlap, mac=mac, mirrored_mac=mirrored)
    return match


def _hill_snapshot(
    at: float, found: FloquetModes, k: int, shifts: int = 2, independent: float = 1e-10
) -> tuple[Snapshot, Index]:
    """A snapshot of the k lowest modes with Im λ ≥ 0, each with its shifts.

    Returns also the number of each mode in `found`. The first are the modes with their strongest
    harmonic, the others are their shifts.

    shifts: multiples of 2πi/T by which the strongest harmonic may change between two values.
    independent: relative size of the directions that count in the span of the modes.
    """
    base = 2j * np.pi / found.period
    lam, strongest = found.eigenvalues, found.strongest
    there = np.isfinite(found.error) & (lam.imag >= -1e-9 * np.abs(lam))
    there &= np.isfinite(found.orbits[0]).all(axis=0)
    lowest = np.flatnonzero(there)
    lowest = lowest[np.argsort(np.abs(lam[lowest]), kind="stable")][:k]
    numbers, columns, values = [], [], []
    coefficients, order = harmonics(found.orbits[:, :, lowest])
    scale = float(np.median(np.abs(lam[lowest]))) if lowest.size else 1.0
    for shift in sorted(range(-shifts, shifts + 1), key=abs):
        for column, mode in enumerate(lowest):
            eigenvalue = lam[mode] + shift * base
            centred = _centred(coefficients[:, :, column], order, strongest[mode] + shift)
            state = _state(found, centred, eigenvalue, scale)
            # One of each conjugate pair: the matching compares with the conjugates too.
            turned = eigenvalue.imag < 0.0
            numbers.append(mode)
            values.append(eigenvalue.conjugate() if turned else eigenvalue)
            columns.append(state.conj() if turned else state)
    X = np.array(columns).reshape(len(columns), -1).T
    eigenvalues = np.array(values, dtype=complex)
    X = X / np.linalg.norm(X, axis=0)
    # The basis dual to these modes and their conjugates in their span stands for left vectors.
    both = np.concatenate([X, X.conj()], axis=1)
    dual = (both @ la.pinvh(both.conj().T @ both, rtol=independent))[:, : X.shape[1]]
    dual = dual / np.maximum((dual.conj() * X).sum(axis=0).real, independent)
    backward = found.error[numbers] / np.maximum(np.abs(eigenvalues), np.finfo(float).tiny)
    return _snapshot(at, eigenvalues, X, dual, backward), np.array(numbers)


def _rows(snapshot: Snapshot, chosen: Index) -> Snapshot:
    """The snapshot of some of its modes."""
    s = snapshot
    vectors = s.right[:, chosen], s.left[:, chosen]
    return _snapshot(s.at, s.eigenvalues[chosen], *vectors, s.backward_error[chosen])


def _snapshot(
    at: float, eigenvalues: Complex, X: Complex, dual: Complex, backward: Array
) -> Snapshot:
    count, gram = len(eigenvalues), X.conj().T @ X
    return Snapshot(
        at=at,
        eigenvalues=eigenvalues,
        right=X,
        left=dual,
        # Overlaps are (λ_a + λ_b) dual₁ᴴ x + dual₂ᴴ x: the second part alone is Hill's.
        dual=np.concatenate([np.zeros_like(dual), dual], axis=1),
        defective=np.zeros(count, dtype=bool),
        inertia=None,
        mass_gram=gram,
        energy_gram=gram,
        backward_error=backward,
        condition_number=np.ones(count),
        kind=np.full(count, "elastic"),
    )


def _centred(values: Complex, order: Index, centre: int) -> Complex:
    """Harmonics centre − HARMONICS … centre + HARMONICS (2 HARMONICS + 1, n) of one mode (h, n)."""
    out = np.zeros((2 * HARMONICS + 1, values.shape[1]), dtype=complex)
    place = order - centre + HARMONICS
    inside = (place >= 0) & (place < len(out))
    out[place[inside]] = values[inside]
    return out


def _state(
    found: FloquetModes, coefficients: Complex, eigenvalue: complex, scale: float
) -> Complex:
    """Weighted displacements and velocities of a mode at equal parts of the period, one array."""
    weights = found.propagation.weights if found.propagation is not None else np.ones(1)
    columns = coefficients * weights
    if len(found.vectors) == 2 * coefficients.shape[1]:
        j = np.arange(-HARMONICS, HARMONICS + 1)
        rate = eigenvalue + 2j * np.pi * j / found.period
        columns = np.concatenate([columns, columns * rate[:, None] / scale], axis=1)
    return np.asarray(np.fft.ifft(np.fft.ifftshift(columns, axes=0), axis=0).ravel())
