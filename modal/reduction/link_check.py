"""Full-order verification of one instant of a mechanism whose links have reduced bases.

The lowest modes of the full mechanism at the instant are computed from its own matrices: a Galerkin
space of the shapes of all links and of new shapes X of each link alone, which leave the joints at
rest, so that T x = x and Ṫ x = 0. X starts from a block Krylov space of K_ref⁻¹M on a seeded random
block, in which a mode that the bases miss shows, and grows by K_ref⁻¹ of the residuals, right and
left, which are formed with the matrices of the instant over all degrees of freedom. The links'
factorizations decide how fast, not what, is found. The bound of a pair is that of
modal/reduction/error_bounds.py with the residuals' norms themselves instead of sketches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from assembly.errors import AccuracyError, ConvergenceError
from assembly.linalg.combination import Combination
from assembly.mechanisms.mechanism import Mechanism
from modal.eigen.quadratic import in_parts
from modal.reduction.error_bounds import bounds_of
from modal.reduction.full_order_refinement import PROBE, PROBE_STEPS, SHARPER
from modal.reduction.link_basis import LinkBasis
from modal.reduction.link_instants import LinkInstants
from modal.reduction.link_reducer import LinkReducer
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reduced_eigen import solve_matrices
from modal.reduction.spot_check import unmatched
from modal.types import Array, Complex

ROUNDS = 12
GUARD = 1  # modes beyond those compared
SMALL = 1e-3  # relative size of the directions of a round that are left out


class _Link:
    """One link at the instant: M, C + D and K over its DOFs, its shapes V and new ones X."""

    def __init__(self, name: str, instants: LinkInstants) -> None:
        basis, at = instants.bases[name], instants.coefficients[name]
        self.basis, n = basis, basis.body.size
        operators = [term.operator for term in basis.family.terms]
        self.M, self.E, self.K = (
            Combination.of(n, table[0], operators).tocsr()
            for table in (at.mass, at.damping, at.stiffness)
        )
        self.shares = [part[0] for part in instants.jets[name]]
        self.V = basis.basis.columns.V[:, : len(self.shares[0])]
        self.balance = np.linalg.pinv(self.V.T @ basis.ties)
        responses = basis.reference.solve(basis.ties)
        self._responses = responses, np.linalg.pinv(basis.ties.T @ responses)
        self._columns = MassBasis(basis.reference.mass)
        self._columns.append(*self._columns.directions(np.array(self.V)))
        self.X = np.zeros((n, 0))

    def add(self, vectors: Array) -> None:
        """New shapes, at rest at the ties."""
        fresh, product = self._columns.directions(self._resting(self._resting(vectors)))
        self._columns.append(fresh, product)
        # Orthogonal to V they move the ties; the responses of V bring them to rest again.
        self.X = np.hstack([self.X, self._resting(self._resting(fresh))])

    def _resting(self, vectors: Array) -> Array:
        responses, inverse = self._responses
        return np.asarray(vectors - responses @ (inverse @ (self.basis.ties.T @ vectors)))

    def residual(self, lam: Complex, parts: list[Complex], transposed: bool) -> Complex:
        """Less the forces at the ties, (n, k); parts: δ, δ₁, δ₂ of the modes."""
        u, rate, second = parts
        E = self.E.T if transposed else self.E
        M, K = (self.M.T, self.K.T) if transposed else (self.M, self.K)
        out = M @ (lam**2 * u) + E @ (lam * u) + K @ u
        if not transposed:
            out = out + M @ (2.0 * lam * rate + second) + E @ rate
        return np.asarray(out - self.basis.ties @ (self.balance @ (self.V.T @ out)))

    def solve(self, block: Complex) -> Complex:
        return np.asarray(
            self.basis.reference.solve(np.ascontiguousarray(block.real))
            + 1j * self.basis.reference.solve(np.ascontiguousarray(block.imag))
        )


@dataclass(frozen=True)
class FullModes:
    """eigenvalues (k,) rad/s of smallest |λ|, Im λ ≥ 0; error_bound (k,) rad/s."""

    eigenvalues: Complex
    error_bound: Array


def full_link_modes(reducer: LinkReducer, mechanism: Mechanism, t: float, k: int) -> FullModes:
    """The k lowest modes of the full mechanism at time t, s.

    Raises ConvergenceError when some do not settle.
    """
    reduced = reducer.reduced(mechanism)
    instants = LinkInstants(reduced, reducer.bases, np.array([t]), reducer.options)
    n = instants.mass.shape[1]
    links = [_Link(name, instants) for name in reducer.bases]
    for number, link in enumerate(links):
        rng = np.random.default_rng(29 + number)
        block = link.basis.reference.mass @ rng.standard_normal((link.basis.body.size, PROBE))
        for _ in range(PROBE_STEPS):
            before = link.X.shape[1]
            link.add(link.basis.reference.solve(block))
            block = link.basis.reference.mass @ link.X[:, before:]
    for _ in range(ROUNDS):
        M, E, K = _matrices(instants, links)
        modes = solve_matrices(M[None], E[None], K[None], k + GUARD)
        right = [_parts(links, modes.right[0], n), modes.eigenvalues[0], False]
        left = [_parts(links, modes.left[0], n), modes.eigenvalues[0].conj(), True]
        norms, steps = [], []
        for parts, lam, transposed in (right, left):
            square, directions = np.zeros(len(lam)), []
            for link, each in zip(links, parts, strict=True):
                residual = link.residual(lam, each, transposed)
                step = link.solve(residual)
                square += np.maximum((residual.conj() * step).sum(axis=0).real, 0.0)
                directions.append(step)
            norms.append(np.sqrt(square)[None])
            steps.append(directions)
        pairing = (modes.left[0].conj() * (2.0 * lam.conj() * (M @ modes.right[0]))).sum(axis=0)
        pairing = pairing + (modes.left[0].conj() * (E @ modes.right[0])).sum(axis=0)
        bounds = bounds_of(modes, norms[0], norms[1], pairing[None], 0.0)
        bounds = reducer.with_round_off(bounds, modes)
        size = np.maximum(np.abs(modes.eigenvalues[0]), reducer.floor)
        allowed = np.maximum(
            SHARPER * reducer.tolerance * size, 4.0 * (bounds.round_off * modes.condition)[0]
        )
        failing = np.flatnonzero(bounds.error_bound[0] > allowed)
        if not np.any(failing < k):
            return FullModes(modes.eigenvalues[0, :k], bounds.error_bound[0, :k])
        for number, link in enumerate(links):
            chosen = np.hstack([in_parts(steps[side][number][:, failing]) for side in (0, 1)])
            link.add(_dominant(chosen, link.basis))
    raise ConvergenceError(f"t = {t:.6g} s: the full mechanism's modes do not settle", None)


def _dominant(vectors: Array, basis: LinkBasis) -> Array:
    """The main directions of vectors (n, q), in the energy of K_ref."""
    gram = vectors.T @ (basis.reference.mass @ vectors)
    squares, Y = la.eigh(0.5 * (gram + gram.T))
    kept = squares > SMALL**2 * squares[-1]
    return np.asarray(vectors @ (Y[:, kept] / np.sqrt(squares[kept])))


def _matrices(instants: LinkInstants, links: list[_Link]) -> tuple[Array, Array, Array]:
    """M, C + D and K on the shapes of the reduced mechanism and the new ones, (n + x, n + x)."""
    n = instants.mass.shape[1]
    total = n + sum(link.X.shape[1] for link in links)
    out = []
    start = n
    out = [np.zeros((total, total)) for _ in range(3)]
    for whole, known in zip(
        out, (instants.mass, instants.damping, instants.stiffness), strict=True
    ):
        whole[:n, :n] = known[0]
    M, E, K = out
    for link in links:
        X, (first, rate, second) = link.X, link.shares
        mine = slice(start, start + X.shape[1])
        start = mine.stop
        MX, EX, KX = link.M @ X, link.E @ X, link.K @ X
        MtX, EtX, KtX = link.M.T @ X, link.E.T @ X, link.K.T @ X
        M[mine, mine], E[mine, mine], K[mine, mine] = X.T @ MX, X.T @ EX, X.T @ KX
        for whole, image in ((M, MX), (E, EX), (K, KX)):
            whole[:n, mine] = first.T @ (link.V.T @ image)
        XM, XE, XK = ((image.T @ link.V) for image in (MtX, EtX, KtX))
        M[mine, :n] = XM @ first
        E[mine, :n] = XE @ first + 2.0 * XM @ rate
        K[mine, :n] = XK @ first + XE @ rate + XM @ second
    return M, E, K


def _parts(links: list[_Link], vectors: Complex, n: int) -> list[list[Complex]]:
    """δ, δ₁, δ₂ of modes (n + x, k) over the DOFs of every link."""
    out, start = [], n
    for link in links:
        mine = vectors[start : start + link.X.shape[1]]
        start += link.X.shape[1]
        parts = [link.V @ (share @ vectors[:n]) for share in link.shares]
        out.append([parts[0] + link.X @ mine, *parts[1:]])
    return out


def check_links(
    reducer: LinkReducer,
    points: Iterable[tuple[Mechanism, float]],
    wanted: int,
    k: int | None = None,
) -> int:
    """Compare reduced eigenvalues with those of the full mechanism at the first `wanted` points
    that allow it; the number of points compared.

    points: mechanisms and times, s. k: how many of smallest |λ|, by default all that are wanted. A
    point whose full modes do not settle is skipped. Raises AccuracyError when the two sets differ
    by more than the bounds.
    """
    compared = 0
    for mechanism, t in points:
        if compared == wanted:
            break
        try:
            _compare(reducer, mechanism, t, k)
        except ConvergenceError:
            continue
        compared += 1
    return compared


def _compare(reducer: LinkReducer, mechanism: Mechanism, t: float, k: int | None) -> None:
    count = reducer.wanted if k is None else min(k, reducer.wanted)
    (found,) = reducer.solve(mechanism, np.array([t]))
    there = np.isfinite(found.modes.eigenvalues[0])
    values, bound = found.modes.eigenvalues[0, there], found.bounds.error_bound[0, there]
    exact = full_link_modes(reducer, mechanism, t, count)
    floor = reducer.floor * reducer.tolerance
    missing = unmatched(values, bound, exact.eigenvalues, exact.error_bound, floor)
    if missing is not None:
        raise AccuracyError(
            f"reduced bases: at t = {t:.6g} s λ = {missing:.8g} rad/s of the full mechanism is not "
            "within the error bound of any eigenvalue of the reduced one"
        )
    invented = unmatched(exact.eigenvalues, exact.error_bound, values[:count], bound[:count], floor)
    if invented is not None:
        raise AccuracyError(
            f"reduced bases: at t = {t:.6g} s no eigenvalue of the full mechanism is within the "
            f"error bound of λ = {invented:.8g} rad/s"
        )
