"""The frozen system of a mechanism with large bodies, formed when its matrices are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assembly.bodies.body import Prestress, check_prestress
from assembly.system.frozen import FrozenSystem

if TYPE_CHECKING:
    from assembly.mechanisms.mechanism import Mechanism


class MechanismSystem(FrozenSystem):
    """The frozen system of a mechanism with large bodies, its matrices formed when they are used.

    What sweeps the motion reads `mechanism` and `t` instead, and forms none.

    Raises
    ------
    SingularPositionError
        When the motion ends before t: the mechanism cannot be assembled, or loses rank.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        t: float,
        transport: bool,
        prestress: Prestress,
        driven: bool | None,
    ) -> None:
        check_prestress(prestress)
        mechanism.closure.reach(t)
        self.mechanism, self.t, self.driven = mechanism, t, driven
        self.transport, self.prestress = transport, prestress
        self.parameters = dict(t=t)

    def __getattr__(self, name: str) -> Any:
        if name in ("n", "dofs", "frame"):
            elastic = self.mechanism.elastic(self.driven)
            self.n, self.dofs, self.frame = len(elastic.masters), elastic.dofs, elastic.frame
            return getattr(self, name)
        if name not in ("parts", "Q", "rigid"):
            raise AttributeError(name)
        series = self.mechanism.freeze_many([self.t], self.transport, self.prestress, self.driven)
        whole = series[0]
        self.parts, self.Q, self.rigid = whole.parts, whole.Q, whole.rigid
        return getattr(self, name)
