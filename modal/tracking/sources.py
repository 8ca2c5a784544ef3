"""Sources of the snapshots of a tracking run: full solves, or one reduced basis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.eigen.modes import Modes
from modal.eigen.zero_modes import with_zeros
from modal.provenance.same_model import drawn_prints, family_prints
from modal.reduction.affine import AffineFamily, Coefficients, Point, shares_operators
from modal.reduction.coefficient_table import BLOCK, CoefficientTable
from modal.reduction.error_bounds import ErrorBounds
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reducer import Reducer, spread
from modal.reduction.spot_check import spot_check
from modal.tracking.multiplier_changes import derivatives, multiplier_changes
from modal.tracking.snapshot import ModesLike, Snapshot, small_snapshots
from modal.tracking.source import BasisError
from modal.tracking.stencil import Neighbourhood
from modal.tracking.variation import Variation, projected, variation, variations, window_space
from modal.tracking.whirl import ReducedWhirl, Whirl
from modal.types import Array

Freeze = Callable[[float], FrozenSystem]
Solver = Callable[[FrozenSystem, int], ModesLike]
# Basis and description of the stored run that is continued, if its fingerprints agree with these.
Kept = Callable[[NDArray[np.float64]], tuple[Mapping[str, NDArray[Any]], str]]

# Below this many instants a basis costs more than it saves.
WORTH_A_BASIS = 8
# Instants on which the basis is first trained, and those on which it is completed.
TRAINING, SAMPLE = 5, 24
# Instants of a block whose modes make its local basis, and modes beyond those wanted that it holds.
ANCHORS, GUARD = 5, 2


class FullSource:
    """Every instant solved separately.

    count: number of modes; solver(system, count). at: the values of the sweep. around: their
    neighbourhood. kept(prints): the description of the stored run that is continued.
    """

    kind, growths = "full", 0

    def __init__(
        self,
        freeze: Freeze,
        at: NDArray[np.float64],
        count: int,
        solver: Solver,
        name: str,
        whirl: Whirl | None,
        around: Neighbourhood,
        kept: Kept | None = None,
    ) -> None:
        self.description, self._at, self._around = name, at, around
        self._freeze, self._count, self._solver, self._whirl = freeze, count, solver, whirl
        if kept is not None:
            self.description = kept(self.prints())[1]
        self._named = self.description != name

    def snapshot(self, at: float) -> Snapshot:
        system = self._freeze(at)
        # A free mobility adds two eigenvalues, which must not replace elastic modes.
        modes = self._solver(system, self._count + 2 * system.rigid.shape[1])
        if isinstance(modes, Modes):
            modes = with_zeros(system, modes)
        if not self._named:
            parts = (getattr(modes, part, "") for part in ("backend", "method", "factorization"))
            self.description = ", ".join(str(p) for p in parts if p) or self.description
            self._named = True
        found = Snapshot.of(at, system.M, system.damping, modes)
        found = replace(found, variation=self._variation(system, found))
        if self._whirl is None:
            return found
        return replace(found, whirling=self._whirl.forms(system, found.right))

    def _variation(self, system: FrozenSystem, found: Snapshot) -> Variation | None:
        """None where the model cannot be frozen next to the instant."""
        stencil = self._around.stencil(found.at, found.eigenvalues)
        if stencil is None:
            return None
        V = window_space(found.right, found.left)
        try:
            triples = [
                projected(system if n == stencil.centre else self._around.near(float(s)), V)
                for n, s in enumerate(stencil.values)
            ]
        except Exception:  # what the model raises at an instant itself is raised there
            return None
        return variation(stencil, triples, *found.window(V), self._around.rate)

    def batch(self) -> Mapping[float, Snapshot]:
        return {}

    def carried(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def prints(self) -> NDArray[np.float64]:
        return drawn_prints(self._freeze, self._at)

    def arrays(self) -> None:
        return None

    def close(self) -> None:
        pass


class ReducedSource:
    """All instants from one certified reduced basis (modal/reduction/reducer.py), in its own
    coordinates.

    name, at: the swept parameter and its values. The basis is grown on SAMPLE of them until the
    error bound of every eigenvalue there is below accuracy |λ|, and compared with full solves at
    `checks` values of a seeded draw (modal/reduction/spot_check.py), the lowest `checked` modes.
    The values are then solved BLOCK at a time. Where a block does not reach the accuracy, the basis
    grows, and `carried` transforms earlier snapshots into its coordinates. An extra instant uses
    the present basis. Condition numbers are those of the scaled state matrix. Backward errors are
    defined so that condition number × backward error × |λ| is the certified bound of the error, as
    for full solves. Where the model cannot be frozen at a value, the basis is made for the values
    before it, and `snapshot` raises there what the model raises. kept(prints): arrays and
    description of the stored run that is continued, without training and checks. Raises BasisError
    when the basis cannot be made accurate enough, AccuracyError when a full solve differs.
    """

    kind = "reduced basis"

    def __init__(
        self,
        freeze: Freeze,
        name: str,
        at: NDArray[np.float64],
        count: int,
        accuracy: float,
        whirl: Whirl | None,
        around: Neighbourhood,
        checks: int = 1,
        checked: int | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._name, self._freeze, self._accuracy = name, freeze, accuracy
        self._full_whirl, self._around = whirl, around
        self._family = AffineFamily(lambda point: freeze(float(point[name])), {name: float(at[0])})
        self._table = CoefficientTable(self._family, name, freeze, at)
        self._at = at[: self._table.count]
        self._block: dict[float, Snapshot] = {}
        self._sample = sample = self._table.take(spread(len(self._at), SAMPLE))
        self.growths = 0
        if kept is not None:
            arrays = kept(self.prints())[0]
            self._reducer = Reducer.restored(self._family, sample, arrays, accuracy)
        else:
            self._reducer = Reducer(self._family, sample, count, accuracy)
        try:
            if kept is None:
                self._reducer.train(sample.take(spread(len(sample), TRAINING)))
                self._train(sample)
                drawn = np.random.default_rng(13).permutation(len(self._at))[: 4 * checks]
                points = [{name: float(self._at[n])} for n in drawn]
                spot_check(self._reducer, points, checks, checked)
            self._settle()
        except BaseException:
            self.close()
            raise

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The present basis, to continue the run later."""
        return self._reducer.arrays()

    def prints(self) -> NDArray[np.float64]:
        first = self._freeze(float(self._at[0]))
        return family_prints(self._family, first, self._sample, self._table)

    def close(self) -> None:
        """Release the factorization."""
        self._reducer.destroy()

    def snapshot(self, at: float) -> Snapshot:
        if at not in self._block:
            rising = self._at[0] <= self._at[-1]
            place = int(np.searchsorted(self._at if rising else -self._at, at if rising else -at))
            if place == len(self._at) or self._at[place] != at:
                return self._extra(at)
            self._load(place // BLOCK)
        return self._block[at]

    def batch(self) -> Mapping[float, Snapshot]:
        return self._block

    def carried(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot from before the last growth of the basis, in its present coordinates."""
        M, C = self._matrices(self._coefficients(snapshot.at))
        return snapshot.carried(self._embedding, M[0], C[0])

    def _train(self, at: Coefficients) -> None:
        reducer = self._reducer
        if reducer.train(at):
            return
        ratio = reducer.accepted(*reducer.solve(at)).max()
        raise BasisError(
            f"track: an error bound stays {ratio:.3g} times above the accuracy "
            f"{self._accuracy:g} with {reducer.projected.size} basis vectors"
        )

    def _settle(self) -> None:
        """Compute all that depends on the present basis."""
        reducer, whirl = self._reducer, self._full_whirl
        projected = reducer.projected
        self._flat = projected.matrices.reshape(len(projected.matrices), -1)
        self._rotation = reducer.basis.rotation
        self._whirl: ReducedWhirl | None = None
        if whirl is not None:
            basis = np.asarray(reducer.basis.lift(np.eye(projected.size)), dtype=float)
            self._whirl = whirl.reduced(self._freeze(float(self._at[0])), basis)
        self.description = f"reduced basis of {projected.size} vectors, accuracy {self._accuracy:g}"

    def _load(self, number: int) -> None:
        """Solve a block; the basis grows first where it is not accurate enough.

        The grown basis solves it as a run would that begins here with that basis: a resumed one.
        """
        at = self._table.block(number)
        found = self._solved(at)
        if found is None:
            before = self._rotation
            self._train(at)
            self._settle()
            self._embedding = self._rotation[: len(before)].T @ before
            self.growths += 1
            found = self._solved(at)
            assert found is not None
        values = self._at[number * BLOCK : (number + 1) * BLOCK]
        self._block = dict(zip(values.tolist(), self._snapshots(values, at, *found), strict=True))

    def _solved(self, at: Coefficients) -> tuple[SmallModes, ErrorBounds, Reducer] | None:
        """The modes of a block in a local basis, or where that is not accurate enough in the basis
        itself, and the basis; None where neither is."""
        reducer = self._reducer
        solvers = [reducer]
        if len(at) > 4 * ANCHORS:
            solvers.insert(0, reducer.local(at.take(spread(len(at), ANCHORS)), GUARD))
        for solver in solvers:
            modes, certificate, rigid = solver.solve(at)
            if reducer.accepted(modes, certificate, rigid).max() <= 1.0:
                return modes, certificate, solver
        return None

    def _extra(self, at: float) -> Snapshot:
        coefficients = self._coefficients(at)
        modes, certificate, _ = self._reducer.solve(coefficients)
        return self._snapshots(np.array([at]), coefficients, modes, certificate, self._reducer)[0]

    def _coefficients(self, at: float) -> Coefficients:
        return self._family.coefficients([{self._name: at}]).padded(len(self._flat))

    def _matrices(self, at: Coefficients) -> tuple[Array, Array]:
        """M and C + D of instants in the coordinates of the basis, (P, r, r)."""
        r = self._reducer.projected.size
        at = at.padded(len(self._flat))
        M, C = ((part @ self._flat).reshape(-1, r, r) for part in (at.mass, at.damping))
        return M, C

    def _snapshots(
        self,
        at: NDArray[np.float64],
        coefficients: Coefficients,
        small: SmallModes,
        certificate: ErrorBounds,
        solver: Reducer,
    ) -> list[Snapshot]:
        """From the modes of instants in the basis of `solver`: the shared one, or one inside it."""
        shared = small if solver is self._reducer else small.lifted(solver.coordinates)
        alike = bool(np.isfinite(small.eigenvalues).all())
        found = small_snapshots(
            at, self._matrices(coefficients), shared, certificate.error_bound, small.condition
        )
        groups = [np.arange(len(at))] if alike else [np.array([n]) for n in range(len(at))]
        for index in groups:
            some = [found[n] for n in index]
            changes = self._variations(some, coefficients.take(index), solver)
            for n, change in zip(index, changes, strict=True):
                found[n] = replace(found[n], variation=change)
        if self._whirl is None:
            return found
        return [replace(one, whirling=self._whirl.forms(one.right)) for one in found]

    def _variations(
        self, made: list[Snapshot], at: Coefficients, solver: Reducer
    ) -> Sequence[Variation | None]:
        """Of instants with equally many modes; None where the model cannot be frozen next to
        one."""
        stencils = [self._around.stencil(one.at, one.eigenvalues) for one in made]
        changes = multiplier_changes(stencils, self._near)
        out: list[Variation | None] = [None] * len(made)
        index = [n for n, change in enumerate(changes) if change is not None]
        if not index:
            return out
        matrices = solver.projected.matrices
        value = at.take(index).padded(len(matrices))
        of_value = derivatives(value, [c for c in changes if c is not None], matrices)
        lam = np.stack([made[n].eigenvalues for n in index])
        right, left = (np.stack([getattr(made[n], s) for n in index]) for s in ("right", "left"))
        if solver is not self._reducer:
            right, left = (solver.coordinates.T @ vectors for vectors in (right, left))
        found = variations(of_value, lam, right, left, self._around.rate)
        for n, one in zip(index, found, strict=True):
            out[n] = one
        return out

    def _near(self, values: Array) -> Coefficients:
        points = [{self._name: float(s)} for s in values]
        return self._family.coefficients(points).padded(len(self._flat))


def reducible(freeze: Freeze, at: NDArray[np.float64], first: FrozenSystem) -> bool:
    """Whether the instants share their operators and have no free mobility; first: at at[0]."""
    if first.rigid.shape[1]:
        return False
    made = {float(at[0]): first}
    middle = float(at[len(at) // 2])
    try:
        made[middle] = made.get(middle) or freeze(middle)
    except Exception:  # raised again, and named, when the sweep comes there
        pass
    ends: list[Point] = [{"at": value} for value in made]
    return shares_operators(lambda p: made.pop(p["at"], None) or freeze(float(p["at"])), ends)
