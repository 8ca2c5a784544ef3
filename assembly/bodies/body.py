"""A body: element families on common degrees of freedom, supports, and its frozen system.

Nothing is reassembled along a motion: every matrix is a combination of fixed matrices, one per
unit of ω_i, ω_iω_j, ε_i, a_O,i (docs/theory.md, "One body in a moving frame").
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.body_data import BodyData, body_report
from assembly.bodies.first_order import FirstOrder
from assembly.bodies.nonlinear import displaced, equilibrium
from assembly.bodies.operators import BodyOperators, BodyStatics
from assembly.bodies.placed import placed_fields
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.kinematics import Kinematics, as_vector
from assembly.magnitudes import DAMPING_MASS, DAMPING_STIFFNESS
from assembly.system.frozen import FrozenSystem
from assembly.types import Array, Index

Prestress = Literal["linear", "first-order", "nonlinear"] | None

WITHOUT_PRESTRESS = (
    "prestress=None leaves K_G out: softening without stiffening, a divergence that does not exist"
)


def check_prestress(prestress: object) -> None:
    """InputError unless it is one of `Prestress`."""
    if prestress not in ("linear", "first-order", "nonlinear", None):
        raise InputError(
            'prestress: expected "linear", "first-order", "nonlinear" or None, got '
            + f"{prestress!r}"
        )


class Body(BodyData):
    """An elastic body in its own frame.

    The builders (`beam`, `solid`, `blade`, ...) make bodies; they are not put together by hand.

    Parameters
    ----------
    dofs : DofMap
        All n degrees of freedom, before supports.
    families : tuple of ElementFamily
        The elements and attachments whose matrices are added.
    fixed : ndarray of bool, shape (n,)
        Degrees of freedom that a clamp or pin removes.
    hold : ndarray of int
        Degrees of freedom that are free to vibrate but carry a reaction while the prestress is
        computed: the hub torque of a pinned body.
    rayleigh : tuple of float
        (a, b) of the internal damping D = a M + b K, in 1/s and s.
    name : str
        Name of the body; it is the name of its frame as well.
    sets : mapping of str to ndarray of int
        Named node sets.
    made_from : str
        What the body was made from: builder and arguments, files by their SHA-256.
    """

    def __str__(self) -> str:
        return body_report(self, self.statics.inertia_loads)

    @cached_property
    def free_dofs(self) -> DofMap:
        """The map of the degrees of freedom that supports leave; one object for all instants."""
        return self.dofs.select(self.free).named(self.name)

    @property
    def cells(self) -> tuple[tuple[str, Index], ...]:
        """Cells of the mesh: their kind in meshio's names, and the nodes (E, a) of each."""
        return tuple(block for family in self.families for block in family.drawing_cells())

    @property
    def sections(self) -> Array:
        """Half sides (E, 2, 3), m, of the rectangles that stand for the sections of line cells."""
        return np.concatenate([np.zeros((0, 2, 3)), *(f.drawing_sections() for f in self.families)])

    def with_damping(self, a: float = 0.0, b: float = 0.0) -> Body:
        """The same body with internal Rayleigh damping D = a M + b K.

        Parameters
        ----------
        a : float
            Mass coefficient, 1/s.
        b : float
            Stiffness coefficient, s.

        Returns
        -------
        Body

        Raises
        ------
        InputError
            For a negative coefficient.
        """
        DAMPING_MASS.number(a, "damping: a")
        DAMPING_STIFFNESS.number(b, "damping: b")
        return replace(self, rayleigh=(float(a), float(b)))

    def placed(self, r: ArrayLike = (0.0, 0.0, 0.0), R: ArrayLike | None = None) -> Body:
        """The same body at another place of its frame, as a member of `assembly.weld`.

        Parameters
        ----------
        r : array_like, shape (2,) or (3,)
            Where the body's present origin goes, m.
        R : float or array_like, shape (3, 3), optional
            Rotation from the body's present axes to those of the frame; a number is an angle about
            z, rad. None: no rotation.

        Returns
        -------
        Body
            Displacements and rotations are in the axes of the frame.

        Raises
        ------
        InputError
            For an R that is not a rotation, or one that takes a planar body out of its plane.
        """
        return replace(self, **placed_fields(self, r, R))

    @cached_property
    def dissipates(self) -> bool:
        """Whether the body has any damping."""
        return any(self.rayleigh) or self.operators.dampers.nnz > 0

    @cached_property
    def operators(self) -> BodyOperators:
        """The fixed matrices over all degrees of freedom; mechanisms constrain them later."""
        return BodyOperators(self, np.arange(self.size), self.statics)

    @cached_property
    def supported(self) -> BodyOperators:
        """The fixed matrices over the free degrees of freedom."""
        return BodyOperators(self, self.free, self.statics) if self.fixed.any() else self.operators

    @cached_property
    def statics(self) -> BodyStatics:
        """Loads of a motion, displacements under them, and the geometric stiffness they make."""
        return BodyStatics(self, lambda held: self.operators.K if held else self.supported.K)

    @cached_property
    def first_order(self) -> FirstOrder:
        """What the deflection under unit loads changes in the matrices, to first order."""
        return FirstOrder(self.supported)

    @cached_property
    def rigid(self) -> Array:
        """A basis (free, m) of the rigid motions that neither supports nor springs resist."""
        return self.unresisted(self.fixed)[self.free]

    def freeze(
        self,
        omega: ArrayLike = 0.0,
        epsilon: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
        *,
        velocity: ArrayLike = 0.0,
        axis: ArrayLike | None = None,
        prestress: Prestress = "linear",
    ) -> FrozenSystem:
        """The frozen system at one instant of a rigid motion.

        Parameters
        ----------
        omega : float or array_like, shape (3,)
            Angular velocity in body axes, rad/s; a scalar is along `axis`.
        epsilon : float or array_like, shape (3,)
            Angular acceleration in body axes, rad/s²; a scalar is along `axis`.
        acceleration : float or array_like, shape (3,)
            Acceleration of the frame's origin in body axes, m/s²; a scalar is along `axis`.
        velocity : float or array_like, shape (3,)
            Velocity of the frame's origin in body axes, m/s; a scalar is along `axis`. Only dampers
            against the surroundings (`attach_damper`) depend on it: they resist the steady motion
            of their node by −d(v_O + ω̃X), which is part of Q and of the prestress.
        axis : array_like, shape (3,), optional
            Direction of scalar arguments.
        prestress : {"linear", "first-order", "nonlinear", None}
            "linear": stress of the loads on the undeformed geometry. "nonlinear": the degrees of
            freedom count from the deformed equilibrium, Q is zero, and K_G is all that the tangent
            there adds to K; M, C and D are those of the deformed shape. "first-order": K_G, M and D
            to first order in the load, the derivative of "nonlinear"; for deflections far below the
            thickness (see Raises). None: no K_G, which gives a divergence that does not exist.

        Returns
        -------
        FrozenSystem
            The matrices over the degrees of freedom that supports leave.

        Raises
        ------
        InputError
            For values that are not finite or have the wrong shape.
        ConvergenceError
            When no deformed equilibrium is found (prestress="nonlinear"); when first order leaves
            out as much as ω² of a mode (prestress="first-order"). From 0.01 ω² on a
            PlausibilityWarning says so.

        Notes
        -----
        The equations are M δ̈ + (C + D) δ̇ + [K + K(ε) + K(ω²) + K_G + K_D] δ = Q; see the manual,
        "Theory", and Scutaru and Vlase (2012).

        Examples
        --------
        >>> import assembly
        >>> section = assembly.rectangle(0.05, 0.02)
        >>> body = assembly.beam(1.0, section, assembly.steel, 10, clamped="start")
        >>> system = body.freeze(omega=100.0, axis=(0, 0, 1))
        >>> system.n
        60
        >>> system.is_conservative
        True
        """
        given = dict(omega=omega, epsilon=epsilon, acceleration=acceleration, velocity=velocity)
        motion = Kinematics(**{name: as_vector(x, name, axis) for name, x in given.items()})
        return self.freeze_kinematics(motion, prestress)

    def freeze_kinematics(
        self,
        motion: Kinematics,
        prestress: Prestress = "linear",
        parameters: Mapping[str, Any] | None = None,
    ) -> FrozenSystem:
        """The frozen system of kinematics given as one object; see `freeze`.

        Parameters
        ----------
        motion : Kinematics
            Rigid motion of the instant, body axes.
        prestress : {"linear", "first-order", "nonlinear", None}
            As for `freeze`.
        parameters : mapping, optional
            What is recorded in the system; by default omega, epsilon and acceleration.

        Returns
        -------
        FrozenSystem

        Raises
        ------
        InputError
            For another value of `prestress`.
        ConvergenceError
            As for `freeze`.
        """
        check_prestress(prestress)
        ops = self.supported
        parts = ops.parts(motion)
        load = ops.load(motion)
        if prestress is None:
            if np.any(motion.omega):
                warnings.warn(WITHOUT_PRESTRESS, stacklevel=3)
            del parts["K_G"]
        elif prestress == "first-order":
            parts |= {name: parts[name] + A for name, A in self.first_order.parts(motion).items()}
            load = np.zeros_like(load)
        elif prestress == "nonlinear":
            parts |= displaced(ops, parts, equilibrium(self.operators, motion))
            load = np.zeros_like(load)
        rates = dict(omega=motion.omega, epsilon=motion.epsilon, acceleration=motion.acceleration)
        if np.any(motion.velocity):
            rates["velocity"] = motion.velocity
        return FrozenSystem(
            **parts,
            Q=load,
            rigid=self.rigid,
            dofs=self.free_dofs,
            frame=self.name,
            parameters=rates if parameters is None else parameters,
        )

    def rigid_fields(self) -> Array:
        """The six infinitesimal rigid motions about the frame's origin, (n, 6)."""
        return self.dofs.rigid_fields()

    def on_coordinates(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Linear forms (k, n) of the degrees of freedom in the coordinates of the body."""
        return rows

    def load_stiffness(self, loads: Array) -> list[Any]:
        """K_G (n, n) of each of several unit loads.

        Parameters
        ----------
        loads : ndarray, shape (n, k)
            Forces and moments, N and N·m.

        Returns
        -------
        list of operators, length k
            Those of the same loads are the same objects.
        """
        return self.statics.of_loads(loads, self._load_stiffness, self.statics.geometric)

    @cached_property
    def attachments(self) -> dict[Any, Any]:
        """Motions of the nodes and node sets that joints and loads of mechanisms use."""
        return {}

    @cached_property
    def _load_stiffness(self) -> dict[bytes, Any]:
        return {}
