"""A mechanism on reduced bases of its links, for what follows its motion in time.

The bases are grown until the k lowest frozen modes of instants all along the motion are certified.
A trajectory q(t) on them leaves the residual ρ = M q̈ + (C + D) q̇ + K q in the full equations. The
shapes outside the bases respond to it nearly statically, so that its norm dual to K_ref is the size
of what is missing, in the energy norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism_system import MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism
from assembly.system.frozen import FrozenSystem
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.link_instants import LinkInstants, Motions, Options
from modal.reduction.link_reducer import LinkReducer
from modal.types import Array, Complex

TRAINING = 24  # instants of the motion on which the bases are grown


@dataclass(frozen=True)
class LinkMotion:
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
    ) -> LinkMotion:
        """Between two times, s, with bases that contain some shapes (N,) of the full mechanism.

        Raises AccuracyError when the bases cannot be made accurate enough.
        """
        mechanism = system.mechanism
        options = Options(system.transport, system.prestress is not None, system.driven)
        reducer = LinkReducer([mechanism], options, k, accuracy)
        masters, offsets = mechanism.elastic(system.driven).masters, mechanism.topology.offsets
        for shape in shapes:
            whole = np.zeros(int(offsets[-1]))
            whole[masters] = shape
            for number, name in enumerate(mechanism.bodies):
                if name in reducer.bases and np.any(whole[offsets[number] : offsets[number + 1]]):
                    part = whole[offsets[number] : offsets[number + 1], None]
                    reducer.bases[name].include(part.copy())
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

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of the reduced mechanism at time t, s."""
        options = self.reducer.options
        return self.mechanism.freeze(t, options.transport, options.prestress, options.driven)

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

    def missing(self, times: Array, q: Inexact, v: Inexact, a: Inexact) -> tuple[Array, Array]:
        """The size of what the bases miss, (P, k) each: in the energy norm, √J, and in the norm of
        the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, n, k)."""
        instants = LinkInstants(self.mechanism, self.reducer.bases, times, self.reducer.options)
        parts = [instants.motions(np.asarray(x, dtype=complex)) for x in (q, v, a)]
        square, weak = np.zeros((2, len(times), q.shape[2]))
        for name in self.reducer.bases:
            on_q, on_v, on_a = (part[name] for part in parts)
            mass = on_a.first + 2.0 * on_v.rate + on_q.second
            damping = on_v.first + on_q.rate
            roles = _Roles(on_q.first, mass, damping)
            sketch = instants.sketch(name, np.ones(square.shape, dtype=complex), roles, False)
            norms = np.linalg.norm(sketch, axis=2)
            square += norms[:, 0] * norms[:, 1]
            weak += norms[:, 0] ** 2
        return UNDERESTIMATE * np.sqrt(square), UNDERESTIMATE * np.sqrt(weak)

    def exponent_error(self, t: float, vectors: Complex) -> Array:
        """Estimated error (m,), 1/s, of Floquet exponents with vectors (2n, m) of (q, q̇) at t.

        As in modal/periodic/basis_error.py: ρᴴ(K − ω²M)⁻¹ρ / (2ω qᴴMq), and round-off.
        """
        n = len(vectors) // 2
        q, v = vectors[:n], vectors[n:]
        system = self.freeze(t)
        M = system.M.toarray()
        a = -np.linalg.solve(M, system.damping @ v + system.stiffness @ q)
        missing = self.missing(np.array([t]), q[None], v[None], a[None])[0][0]
        tiny = np.finfo(float).tiny
        inertia = np.maximum((q.conj() * (M @ q)).sum(axis=0).real, tiny)
        speed = np.maximum((v.conj() * (M @ v)).sum(axis=0).real, tiny)
        by_bases = missing**2 / (2.0 * np.sqrt(speed * inertia))
        return np.asarray(by_bases + self.reducer.round_off(np.sqrt(speed / inertia)))


class _Roles(Motions):
    """What mass and damping multiply, given as they are."""

    def __init__(self, first: Complex, mass: Complex, damping: Complex) -> None:
        super().__init__(first, damping, mass)

    def roles(self, lam: Complex) -> tuple[Complex, Complex, Complex]:
        return self.second, self.rate, self.first
