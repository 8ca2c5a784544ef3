"""A mechanism on reduced bases of its links, for what follows its motion in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism import Mechanism, MechanismSystem
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.link_instants import LinkInstants, LinkPoints
from modal.reduction.link_space import LinkFamily, LinkSpace
from modal.reduction.reduced_motion import TRAINING, ReducedMotion
from modal.types import Array


class LinkMotion(ReducedMotion):
    """The reduced mechanism of a motion in time."""

    space: LinkSpace

    def __init__(self, space: LinkSpace, mechanism: Mechanism) -> None:
        super().__init__(space, mechanism.period)
        self.mechanism = space.reduced(mechanism)

    @classmethod
    def of(
        cls,
        system: MechanismSystem,
        times: tuple[float, float],
        k: int,
        accuracy: float,
        shapes: Sequence[Array] = (),
        forces: Sequence[Array] = (),
    ) -> LinkMotion:
        """Between two times, s, with bases that contain some shapes (N,) of the full mechanism, and
        the static responses of its links to some forces (N,).

        Raises AccuracyError when the bases cannot be made accurate enough.
        """
        mechanism = system.mechanism
        space = LinkSpace(LinkFamily(system), k, accuracy)
        for name, part in on_links(system, shapes).items():
            space.parts[name].include(part)
        for name, part in on_links(system, forces).items():
            space.parts[name].include(space.parts[name].reference.solve(part))
        space.refresh()
        worst = space.worst(space.train(LinkPoints.of(mechanism, np.linspace(*times, TRAINING))))
        if worst > 1.0:
            raise AccuracyError(f"bases of links: an error bound stays {worst:.3g} times too large")
        return cls(space, mechanism)

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """Those of several times."""
        return self.mechanism.freeze_many(times, **self.space.options.arguments)

    def lift(self, q: Inexact) -> Inexact:
        """DOFs (N, ...) of the full mechanism."""
        return self.mechanism.lift(q, self.space.options.driven)

    def coordinates(self, q: Array) -> Array:
        """Coordinates (n, ...) of shapes of the full mechanism that the bases contain."""
        return self.mechanism.coordinates(q, self.space.options.driven)

    def forces(self, f: Array) -> Array:
        """Generalised forces (n, ...) of those (N, ...) on the full mechanism."""
        return self.mechanism.forces(f, self.space.options.driven)

    def instants(self, times: Array) -> LinkInstants:
        """The reduced mechanism at times, s."""
        return LinkInstants(self.mechanism, self.space.parts, times, self.space.options)

    def on_parts(self, f: Array) -> dict[str, Array]:
        """Forces (P, N, k) on the full mechanism, on its links."""
        return self.mechanism.on_bodies(f)


def on_links(system: MechanismSystem, vectors: Sequence[Array]) -> dict[str, Array]:
    """Vectors (N,) of a mechanism on the DOFs of its large links, (n, m), where they are not 0."""
    if not len(vectors):
        return {}
    mechanism = system.mechanism
    elastic, offsets = mechanism.elastic(system.driven), mechanism.topology.offsets
    whole = np.zeros((int(offsets[-1]), len(vectors)))
    whole[elastic.masters] = np.stack(vectors, axis=1)
    parts = zip(mechanism.bodies, np.split(whole, offsets[1:-1]), strict=True)
    return {name: part for name, part in parts if mechanism.is_large(name) and np.any(part)}
