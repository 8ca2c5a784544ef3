"""Floquet multipliers and exponents of periodic motions.

x(t + T) = P x(t) for the monodromy P = Φ(t0 + T, t0); its eigenvalues μ are the multipliers, and
log(μ)/T the exponents, whose imaginary parts are defined up to whole multiples of 2π/T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.linalg as la

from assembly.arguments import check_between, check_choice
from assembly.errors import InputError
from assembly.magnitudes import check_count
from assembly.system.frozen import FrozenSystem
from modal.data.progress import phase, shown
from modal.eigen.tolerances import ZERO
from modal.periodic.collocation import step_maps
from modal.periodic.decoupling import decoupled_modes, few_are_near
from modal.periodic.floquet_modes import FloquetModes, of_logs
from modal.periodic.galerkin import GalerkinModel, modal_basis, orbit_error
from modal.periodic.magnus import propagator_factors
from modal.periodic.periodic_modes import Orbits, PropagatedModes, propagated
from modal.periodic.product_eigen import product_modes
from modal.periodic.sampling import check_period_length, sampling
from modal.periodic.slow_modes import slow_modes
from modal.periodic.tolerances import ACCURACY, DENSE, DENSE_LIMIT, FAST, GAIN, SMOOTH, TOLERANCE
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import Interpolant, periodic_interpolant
from modal.reduction.motion import BodyMotion, ReducedMotion, motion_on_basis
from modal.reduction.tolerances import GUARD
from modal.transient.equations import (
    Balanced,
    FirstOrderModel,
    SecondOrderModel,
    freezer,
    is_second_order,
)
from modal.transient.tolerances import INSTANTS

Method = Literal["dense", "reduced"]

BASIS_ACCURACY = 1e-7  # of the frozen modes that a basis holds
FASTEST = 2e3  # rad a period of the fastest mode that is propagated with all others by default


def floquet(
    model: Any,
    period: float,
    *,
    t0: float = 0.0,
    method: Method | None = None,
    k: int = 12,
    tolerance: float | None = None,
    breaks: Sequence[float] = (),
    steps: None = None,
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
    method : {"dense", "reduced"}, optional
        "dense" computes the whole monodromy; it is the default for callables and for up to 60
        degrees of freedom without fast modes, or whose fast modes decouple at few instants.
        "reduced" computes the k slowest modes on the space of the frozen modes at several
        instants, or on `basis`; it is the default of others.
    k : int, default 12
        Number of modes of "reduced": those of the slowest shapes; fewer where all others decay to
        nothing within a period and cannot be told apart.
    tolerance : float, optional
        Relative error of the factors of the monodromy ("dense", 1e-12), or error of log μ
        ("reduced", 1e-5).
    breaks : sequence of float, optional
        Instants within the period where the matrices jump, s. Only for "dense". Jumps, kinks and
        pulses that are not declared are found where they are wider than `narrowest`; a model that
        has some takes "dense".
    steps : None
        Of a method that is gone.
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
    the Magnus method of order 6 (Blanes, Casas, Oteo & Ros 2009), or by Gauss collocation of order
    16; groups of modes that stay apart are first decoupled (Berry 1990). The eigenvalues come from
    P as a product of factors that is never multiplied out, so that decay below round-off and growth
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
    if str(method) == "arnoldi" or steps is not None:
        raise InputError(
            'method: "arnoldi" and its steps are gone; "reduced" finds the k slowest modes'
        )
    check_choice(method, ("dense", "reduced", None), "method")
    if tolerance is not None:
        check_between(tolerance, "tolerance", 0.0, 1.0)
    if narrowest is not None:
        check_between(narrowest, "narrowest", 0.0, period)
    return found_modes(
        model, period, t0, method, k, tolerance, breaks, basis, narrowest, progress
    )  # fmt: skip


def found_modes(
    model: Any,
    period: float,
    t0: float,
    method: Method | None,
    k: int,
    tolerance: float | None,
    breaks: Sequence[float],
    basis: Any,
    narrowest: float | None,
    progress: bool | None,
    motion: InterpolatedMotion | None = None,
) -> FloquetModes:
    """As `floquet`. motion: the model off a polynomial, if it is known."""
    if not is_second_order(model):
        if method not in (None, "dense"):
            raise InputError(f'method: a callable A(t) takes "dense", got {method!r}')
        first_order = FirstOrderModel(model, t0)
        seen = sampling(first_order, period, t0, breaks, narrowest)
        all_modes = _all_modes(first_order, period, t0, tolerance, seen.breaks, progress)
        assert all_modes is not None
        return replace(all_modes, narrowest_visible=seen.narrowest)
    large = on_basis(model, t0, period, k, free=True) if basis is None else None
    if isinstance(large, BodyMotion) and large.space.family.rigid.shape[1]:
        # The round-off of its stiffness would be that of rigid motions.
        basis, large = large.lift(np.eye(large.freeze(t0).n)), None
    equations = SecondOrderModel(model if large is None else large)
    seen = sampling(equations, period, t0, breaks, narrowest)
    if seen.breaks and method == "reduced":
        raise InputError(
            f'method: only "dense" takes matrices that are not smooth, as these are near '
            f't = {seen.breaks[0]:.6g} s, and the method is "{method}"'
        )
    n = equations.at(t0).n
    few = large is None and n <= DENSE_LIMIT
    all_modes = None
    if method == "dense" or seen.breaks or (method is None and few):
        optional = method is None and not seen.breaks
        all_modes = _all_modes(equations, period, t0, tolerance, seen.breaks, progress, optional)
    if all_modes is None:
        source = large or _on_frozen_modes(model, n, basis, period, t0, k, progress, motion)
        with phase("Floquet: the slow modes", progress):
            found = slow_modes(source, period, t0, k, tolerance or TOLERANCE)
        found = _lifted(found, source)
    elif large is not None:
        found = _lifted(_with_basis_error(all_modes, large), large)
    else:
        found = all_modes
    return replace(found, narrowest_visible=seen.narrowest)


def _on_frozen_modes(
    model: Any, n: int, basis: Any, period: float, t0: float, k: int, progress: bool | None,
    motion: InterpolatedMotion | None,
) -> GalerkinModel:  # fmt: skip
    """The model on `basis`; where that is not given, on all degrees of freedom up to DENSE of them,
    else on the k slowest frozen modes, and GUARD more, at instants of the period."""
    motion = motion or InterpolatedMotion.of(model, t0, t0 + period)
    if basis is None and n <= DENSE:
        basis = np.eye(n)
    elif basis is None:
        count = 1 if isinstance(model, FrozenSystem) else INSTANTS
        times = (t0 + period * np.arange(count) / count).tolist()
        instants = shown(times, "frozen modes as a basis", "instant", progress)
        basis = modal_basis(motion or model, instants, k + GUARD)
    return GalerkinModel(model, basis, motion)


def _with_basis_error(found: FloquetModes, reduced: ReducedMotion) -> FloquetModes:
    """With the errors by the basis, from residuals all over the period; infinite for modes whose
    shapes are not known."""
    known = np.flatnonzero(np.isfinite(found.orbits).all(axis=(0, 1)))
    missed = np.full(len(found.error), np.inf)
    if known.size:
        orbits, span = found.orbits[:, :, known], (found.t0, found.period)
        missed[known] = orbit_error(reduced, orbits, found.exponents[known], span)
    return replace(found, error=found.error + missed)


def _lifted(found: FloquetModes, source: ReducedMotion | GalerkinModel) -> FloquetModes:
    """Of the full model: vectors and shapes over all its degrees of freedom."""
    r = len(found.vectors) // 2
    vectors = np.vstack([source.lift(found.vectors[:r]), source.lift(found.vectors[r:])])
    size = np.linalg.norm(vectors, axis=0)
    moves = small = found.propagation
    assert small is not None
    if isinstance(source, GalerkinModel):
        weights = source.weights(found.t0)
        moves = replace(small, lift=lambda x: source.lift(small.lift(x)) / size, weights=weights)
    return replace(found, vectors=vectors / size, basis=source.description, propagation=moves)


def on_basis(
    model: Any, t0: float, period: float, k: int, free: bool = False
) -> ReducedMotion | None:
    """A mechanism with large links, or a large body, on a reduced basis; None of another model, or
    where a basis does not serve. free: whether that may be a body that is free to move."""
    if isinstance(model, FrozenSystem):
        return None
    if isinstance(model, ReducedMotion):
        return model
    span = t0, t0 + period
    return motion_on_basis(freezer(model), span, k, BASIS_ACCURACY, period=period, free=free)


def _all_modes(
    equations: FirstOrderModel | SecondOrderModel,
    period: float,
    t0: float,
    tolerance: float | None,
    breaks: Sequence[float],
    progress: bool | None,
    optional: bool = False,
) -> FloquetModes | None:
    """All modes; with `optional` None where fast ones do not decouple at few instants."""
    smooth: Interpolant | None = None
    values = la.eigvals(equations.first_order(t0))
    fastest = float(np.abs(values).max())
    hurried = optional and fastest * period > FASTEST
    if hurried and not few_are_near(values, period):
        return None
    if isinstance(equations, FirstOrderModel):
        early = t0 + 0.5 * (min(breaks, default=t0 + period) - t0)
        A = Balanced.diagonal(equations.first_order, early)
        n, weights = len(A.root), np.diag(A.root).copy()
    else:
        here = equations.at(t0)
        if not equations.constant and not breaks:
            with phase("matrices of the motion", progress):
                smooth = periodic_interpolant(equations.first_orders, t0, period)
        A = Balanced.energy(smooth or equations.first_order, here)
        n, weights = here.n, np.sqrt(np.maximum(here.M.diagonal(), 0.0))
    # The error of Φ by an error of that relative size in A, in the energy norm: ∫ ‖δA‖ dt.
    deviation = 0.0 if smooth is None else smooth.deviation * fastest
    modes: PropagatedModes | None = None
    if smooth is not None and (tolerance or ACCURACY) >= ACCURACY and fastest * period > FAST:
        # No more accurate than the polynomial.
        share = (tolerance or (TOLERANCE if optional else ACCURACY)) / TOLERANCE
        accuracy = max(ACCURACY, SMOOTH * min(1.0, share), GAIN * deviation * period)
        allowed = max(accuracy, tolerance or TOLERANCE)
        modes = decoupled_modes(A.many, t0, period, accuracy, allowed, optional)
    if modes is not None:
        modes = replace(modes, error=modes.error + deviation * period)
    elif hurried:
        return None
    else:
        with phase("Floquet: the whole monodromy", progress):
            scaled = isinstance(equations, SecondOrderModel) and fastest * period <= FASTEST
            made = propagator_factors(A.many, t0, t0 + period, tolerance or ZERO, breaks, scaled)
        own = product_modes(made.matrices, made.errors + deviation * np.diff(made.times))
        rates = own.logs / period
        states = partial(
            propagated,
            lambda count: (step.__matmul__ for step in step_maps(A.many, t0, t0 + period, count)),
            own.vectors, rates, np.isfinite(own.error), period, fastest,
        )  # fmt: skip
        modes = PropagatedModes(own.logs, own.vectors, own.error, rates, states)
    modes = modes.chosen(np.argsort(-modes.logs.real, kind="stable"))
    start = A.inverse @ modes.vectors
    sizes = np.linalg.norm(start, axis=0)
    in_order = modes.states
    found = of_logs(modes.logs, start, modes.error, period, t0, "dense")
    lift = A.inverse[:n]
    moves = Orbits(lambda: in_order() / sizes, modes.rates, lift.__matmul__, weights)
    return replace(found, interpolated=smooth, propagation=moves)
