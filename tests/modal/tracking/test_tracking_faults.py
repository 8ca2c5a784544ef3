"""What is finished is kept, whatever stops a sweep; what cannot be swept is said in one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from assembly import FrozenSystem
from assembly.errors import (
    AccuracyError,
    ConvergenceError,
    InputError,
    MotionError,
    SingularPositionError,
    SingularSystemError,
)
from modal.data.storage import read_dataset
from modal.tracking.following import Rules
from studies.cli.commands import run_app
from tests.support.model_files import BEAM, CRANK

M, K = np.eye(2), np.diag([1.0, 4.0])


def oscillators(s: float) -> FrozenSystem:
    return FrozenSystem(M=M, K=K + s * np.eye(2))


@dataclass(frozen=True)
class Model:
    make: Callable[[float], FrozenSystem]

    def freeze(self, s: float) -> FrozenSystem:
        return self.make(s)


def failing(fault: BaseException, beyond: float) -> Model:
    def freeze(s: float) -> FrozenSystem:
        if s > beyond:
            raise fault
        return oscillators(s)

    return Model(freeze)


@pytest.mark.parametrize("count", [6, 20])
@pytest.mark.parametrize(
    "fault",
    [
        ConvergenceError("stopped"),
        SingularSystemError("singular"),
        AccuracyError("inaccurate"),
        SingularPositionError("cannot be assembled"),
        MotionError("no marker"),
        ZeroDivisionError("division by zero"),
    ],
)
def test_any_fault_on_the_way_keeps_what_was_finished(fault: Exception, count: int) -> None:
    times = np.linspace(0.0, 1.0, count)
    whole = modal.track(Model(oscillators), times=times, k=2)
    with pytest.raises(ConvergenceError) as stopped:
        modal.track(failing(fault, 0.55), times=times, k=2)
    finished = int(np.sum(times <= 0.55))
    assert str(stopped.value).startswith(f"time = {times[finished]:.6g}: ")
    assert str(fault) in str(stopped.value)
    partial = stopped.value.partial
    assert partial.sizes["time"] == finished
    assert (partial.attrs["instants"], partial.attrs["instants_requested"]) == (finished, count)
    np.testing.assert_allclose(partial["eigenvalue"], whole["eigenvalue"][:finished], rtol=1e-12)


def test_the_reduced_basis_serves_the_instants_before_the_fault() -> None:
    """The basis is made for the values the model can be frozen at, not given up."""
    blade = assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.steel,
        elements=8,
        clamped="start",
    )

    class Limited:
        def freeze(self, omega: float) -> FrozenSystem:
            if omega > 250.0:
                raise MotionError(f"omega {omega:g} rad/s is beyond the record")
            return blade.freeze(omega=omega, axis=(0, 0, 1))

    omega = np.linspace(0.0, 400.0, 17)
    with pytest.raises(ConvergenceError, match="omega = 275: omega 275 rad/s is beyond") as stopped:
        modal.track(Limited(), omega=omega, k=3)
    partial = stopped.value.partial
    assert partial.attrs["solver"].startswith("reduced basis")
    np.testing.assert_array_equal(partial["omega"], omega[omega <= 250.0])


def test_the_first_instant_fails_as_it_is() -> None:
    with pytest.raises(SingularPositionError, match="assembled"):
        modal.track(failing(SingularPositionError("assembled"), -1.0), times=[0.0, 1.0], k=2)


def test_ctrl_c_before_the_first_instant() -> None:
    with pytest.raises(modal.TrackingInterrupted) as stopped:
        modal.track(failing(KeyboardInterrupt(), -1.0), times=np.linspace(0.0, 1.0, 20), k=2)
    assert stopped.value.partial is None


def test_extra_instants_go_round_one_that_cannot_be_solved() -> None:
    """Shapes that turn by 43° a step, and no modes to be had exactly half-way."""

    def freeze(s: float) -> FrozenSystem:
        if s in (0.375, 1.125):
            raise SingularSystemError("singular here")
        c, t = np.cos(s), np.sin(s)
        V = np.array([[c, -t], [t, c]])
        return FrozenSystem(M=M, K=V @ np.diag([(10.0 + s) ** 2, (14.0 - s) ** 2]) @ V.T)

    tracks = modal.track(Model(freeze), s=[0.0, 0.75, 1.5], k=2)
    assert int(tracks.attrs["extra_instants"]) > 0
    np.testing.assert_allclose(2 * np.pi * tracks["frequency"].values[:, 0], [10.0, 10.75, 11.5])


RECORDED = (
    BEAM
    + """
[motion]
kind = "sampled"
file = "record.csv"

[analysis]
modes = 2
"""
)


@pytest.mark.slow
def test_command_line_writes_what_was_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first five instants are solved, the sixth is not."""
    track = modal.track

    def stopped(model: object, **options: Any) -> xr.Dataset:
        finished = track(model, times=options["times"][:5], k=2, progress=False)
        raise ConvergenceError("at time = 0.125: no", finished)

    monkeypatch.setattr(modal, "track", stopped)
    path, out = tmp_path / "crank.toml", tmp_path / "out"
    path.write_text(CRANK)
    assert run_app(["track", str(path), "--times", "0:0.2:9", "--out", str(out)]) == 3
    error = capsys.readouterr().err
    assert error == "frozen-motion: at time = 0.125: no\n"
    partial = read_dataset(out / "tracks.nc")
    np.testing.assert_allclose(partial["time"], [0.0, 0.025, 0.05, 0.075, 0.1], atol=1e-12)
    assert np.all(np.isfinite(partial["frequency"]))


def test_an_end_that_cannot_be_frozen_is_found_before_the_first_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record of 0.1 s is asked for 0.2 s."""
    t = np.linspace(0.0, 0.1, 41)
    half = 5.0 * t  # turning about z at 10 rad/s
    record = np.column_stack([t, 0 * t, 0 * t, 0 * t, 0 * t, 0 * t, np.sin(half), np.cos(half)])
    header = "t,x,y,z,qx,qy,qz,qw"
    np.savetxt(tmp_path / "record.csv", record, delimiter=",", header=header, comments="")
    path, out = tmp_path / "recorded.toml", tmp_path / "out"
    path.write_text(RECORDED)
    assert run_app(["track", str(path), "--times", "0:0.2:9", "--out", str(out)]) == 2
    assert capsys.readouterr().err == (
        "frozen-motion: t = 0.2 s is outside of the record, which is from 0 to 0.1 s\n"
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(s=["a"]), "arrays found: none"),
        (dict(s=[0.0, 1.0], guard=-1), "guard"),
        (dict(s=[0.0, 1.0], guard=1.5), "guard"),
        (dict(s=[0.0, 1.0], k=True), "k: must be"),
        (dict(s=[0.0, 1.0], tolerance=0.0), "tolerance"),
        (dict(s=[0.0, 1.0], interval_change=np.inf), "interval_change"),
        (dict(s=[0.0, 1.0], rate=np.nan), "rate"),
        (dict(times=[0.0, 1.0], rate=1.0), "rate"),
        (dict(s=[0.0, 1.0], rules=dict(halvings=3)), "rules"),
        (dict(t=[0.0, 1.0]), "freeze cannot be called"),
        (dict(s=[0.0, 1.0], extra=3.0), "freeze cannot be called"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        modal.track(Model(oscillators), **arguments)
    assert "\n" not in str(caught.value)


def test_what_is_not_a_frozen_system_is_named() -> None:
    with pytest.raises(InputError, match="NoneType"):
        modal.track(Model(lambda s: None), s=[0.0, 1.0], k=1)  # type: ignore[arg-type, return-value]
    grows = Model(lambda s: oscillators(s) if s < 0.5 else FrozenSystem(M=np.eye(3), K=np.eye(3)))
    with pytest.raises(ConvergenceError, match="has 3 degrees of freedom at s = 1, 2 elsewhere"):
        modal.track(grows, s=[0.0, 1.0], k=1)


def test_a_body_that_stands_is_not_swept_over_time() -> None:
    blade = assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.05, 0.02),
        material=assembly.steel,
        elements=3,
        clamped="start",
    )
    with pytest.raises(InputError, match="takes omega, not a time"):
        modal.track(blade, times=[0.0, 1.0], k=2)


def test_a_parameter_of_rate_zero_is_steady() -> None:
    still = modal.track(Model(oscillators), s=[0.0, 1.0, 2.0], rate=0.0, k=2)
    assert still.attrs["rate"] == "none"
    assert np.all(np.isinf(still["frozen_interval"]))


@pytest.mark.parametrize("wrong", [dict(clear_mac=1.5), dict(edge=-0.1), dict(halvings=-1)])
def test_bad_rules_are_named(wrong: dict) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Rules(**wrong)
