"""Transients at finite elastic displacements: exact solutions, order, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.special as special
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
import modal
from assembly.mechanisms.elastic_mechanism import ElasticMechanism
from modal.transient.integrators.stages import State
from modal.transient.nonlinear import NonlinearAlpha
from tests.support.transient_machines import SLIDER_CRANK, slider_crank

Array = NDArray[np.float64]
LENGTH, MASS, INERTIA, GRAVITY = 0.4, 2.0, 0.05, 9.81


def pendulum(stiffness: float = 0.0) -> assembly.Mechanism:
    """A rigid pendulum that hangs along x, on a hinge that gives."""
    bob = assembly.rigid_body(MASS, INERTIA, centre=(LENGTH, 0.0, 0.0), planar=True)
    return assembly.Mechanism(
        {"bob": bob},
        [assembly.revolute("ground", (0, 0), "bob", (0, 0), name="hinge")],
        [assembly.driver("hinge", 0.0, stiffness=stiffness)],
        gravity=(GRAVITY, 0.0, 0.0),
    )


@pytest.mark.slow
def test_pendulum_of_sixty_degrees() -> None:
    """Period 4 K(sin ½θ)/ω₀ (Landau & Lifshitz, Mechanics, §11); the method is of order 2."""
    amplitude = np.pi / 3.0
    about = INERTIA + MASS * LENGTH**2  # the moment of inertia is that about the centre
    natural = np.sqrt(MASS * GRAVITY * LENGTH / about)
    period = 4.0 * special.ellipk(np.sin(0.5 * amplitude) ** 2) / natural
    assert period > 1.07 * 2.0 * np.pi / natural
    machine, errors = pendulum(), []
    for count in (16, 32):
        found = modal.integrate(
            machine, (0.0, period), ([amplitude], [0.0]), nonlinear=True, step=period / count
        )
        errors.append(abs(found.displacement.values[-1, 0] - amplitude))
        speed = found.velocity.values[-1, 0]
        errors[-1] = float(np.hypot(errors[-1], speed / natural))
    assert errors[1] < 3e-2 * amplitude
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_steps_that_do_not_resolve_the_motion_are_said_to() -> None:
    """In four steps a period ρ = 0.5 takes the energy of a pendulum away, ρ = 1 keeps it to 2 %."""
    about = INERTIA + MASS * LENGTH**2
    step = 0.5 * np.pi * np.sqrt(about / (MASS * GRAVITY * LENGTH))
    for rho, warned in ((0.5, 1), (1.0, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            modal.integrate(
                pendulum(), (0.0, 40.0 * step), ([1.0], [0.0]), nonlinear=True, step=step,
                rho_infinity=rho,
            )  # fmt: skip
        asked = [str(w.message) for w in caught if w.category is assembly.PlausibilityWarning]
        assert len(asked) == warned
        assert all("do not resolve the motion" in text for text in asked)
        assert {w.filename for w in caught} <= {__file__}, [w.filename for w in caught]


def test_a_step_whose_end_is_no_state_of_the_model_is_refused() -> None:
    """Its middle is one: the hinge passes 87 degrees in three steps a period."""
    step = 2.0 * np.pi / 3.0 * np.sqrt((INERTIA + MASS * LENGTH**2) / (MASS * GRAVITY * LENGTH))
    with pytest.raises(assembly.ConvergenceError, match=r"fails .*87 degrees.* a shorter step"):
        modal.integrate(pendulum(), (0.0, 40.0 * step), ([1.0], [0.0]), nonlinear=True, step=step)


def stiff_chain(links: int) -> assembly.Mechanism:
    """Links of steel on springs of hinges; stretching is 10⁴ times faster than swinging."""
    section = assembly.rectangle(0.02, 0.02)
    names = [f"link{k}" for k in range(links)]
    bar = assembly.beam(0.3, section, assembly.steel, 2, planar=True)
    ends = [("ground", (0, 0)), *((name, "end") for name in names)]
    joints = [
        assembly.revolute(*before, name, "start", name=f"J{k}")
        for k, (before, name) in enumerate(zip(ends, names, strict=False))
    ]
    springs = [assembly.driver(f"J{k}", 0.2, stiffness=2000.0) for k in range(links)]
    return assembly.Mechanism(dict.fromkeys(names, bar), joints, springs, gravity=(0, -9.81, 0))


@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")  # ρ = 0.8 damps them
@pytest.mark.parametrize("rho", [1.0, 0.8])
def test_vibrations_that_steps_do_not_resolve_stay_as_large_as_they_are(rho: float) -> None:
    """A straight deflection stretches links of steel. Equations at the ends of steps make of this
    (ωh/2)² times its energy: the hinges turned by more than 87 degrees."""
    chain, step = stiff_chain(4), 5e-3
    system = chain.freeze(0.0)
    q = np.linalg.solve(system.stiffness.toarray(), system.Q)
    assert modal.solve(system, k=2 * system.n).eigenvalues.imag.max() * step > 100.0
    found = modal.integrate(
        chain, (0.0, 20 * step), (q, 0.0 * q), nonlinear=True, step=step, rho_infinity=rho
    )
    largest = found.kinetic_energy.values.max() + found.strain_energy.values.max()
    assert found.energy_defect.values.max() < 1e-2 * largest
    if rho == 1.0:
        assert found.energy_defect.values.min() > -1e-2 * largest


class Scripted(NonlinearAlpha):
    """Corrections of given sizes."""

    def __init__(self, sizes: list[float]) -> None:
        super().__init__(None, lambda t: np.zeros(1))
        self.sizes = iter(sizes)

    def iterations(self, rounded: bool) -> int:
        self.corrected(np.zeros(1), lambda x: (np.zeros(1), next(self.sizes)), rounded)
        return self.taken


def test_round_off_that_stiff_links_enlarge_ends_the_iteration() -> None:
    """In units of the tolerance. What converges slowly goes on, and what grows before it does."""
    assert Scripted([1e8, 1e3, 50.0, 20.0, 60.0, 1.0]).iterations(rounded=True) == 5
    with pytest.raises(assembly.ConvergenceError):
        Scripted([1e8, 1e3, *[50.0, 20.0, 60.0] * 8]).iterations(rounded=False)
    for sizes in ([1e8 * 0.7**k for k in range(24)], [1e6, 2e6, 1e5, 10.0, 1e-9]):
        counts = []
        for rounded in (True, False):
            try:
                counts.append(Scripted(sizes).iterations(rounded))
            except assembly.ConvergenceError:
                counts.append(0)
        assert counts[0] == counts[1]


def test_steps_take_few_forces_and_few_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four and one a step; with inertia of the undeformed bodies in the matrices five and more. The
    energies at its end take the rigid motion of the last forces: one a step."""
    machine, counts = slider_crank(SLIDER_CRANK, 1), {"state": 0, "factorize": 0, "_motion": 0}
    for name in counts:
        owner = ElasticMechanism if name == "_motion" else NonlinearAlpha
        own = getattr(owner, name)

        def counted(*arguments: Any, name: str = name, own: Any = own) -> Any:
            counts[name] += 1
            return own(*arguments)

        monkeypatch.setattr(owner, name, counted)
    system = machine.freeze(0.0)
    q = np.linalg.solve(system.stiffness.toarray(), system.Q)
    modal.integrate(machine, (0.0, 4e-3), (q, 0.0 * q), step=2e-4, nonlinear=True)
    assert counts["state"] <= 4 * 20
    assert counts["factorize"] <= 20
    assert counts["_motion"] <= 20 + 1


def rubber_chain() -> assembly.Mechanism:
    rubber = assembly.Material(E=1e6, nu=0.3, rho=1000.0)
    section = assembly.rectangle(0.02, 0.02)
    bars = [assembly.beam(x, section, rubber, 2, planar=True) for x in (0.4, 0.3)]
    return assembly.Mechanism(
        {"one": bars[0], "two": bars[1]},
        [
            assembly.revolute("ground", (0, 0), "one", "start", name="A"),
            assembly.revolute("one", "end", "two", "start", name="B"),
        ],
        [assembly.driver("A", 0.2, stiffness=40.0), assembly.driver("B", 0.3, stiffness=40.0)],
    )


def test_the_matrix_of_a_step_is_the_derivative_of_its_equations() -> None:
    """Links of rubber in violent motion: no Newton step leaves 1e-5 of an error; with masses of the
    undeformed links it would leave half of it."""
    chain = rubber_chain()
    n, rng, h = chain.freeze(0.0).n, np.random.default_rng(0), 0.02
    x = rng.standard_normal((3, 1, n)) * np.array([0.05, 10.0, 1e3])[:, None, None]
    alpha = NonlinearAlpha(chain, lambda t: np.zeros(n))
    matrices = alpha.factorize(chain.displaced([0.0], *x), h)
    weights, left = alpha.weights(h)[::-1, None], np.eye(n)
    for column, e in zip(left.T, np.eye(n), strict=True):
        moved = 1e-4 * weights * e
        ends = [chain.displaced([0.0], *(x + s * moved[:, None])).residual[0] for s in (1, -1)]
        column -= matrices.solve((ends[0] - ends[1]) / 2e-4)
    assert np.abs(np.linalg.eigvals(left)).max() < 1e-5


@pytest.mark.parametrize(("pace", "violent"), [(0.1, False), (3.0, True)])
def test_steps_in_violent_motion_need_the_forces_of_rates(pace: float, violent: bool) -> None:
    """They are found out by their rate of convergence; the steps are those with these forces from
    the start."""
    chain, ends = rubber_chain(), []
    v = pace * np.random.default_rng(0).standard_normal(chain.freeze(0.0).n)
    for afresh in (False, True):
        alpha = NonlinearAlpha(chain, lambda t: np.zeros(len(v)))
        alpha.afresh = afresh
        found = alpha.steps(0.0, 1e-3, 20, alpha.start(0.0, 1e-3, 0.0 * v, v))
        assert len(found) == 20 and alpha.afresh == (afresh or violent)
        ends.append(found[-1][0].q)
    assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9 * np.abs(ends[1]).max())


@pytest.mark.parametrize("rho", [1.0, 0.7])
@pytest.mark.parametrize("name", ["arm", "links"])
def test_steps_that_are_solved_together_are_those_solved_one_by_one(
    name: str, rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their energies, momenta and works, under loads, drives that give, and damping."""
    section = assembly.rectangle(0.02, 0.006)
    bars = [
        assembly.beam(length, section, assembly.steel, 2, planar=True).with_damping(b=1e-5)
        for length in (0.4, 0.3)
    ]
    model: Any
    if name == "arm":
        arm = assembly.beam(0.5, section, assembly.steel, 3, clamped="start", planar=True)
        model = assembly.moving(arm.with_damping(a=0.5), assembly.ramp(5.0, 60.0))
        probe = ("beam", 3, "uy")
    else:
        model = assembly.Mechanism(
            {"one": bars[0], "two": bars[1]},
            [
                assembly.revolute("ground", (0, 0), "one", "start", name="A"),
                assembly.revolute("one", "end", "two", "start", name="B"),
            ],
            [
                assembly.driver("A", assembly.Uniform(rate=12.0, start=0.0)),
                assembly.driver("B", 0.3, stiffness=40.0, damping=0.05),
            ],
            gravity=(0.0, -9.81, 0.0),
        )
        probe = ("two", 2, "uy")
    system = model.freeze(0.0)
    q = np.linalg.solve(system.stiffness.toarray(), system.Q)
    loads = [modal.Harmonic(probe, 2.0, 40.0)]
    runs, blocks = [], set()
    attempt = NonlinearAlpha._steps

    def counted(self: NonlinearAlpha, *arguments: Any) -> Any:
        found = attempt(self, *arguments)
        blocks.add(len(found))
        return found

    monkeypatch.setattr(NonlinearAlpha, "_steps", counted)
    for most in (1, 16):
        monkeypatch.setattr(NonlinearAlpha, "MOST", most)
        runs.append(
            modal.integrate(
                model, (0.0, 5e-3), (q, 0.0 * q), nonlinear=True, step=1e-4, rho_infinity=rho,
                loads=loads, probes="all", every=3,
            )
        )  # fmt: skip
        assert (max(blocks) > 8) == (most > 1)
    size = max(float(np.abs(runs[0][part]).max()) for part in ("kinetic_energy", "strain_energy"))
    for part in runs[0].data_vars:
        expected, found = runs[0][part].values, runs[1][part].values
        energy = runs[0][part].dims == ("time",)
        atol = 1e-7 * (size if energy else np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=part)


def test_small_vibrations_are_the_linear_ones() -> None:
    """A cantilever on a turning hub: a small disturbance of the trim follows the linear equations
    about it."""
    soft = assembly.Material(E=2e9, nu=0.3, rho=2000.0)
    machine = assembly.Mechanism(
        {"arm": assembly.beam(0.5, assembly.rectangle(0.02, 0.02), soft, 1, planar=True)},
        [assembly.revolute("ground", (0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", assembly.Uniform(rate=20.0, start=0.0))],
    )
    trim = machine.trim(0.0)
    system = trim.system
    shape = 1e-5 * np.real(modal.solve(system, k=1).right[:, 0])
    shape = shape * 1e-3 / np.abs(shape).max()
    span, step = (0.0, 0.006), 5e-4
    options = dict(step=step, probes="all")
    full = modal.integrate(machine, span, (trim.q + shape, 0.0 * shape), nonlinear=True, **options)
    about = assembly.FrozenSystem(M=system.M, C=system.damping, K=system.stiffness)
    linear = modal.integrate(about, span, (shape, 0.0 * shape), **options)
    difference = full.displacement.values - trim.q - linear.displacement.values
    assert np.abs(linear.displacement.values).max() > 5e-4
    assert np.abs(difference).max() < 1e-2 * np.abs(linear.displacement.values).max()


# The small slider-crank after 1 ms from rest, undeformed: scipy's DOP853 with rtol = 1e-7 on
# R(q, v, a, t) = 0, solved for a in every stage.
FROM_REST = (
    1.814489150631e-03, 6.737235275955e-07, 1.149074861085e-04, -2.391421845956e-04,
    2.072964429505e-07, -1.203545237249e-03,
)  # fmt: skip


@pytest.mark.slow
def test_a_start_that_excites_all_modes_converges_with_steps_that_resolve_them() -> None:
    """A start from rest sets the rod ringing: order 2 once the steps resolve that, not before."""
    machine = slider_crank(SLIDER_CRANK, 2)
    errors = []
    for step in (1e-4, 2e-5, 1e-5):
        rest = (np.zeros(6), np.zeros(6))
        out = modal.integrate(
            machine, (0.0, 1e-3), rest, nonlinear=True, step=step, probes="all", every=1000
        )
        errors.append(np.linalg.norm(out.displacement.values[-1] - FROM_REST))
    assert errors[0] < 0.06 * np.linalg.norm(FROM_REST)
    assert 3.2 < errors[1] / errors[2] < 4.5


@pytest.mark.slow
def test_a_smooth_start_of_the_slider_crank_is_of_second_order() -> None:
    """From the equilibria of the motion, with their rate: nothing rings, and the energy defect
    falls with h² though the steps do not resolve the axial vibration (12,300 rad/s)."""
    machine, d = slider_crank(SLIDER_CRANK, 12), 1e-4
    before, now, after = (trim.q for trim in machine.trims([-d, 0.0, d]))
    start = (now, (after - before) / (2.0 * d))
    coarse, fine = (
        abs(float(
            modal.integrate(
                machine, (0.0, 4e-3), start, nonlinear=True, step=h, every=1000
            ).energy_defect[-1]
        ))
        for h in (4e-4, 2e-4)
    )  # fmt: skip
    assert 3.5 < coarse / fine < 4.5


@pytest.mark.slow
def test_modes_along_a_transient() -> None:
    """A pendulum at the angle x swings about it with ω² = (m g L cos x)/J."""
    machine = pendulum()
    response = modal.integrate(
        machine, (0.0, 0.1), ([0.8], [0.0]), nonlinear=True, step=0.05, probes="all"
    )
    tracks = modal.track(machine, along=response, k=1)
    angle = response.displacement.values[:, 0]
    square = MASS * GRAVITY * LENGTH * np.cos(angle) / (INERTIA + MASS * LENGTH**2)
    assert tracks.eigenvalue.values[:, 0].imag ** 2 == pytest.approx(square, rel=1e-6)
    part = response.isel(probe=[0]).assign_attrs(loads="(Harmonic,)")
    with pytest.raises(assembly.InputError, match="without loads"):
        modal.track(machine, along=part, k=1)
    with pytest.raises(assembly.ConvergenceError, match="outside the transient"):
        modal.track(machine, times=[0.05, 0.2], along=response, k=1)


def test_what_it_does_not_take_is_one_line() -> None:
    machine = pendulum(10.0)
    bar = assembly.beam(1.0, assembly.circle(0.1), assembly.steel, 2, clamped="start")
    with pytest.raises(
        assembly.InputError, match="nonlinear: expected a Mechanism or a moving body"
    ):
        modal.integrate(bar.freeze(), (0.0, 1.0), nonlinear=True)
    with pytest.raises(assembly.InputError, match="formalism must be"):
        modal.integrate(machine, (0.0, 1.0), formalism="hamilton", nonlinear=True)
    with pytest.raises(assembly.InputError, match="leave InertiaLoads out"):
        modal.integrate(machine, (0.0, 1.0), loads=[modal.InertiaLoads()], nonlinear=True)
    with pytest.raises(assembly.ConvergenceError, match="shorter step"):
        modal.integrate(machine, (0.0, 9.0), ([0.0], [500.0]), nonlinear=True, step=0.5)


@pytest.mark.parametrize("b", [1e-3, 1e-2])
def test_damping_that_turns_with_the_links(b: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method diverges with the damping of links that have not turned: a matrix that does
    not serve where it was formed is followed by an exact one, not by shorter steps."""
    section = assembly.rectangle(0.02, 0.002)
    links = {
        name: assembly.beam(length, section, assembly.steel, 4, planar=True).with_damping(b=b)
        for name, length in (("upper", 0.5), ("lower", 0.4))
    }
    arm = assembly.Mechanism(
        links,
        [
            assembly.revolute("ground", (0, 0), "upper", "start", name="hub"),
            assembly.revolute("upper", "end", "lower", "start", name="elbow"),
        ],
        [assembly.driver("hub", 60.0), assembly.driver("elbow", 30.0, stiffness=5.0)],
        gravity=(0, -9.81, 0),
    )
    states, displaced = [], arm.displaced

    def counted(*arguments: Any, **near: Any) -> Any:
        states.append(1)
        assert len(states) < 100
        return displaced(*arguments, **near)

    monkeypatch.setattr(arm, "displaced", counted)
    rest = np.zeros(len(arm.elastic(None).masters))
    found = modal.integrate(arm, (0.0, 5e-4), (rest, rest), step=1e-4, nonlinear=True)
    assert np.isfinite(found.displacement.values).all()


def test_no_step_is_divided_where_stiff_modes_change_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """A straight deflection of 5 % stretches the beam, which then rings along its axis, faster than
    the steps: where a step is predicted to end must not enlarge what changes sign at every step."""
    beam = assembly.beam(
        1.0, assembly.rectangle(0.01, 0.003), assembly.steel, 4, clamped="start", planar=True
    )
    moving = assembly.moving(beam, assembly.ramp(10.0, 50.0))
    system = moving.freeze(0.0)
    q = 10.0 * np.linalg.solve(system.stiffness.toarray(), system.Q)
    step, steps = 0.02 * np.pi / modal.solve(system, k=1).eigenvalues[0].imag, []
    attempt = NonlinearAlpha._steps

    def counted(self: NonlinearAlpha, t: float, h: float, count: int, state: State) -> Any:
        found = attempt(self, t, h, count, state)
        steps.extend([h] * len(found))
        return found

    monkeypatch.setattr(NonlinearAlpha, "_steps", counted)
    modal.integrate(moving, (0.0, 20 * step), (q, 0.0 * q), step=step, nonlinear=True)
    assert steps == pytest.approx([step] * 20)
