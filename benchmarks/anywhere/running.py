"""Draws run one by one, each in processes of its own, and written as JSON lines.

A draw is two child processes: the plain work first, then the public call. Both are forks of a
process that has imported everything and computed nothing; they share no state with other draws.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xarray as xr

import assembly
import modal
from benchmarks.anywhere.cases import CASES
from benchmarks.anywhere.checking import judged
from benchmarks.anywhere.report import GOALS
from benchmarks.anywhere.verbs import GENERATOR, draw
from benchmarks.anywhere.work import Draw

LONGER = 3.0  # times the limit: what a draw may take whose plain work is long itself
WALL = 15.0  # times the limit: wall time after which a child is stopped, whatever it does

PREPARING = 60.0  # s of processor time for drawing a model

Record = dict[str, Any]
Prepared = tuple[Draw, Callable[[], Record]]


def warm_up() -> None:
    """Import what public functions import at their first use.

    PETSc and SLEPc are there by the import of the references. xarray looks for dask when it makes
    its first dataset, and for pint at the first coordinate.
    """
    for package in (assembly, modal):
        for name in dir(package):
            getattr(package, name)
    xr.Dataset({"x": ("i", [0.0])}, {"i": [0.0]})


def in_process(seed: int, index: int, tiny: bool = False) -> Record:
    """A draw in this process, without limits: for tests and profilers."""
    drawn = draw(seed, index, tiny)
    answer = timed(drawn.call)
    plain = asdict(drawn.plain())
    answer |= dict(verb=drawn.verb, words=drawn.words, dofs=drawn.dofs, points=drawn.points)
    return record(seed, index, answer, {"stage": "done", **plain}, "")


def timed(work: Callable[[], dict[str, Any]]) -> Record:
    """Processor time of the call, s, its answer, or the refusal in its words."""
    start = time.process_time()
    try:
        answer = work()
    except assembly.FrozenMotionError as error:
        said = f"{type(error).__name__}: {error}"
        return dict(stage="refused", seconds=time.process_time() - start, error=said)
    return dict(stage="done", seconds=time.process_time() - start, answer=answer)


def run(seed: int | str, index: int | str, limit: float, memory: float, commit: str) -> Record:
    """A draw, or the case of a name, in two children; limit in s of processor time, memory in GiB.

    seed: of a case "case", and index its name.
    """
    plain = _child(lambda: _plain(seed, index), limit, memory)
    seconds = plain.get("seconds", 0.0)
    worst = GOALS[plain["verb"]][2] if "verb" in plain else 1.0
    allowed = min(max(limit, worst * seconds), LONGER * limit)
    call = _child(lambda: _call(seed, index), allowed, memory)
    return record(seed, index, call | {"limit": allowed}, plain, commit)


def _made(seed: int | str, index: int | str) -> Draw:
    return CASES[str(index)][0]() if seed == "case" else draw(int(seed), int(index))


def _plain(seed: int | str, index: int | str) -> Prepared:
    drawn = _made(seed, index)
    return drawn, lambda: dict(stage="done", **asdict(drawn.plain()))


def _call(seed: int | str, index: int | str) -> Prepared:
    drawn = _made(seed, index)
    return drawn, lambda: timed(drawn.call)


def _child(prepare: Callable[[], Prepared], limit: float, memory: float) -> Record:
    """What a child process says, with its peak memory; `stage` where it was stopped."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        said, head = Path(folder) / "said.json", Path(folder) / "head.json"
        pid = os.fork()
        if pid == 0:
            _work(prepare, memory, said, head)
        deadline = time.monotonic() + WALL * limit + 120.0
        known: Record = {}
        stopped, ended = False, 0
        try:
            while True:
                ended, status, usage = os.wait4(pid, os.WNOHANG)
                if not known and head.exists():
                    known = json.loads(head.read_text())
                if ended:
                    break
                # A timer of the process itself would make its processor clock as coarse as a tick.
                drawing = known["spent"] if known else PREPARING
                if _processor_time(pid) > drawing + limit or time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                    ended, status, usage = os.wait4(pid, 0)
                    stopped = True
                    break
                time.sleep(0.02)
        finally:
            if not ended:  # this process is being stopped
                os.kill(pid, signal.SIGKILL)
                os.wait4(pid, 0)
        out: Record = {"stage": "crashed", "error": f"exit status {status}"}
        if said.exists():
            out = json.loads(said.read_text())
        elif stopped:
            out = dict(stage="unfinished" if known else "invalid", seconds=limit, error="stopped")
        return known | out | {"peak": usage.ru_maxrss}


def _processor_time(pid: int) -> float:
    """Of a running child, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(prepare: Callable[[], Prepared], memory: float, said: Path, head: Path) -> None:
    """In the child: draw, then work within the limit. Never returns."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
        try:
            drawn, work = prepare()
            facts = dict(
                verb=drawn.verb, words=drawn.words, dofs=drawn.dofs, points=drawn.points,
                base=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, spent=time.process_time(),
            )  # fmt: skip
            part = head.with_suffix(".part")
            part.write_text(json.dumps(facts))
            part.rename(head)
        except Exception as error:
            said.write_text(json.dumps(dict(stage="invalid", error=_words(error))))
            os._exit(0)
        try:
            out = work()
        except MemoryError as error:
            out = dict(stage="memory", error=_words(error))
        except Exception as error:
            out = dict(stage="crashed", error=_words(error))
        said.write_text(json.dumps(out))
    finally:
        os._exit(0)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:400]


def record(seed: int | str, index: int | str, call: Record, plain: Record, commit: str) -> Record:
    """The line of a draw."""
    stage, reference = call["stage"], plain["stage"]
    out: Record = dict(seed=seed, index=index, generator=GENERATOR, commit=commit)
    out |= {key: call.get(key) for key in ("verb", "words", "dofs", "points", "limit")}
    out |= dict(status=stage, seconds=round(call.get("seconds", 0.0), 4), ratio=None)
    out |= dict(plain=None, measured=None, memory=_grown(call), plain_memory=_grown(plain))
    out |= dict(estimate=call.get("answer", {}).get("memory_estimate"), wrong="")
    out |= dict(error=call.get("error", ""))
    if reference == "done":
        out["plain"], out["measured"] = plain["seconds"], list(plain["measured"])
        out["ratio"] = out["seconds"] / max(plain["seconds"], 1e-9)
    elif reference == "invalid" or stage == "invalid":
        out |= dict(status="invalid", error=plain.get("error", "") or out["error"])
    else:
        out["error"] = f"{out['error']} plain: {plain['stage']} {plain.get('error', '')}".strip()
    if "undecided" in call.get("answer", {}):
        out["undecided"] = call["answer"]["undecided"]
    if stage == "done" and reference == "done":
        out["wrong"] = judged(call["verb"], call["answer"], plain["truth"])
        out["status"] = "wrong" if out["wrong"] else "done"
    return out


def _grown(child: Record) -> float | None:
    """Peak memory above that before the work, MiB."""
    if "peak" not in child or "base" not in child:
        return None
    return float(round((child["peak"] - child["base"]) / 1024.0, 1))
