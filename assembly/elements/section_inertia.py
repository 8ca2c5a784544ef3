"""Inertia of rigid sections (or rigid bodies) in a moving frame, in batches.

A point at X + s moves by u + φ × s + ½ φ × (φ × s). With m = ∫dm, η = ∫s dm and J = ∫s sᵀ dm of a
section, every matrix of the moving frame follows from one formula, ∫ (δu + δφ × s)ᵀ A (u + φ × s)
dm with A = I (mass), A = w̃ (Coriolis, Euler), A = ω̃ω̃ (centrifugal), and every load from A (X +
s) + a_O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from assembly.errors import InputError
from assembly.kinematics import FRAME_UNITS, SKEW_UNITS, UNIT_COUNT, skew
from assembly.types import Array

# Identity, the six P_ij of ω̃ω̃, the three ẽ_i: the order of `inertia_forms`.
_FORMS = np.stack([np.eye(3), *FRAME_UNITS])
_E = np.stack(SKEW_UNITS)
# A of each unit kinematics (the three of a_O have none) and its constant acceleration.
_A = np.concatenate([_FORMS[1:], np.zeros((3, 3, 3))])
_A0 = np.concatenate([np.zeros((9, 3)), np.eye(3)])
# ∫ s̃ A s̃ dm = Σ J_ab ẽ_a A ẽ_b and ∫ s × (A s) dm = Σ J_ab ẽ_a A e_b.
_TURNED = np.einsum("aij,kjl,blm->kabim", _E, _FORMS, _E).reshape(10, 9, 9)
_TORQUE = np.einsum("aij,kjb->kabi", _E, _A).reshape(UNIT_COUNT, 9, 3)


@dataclass(frozen=True)
class SectionInertia:
    """m (...,), η (..., 3) and J = ∫s sᵀ dm (..., 3, 3), in body axes; per length for beams.

    turning (..., 3, 3): the part of φ that moves mass relative to the mass centre; the identity, or
    t tᵀ where only torsion does (classical Euler–Bernoulli theory without rotary inertia). The mass
    centre itself moves with the whole of φ: the first moments η are no rotary inertia.
    """

    m: Array
    eta: Array
    J: Array
    turning: Array

    @cached_property
    def turns_whole(self) -> bool:
        """Whether all of φ moves mass."""
        return bool(np.all(self.turning == np.eye(3)))

    @cached_property
    def parts(self) -> tuple[SectionInertia, ...]:
        """Inertias whose η and J move with one `turning`; they add up to this one.

        The mass at its centre, and the rest of J; one part where both turn alike or η = 0.
        """
        if self.turns_whole or not np.any(self.eta):
            return (self,)
        at_centre = self.eta[..., :, None] * self.eta[..., None, :] / self.m[..., None, None]
        return (
            SectionInertia(self.m, self.eta, at_centre, np.eye(3) + 0.0 * self.turning),
            SectionInertia(0.0 * self.m, 0.0 * self.eta, self.J - at_centre, self.turning),
        )

    def forms(self) -> Array:
        """(..., 10, 6, 6) on (u, φ): mass, the six ω_iω_j, the three unit w, in this order."""
        return np.asarray(sum(part._forms() for part in self.parts))

    def _forms(self) -> Array:
        eta = skew(self.eta)[..., None, :, :]
        flat = self.J.reshape(*self.J.shape[:-2], 9)
        H = np.empty((*self.m.shape, 10, 6, 6))
        H[..., :3, :3] = self.m[..., None, None, None] * _FORMS
        H[..., :3, 3:] = -(_FORMS @ eta)
        H[..., 3:, :3] = eta @ _FORMS
        H[..., 3:, 3:] = -np.einsum("...a,kai->...ki", flat, _TURNED).reshape(
            *self.m.shape, 10, 3, 3
        )
        P = self.turning[..., None, :, :]
        H[..., :3, 3:] = H[..., :3, 3:] @ P
        H[..., 3:, :3] = P @ H[..., 3:, :3]
        H[..., 3:, 3:] = P @ H[..., 3:, 3:] @ P
        return H

    def loads(self, X: Array) -> Array:
        """Inertia force and moment (..., 6, 12) of the unit kinematics at sections X (..., 3)."""
        return np.asarray(sum(part._loads(X) for part in self.parts))

    def _loads(self, X: Array) -> Array:
        a = np.einsum("kij,...j->...ik", _A, X) + _A0.T
        force = -self.m[..., None, None] * a - np.einsum("kij,...j->...ik", _A, self.eta)
        flat = self.J.reshape(*self.J.shape[:-2], 9)
        moment = -skew(self.eta) @ a - np.einsum("...a,kai->...ik", flat, _TORQUE)
        return np.concatenate([force, self.turning @ moment], axis=-2)

    def load_work(self, X: Array, coefficients: Array) -> Array:
        """Hessian (..., 3, 3) on φ of minus the second-order work of the inertia load of a motion.

        With F = ∫ f sᵀ dm, f = −(A(X + s) + a): tr(F) I − ½(F + Fᵀ). See docs/theory.md,
        "Geometric stiffness is not optional".
        """
        return np.asarray(sum(part._load_work(X, coefficients) for part in self.parts))

    def _load_work(self, X: Array, coefficients: Array) -> Array:
        A = np.tensordot(coefficients, _A, 1)
        a = X @ A.T + coefficients @ _A0
        F = -(a[..., :, None] * self.eta[..., None, :] + A @ self.J)
        trace = np.trace(F, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
        H = trace - 0.5 * (F + np.swapaxes(F, -1, -2))
        return np.asarray(self.turning @ H @ self.turning)

    def spin(self, axis: Array) -> Array:
        """𝒢 (..., 6, 6) of bodies that spin about an axis t (..., 3): −I_p t̃ on φ, per rad/s.

        Raises InputError unless each is axisymmetric about t, its centre on it.
        """
        t = np.broadcast_to(axis, self.eta.shape)
        along = np.einsum("...i,...ij,...j->...", t, self.J, t)
        polar = np.trace(self.J, axis1=-2, axis2=-1) - along
        outer = t[..., :, None] * t[..., None, :]
        round_J = along[..., None, None] * outer
        round_J = round_J + 0.5 * polar[..., None, None] * (np.eye(3) - outer)
        size = abs(self.J).max() + 1e-300
        off_axis = np.linalg.norm(np.cross(t, self.eta), axis=-1).max(initial=0.0)
        if abs(self.J - round_J).max() > 1e-9 * size or off_axis**2 > 1e-18 * size * self.m.max():
            raise InputError(
                "spin: only axisymmetric sections and discs can spin in a frame at rest"
            )
        G = np.zeros((*self.m.shape, 6, 6))
        G[..., 3:, 3:] = -self.turning @ (polar[..., None, None] * skew(t)) @ self.turning
        return G


def joined(records: Sequence[Any], chosen: Any = slice(None)) -> Any:
    """Records of elements in one batch, or some of these elements: their arrays, and those of
    records in them, one after another; what else they have is that of the first."""
    first = records[0]

    def joint(name: str) -> Any:
        values = [getattr(record, name) for record in records]
        if isinstance(values[0], np.ndarray):
            return np.concatenate(values)[chosen]
        return joined(values, chosen) if isinstance(values[0], SectionInertia) else values[0]

    return replace(first, **{field.name: joint(field.name) for field in fields(first)})
