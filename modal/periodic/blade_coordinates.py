"""The same degrees of freedom in every blade of a mechanism.

A mechanism keeps those degrees of freedom that determine the others best, and they may differ from
blade to blade. With all degrees of freedom δ = T(t) q, the chosen ones are d = E(t) q, where E is
made of their rows of T, and q = F d with F = E⁻¹, Ḟ = −F Ė F, F̈ = −F (Ë F + 2 Ė Ḟ). The equations
of d follow as in modal/periodic/multiblade_matrices.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Array, Index

WORST_CONDITION = 1e8
INDEPENDENT = 1e-8  # relative size of a row that adds nothing to those chosen


class BladeCoordinates:
    """A mechanism whose frozen systems are of the degrees of freedom `rows` of all.

    rows (n,): numbers in the degrees of freedom of all bodies, as many as independent ones.
    """

    def __init__(self, mechanism: Any, rows: Index) -> None:
        self.mechanism, self.rows = mechanism, rows
        self.dofs = mechanism.dofs.select(rows)

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of d."""
        system = self.mechanism.freeze(t)
        F, rate, second = self._inverse(t)
        parts = {
            name: F.T @ (part.tocsr() @ F)
            for name, part in system.parts.items()
            if not part.is_zero
        }
        transport = system.M @ second
        for name, target in (("C", "K_transport"), ("D", "K_D")):
            if name in parts:
                turned = system.parts[name].tocsr() @ rate
                if name == "C":
                    transport = transport + turned
                else:
                    parts[target] = parts.get(target, 0.0) + F.T @ turned
        parts["C"] = parts.get("C", 0.0) + 2.0 * F.T @ (system.M @ rate)
        parts["K_transport"] = parts.get("K_transport", 0.0) + F.T @ transport
        return FrozenSystem(
            **{name: np.asarray(A) for name, A in parts.items()},
            Q=F.T @ system.Q,
            rigid=la.solve(F, system.rigid) if system.rigid.size else system.rigid,
            dofs=self.dofs,
            frame=system.frame,
            parameters=system.parameters,
        )

    def independent(self, t: float, d: NDArray[Any]) -> NDArray[Any]:
        """The independent degrees of freedom q (n, ...) of the mechanism."""
        return np.asarray(self._inverse(t)[0] @ d)

    def chosen(self, t: float, q: NDArray[Any]) -> NDArray[Any]:
        """The degrees of freedom d (n, ...) of those of the mechanism."""
        return np.asarray(self.mechanism.transformation(t)[0][self.rows] @ q)

    def _inverse(self, t: float) -> tuple[Array, Array, Array]:
        """F, Ḟ, F̈ (n, n)."""
        E, first, second = (A[self.rows].toarray() for A in self.mechanism.transformation(t))
        F = la.inv(E)
        rate = -F @ first @ F
        return F, rate, -F @ (second @ F + 2.0 * first @ rate)


def blade_coordinates(mechanism: Any, blades: list[Index], turning: Index) -> BladeCoordinates:
    """The mechanism in coordinates that are the same in every blade.

    blades: numbers of all degrees of freedom of each blade, in the same order. turning: those of
    other bodies that turn. Raises InputError where no such coordinates determine the others.
    """
    T = mechanism.transformation(0.0)[0].toarray()
    count, n = T.shape
    inside = np.concatenate([*blades, turning])
    still = np.setdiff1d(np.arange(count), inside)
    rows = _added(T, np.zeros((0, n)), still)
    rows = np.concatenate([rows, _added(T, T[rows], turning)])
    own = _added(T, T[rows], blades[0])
    places = np.searchsorted(np.sort(blades[0]), own)
    places = np.argsort(blades[0])[places]
    rows = np.concatenate([rows, *(blade[np.sort(places)] for blade in blades)])
    if len(rows) != n or np.linalg.cond(T[rows]) > WORST_CONDITION:
        raise InputError(
            "blades: they are not alike: no degrees of freedom that are the same in all of them "
            "determine the others"
        )
    return BladeCoordinates(mechanism, rows)


def _added(T: Array, basis: Array, candidates: Index) -> Index:
    """The candidates whose rows of T span, with `basis`, what all of them span."""
    if not len(candidates):
        return candidates
    A = T[candidates]
    if len(basis):
        Q = la.orth(basis.T)
        A = A - (A @ Q) @ Q.T
    _, R, order = la.qr(A.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    count = int((sizes > INDEPENDENT * max(1.0, sizes.max(initial=0.0))).sum())
    return np.sort(candidates[order[:count]])
