"""Frequency response of a frozen system, or of a model along a motion or over a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, check_between, check_choice
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described, provenance
from modal.data.progress import shown
from modal.data.variables import RESPONSE, RESPONSE_SWEPT
from modal.response.cheapest import Method, response
from modal.response.force import Force, force_vector
from modal.response.sweeps import frozen_at, swept_values
from modal.transient.probes import Probe, Probes
from modal.types import Array


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
