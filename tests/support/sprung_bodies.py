"""The nonlinear equations of rigid bodies on joints, springs and dampers, and their derivatives.

Bodies are material points in fixed axes; a deflection is a displacement and a rotation vector, the
latter from the skew part of the relative rotation. The forces that the springs carry at the state
about which is linearized are found from the balance of the whole, not by any inverse dynamics.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from tests.support.beam_shapes import coefficients
from tests.support.constrained_motion import FIRST, TINY, ConstrainedMotion, masters

Array = NDArray[np.float64]
Any = NDArray[np.inexact]
Frame = tuple[Array, Array]


@dataclass(frozen=True)
class Spring:
    """A group of deflections x(d, t) (k, r) with K and C (r, r) and the preload (r,).

    deflects (r,): whether a spring carries the steady force, so that it is a load at x = 0.
    unknown: whether the steady force follows from the balance; x is then zero, or a drive's law.
    """

    x: Callable[[Any, float], Any]
    K: Array
    C: Array
    preload: Array
    deflects: NDArray[np.bool_]
    unknown: bool


class SprungBodies(ConstrainedMotion):
    """Rigid bodies of `shapes` (points (p, 3) in body axes and masses (p,)), six unknowns each."""

    springs: list[Spring]

    def __init__(
        self,
        mechanism: assembly.Mechanism,
        shapes: dict[str, tuple[Array, Array]],
        T: float,
        step: float,
    ) -> None:
        self.T, self.step, self.rigid, self.shapes = T, step, mechanism, shapes
        self.masters = masters(mechanism.transformation(T)[0].toarray())
        self.slaves = np.setdiff1d(np.arange(6 * len(shapes)), self.masters)
        self.frames = {
            t: {**mechanism.position(t), "ground": (np.zeros(3), np.eye(3))} for t in self.times
        }
        self._closed: dict[tuple[bytes, float], Any] = {}
        self.springs = self.make_springs()
        zero = np.zeros(len(self.masters))
        self.x0 = [self._values(spring, zero, T) for spring in self.springs]
        self.rate0 = [self._rates(spring, zero) for spring in self.springs]
        self.carried = self._carried()

    @property
    def times(self) -> list[float]:
        return [self.T + k * self.step for k in range(-3, 4)]

    @abstractmethod
    def make_springs(self) -> list[Spring]: ...

    @property
    def masses(self) -> Array:  # type: ignore[override]
        return np.concatenate([masses for _, masses in self.shapes.values()])

    def close(self, q: Any, t: float) -> Any:
        """As the base class does, each state once."""
        key = (q.tobytes(), t)
        if key not in self._closed:
            if len(self._closed) > 50:
                self._closed.clear()
            self._closed[key] = super().close(q, t)
        return self._closed[key]

    # Where things are.

    def place(self, d: Any, t: float, body: str, X: Array) -> tuple[Any, Any]:
        """A point (k, 3) of a body in fixed axes, and the rotation (k, 3, 3) of the body."""
        r, R = self.frames[t][body]
        if body == "ground":
            return np.broadcast_to(X, (len(d), 3)), np.broadcast_to(np.eye(3), (len(d), 3, 3))
        first = 6 * list(self.shapes).index(body)
        u, theta = d[:, first : first + 3], d[:, first + 3 : first + 6]
        turn = rotation(theta)
        return r + (u + turn @ X) @ R.T, R @ turn

    def points(self, d: Any, t: float) -> Any:
        out = []
        for body, (points, _) in self.shapes.items():
            origin, R = self.place(d, t, body, np.zeros(3))
            out.append(origin[:, None] + points @ R.swapaxes(1, 2))
        return np.concatenate(out, axis=1)

    def deflection(
        self, first: str, X: Array, second: str, Y: Array, N: Array
    ) -> Callable[[Any, float], Any]:
        """x (k, 6) between two points; N: the relative rotation of the bodies where it is zero."""

        def x(d: Any, t: float) -> Any:
            a, Ra = self.place(d, t, first, X)
            b, Rb = self.place(d, t, second, Y)
            apart = np.einsum("kji,kj->ki", Ra, b - a)
            return np.concatenate([apart, rotation_vector(Ra.swapaxes(1, 2) @ Rb @ N.T)], axis=1)

        return x

    # Springs.

    def _values(self, spring: Spring, q: Array, t: float) -> Array:
        return np.asarray(spring.x(self.close(q[None], t), t).real[0])

    def _rates(self, spring: Spring, q: Array) -> Array:
        """ẋ while q rests."""
        x = {k: self._values(spring, q, self.T + k * self.step) for k in FIRST}
        x |= {-k: self._values(spring, q, self.T - k * self.step) for k in FIRST}
        return np.asarray(sum(w * (x[k] - x[-k]) for k, w in FIRST.items()) / (60.0 * self.step))

    def _carried(self) -> list[Array]:
        """Steady forces: those known, and the others from the balance at q = 0."""
        out = []
        for spring, x, rate in zip(self.springs, self.x0, self.rate0, strict=True):
            out.append(np.zeros(len(x)) if spring.unknown else self.at_rest(spring, x, rate))
        self.carried = out
        zero = np.zeros(len(self.masters))
        left = self.residual(zero)
        d = self.varied(zero, self.T)
        columns = [s.x(d, self.T).imag / TINY for s in self.springs if s.unknown]
        found = np.linalg.lstsq(np.concatenate(columns, axis=1), -left, rcond=None)[0]
        for k, spring in enumerate(self.springs):
            if spring.unknown:
                out[k], found = found[: len(out[k])], found[len(out[k]) :]
        return out

    @staticmethod
    def at_rest(spring: Spring, x: Array, rate: Array) -> Array:
        """The force of a spring where the elastic deflection is zero."""
        stretch = np.zeros(len(x)) if spring.unknown else spring.K @ x
        return np.asarray(stretch + spring.C @ rate + spring.preload)

    def potential(self, d: Any) -> Any:
        total = -np.einsum("p,kpi,i->k", self.masses, self.points(d, self.T), self.rigid.gravity)
        for spring, x0, w in zip(self.springs, self.x0, self.carried, strict=True):
            x = spring.x(d, self.T) - x0
            total += 0.5 * np.einsum("ki,ij,kj->k", x, spring.K, x) + x @ w
        return total

    def residual(self, q: Array) -> Array:
        out = super().residual(q)
        d = self.varied(q, self.T)
        for spring, rate0 in zip(self.springs, self.rate0, strict=True):
            if np.any(spring.C):
                drag = spring.C @ (self._rates(spring, q) - rate0)
                out = out + spring.x(d, self.T).imag / TINY @ drag
        return np.asarray(out)

    # Checks.

    def check_load(self, system: assembly.FrozenSystem) -> None:
        """Q is what is out of balance while the springs that deflect are at zero deflection."""
        zero = np.zeros(system.n)
        assert_allclose(self.residual(zero), 0.0, atol=1e-9 * np.abs(system.Q).max())
        d = self.varied(zero, self.T)
        left = np.zeros(system.n)
        for spring, x, rate, w in zip(self.springs, self.x0, self.rate0, self.carried, strict=True):
            acts = np.where(spring.deflects, self.at_rest(spring, x, rate), w)
            left += spring.x(d, self.T).imag / TINY @ (acts - w)
        assert np.abs(left).max() > 0.0
        assert_allclose(system.Q, -left, atol=1e-8 * np.abs(left).max())

    def check_velocity_terms(self, system: assembly.FrozenSystem, tolerance: float) -> None:
        """M, and C + D with the dampers of the springs."""
        d = self.varied(np.zeros(system.n), self.T)
        D = np.zeros((system.n, system.n))
        for spring in self.springs:
            G = spring.x(d, self.T).imag / TINY
            D += G @ spring.C @ G.T
        assert np.abs(D).max() > 0.0
        assert_allclose(system.D.toarray(), D, atol=1e-12 * np.abs(D).max())
        self.check_mass_and_damping(system.only("C"), tolerance)


def rotation(theta: Any) -> Any:
    """exp(θ̃) (k, 3, 3), complex as well."""
    f1, f2, _ = (f[:, None, None] for f in coefficients((theta * theta).sum(-1)))
    x, y, z = theta.T
    zero = np.zeros_like(x)
    wide = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
    return np.eye(3) + f1 * wide + f2 * wide @ wide


def rotation_vector(R: Any) -> Any:
    """log R (k, 3) of rotations (k, 3, 3) by less than a quarter turn, complex as well."""
    s = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1
    )
    y = (s * s).sum(axis=-1)
    assert y.real.max() < 0.99
    assert (np.trace(R.real, axis1=1, axis2=2) > 1.0).all()
    root = np.sqrt(np.where(np.abs(y) < 1e-6, 0.25, y))
    series = 1.0 + y / 6.0 + 3.0 * y**2 / 40.0 + 5.0 * y**3 / 112.0
    # arcsin by the complex logarithm loses the tiny imaginary part; its derivative does not.
    real = np.arcsin(root.real)
    arc = real + 1j * root.imag / np.sqrt(1.0 - root.real**2)
    return s * np.where(np.abs(y) < 1e-6, series, arc / root)[:, None]
