"""Where the snapshots of a tracking run come from: full solves, or one reduced basis for all
instants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assembly import FrozenSystem
from assembly.errors import AccuracyError
from modal.affine import AffineFamily, Coefficients, Point, shares_operators
from modal.certificate import Certificate
from modal.critical import with_zeros
from modal.modes import Modes
from modal.reduced_eigen import SmallModes
from modal.reduction import Reducer, spread
from modal.snapshot import Complex, ModesLike, Real, Snapshot
from modal.variation import Neighbourhood, Triple, Variation, projected, variation, window_space
from modal.whirl import ReducedWhirl, Whirl

Freeze = Callable[[float], FrozenSystem]
Solver = Callable[[FrozenSystem, int], ModesLike]

# Below this many instants a basis costs more than it saves.
WORTH_A_BASIS = 8
# Instants the basis is first grown on.
TRAINING = 5


class Source(Protocol):
    """Modes at any value of the swept parameter."""

    description: str

    def snapshot(self, at: float) -> Snapshot:
        """The modes at one value."""
        ...


class FullSource:
    """Every instant solved by itself. count: modes asked for; solver(system, count). around: what
    lies next to the instants.
    """

    def __init__(
        self,
        freeze: Freeze,
        count: int,
        solver: Solver,
        name: str,
        whirl: Whirl | None,
        around: Neighbourhood,
    ) -> None:
        self.description, self._around = name, around
        self._freeze, self._count, self._solver, self._whirl = freeze, count, solver, whirl
        self._named = False

    def snapshot(self, at: float) -> Snapshot:
        system = self._freeze(at)
        # A free mobility brings two eigenvalues, which must not crowd the elastic modes out.
        modes = self._solver(system, self._count + 2 * system.rigid.shape[1])
        if isinstance(modes, Modes):
            modes = with_zeros(system, modes)
        if not self._named:
            parts = (getattr(modes, part, "") for part in ("backend", "method", "factorization"))
            self.description = ", ".join(str(p) for p in parts if p) or self.description
            self._named = True
        found = Snapshot.of(at, system.M, system.damping, modes)
        found = replace(found, variation=self._variation(system, found, modes))
        if self._whirl is None:
            return found
        return replace(found, whirling=self._whirl.forms(system, found.right))

    def _variation(
        self, system: FrozenSystem, found: Snapshot, modes: ModesLike
    ) -> Variation | None:
        """None where the model cannot be frozen next to the instant."""
        stencil = self._around.stencil(found.at, found.eigenvalues)
        if stencil is None:
            return None
        left = np.asarray(modes.left, dtype=complex)
        V = window_space(found.right, left)
        try:
            triples = [
                projected(system if n == stencil.centre else self._around.near(float(s)), V)
                for n, s in enumerate(stencil.values)
            ]
        except Exception:  # what the model raises at an instant itself is raised there
            return None
        right, left = V.T @ found.right, V.T @ left
        rate = self._around.rate
        return variation(stencil, triples, found.eigenvalues, right, left, rate)


@dataclass(frozen=True)
class _SmallInstant:
    """The modes of one instant in the coordinates of the basis."""

    eigenvalues: Complex
    right: Complex
    left: Complex
    backward_error: Real
    condition_number: Real
    kind: NDArray[np.str_]


@dataclass(frozen=True)
class _Batch:
    """Coefficients and modes of several instants."""

    at: Coefficients
    modes: SmallModes
    certificate: Certificate


class ReducedSource:
    """All instants from one certified reduced basis (modal/reduction.py), in its own coordinates.

    at: the values of the sweep; the basis grows until the error bound of every eigenvalue there is
    below accuracy |λ|. An extra instant between them is taken from the same basis. Condition
    numbers are those of the scaled state matrix, and backward errors what makes condition number ×
    backward error × |λ| the certified bound of the error, as it is for full solves. Where the model
    cannot be frozen at a value, the basis is made for those before it, and `snapshot` there raises
    what the model raises. Raises AccuracyError when the basis cannot be made good enough.
    """

    def __init__(
        self,
        freeze: Freeze,
        at: NDArray[np.float64],
        count: int,
        accuracy: float,
        whirl: Whirl | None,
        around: Neighbourhood,
    ) -> None:
        self._around = around
        systems = _leading(freeze, at)
        at = at[: len(systems)]

        def frozen(point: Point) -> FrozenSystem:
            value = float(point["at"])
            return systems[value] if value in systems else freeze(value)

        self._family = AffineFamily(frozen, {"at": float(at[0])})
        coefficients = self._coefficients(at)
        systems.clear()
        self._reducer = Reducer(self._family, coefficients, count, accuracy)
        try:
            batch = self._trained(coefficients, accuracy)
            projected = self._reducer.projected
            self._whirl: ReducedWhirl | None = None
            if whirl is not None:
                basis = np.asarray(self._reducer.basis.lift(np.eye(projected.size)), dtype=float)
                self._whirl = whirl.reduced(freeze(float(at[0])), basis)
        finally:
            self._reducer.destroy()
        self._flat = projected.matrices.reshape(len(projected.matrices), -1)
        self._known = dict(zip(at.tolist(), self._snapshots(at, batch), strict=True))
        self.description = f"reduced basis of {projected.size} vectors, accuracy {accuracy:g}"

    def _coefficients(self, at: NDArray[np.float64]) -> Coefficients:
        return self._family.coefficients([{"at": float(value)} for value in at])

    def _trained(self, at: Coefficients, accuracy: float) -> _Batch:
        reducer = self._reducer
        reducer.train(at.take(spread(len(at), TRAINING)))
        for _ in range(2):
            modes, certificate, rigid = reducer.solve(at)
            ratio = reducer.accepted(modes, certificate, rigid).max(axis=1)
            failing = np.flatnonzero(ratio > 1.0)
            if not failing.size:
                return _Batch(at, modes, certificate)
            reducer.train(at.take(failing))
        raise AccuracyError(
            f"track: an error bound stays {ratio.max():.3g} times above the accuracy {accuracy:g} "
            f"with {reducer.projected.size} basis vectors"
        )

    def snapshot(self, at: float) -> Snapshot:
        known = self._known.get(at)
        if known is not None:
            return known
        value = np.array([at])
        coefficients = self._coefficients(value).padded(len(self._flat))
        modes, certificate, _ = self._reducer.solve(coefficients)
        return self._snapshots(value, _Batch(coefficients, modes, certificate))[0]

    def _snapshots(self, at: NDArray[np.float64], batch: _Batch) -> list[Snapshot]:
        r, lam = self._reducer.projected.size, batch.modes.eigenvalues
        size = np.abs(lam)
        error = batch.certificate.error_bound / (
            batch.modes.condition * np.where(size > 0.0, size, 1.0)
        )
        modes: list[ModesLike] = []
        for n in range(len(at)):
            there = np.isfinite(lam[n])  # fewer real eigenvalues or modes than asked for
            modes.append(
                _SmallInstant(
                    lam[n, there],
                    batch.modes.right[n][:, there],
                    batch.modes.left[n][:, there],
                    error[n, there],
                    batch.modes.condition[n, there],
                    np.full(int(there.sum()), "elastic"),
                )
            )
        coefficients = batch.at.padded(len(self._flat))
        M, C = (
            (part @ self._flat).reshape(-1, r, r)
            for part in (coefficients.mass, coefficients.damping)
        )
        if np.isfinite(lam).all():
            found = Snapshot.batch(at, M, C, modes)
        else:
            found = [Snapshot.of(float(s), M[n], C[n], modes[n]) for n, s in enumerate(at)]
        found = [
            replace(one, variation=self._variation(one, batch.at.take([n]), modes[n]))
            for n, one in enumerate(found)
        ]
        if self._whirl is None:
            return found
        return [replace(one, whirling=self._whirl.forms(one.right)) for one in found]

    def _variation(
        self, found: Snapshot, centre: Coefficients, modes: ModesLike
    ) -> Variation | None:
        """None where the model cannot be frozen next to the instant."""
        stencil = self._around.stencil(found.at, found.eigenvalues)
        if stencil is None:
            return None
        try:
            beside = [
                centre if n == stencil.centre else self._family.coefficients([{"at": float(s)}])
                for n, s in enumerate(stencil.values)
            ]
        except Exception:  # what the model raises at an instant itself is raised there
            return None
        V, flat = window_space(found.right, modes.left), self._flat
        small = (V.T @ flat.reshape(-1, *2 * (len(V),)) @ V).reshape(len(flat), -1)
        m = V.shape[1]
        triples: list[Triple] = []
        for at in beside:
            at = at.padded(len(flat))
            M, C, K = ((part @ small).reshape(m, m) for part in (at.mass, at.damping, at.stiffness))
            triples.append((M, C, K))
        right, left = V.T @ found.right, V.T @ modes.left
        rate = self._around.rate
        return variation(stencil, triples, found.eigenvalues, right, left, rate)


def _leading(freeze: Freeze, at: NDArray[np.float64]) -> dict[float, FrozenSystem]:
    """The systems up to the first value where the model cannot be frozen; the first one must be."""
    systems = {float(at[0]): freeze(float(at[0]))}
    for value in at[1:].tolist():
        try:
            systems[value] = freeze(value)
        except Exception:  # raised again, and named, when the sweep comes there
            break
    return systems


def reducible(freeze: Freeze, at: NDArray[np.float64]) -> bool:
    """Whether the instants share their operators, with nothing free to move."""
    if freeze(float(at[0])).rigid.shape[1]:
        return False
    ends: Sequence[Point] = [{"at": value} for value in _leading(freeze, at[[0, len(at) // 2]])]
    return shares_operators(lambda p: freeze(float(p["at"])), ends)
