"""Multiblade coordinates of a rotor: `modal.multiblade`.

With q = T(ψ) z and Ṫ = T S at a constant rate (modal/periodic/coleman.py), the equations of z are

    TᵀMT z̈ + [TᵀVT + 2 TᵀMT S] ż + [TᵀKT + TᵀVT S + TᵀMT S²] z = TᵀQ,    V = C + D.

They are constant where blades and support are alike in all directions (J. M. Skjoldan and
M. H. Hansen, Wind Energy 12, 2009), and have the period of the rotation otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.system.frozen import PARTS, FrozenSystem
from modal.periodic.blade_modes import names_of, wave_shares
from modal.periodic.blade_sets import Blade, transformation
from modal.periodic.coleman import Coleman
from modal.transient.equations import freezer, is_second_order

SAMPLES_A_BLADE = 8  # azimuths at which the matrices are compared and averaged, first
MOST_SAMPLES = 512
SETTLED = 1e-12  # relative change of the means
CONSTANT = 1e-9  # relative variation of matrices that are called constant
NOISE = 1e-14  # entries below this of their rows' largest are round-off
MIRRORED = 1e-13  # relative asymmetry that is round-off
MATRICES = {"M": ("M",), "C": ("C", "D"), "K": tuple(p for p in PARTS if p not in ("M", "C", "D"))}


def multiblade(
    model: Any,
    blades: Sequence[Blade],
    rate: float | None = None,
    *,
    turning: Sequence[Sequence[int]] = (),
    average: bool = False,
) -> MultibladeModel:
    """A rotor in multiblade coordinates, in which its equations are constant where they can be.

    Parameters
    ----------
    model : object with ``freeze(t)``
        A mechanism or any model whose blades' degrees of freedom turn with the blades.
    blades : sequence of str, of sequences of str, or of sequences of int
        Three blades or more: for a mechanism the name of each blade's body (or of its bodies), for
        any model the numbers of the degrees of freedom of each blade, the same order in every
        blade. Numbers: blade b is ahead of the first by 2πb/N in the direction of the rotation.
        Bodies: the rotations of their frames tell their azimuths.
    rate : float, optional
        Speed of the rotor, rad/s, constant. A mechanism knows it.
    turning : sequence of pairs of int, optional
        Numbers of the pairs (x, y) of other degrees of freedom, such as those of a hub, in axes
        that turn with the rotor; x to y is the direction of a positive rate. A mechanism knows
        them.
    average : bool, default False
        ``freeze`` returns the mean over the azimuth, whatever the time.

    Returns
    -------
    MultibladeModel
        A model (``freeze(t)``) of the same size. Printable.

    Raises
    ------
    InputError
        An argument cannot be used, or the blades are not alike in number of degrees of freedom or
        not evenly spaced.

    Notes
    -----
    q_b = a_0 + Σ (a_nc cos nψ_b + a_ns sin nψ_b) + (−1)ᵇ a_d (Coleman and Feingold, NACA Report
    1351, 1958). Stability does not change: z is bounded where q is. See docs/theory.md, "Rotors
    with blades".

    Examples
    --------
    Three pendula of 1 kg at 1 m from the hub, hinged at 0.2 m, on a wheel that only turns:

    >>> import numpy as np, assembly, modal
    >>> lag = assembly.FrozenSystem(M=np.eye(3), K=0.25 * 30.0**2 * np.eye(3))
    >>> fixed = modal.multiblade(lag, blades=([0], [1], [2]), rate=30.0)
    >>> fixed.is_constant
    True
    >>> modes = modal.solve(fixed.freeze(), k=3)
    >>> modes.eigenvalues.imag.round(6).tolist()
    [15.0, 15.0, 45.0]
    >>> fixed.names(modes)
    ['collective', 'regressive', 'progressive']
    """
    if not is_second_order(model):
        raise InputError("model: a plain A(t) has no blades; give an object with freeze(t)")
    coleman = transformation(model, blades, rate, turning)
    return MultibladeModel(model, coleman, average)


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

    @cached_property
    def mean(self) -> FrozenSystem:
        """The mean over the azimuth of all matrices and of the load."""
        return self._means[0]

    @cached_property
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
        return max(self.variation.values()) <= CONSTANT

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
        return np.asarray(self.coleman.matrix(t) @ z)

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
        product = np.asarray(self.coleman.matrix(t).T @ q)
        return np.asarray((product.T / self.coleman.sizes).T)

    def shares(self, modes: Any) -> Any:
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
        return names_of(self.shares(modes))

    def _at(self, t: float) -> FrozenSystem:
        system = self._freeze(t)
        T, S = self.coleman.matrix(t), self.coleman.rotation
        parts = {name: _congruent(system.parts[name], T) for name in PARTS}
        M, C, D = parts["M"], parts["C"], parts["D"]
        turned = C @ S + M @ (S @ S)
        parts["C"] = C + 2.0 * (M @ S)
        parts["K_D"] = parts["K_D"] + D @ S
        parts["K_transport"] = parts["K_transport"] + turned
        return FrozenSystem(
            **{name: _mirrored(A) for name, A in parts.items() if A.nnz},
            Q=T.T @ system.Q,
            rigid=(T.T @ system.rigid) / self.coleman.sizes[:, None],
            frame="multiblade coordinates",
            parameters=dict(system.parameters),
        )

    @cached_property
    def _means(self) -> tuple[FrozenSystem, Mapping[str, float]]:
        """The mean system, and the variation of its matrices."""
        count = SAMPLES_A_BLADE * self.coleman.count
        samples = [self._at(self.period * j / count) for j in range(count)]
        mean = _mean(samples)
        while 2 * count <= MOST_SAMPLES:
            middles = [self._at(self.period * (j + 0.5) / count) for j in range(count)]
            finer = _mean(samples + middles)
            samples, count = samples + middles, 2 * count
            settled = all(
                _largest(finer[name] - mean[name]) <= SETTLED * _largest(finer[name])
                for name in finer
            )
            mean = finer
            if settled:
                break
        first = samples[0]
        parameters = {k: v for k, v in first.parameters.items() if k != "t"}
        system = FrozenSystem(
            **{name: _mirrored(mean[name]) for name in PARTS if mean[name].nnz},
            Q=sum(s.Q for s in samples) / count,
            rigid=first.rigid,
            frame="multiblade coordinates, mean over the azimuth",
            parameters=parameters | {"rate": self.rate},
        )
        return system, _variation(samples, system)

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


def _congruent(part: Any, T: sp.csr_matrix) -> sp.csr_matrix:
    """TᵀAT, without the entries that are round-off."""
    if part.is_zero:
        return sp.csr_matrix(T.shape)
    A = sp.csr_matrix(T.T @ (part.tocsr() @ T))
    rows = np.asarray(abs(A).max(axis=1).todense()).ravel()
    entries = A.tocoo()
    kept = np.abs(entries.data) > NOISE * np.sqrt(rows[entries.row] * rows[entries.col])
    where = (entries.row[kept], entries.col[kept])
    return sp.csr_matrix((entries.data[kept], where), shape=A.shape)


def _mirrored(A: sp.csr_matrix) -> sp.csr_matrix:
    """A symmetric or skew matrix without the round-off of its symmetry; others as they are."""
    size = _largest(A)
    for sign in (1.0, -1.0):
        if _largest(A - sign * A.T) <= MIRRORED * size:
            return sp.csr_matrix(0.5 * (A + sign * A.T))
    return A


def _largest(A: Any) -> float:
    return float(abs(A).max()) if A.nnz else 0.0


def _mean(samples: list[FrozenSystem]) -> dict[str, sp.csr_matrix]:
    return {
        name: sp.csr_matrix(sum(s.parts[name].tocsr() for s in samples) / len(samples))
        for name in PARTS
    }


def _variation(samples: list[FrozenSystem], mean: FrozenSystem) -> dict[str, float]:
    root = sp.diags(1.0 / np.sqrt(np.maximum(mean.M.diagonal(), np.finfo(float).tiny)))

    def size(system: FrozenSystem, names: tuple[str, ...], less: Any = 0.0) -> float:
        A = root @ (system.combined(names).tocsr() - less) @ root
        return float(sp.linalg.norm(A)) if A.nnz else 0.0

    whole = {key: size(mean, names) for key, names in MATRICES.items()}
    whole["C"] = max(whole["C"], float(np.sqrt(whole["M"] * whole["K"])))
    out = {}
    for key, names in MATRICES.items():
        average = mean.combined(names).tocsr()
        worst = max(size(s, names, average) for s in samples)
        out[key] = worst / whole[key] if whole[key] > 0.0 else 0.0
    return out
