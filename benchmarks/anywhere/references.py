"""The same work as a competent user would write it: eigensolutions, direct solves, plain steps.

What is too slow to run in full is measured at a few points and multiplied; `Plain.measured` says
how many of how many. Nothing here uses modal: the matrices are those of assembly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

import assembly
from benchmarks.toar import petsc_matrices, toar

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

DENSE = 500  # DOFs up to which the plain eigensolution is LAPACK's of the full matrices
LEAST_TIME = 0.05  # s, over which short work is repeated
ENOUGH = 3.0  # s of measuring after which the rest of the points is extrapolated
EIGENSOLUTIONS = 100  # of a turn or a fundamental period: plain transient and Floquet analysis
ACCURACY = 1e-4  # of transients
AGREED = 1e-7  # relative difference of two TOAR results that confirm each other
TRUTH = 24  # DOFs up to which the motion over a period is computed by exponentials


@dataclass(frozen=True)
class Plain:
    """Processor time of the plain work, s, and the truth that it found.

    measured: points that were run, out of how many.
    """

    seconds: float
    measured: tuple[int, int] = (1, 1)
    truth: dict[str, Any] = field(default_factory=dict)


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """(processor time of one call, s; its result); short work is repeated and averaged."""
    start, runs = time.process_time(), 0
    while True:
        result = work()
        runs += 1
        elapsed = time.process_time() - start
        if elapsed >= LEAST_TIME or runs == 20:
            return elapsed / runs, result


def order(count: int) -> list[int]:
    """All points, those first that say most: the ends, the middle, and so on."""
    chosen = dict.fromkeys([0, count - 1, count // 2, count // 4, 3 * count // 4])
    return list(dict.fromkeys([*chosen, *range(count)]))


def over_points(count: int, work: Callable[[int], Any]) -> tuple[Plain, dict[int, Any]]:
    """The work at all points, or at as many as fit, the others as expensive as those.

    The first point, which carries costs that occur once, counts once.
    """
    start = time.process_time()
    first, results = 0.0, {}
    for done, i in enumerate(order(count), 1):
        results[i] = work(i)
        elapsed = time.process_time() - start
        if done == 1:
            first = elapsed
        if elapsed > ENOUGH and done >= min(2, count):
            break
    done = len(results)
    each = (elapsed - first) / max(done - 1, 1)
    return Plain(first + each * (count - 1), (done, count)), results


def state_matrix(system: assembly.FrozenSystem) -> Array:
    """A (2n, 2n) of (q̇, q̈) = A (q, q̇)."""
    n = system.n
    M = la.cho_factor(system.M.toarray())
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n] = -la.cho_solve(M, system.stiffness.toarray())
    A[n:, n:] = -la.cho_solve(M, system.damping.toarray())
    return A


def dense_eigenvalues(system: assembly.FrozenSystem) -> Complex:
    """All eigenvalues by LAPACK; the modes are computed too."""
    if system.damping.nnz == 0 and system.symmetric_stiffness:
        squares = la.eigh(system.stiffness.toarray(), system.M.toarray())[0]
        upper = np.sqrt(-squares.astype(complex))
        return np.concatenate([upper, -upper])
    return np.asarray(la.eig(state_matrix(system))[0])


def eigenvalues(
    system: assembly.FrozenSystem, k: int, frequency: float, **accuracy: float
) -> Complex:
    """One dense eigensolution or, above `DENSE`, one TOAR of k modes, with other options of it.

    frequency: rough lowest one; a free body needs a shift off its zero eigenvalues.
    """
    if system.n <= DENSE:
        return dense_eigenvalues(system)
    free = system.rigid.shape[1]
    shift = 0.3 * frequency if free else 0.0
    return toar(petsc_matrices(system), k + free, shift=shift, **accuracy)[1]


def eigen_truth(
    values: Complex, system: assembly.FrozenSystem, k: int, frequency: float
) -> dict[str, Any]:
    """What an answer is compared with: eigenvalues, and the error of their squares by round-off,
    eps times the size of M⁻¹K. Those of TOAR, whose residuals say little where the sizes of M and K
    differ much, only where it finds them again to a smaller tolerance and backward
    error."""
    dense, found = system.n <= DENSE, len(values)
    if not dense and found:
        sure = eigenvalues(system, k, frequency, tolerance=1e-13, backward_error=1e-10)
        again = np.append(sure, np.inf)
        apart = np.abs(values[:, None] - again).min(axis=1)
        values = values[apart <= AGREED * np.abs(values)]
    largest = float(np.abs(values).max(initial=0.0))
    near = np.sort_complex(values[values.imag >= 0.0])
    near = near[np.argsort(np.abs(near))]
    kept = np.append(near, values[np.argmax(values.real)]) if len(values) else near
    stiffness = abs(system.stiffness).diagonal() / system.M.diagonal()
    rates = [system.parameters.get(name) for name in ("omega", "epsilon")]
    frame = [float(np.linalg.norm(rate)) for rate in rates if np.shape(rate) == (3,)]
    return dict(
        eigenvalues=pairs(kept), all=dense, confirmed=len(values) == found, largest=largest,
        frequency=frequency,
        free=int(system.rigid.shape[1]), frame=frame,
        rounding=float(np.finfo(float).eps * max(stiffness.max(), largest**2)),
    )  # fmt: skip


def pairs(values: Iterable[complex]) -> list[list[float]]:
    """Complex numbers as JSON takes them."""
    return [[float(v.real), float(v.imag)] for v in values]


def eigensolution(system: assembly.FrozenSystem, k: int, frequency: float) -> Plain:
    """One eigensolution of one system."""
    seconds, values = spent(lambda: eigenvalues(system, k, frequency))
    return Plain(seconds, truth=eigen_truth(values, system, k, frequency))


def freeze_and_solve(
    freeze: Callable[[int], assembly.FrozenSystem], count: int, k: int, frequency: float
) -> Plain:
    """Freeze and solve at every point; the truth of the first three that were measured."""

    def work(i: int) -> tuple[assembly.FrozenSystem, Complex]:
        system = freeze(i)
        values = eigenvalues(system, k, frequency)
        return system, values

    plain, results = over_points(count, work)
    truths = [
        (i, eigen_truth(results[i][1], results[i][0], k, frequency)) for i in list(results)[:3]
    ]
    return Plain(plain.seconds, plain.measured, {"points": truths})


def direct_solves(system: assembly.FrozenSystem, hertz: Array, force: Array, probe: int) -> Plain:
    """One factorization of the dynamic stiffness at each frequency: SuperLU, or LAPACK if small."""
    K, C, M = (sp.csc_matrix(A) for A in (system.stiffness, system.damping, system.M))

    def work(i: int) -> complex:
        w = 2.0 * np.pi * hertz[i]
        H = sp.csc_matrix(K + 1j * w * C - w * w * M)
        if system.n <= 60:
            return complex(la.solve(H.toarray(), force)[probe])
        solve = spla.splu(H, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
        return complex(solve(force.astype(complex))[probe])

    plain, results = over_points(len(hertz), work)
    points = [(i, pairs([results[i]])[0]) for i in list(results)[:200]]
    return Plain(plain.seconds, plain.measured, {"responses": points})


def many_eigensolutions(
    freeze: Callable[[float], assembly.FrozenSystem],
    times: Array,
    k: int,
    frequency: float,
    repeats: float = 1.0,
) -> Plain:
    """Freeze and solve at many instants, with all velocity terms; LAPACK's general eigensolver."""

    def work(i: int) -> None:
        system = freeze(float(times[i]))
        if system.n <= DENSE:
            la.eig(state_matrix(system))
        else:
            eigenvalues(system, k, frequency)

    plain, _ = over_points(len(times), work)
    return Plain(plain.seconds * repeats, plain.measured)


def plain_steps(
    freeze: Callable[[float], assembly.FrozenSystem],
    span: tuple[float, float],
    q: Array,
    constant: bool,
) -> Plain:
    """The trapezoidal rule at the accuracy 1e-4, a factorization a step where matrices change.

    Its phase error over a span T is ωT (ωh)²/12; ω is the start's mean frequency, √(qᵀKq/qᵀMq).
    """
    system = freeze(span[0])
    w = np.sqrt(max(q @ (system.stiffness @ q), 0.0) / (q @ (system.M @ q)))
    T = span[1] - span[0]
    phase = max(w * T, 1.0)
    steps = int(np.ceil(phase * np.sqrt(phase / (12.0 * ACCURACY))))
    h = T / steps

    def factor(system: assembly.FrozenSystem) -> Any:
        A = system.M + 0.5 * h * system.damping + 0.25 * h * h * system.stiffness
        return spla.splu(sp.csc_matrix(A), permc_spec="MMD_AT_PLUS_A")

    def step(system: assembly.FrozenSystem, lu: Any) -> None:
        lu.solve(system.stiffness @ q + system.damping @ q + system.M @ q)

    once, lu = spent(lambda: factor(system))
    if constant:
        each = spent(lambda: step(system, lu))[0]
        return Plain(once + steps * each, (1, steps))

    def work(i: int) -> None:
        now = freeze(span[0] + h * (i + 1))
        step(now, factor(now))

    few = min(steps, 5)
    plain, _ = over_points(few, work)
    return Plain(plain.seconds * steps / few, (plain.measured[0], steps))


def one_pass(elements: int, planar: bool) -> Plain:
    """Three residuals and one tangent of so many beam elements evaluated together, and a solve.

    The elements stand in one body, so that nothing of a mechanism is counted but its elements.
    """
    body = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.01), assembly.steel, max(elements, 1), clamped="start",
        planar=planar,
    )  # fmt: skip
    return body_pass(assembly.moving(body, assembly.spin(10.0)), len(body.free))


def body_pass(model: Any, dofs: int) -> Plain:
    """Three residuals and one tangent of one moving body, and a solve."""
    q = 1e-6 * np.sin(np.arange(dofs))
    rest = np.zeros(dofs)
    model.displaced(0.0, q, rest, rest).tangents(exact=False)

    def work() -> None:
        for _ in range(3):
            state = model.displaced(0.0, q, rest, rest)
            residual = state.residual
        M, C, K = state.tangents(exact=False)
        spla.splu(sp.csc_matrix(1e8 * M + 1e4 * C + K)).solve(residual)

    return Plain(spent(work)[0])


def constant_transient(system: assembly.FrozenSystem, span: float, x: Array) -> Array:
    """The state (q, q̇) after a span, by one exponential."""
    return np.asarray(la.expm(span * state_matrix(system)) @ x)


def propagated(
    freeze: Callable[[float], assembly.FrozenSystem], span: float, steps: int, x: Array
) -> Array:
    """x (2n, m) after a span, by commutator-free exponentials of order 4 (Blanes and Moan 2006)."""
    h, root = span / steps, np.sqrt(3.0) / 6.0
    near, far = 0.25 + root, 0.25 - root
    for i in range(steps):
        first, second = (state_matrix(freeze(h * (i + c))) for c in (0.5 - root, 0.5 + root))
        x = la.expm(h * (near * first + far * second)) @ x
        x = la.expm(h * (far * first + near * second)) @ x
    return x


def propagated_truth(
    freeze: Callable[[float], assembly.FrozenSystem], span: float, x: Array
) -> tuple[Array, Array]:
    """(x after the span, the same with half the steps)."""
    return propagated(freeze, span, 256, x), propagated(freeze, span, 128, x)
