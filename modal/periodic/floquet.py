"""Floquet multipliers and exponents of periodic motions.

x(t + T) = P x(t) for the monodromy P = Φ(t0 + T, t0); its eigenvalues μ are the multipliers, and
log(μ)/T the exponents, whose imaginary parts are defined up to whole multiples of 2π/T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.linalg as la

from assembly.arguments import check_between, check_choice
from assembly.errors import InputError
from assembly.magnitudes import check_count
from assembly.system.frozen import FrozenSystem
from modal.data.progress import phase
from modal.periodic.arnoldi import arnoldi_multipliers
from modal.periodic.balanced import Balanced
from modal.periodic.decoupling import ACCURACY, decoupled_modes
from modal.periodic.floquet_modes import FloquetModes, of_logs
from modal.periodic.magnus import propagator_factors
from modal.periodic.orbit_error import orbit_error
from modal.periodic.periodicity import check_period, check_period_length
from modal.periodic.product_eigen import product_modes
from modal.periodic.propagations import of_basis, of_decoupled, of_full_model, of_matrix
from modal.periodic.reduced import reduced_basis, reduced_motion, reduced_multipliers
from modal.periodic.sampling import sampling
from modal.periodic.slow_modes import slow_modes
from modal.reduction.interpolation import Interpolant, periodic_interpolant
from modal.reduction.motion import ReducedMotion, motion_on_basis
from modal.transient.equations import FirstOrderModel, SecondOrderModel, freezer, is_second_order
from modal.types import Array

Method = Literal["dense", "reduced", "arnoldi"]

DENSE_LIMIT = 60  # degrees of freedom up to which the whole monodromy is computed
TOLERANCE = 1e-12  # of the factors of the dense monodromy, relative
REDUCED_TOLERANCE = 1e-5  # of log μ
ARNOLDI_TOLERANCE = 1e-9  # relative, of the eigenvalues of the discrete map
SHARPEST = 1e-8  # of log μ, to which the slow modes of a model on a basis are propagated
BASIS_ACCURACY = 1e-7  # of the frozen modes that a basis holds
STEPS = 400  # Gauss steps of order 4 a period
FASTEST = 2e3  # rad a period of the fastest mode for which the default is the dense monodromy
FAST = 500.0  # rad a period of the fastest mode above which groups of modes are decoupled


def floquet(
    model: Any,
    period: float,
    *,
    t0: float = 0.0,
    method: Method | None = None,
    k: int = 12,
    tolerance: float | None = None,
    breaks: Sequence[float] = (),
    steps: int | None = None,
    basis: Any = None,
    narrowest: float | None = None,
    progress: bool | None = False,
) -> FloquetModes:
    """Floquet multipliers and exponents of a model with periodic coefficients.

    Parameters
    ----------
    model : callable, object with ``freeze(t)``, or FrozenSystem
        A callable returns A(t) of x' = A(t) x, dense, shape (N, N).
    period : float
        Period T, s.
    t0 : float, default 0.0
        Instant at which the period begins, s.
    method : {"dense", "reduced", "arnoldi"}, optional
        "dense" computes the whole monodromy; it is the default for callables and for up to 60
        degrees of freedom without fast modes, or whose fast modes decouple. "reduced" computes
        the k slowest modes on the space of the frozen modes at several instants, or on `basis`;
        it is the default of larger models. "arnoldi" computes the k largest multipliers of the
        full sparse model without forming a matrix.
    k : int, default 12
        Number of modes of "reduced" and "arnoldi".
    tolerance : float, optional
        Relative error of the factors of the monodromy ("dense", 1e-12), error of log μ
        ("reduced", 1e-5), or relative residual of the eigenvalues ("arnoldi", 1e-9).
    breaks : sequence of float, optional
        Instants within the period where the matrices jump, s. Only for "dense". Jumps, kinks and
        pulses that are not declared are found where they are wider than `narrowest`; a model that
        has some takes "dense".
    steps : int, optional
        Gauss steps of order 4 a period, only for "arnoldi". Default 400.
    basis : array_like, shape (n, r), optional
        Basis of the displacements, only for "reduced".
    narrowest : float, optional
        Width of the narrowest feature of the matrices that must be seen, s. Default: 1/1024 of
        the period for callables, 1/512 for models with ``freeze``, more above 256 degrees of
        freedom; `narrowest_visible` of the result has it.
    progress : bool or None, default False
        Progress bars on stderr; None shows them in a terminal only.

    Returns
    -------
    FloquetModes
        Multipliers, exponents (1/s) with error bounds, and vectors. Printable.

    Raises
    ------
    InputError
        An argument cannot be used, or the model does not repeat itself after `period`.
    ConvergenceError
        The propagation or the eigenvalue iteration did not converge.
    SingularSystemError
        A mass matrix is not positive definite.

    Notes
    -----
    x(t + T) = P x(t) with the monodromy P; μ are the eigenvalues of P. "dense" integrates with
    the Magnus method of order 6 (Blanes, Casas, Oteo & Ros 2009); groups of modes that stay apart
    are first decoupled (Berry 1990). The eigenvalues come from P as a
    product of factors that is never multiplied out, so that decay below round-off and growth
    beyond the range of numbers are resolved. See docs/numerics.md, "Floquet".

    Examples
    --------
    >>> import numpy as np, modal
    >>> def mathieu(t):
    ...     return np.array([[0.0, 1.0], [-1.0 - 0.5 * np.cos(2.0 * t), -0.1]])
    >>> modes = modal.floquet(mathieu, np.pi)
    >>> modes.verdict
    'unstable'
    >>> bool(abs(modes.multipliers.prod() - np.exp(-0.1 * np.pi)) < 1e-9)  # Liouville
    True
    """
    check_period_length(period)
    check_count(k, "k")
    check_choice(method, ("dense", "reduced", "arnoldi", None), "method")
    if tolerance is not None:
        check_between(tolerance, "tolerance", 0.0, 1.0)
    if steps is not None:
        check_count(steps, "steps")
    if narrowest is not None:
        check_between(narrowest, "narrowest", 0.0, period)
    if not is_second_order(model):
        if method not in (None, "dense"):
            raise InputError(f'method: a callable A(t) takes "dense", got {method!r}')
        first_order = FirstOrderModel(model, t0)
        check_period(first_order, period, t0, breaks)
        seen = sampling(first_order, period, t0, breaks, narrowest)
        found = _dense(first_order, period, t0, tolerance or TOLERANCE, seen.breaks, progress)
        return replace(found, narrowest_visible=seen.narrowest)
    reduced = on_basis(model, t0, period, k) if method != "arnoldi" and basis is None else None
    if reduced is not None:
        if method != "dense" and not breaks and (tolerance or 1.0) >= SHARPEST:
            equations = SecondOrderModel(reduced)
            check_period(equations, period, t0, breaks)
            seen = sampling(equations, period, t0, breaks, narrowest)
            few = None if seen.breaks else slow_modes(reduced, period, t0, k)
            if few is not None:
                return _lifted(replace(few, narrowest_visible=seen.narrowest), reduced)
        found = floquet(
            reduced, period, t0=t0, method=method, k=k, tolerance=tolerance, breaks=breaks,
            narrowest=narrowest, progress=progress,
        )  # fmt: skip
        return _lifted(_with_basis_error(found, reduced), reduced)
    equations = SecondOrderModel(model)
    check_period(equations, period, t0, breaks)
    seen = sampling(equations, period, t0, breaks, narrowest)
    if seen.breaks and method is None:
        method = "dense"
    elif seen.breaks and method != "dense":
        raise InputError(
            f'method: only "dense" takes matrices that are not smooth, as these are near '
            f't = {seen.breaks[0]:.6g} s, and the method is "{method}"'
        )
    found = _of_second_order(
        model, equations, period, t0, method, k, tolerance, seen.breaks, steps, basis, progress
    )
    return replace(found, narrowest_visible=seen.narrowest)


def _of_second_order(
    model: Any,
    equations: SecondOrderModel,
    period: float,
    t0: float,
    method: Method | None,
    k: int,
    tolerance: float | None,
    breaks: Sequence[float],
    steps: int | None,
    basis: Any,
    progress: bool | None,
) -> FloquetModes:
    """The modes of a model with ``freeze``; breaks: none but for the method "dense"."""
    chosen = method or suitable_method(equations, period, t0)
    if method is None and chosen == "reduced" and basis is None:
        few = _of_few(equations, period, t0, progress)
        if few is not None:
            return few
    if chosen == "dense":
        sharp = tolerance is not None and tolerance < ACCURACY
        wanted = tolerance or TOLERANCE
        return _dense(equations, period, t0, wanted, breaks, progress, not sharp)
    if chosen == "reduced":
        if basis is None:
            basis = reduced_basis(model, period, t0, k, progress)
        A, smooth = reduced_motion(model, basis, period, t0, progress)
        found = reduced_floquet(model, A, basis, period, t0, k, tolerance, progress)
        moves = of_basis(
            equations, A, np.asarray(basis), found.vectors, found.exponents, t0, period
        )
        return replace(found, interpolated=smooth, propagation=moves)
    logs, vectors, error = arnoldi_multipliers(
        model, period, t0, k, steps or STEPS, tolerance or ARNOLDI_TOLERANCE
    )
    found = of_logs(logs, vectors, error, period, t0, chosen)
    moves = of_full_model(equations, found.vectors, steps or STEPS, t0, period)
    return replace(found, propagation=moves)


def _with_basis_error(found: FloquetModes, reduced: ReducedMotion) -> FloquetModes:
    """With the errors by the basis, from residuals all over the period; infinite for modes whose
    shapes are not known."""
    shapes = found.shapes
    known = np.flatnonzero(np.isfinite(shapes.orbits).all(axis=(0, 1)))
    missed = np.full(len(found.error), np.inf)
    if known.size:
        orbits, span = shapes.orbits[:, :, known], (found.t0, found.period)
        everything = np.eye(orbits.shape[1])
        missed[known] = orbit_error(reduced, everything, orbits, found.exponents[known], span)
    return replace(found, error=found.error + missed)


def _lifted(found: FloquetModes, reduced: ReducedMotion) -> FloquetModes:
    """Of the full model: vectors over all its degrees of freedom."""
    r = len(found.vectors) // 2
    vectors = np.vstack([reduced.lift(found.vectors[:r]), reduced.lift(found.vectors[r:])])
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    return replace(found, vectors=vectors, basis=reduced.description)


def on_basis(model: Any, t0: float, period: float, k: int) -> ReducedMotion | None:
    """A mechanism with large links, or a large body, on a reduced basis; None of another model, or
    where a basis does not serve."""
    if isinstance(model, (FrozenSystem, ReducedMotion)):
        return None
    return motion_on_basis(freezer(model), (t0, t0 + period), k, BASIS_ACCURACY, period=period)


def suitable_method(equations: SecondOrderModel, period: float, t0: float) -> Method:
    """The default method: "dense" for few degrees of freedom without high frequencies, otherwise
    "reduced"."""
    if equations.at(t0).system.n > DENSE_LIMIT:
        return "reduced"
    fastest = np.abs(la.eigvals(equations.first_order(t0))).max()
    return "dense" if fastest * period <= FASTEST else "reduced"


def reduced_floquet(
    model: Any,
    A: Balanced,
    basis: Array,
    period: float,
    t0: float,
    k: int,
    tolerance: float | None = None,
    progress: bool | None = False,
) -> FloquetModes:
    """Floquet modes of a model on a basis (n, r), from its A(t) there; both must be periodic."""
    wanted = tolerance or REDUCED_TOLERANCE
    found = reduced_multipliers(model, A, basis, period, t0, k, wanted, progress)
    return of_logs(*found, period, t0, "reduced")


def _dense(
    equations: FirstOrderModel | SecondOrderModel,
    period: float,
    t0: float,
    tolerance: float,
    breaks: Sequence[float],
    progress: bool | None,
    decouple: bool = True,
) -> FloquetModes:
    smooth, deviation = None, 0.0
    if isinstance(equations, SecondOrderModel) and not equations.constant and not breaks:
        smooth, deviation = _smooth_matrices(equations, period, t0, progress)
    matrix = smooth or equations.first_order
    A = (
        Balanced.energy(matrix, equations.at(t0))
        if isinstance(equations, SecondOrderModel)
        else Balanced.diagonal(matrix, t0 + 0.5 * (min(breaks, default=t0 + period) - t0))
    )
    if smooth is not None and decouple and isinstance(equations, SecondOrderModel):
        apart = _decoupled(equations, A, smooth, deviation, period, t0)
        if apart is not None:
            return apart
    with phase("Floquet: the whole monodromy", progress):
        made = propagator_factors(A, t0, t0 + period, tolerance, breaks)
    modes = product_modes(made.matrices, made.errors + deviation * made.lengths)
    vectors = A.restored(modes.vectors)
    found = of_logs(modes.logs, vectors, modes.error, period, t0, "dense")
    moves = of_matrix(equations, A, found.vectors, t0, period)
    return replace(found, interpolated=smooth, propagation=moves)


def _smooth_matrices(
    equations: SecondOrderModel, period: float, t0: float, progress: bool | None
) -> tuple[Interpolant | None, float]:
    """The interpolant of A(t), and the largest size of what it is off by, in the energy norm."""
    with phase("matrices of the motion", progress):
        smooth = periodic_interpolant(equations.first_orders, t0, period)
    if smooth is None:
        return None, 0.0
    # The error of Φ by an error of that relative size in A, in the energy norm: ∫ ‖δA‖ dt.
    return smooth, smooth.deviation * float(np.abs(la.eigvals(smooth(t0))).max())


def _of_few(
    equations: SecondOrderModel, period: float, t0: float, progress: bool | None
) -> FloquetModes | None:
    """All multipliers of few degrees of freedom with fast modes, where these decouple."""
    if equations.constant or equations.at(t0).system.n > DENSE_LIMIT:
        return None
    smooth, deviation = _smooth_matrices(equations, period, t0, progress)
    if smooth is None:
        return None
    A = Balanced.energy(smooth, equations.at(t0))
    return _decoupled(equations, A, smooth, deviation, period, t0)


def _decoupled(
    equations: SecondOrderModel,
    A: Balanced,
    smooth: Interpolant,
    deviation: float,
    period: float,
    t0: float,
) -> FloquetModes | None:
    """By groups of modes that decouple; None where there are no fast ones, or it does not work."""
    if np.abs(la.eigvals(A.many(np.array([t0]))[0])).max() * period <= FAST:
        return None
    apart = decoupled_modes(A, t0, period)
    if apart is None:
        return None
    order = np.argsort(-apart.logs.real, kind="stable")
    vectors = A.restored(apart.vectors[:, order])
    error = apart.error[order] + deviation * period
    found = of_logs(apart.logs[order], vectors, error, period, t0, "dense")
    moves = of_decoupled(equations, A, apart.states[:, :, order], apart.rates[order], t0)
    return replace(found, interpolated=smooth, propagation=moves)
