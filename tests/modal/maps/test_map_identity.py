"""A stored map or chart accepts its own model only, wherever and however small the difference."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import xarray as xr

import assembly
from assembly.errors import StorageError
from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem
from modal.maps.stability_maps import stability_map
from modal.periodic.hill import hill_chart
from tests.support.affine_families import Planar, Remade
from tests.support.floquet_cases import mathieu

AXES = dict(omega=np.linspace(0.1, 2.3, 23), epsilon=np.linspace(-0.3, 0.3, 23))
INSIDE = (float(AXES["omega"][7]), float(AXES["epsilon"][16]))
n4 = np.arange(1.0, 9.0) ** 4
STIFFNESS = np.column_stack([n4, 1.44 * n4])


class Changed(Planar):
    """Planar with its matrices changed by functions of the parameters."""

    def __init__(self, change: Callable[..., dict[str, Any]], damping: float = 0.02) -> None:
        super().__init__(STIFFNESS, damping=damping)
        self.change = change

    def freeze(self, omega: float = 0.0, epsilon: float = 0.0, **fixed: float) -> FrozenSystem:
        system = super().freeze(omega, epsilon)
        parts = system.parts | self.change(self, system.parts, omega, epsilon, **fixed)
        return FrozenSystem(**parts, parameters=system.parameters)


def same(model: Any, parts: Any, omega: float, epsilon: float, **fixed: float) -> dict[str, Any]:
    return {}


def at_one_point(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    """One point inside the grid, not a corner, has another coefficient."""
    return {"K": parts["K"].scaled(1.5)} if (omega, epsilon) == INSIDE else {}


def within(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    """Zero on the border of the grid, of another size inside."""
    bump = 1e-3 * np.sin(np.pi * (omega - 0.1) / 2.2) ** 2 * np.cos(np.pi * epsilon / 0.6) ** 2
    return {"K_epsilon": parts["K_epsilon"].scaled(1.0 + bump)}


def damping(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    return {"D": parts["D"].scaled(1.0 + 1e-6)}


def times_epsilon(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    return {"K_epsilon": parts["K_epsilon"].scaled(1.0 + 1e-6)}


def mass(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    """One entry of 16."""
    if not hasattr(model, "heavier"):
        model.heavier = model.M.copy()
        model.heavier[5, 5] *= 1.0 + 1e-6
    return {"M": Combination.of(model.n, (1.0,), (model.heavier,))}


def soft_spring(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    """1e-5 N/m on the softest of stiffnesses from 1 to 6,000 N/m."""
    if not hasattr(model, "sprung"):
        model.sprung = model.K.copy()
        model.sprung[0, 0] += 1e-5
    return {"K": Combination.of(model.n, (1.0,), (model.sprung,))}


def other_kind(model: Any, parts: Any, omega: float, epsilon: float) -> dict[str, Any]:
    """An operator that acts at one point only, where the basis has never seen it."""
    if (omega, epsilon) != INSIDE:
        return {}
    model.kept = getattr(model, "kept", None) or sp.csr_matrix(2.0 * model.K)
    return {"K": Combination.of(model.n, (1.0,), (model.kept,))}


OTHERS = (
    at_one_point, within, damping, times_epsilon, mass, soft_spring, other_kind,
)  # fmt: skip


Stored = tuple[Callable[[Any], Any], dict[str, Any], Path, xr.Dataset]


@pytest.fixture(scope="module", params=[lambda model: model, Remade], ids=["affine", "made anew"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """How the model is wrapped, the options of its map, its store and the map."""
    wrapped, store = request.param, tmp_path_factory.mktemp("first") / "map.zarr"
    if wrapped is Remade:  # every point is solved by itself: fewer of them
        axes = {name: values[1::3] for name, values in AXES.items()}
    else:
        axes = AXES
    options = dict(k=4, progress=False, **axes)
    return wrapped, options, store, stability_map(wrapped(Changed(same)), store=store, **options)


@pytest.mark.parametrize("change", OTHERS)
def test_another_model_is_refused(
    change: Callable[..., Any], stored: Stored, tmp_path: Path
) -> None:
    wrapped, options, store, first = stored
    options = options | {"store": shutil.copytree(store, tmp_path / "map.zarr")}
    with pytest.raises(StorageError, match="another model") as fault:
        stability_map(wrapped(Changed(change)), resume=True, **options)
    assert "\n" not in str(fault.value)
    again = stability_map(wrapped(Changed(same)), resume=True, **options)
    xr.testing.assert_identical(again, first)


@pytest.mark.slow
def test_blades_on_another_hub_are_refused_where_the_last_point_is_at_rest(tmp_path: Path) -> None:
    """At rest the hub's radius does not act: a fingerprint of that point alone accepts 5 m."""
    axes = dict(omega=np.linspace(300.0, 0.0, 20), epsilon=np.linspace(-50.0, 0.0, 20))

    def run(offset: float, resume: bool) -> xr.Dataset:
        blade = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6, clamped="start", offset=offset
        )
        return stability_map(
            blade, k=3, axis=(0, 0, 1), store=tmp_path / "map.zarr", resume=resume, progress=False,
            **axes,
        )  # fmt: skip

    first = run(0.0, False)
    for resume in (True, False):
        with pytest.raises(StorageError, match="another model"):
            run(5.0, resume)
    xr.testing.assert_identical(run(0.0, True), first)


@pytest.mark.slow
def test_the_same_matrices_in_other_terms_are_refused(tmp_path: Path) -> None:
    """The stored basis has its operators by number: their order counts."""

    class Split(Planar):
        def __init__(self, order: tuple[int, int]) -> None:
            super().__init__(STIFFNESS, damping=0.02)
            half = sp.csr_matrix(sp.diags(np.arange(1.0, self.n + 1.0)))
            self.pieces, self.order = (half, sp.csr_matrix(self.K - half)), order

        def freeze(self, omega: float = 0.0, epsilon: float = 0.0) -> FrozenSystem:
            parts = dict(super().freeze(omega, epsilon).parts)
            pieces = [self.pieces[i] for i in self.order]
            parts["K"] = Combination.of(self.n, (1.0, 1.0), pieces)
            return FrozenSystem(**parts)

    options = dict(k=4, store=tmp_path / "map.zarr", progress=False, **AXES)
    stability_map(Split((0, 1)), **options)
    with pytest.raises(StorageError, match="another model"):
        stability_map(Split((1, 0)), resume=True, **options)


@pytest.mark.slow
def test_round_off_of_another_machine_is_no_other_model(tmp_path: Path) -> None:
    """Every entry of every matrix changed by up to 1e-13 of itself."""
    first, second = Changed(same), Changed(same)
    rng = np.random.default_rng(3)
    for A in (second.M, second.K, second.G):
        A.data *= 1.0 + 1e-13 * rng.uniform(-1.0, 1.0, len(A.data))
    for wrapped, name in ((lambda model: model, "affine"), (Remade, "anew")):
        options = dict(k=4, store=tmp_path / f"{name}.zarr", progress=False)
        options |= {key: values[::4] for key, values in AXES.items()}
        stability_map(wrapped(first), **options)
        stability_map(wrapped(second), resume=True, **options)


def test_other_parameters_and_constants_are_named(tmp_path: Path) -> None:
    options: dict[str, Any] = dict(k=4, store=tmp_path / "map.zarr", progress=False)
    values = np.linspace(0.1, 0.9, 7)
    stability_map(Changed(same), omega=values, epsilon=values, fixed={"unused": 1.0}, **options)
    options["resume"] = True
    with pytest.raises(StorageError, match="parameters is"):
        stability_map(Changed(same), epsilon=values, omega=values, fixed={"unused": 1.0}, **options)
    with pytest.raises(StorageError, match="fixed is"):
        stability_map(Changed(same), omega=values, epsilon=values, fixed={"unused": 2.0}, **options)
    values = values * (1.0 + 1e-15)
    with pytest.raises(StorageError, match="parameter values"):
        stability_map(Changed(same), omega=values, epsilon=values, fixed={"unused": 1.0}, **options)


def family(**changes: Any) -> Callable[..., Callable[[float], np.ndarray]]:
    """Mathieu's equation, or another, at the points and instants that a change names."""

    def at(a: float, q: float) -> Callable[[float], np.ndarray]:
        place, factor = changes.get("at", (a, q)), changes.get("factor", 1.0)
        c = changes.get("damping", 1e-3)
        k = factor if place == (a, q) else 1.0

        def A(t: float) -> np.ndarray:
            return np.array([[0.0, 1.0], [-(a - 2.0 * q * k * np.cos(2.0 * t)), -c]])

        return A

    return at


CHART = dict(a=np.linspace(0.3, 4.6, 6), q=np.array([0.2, 0.5, 0.9]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        dict(factor=1.0 + 1e-6), dict(damping=1e-3 + 1e-8),
        dict(factor=1.01, at=(float(CHART["a"][1]), 0.5)),
    ],
)  # fmt: skip
def test_a_chart_of_another_callable_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    options: dict[str, Any] = dict(store=tmp_path / "chart.zarr", progress=False, **CHART)
    first = hill_chart(family(), np.pi, **options)
    with pytest.raises(StorageError, match="another model"):
        hill_chart(family(**changes), np.pi, resume=True, **options)
    xr.testing.assert_identical(hill_chart(family(), np.pi, resume=True, **options), first)


@pytest.mark.slow
def test_a_chart_of_another_period_or_breaks_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = dict(store=tmp_path / "chart.zarr", progress=False, resume=True)
    hill_chart(mathieu, np.pi, **CHART, **options)
    with pytest.raises(StorageError, match="another model"):
        hill_chart(mathieu, 2.0 * np.pi, **CHART, **options)
    with pytest.raises(StorageError, match="breaks is"):
        hill_chart(mathieu, np.pi, breaks=[1.0], **CHART, **options)


@pytest.mark.slow
def test_a_chart_of_a_model_that_freezes_is_known_by_its_matrices(tmp_path: Path) -> None:
    class Pendulum:
        def __init__(self, a: float, q: float, c: float) -> None:
            self.a, self.q, self.c = a, q, c

        def freeze(self, t: float) -> FrozenSystem:
            k = self.a - 2.0 * self.q * np.cos(2.0 * t)
            return FrozenSystem(M=np.eye(1), D=np.array([[self.c]]), K=np.array([[k]]))

    options: dict[str, Any] = dict(store=tmp_path / "chart.zarr", progress=False, resume=True)
    first = hill_chart(lambda a, q: Pendulum(a, q, 1e-3), np.pi, **CHART, **options)
    with pytest.raises(StorageError, match="another model"):
        hill_chart(lambda a, q: Pendulum(a, q, 2e-3), np.pi, **CHART, **options)
    again = hill_chart(lambda a, q: Pendulum(a, q, 1e-3), np.pi, **CHART, **options)
    xr.testing.assert_identical(again, first)


@pytest.mark.slow
def test_a_damaged_chart_is_mended(tmp_path: Path) -> None:
    options: dict[str, Any] = dict(store=tmp_path / "chart.zarr", progress=False, resume=True)
    first = hill_chart(mathieu, np.pi, **CHART, **options)
    (tmp_path / "chart.zarr" / "growth_rate" / "c" / "2" / "0").unlink()
    xr.testing.assert_identical(hill_chart(mathieu, np.pi, **CHART, **options), first)
