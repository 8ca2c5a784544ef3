"""Frequency response of a frozen system, or of a model along a motion or over a parameter."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, check_between, check_choice
from assembly.arguments import shown as value_text
from assembly.errors import ConvergenceError, InputError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described, provenance
from modal.data.progress import shown
from modal.data.variables import RESPONSE, RESPONSE_SWEPT
from modal.response.direct import DirectSolver
from modal.response.forced_basis import ForcedResponse, respond_on_basis
from modal.response.sweeps import frozen_at, swept_values
from modal.transient.probes import EXAMPLE, Probe, Probes
from modal.types import Array, Complex, Index

Force = Any  # mapping of Probe to a number, or array_like (n,)
Method = Literal["direct", "modal"]


def frequency_response(
    model: Any,
    frequencies: ArrayLike,
    force: Force,
    probes: Iterable[Probe] | None = None,
    *,
    times: ArrayLike | None = None,
    over: Mapping[str, ArrayLike] | None = None,
    method: Method | None = None,
    accuracy: float = 1e-6,
    progress: bool | None = False,
    **fixed: Any,
) -> xr.Dataset:
    """Steady response to a harmonic force, q(t) = Re(q̂ e^{iωt}).

    Parameters
    ----------
    model : FrozenSystem or object with a method ``freeze``
        A frozen system; or a model that is frozen at `times` or at the values of `over`.
    frequencies : array_like, shape (F,)
        Frequencies of the force, Hz, not negative.
    force : mapping or array_like, shape (n,)
        Complex amplitude: ``{(body, node, component): value}`` or a vector over the degrees of
        freedom, N and N·m.
    probes : iterable of (str, int, str), optional
        Where the response is read: (body, node, component) with the components ux, uy, uz, rx, ry,
        rz; numbers of degrees of freedom too. Default: where the force acts.
    times : array_like, shape (T,), optional
        Instants at which the model is frozen, s.
    over : mapping of one name to array_like, shape (T,), optional
        Values of one parameter of ``model.freeze``, as in ``over={"omega": speeds}``.
    method : {"direct", "modal"}, optional
        "direct" factorizes the dynamic stiffness at each frequency. "modal" uses the lowest modes,
        the static response and as many corrections as `accuracy` needs, with one factorization for
        all frequencies. Default: the one that takes less time, by a direct solve that is timed; a
        basis that takes longer than expected leaves the remaining frequencies to "direct".
    accuracy : float, default 1e-6
        Largest error of "modal", relative to the response in the energy norm.
    progress : bool or None, default False
        A progress bar on stderr; None shows it in a terminal only.
    **fixed
        Further arguments of ``model.freeze``.

    Returns
    -------
    xarray.Dataset
        ``displacement`` (frequency, probe), complex, m or rad; ``error_bound`` (frequency, probe)
        of "modal", zero for "direct". With `times` or `over` the first dimension is ``time`` or the
        parameter.

    Raises
    ------
    InputError
        An argument cannot be used, or the dynamic stiffness is singular at a frequency.
    ConvergenceError
        "modal" did not reach the accuracy.

    Notes
    -----
    (K + iω(C + D) − ω²M) q̂ = f̂ with all stiffness in K. See docs/numerics.md, "Forced response",
    for the error bound.

    Examples
    --------
    >>> import assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start").with_damping(b=1e-5)
    >>> system = blade.freeze(omega=(0, 0, 100.0))
    >>> response = modal.frequency_response(system, [0.0, 16.0], {("beam", 10, "uz"): 1.0})
    >>> response["displacement"].sizes
    Frozen({'frequency': 2, 'probe': 1})
    """
    hertz = _frequencies(frequencies)
    check_between(accuracy, "accuracy", 0.0, 1.0)
    check_choice(method, ("direct", "modal", None), "method")
    options = (hertz, force, probes, method, accuracy)
    if times is None and over is None:
        system = model if isinstance(model, FrozenSystem) else frozen_at(model, {}, fixed)
        return described(_of_system(system, *options), RESPONSE)
    name, values = swept_values(times, over, "frequency_response")
    if isinstance(model, FrozenSystem):
        raise InputError(f"{name}: a frozen system is one instant; give the model to sweep it")
    points = shown(values.tolist(), "frequency response", "point", progress)
    found = [_of_system(frozen_at(model, {name: v}, fixed), *options) for v in points]
    axis = xr.Variable(name, values)
    swept = xr.concat(found, axis, coords="minimal", compat="override", combine_attrs="override")
    return described(swept, RESPONSE_SWEPT)


def _frequencies(frequencies: ArrayLike) -> Array:
    hertz = np.atleast_1d(as_numbers(frequencies, "frequencies"))
    if hertz.ndim != 1 or len(hertz) == 0 or not np.all(np.isfinite(hertz)) or np.any(hertz < 0):
        raise InputError("frequencies: expected finite numbers of Hz, none negative")
    return np.asarray(hertz)


def _of_system(
    system: FrozenSystem,
    hertz: Array,
    force: Force,
    probes: Iterable[Probe] | None,
    method: Method | None,
    accuracy: float,
) -> xr.Dataset:
    load = force_vector(system, force)
    wanted = np.flatnonzero(load).tolist() if probes is None else probes
    places = Probes.of(system, wanted, "probes")
    found = response(system, 2.0 * np.pi * hertz, load, places.numbers, method, accuracy)
    dims = ("frequency", "probe")
    return xr.Dataset(
        {
            "displacement": (dims, found.displacement),
            "error_bound": (dims, found.error_bound),
        },
        coords={"frequency": hertz, **places.coordinates},
        attrs=provenance(
            title="frequency response",
            solver="modal" if found.size else "direct",
            basis_size=found.size,
            solves=found.solves,
        ),
    )


def force_vector(system: FrozenSystem, force: Force) -> Complex:
    """A complex load (n,) from a mapping of probes to amplitudes or an array. InputError."""
    if isinstance(force, Mapping):
        out = np.zeros(system.n, dtype=complex)
        for probe, amplitude in force.items():
            number = np.asarray(amplitude)
            if number.ndim or number.dtype.kind not in "biufc":
                raise InputError(
                    f"force: {probe!r}: expected a number, got {value_text(amplitude)}"
                )
            out[Probes.of(system, [probe], "force").numbers] += amplitude
    else:
        array = np.asarray(force)
        out = array.astype(complex) if array.dtype.kind in "biufc" else np.zeros(0, dtype=complex)
        if out.shape != (system.n,):
            raise InputError(
                f"force: expected {{{EXAMPLE}: amplitude}} or an array of shape ({system.n},), got "
                f"{value_text(force)}"
            )
    if not np.all(np.isfinite(out)):
        raise InputError("force: has entries that are not finite numbers")
    if not np.any(out):
        raise InputError("force: is zero")
    return out


def response(
    system: FrozenSystem,
    angular_frequencies: Array,
    force: Complex,
    probes: Index,
    method: Method | None,
    accuracy: float,
    *,
    large: int = 15_000,
    cost: tuple[int, float] = (40, 0.03),
) -> ForcedResponse:
    """Response at all angular frequencies (F,), rad/s. Raises InputError, ConvergenceError.

    large: degrees of freedom of a solid from which one direct solve takes longer than a basis.
    cost: of the smallest basis, in direct solves and in seconds besides.
    """
    w, zero = angular_frequencies, np.zeros((len(angular_frequencies), len(probes)))
    out = ForcedResponse(zero + 0j, zero, np.zeros(len(w), dtype=bool))
    in_basis = method == "modal" or (method is None and system.n > large)
    seconds = np.inf
    if not in_basis:
        direct = DirectSolver(system)
        start = time.process_time()
        out.enter(np.array([0]), direct(w[:1], force)[:, probes], 0.0)
        seconds = time.process_time() - start
        in_basis = method is None and seconds * (len(w) - cost[0]) > cost[1]
    if in_basis:
        respond_on_basis(out, system, w, force, probes, accuracy, seconds)
    left = np.flatnonzero(~out.finished)
    if left.size and method == "modal":
        raise ConvergenceError(
            f"frequency response: not within {accuracy:g} at {left.size} of {len(w)} frequencies "
            f'with {out.size} basis vectors. Use method="direct"'
        )
    if left.size and seconds == np.inf:
        direct = DirectSolver(system)
    for k in left:
        out.enter(np.array([k]), direct(w[[k]], force)[:, probes], 0.0)
    return out
