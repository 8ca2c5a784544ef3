"""A body with a prescribed rigid motion: a model with `freeze(t)`, and its state at finite
displacements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_number, check_kind
from assembly.bodies.body import Body, Prestress
from assembly.bodies.in_motion import (
    BodiesMotion,
    Energies,
    Momenta,
    MovingBodies,
    Powers,
    rigid_velocities,
)
from assembly.bodies.made_from import in_words
from assembly.bodies.nonlinear import equilibrium
from assembly.elements.family import Wanted
from assembly.errors import InputError, MotionError
from assembly.kinematics import Kinematics
from assembly.linalg.combination import Pattern
from assembly.materials.plausibility import ask, check_speed
from assembly.motion.motion import FunctionMotion, Motion, Steady, Turning
from assembly.system.frozen import DAMPING_PARTS, PARTS, STIFFNESS_PARTS, FrozenSystem
from assembly.types import Array, Mask


@dataclass(frozen=True)
class DeformedBody:
    """A body with finite displacements of all its nodes; made by `MovingBody.displaced`.

    At several times (P,) all have a first axis of these.

    Parameters
    ----------
    stack : MovingBodies
        The body alone.
    law : Motion
        Of the frame.
    now : Kinematics or list of Kinematics
        Its kinematics at this time, or at each.
    t : float or ndarray, shape (P,)
        s.
    q, v, a : ndarray, shape (..., n)
        Free degrees of freedom and their rates, in the frame.
    """

    stack: MovingBodies
    law: Motion
    now: Kinematics | list[Kinematics]
    t: Any
    q: Array
    v: Array
    a: Array

    @property
    def body(self) -> Body:
        """The body."""
        return self.stack.bodies[0]

    @cached_property
    def motion(self) -> BodiesMotion:
        """The body in motion."""
        several = np.shape(self.t)
        path = np.zeros((3, *several, self.body.size))
        path[..., self.body.free] = self.q, self.v, self.a
        each = self.now if isinstance(self.now, list) else [self.now]
        twist, c = (
            np.array(rows).reshape(*several, 1, -1)
            for rows in ([k.twist() for k in each], [k.coefficients() for k in each])
        )
        return BodiesMotion(self.stack, twist, c, c, path)

    def at(self, n: Any) -> DeformedBody:
        """That at one of several times, or at some."""
        assert isinstance(self.now, list)
        now = [self.now[k] for k in n] if np.ndim(n) else self.now[n]
        return DeformedBody(self.stack, self.law, now, self.t[n], self.q[n], self.v[n], self.a[n])

    @property
    def residual(self) -> Array:
        """What is out of balance (n,), N and N·m."""
        return np.asarray(self.motion.force[..., self.body.free])

    @cached_property
    def energies(self) -> Energies:
        """Kinetic energy and potentials."""
        return self.motion.energies(np.zeros((1, 3)), np.eye(3)[None], np.zeros(3))

    @property
    def momenta(self) -> Momenta:
        """Momentum and angular momentum.

        In the frame's axes and about its origin where the motion does not say where the frame is.
        """
        place, several = getattr(self.law, "frame", None), np.shape(self.t)
        r, R = np.zeros((*several, 3)), np.zeros((*several, 3, 3)) + np.eye(3)
        if place is not None:
            for n in np.ndindex(several):
                r[n], R[n] = place(float(np.asarray(self.t)[n]))
        return self.motion.momenta(r[..., None, :], R[..., None, :, :])

    @cached_property
    def powers(self) -> Powers:
        """What moves the frame supplies through the supports, and dampers take."""
        reactions = np.where(self.body.fixed, self.motion.force, 0.0)
        return Powers(0.0, self.motion.power(reactions), self.motion.damping_power)

    def power(self, force: Array) -> Any:
        """The power of forces on the free degrees of freedom.

        Parameters
        ----------
        force : ndarray, shape (..., n)
            N and N·m, in the frame's axes.

        Returns
        -------
        float or ndarray, shape (P,)
            W, of the absolute motion.
        """
        whole = np.zeros((*force.shape[:-1], self.body.size))
        whole[..., self.body.free] = force
        return self.motion.power(whole)

    @cached_property
    def symmetries(self) -> Array:
        """Velocities (n, m) of the rigid motions of a body that nothing holds."""
        if self.body.fixed.any():
            return np.zeros((len(self.q), 0))
        fields = rigid_velocities(self.body, self.motion.path[0])
        return fields[:, np.abs(fields).max(axis=0) > 0.0]

    def system(self) -> FrozenSystem:
        """The frozen system about this state.

        Returns
        -------
        FrozenSystem
            Its load Q is what is out of balance, with the opposite sign.
        """
        parts = dict(zip(PARTS, self.motion.parts(), strict=True))
        return FrozenSystem(
            **{name: self._free(values) for name, values in parts.items() if np.any(values)},
            Q=-self.residual,
            dofs=self.body.free_dofs,
            frame=self.body.name,
            parameters=dict(t=self.t),
        )

    def tangents(self, exact: Wanted = True) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """The derivatives of the residual.

        Parameters
        ----------
        exact : bool
            Whether M, C and D are those of the displaced body.

        Returns
        -------
        tuple of scipy.sparse.csr_matrix
            By accelerations, by velocities and by q, (n, n).
        """
        by_a, by_v, by_q = self._derivatives(exact)
        return self._free(by_a), self._free(by_v), self._free(by_q)

    def _derivatives(self, exact: Wanted, at_rest: bool = False) -> tuple[Any, Any, Any]:
        """By accelerations, by velocities and by q, values (..., entries)."""
        motion = self.motion.resting if at_rest else self.motion
        parts = dict(zip(PARTS, motion.tangents(exact), strict=True))
        by_v, by_q = (
            sum(parts[name] for name in names) for names in (DAMPING_PARTS, STIFFNESS_PARTS)
        )
        return parts["M"], by_v, by_q

    @cached_property
    def _inner(self) -> tuple[Mask, Pattern]:
        """Which entries are between free degrees of freedom, and where they are among these."""
        rows, cols, free = self.stack.rows, self.stack.cols, np.zeros(self.body.size, dtype=bool)
        free[self.body.free] = True
        inner, number = free[rows] & free[cols], np.cumsum(free) - 1
        indptr = np.searchsorted(number[rows[inner]], np.arange(len(self.body.free) + 1))
        return inner, Pattern(len(self.body.free), number[cols[inner]], indptr)

    @property
    def sparsity(self) -> Pattern:
        """Where the entries of all matrices are."""
        return self._inner[1]

    def derivatives(self, exact: Wanted = True, at_rest: bool = False) -> list[Array]:
        """The derivatives of the residual at several times, as values on `sparsity`.

        Parameters
        ----------
        exact, at_rest : bool
            As of `tangents`, and as of `DeformedState.derivatives`.

        Returns
        -------
        list of ndarray
            By accelerations, by velocities and by q, (P, entries).
        """
        inner, _ = self._inner
        return [np.atleast_2d(values)[:, inner] for values in self._derivatives(exact, at_rest)]

    def _free(self, values: Array) -> sp.csr_matrix:
        """The matrix (n, n) of values (entries,)."""
        free = self.body.free
        matrix = sp.csr_matrix(self.stack.matrix(values)[free][:, free])
        matrix.eliminate_zeros()
        return matrix


def check_body(body: Body) -> None:
    """InputError for a body whose hub would have to hold a large rotation."""
    if len(body.hold):
        raise InputError(
            "nonlinear: a body pinned on its axis is not taken alone; clamp it, leave it free, or "
            "make it a mechanism with a revolute joint"
        )


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
        system = self.body.freeze_kinematics(self.motion.at(at), self.prestress)
        system.parameters = dict(t=at, **system.parameters)
        return system

    def causes(self, times: Array) -> list[Array]:
        """As of a mechanism: velocities, accelerations, loads, and equilibria that are finite."""
        at = [self.motion.at(t) for t in times.tolist()]
        rows = [(m.omega, m.epsilon, m.acceleration, m.loads()) for m in at]
        found = [np.stack(part) for part in zip(*rows, strict=True)]
        if self.prestress == "nonlinear":
            q = [equilibrium(self.body.operators, m).displacement for m in at]
            found.append(np.stack(q))
        return found

    def displaced(
        self,
        t: ArrayLike,
        q: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        *,
        near: DeformedBody | None = None,
    ) -> DeformedBody:
        """The body with given finite displacements, in motion.

        Parameters
        ----------
        t : float or array_like, shape (P,)
            s; several times give one state with a first axis of these.
        q, velocity, acceleration : array_like, shape (n,) or (P, n)
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
        n, times = len(self.body.free), np.asarray(t, dtype=float)
        if times.ndim > 1 or any(x.shape != (*times.shape, n) for x in values):
            raise InputError(
                f"q, velocity, acceleration: expected {n} numbers each, at each of the times"
            )
        now: Kinematics | list[Kinematics]
        if near is not None and np.array_equal(near.t, times):
            now = near.now
        else:
            now = (
                list(map(self.motion.at, times.tolist()))
                if times.ndim
                else self.motion.at(float(times))
            )
        return DeformedBody(
            self._stack, self.motion, now, times if times.ndim else float(times), *values
        )

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
