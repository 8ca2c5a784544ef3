"""A rotor in multiblade coordinates, at an azimuth or in the mean over a turn.

With q = W(t) z (modal/periodic/coleman.py) the equations of z are

    WᵀMW z̈ + [WᵀVW + 2 WᵀMẆ] ż + [WᵀKW + WᵀVẆ + WᵀMẄ] z = WᵀQ,    V = C + D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import xarray as xr
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.magnitudes import EQUAL
from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.tolerances import ROUND_OFF, ZERO
from modal.periodic.coleman import Coleman, names_of, wave_shares
from modal.periodic.tolerances import DENSE, MOST_FROZEN
from modal.transient.equations import freezer
from modal.types import Array

MATRICES = {"M": ("M",), "C": ("C", "D"), "K": tuple(p for p in PARTS if p not in ("M", "C", "D"))}

Parts = dict[str, Any]  # the parts that are not zero, full or sparse (n, n), and the load Q (n,)


class MultibladeModel:
    """A rotor in multiblade coordinates. Made by `multiblade`.

    Parameters
    ----------
    model : object with ``freeze(t)``
        The rotor in its own coordinates.
    coleman : Coleman
        The transformation.
    average : bool
        Whether `freeze` returns the mean over the azimuth.
    """

    def __init__(self, model: Any, coleman: Coleman, average: bool = False) -> None:
        self.model, self.coleman, self.average = model, coleman, average
        self._freeze = freezer(model)

    @property
    def rate(self) -> float:
        """Speed of the rotor, rad/s."""
        return self.coleman.rate

    @property
    def period(self) -> float:
        """Time of a turn, s."""
        return 2.0 * np.pi / abs(self.coleman.rate)

    def freeze(self, t: float = 0.0) -> FrozenSystem:
        """The frozen system of the multiblade coordinates.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        FrozenSystem
        """
        if self.average:
            return self.mean
        parts, parameters = self._parts(float(t)), self._freeze(float(t)).parameters
        return self._system(parts, float(t), "multiblade coordinates", parameters)

    @property
    def mean(self) -> FrozenSystem:
        """The mean over the azimuth of all matrices and of the load."""
        return self._means[0]

    @property
    def variation(self) -> Mapping[str, float]:
        """How far M, C + D and all stiffness are from constant over the azimuth.

        The largest Frobenius norm of the difference from the mean over that of the mean, with every
        degree of freedom scaled by the root of its mean inertia. C is compared with the larger of
        its own norm and the root of the norms of M and K.
        """
        return self._means[1]

    @property
    def is_constant(self) -> bool:
        """Whether no matrix varies by more than 1e-9 of its size."""
        return max(self.variation.values()) <= EQUAL

    def physical(self, t: float, z: NDArray[Any]) -> NDArray[Any]:
        """Degrees of freedom of the model of multiblade coordinates.

        Parameters
        ----------
        t : float
            s.
        z : ndarray, shape (n, ...)
            Real or complex.

        Returns
        -------
        ndarray, shape (n, ...)
        """
        return np.asarray(self.coleman.of_model(self.model, t)[0] @ z)

    def coordinates(self, t: float, q: NDArray[Any]) -> NDArray[Any]:
        """Multiblade coordinates of degrees of freedom of the model.

        Parameters
        ----------
        t : float
            s.
        q : ndarray, shape (n, ...)
            Real or complex.

        Returns
        -------
        ndarray, shape (n, ...)
        """
        return np.asarray(self.coleman.backwards(self.model, t, q))

    def shares(self, modes: Any) -> xr.DataArray:
        """Share of each group of coordinates in the modes of a frozen system of these coordinates.

        Parameters
        ----------
        modes : Modes
            Of `mean`, or of an instant.

        Returns
        -------
        xarray.DataArray
            Dimensions (mode, group); the sum over the groups is 1.
        """
        return wave_shares(self.coleman, self.mean.M, modes.eigenvalues, modes.right)

    def basis(self, modes: Any) -> Array:
        """Shapes of the model, in its own coordinates, that hold multiblade modes at any azimuth.

        Parameters
        ----------
        modes : Modes
            Of `mean`. Where the multiblade matrices are constant these are Floquet modes, and the
            basis has their exact exponents.

        Returns
        -------
        ndarray, shape (n, r)
            Orthonormal columns, for `basis` of `modal.floquet`.

        Raises
        ------
        InputError
            For a mechanism whose blades keep different degrees of freedom.
        """
        if self.coleman.rows is not None:
            raise InputError(
                "basis: the mechanism's own degrees of freedom differ from blade to blade"
            )
        X = np.concatenate([modes.right.real, modes.right.imag], axis=1)
        blades, pairs, others = self.coleman.blades, self.coleman.pairs, self.coleman.others
        sets = [(blade, np.concatenate([X[b] for b in blades], axis=1)) for blade in blades]
        turning = np.concatenate([pairs[:, 0], pairs[:, 1]])
        turned = np.concatenate([pairs[:, 1], pairs[:, 0]])
        sign = np.repeat([-1.0, 1.0], len(pairs))[:, None]
        sets += [
            (others, X[others]),
            (turning, np.concatenate([X[turning], sign * X[turned]], axis=1)),
        ]
        out = []
        for rows, shapes in sets:
            if len(rows):
                columns = la.orth(shapes / np.maximum(np.linalg.norm(shapes, axis=0), 1e-300))
                block = np.zeros((self.coleman.n, columns.shape[1]))
                block[rows] = columns
                out.append(block)
        return np.concatenate(out, axis=1)

    def names(self, modes: Any) -> list[str]:
        """Names of modes: by the group with the largest share.

        Parameters
        ----------
        modes : Modes
            Of `mean`, or of an instant.

        Returns
        -------
        list of str
            "collective", "progressive", "regressive", "reactionless" or "support".
        """
        return names_of(self.shares(modes).values)

    def of_blades(self, t: float) -> FrozenSystem:
        """The system at t, s, in the degrees of freedom that are alike in all blades."""
        system, coleman = self._freeze(t), self.coleman
        if coleman.rows is None:
            return system
        rigid = self.model.transformation(t)[0][coleman.rows] @ system.rigid
        parts = _transformed(system, *coleman.of_blades(self.model, t))
        return _frozen(parts, rigid=rigid, parameters=system.parameters)

    @cached_property
    def _means(self) -> tuple[FrozenSystem, Mapping[str, float]]:
        """The mean system, and the variation of its matrices."""
        count = 2 * self.coleman.count  # azimuths at first
        turns = np.arange(count) / count
        samples = [self._parts(self.period * float(turn)) for turn in turns]
        average = _mean(samples)
        changes = _variation(samples, average)
        settled = max(changes.values()) <= EQUAL
        while not settled and 2 * len(samples) <= MOST_FROZEN:
            turns = (np.arange(len(samples)) + 0.5) / len(samples)
            samples += [self._parts(self.period * float(turn)) for turn in turns]
            coarse, average = average, _mean(samples)
            settled = max(_variation([coarse], average).values()) <= ZERO
            changes = _variation(samples, average)
        frame = "multiblade coordinates, mean over the azimuth"
        parameters = {k: v for k, v in self._freeze(0.0).parameters.items() if k != "t"}
        return self._system(average, 0.0, frame, parameters | {"rate": self.rate}), changes

    def _parts(self, t: float) -> Parts:
        """The parts and the load at an instant."""
        return _transformed(self._freeze(t), *self.coleman.of_model(self.model, t))

    def _system(self, parts: Parts, t: float, frame: str, parameters: Any) -> FrozenSystem:
        rigid = self.coordinates(t, self._freeze(t).rigid)
        return _frozen(parts, rigid=rigid, frame=frame, parameters=parameters)

    def __str__(self) -> str:
        N, m = self.coleman.blades.shape
        shown = ", ".join(f"{name} {value:.1e}" for name, value in self.variation.items())
        kind = "constant" if self.is_constant else "periodic"
        if self.average and not self.is_constant:
            kind = "periodic, averaged"
        return (
            f"multiblade coordinates: {N} blades of {m} DOFs, {self.coleman.n} DOFs in all, "
            f"{self.rate:.6g} rad/s\n  {kind} (variation over the azimuth: {shown})"
        )


def _transformed(system: FrozenSystem, W: Any, rate: Any, second: Any) -> Parts:
    """The load and the parts of a frozen system in multiblade coordinates, each where it belongs.

    W, Ẇ, Ẅ (n, n), of its degrees of freedom.
    """
    full = system.n <= DENSE
    if full:
        W, rate, second = (A.toarray() if sp.issparse(A) else A for A in (W, rate, second))
    matrices = {
        name: getattr(system, name).toarray() if full else getattr(system, name)
        for name in PARTS
        if not system.parts[name].is_zero
    }
    parts: Parts = {name: _product(W, A, W) for name, A in matrices.items()}
    M = matrices["M"]
    _add(parts, "K_transport", _product(W, M, second))
    _add(parts, "C", 2.0 * _product(W, M, rate))
    for name, target in (("C", "K_transport"), ("D", "K_D")):
        if name in matrices:
            _add(parts, target, _product(W, matrices[name], rate))
    return parts | {"Q": W.T @ system.Q}


def _frozen(parts: Parts, **attributes: Any) -> FrozenSystem:
    """The frozen system of the parts."""
    matrices = {name: _mirrored(parts[name]) for name in PARTS if name in parts}
    return FrozenSystem(**matrices, Q=parts["Q"], **attributes)


def _mean(samples: Sequence[Parts]) -> Parts:
    """The mean of every part."""
    names = sorted({name for parts in samples for name in parts})
    return {name: sum(p[name] for p in samples if name in p) / len(samples) for name in names}


def _variation(samples: Sequence[Parts], average: Parts) -> Mapping[str, float]:
    """Largest difference of M, C + D and all stiffness from the mean, relative.

    Frobenius norms, every degree of freedom scaled by the root of its mean inertia. C is compared
    with the larger of its own norm and the root of those of M and K.
    """
    inertia = np.maximum(average["M"].diagonal(), np.finfo(float).tiny)
    root = 1.0 / np.sqrt(inertia)

    def total(parts: Parts, names: Sequence[str]) -> Any:
        return sum((parts[name] for name in names if name in parts), start=0.0 * average["M"])

    def size(A: Any) -> float:
        if sp.issparse(A):
            return float(sp.linalg.norm(A.multiply(root[:, None]).multiply(root)))
        return float(np.linalg.norm(root[:, None] * A * root))

    whole = {key: size(total(average, names)) for key, names in MATRICES.items()}
    whole["C"] = max(whole["C"], float(np.sqrt(whole["M"] * whole["K"])))
    out = {}
    for key, names in MATRICES.items():
        steady = total(average, names)
        worst = max(size(total(parts, names) - steady) for parts in samples)
        out[key] = worst / whole[key] if whole[key] > 0.0 else 0.0
    return out


def _add(parts: Parts, name: str, A: Any) -> None:
    parts[name] = parts[name] + A if name in parts else A


def _product(W: Any, A: Any, X: Any) -> Any:
    """WᵀAX without the entries that are round-off of their sums."""
    B, size = W.T @ (A @ X), ROUND_OFF * (abs(W).T @ (abs(A) @ abs(X)))
    if not sp.issparse(B):
        return np.where(np.abs(B) > size, B, 0.0)
    B = sp.csr_matrix(B.multiply(abs(B) > size))
    B.eliminate_zeros()
    return B


def _mirrored(A: Any) -> Any:
    """A symmetric or skew matrix without the round-off of its symmetry; others as they are."""
    size = _largest(A)
    for sign in (1.0, -1.0):
        if _largest(A - sign * A.T) <= ROUND_OFF * size:
            return 0.5 * (A + sign * A.T)
    return A


def _largest(A: Any) -> float:
    return float(abs(A).max())
