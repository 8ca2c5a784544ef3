"""A track that was interrupted and goes on equals an unbroken one; of another model it does not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from assembly.errors import InputError, StorageError
from assembly.gallery import solid_slider_crank
from modal.data.checkpoint import load
from modal.reduction.tolerances import TRAINING
from modal.tracking import sources, space_sources
from modal.tracking import store as track_store
from modal.tracking.tracks import Recorder
from studies import slider_crank
from tests.support.paths import ROOT
from tests.support.tracked_runs import CASES

CRANK = slider_crank.model(elements=20)
STOPS = {  # instants that are finished
    "reduced": (3, 101, 129),
    "smooth": (1, 50, 51),
    "full": (1, 12, 24),
    "links": (51,),
}


def equal(one: xr.Dataset, other: xr.Dataset) -> None:
    """Bit by bit, with all that the attributes say but the date."""
    assert list(one) == list(other)
    for name in one.variables:
        x, y = one[name].values, other[name].values
        assert x.dtype == y.dtype and x.shape == y.shape, name
        assert x.tobytes() == y.tobytes(), name
    attributes = [{k: v for k, v in d.attrs.items() if k != "date"} for d in (one, other)]
    assert attributes[0] == attributes[1]


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_store, "INTERVAL", 0.0)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, type[BaseException]], None]:
    """Makes the record of a run raise at an instant."""
    original = Recorder.add

    def at(count: int, fault: type[BaseException]) -> None:
        def add(self: Recorder, *given: Any) -> None:
            if self.count == count:
                monkeypatch.setattr(Recorder, "add", original)
                raise fault
            original(self, *given)

        monkeypatch.setattr(Recorder, "add", add)

    return at


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_goes_on_equals_an_unbroken_one(
    case: str, tmp_path: Path, stopping: Callable[..., None]
) -> None:
    whole = modal.track(**CASES[case])
    for count in STOPS[case]:
        store = tmp_path / str(count)
        stopping(count, KeyboardInterrupt)
        with pytest.raises(modal.TrackingInterrupted) as stopped:
            modal.track(**CASES[case], store=store)
        assert stopped.value.partial is not None
        assert next(iter(stopped.value.partial.sizes.values())) == count
        equal(modal.track(**CASES[case], store=store, resume=True), whole)
        equal(modal.track(**CASES[case], store=store, resume=True), whole)  # finished already


@pytest.mark.slow
def test_it_goes_on_across_a_growth_of_the_basis(
    tmp_path: Path, stopping: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Growths at each block of 24 values; stopped before, at and after them."""
    evenly, growths = sources.spread, []
    load = space_sources.ReducedSource._load

    def leading(count: int, wanted: int) -> np.ndarray:
        """The first values alone train the basis."""
        return evenly(count, wanted) if wanted == TRAINING else np.arange(min(count, wanted))

    def counted(self: space_sources.ReducedSource, number: int) -> None:
        before = self.growths
        load(self, number)
        growths.append(self.growths - before)

    for name, value in dict(TRAINING=2, SAMPLE=2, spread=leading).items():
        monkeypatch.setattr(sources, name, value)
    monkeypatch.setattr(sources.SpaceSource, "block", 24)
    monkeypatch.setattr(space_sources.ReducedSource, "_load", counted)
    blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 12, clamped="start")
    given = dict(
        model=blade, omega=np.linspace(0.0, 3000.0, 56), axis=(0, 0, 1), k=3, rate=10.0,
        tolerance=1e-10,
    )  # fmt: skip
    whole = modal.track(**given)
    assert growths == [1, 1, 1]
    modal.track(**given, store=tmp_path / "grown")
    assert not (tmp_path / "grown" / "basis-0.npz").exists()  # it has grown
    for count in (23, 24, 25, 36, 48, 49):
        stopping(count, KeyboardInterrupt)
        with pytest.raises(modal.TrackingInterrupted):
            modal.track(**given, store=tmp_path / str(count))
        equal(modal.track(**given, store=tmp_path / str(count), resume=True), whole)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["smooth", "links"])
def test_a_mechanism_goes_on_across_a_growth_of_its_basis(
    case: str, tmp_path: Path, stopping: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A basis of the first instants only grows at the second batch; stopped there and after it."""
    n = CRANK.freeze(0.0).n
    monkeypatch.setattr(space_sources, "ENTRIES", 70 * n**2)  # two blocks
    monkeypatch.setattr(sources, "spread", lambda count, wanted: np.arange(1))
    batch, tolerance = {"smooth": (35, 1e-5), "links": (50, 1e-7)}[case]
    times = np.concatenate([np.linspace(0.0, 1e-5, batch), np.linspace(0.01, 0.03, batch)])

    def given() -> dict[str, Any]:
        model = solid_slider_crank((6, 1, 1))(157.0) if case == "links" else CRANK
        return dict(model=model, times=times[: batch + 5], k=3, tolerance=tolerance)

    whole = modal.track(**given())
    modal.track(**given(), store=tmp_path / "grown")
    assert not (tmp_path / "grown" / "basis-0.npz").exists()  # it has grown
    for stop in (batch, batch + 1) if case == "smooth" else (batch + 1,):
        stopping(stop, KeyboardInterrupt)
        with pytest.raises(modal.TrackingInterrupted):
            modal.track(**given(), store=tmp_path / str(stop))
        equal(modal.track(**given(), store=tmp_path / str(stop), resume=True), whole)


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Three times kill -9, then a run to the end: the same dataset, nothing left behind."""
    store = tmp_path / "run"
    command = [sys.executable, "-m", "tests.support.tracked_runs", "full", str(store)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    rng = np.random.default_rng(3)
    for _ in range(3):
        process = subprocess.Popen(command, env=environment)
        deadline = time.monotonic() + 60.0
        known = finished(store)
        while finished(store) == known and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.01)))
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert 3 <= finished(store) <= 25
    equal(modal.track(**CASES["full"], store=store, resume=True), modal.track(**CASES["full"]))
    assert not list(tmp_path.rglob("*.partial"))


def finished(store: Path) -> int:
    try:
        return int(load(store / "state.npz", {})["state.count"])
    except StorageError:
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_another_run_is_refused_in_one_line(
    case: str, tmp_path: Path, stopping: Callable[..., None]
) -> None:
    store, given = tmp_path / "run", CASES[case]
    stopping(20, KeyboardInterrupt)
    with pytest.raises(modal.TrackingInterrupted):
        modal.track(**given, store=store)
    before = {p.name: p.read_bytes() for p in store.iterdir()}
    others: list[dict[str, Any]] = [{"k": 2}, {"guard": 5}, {"tolerance": 1e-6}]
    if case == "reduced":
        heavier = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.0200001), assembly.steel, 6, clamped="start"
        ).with_damping(a=3.0, b=1e-5)
        finer = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 7, clamped="start"
        )
        others += [{"model": heavier}, {"model": finer}, {"omega": np.linspace(0.0, 600.0, 131)}]
        others += [{"epsilon": 2001.0}, {"prestress": None}]
    elif case == "links":
        damped = solid_slider_crank((6, 1, 1), damping=(0.0, 1e-12))
        others += [{"model": damped(157.0)}, {"model": solid_slider_crank((6, 1, 1))(157.0001)}]
        others += [{"model": solid_slider_crank((6, 1, 1), "tet10")(157.0)}, {"transport": False}]
    else:
        others += [{"model": slider_crank.model(elements=2, rod=0.3001)}, {"transport": False}]
    for other in others:
        with pytest.raises(StorageError, match=r"run of another model|was made with") as refused:
            modal.track(**{**given, **other}, store=store, resume=True)
        assert "\n" not in str(refused.value) and str(store) in str(refused.value)
    assert {p.name: p.read_bytes() for p in store.iterdir()} == before


@pytest.mark.slow
def test_damaged_files_are_refused_in_one_line(
    tmp_path: Path, stopping: Callable[..., None]
) -> None:
    """Each file cut short, emptied, overwritten, one byte changed, removed, of another run.

    It is refused, or the damage is in what is not read and the result is right.
    """
    store, other, given = tmp_path / "run", tmp_path / "other", CASES["reduced"]
    for folder in (store, other):
        stopping(110, KeyboardInterrupt)
        with pytest.raises(modal.TrackingInterrupted):
            modal.track(**given, store=folder)
    whole = modal.track(**given)
    names = sorted(p.name for p in store.iterdir())
    chosen = [n for n in names if not n.startswith("rows")] + ["rows-0.npz", "rows-55.npz"]
    assert {"study.npz", "state.npz", "basis-0.npz", "rows-55.npz"} <= set(names)
    for name in chosen:
        content = (store / name).read_bytes()
        middle = len(content) // 2
        damages = [content[:middle], b"", b"nothing"]
        damages += [content[:middle] + bytes(9) + content[middle:]]
        damages += [content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]]
        if name != "study.npz":
            damages.append((other / name).read_bytes())
        for damage in damages:
            copy = tmp_path / "copy"
            shutil.copytree(store, copy)
            (copy / name).write_bytes(damage)
            try:  # a byte of the archive's own tables may be one that nothing reads
                equal(modal.track(**given, store=copy, resume=True), whole)
                assert len(damage) == len(content)
            except StorageError as fault:
                assert "\n" not in str(fault) and str(copy) in str(fault)
            shutil.rmtree(copy)
    (store / "rows-55.npz").unlink()
    with pytest.raises(StorageError, match="No such file"):
        modal.track(**given, store=store, resume=True)


def test_a_folder_of_something_else_stays(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for resume in (False, True):
        with pytest.raises(StorageError, match="not a tracking run"):
            modal.track(**CASES["reduced"], store=tmp_path, resume=resume)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    with pytest.raises(StorageError, match="not a tracking run"):
        modal.track(**CASES["reduced"], store=tmp_path / "thesis.txt")


@pytest.mark.slow
def test_without_resume_a_run_begins_again(tmp_path: Path, stopping: Callable[..., None]) -> None:
    stopping(60, KeyboardInterrupt)
    with pytest.raises(modal.TrackingInterrupted):
        modal.track(**CASES["reduced"], store=tmp_path / "run")
    other = {**CASES["reduced"], "k": 2}
    equal(modal.track(**other, store=tmp_path / "run"), modal.track(**other))
    equal(modal.track(**other, store=tmp_path / "run", resume=True), modal.track(**other))


@pytest.mark.slow
def test_a_run_of_another_format_is_refused(
    tmp_path: Path, stopping: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping(60, KeyboardInterrupt)
    with monkeypatch.context() as earlier, pytest.raises(modal.TrackingInterrupted):
        earlier.setattr(track_store, "FORMAT", 1)
        modal.track(**CASES["reduced"], store=tmp_path / "run")
    with pytest.raises(StorageError, match="was made with format = 1, not 2") as refused:
        modal.track(**CASES["reduced"], store=tmp_path / "run", resume=True)
    assert "\n" not in str(refused.value)


def test_two_processes_do_not_write_one_run(tmp_path: Path) -> None:
    held = track_store.TrackStore(tmp_path / "run", {})
    source = SimpleNamespace(
        prints=lambda: np.zeros((1, 2)), arrays=dict, kind="full", growths=0, description=""
    )
    held.create(cast(Any, source))
    with pytest.raises(StorageError, match="another process"):
        modal.track(**CASES["reduced"], store=tmp_path / "run")
    held.close()


def test_resume_needs_a_store() -> None:
    with pytest.raises(InputError, match="resume: give store"):
        modal.track(**CASES["reduced"], resume=True)
