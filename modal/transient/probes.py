"""Degrees of freedom by body, node and component: where forces act and displacements are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assembly.arguments import shown
from assembly.dofs import COMPONENTS
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Index

Probe = tuple[str, int, str] | tuple[int, str] | int
EXAMPLE = '("blade", 12, "uz")'


def dof_number(at: Any, system: FrozenSystem) -> int:
    """The number of a degree of freedom, given as (body, node, component), as (node, component)
    with the nodes counted through all bodies, or as its number.

    Raises InputError.
    """
    if isinstance(at, (int, np.integer)) and not isinstance(at, bool):
        if not -system.n <= at < system.n:
            raise InputError(
                f"no degree of freedom {at}: the system has {system.n}, 0 to {system.n - 1}"
            )
        return int(at) % system.n
    if not is_place(at):
        raise InputError(f"{at!r}: expected (body, node, component) such as {EXAMPLE}")
    *body, node, component = at
    if system.dofs is None:
        raise InputError(f"{at!r}: the model names no nodes; give the number of a DOF")
    if component not in COMPONENTS:
        raise InputError(f"{at!r}: the component is one of {', '.join(COMPONENTS)}")
    if body:
        return system.dofs.at(body[0], int(node), component)
    return system.dofs.index(int(node), component)


def is_place(at: Any) -> bool:
    """Whether it is (body, node, component) or (node, component)."""
    return (
        isinstance(at, (tuple, list))
        and len(at) in (2, 3)
        and isinstance(at[-1], str)
        and isinstance(at[-2], (int, np.integer))
        and all(isinstance(name, str) for name in at[:-2])
    )


@dataclass(frozen=True)
class Probes:
    """Numbers (P,), names (P,) and nodes (P,) of some degrees of freedom; nodes are counted through
    all bodies.
    """

    numbers: Index
    names: tuple[str, ...]
    nodes: Index

    @classmethod
    def of(
        cls, system: FrozenSystem | None, probes: Iterable[Any], argument: str, n: int = 0
    ) -> Probes:
        """From places or numbers. n: degrees of freedom, where there is no system.

        Raises InputError naming the argument.
        """
        if not hasattr(probes, "__iter__") or isinstance(probes, str):
            listed = f"[{EXAMPLE}]"
            raise InputError(f"{argument}: expected a list such as {listed}, got {shown(probes)}")
        entries = list(probes)
        if not entries:
            raise InputError(f"{argument}: give at least one, such as {EXAMPLE}")
        try:
            numbers = np.array([_number(entry, system, n) for entry in entries], dtype=np.intp)
        except InputError as fault:
            raise InputError(f"{argument}: {fault}") from None
        dofs = None if system is None else system.dofs
        if dofs is None:
            return cls(numbers, tuple(f"DOF {k}" for k in numbers), numbers)
        return cls(numbers, tuple(dofs.label(k) for k in numbers), dofs.node[numbers])

    @property
    def coordinates(self) -> dict[str, Any]:
        """Coordinates of datasets along `probe`."""
        return {
            "probe": list(self.names),
            "unknown": ("probe", self.numbers),
            "node": ("probe", self.nodes),
        }


def _number(entry: Any, system: FrozenSystem | None, n: int) -> int:
    if system is not None:
        return dof_number(entry, system)
    if not isinstance(entry, (int, np.integer)) or not 0 <= entry < n:
        raise InputError(f"numbers run from 0 to {n - 1}, got {shown(entry)}")
    return int(entry)
