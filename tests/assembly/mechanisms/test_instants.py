"""Many instants of a mechanism in one batch: the same as one by one, and against differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from assembly.errors import InputError, MechanismError, SingularPositionError
from assembly.gallery import four_bar, solid_slider_crank
from assembly.mechanisms import mechanism
from assembly.mechanisms.joint_assembly import BodyStack, body_terms
from assembly.system.frozen import PARTS
from studies import slider_crank
from tests.support.spatial_mechanisms import rsur, two_drivers

Array = NDArray[np.float64]
SECTION = assembly.rectangle(0.02, 0.01)


def planar(length: float) -> assembly.Body:
    return assembly.beam(length, SECTION, assembly.steel, 2, planar=True)


def random_machine(seed: int) -> assembly.Mechanism:
    """A slider-crank with an offset, random lengths, damping, gravity and two applied forces."""
    rng = np.random.default_rng(seed)
    crank, rod, offset = rng.uniform(0.08, 0.12), rng.uniform(0.3, 0.4), rng.uniform(-0.05, 0.05)
    a, b = rng.uniform(0.1, 1.0), rng.uniform(1e-6, 1e-5)
    across = float(np.arcsin(offset / rod))
    slider = assembly.rigid_body(0.4, 1e-3, centre=(0.01, 0.0, 0.0), planar=True)
    return assembly.Mechanism(
        {
            "crank": planar(crank).with_damping(a, b),
            "rod": assembly.attach_damper(planar(rod), 1, 3.0)
            if seed % 2
            else planar(rod).with_damping(a, b),
            "slider": slider,
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, offset), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", float(rng.uniform(20.0, 90.0)), held=bool(seed % 3))],
        loads=[
            assembly.Load("rod", 1, lambda t: (30.0 * np.sin(50.0 * t), 10.0), follower=True),
            assembly.Load("slider", (0.02, 0.03), (5.0, -2.0)),
        ],
        initial={
            "rod": (crank, 0, across), "slider": (crank + rod * np.cos(across), offset, 0),
        },
        gravity=(0.0, -9.81, 0.0),
    )  # fmt: skip


MACHINES = {
    **{f"random {seed}": (lambda seed=seed: random_machine(seed)) for seed in range(4)},
    "skew axes": lambda: rsur(held=False),
    "two drivers": two_drivers,
    "four bars": lambda: four_bar(planar),
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> assembly.Mechanism:
    return MACHINES[request.param]()  # type: ignore[no-any-return, operator]


TIMES = np.array([0.013, -0.004, 0.0, 0.0301, 0.0077])


@pytest.mark.parametrize("transport", [True, False])
def test_a_batch_is_the_instants_one_by_one(machine: assembly.Mechanism, transport: bool) -> None:
    series = machine.freeze_many(TIMES, transport=transport)
    assert len(series) == len(TIMES)
    for i, t in enumerate(TIMES):
        one, other = series[i], machine.freeze(float(t), transport=transport)
        for name in PARTS:
            A, B = (system.parts[name].tocsr().toarray() for system in (one, other))
            assert_allclose(A, B, rtol=1e-12, atol=1e-13 * np.abs(B).max(initial=0.0))
            assert_allclose(series.dense(name)[i], A, rtol=0.0, atol=0.0)
            w = np.cos(np.arange(len(A)))
            assert_allclose(
                series.products(w, name)[i], A @ w, rtol=0.0, atol=1e-13 * np.abs(A).sum()
            )
        assert_allclose(one.Q, other.Q, rtol=1e-11, atol=1e-13 * np.abs(other.Q).max())
        assert_allclose(one.rigid, other.rigid, rtol=1e-11, atol=1e-13)
        assert one.parameters == {"t": t} == other.parameters
        assert one.dofs is other.dofs and one.frame == other.frame


def test_small_batches_are_one_large_one(
    machine: assembly.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = machine.freeze_many(TIMES)
    monkeypatch.setattr(mechanism, "ENTRIES", 4)
    parts = machine.freeze_many(TIMES)
    assert_allclose(parts.stiffness, whole.stiffness, rtol=1e-13, atol=1e-13 * 1e9)
    assert_allclose(parts.Q, whole.Q, rtol=1e-11, atol=1e-13 * np.abs(whole.Q).max())


def test_jets_of_all_instants_against_differences(machine: assembly.Mechanism) -> None:
    """Ṫ and T̈ of a batch by central differences of T (fourth order, step 1e-4 s)."""
    h = 1e-4
    times = TIMES[0] + h * np.arange(-2, 3)
    elastic = machine.elastic(None)
    T = elastic.transform(machine.instants(times)).data
    first = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    second = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * h * h)
    size = np.abs(T).max(axis=(1, 2, 3)) + 1.0
    assert_allclose(np.tensordot(first, T[0], 1), T[1, 2], atol=1e-6 * size[1])
    assert_allclose(np.tensordot(second, T[0], 1), T[2, 2], atol=1e-5 * size[2])


def test_reactions_of_all_instants_do_the_work_of_the_motion() -> None:
    """Power of the driver = rate of the kinetic energy of the rigid bodies (no other forces).

    The energy is ½ vᵀ M v of each body's own mass matrix, v its rigid velocity field.
    """
    machine = four_bar(planar)
    h = 1e-5
    times = 0.011 + h * np.arange(-2, 3)
    now = machine.instants(times)
    energy = np.zeros(len(times))
    for i, body in enumerate(machine.bodies.values()):
        fields, M = body.dofs.rigid_fields(), body.operators.M.tocsr()
        v = fields @ now.state.twist[:, i].T
        energy += 0.5 * (v * (M @ v)).sum(axis=0)
    power = energy @ np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    rate = machine.state(float(times[2])).twist[0, 5]
    row = int(np.flatnonzero(machine.closure.rows.driven)[0])
    assert_allclose(-now.multipliers[2, row] * rate, power, rtol=1e-6)


def test_one_bad_time_is_named() -> None:
    machine = slider_crank.model(elements=2)
    with pytest.raises(MechanismError, match="finite time in s, got nan"):
        machine.freeze_many([0.0, np.nan])
    with pytest.raises(InputError, match="times: expected a list of times"):
        machine.freeze_many([])
    stuck = assembly.Mechanism(
        {"a": planar(0.2), "b": planar(0.15), "c": assembly.rigid_body(0.1, planar=True)},
        [
            assembly.revolute("ground", (0, 0), "a", "start", name="A"),
            assembly.revolute("a", "end", "b", "start", name="B"),
            assembly.revolute("b", "end", "c", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "c", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 10.0)],
        initial={"b": (0.2, 0.0, 0.0), "c": (0.35, 0.0, 0.0)},
    )
    with pytest.raises(SingularPositionError):
        stuck.freeze_many([0.0, 0.05, 0.2])


def test_a_summed_series_has_the_same_sums(machine: assembly.Mechanism) -> None:
    series = machine.freeze_many(TIMES)
    summed = series.summed()
    assert set(summed.values) <= {"M", "C", "K"}
    for name in ("mass", "damping", "stiffness"):
        A, B = (getattr(one, name) for one in (series, summed))
        assert_allclose(B, A, atol=1e-13 * np.abs(A).max(initial=0.0))


def test_parts_are_held_on_their_own_patterns():
    """K couples all directions of a solid, M, G and the geometric matrices each with itself: the
    fixed matrices of a rod take what their entries take, not all the room of K."""
    rod = solid_slider_crank((6, 2, 2), "hex20")(1.0).topology.bodies["rod"]
    terms = body_terms(rod, np.eye(rod.size)[:, :2], True, tuple(range(12)))
    stack = BodyStack(rod, np.eye(rod.size)[:, :2], True, tuple(range(12)))
    entries = [term.matrix.tocsr().nnz for term in terms]
    assert sum(values.size for *_, values in stack._stacks) == sum(entries)
    assert len(entries) * len(stack.rows) > 3 * sum(entries)
