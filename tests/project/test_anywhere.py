"""The generator of random work runs, and its checks agree (benchmarks/anywhere)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from benchmarks.anywhere.checking import judged
from benchmarks.anywhere.picture import distribution_picture, draw
from benchmarks.anywhere.report import BEGIN_CASES, END_CASES, GOALS, put_into, read, score
from benchmarks.anywhere.verbs import draw as drawn
from tests.support.paths import ROOT


@pytest.mark.slow
def test_tiny_draws_are_measured_and_right() -> None:
    command = [sys.executable, "-m", "benchmarks.anywhere", "--here", "--seed", "2", "--count", "5"]
    command += ["--verbs", "solve", "stability_map", "frequency_response"]
    lines = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["2:0", "2:3", "2:4"]
    assert [line.split()[0] for line in lines] == ["solve", "stability_map", "frequency_response"]
    assert all(" s, done), " in line for line in lines), lines


def test_a_dataset_imports_no_more_after_the_warm_up() -> None:
    # dask, where it is installed, took twice as long as the work of a small frequency response.
    code = (
        "import sys, xarray as xr\n"
        "from benchmarks.anywhere.running import warm_up\n"
        "warm_up(); before = set(sys.modules)\n"
        "xr.Dataset({'x': ('i', [0.0])}, {'i': [0.0]})\n"
        "assert not set(sys.modules) - before, set(sys.modules) - before\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(("bound", "wrong"), [(2e-3, False), (5e-4, True), (0.0, True)])
def test_an_eigenvalue_is_wrong_beyond_its_stated_bound(bound: float, wrong: bool) -> None:
    answer = dict(eigenvalues=[[0.0, 1.001], [0.0, 3.0]], bounds=[bound, 0.0], k=2)
    truth = dict(
        eigenvalues=[[0.0, 1.0], [0.0, 3.0], [0.0, 9.0]], all=True, free=False, largest=9.0,
        frequency=1.0, confirmed=True, rounding=0.0,
    )  # fmt: skip
    assert bool(judged("solve", answer, truth)) == wrong


@pytest.mark.parametrize(("modes", "missing"), [([1.0, 2.0, 9.0], False), ([1.0, 9.0], True)])
def test_an_eigenvalue_is_missing_below_the_k_lowest(modes: list[float], missing: bool) -> None:
    """Of four modes the tracks hold the two lowest and one that was low elsewhere, or not."""
    pairs = [[0.0, float(w)] for w in (1.0, 2.0, 3.0, 9.0)]
    answer = dict(eigenvalues=[[0.0, w] for w in modes], k=2)
    truth = dict(
        eigenvalues=pairs,
        all=True,
        free=False,
        largest=9.0,
        frequency=1.0,
        confirmed=True,
        rounding=0.0,
    )
    assert ("missing" in judged("solve", answer, truth)) == missing


def test_the_picture_has_every_draw_at_its_ratio(tmp_path: Path) -> None:
    ratios = {"solve": [0.9, 1.1, 7.0], "track": [0.1, 0.3, 5.0]}
    status = ["done", "done", "unfinished"]
    lines = [
        json.dumps(dict(verb=verb, ratio=ratio, status=how, seconds=1.0))
        for verb, values in ratios.items()
        for ratio, how in zip(values, status, strict=True)
    ]
    lines += [json.dumps(dict(verb="floquet", ratio=None, status="refused", seconds=0.1)), "{cut"]
    (tmp_path / "run.jsonl").write_text("\n".join(lines), "utf-8")
    records = read(tmp_path / "run.jsonl")
    distribution_picture(records, tmp_path / "speed.png")
    assert 5_000 < (tmp_path / "speed.png").stat().st_size < 80_000
    ax = plt.subplots()[1]
    draw(ax, records, ["solve", "track"])
    places = [line.get_xydata() for line in ax.get_lines() if line.get_marker() in ("o", ">", "X")]
    marks = np.concatenate([np.asarray(p, dtype=float).reshape(-1, 2) for p in places])
    drawn = [sorted(marks[np.abs(marks[:, 1] - row) < 0.5, 0]) for row in (0, 1)]
    assert drawn == [sorted(values) for values in ratios.values()]
    assert score(records[0]) == 0.9 and set(ratios) < set(GOALS)
    plt.close("all")


def test_single_cases_go_into_a_page_beside_another_commit(tmp_path: Path) -> None:
    record = dict(
        seed="case", index="arm", verb="integrate", words="arm", dofs=117, ratio=0.5, memory=3.0,
        seconds=1.0, status="done", commit="new",
    )  # fmt: skip
    before = record | dict(seconds=15.0, status="unfinished", commit="old")
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN_CASES}\n{END_CASES}\nbelow\n", "utf-8")
    put_into(page, [record], [before])
    text = page.read_text("utf-8")
    assert text.startswith("above\n") and text.endswith("\nbelow\n")
    assert "Commit new, before: old:" in text
    assert "| `integrate`: arm | 117 | > 12 s | > 15 | 1 | 0.5 | 0.5 / 1 / 2 | 3 |" in text


@pytest.mark.slow
def test_a_damped_chain_whose_groups_are_wide() -> None:
    """Overdamped modes of e^−30,000 a period; 1,024 instants leave errors of 1e-7."""
    chain = drawn(2, 29)
    found, truth = chain.call(), chain.plain().truth
    assert abs(found["growth"] - truth["growth"]) <= truth["error"] + found["bound"]
    assert found["verdict"] == "stable" and found["bound"] <= 1e-6


@pytest.mark.slow
def test_a_chain_that_passes_beside_a_singular_position() -> None:
    """Its slow shapes change within a hundredth of the period: with parts of it that do not resolve
    them, the error of a growth of −0.0375 a period was 0.09."""
    found = drawn(1, 40).call()
    assert found["verdict"] == "stable" and found["bound"] <= 1e-3
