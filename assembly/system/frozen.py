"""The frozen system: the named matrices of one instant, or of several on one sparsity pattern
(docs/theory.md).

    M δ̈ + (C + D) δ̇ + [K + K(ε) + K(ω²) + K_G + K_D + K_T] δ = Q

K_T collects the transport terms Tᵀ[(C + D)Ṫ + M T̈] of mechanisms; it is zero for one body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, shown
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.linalg.combination import Combination, Pattern, Patterned, within_range
from assembly.system.null_chain import NullChain, build_null_chain, null_fields
from assembly.types import Array

PARTS = ("M", "C", "D", "K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
DAMPING_PARTS = ("C", "D")
CIRCULATORY_PARTS = ("K_epsilon", "K_D")
STIFFNESS_PARTS = ("K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")


def check_is_frozen(system: object) -> None:
    """InputError unless it is a frozen system."""
    if isinstance(system, FrozenSystem):
        return
    model = callable(getattr(system, "freeze", None))
    hint = "; freeze the model first: model.freeze(…)" if model else ""
    kind = type(system).__name__ if model else shown(system)
    raise InputError(f"system: expected a FrozenSystem, got {kind}{hint}")


def _named(name: str, meaning: str) -> cached_property[sp.csr_matrix]:
    """One of the named matrices of a frozen system."""

    def matrix(self: FrozenSystem) -> sp.csr_matrix:
        return within_range(self.parts[name].tocsr(), name)

    matrix.__doc__ = meaning
    return cached_property(matrix)


class FrozenSystem:
    """The equations of the elastic vibration around one frozen instant of a rigid motion.

    Parameters
    ----------
    M, C, K : array_like, sparse matrix or Combination, shape (n, n)
        Mass, Coriolis or gyroscopic matrix, elastic stiffness; SI units. C and K default to zero.
    D, K_epsilon, K_omega2, K_G, K_D, K_transport : as M, optional
        Damping, Euler stiffness, centrifugal softening, geometric stiffness, circulatory stiffness
        and transport terms; zero by default.
    Q : array_like, shape (n,), optional
        Load, N and N·m.
    rigid : array_like, shape (n, m), optional
        Velocity fields of the free rigid motions; K alone annihilates them.
    dofs : DofMap, optional
        Node and component of each degree of freedom.
    frame : str
        Name of the frame whose axes the degrees of freedom are in.
    parameters : mapping, optional
        The record of what was frozen: t, omega and so on.

    Raises
    ------
    InputError
        When shapes disagree or an entry is not finite.

    Notes
    -----
    M δ̈ + (C + D) δ̇ + [K + K(ε) + K(ω²) + K_G + K_D + K_transport] δ = Q (Scutaru and Vlase, 2012;
    the manual, "Theory").

    Examples
    --------
    >>> import numpy as np
    >>> import assembly
    >>> system = assembly.FrozenSystem(M=np.eye(2), C=[[0, -2], [2, 0]], K=np.diag([4.0, 9.0]))
    >>> system.is_conservative
    True
    >>> print(system)
    frozen system: 2 DOFs in the body frame
      M            symmetric          2 nonzeros   ‖·‖_F = 1.414
      C            skew               2 nonzeros   ‖·‖_F = 2.828
      K            symmetric          2 nonzeros   ‖·‖_F = 9.849
      free mobilities: 0
    """

    def __init__(
        self,
        M: Any,
        C: Any = None,
        K: Any = None,
        *,
        D: Any = None,
        K_epsilon: Any = None,
        K_omega2: Any = None,
        K_G: Any = None,
        K_D: Any = None,
        K_transport: Any = None,
        Q: ArrayLike | None = None,
        rigid: ArrayLike | None = None,
        dofs: DofMap | None = None,
        frame: str = "body",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if M is None:
            raise InputError("M: a frozen system needs a mass matrix (n, n), got None")
        mass = Combination.wrap(M, None, "M")
        n = mass.shape[0]
        if n == 0:
            raise InputError("M: the system has no DOFs left (is every node clamped?)")
        given = (mass, C, D, K, K_epsilon, K_omega2, K_G, K_D, K_transport)
        self.parts: dict[str, Combination] = {
            name: Combination.wrap(matrix, n, name)
            for name, matrix in zip(PARTS, given, strict=True)
        }
        self.n = n
        self.Q = np.zeros(n) if Q is None else as_numbers(Q, "Q")
        self.rigid = np.zeros((n, 0)) if rigid is None else as_numbers(rigid, "rigid")
        if self.Q.shape != (n,):
            raise InputError(f"Q: expected shape ({n},), got {self.Q.shape}")
        if self.rigid.ndim != 2 or self.rigid.shape[0] != n:
            raise InputError(f"rigid: expected shape ({n}, m), got {self.rigid.shape}")
        self.dofs = dofs
        self.frame = frame
        self.parameters = dict(parameters or {})

    # The named matrices, each formed at its first use.

    M = _named("M", "Mass matrix (n, n).")
    C = _named("C", "Coriolis or gyroscopic matrix (n, n).")
    D = _named("D", "Damping matrix (n, n).")
    K = _named("K", "Elastic stiffness (n, n).")
    K_epsilon = _named("K_epsilon", "Euler stiffness K(ε), (n, n).")
    K_omega2 = _named("K_omega2", "Centrifugal softening K(ω²), (n, n).")
    K_G = _named("K_G", "Geometric stiffness (n, n).")
    K_D = _named("K_D", "Circulatory stiffness of dampers and follower loads, (n, n).")
    K_transport = _named(
        "K_transport", "Transport terms of mechanisms, Tᵀ[(C + D)Ṫ + M T̈], (n, n)."
    )

    def combined(self, names: tuple[str, ...]) -> Combination:
        """The sum of several named parts as one combination.

        Parameters
        ----------
        names : tuple of str
            Names out of M, C, D, K, K_epsilon, K_omega2, K_G, K_D, K_transport.

        Returns
        -------
        Combination
        """
        return sum((self.parts[name] for name in names), Combination((self.n, self.n)))

    @cached_property
    def damping(self) -> sp.csr_matrix:
        """C + D, (n, n): everything that multiplies the velocity."""
        return within_range(self.combined(DAMPING_PARTS).tocsr(), "C + D")

    @cached_property
    def stiffness(self) -> sp.csr_matrix:
        """The sum of all stiffness parts, (n, n): everything that multiplies the displacement."""
        return within_range(self.combined(STIFFNESS_PARTS).tocsr(), "K")

    def only(self, *names: str, **changes: Any) -> FrozenSystem:
        """The same instant with the named parts only; M always remains.

        Parameters
        ----------
        *names : str
            Parts that remain, as in ``system.only("C", "K")``.
        **changes
            Parts or attributes (Q, rigid, dofs, frame, parameters) that are replaced.

        Returns
        -------
        FrozenSystem

        Raises
        ------
        InputError
            For a name that is not a part.
        """
        unknown = set(names) - set(PARTS)
        if unknown:
            raise InputError(f"no such part: {sorted(unknown)[0]!r}; parts are {', '.join(PARTS)}")
        parts: dict[str, Any] = {name: self.parts[name] for name in (*names, "M")}
        kept = ("Q", "rigid", "dofs", "frame", "parameters")
        parts |= {name: getattr(self, name) for name in kept}
        return FrozenSystem(**parts | changes)

    # Structure. A part that may be damping or circulatory counts as such, however small: the sizes
    # of different parts are not compared.

    @property
    def symmetric_mass(self) -> bool:
        """Whether every term of M is symmetric."""
        return self.parts["M"].is_symmetric

    @property
    def mass_changes(self) -> bool:
        """Whether the mass changes with time, as at an instant of a mechanism that moves.

        Transport terms are there, and Ṁ = ½ (C + Cᵀ) is not zero. Damping belongs into D.
        """
        return not self.parts["K_transport"].is_zero and not self.parts["C"].is_skew

    @cached_property
    def symmetric_damping(self) -> bool:
        """Whether there are no gyroscopic terms: C and D are symmetric, or zero."""
        return all(self.parts[name].is_symmetric for name in DAMPING_PARTS)

    @cached_property
    def symmetric_stiffness(self) -> bool:
        """Whether there are no circulatory terms.

        K(ε) and K_D are zero, and every term of the other stiffness parts is symmetric.
        """
        if not all(self.parts[name].is_zero for name in CIRCULATORY_PARTS):
            return False
        return all(self.parts[name].is_symmetric for name in STIFFNESS_PARTS)

    @cached_property
    def is_conservative(self) -> bool:
        """Whether C is skew, D zero and the stiffness symmetric: no power enters or leaves."""
        return self.parts["D"].is_zero and self.parts["C"].is_skew and self.symmetric_stiffness

    @cached_property
    def null_chain(self) -> NullChain | None:
        """Right and left Jordan chains of the zero eigenvalues that `rigid` leaves, or None.

        See docs/theory.md, "The two zero eigenvalues".
        """
        V = null_fields(self.rigid, self.M, self.stiffness, self.parts)
        if V.shape[1] == 0:
            return None
        return build_null_chain(V, self.M, self.damping, self.stiffness, self.symmetric_stiffness)

    def __str__(self) -> str:
        parameters = ", ".join(f"{k}={_short(v)}" for k, v in self.parameters.items())
        lines = [
            f"frozen system: {self.n} DOFs in the {self.frame} frame"
            + (f" at {parameters}" if parameters else "")
        ]
        for name in PARTS:
            part = self.parts[name]
            if part.is_zero:
                continue
            A = getattr(self, name)
            kind = "symmetric" if part.is_symmetric else "skew" if part.is_skew else "general"
            size = float(np.sqrt((A.data**2).sum())) if A.nnz else 0.0
            lines.append(f"  {name:<12} {kind:<10} {A.nnz:>9} nonzeros   ‖·‖_F = {size:.4g}")
        lines.append(f"  free mobilities: {self.rigid.shape[1]}")
        return "\n".join(lines)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "(" + ", ".join(f"{v:.6g}" for v in value.ravel()) + ")"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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
        first, n = systems[0], systems[0].n
        terms = [
            (name, i, float(c), A)
            for i, system in enumerate(systems)
            for name, part in system.parts.items()
            for c, A in part.terms
        ]
        # Instants of one model share their operators: each of these is formed once.
        operators = {id(A): A for *_, A in terms}
        number = {key: k for k, key in enumerate(operators)}
        formed = [A.tocsr() for A in operators.values()]
        places = [np.repeat(np.arange(n), np.diff(A.indptr)) * n + A.indices for A in formed]
        keys, entry = np.unique(np.concatenate(places), return_inverse=True)
        ends = np.append(0, np.cumsum([A.nnz for A in formed]))
        data = np.concatenate([A.data for A in formed])
        stacked = sp.csr_matrix((data, entry.ravel(), ends), shape=(len(formed), len(keys)))
        values: dict[str, Array] = {}
        for name in dict.fromkeys(name for name, *_ in terms):
            parts = [(c, i, number[id(A)]) for part, i, c, A in terms if part == name]
            weights, rows, columns = zip(*parts, strict=True)
            shares = sp.csr_matrix((weights, (rows, columns)), shape=(len(systems), len(formed)))
            values[name] = (shares @ stacked).toarray()
        rows, columns = np.divmod(keys, n)
        indptr = np.append(0, np.bincount(rows, minlength=n).cumsum())
        pattern = Pattern(n, columns, indptr)
        Q, rigid = np.stack([system.Q for system in systems]), tuple(s.rigid for s in systems)
        return cls(times, pattern, values, Q, rigid, first.dofs, first.frame)

    @classmethod
    def joined(cls, parts: Sequence[FrozenSeries]) -> FrozenSeries:
        """Series on one pattern, one after the other."""
        if len(parts) == 1:
            return parts[0]
        values, width = {}, len(parts[0].pattern.indices)
        for name in dict.fromkeys(name for part in parts for name in part.values):
            each = [part.values.get(name, np.zeros((len(part), width))) for part in parts]
            values[name] = np.concatenate(each)
        times, Q = (np.concatenate([getattr(part, x) for part in parts]) for x in ("times", "Q"))
        rigid = tuple(fields for part in parts for fields in part.rigid)
        return replace(parts[0], times=times, values=values, Q=Q, rigid=rigid)

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

    def products(self, vector: Array, *names: str) -> Array:
        """The sum of named parts at every instant, times one vector.

        Parameters
        ----------
        vector : ndarray, shape (n,)
        *names : str
            Names out of M, C, D, K, K_epsilon, K_omega2, K_G, K_D, K_transport.

        Returns
        -------
        ndarray, shape (P, n)
        """
        indices, indptr = self.pattern.indices, self.pattern.indptr
        found = [self.values[name] for name in names if name in self.values]
        if not found:
            return np.zeros((len(self), self.n))
        ones = (np.ones(len(indices)), np.arange(len(indices)), indptr)
        rows = sp.csr_matrix(ones, shape=(self.n, len(indices)))
        return np.asarray(rows @ (np.sum(found, axis=0) * vector[indices]).T).T

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
