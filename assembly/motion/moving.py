"""A body with a prescribed rigid motion: a model with `freeze(t)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, check_kind
from assembly.bodies.body import Body, Prestress
from assembly.bodies.in_motion import MovingBodies
from assembly.bodies.made_from import in_words
from assembly.bodies.nonlinear import equilibrium
from assembly.errors import InputError, MotionError
from assembly.kinematics import Kinematics
from assembly.materials.plausibility import ask, check_speed
from assembly.motion.deformed_body import DeformedBody, check_body
from assembly.motion.motion import FunctionMotion, Motion, Steady, Turning
from assembly.system.frozen import FrozenSystem
from assembly.types import Array


@dataclass(frozen=True)
class MovingBody:
    """A body and its rigid motion: a model with `freeze(t)`. Made by `moving`.

    Parameters
    ----------
    body : Body
    motion : Motion
    prestress : {"linear", "first-order", "nonlinear", None}
        As for `Body.freeze`.
    """

    body: Body
    motion: Motion
    prestress: Prestress = "linear"

    def __post_init__(self) -> None:
        check_kind(self.body, Body, "body", "a body such as assembly.beam(…)")
        if not isinstance(self.motion, Motion):
            raise MotionError(
                f"motion: expected an object with at(t), got {type(self.motion).__name__}"
            )

    @property
    def made_from(self) -> str:
        """Body and motion, in one line."""
        return f"{self.body.made_from} moved by {in_words(self.motion)}"

    @property
    def period(self) -> float | None:
        """The time (s) after which the motion repeats, or None."""
        return getattr(self.motion, "period", None)

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        FrozenSystem
        """
        at = as_number(t, "t", MotionError)
        if not np.isfinite(at):
            raise MotionError(f"t: must be a finite time in s, got {at}")
        now = self.motion.at(at)
        rates = dict(t=at, omega=now.omega, epsilon=now.epsilon, acceleration=now.acceleration)
        if np.any(now.velocity):
            rates["velocity"] = now.velocity
        return self.body.freeze_kinematics(now, self.prestress, rates)

    def displaced(
        self,
        t: float,
        q: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        *,
        near: DeformedBody | None = None,
    ) -> DeformedBody:
        """The body with given finite displacements, in motion.

        Parameters
        ----------
        t : float
            s.
        q, velocity, acceleration : array_like, shape (n,)
            Free degrees of freedom, m and rad, and their first two rates, in the moving frame.
        near : DeformedBody, optional
            A neighbouring state: at the same time, its kinematics are not computed again.

        Returns
        -------
        DeformedBody
            As `Mechanism.displaced`: `residual`, `tangents()`, `system()`, `energies`, `powers`.

        Raises
        ------
        ConvergenceError
            A displacement is out of range.
        InputError
            For a body without a law of large displacements, or pinned on its axis.
        """
        check_body(self.body)
        values = [np.asarray(x, dtype=float) for x in (q, velocity, acceleration)]
        if any(x.shape != self.body.free.shape for x in values):
            raise InputError(
                f"q, velocity, acceleration: expected {len(self.body.free)} numbers each"
            )
        at = float(t)
        now = near.now if near is not None and near.t == at else self.motion.at(at)
        return DeformedBody(self._stack, self.motion, now, at, *values)

    def trim(self, t: float) -> DeformedBody:
        """The equilibrium of the body at rest in its moving frame, at finite displacements.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        DeformedBody
            Its `q` are the displacements, `system` the frozen system about them.

        Raises
        ------
        ConvergenceError
            When no equilibrium is found near by.
        InputError
            For a body without a law of large displacements, or pinned on its axis.
        """
        check_body(self.body)
        at = as_number(t, "t", MotionError)
        q = equilibrium(self.body.operators, self.motion.at(at)).displacement[self.body.free]
        return self.displaced(at, q, 0.0 * q, 0.0 * q)

    @cached_property
    def _stack(self) -> MovingBodies:
        return MovingBodies([self.body])


def moving(
    body: Body, motion: Motion | Callable[..., object], prestress: Prestress = "linear"
) -> MovingBody:
    """A body with a prescribed motion.

    A PlausibilityWarning is issued for a rotation that is too fast, and for a body that no support
    holds on the axis it turns about.

    Parameters
    ----------
    body : Body
        The body.
    motion : Motion or callable
        A motion, or a function as for `FunctionMotion`.
    prestress : {"linear", "first-order", "nonlinear", None}
        As for `Body.freeze`.

    Returns
    -------
    MovingBody

    Raises
    ------
    MotionError
        When `motion` is neither.

    Examples
    --------
    >>> import assembly
    >>> section = assembly.rectangle(0.05, 0.02)
    >>> body = assembly.beam(1.0, section, assembly.steel, 10, clamped="start")
    >>> model = assembly.moving(body, assembly.ramp(epsilon=20.0))
    >>> print(model.freeze(t=3.0).parameters["omega"])
    [ 0.  0. 60.]
    """
    check_kind(body, Body, "body", "a body such as assembly.beam(…)")
    if not isinstance(motion, Motion):
        if not callable(motion):
            raise MotionError(
                f"motion: expected a motion or a function of time, got {type(motion).__name__}"
            )
        motion = FunctionMotion(motion)  # type: ignore[arg-type]
    if isinstance(motion, Turning | Steady):
        _check_turning(body, motion.at(0.0))
    return MovingBody(body, motion, prestress)


def _check_turning(body: Body, now: Kinematics) -> None:
    """Asks about a rotation that is too fast, or about an axis on which nothing holds the body."""
    turning = now.omega if now.omega.any() else now.epsilon
    if turning.any() and not now.acceleration.any():
        check_rotation(body, now.omega)
        check_support(body, turning)


def check_rotation(body: Body, omega: Array) -> None:
    """Asks about a body that turns too fast about an axis through the origin; omega (3,), rad/s."""
    speed = np.linalg.norm(np.cross(omega, body.dofs.coordinates), axis=1).max(initial=0.0)
    check_speed(float(speed), "omega", float(np.linalg.norm(omega)), "rad/s")


def check_support(body: Body, axis: Array, off_axis: float = 1e-3) -> None:
    """Asks about an unsupported body that rotates about an axis off its centre of mass.

    axis: (3,), of the rotation, through the origin. A free body turns about its centre of mass: to
    turn about another point takes a force, so a clamp, a pin or a spring is missing.
    off_axis: distance of the centre of mass from the axis, over the size of the body, that is none.
    """
    if body.fixed.any():
        return
    along = body.dofs.rigid_fields()[:, :3]
    K = body.operators.K.tocsr()
    if np.abs(K @ along).max(initial=0.0) > 1e-9 * np.abs(K.data).max(initial=0.0):
        return  # springs to the frame hold it
    mass = np.diag(along.T @ (body.operators.M.tocsr() @ along)).max()
    unit = np.asarray(axis) / np.linalg.norm(axis)
    # The inertia loads of ω = 1 about the axis add up to m times the arm of the centre of mass.
    coefficients = np.concatenate([unit**2, unit[[0, 0, 1]] * unit[[1, 2, 2]], np.zeros(6)])
    arm = float(np.linalg.norm(along.T @ (body.statics.inertia_loads @ coefficients))) / mass
    if arm > off_axis * max(float(np.ptp(body.dofs.coordinates, axis=0).max()), arm):
        ask(
            "clamped",
            None,
            f"nothing holds the body, and its centre of mass is {arm:.3g} m from the axis it turns"
            " about; is `clamped` or `pinned` missing?",
        )
