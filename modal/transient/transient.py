"""Time integration of the full, unfrozen equations of a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from tqdm import tqdm

from assembly.arguments import as_list, as_number, real_array, shown
from assembly.errors import ConvergenceError, InputError
from assembly.mechanisms.mechanism import swept
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import made_from
from modal.eigen.tolerances import SMALL, ZERO
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient.energy_momentum import EnergyMomentum
from modal.transient.equations import (
    FirstOrderModel,
    SecondOrderModel,
    TabulatedModel,
    freezer,
    is_second_order,
)
from modal.transient.free_vibration import LARGEST, free_vibration
from modal.transient.hamilton import CanonicalModel
from modal.transient.initial import initial_state, mesh_content, vector, without_fast_modes
from modal.transient.integrators.gauss import DenseGauss, Gauss
from modal.transient.integrators.generalized_alpha import GeneralizedAlpha
from modal.transient.integrators.stages import Integrator
from modal.transient.loads import Load, check_resolved, total_force
from modal.transient.measures import (
    DisplacementNorm,
    Energies,
    EnergyLedger,
    PlainNorm,
    check_balance,
)
from modal.transient.nonlinear import NonlinearAlpha, check_nonlinear
from modal.transient.records import (
    Recorder,
    RunCheckpoint,
    chosen_probes,
    run_attributes,
    run_prints,
    same_start,
)
from modal.transient.reduced_transient import ReducedTransient, on_basis
from modal.transient.stepping import AdaptiveSteps, FixedSteps, default_step
from modal.transient.tolerances import NEGLIGIBLE, PART, TOLERANCE
from modal.types import Array

Formalism = Literal["lagrange", "hamilton"]

CALLABLE, NONLINEAR = "a callable A(t)", "a nonlinear transient"
METHODS = {  # the default first
    "lagrange": ("generalized-alpha",),
    "hamilton": ("midpoint", "gauss4", "gauss6"),
    CALLABLE: ("gauss4", "midpoint", "gauss6"),
    NONLINEAR: ("generalized-alpha", "energy-momentum"),
}
STAGES = {"midpoint": 1, "gauss4": 2, "gauss6": 3}
LARGEST_FULL = 2000  # DOFs whose steps under loads adapt in full order where no basis serves


def integrate(
    model: Any,
    t_span: tuple[float, float],
    initial: Any = None,
    formalism: Formalism = "lagrange",
    *,
    method: str | None = None,
    step: float | None = None,
    displacement_tolerance: float | None = None,
    highest_frequency: float | None = None,
    rho_infinity: float = 1.0,
    nonlinear: bool = False,
    loads: Sequence[Load] = (),
    probes: Any = None,
    every: int = 1,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 30.0,
    resume: bool = False,
    progress: bool = False,
) -> xr.Dataset:
    """Transient of M(t) q̈ + (C + D)(t) q̇ + K(t) q = loads, or of x' = A(t) x.

    Parameters
    ----------
    model : FrozenSystem, object with ``freeze(t)``, or callable
        A FrozenSystem has constant coefficients. A callable returns A(t), dense, shape (N, N).
    t_span : (float, float)
        Start and end, s.
    initial : pair of array_like, shape (n,), or array_like, shape (2n,), optional
        Displacement q (m, rad) and velocity q̇ (m/s, rad/s), as a pair or stacked. Of complex
        values the real part is taken. Default: rest. For a callable: x, shape (N,), required.
    formalism : {"lagrange", "hamilton"}, default "lagrange"
        "lagrange" integrates displacement and velocity by the generalised-α method, of order 2.
        "hamilton" integrates displacement and momentum by Gauss collocation. A callable is always
        integrated by Gauss collocation.
    method : str, optional
        Of "lagrange": "generalized-alpha". Of "hamilton" and of a callable: "midpoint" (order 2),
        "gauss4" or "gauss6". Default: "midpoint" for "hamilton", "gauss4" for a callable.
        Nonlinear: "generalized-alpha" or "energy-momentum".
    step : float, optional
        Fixed step, s. It is shortened so that it divides the span.
    displacement_tolerance : float, optional
        Relative error of the whole run in the displacement, between 0 and 1; the step adapts. The
        free vibration on a smooth motion, without `method`, is integrated on a basis of shapes by
        Gauss collocation of order 8, or from any start by Radau collocation or decoupled groups of
        modes, above 500 degrees of freedom by sparse Radau collocation; that of a constant
        system by exponentials or collocation ("lagrange" only). Not
        together with `step`. With neither, a callable adapts to 1e-6, and another model takes a
        fixed step that resolves the two lowest modes at the start and the loads.
    highest_frequency : float, optional
        Hz. The initial state is taken in the modes of the start up to it: a displaced node moves
        modes of the mesh that the part does not have. Up to 3000 degrees of freedom, linear.
    rho_infinity : float, default 1.0
        Spectral radius of generalised-α at infinite frequency, 0 to 1. 1 conserves the energy;
        less damps the high frequencies.
    nonlinear : bool, default False
        Of a mechanism or a moving body: finite elastic displacements and rotations (docs/theory.md,
        "Mechanisms at finite deflection"). All steady loads of the motion act; q counts from the
        undeformed machine, and `mechanism.trim(t).q` is the equilibrium at the start.
    loads : sequence of Harmonic, Impulse, Tabulated, InertiaLoads, optional
        Default: none, the free vibration.
    probes : sequence of (str, int, str), or "all", optional
        Recorded degrees of freedom: (body, node, component) such as ("blade", 12, "uy"), or
        numbers. Default: those of the last node; up to six of a model without nodes.
    every : int, default 1
        Number of steps between two records.
    checkpoint : path, optional
        File that receives the state of the run.
    checkpoint_interval : float, default 30.0
        Working time between two checkpoints, s.
    resume : bool, default False
        Continue from `checkpoint`. The result equals an uninterrupted run bit by bit.
    progress : bool, default False
        Progress bar on stderr.

    Returns
    -------
    xarray.Dataset
        displacement (m, rad) and velocity (m/s, rad/s) over ("time", "probe"); energy and
        energy_defect (J) over "time". The defect is E − E(0) − work, zero for the exact solution.
        Attributes: `displacement_error_estimate`, of a run to a tolerance, relative to the largest
        state; with it, up to 500 degrees of freedom, `mesh_frequency`, Hz, up to which the modes of
        the mesh are about those of the part (the lowest third), and `displacement_above_mesh` and
        `energy_above_mesh`, the shares of the initial state above it; `basis` and `basis_error`, of
        a mechanism with large links or a large moving body on a reduced basis, the error by the
        basis relative to the largest displacement in the norm of the mass;
        `interpolation_deviation`, of matrices that are read off a polynomial, relative to the size
        of each entry.

    Raises
    ------
    InputError
        An argument cannot be used.
    ConvergenceError
        No step is short enough for `displacement_tolerance`, or the reduced basis of a large model
        does not reach it; the transient is then its `partial`.
    SingularSystemError
        A step matrix or the mass matrix is singular.
    PlausibilityWarning
        Nonlinear: the steps do not resolve the motion, by the energy that they make or lose.
    StorageError
        The checkpoint belongs to another run, is damaged, or cannot be written.

    Notes
    -----
    Generalised-α: Chung & Hulbert 1993. Gauss collocation: Hairer, Lubich & Wanner, Geometric
    Numerical Integration, IV.2; it conserves the energy of a conservative model with constant
    coefficients. The matrices are those of the instant at every stage. See docs/numerics.md,
    "Time integration".

    Examples
    --------
    >>> import numpy as np, modal
    >>> from assembly import FrozenSystem
    >>> system = FrozenSystem(M=np.eye(1), C=np.zeros((1, 1)), K=[[4.0]])
    >>> response = modal.integrate(system, (0.0, np.pi), ([1.0], [0.0]), "hamilton",
    ...                            method="gauss6", step=0.05)
    >>> bool(abs(response.displacement.values[-1, 0] - 1.0) < 1e-8)  # cos(2 t) after one period
    True
    """
    span = _checked_span(t_span)
    loads = as_list(loads, object, "loads", "loads such as modal.Harmonic(…)")
    for load in loads:
        if not callable(getattr(load, "force", None)):
            raise InputError(f"loads: expected loads such as modal.Harmonic(…), got {shown(load)}")
    if not (isinstance(every, int) and every >= 1):
        raise InputError(f"every: expected a whole number of steps from 1 up, got {every!r}")
    if highest_frequency is not None:
        if nonlinear or not is_second_order(model):
            raise InputError("highest_frequency: of linear models with modes only")
        first_system = freezer(model)(span[0])
        initial = without_fast_modes(
            first_system, *initial_state(initial, first_system.n), highest_frequency
        )
    free = not (loads or checkpoint or nonlinear or method or step) and formalism == "lagrange"
    free = free and rho_infinity == 1.0
    # Steps that adapt may have to go on in full order, which a checkpoint on a basis could not.
    if not nonlinear and (checkpoint is None or displacement_tolerance is None):
        reduced = on_basis(model, span, initial, tuple(loads), probes)
        if reduced is not None:
            found = _integrated(
                reduced, displacement_tolerance, LARGEST if free else LARGEST_FULL,
                formalism=formalism, method=method, step=step, rho_infinity=rho_infinity,
                every=every, checkpoint=checkpoint, checkpoint_interval=checkpoint_interval,
                resume=resume, progress=progress,
            )  # fmt: skip
            if found is not None:
                return found
    full = model if isinstance(model, ReducedTransient) else None
    settings: dict[str, Any] = dict(
        t_span=list(span),
        step=step,
        displacement_tolerance=displacement_tolerance,
        rho_infinity=rho_infinity,
        nonlinear=nonlinear,
        every=every,
        loads=repr(full.given if full else tuple(loads)),
        model=type(full.model if full else model).__name__,
    )
    if free and displacement_tolerance is not None:
        _check_tolerance(displacement_tolerance)
        vibration = free_vibration(model, span, initial, probes, settings)
        if vibration is not None:
            here = freezer(model)(span[0])
            if here.n <= SMALL:
                vibration.attrs |= mesh_content(here, *initial_state(initial, here.n))
            return vibration
    second_order = is_second_order(model)
    if nonlinear:
        check_nonlinear(model, formalism, tuple(loads))
    elif second_order and formalism not in get_args(Formalism):
        raise InputError(f'formalism: expected "lagrange" or "hamilton", got {formalism!r}')
    kind = NONLINEAR if nonlinear else formalism if second_order else CALLABLE
    name = _method(kind, method)
    integrator, ledger, norm, first, system = _scheme(
        model, span, initial, kind, name, rho_infinity, tuple(loads)
    )
    rows = chosen_probes(probes, len(first[0]), system)
    if step is None and displacement_tolerance is None and second_order:
        equations = SecondOrderModel(model) if nonlinear else ledger.equations
        step = default_step(equations, span, loads, model, integrator.order)
    steps = _steps(integrator, span, step, displacement_tolerance, norm, tuple(loads))
    if isinstance(steps, FixedSteps) and isinstance(ledger, EnergyLedger):
        ledger.equations.grid = (span[0], 0.5 * steps.first_length)
    settings |= dict(method=name, step=step, unknowns=len(first[0]), probes=list(rows.names))
    recorder = Recorder(rows)
    if resume and checkpoint is None:
        raise InputError("resume: give checkpoint, the file of the run to continue")
    stored = None
    if checkpoint is not None:
        q, v = full.start if full else first
        start = same_start(q, v, full.given if full else loads)
        prints = run_prints(model, span, loads, nonlinear)
        stored = RunCheckpoint(Path(checkpoint), settings | start, prints)
    try:
        if resume and stored is not None and stored.file.exists():
            state, energies = stored.restore(ledger, steps, recorder, integrator)
        else:
            state = integrator.start(span[0], steps.first_length, *first)
            initial_energy = ledger.energy(span[0], state.q, state.v)
            energies = Energies(ledger, initial_energy, ledger.nothing)
            recorder.add(span[0], state.q, state.v, energies.row(span[0], state))
        saved = time.monotonic()
        bar = tqdm(total=1.0, desc=name, disable=not progress, bar_format="{l_bar}{bar}| {elapsed}")
        since = 0
        with bar:
            for accepted in steps.run(state):
                energies.add(accepted)
                since += 1
                ended = accepted.fraction >= 1.0
                if since == every or ended:
                    since = 0
                    t = span[1] if ended else accepted.start + accepted.length
                    now = accepted.state
                    recorder.add(t, now.q, now.v, energies.row(t, now))
                    due = time.monotonic() - saved >= checkpoint_interval
                    if stored and (ended or (due and accepted.last)):
                        stored.save(accepted.state, energies, steps, recorder, integrator)
                        saved = time.monotonic()
                bar.update(accepted.fraction - bar.n)
    finally:
        integrator.destroy()
        norm.destroy()
    attributes = {"formalism": formalism, "solver": name, "order": integrator.order}
    attributes |= run_attributes(settings, model) | _accuracy(ledger, steps)
    attributes["made_from"] = made_from(model)
    found = recorder.dataset(attributes)
    if nonlinear:
        check_balance(found)
    return found


def _integrated(
    reduced: ReducedTransient, displacement_tolerance: float | None, most: int, **options: Any
) -> xr.Dataset | None:
    """The transient of a model on a reduced basis; None where the basis is too small for the
    tolerance, of the initial state already or of the run, and the model not too large for full
    order, of `most` degrees of freedom."""
    allowed = displacement_tolerance
    if allowed is not None:
        _check_tolerance(allowed)
        if reduced.full.n <= most and reduced.missed_at_start() > allowed:
            return None
        allowed = PART * allowed
    found = integrate(
        reduced, reduced.span, reduced.state, loads=reduced.loads, probes="all",
        displacement_tolerance=allowed, **options,
    )  # fmt: skip
    out = reduced.lifted(found)
    if displacement_tolerance is None:
        return out
    error = out.attrs["displacement_error_estimate"] + out.attrs["basis_error"]
    out.attrs |= dict(
        displacement_tolerance=displacement_tolerance, displacement_error_estimate=error
    )
    if error <= displacement_tolerance:
        return out
    if reduced.full.n <= most:
        return None
    raise ConvergenceError(
        f"displacement_tolerance: on a reduced basis of {reduced.full.n} degrees of freedom the "
        f"error is {error:.1e}, more than {displacement_tolerance:g}: the initial state or the "
        "loads move shapes that it does not hold; start from modes, or give a step",
        out,
    )


def _checked_span(t_span: Any) -> tuple[float, float]:
    ends = real_array(t_span)
    if ends is None or ends.shape != (2,):
        raise InputError(f"t_span: expected (start, end) in seconds, got {shown(t_span)}")
    t0, t1 = ends.tolist()
    if not (np.isfinite(t0) and np.isfinite(t1) and t1 > t0):
        raise InputError(f"t_span: expected finite start < end in seconds, got {t_span!r}")
    return t0, t1


def _steps(
    integrator: Integrator,
    span: tuple[float, float],
    step: float | None,
    displacement_tolerance: float | None,
    norm: Any,
    loads: tuple[Load, ...],
) -> FixedSteps | AdaptiveSteps:
    if step is not None and displacement_tolerance is not None:
        raise InputError(
            "step, displacement_tolerance: give one of the two (fixed steps, or steps that adapt)"
        )
    if step is not None:
        length = real_array(step)
        if length is None or length.ndim or not (np.isfinite(length) and length > 0.0):
            raise InputError(f"step: expected a positive number of seconds, got {shown(step)}")
        check_resolved(loads, span, step)
        if step < NEGLIGIBLE * (span[1] - span[0]):
            raise InputError(
                f"step: {step:g} s are more than {1.0 / NEGLIGIBLE:.0e} steps of the span, "
                f"{span[1] - span[0]:g} s"
            )
        count = max(1, int(np.ceil((span[1] - span[0]) / step * (1.0 - ZERO))))
        return FixedSteps(integrator, span, count)
    wanted = TOLERANCE if displacement_tolerance is None else displacement_tolerance
    _check_tolerance(wanted)
    events = tuple(t for load in loads for t in load.events)
    return AdaptiveSteps(integrator, span, wanted, norm, events)


def _check_tolerance(wanted: Any) -> None:
    if not 0.0 < as_number(wanted, "displacement_tolerance") < 1.0:
        raise InputError(
            f"displacement_tolerance: expected a number between 0 and 1, got {wanted!r}"
        )


def _method(kind: str, method: str | None) -> str:
    """The requested method, or the default one of a formalism or kind of model."""
    name = method or METHODS[kind][0]
    if name not in METHODS[kind]:
        accepted = " or ".join(f'"{m}"' for m in METHODS[kind])
        raise InputError(f"method: {kind} takes {accepted}, got {method!r}")
    return name


def _scheme(
    model: Any, span: tuple[float, float], initial: Any, kind: str, name: str, rho: float,
    loads: tuple[Load, ...],
) -> tuple[Integrator, Any, Any, tuple[Array, Array], FrozenSystem | None]:  # fmt: skip
    """The integrator, the balance of energy, the norm of errors, the initial state, and the frozen
    system at the start."""
    if kind == CALLABLE:
        if loads:
            raise InputError(
                "loads: a callable A(t) has no degrees of freedom to load; give a model with "
                "freeze(t)"
            )
        first_order = FirstOrderModel(model, span[0])
        x = vector(initial, first_order.n, "initial")
        dense = DenseGauss(first_order, STAGES[name])
        return dense, dense, PlainNorm(), (x, np.zeros_like(x)), None
    if kind == NONLINEAR:
        with swept(None):  # without matrices, which are not needed
            start = model.freeze(span[0])
        force = total_force(loads, model.freeze, start.n)
        by_alpha = name == METHODS[NONLINEAR][0]
        newton = NonlinearAlpha(model, force, rho) if by_alpha else EnergyMomentum(model, force)
        first = initial_state(initial, start.n)
        return newton, newton, PlainNorm(), first, start
    smooth = InterpolatedMotion.of(model, *span)
    equations = SecondOrderModel(model) if smooth is None else TabulatedModel(smooth)
    start = equations.system(span[0])
    force = total_force(loads, equations.system, start.n)
    integrator: Integrator
    if kind == "hamilton":
        integrator = Gauss(CanonicalModel(equations, span), force, STAGES[name])
    else:
        integrator = GeneralizedAlpha(equations, force, rho)
    first = initial_state(initial, start.n)
    norm = DisplacementNorm(equations, span)
    return integrator, EnergyLedger(equations, force), norm, first, start


def _accuracy(ledger: Any, steps: FixedSteps | AdaptiveSteps) -> dict[str, Any]:
    """What is known of the errors: of adaptive steps, and of matrices read off a polynomial."""
    known: dict[str, Any] = {}
    if isinstance(steps, AdaptiveSteps):
        known["displacement_error_estimate"] = steps.error + steps.unresolved
    if isinstance(ledger, EnergyLedger) and isinstance(ledger.equations, TabulatedModel):
        known["interpolated"] = str(ledger.equations.motion.interpolant)
        known["interpolation_deviation"] = ledger.equations.motion.interpolant.deviation
    return known
