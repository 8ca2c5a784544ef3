"""A mechanism on reduced bases of its links, for what follows its motion in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism_system import MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.link_instants import LinkInstants, Options
from modal.reduction.link_reducer import LinkReducer
from modal.reduction.reduced_motion import TRAINING, ReducedMotion
from modal.reduction.residuals import dual_squares
from modal.types import Array


@dataclass(frozen=True)
class LinkMotion(ReducedMotion):
    """The reduced mechanism of a motion in time; it has `freeze(t)` and `period`."""

    reducer: LinkReducer
    mechanism: ReducedMechanism

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
        options = Options(system.transport, system.prestress is not None, system.driven)
        reducer = LinkReducer([mechanism], options, k, accuracy)
        for name, part in on_links(system, shapes).items():
            reducer.bases[name].include(part)
        for name, part in on_links(system, forces).items():
            reducer.bases[name].include(reducer.bases[name].reference.solve(part))
        worst, _ = reducer.train([(mechanism, np.linspace(*times, TRAINING))])
        if worst > 1.0:
            raise AccuracyError(f"bases of links: an error bound stays {worst:.3g} times too large")
        return cls(reducer, reducer.reduced(mechanism))

    @property
    def period(self) -> float | None:
        """Period of the motion, s."""
        return self.mechanism.period

    @property
    def description(self) -> str:
        """The sizes of the bases."""
        sizes = ", ".join(f"{size} shapes of {name}" for name, size in self.reducer.sizes.items())
        return f"reduced bases of links: {sizes}; accuracy {self.reducer.tolerance:g}"

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """Those of several times."""
        options = self.reducer.options
        return self.mechanism.freeze_many(
            times, options.transport, options.prestress, options.driven
        )

    def lift(self, q: Inexact) -> Inexact:
        """DOFs (N, ...) of the full mechanism."""
        return self.mechanism.lift(q, self.reducer.options.driven)

    def coordinates(self, q: Array) -> Array:
        """Coordinates (n, ...) of shapes of the full mechanism that the bases contain."""
        return self.mechanism.coordinates(q, self.reducer.options.driven)

    def forces(self, f: Array) -> Array:
        """Generalised forces (n, ...) of those (N, ...) on the full mechanism."""
        return self.mechanism.forces(f, self.reducer.options.driven)

    def missing(
        self, times: Array, q: Inexact, v: Inexact, a: Inexact, f: Array | None = None
    ) -> tuple[Array, Array]:
        """The size of what the bases miss, (P, k) each: in the energy norm, √J, and in the norm of
        the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, n, k); f: forces on
        the full mechanism (P, N, k)."""
        instants = LinkInstants(self.mechanism, self.reducer.bases, times, self.reducer.options)
        square, weak = np.zeros((2, len(times), q.shape[2]))
        loads = {} if f is None else self.mechanism.on_bodies(f)
        for name, basis in self.reducer.bases.items():
            sketch = instants.sketch(name, instants.roles(name, q, v, a))
            if name in loads:
                sketch = np.asarray(sketch - basis.sketched_forces(loads[name]))
            square += dual_squares(sketch)
            weak += np.linalg.norm(sketch[:, 0], axis=1) ** 2
        return UNDERESTIMATE * np.sqrt(square), UNDERESTIMATE * np.sqrt(weak)

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return self.reducer.quotient_round_off(sizes)


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
