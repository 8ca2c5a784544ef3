"""Harmonic loads by the degrees of freedom where they act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assembly.arguments import shown
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.transient.probes import EXAMPLE, Probes
from modal.types import Complex

Force = Any  # mapping of Probe to a number, or array_like (n,)


def force_vector(system: FrozenSystem, force: Force) -> Complex:
    """A complex load (n,) from a mapping of probes to amplitudes or an array. InputError."""
    if isinstance(force, Mapping):
        out = np.zeros(system.n, dtype=complex)
        for probe, amplitude in force.items():
            number = np.asarray(amplitude)
            if number.ndim or number.dtype.kind not in "biufc":
                raise InputError(f"force: {probe!r}: expected a number, got {shown(amplitude)}")
            out[Probes.of(system, [probe], "force").numbers] += amplitude
    else:
        array = np.asarray(force)
        out = array.astype(complex) if array.dtype.kind in "biufc" else np.zeros(0, dtype=complex)
        if out.shape != (system.n,):
            raise InputError(
                f"force: expected {{{EXAMPLE}: amplitude}} or an array of shape ({system.n},), got "
                f"{shown(force)}"
            )
    if not np.all(np.isfinite(out)):
        raise InputError("force: has entries that are not finite numbers")
    if not np.any(out):
        raise InputError("force: is zero")
    return out
