"""Collocation of a smooth linear motion at Radau points, by pairs of steps of adaptive length.

M q̈ + C q̇ + K q = 0 with the accelerations k_i at the stages as unknowns,

    M_i k_i + C_i (v + h Σ_j a_ij k_j) + K_i (q + h c_i v + h² Σ_j (a²)_ij k_j) = 0,

the Radau IIA method of the first-order form. It damps what a step does not resolve (Hairer and
Wanner, Solving Ordinary Differential Equations II, IV.5): the steps follow the modes that still
move, however fast others have decayed. The equations of all stages are solved by GMRES,
preconditioned by those with constant matrices, which the eigenvalues of (a_ij) part into systems of
size n (ibid., IV.8); few equations at once, and those for which it does not converge, by LAPACK or
one sparse factorization. Between the ends of a step the state is its polynomial. A step of twice
the length gives the error; lengths are halved and doubled, so that factors serve many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import ConvergenceError
from modal.transient.integrators.tableau import Tableau, integral_coefficients
from modal.transient.step_matrices import SharedPattern
from modal.transient.tolerances import DIVISIONS, FEW, SAFETY
from modal.types import Array

Matrices = Callable[[Array], Any]  # M, C + D and K (3, P, n, n) at times (P,), or Sparse ones
# Sizes (P,) of states (P, 2n): of the modes that a step of a length, s, turns by at most PHASE, and
# of faster ones.
Sizes = Callable[[Array, float], tuple[Array, Array]]

STAGES = 6  # an even number: the eigenvalues of (a_ij) are conjugate pairs
SOLVED = 1e-10  # to which the equations of a step are solved
LEAST = 1.0 / 16.0  # of the tolerance that is left, for one pair
ITERATIONS = 8  # of GMRES, from which the factors are renewed
# rad of the longer step, up to which a mode is resolved: its error in two steps is 2⁻ˢ of the
# difference, and adds up. A faster one is damped, which errs by no more than its amplitude.
PHASE = 8.0
# Parts of a pair at which it is compared: two places of each step, of which the first is that where
# the polynomial of an oscillation errs most, and the end.
COMPARED = np.array([0.1, 0.25, 0.5, 0.6, 0.75, 1.0])

# The last node is 1.
NODES = Tableau(STAGES, radau=True).c
_coefficients = integral_coefficients(NODES)


def _integrals(ends: Array) -> Array:
    """∫₀ˣ ℓ_j (R, s) of the Lagrange polynomials of the nodes, to ends x (R,)."""
    return np.asarray(ends[:, None] ** np.arange(1, STAGES + 1) @ _coefficients)


A = _integrals(NODES)
INVERSE = np.linalg.inv(A)
_values, _vectors = np.linalg.eig(A)
_upper = _values.imag > 0.0
RATES, TURNED, BACK = _values[_upper], _vectors[:, _upper], np.linalg.inv(_vectors)[_upper]


class Sparse:
    """Sparse M, C + D and K (n, n) of times, in place of stacks of dense ones: their values
    (3, P, entries) on one pattern. Those of one time are of all times."""

    def __init__(self, pattern: SharedPattern, values: Array) -> None:
        self.pattern, self.values = pattern, values
        self.constant = values.shape[1] == 1

    def __getitem__(self, stages: Any) -> Sparse:
        return self if self.constant else Sparse(self.pattern, self.values[stages])

    def mean(self, axis: int) -> list[sp.csr_matrix]:
        """The matrices (n, n) of the mean values."""
        return [self._blocks(row[None]) for row in self.values.mean(axis=axis)]

    @cached_property
    def _stages(self) -> list[sp.csr_matrix]:
        """Each on the displacements of all times in one row."""
        return [self._blocks(rows) for rows in self.values]

    def _blocks(self, rows: Array) -> sp.csr_matrix:
        """The matrices of values (P, entries) on a diagonal."""
        n, number = self.pattern.shape[0], np.arange(len(rows))[:, None]
        columns = (number * n + self.pattern.columns).ravel()
        starts = np.append((number * rows.shape[1] + self.pattern.starts).ravel(), rows.size)
        return sp.csr_matrix((rows.ravel(), columns, starts), shape=(len(rows) * n,) * 2)

    def product(self, states: tuple[Array, Array, Array]) -> Array:
        """M a + C v + K q (s, n) of a, v and q (s, n) at as many times, or at all."""
        if self.constant:
            return np.asarray(sum(A @ x.T for A, x in zip(self._stages, states, strict=True)).T)
        rows = sum(A @ x.ravel() for A, x in zip(self._stages, states, strict=True))
        return np.asarray(rows).reshape(states[0].shape)

    def solve(self, blocks: Array, right: Array) -> Array:
        """x (s n,) of the equations with s × s blocks, of values (s, s, entries), and right (s, n).
        The stages of a degree of freedom stand together."""
        s, n = right.shape
        rows, columns = s * self.pattern.rows, s * self.pattern.columns
        stage = np.arange(s)
        places = np.broadcast_arrays(rows + stage[:, None, None], columns + stage[:, None])
        entries = blocks.ravel(), tuple(place.ravel() for place in places)
        whole = sp.csc_matrix(entries, shape=(s * n, s * n))
        factor = spla.splu(whole)  # an order that pivots off the diagonal do not undo
        solution = factor.solve(right.T.ravel())
        solution += factor.solve(right.T.ravel() - whole @ solution)
        return np.asarray(solution.reshape(n, s).T.ravel())


def _product(matrices: Any, states: tuple[Array, Array, Array]) -> Array:
    """M a + C v + K q (s, n) at the stages, of a, v and q (s, n) each."""
    if isinstance(matrices, Sparse):
        return matrices.product(states)
    return np.asarray(
        sum((A @ x[..., None])[..., 0] for A, x in zip(matrices, states, strict=True))
    )


class _Factors:
    """The equations of steps of a length h with M, C + D, K (n, n) that do not change."""

    def __init__(self, matrices: Any, h: float) -> None:
        M, C, K = matrices
        self.h, self.iterations, self.failed = h, 0, False
        sums = (M + h * r * C + (h * r) ** 2 * K for r in RATES)
        self._factors: list[Any] = [
            spla.splu(sp.csc_matrix(A), "MMD_AT_PLUS_A")
            if sp.issparse(A)
            else la.lapack.zgetrf(A)[:2]
            for A in sums
        ]

    def solve(self, residual: Array) -> Array:
        """h² Σ (a²)_ij k_j for residuals (s, n)."""
        parted = BACK @ residual
        for row, r, factor in zip(parted, RATES, self._factors, strict=True):
            dense = isinstance(factor, tuple)
            solution = la.lapack.zgetrs(*factor, row)[0] if dense else factor.solve(row)
            row[:] = (self.h * r) ** 2 * solution
        return np.asarray(2.0 * (TURNED @ parted).real)


class _Step:
    """The polynomial of a step from the state x (2n,), with M, C + D, K at its stages.

    constant: the equations that precondition it. near: displacements (s, n) at the stages that are
    nearly those of the step, which then only serves for an estimate.
    """

    def __init__(
        self, matrices: Any, constant: _Factors, x: Array, near: Array | None = None
    ) -> None:
        (q, v), h = x.reshape(2, -1), constant.h
        self.q, self.v, self.h = q, v, h

        def count(_: float) -> None:
            constant.iterations += 1

        known = q + h * NODES[:, None] * v
        still = _product(matrices, (0.0 * known, v + 0.0 * known, known))
        right = -constant.solve(still).ravel()

        def image(w: Array) -> Array:
            """The left-hand sides of h² Σ (a²)_ij k_j, (s n,), preconditioned."""
            moved = w.reshape(known.shape)
            rate = INVERSE @ moved / h
            return constant.solve(_product(matrices, (INVERSE @ rate / h, rate, moved))).ravel()

        constant.iterations = 0
        sparse = isinstance(matrices, Sparse)
        if sparse and matrices.constant:  # the factors are those of the equations: refined once
            moved, failed = 2.0 * right - image(right), 0
        elif right.size <= 3.0 * FEW or constant.failed:
            failed = 1
        else:
            operator = spla.LinearOperator((right.size,) * 2, image, dtype=float)
            accuracy, first = (SOLVED, None) if near is None else (100.0 * SOLVED, near - known)
            moved, failed = spla.gmres(
                operator, right, None if first is None else first.ravel(), rtol=accuracy,
                restart=4 * ITERATIONS, maxiter=1, callback=count, callback_type="pr_norm",
            )  # fmt: skip
            constant.failed = bool(failed)
        if failed:
            weights = np.stack([INVERSE @ INVERSE / h**2, INVERSE / h, np.eye(STAGES)], axis=2)
            values = matrices.values if sparse else matrices.reshape(3, STAGES, -1)
            blocks = weights @ values.swapaxes(0, 1)
            if sparse:
                moved = matrices.solve(blocks, -still)
            else:
                blocks = blocks.reshape(STAGES, STAGES, *matrices.shape[2:])
                whole = blocks.swapaxes(1, 2).reshape(right.size, -1)
                moved = np.linalg.solve(whole, -still.ravel())
        self.rate = INVERSE @ moved.reshape(known.shape) / h  # of velocities at the stages: − v
        self.k = INVERSE @ self.rate / h

    def at(self, parts: Array) -> Array:
        """The states (R, 2n) at parts (R,) of the step."""
        weights = self.h * _integrals(parts)
        q = self.q + self.h * parts[:, None] * self.v + weights @ self.rate
        return np.hstack([q, self.v + weights @ self.k])


class Collocation:
    """Propagation of states by pairs of steps.

    length: of a pair, s, at first and then of the next. pairs: how many were done.
    """

    def __init__(self, matrices: Matrices, length: float) -> None:
        self.matrices, self.length, self.pairs = matrices, length, 0
        self._constant: dict[float, _Factors] = {}  # of the last lengths

    def _step(self, matrices: Any, h: float, x: Array, near: Array | None = None) -> _Step:
        known = self._constant.pop(h, None)
        if known is None or (known.iterations > ITERATIONS and not known.failed):
            known = _Factors(matrices.mean(axis=1), h)
        self._constant = {**dict(list(self._constant.items())[-2:]), h: known}
        return _Step(matrices, known, x, near)

    def run(
        self, t: float, length: float, x: Array, parts: Array, tolerances: tuple[float, float],
        sizes: Sizes, largest: float, most: float = np.inf,
    ) -> tuple[Array, float, float]:  # fmt: skip
        """States (R, 2n) at ascending parts (R,) of a length of time from t, s, from x (2n,), the
        error at its end and the largest within steps.

        tolerances: of both, relative to the largest size of a state so far. most: pairs, after
        which the errors are infinite. Raises ConvergenceError.
        """
        states, error, within, done = np.empty((len(parts), len(x))), 0.0, 0.0, 0.0
        level = max(0, int(np.ceil(np.log2(length / self.length))))
        last = self.pairs + most
        while done < 1.0:
            if self.pairs >= last:
                return states, np.inf, np.inf
            if level > 2 * DIVISIONS:
                raise ConvergenceError(f"no step is short enough at t = {t + done * length:.6g} s")
            share = 0.5**level
            h = 0.5 * share * length
            times = t + done * length + h * np.concatenate([NODES, 1.0 + NODES, 2.0 * NODES])
            M = self.matrices(times)
            first = self._step(M[:, :STAGES], h, x)
            second = self._step(M[:, STAGES:-STAGES], h, first.at(np.ones(1))[0])
            ends, near = (
                np.concatenate([first.at(2.0 * c[c <= 0.5]), second.at(2.0 * c[c > 0.5] - 1.0)])
                for c in (COMPARED, NODES)
            )
            coarse = self._step(M[:, -STAGES:], 2.0 * h, x, near[:, : len(x) // 2])
            resolved, rest = sizes(coarse.at(COMPARED) - ends, share * length)
            size = max(largest, float(np.hypot(*sizes(ends[-1:], share * length))[0]))
            far = resolved / (2.0**STAGES * size)
            inner = float((far + SAFETY * rest / size).max())
            # Short steps may take more than their share of what is left of the tolerance.
            part = max(share / (1.0 - done), LEAST)
            allowed = part * (tolerances[0] - error)
            ratio = max(far[-1] / allowed, inner / tolerances[1])
            if not ratio <= 1.0:
                level += 1
                continue
            inside = np.flatnonzero((parts > done) & (parts <= done + share))
            place = 2.0 * (parts[inside] - done) / share
            states[inside[place <= 1.0]] = first.at(place[place <= 1.0])
            states[inside[place > 1.0]] = second.at(place[place > 1.0] - 1.0)
            error, within, largest = error + far[-1], max(within, inner), size
            x, done, self.pairs = ends[-1], done + share, self.pairs + 1
            if level and ratio < 0.5 ** (STAGES + 2) and done % (2.0 * share) == 0.0:
                level -= 1
        self.length = share * length
        return states, float(error), float(within)
