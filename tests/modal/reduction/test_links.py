"""Mechanisms on reduced bases of their links, against the full mechanism.

The full mechanism's own frozen systems, solved by `modal.solve`, and its own time integration are
the independent route: they use none of the bases.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms import mechanism as mechanisms
from assembly.mechanisms.mechanism import MechanismSystem
from assembly.mechanisms.reduced_mechanism import ReducedMechanism, link_slaves
from modal.reduction.basis import ReducedBasis
from modal.reduction.error_bounds import ErrorBounds
from modal.reduction.full_order import _residuals as residuals
from modal.reduction.full_order import full_order_modes, random_shapes
from modal.reduction.link_space import LinkFamily, LinkPoints, LinkSpace, links_of
from modal.reduction.projection import combined, projections
from modal.reduction.space import CertifiedModes
from tests.support.full_mechanism import FullMechanism
from tests.support.link_errors import of_eigenvalues
from tests.support.link_machines import (
    COARSE,
    FINE,
    driven_arm,
    loaded_beam,
    planar_slider,
    strip,
)

SPEED = 157.0


@pytest.fixture(scope="module")
def machine() -> assembly.Mechanism:
    return solid_slider_crank((6, 1, 1))(SPEED)


def space_of(machine: assembly.Mechanism, k: int, tolerance: float) -> LinkSpace:
    system = machine.freeze(0.0)
    assert isinstance(system, MechanismSystem)
    return LinkSpace(LinkFamily(system), k, tolerance)


def starting_bases(machine: assembly.Mechanism) -> Mapping[str, ReducedBasis]:
    return space_of(machine, 6, 1e-8).parts


def test_a_basis_starts_from_as_many_free_modes_as_the_modes_wanted_need(
    machine: assembly.Mechanism,
) -> None:
    """Twelve for six modes of the mechanism, not as many whatever is asked for."""
    few, many = (space_of(machine, k, 1e-6).parts["rod"].size for k in (6, 12))
    assert many == few + 12


def test_links_take_more_free_modes_where_spinning_lifts_those_of_the_mechanism() -> None:
    """Two arms that spin so fast that their third modes are above their sixth free ones at rest:
    the bounds of the first bases are infinite."""
    arm = assembly.beam(1.0, assembly.rectangle(0.02, 0.005), assembly.steel, 80, planar=True)
    names = ("one", "other")
    arms = assembly.Mechanism(
        dict.fromkeys(names, arm),
        [assembly.revolute("ground", (0, 0), name, "start", name=name) for name in names],
        [assembly.driver(name, 6000.0) for name in names],
    )
    space, points = space_of(arms, 6, 1e-8), LinkPoints.of(arms, np.zeros(1))
    before, at_rest = space.solve(points), space.parts["one"].resolved
    assert np.isinf(before.bounds.error_bound).any()
    found = space.train(points)
    assert space.worst(found) <= 1.0
    lam, exact = found.modes.eigenvalues[0], modal.solve(arms.freeze(0.0), k=6).eigenvalues
    assert np.abs(exact).max() > at_rest
    np.testing.assert_allclose(lam, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())


def test_the_reduced_mechanism_is_a_galerkin_projection_of_the_full_one(
    machine: assembly.Mechanism,
) -> None:
    """WᵀXW of the full frozen system for every named matrix and the load, W constant."""
    bases, slaves = starting_bases(machine), link_slaves(machine)
    rod = links_of(machine)["rod"]
    reduced = ReducedMechanism(machine, {"rod": rod.reduced(bases["rod"], slaves["rod"])})
    full, small = machine.freeze_many([0.013])[0], reduced.freeze_many([0.013])[0]
    W = reduced.lift(np.eye(small.n))
    for name in ("M", "damping", "stiffness"):
        whole, own = getattr(full, name), getattr(small, name).toarray()
        size = np.sqrt(np.abs(np.outer(np.diag(own), np.diag(own)))) + 1e-9 * np.abs(own).max()
        assert np.abs(W.T @ (whole @ W) - own).max() <= 1e-7 * size.max(), name
    assert np.allclose(W.T @ full.Q, small.Q, rtol=1e-9, atol=1e-9 * np.abs(small.Q).max())


@pytest.mark.slow
def test_joints_that_give_are_verified_at_the_finest_accuracy() -> None:
    """The forces of springs act at the ties: the full-order check at 1e-8 accepts them."""
    assert of_eigenvalues(driven_arm(FINE), tolerance=1e-8).covered


def test_shared_products_are_those_of_every_operator_alone(machine: assembly.Mechanism) -> None:
    """LᵀA_jX and Σ A_jV x_j where M, G and S share one scalar matrix, against each product."""
    terms = starting_bases(machine)["rod"].family.terms
    rng = np.random.default_rng(2)
    n = terms[0].operator.shape[0]
    left, block = (rng.standard_normal((n, columns)) for columns in (3, 2))
    x = rng.standard_normal((len(terms), 2, 2))
    for transposed in (False, True):
        images = [term.apply(block, transposed) for term in terms]
        for (own,), image in zip(
            projections(terms, [left], block, transposed), images, strict=True
        ):
            assert np.allclose(own, left.T @ image, rtol=1e-12, atol=1e-12 * np.abs(image).max())
        total = sum(image @ part for image, part in zip(images, x, strict=True))
        found = combined(terms, block, x, transposed)
        assert np.allclose(found, total, rtol=1e-12, atol=1e-12 * np.abs(total).max())


def test_a_basis_that_is_not_grown_enough_says_so(machine: assembly.Mechanism) -> None:
    """The bound is not vacuous: with the starting basis it exceeds 1e-9, and so does the error."""
    space, at = space_of(machine, 9, 1e-9), LinkPoints.of(machine, np.array([0.013]))
    assert space.worst(space.solve(at)) > 1.0
    assert space.worst(space.train(at)) <= 1.0


def test_lowest_modes_do_not_repeat_the_rigid_fields(machine: assembly.Mechanism) -> None:
    """Six of the lowest modes of a free link are its rigid fields, up to the error of the modes."""
    start = starting_bases(machine)["rod"]
    basis = ReducedBasis(start.family, start.reference, start.sketches)
    assert basis.size == 6
    basis.include_lowest(30)
    assert basis.size == 30


def test_vectors_are_projected_alike_together_and_apart(machine: assembly.Mechanism) -> None:
    start = starting_bases(machine)["rod"]
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal((2, start.family.n, 3))
    bases = [ReducedBasis(start.family, start.reference, start.sketches) for _ in range(2)]
    for basis, wait in zip(bases, (True, False), strict=True):
        for block in (first, second):
            basis.include(block)
            assert wait or basis.on_vectors.size == basis.size
    one, other = (basis.on_vectors for basis in bases)
    for name in ("matrices", "images", "sizes", "overlap"):
        a, b = getattr(one, name), getattr(other, name)
        assert np.allclose(a, b, rtol=0.0, atol=1e-12 * np.abs(b).max())


def test_patterns_are_shared_by_the_same_bodies_only() -> None:
    one, other = solid_slider_crank((2, 1, 1)), solid_slider_crank((2, 1, 1))
    first, same, another = (
        make(v).elastic(None) for make, v in ((one, 50.0), (one, 70.0), (other, 50.0))
    )
    for reduction, shared in ((same, True), (another, False)):
        reduction.share(first)
        assert (reduction.pattern(True) is first.pattern(True)) == shared


def test_instants_of_several_mechanisms_are_solved_together() -> None:
    """As each mechanism alone; the bases grow from known modes of one instant of a batch."""
    make = solid_slider_crank((6, 1, 1))
    slow, fast = make(50.0), make(70.0)
    points = LinkPoints((slow, fast, slow, slow), np.array([0.0, 0.011, 0.03, 0.05]))
    space = space_of(slow, 6, 1e-8)
    # Of few modes, so that residuals are far above round-off.
    slaves = link_slaves(slow)
    links = space.family.links.items()
    space.parts = {name: link.basis(slaves[name], None, modes=4) for name, link in links}
    space.refresh()
    together = space.solve(points)
    for mechanism, index in ((slow, [0, 2, 3]), (fast, [1])):
        alone = space.solve(LinkPoints.of(mechanism, points.times[index]))
        apart = np.abs(together.modes.eigenvalues[index] - alone.modes.eigenvalues)
        assert apart.max() <= 1e-9 * np.abs(alone.modes.eigenvalues).max()
    i = np.array([2])
    at, bounds = points.take(i), ErrorBounds(*(x[i] for x in vars(together.bounds).values()))
    parts = together.instants.taken(i), together.modes.points(i), bounds, together.prescribed[i]
    chosen = CertifiedModes(*parts)
    alone = space.solve(at)
    first, second = (
        each.bounds.left * each.bounds.right / np.abs(each.instants.pairing(each.modes))
        for each in (chosen, alone)
    )  # whatever the scale of the vectors
    assert np.allclose(first, second, rtol=0.01)
    assert space.worst(chosen) > 1.0
    trained = space.train(at, chosen)
    assert space.worst(trained) <= 1.0
    moved = np.abs(trained.modes.eigenvalues - chosen.modes.eigenvalues)
    assert np.all(moved <= trained.bounds.error_bound + chosen.bounds.error_bound)


def test_freezing_a_large_mechanism_follows_its_motion_and_solves_nothing() -> None:
    """A time that the motion does not reach is refused by `freeze`, in the words of `state`."""
    arm = assembly.beam(0.5, assembly.rectangle(0.02, 0.01), assembly.steel, 80, planar=True)
    rod = assembly.beam(0.3, assembly.rectangle(0.02, 0.01), assembly.steel, 80, planar=True)
    machine = assembly.Mechanism(
        {"arm": arm, "rod": rod, "slider": assembly.rigid_body(0.2, 1e-4, planar=True)},
        [
            assembly.revolute("ground", (0, 0), "arm", "start", name="A"),
            assembly.revolute("arm", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", "origin", name="C"),
            assembly.prismatic("ground", (0, 0), "slider", "origin", axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 2.0)],
        initial={"rod": (0.5, 0, 0), "slider": (0.8, 0, 0)},
    )
    assert not machine.closure._cache
    machine.freeze(0.2)
    assert not machine.closure._cache
    with pytest.raises(assembly.SingularPositionError) as by_state:
        machine.state(0.5)  # sin(2 t) = 0.3/0.5 at t = 0.32 s
    with pytest.raises(assembly.SingularPositionError) as by_freeze:
        machine.freeze(0.5)
    assert str(by_freeze.value) == str(by_state.value)
    with pytest.raises(assembly.MechanismError, match="finite time"):
        machine.freeze(np.inf)


def test_full_order_verification_finds_the_modes_of_the_full_mechanism(
    machine: assembly.Mechanism,
) -> None:
    space, at = space_of(machine, 6, 1e-6), LinkPoints.of(machine, np.array([0.011]))
    random = {name: random_shapes(link) for name, link in space.parts.items()}
    found = full_order_modes(space.without_sketches(), at, 4, random)
    exact = modal.solve(machine.freeze_many([0.011])[0], k=4)
    apart = np.abs(found.eigenvalues - exact.eigenvalues)
    assert np.all(apart <= found.error_bound + exact.error_bound)


def test_round_off_of_large_joint_forces_is_no_difference_of_the_matrices() -> None:
    crank, rod = (strip(length, FINE).with_damping(b=1e-2) for length in (0.1, 0.3))
    heavily = planar_slider(rod, ("start", "end"), crank)
    space = space_of(heavily, 6, 1e-6)
    here = space.on(LinkPoints.of(heavily, np.array([0.011])))
    modes = space.lowest(here, 4)
    work = residuals(space, here, modes, transposed=False).work / here.pairing(modes)[0]
    assert np.abs(work / modes.eigenvalues[0]).max() < 1e-10


def test_large_mechanisms_form_their_matrices_when_used(machine: assembly.Mechanism) -> None:
    system = machine.freeze(0.01)
    assert isinstance(system, MechanismSystem)
    assert "parts" not in vars(system)
    assert system.M.shape == (system.n, system.n) == machine.freeze_many([0.01])[0].M.shape


def test_bases_do_not_depend_on_earlier_runs() -> None:
    """The same instant of links of which nothing was asked yet, and after a finer run."""
    make = solid_slider_crank((6, 1, 1))
    fresh, used = (make(speed) for speed in (SPEED, SPEED))
    at = np.array([0.013])
    alone = space_of(fresh, 3, 1e-6).solve(LinkPoints.of(fresh, at))
    space_of(used, 9, 1e-9).train(LinkPoints.of(used, at))
    again = space_of(used, 3, 1e-6).solve(LinkPoints.of(used, at))
    assert np.array_equal(again.modes.eigenvalues, alone.modes.eigenvalues)
    assert np.array_equal(again.bounds.error_bound, alone.bounds.error_bound)


@pytest.mark.slow
def test_a_track_does_not_depend_on_earlier_ones() -> None:
    wanted = dict(times=np.linspace(0.0, 0.013, 12), k=3, tolerance=1e-6)
    alone = modal.track(solid_slider_crank((6, 1, 1))(SPEED), **wanted)
    used = solid_slider_crank((6, 1, 1))(SPEED)
    modal.track(used, times=np.linspace(0.0, 0.04, 12), k=9, tolerance=1e-9)
    again = modal.track(used, **wanted)
    assert again.attrs["solver"] == alone.attrs["solver"]
    assert np.array_equal(again.eigenvalue, alone.eigenvalue)


@pytest.mark.slow
def test_a_transient_agrees_with_that_of_the_full_mechanism(machine: assembly.Mechanism) -> None:
    n = machine.freeze(0.0).n
    mode = modal.solve(machine.freeze_many([0.0])[0], k=1)
    q, v = mode.right[:, 0].real, (mode.eigenvalues[0] * mode.right[:, 0]).real
    span, step = (0.0, 4e-4), 2e-5
    on_links = modal.integrate(machine, span, (q, v), step=step)
    full = modal.integrate(FullMechanism(machine), span, (q, v), step=step)
    assert on_links.attrs["unknowns"] == n
    assert on_links.attrs["basis"].startswith("reduced bases of links")
    size = np.abs(full.displacement.values).max()
    assert list(on_links.probe.values) == list(full.probe.values)
    assert np.abs(on_links.displacement - full.displacement).max() <= 1e-4 * size


@pytest.mark.slow
def test_a_map_over_speed_and_position_agrees_with_full_solves() -> None:
    make = solid_slider_crank((6, 1, 1))

    class Turning:
        def freeze(self, speed: float, turn: float) -> assembly.FrozenSystem:
            mechanism = make(speed)
            assert mechanism.period is not None
            return mechanism.freeze(turn * mechanism.period)

    grid = modal.stability_map(
        Turning(), over={"speed": [60.0, 150.0], "turn": [0.1, 0.4, 0.8]}, k=3, progress=False
    )
    assert grid.attrs["solver"] == "reduced bases of links"
    mechanism = make(150.0)
    assert mechanism.period is not None
    system = mechanism.freeze_many([0.4 * mechanism.period])[0]
    exact = modal.solve(system, k=system.n, backend="dense").eigenvalues
    here = grid.sel(speed=150.0, turn=0.4)
    assert abs(float(here.growth_rate) - exact.real.max()) <= float(here.error_bound) + 1e-6


@pytest.mark.slow
def test_a_stored_map_of_other_links_is_refused(tmp_path: Path) -> None:
    """It is recognised by the links, without the matrices of the whole mechanism."""

    class Turning:
        def __init__(self, damping: float) -> None:
            self.made = solid_slider_crank((6, 1, 1), damping=(0.0, damping))(60.0)

        def freeze(self, t: float, transport: float) -> assembly.FrozenSystem:
            return self.made.freeze(t, bool(transport))

    store = tmp_path / "map.zarr"
    points = dict(over={"t": [0.01, 0.03], "transport": [1.0, 2.0]}, k=2, progress=False)
    first = modal.stability_map(Turning(1e-7), store=store, **points)
    again = modal.stability_map(Turning(1e-7), store=store, resume=True, **points)
    assert np.array_equal(first.error_bound, again.error_bound)
    with pytest.raises(assembly.StorageError, match="model"):
        modal.stability_map(Turning(1.0001e-7), store=store, resume=True, **points)


def test_a_load_that_follows_its_node_is_among_the_ties() -> None:
    basis = starting_bases(loaded_beam(FINE))["rod"]
    dofs = basis.family.dofs
    forced = np.abs(basis.ties).max(axis=1) > 0.0
    assert forced[dofs.index(35, 1)]
    assert forced[dofs.index(50, 5)]


@pytest.mark.parametrize("smallest", [40, 200], ids=["bases of links", "one basis"])
def test_overdamped_modes_are_solved_in_full(
    smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With D = bK, modes above 2/b accumulate at −1/b with the stiffest shapes of the mesh, which
    no basis has. Against LAPACK's eigenvalues of the whole state matrix."""
    monkeypatch.setattr(mechanisms, "LARGE_BODY", smallest)
    mechanism = planar_slider(strip(0.3, COARSE).with_damping(b=1.7e-4), ("start", "end"))
    times = np.linspace(0.0, 0.06, 8)
    tracks = modal.track(mechanism, times=times, k=5, progress=False).isel(time=4)
    series = mechanism.freeze_many(times[4:5])
    M, C, K = series.mass[0], series.damping[0], series.stiffness[0]
    exact = np.linalg.eigvals(np.block([[0.0 * M, np.eye(len(M))], [-la.solve(M, np.c_[K, C])]]))
    found = tracks.eigenvalue.values[:4]
    bound = (tracks.condition_number * tracks.backward_error).values[:4] * np.abs(found)
    there = np.isfinite(found)
    assert (found[there].imag == 0.0).sum() >= 2
    apart = np.abs(found[there, None] - exact).min(axis=1)
    assert np.all(apart <= bound[there] + 1e-9 * np.abs(found[there]))
