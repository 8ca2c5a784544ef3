"""A rotor in multiblade coordinates, at an azimuth or in the mean over a turn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.magnitudes import EQUAL, ROUND_OFF
from assembly.system.frozen import FrozenSystem
from modal.periodic.coleman import Coleman, names_of, wave_shares
from modal.periodic.multiblade_matrices import Parts, frozen, mean, transformed, variation
from modal.periodic.tolerances import MOST_FROZEN
from modal.transient.equations import freezer
from modal.types import Array


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
        return self.mean if self.average else self._at(float(t))

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
        parts = transformed(system, *coleman.of_blades(self.model, t))
        return frozen(parts, rigid=rigid, parameters=system.parameters)

    def _at(self, t: float) -> FrozenSystem:
        parts, load = self._sampled(t)
        return self._frozen(parts, load, t, "multiblade coordinates", self._freeze(t).parameters)

    @cached_property
    def _means(self) -> tuple[FrozenSystem, Mapping[str, float]]:
        """The mean system, and the variation of its matrices."""
        count = 2 * self.coleman.count  # azimuths at first
        turns = np.arange(count) / count
        samples = [self._sampled(self.period * float(turn)) for turn in turns]
        average = mean([parts for parts, _ in samples])
        changes = variation([parts for parts, _ in samples], average)
        settled = max(changes.values()) <= EQUAL
        while not settled and 2 * len(samples) <= MOST_FROZEN:
            turns = (np.arange(len(samples)) + 0.5) / len(samples)
            samples += [self._sampled(self.period * float(turn)) for turn in turns]
            coarse, average = average, mean([parts for parts, _ in samples])
            settled = max(variation([coarse], average).values()) <= ROUND_OFF
            changes = variation([parts for parts, _ in samples], average)
        load = np.mean([load for _, load in samples], axis=0)
        frame = "multiblade coordinates, mean over the azimuth"
        parameters = {k: v for k, v in self._freeze(0.0).parameters.items() if k != "t"}
        parameters |= {"rate": self.rate}
        return self._frozen(average, load, 0.0, frame, parameters), changes

    def _sampled(self, t: float) -> tuple[Parts, Array]:
        """The parts and the load at an instant."""
        system, motion = self._freeze(t), self.coleman.of_model(self.model, t)
        return transformed(system, *motion), np.asarray(motion[0].T @ system.Q)

    def _frozen(
        self, parts: Parts, load: Array, t: float, frame: str, parameters: Any
    ) -> FrozenSystem:
        rigid = self.coordinates(t, self._freeze(t).rigid)
        return frozen(parts, Q=load, rigid=rigid, frame=frame, parameters=parameters)

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
