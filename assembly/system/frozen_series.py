"""The frozen systems of one model at several instants, as values on one sparsity pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assembly.dofs import DofMap
from assembly.linalg.combination import Combination, Pattern, Patterned
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from assembly.types import Array


@dataclass(frozen=True)
class FrozenSeries:
    """The frozen systems of a model at P instants; `series[i]` is that of one.

    Parameters
    ----------
    times : ndarray, shape (P,)
        s.
    pattern : Pattern
        Sparsity (n, n) that all matrices share.
    values : mapping of str to ndarray, shape (P, entries)
        Values of the named parts (M, C, D, K, ...) on the pattern. A part that is missing is zero.
    Q : ndarray, shape (P, n)
        Loads, N and N·m.
    rigid : sequence of ndarray, shape (n, m)
        Velocity fields of the free mobilities of each instant.
    dofs : DofMap, optional
        Node and component of each degree of freedom.
    frame : str
        Name of the frame whose axes the degrees of freedom are in.
    """

    times: Array
    pattern: Pattern
    values: Mapping[str, Array]
    Q: Array
    rigid: tuple[Array, ...]
    dofs: DofMap | None = None
    frame: str = "body"

    @classmethod
    def of(cls, systems: Sequence[FrozenSystem], times: Array) -> FrozenSeries:
        """Of frozen systems of one model, on the pattern that holds the entries of all.

        Parameters
        ----------
        systems : sequence of FrozenSystem
            With the same degrees of freedom and the same number of free mobilities.
        times : ndarray, shape (P,)
            s.
        """
        first, places = systems[0], []
        for system in systems:
            named = ((name, part.tocsr().tocoo()) for name, part in system.parts.items())
            places.append({name: (A.row * first.n + A.col, A.data) for name, A in named if A.nnz})
        keys = np.unique(np.concatenate([key for parts in places for key, _ in parts.values()]))
        rows, columns = np.divmod(keys, first.n)
        values: dict[str, Array] = {}
        for i, parts in enumerate(places):
            for name, (key, data) in parts.items():
                row = values.setdefault(name, np.zeros((len(systems), len(keys))))[i]
                np.add.at(row, np.searchsorted(keys, key), data)
        pattern = Pattern(
            first.n, columns, np.append(0, np.bincount(rows, minlength=first.n).cumsum())
        )
        Q, rigid = np.stack([system.Q for system in systems]), tuple(s.rigid for s in systems)
        return cls(times, pattern, values, Q, rigid, first.dofs, first.frame)

    @classmethod
    def joined(cls, parts: Sequence[FrozenSeries]) -> FrozenSeries:
        """Series on one pattern, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(name for part in parts for name in part.values)
        width = len(parts[0].pattern.indices)
        values = {
            name: np.concatenate(
                [part.values.get(name, np.zeros((len(part), width))) for part in parts]
            )
            for name in names
        }
        return replace(
            parts[0],
            times=np.concatenate([part.times for part in parts]),
            values=values,
            Q=np.concatenate([part.Q for part in parts]),
            rigid=tuple(fields for part in parts for fields in part.rigid),
        )

    def summed(self) -> FrozenSeries:
        """The same with three parts only: M, all damping as C, all stiffness as K.

        Returns
        -------
        FrozenSeries
        """
        groups = {"M": ("M",), "C": DAMPING_PARTS, "K": STIFFNESS_PARTS}
        values = {}
        for name, group in groups.items():
            found = [self.values[part] for part in group if part in self.values]
            if found:
                values[name] = np.sum(found, axis=0)
        return replace(self, values=values)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return self.pattern.shape[0]

    def __getitem__(self, i: int) -> FrozenSystem:
        parts = {
            name: Combination(self.pattern.shape, ((1.0, Patterned(self.pattern, rows[i])),))
            for name, rows in self.values.items()
            if np.any(rows[i])
        }
        parts.setdefault("M", Combination(self.pattern.shape))
        return FrozenSystem(
            **parts,
            Q=self.Q[i],
            rigid=self.rigid[i],
            dofs=self.dofs,
            frame=self.frame,
            parameters=dict(t=float(self.times[i])),
        )

    def dense(self, *names: str) -> Array:
        """The sum of named parts at every instant.

        Parameters
        ----------
        *names : str
            Names out of M, C, D, K, K_epsilon, K_omega2, K_G, K_D, K_transport.

        Returns
        -------
        ndarray, shape (P, n, n)
        """
        out = np.zeros((len(self), self.n * self.n))
        rows = np.repeat(np.arange(self.n), np.diff(self.pattern.indptr))
        found = [self.values[name] for name in names if name in self.values]
        if found:
            out[:, rows * self.n + self.pattern.indices] = np.sum(found, axis=0)
        return out.reshape(len(self), self.n, self.n)

    @property
    def mass(self) -> Array:
        """M, (P, n, n)."""
        return self.dense("M")

    @property
    def damping(self) -> Array:
        """C + D, (P, n, n)."""
        return self.dense(*DAMPING_PARTS)

    @property
    def stiffness(self) -> Array:
        """The sum of all stiffness parts, (P, n, n)."""
        return self.dense(*STIFFNESS_PARTS)
