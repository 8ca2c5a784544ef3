"""The rotating-bar study's data: frequencies, responses, the parameter studies of section c, the
derivatives of the paper's Table 1, and computing times of Lagrange's and Hamilton's equations,
measured in alternation, beside Table 3 of Vlase, Nicolescu & Marin (2020).

Times are measured in two ways. "implicit": the library's integrators of order 2 (generalised-α on
Lagrange's second-order equations, the implicit midpoint rule on Hamilton's). "explicit": the
adaptive Runge–Kutta pair of order 5(4) on the two first-order systems, as in the paper's Matlab
programs:

    Lagrange  (q, v)' = (v, M⁻¹(F − S q − D v))
    Hamilton  (q, p)' = (M⁻¹p, F − S q − D M⁻¹p)

Either right-hand side costs one product with S, one with D and one solve with M.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as la
import xarray as xr
from scipy.integrate import solve_ivp
from tqdm import tqdm

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from assembly.types import AnyArray, Array
from modal.data.variables import TRANSIENT, Table, Variable
from modal.transient.loads import Load
from studies.reporting.protocol import dataset_of
from studies.rotating_bar.bar import (
    PAPER,
    Formalism,
    continuum_frequencies,
    element_frequencies,
    frozen,
    model,
    response,
    transient,
)

_NATURAL, _RUN = ("omega", "mode"), ("damping", "scheme", "time")
_TIMING, _TABLE_3 = ("way", "formalism", "elements"), ("formalism", "elements")
_TIP = "axial displacement of the tip"
_TIP_ERROR = "largest relative difference from the closed form"

VARIABLES: Table = {
    "natural": Variable("natural frequency", "rad s-1", _NATURAL),
    "natural_exact": Variable("natural frequency of the element chain", "rad s-1", _NATURAL),
    "natural_continuum": Variable("natural frequency of the continuous bar", "rad s-1", _NATURAL),
    "natural_misprint": Variable(
        "natural frequency with −½[k] of equation (13) as printed, at 15 rad/s",
        "rad s-1",
        ("mode",),
    ),
    "displacement": Variable("axial displacement", "m", (*_RUN, "node")),
    "displacement_exact": Variable(
        "axial displacement, closed form", "m", ("damping", "time", "node")
    ),
    "energy": TRANSIENT["energy"].over(*_RUN),
    "energy_defect": TRANSIENT["energy_defect"].over(*_RUN),
    "tip_by_section": Variable(_TIP, "m", ("section", "speed", "instant")),
    "tip_by_section_error": Variable(_TIP_ERROR, "1", ("section", "speed")),
    "tip_by_excitation": Variable(_TIP, "m", ("excitation", "instant")),
    "tip_by_excitation_error": Variable(_TIP_ERROR, "1", ("excitation",)),
    "tip_by_mass": Variable(_TIP, "m", ("mass", "instant")),
    "tip_by_mass_error": Variable(_TIP_ERROR, "1", ("mass",)),
    "seconds": Variable("processor time", "s", _TIMING),
    "seconds_spread": Variable("largest less smallest computing time", "s", _TIMING),
    "evaluations": Variable("right-hand sides of the explicit runs", "1", _TABLE_3),
    "seconds_paper": Variable("computing time printed in the paper's Table 3", "s", _TABLE_3),
    "derivative": Variable(
        "derivative of the term by the displacements", None, ("lagrangian_term",)
    ),
    "derivative_error": Variable(
        "relative difference of the derivative from the complex step", "1", ("lagrangian_term",)
    ),
    "derivative_misprint": Variable("the same of the elastic term as printed, −½kδ", "1", ()),
    "damping": Variable("damping ratio of the first mode", "1"),
    "instant": Variable("time", "s"),
    "section": Variable("section area", "m2"),
    "speed": Variable("angular velocity", "rad s-1"),
    "excitation": Variable("excitation frequency", "rad s-1"),
    "mass": Variable("mass of the bar", "kg"),
    "node": Variable("number of the node, 1 on the axis", "1"),
    "elements": Variable("number of elements", "1"),
}

SCHEMES: dict[str, tuple[Formalism, str | None]] = {
    "lagrange": ("lagrange", None),
    "hamilton": ("hamilton", "midpoint"),
    "hamilton, order 6": ("hamilton", "gauss6"),
}


def frequencies(elements: int, count: int) -> xr.Dataset:
    """Frequencies at 0 and 15 rad/s beside the closed forms, and what eq. (13) as printed gives."""
    count = min(count, elements)
    speeds = np.array([0.0, PAPER.omega])
    body = model(elements)
    halved = frozen(body)
    misprinted = modal.solve(halved.only("K_omega2", K=halved.parts["K"].scaled(0.5)), k=count)
    return dataset_of(
        VARIABLES,
        natural=[modal.solve(frozen(body, w), k=count).eigenvalues.imag for w in speeds],
        natural_exact=[element_frequencies(elements, w, count) for w in speeds],
        natural_continuum=[continuum_frequencies(w, count) for w in speeds],
        natural_misprint=misprinted.eigenvalues.imag,
        omega=speeds,
        mode=np.arange(count),
    )


def responses(
    elements: int, force: float, duration: float, step: float, damping_ratio: float
) -> xr.Dataset:
    """Displacements of all nodes, with and without damping, by both formalisms and exactly.

    Nodes have the paper's numbers: 1 is on the axis and does not move.
    """
    ratios, load = [0.0, damping_ratio], (force, PAPER.excitation)
    systems = [frozen(model(elements, damping_ratio=ratio)) for ratio in ratios]
    runs = [
        [transient(system, *load, duration, *scheme, step) for scheme in SCHEMES.values()]
        for system in systems
    ]
    times = runs[0][0]["time"].values
    push = force * np.eye(systems[0].n)[-1]
    exact = np.array([response(system, push, PAPER.excitation, times) for system in systems])

    def every(name: str) -> Array:
        return np.array([[run[name].values for run in row] for row in runs])

    def with_axis(moved: Array) -> Array:
        return np.concatenate([0.0 * moved[..., :1], moved], axis=-1)

    return dataset_of(
        VARIABLES,
        displacement=with_axis(every("displacement")),
        displacement_exact=with_axis(exact),
        energy=every("energy"),
        energy_defect=every("energy_defect"),
        damping=ratios,
        scheme=list(SCHEMES),
        time=times,
        node=np.arange(1, exact.shape[-1] + 2),
    )


def parameter_studies(
    elements: int, force: float, duration: float, progress: bool = False
) -> xr.Dataset:
    """Tip displacement over sections and speeds, excitation frequencies, and masses (undamped).

    Hamilton's equations by Gauss collocation of order 6; `*_error` is the largest difference from
    the closed form, relative to the largest displacement.
    """
    p, step = PAPER, 1e-4
    cases = {
        "section": [(A, p.mass, w, p.excitation) for A in p.sections for w in p.speeds],
        "excitation": [(p.area, p.mass, p.omega, f) for f in p.excitations],
        "mass": [(p.area, m, p.omega, p.excitation) for m in p.masses],
    }

    def tip(area: float, mass: float, omega: float, excitation: float) -> Array:
        """Its displacement, the error last."""
        system = frozen(model(elements, area, mass), omega)
        run = transient(system, force, excitation, duration, "hamilton", "gauss6", step)
        push = force * np.eye(system.n)[-1]
        exact = response(system, push, excitation, run["time"].values)[:, -1]
        moved = run["displacement"].values[:, -1]
        return np.append(moved, np.abs(moved - exact).max() / np.abs(exact).max())

    every = [case for some in cases.values() for case in some]
    runs = iter([tip(*case) for case in tqdm(every, desc="parameters", disable=not progress)])
    values = {}
    for name, some in cases.items():
        moved = np.array([next(runs) for _ in some])
        if name == "section":
            moved = moved.reshape(len(p.sections), len(p.speeds), -1)
        values[f"tip_by_{name}"], values[f"tip_by_{name}_error"] = moved[..., :-1], moved[..., -1]
    return dataset_of(
        VARIABLES,
        **values,
        instant=np.linspace(0.0, duration, moved.shape[-1] - 1),
        section=list(p.sections),
        speed=list(p.speeds),
        excitation=list(p.excitations),
        mass=list(p.masses),
    )


FORMALISMS: tuple[Formalism, ...] = ("lagrange", "hamilton")
# Vlase, Nicolescu & Marin (2020), Table 3: elements, and seconds of both formalisms.
TABLE_3 = {
    5: (31.0, 28.0),
    10: (84.0, 68.0),
    15: (176.0, 139.0),
    20: (291.0, 224.0),
    25: (460.0, 322.0),
}


def compare_times(damping_ratio: float, load: Load, duration: float, repeats: int) -> xr.Dataset:
    """Processor seconds of both formalisms for 5 to 25 elements: the least of `repeats` runs.

    The runs alternate; the least time is the one other work on the machine disturbed least.
    duration: simulated, s.
    """
    runs = np.empty((repeats, 2, 2, len(TABLE_3)))  # run, way, formalism, elements
    evaluations = np.empty((2, len(TABLE_3)))
    for e, count in enumerate(TABLE_3):
        system = frozen(model(count, damping_ratio=damping_ratio))
        for r in range(repeats):
            # Who goes first changes from run to run: warm caches favour neither.
            for f in (0, 1) if r % 2 == 0 else (1, 0):
                started = time.process_time()
                implicit(system, load, duration, FORMALISMS[f])
                between = time.process_time()
                evaluations[f, e] = explicit(system, load, duration, FORMALISMS[f])
                runs[r, :, f, e] = between - started, time.process_time() - between
    return dataset_of(
        VARIABLES,
        seconds=runs.min(axis=0),
        seconds_spread=np.ptp(runs, axis=0),
        evaluations=evaluations,
        seconds_paper=np.array(list(TABLE_3.values())).T,
        way=["implicit", "explicit"],
        formalism=list(FORMALISMS),
        elements=list(TABLE_3),
    )


def implicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> None:
    """One run of the library's second-order integrator of that formalism."""
    loads = [load, modal.InertiaLoads()]
    modal.integrate(system, (0.0, duration), None, formalism, step=2e-5, loads=loads)


def explicit(system: FrozenSystem, load: Load, duration: float, formalism: Formalism) -> int:
    """One run of Runge–Kutta 5(4) on the first-order system; returns its right-hand sides."""
    n, lagrange = system.n, formalism == "lagrange"
    M, S, D = (A.toarray() for A in (system.M, system.stiffness, system.damping))
    inverse = la.inv(M)

    def rhs(t: float, x: Array) -> Array:
        q, v = x[:n], x[n:] if lagrange else inverse @ x[n:]
        force = load.force(t, system) + system.Q - S @ q - D @ v
        return np.concatenate([v, inverse @ force if lagrange else force])

    # Equal accuracy for both: 1 nm in displacement, 10 µm/s in velocity and its momentum.
    scale = np.ones(n) if lagrange else M.sum(axis=1)
    atol = np.concatenate([np.full(n, 1e-9), 1e-5 * scale])
    solution = solve_ivp(
        rhs, (0.0, duration), np.zeros(2 * n), rtol=1e-6, atol=atol, t_eval=[duration]
    )
    return int(solution.nfev)


# Every term with its derivative, the table's second column, with the elastic term put right.
TABLE_1 = {
    "½ m v_O²": "0",
    "∫ρ v_Oᵀω̃X": "0",
    "∫ρ v_Oᵀω̃Nδ": "∫ρ Nᵀω̃ᵀv_O",
    "∫ρ v_OᵀNδ̇": "0",
    "½∫ρ Xᵀω̃ᵀω̃X": "0",
    "∫ρ Xᵀω̃ᵀω̃Nδ": "∫ρ Nᵀω̃ᵀω̃X",
    "∫ρ Xᵀω̃ᵀNδ̇": "0",
    "½∫ρ δᵀNᵀω̃ᵀω̃Nδ": "∫ρ Nᵀω̃ᵀω̃N δ",
    "∫ρ δᵀNᵀω̃ᵀNδ̇": "∫ρ Nᵀω̃ᵀN δ̇",
    "½∫ρ δ̇ᵀNᵀNδ̇": "0",
    "−½ δᵀkδ": "−kδ",
    "δᵀ(q* + q)": "q* + q",
}


def derivatives() -> xr.Dataset:
    """The paper's Table 1: derivatives of the terms of the Lagrangian by the nodal displacements,
    their relative differences from the complex step, and that of (13) as printed.

    ṗ = −∂H/∂δ = ∂L/∂δ, term by term of L = ½∫ρ v·v dV − ½δᵀkδ + δᵀ(q* + q) with the velocity
    v = v_O + ω̃(X + Nδ) + Nδ̇ in body axes, where RᵀṘ = ω̃. Each derivative of the table, by the
    library's matrices, is compared with the complex-step derivative of the term itself, integrated
    here over a bar of linear elements in space (Squire and Trapp, SIAM Rev. 40, 1998, 110).
    """
    nodes, stiffness, seed = 4, 40.0, 1401  # stiffness: N
    rng = np.random.default_rng(seed)
    omega, v_O, delta, rate, load = (rng.standard_normal(n) for n in (3, 3, 12, 12, 12))
    X = np.linspace(0.0, 1.0, nodes)[:, None] * rng.standard_normal(3)
    N, position, weight = _quadrature(X)
    M = np.einsum("p,pia,pib->ab", weight, N, N)
    ends = np.diff(np.eye(nodes), axis=0)
    K = stiffness * nodes * np.kron(ends.T @ ends, np.eye(3))
    unstressed = dict.fromkeys(("xx", "yy", "zz", "xy", "xz", "yz", "ax", "ay", "az"), 0.0 * M)
    body = assembly.from_matrices(M, K, coordinates=X, geometric=unstressed)
    turning = body.freeze(omega=omega)
    carried = body.freeze(acceleration=np.cross(omega, v_O))
    still, moved = np.tile(v_O, (len(weight), 1)), N @ rate
    placed = np.cross(omega, position)

    def terms(d: AnyArray) -> AnyArray:
        """The terms of the table (12,) at the displacements d."""
        turned = np.cross(omega, N @ d)
        products = (
            (0.5, still, still), (1.0, still, placed), (1.0, still, turned), (1.0, still, moved),
            (0.5, placed, placed), (1.0, placed, turned), (1.0, placed, moved),
            (0.5, turned, turned), (1.0, turned, moved), (0.5, moved, moved),
        )  # fmt: skip
        of_mass = [factor * (weight @ np.sum(a * b, axis=1)) for factor, a, b in products]
        return np.array([*of_mass, -0.5 * d @ K @ d, d @ load])

    step = 1e-30  # no difference is taken, so nothing cancels
    slopes = np.array([terms(delta + 1j * step * e).imag / step for e in np.eye(12)]).T
    zero = np.zeros(12)
    by_table = [
        *(zero, zero, carried.Q, zero, zero, turning.Q, zero),
        *(-(turning.K_omega2 @ delta), -0.5 * (turning.C @ rate), zero, -(K @ delta), load),
    ]
    errors = [_difference(a, b) for a, b in zip(slopes, by_table, strict=True)]
    return dataset_of(
        VARIABLES,
        derivative_error=errors,
        derivative=list(TABLE_1.values()),
        derivative_misprint=_difference(slopes[-2], -0.5 * (K @ delta)),
        lagrangian_term=list(TABLE_1),
    )


def _quadrature(X: Array) -> tuple[Array, Array, Array]:
    """N (P, 3, 12), positions (P, 3) and ρ dV (P,) at the points of all elements."""
    elements, density = len(X) - 1, 3.0  # kg/m
    # Gauss, exact to degree 5
    points = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])
    weights = np.array([5.0, 8.0, 5.0]) / 18.0
    N = np.zeros((elements, len(points), 3, X.size))
    for element in range(elements):
        for axis in range(3):
            N[element, :, axis, 3 * element + axis] = 1.0 - points
            N[element, :, axis, 3 * element + 3 + axis] = points
    shapes = N.reshape(-1, 3, X.size)
    length = float(np.linalg.norm(X[-1])) / elements
    return shapes, shapes @ X.ravel(), np.tile(density * length * weights, elements)


def _difference(exact: Array, by_table: Array) -> float:
    """Largest difference relative to the largest entry; absolute where all are zero."""
    size = np.abs(exact).max()
    return float(np.abs(by_table - exact).max() / (size if size > 0.0 else 1.0))
