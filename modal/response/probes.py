"""Degrees of freedom by node and component: where forces act and displacements are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assembly.arguments import shown
from assembly.dofs import COMPONENTS
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.transient.loads import dof_number
from modal.types import Complex, Index

Probe = tuple[int, str] | int
Force = Any  # mapping of Probe to a number, or array_like (n,)


@dataclass(frozen=True)
class Probes:
    """Numbers (P,) and names (P,) of some degrees of freedom of a system."""

    numbers: Index
    names: tuple[str, ...]

    @classmethod
    def of(cls, system: FrozenSystem, probes: Iterable[Probe], argument: str) -> Probes:
        """From (node, component) pairs or numbers. Raises InputError naming the argument."""
        if not hasattr(probes, "__iter__"):
            raise InputError(
                f'{argument}: expected a list such as [(12, "uz")], got {shown(probes)}'
            )
        entries = list(probes)
        if not entries:
            raise InputError(f'{argument}: give at least one, such as (12, "uz")')
        numbers = [_number(system, entry, argument) for entry in entries]
        return cls(np.array(numbers, dtype=np.intp), tuple(name(system, k) for k in numbers))


def name(system: FrozenSystem, number: int) -> str:
    """ "node component" of a degree of freedom, its number where the system has no nodes."""
    if system.dofs is None:
        return str(number)
    return f"{system.dofs.node[number]} {COMPONENTS[system.dofs.component[number]]}"


def _number(system: FrozenSystem, probe: Probe, argument: str) -> int:
    try:
        return dof_number(probe, system)
    except InputError as fault:
        raise InputError(f"{argument}: {fault}") from None


def force_vector(system: FrozenSystem, force: Force) -> Complex:
    """A complex load (n,) from a mapping of probes to amplitudes or an array. InputError."""
    if isinstance(force, Mapping):
        out = np.zeros(system.n, dtype=complex)
        for probe, amplitude in force.items():
            number = np.asarray(amplitude)
            if number.ndim or number.dtype.kind not in "biufc":
                raise InputError(f"force: {probe!r}: expected a number, got {shown(amplitude)}")
            out[_number(system, probe, "force")] += amplitude
    else:
        array = np.asarray(force)
        out = array.astype(complex) if array.dtype.kind in "biufc" else np.zeros(0, dtype=complex)
        if out.shape != (system.n,):
            raise InputError(
                f'force: expected {{(node, "uz"): amplitude}} or an array of shape '
                f"({system.n},), got {shown(force)}"
            )
    if not np.all(np.isfinite(out)):
        raise InputError("force: has entries that are not finite numbers")
    if not np.any(out):
        raise InputError("force: is zero")
    return out
