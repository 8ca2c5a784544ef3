"""Bodies given by the matrices of another program.

For solids G and S follow from M and the node coordinates alone: their interpolation is isotropic,
so M holds one scalar mass m_ab for every pair of nodes, the same for all directions, and G(w) = m ⊗
w̃, K(ω²) = m ⊗ ω̃ω̃. The stress, and so K_G, does not follow from M and K:
it is given by the user, or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import COMPONENTS, DofMap
from assembly.elements.family import Displaced, ElementFamily, Passage
from assembly.errors import InputError
from assembly.kinematics import FRAME_UNITS, UNIT_COUNT, acceleration_units
from assembly.linalg.combination import Kronecker
from assembly.linalg.symmetric import is_symmetric
from assembly.magnitudes import ENTRY, POSITION, WRITTEN
from assembly.types import Array, Index

# Names of the unit kinematics: ω_iω_j, ε_i, a_O,i.
UNITS = ("xx", "yy", "zz", "xy", "xz", "yz", "ex", "ey", "ez", "ax", "ay", "az")


class GivenMatrices(ElementFamily):
    """M and K as they are; G, S and the inertia loads from M and the coordinates."""

    stress_from_displacement = False  # K_G is given, or refused

    def __init__(
        self,
        M: sp.csr_matrix,
        K: sp.csr_matrix,
        dofs: DofMap,
        geometric: Mapping[int, sp.csr_matrix],
    ) -> None:
        self.size, self.dofs = len(dofs), dofs
        self._M, self._K, self._geometric = M, K, dict(geometric)

    @cached_property
    def scalar_mass(self) -> sp.csr_matrix:
        """m (N, N) of the displacement interpolation, kg.

        Raises InputError when M is not m ⊗ I on the DOFs there are (rotations, coupled
        directions).
        """
        return scalar_mass(self._M, self.dofs)

    @property
    def regular(self) -> bool:
        """Whether the DOFs are the same leading components at every node, node by node."""
        d, count = int(self.dofs.component.max()) + 1, len(self.dofs.coordinates)
        expected = DofMap.regular(self.dofs.coordinates, range(d))
        return (
            self.size == d * count
            and np.array_equal(expected.node, self.dofs.node)
            and np.array_equal(expected.component, self.dofs.component)
        )

    def _spread(self, unit: Array) -> Any:
        """m ⊗ unit on the DOFs there are."""
        if self.regular:
            d = self.size // len(self.dofs.coordinates)
            return Kronecker(self.scalar_mass, unit[:d, :d])
        place = 3 * self.dofs.node + self.dofs.component
        whole = Kronecker(self.scalar_mass, unit).tocsr()
        return sp.csr_matrix(whole[place][:, place])

    def mass(self) -> Any:
        return self._M

    def stiffness(self) -> Any:
        return self._K

    def frame_inertia(self) -> tuple[Any, ...]:
        return tuple(self._spread(unit) for unit in FRAME_UNITS)

    def inertia_loads(self) -> Array:
        X = self.dofs.coordinates
        loads = self.scalar_mass @ acceleration_units(X).reshape(len(X), -1)
        nodal = -loads.reshape(len(X), 3, UNIT_COUNT)
        return np.asarray(nodal[self.dofs.node, self.dofs.component])

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        units = [] if coefficients is None else np.flatnonzero(coefficients).tolist()
        unknown = [UNITS[unit] for unit in units if unit not in self._geometric]
        if coefficients is not None and not unknown:
            return sum((coefficients[k] * self._geometric[k] for k in units), self.zero())
        load = f'unit "{unknown[0]}"' if unknown else "this load"
        raise InputError(
            f"K_G: M and K of another program do not determine the stress under {load}; give"
            ' geometric={"zz": ...} to from_matrices, or freeze with prestress=None'
        )

    def force(self, passage: Passage) -> Array:
        raise self._without("nonlinear")

    def displaced(self, passage: Passage) -> Displaced:
        raise self._without("first-order")

    def _without(self, prestress: str) -> InputError:
        return InputError(
            f'prestress: {type(self).__name__} elements have no "{prestress}"; use "linear"'
        )


@described
def from_matrices(
    M: Any,
    K: Any,
    coordinates: ArrayLike,
    dofs: DofMap | ArrayLike | None = None,
    *,
    clamped: Iterable[int] | None = None,
    geometric: Mapping[str, Any] | None = None,
    name: str = "body",
) -> Body:
    """A body from mass and stiffness matrices of a finite-element program, SI units.

    Parameters
    ----------
    M, K : array_like or sparse matrix, shape (n, n)
        Symmetric mass and stiffness matrices. Give them before supports are removed where the
        inertia loads at the supports matter.
    coordinates : array_like, shape (N, 3) or (N, 2)
        Node positions, m, body axes.
    dofs : DofMap or array_like, optional
        Node and component of each degree of freedom: a DofMap; (n, 2) rows of node (from 0) and
        component (0–2 for x, y, z); or (N, d) numbers of degrees of freedom, −1 for none. None:
        every component of node 0, then node 1, and so on.
    clamped : iterable of int, optional
        Nodes that do not move.
    geometric : mapping of str to matrix, optional
        K_G (n, n) per unit of ω_iω_j ("xx", "yy", "zz", "xy", "xz", "yz"), ε_i ("ex", "ey", "ez")
        or a_O,i ("ax", "ay", "az"), for the units that the motion has.
    name : str
        Name of the body.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For shapes that disagree, M or K not symmetric, rotations or coupled directions in M.

    Notes
    -----
    With an isotropic interpolation M = m ⊗ I₃ for a scalar mass matrix m, so that G(w) = m ⊗ w̃
    and K(ω²) = m ⊗ ω̃ω̃. The stress does not follow from M and K: K_G is given, or left out with
    ``freeze(..., prestress=None)``.

    Examples
    --------
    >>> import numpy as np
    >>> import assembly
    >>> M, K = np.diag([2.0, 2.0]), np.diag([800.0, 200.0])
    >>> body = assembly.from_matrices(M, K, [[1.0, 0.0]], geometric={"zz": np.zeros((2, 2))})
    >>> system = body.freeze(omega=(0, 0, 5.0))
    >>> print(system.C.toarray())
    [[  0. -20.]
     [ 20.   0.]]
    """
    positions = np.atleast_2d(as_numbers(coordinates, "coordinates"))
    if positions.ndim != 2 or positions.shape[1] not in (2, 3) or not POSITION.accepts(positions):
        raise InputError(
            f"coordinates: expected (N, 3) finite numbers, got shape {positions.shape}"
        )
    X = np.zeros((len(positions), 3))
    X[:, : positions.shape[1]] = positions
    M, K = _matrix(M, "M"), _matrix(K, "K")
    if M.shape != K.shape:
        raise InputError(f"M and K must have one shape, got {M.shape} and {K.shape}")
    negative = np.flatnonzero(M.diagonal() < 0.0)
    if negative.size:
        dof = int(negative[0])
        raise InputError(f"M: has the negative mass {M[dof, dof]:g} at DOF {dof}")
    numbering = _numbering(dofs, X, M.shape[0], positions.shape[1])
    stiffness_units: dict[int, sp.csr_matrix] = {}
    for label, matrix in (geometric or {}).items():
        if label not in UNITS:
            raise InputError(f"geometric: no unit {label!r}; units are {', '.join(UNITS)}")
        unit = _matrix(matrix, f"geometric[{label!r}]")
        if unit.shape != M.shape:
            raise InputError(f"geometric[{label!r}]: expected shape {M.shape}, got {unit.shape}")
        stiffness_units[UNITS.index(label)] = unit
    family = GivenMatrices(M, K, numbering, stiffness_units)
    family.scalar_mass  # noqa: B018  a mass that is not isotropic is reported here
    fixed = np.zeros(len(numbering), dtype=bool)
    if clamped is not None:
        nodes = np.asarray(list(clamped) if isinstance(clamped, Iterable) else clamped)
        if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
            raise InputError(f"clamped: expected a list of node numbers, got {clamped!r}")
        if nodes.size and (nodes.min() < 0 or nodes.max() >= len(X)):
            raise InputError(
                f"clamped: expected node numbers from 0 to {len(X) - 1}, got {nodes.tolist()[:8]}"
            )
        fixed[numbering.of_nodes(nodes)] = True
    return Body(numbering, (family,), fixed, name=name)


def scalar_mass(M: sp.csr_matrix, dofs: DofMap) -> sp.csr_matrix:
    """m (N, N) with M_(a,i)(b,j) = m_ab δ_ij; InputError when M has another form."""
    if np.any(dofs.component > 2):
        node = int(dofs.node[dofs.component > 2][0])
        raise InputError(
            f"M: node {node} has rotations; G and S follow from M for displacements only"
        )
    whole, N = sp.coo_matrix(M), len(dofs.coordinates)
    limit = WRITTEN * abs(whole.data).max(initial=0.0)
    first, second = dofs.component[whole.row], dofs.component[whole.col]
    crossed = (first != second) & (abs(whole.data) > limit)
    if crossed.any():
        k = int(np.flatnonzero(crossed)[0])
        raise InputError(
            f"M: DOFs {whole.row[k]} and {whole.col[k]} couple directions"
            f" {COMPONENTS[first[k]]} and {COMPONENTS[second[k]]}; G and S follow from M for"
            " isotropic interpolation only"
        )
    same = first == second
    rows, cols = dofs.node[whole.row[same]], dofs.node[whole.col[same]]
    keys = rows.astype(np.int64) * N + cols
    pairs, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=whole.data[same], minlength=len(pairs)) / count
    if np.any(abs(mean[place] - whole.data[same]) > limit):
        k = int(np.argmax(abs(mean[place] - whole.data[same])))
        raise InputError(
            f"M: nodes {rows[k]} and {cols[k]} have different masses in different directions;"
            " G and S follow from M for isotropic interpolation only"
        )
    return sp.csr_matrix((mean, (pairs // N, pairs % N)), shape=(N, N))


def _matrix(value: Any, name: str) -> sp.csr_matrix:
    if not sp.issparse(value):
        value = np.atleast_2d(as_numbers(value, name))
    elif value.dtype.kind == "c":
        raise InputError(f"{name}: expected real numbers, got complex entries")
    matrix = sp.csr_matrix(value)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{name}: must be square, got shape {matrix.shape}")
    if not ENTRY.accepts(matrix.data):
        raise InputError(f"{name}: has entries that are not finite, or above {ENTRY.largest:g}")
    if not is_symmetric(matrix, 1e-8):
        raise InputError(f"{name}: must be symmetric")
    return matrix


def _numbering(dofs: DofMap | ArrayLike | None, X: Array, n: int, dimension: int) -> DofMap:
    if isinstance(dofs, DofMap):
        numbering = dofs
    elif dofs is None:
        numbering = DofMap.regular(X, range(dimension))
        if len(numbering) != n:
            raise InputError(
                f"dofs: {n} DOFs are not {dimension} at each of {len(X)} nodes; give"
                " dofs=(node, component) rows"
            )
    else:
        rows = as_numbers(dofs, "dofs").astype(np.intp)
        if rows.shape == (len(X), dimension) and len(X) != n:
            rows = _rows_of(rows, n)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InputError(f"dofs: expected (n, 2) rows of node and component, got {rows.shape}")
        numbering = DofMap(X, rows[:, 0], rows[:, 1])
    if len(numbering) != n:
        raise InputError(f"dofs: the map has {len(numbering)} DOFs, the matrices {n}")
    if numbering.node.min() < 0 or numbering.node.max() >= len(X):
        raise InputError(f"dofs: node numbers must lie between 0 and {len(X) - 1}")
    if numbering.component.min() < 0 or numbering.component.max() > 5:
        raise InputError("dofs: components must lie between 0 (ux) and 5 (rz)")
    if len(np.unique(numbering.node * 6 + numbering.component)) != n:
        raise InputError("dofs: a node and component appears twice")
    return numbering


def _rows_of(table: Index, n: int) -> Index:
    """(node, component) rows of a table (N, d) of DOF numbers; negative where there is none."""
    node, component = np.nonzero(table >= 0)
    numbers = table[node, component]
    if not np.array_equal(np.sort(numbers), np.arange(n)):
        raise InputError(f"dofs: the table must name each DOF from 0 to {n - 1} once")
    rows = np.empty((n, 2), dtype=np.intp)
    rows[numbers] = np.column_stack([node, component])
    return rows
