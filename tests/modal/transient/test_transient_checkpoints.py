"""Checkpoints of transients: which run they belong to, damage, and resumes bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assembly.errors import StorageError
from assembly.system.frozen import FrozenSystem
from modal.data.checkpoint import load
from modal.transient.base_motion import base_motion
from modal.transient.loads import Tabulated
from modal.transient.records import RunCheckpoint
from modal.transient.transient import integrate
from studies import slider_crank


class Springs:
    """Two masses; the one spring breathes."""

    def __init__(self, stiffness: float = 4.0, breath: float = 0.1) -> None:
        self.stiffness, self.breath = stiffness, breath

    def freeze(self, t: float) -> FrozenSystem:
        K = np.array([[self.stiffness * (1.0 + self.breath * np.sin(3.0 * t)), -1.0], [-1.0, 2.0]])
        return FrozenSystem(M=np.eye(2), K=K)


RECORD = np.sin(np.linspace(0.0, 30.0, 1000))
RUN: dict[str, Any] = dict(
    model=Springs(),
    t_span=(0.0, 1.0),
    initial=(np.array([1.0, 0.0]), np.zeros(2)),
    step=0.1,
    loads=(
        Tabulated(0, np.linspace(0.0, 1.0, 1000), RECORD),
        base_motion(Springs().freeze(0.0), lambda t: t * (1.0 - t), [1.0, 0.0]),
    ),
)
CHANGED = RECORD + np.where(np.arange(1000) == 500, 1e-6, 0.0)
FOREIGN: dict[str, dict[str, Any]] = {
    "model": dict(model=Springs(4.001)),
    "motion": dict(model=Springs(4.0, 0.101)),
    "initial": dict(initial=(np.array([1.0, 1e-9]), np.zeros(2))),
    "rest": dict(initial=None),
    "record": dict(loads=(Tabulated(0, np.linspace(0.0, 1.0, 1000), CHANGED), RUN["loads"][1])),
    "place": dict(loads=(Tabulated(1, np.linspace(0.0, 1.0, 1000), RECORD), RUN["loads"][1])),
    "function": dict(
        loads=(
            RUN["loads"][0],
            base_motion(Springs().freeze(0.0), lambda t: t * (1.5 - t), [1.0, 0.0]),
        )
    ),
    "step": dict(step=0.05),
    "method": dict(formalism="hamilton"),
}


@pytest.mark.parametrize("change", FOREIGN)
def test_a_checkpoint_of_another_run_is_refused(change: str, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    whole = integrate(**RUN, checkpoint=file)
    again = integrate(**RUN, checkpoint=file, resume=True)
    np.testing.assert_array_equal(whole.displacement, again.displacement)
    with pytest.raises(StorageError, match="checkpoint"):
        integrate(**(RUN | FOREIGN[change]), checkpoint=file, resume=True)


def test_a_checkpoint_of_a_callable_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"

    def run(rate: float, **more: Any) -> Any:
        def A(t: float) -> Any:
            return np.array([[0.0, 1.0], [-rate - 0.1 * np.cos(t), 0.0]])

        return integrate(A, (0.0, 1.0), np.array([1.0, 0.0]), step=0.1, checkpoint=file, **more)

    whole = run(4.0)
    np.testing.assert_array_equal(whole.displacement, run(4.0, resume=True).displacement)
    with pytest.raises(StorageError, match="another model"):
        run(4.001, resume=True)


def test_a_record_of_the_base_has_the_same_name_in_every_process() -> None:
    """`hash` is salted. The times count too."""
    values = [0.0, 1.0, 0.0]
    first, second = (
        str(base_motion(Springs().freeze(0.0), ([0.0, 1.0, end], values), [1.0, 0.0]))
        for end in (2.0, 3.0)
    )
    assert first == "BaseMotion(record of 3 values, checksum 3f7c66009485, direction=[1.0, 0.0])"
    assert first != second


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    """Single bits changed and cuts at seeded places: one line, whatever numpy would say."""
    file = tmp_path / "run.npz"
    integrate(**RUN, checkpoint=file)
    whole, rng = file.read_bytes(), np.random.default_rng(4)
    for place in rng.integers(len(whole), size=40).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        for content in (bytes(damaged), whole[:place]):
            file.write_bytes(content)
            with pytest.raises(StorageError, match="damaged"):
                load(file, {})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["energy-momentum", "generalized-alpha"])
def test_a_nonlinear_run_is_resumed_bit_by_bit(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The matrix of Newton's method and the positions of the joints are those of the run."""

    def run(**more: Any) -> Any:
        crank = slider_crank.model(crank=0.15, rod=0.3, speed_rpm=1500, elements=2)
        return integrate(
            crank, (0.0, 1e-3), step=2e-5, nonlinear=True, method=method, probes="all", **more
        )

    whole, file, save = run(), tmp_path / "run.npz", RunCheckpoint.save
    saved = []

    def stopping(self: RunCheckpoint, *arguments: Any) -> None:
        save(self, *arguments)
        saved.append(file)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunCheckpoint, "save", stopping)
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=file, checkpoint_interval=0.0)
    monkeypatch.undo()
    resumed = run(checkpoint=file, resume=True)
    for name in ("displacement", "velocity", "energy", "energy_defect"):
        np.testing.assert_array_equal(whole[name], resumed[name])
