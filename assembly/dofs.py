"""Node and component of every degree of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.errors import InputError
from assembly.kinematics import skew
from assembly.linalg.multigrid import RigidMotions
from assembly.types import Array, Index, Inexact, Mask

COMPONENTS = ("ux", "uy", "uz", "rx", "ry", "rz")
SPATIAL = tuple(range(len(COMPONENTS)))
PLANAR = tuple(map(COMPONENTS.index, ("ux", "uy", "rz")))


@dataclass(frozen=True)
class DofMap:
    """Node and component of every degree of freedom.

    Parameters
    ----------
    coordinates : ndarray, shape (N, 3)
        Node positions in body axes, m.
    node : ndarray of int, shape (n,)
        Node of each degree of freedom.
    component : ndarray of int, shape (n,)
        0–2: displacements ux, uy, uz (m); 3–5: rotations rx, ry, rz (rad); body axes.
    bodies : tuple of (str, int)
        Name and first node of each body, in the order of the nodes.
    """

    coordinates: Array
    node: Index
    component: Index
    bodies: tuple[tuple[str, int], ...] = ()

    @classmethod
    def regular(cls, coordinates: Array, components: Sequence[int]) -> DofMap:
        """The same components at every node, numbered node by node.

        Parameters
        ----------
        coordinates : array_like, shape (N, 3)
            Node positions in body axes, m.
        components : sequence of int
            Components of every node, 0–5.

        Returns
        -------
        DofMap
        """
        coordinates = np.asarray(coordinates, dtype=float)
        count = len(coordinates)
        node = np.repeat(np.arange(count), len(components))
        component = np.tile(np.asarray(components, dtype=np.intp), count)
        return cls(coordinates, node, component)

    @classmethod
    def joined(cls, maps: Sequence[DofMap], names: Sequence[str] = ()) -> DofMap:
        """Nodes and degrees of freedom of several, numbered in sequence.

        Parameters
        ----------
        maps : sequence of DofMap
        names : sequence of str, optional
            Names of the bodies whose maps these are.

        Returns
        -------
        DofMap
        """
        first = np.cumsum([0, *(len(m.coordinates) for m in maps)])
        return cls(
            np.concatenate([m.coordinates for m in maps]),
            np.concatenate([m.node + k for m, k in zip(maps, first[:-1], strict=True)]),
            np.concatenate([m.component for m in maps]),
            tuple(zip(names, first[:-1].tolist(), strict=True)) if names else (),
        )

    def named(self, body: str) -> DofMap:
        """The map with all its nodes in one body of that name."""
        return replace(self, bodies=((body, 0),))

    def __len__(self) -> int:
        return len(self.node)

    def select(self, mask: Mask | Index) -> DofMap:
        """The map of a subset of the degrees of freedom; all nodes keep their numbers.

        Parameters
        ----------
        mask : ndarray of bool or int
            The subset.

        Returns
        -------
        DofMap
        """
        return replace(self, node=self.node[mask], component=self.component[mask])

    @cached_property
    def table(self) -> Index:
        """Number of the degree of freedom for each node and component, (N, 6); −1 for none."""
        table = np.full((len(self.coordinates), 6), -1, dtype=np.intp)
        table[self.node, self.component] = np.arange(len(self))
        return table

    @cached_property
    def numbers(self) -> dict[tuple[int, int], int]:
        """Number of the degree of freedom for each (node, component)."""
        pairs = zip(self.node.tolist(), self.component.tolist(), strict=True)
        return {pair: k for k, pair in enumerate(pairs)}

    def index(self, node: int, component: int | str) -> int:
        """Number of a degree of freedom.

        Parameters
        ----------
        node : int
            Node number.
        component : int or str
            ux, uy, uz, rx, ry, rz by name, or by number from 0 to 5.

        Returns
        -------
        int

        Raises
        ------
        InputError
            For another component, or when the node has no such degree of freedom.
        """
        number = COMPONENTS.index(component) if component in COMPONENTS else component
        if number not in range(len(COMPONENTS)):
            raise InputError(
                f"component: expected one of {', '.join(COMPONENTS)} or 0 to 5, got {component!r}"
            )
        try:
            return self.numbers[node, int(number)]
        except KeyError:
            raise InputError(f"node {node} has no DOF {COMPONENTS[int(number)]}") from None

    def at(self, body: str, node: int, component: str) -> int:
        """Number of a degree of freedom of a named body.

        Parameters
        ----------
        body : str
        node : int
            Node of that body, from 0.
        component : str
            ux, uy, uz, rx, ry or rz.

        Returns
        -------
        int

        Raises
        ------
        InputError
            No such body, node, component or degree of freedom.
        """
        first = dict(self.bodies)
        if body not in first:
            names = ", ".join(first) or "no names; give (node, component)"
            raise InputError(f"no body {body!r}; the bodies are: {names}")
        later = [start for start in first.values() if start > first[body]]
        count = min([*later, len(self.coordinates)]) - first[body]
        if not 0 <= node < count:
            raise InputError(f"body {body!r} has nodes 0 to {count - 1}, not {node}")
        if component not in COMPONENTS:
            raise InputError(f"the component is one of {', '.join(COMPONENTS)}, not {component!r}")
        number = self.numbers.get((first[body] + node, COMPONENTS.index(component)))
        if number is None:
            raise InputError(f"node {node} of {body!r} has no DOF {component}: it is held")
        return number

    def label(self, number: int) -> str:
        """ "body node component" of a degree of freedom, as in "blade 20 uz".

        Parameters
        ----------
        number : int

        Returns
        -------
        str
        """
        node = int(self.node[number])
        body, first = [("node", 0), *(entry for entry in self.bodies if entry[1] <= node)][-1]
        return f"{body} {node - first} {COMPONENTS[self.component[number]]}"

    def of_nodes(
        self, nodes: Index | Sequence[int], components: Sequence[int] | None = None
    ) -> Index:
        """Numbers of the degrees of freedom at some nodes.

        Parameters
        ----------
        nodes : array_like of int
            Node numbers.
        components : sequence of int, optional
            Components; all by default.

        Returns
        -------
        ndarray of int
        """
        mask = np.isin(self.node, nodes)
        if components is not None:
            mask &= np.isin(self.component, components)
        return np.flatnonzero(mask)

    def rigid_fields(self) -> Array:
        """The six infinitesimal rigid motions about the frame's origin.

        Returns
        -------
        ndarray, shape (n, 6)
            Translations along x, y, z; rotations about x, y, z (displacement e × X).
        """
        fields = np.zeros((len(self), 6))
        fields[np.arange(len(self)), self.component] = 1.0
        rows = np.flatnonzero(self.component < 3)
        fields[rows, 3:] = -skew(self.coordinates)[self.node[rows], self.component[rows]]
        return fields

    def rigid_motions(self) -> RigidMotions:
        """The rigid motions as an iterative solver takes them, with the DOFs of each node.

        Returns
        -------
        RigidMotions
        """
        block = int(np.argmax(self.node != self.node[0])) or len(self)
        regular = len(self) % block == 0 and bool(
            np.all(self.node.reshape(-1, block) == self.node[::block, None])
            and np.all(self.component.reshape(-1, block) == self.component[:block])
        )
        fields = self.rigid_fields()
        return RigidMotions(fields[:, np.abs(fields).max(axis=0) > 0.0], block if regular else 1)

    def turning(self, unit: Array, rotations: bool = False) -> sp.csr_matrix:
        """The matrix (n, n) that multiplies every nodal displacement by a (3, 3) matrix.

        Parameters
        ----------
        unit : ndarray, shape (3, 3)
        rotations : bool
            Whether it multiplies every nodal rotation as well; they give zero otherwise.

        Returns
        -------
        scipy.sparse.csr_matrix
        """
        n = len(self)
        rows = np.arange(n) if rotations else np.flatnonzero(self.component < 3)
        first = self.component[rows] // 3 * 3
        columns = self.table[self.node[rows, None], first[:, None] + np.arange(3)]
        values = np.where(columns >= 0, unit[self.component[rows] - first], 0.0)
        row, column = np.nonzero(values)
        entries = (values[row, column], (rows[row], columns[row, column]))
        return sp.csr_matrix(entries, shape=(n, n))

    def displacement(self, vector: Inexact) -> Inexact:
        """Nodal displacements of a vector of degrees of freedom.

        Parameters
        ----------
        vector : ndarray, shape (n,)
            Real or complex.

        Returns
        -------
        ndarray, shape (N, 3)
            Zero where a node lacks the component.
        """
        out = np.zeros((len(self.coordinates), 3), dtype=vector.dtype)
        moves = self.component < 3
        out[self.node[moves], self.component[moves]] = vector[moves]
        return out
