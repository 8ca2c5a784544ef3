"""A mechanism whose frozen systems are plain ones, so that nothing reduces its links."""

from __future__ import annotations

import assembly


class FullMechanism:
    """`freeze(t)` of a mechanism with all matrices formed."""

    def __init__(self, mechanism: assembly.Mechanism) -> None:
        self._mechanism, self.period = mechanism, mechanism.period

    def freeze(self, t: float) -> assembly.FrozenSystem:
        return self._mechanism.freeze_many([t])[0]
