"""Wrong calls of every public function: valid calls with one argument replaced.

The valid calls are those of the docstrings' examples and of `MORE`. Every argument of each is
replaced by every value of `WRONG`, of which some are right for it.

    python -m tests.support.wrong_calls [SEED COUNT]    # counts the outcomes, all or a draw

An outcome is "accepted", "refused" (an error of the suite), "slow", or the exception of Python or
another library that ended the call.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import inspect
import io
import os
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import assembly
import modal
from assembly.errors import FrozenMotionError
from tests.support.signatures import public

SECONDS = 2.0  # for one call

WRONG: dict[str, Any] = {
    "None": None,
    "text": "x",
    "bytes": b"x",
    "nan": float("nan"),
    "inf": float("inf"),
    "minus": -1,
    "zero": 0,
    "half": 0.5,
    "huge": 10**30,
    "complex": 1j,
    "empty": [],
    "mapping": {},
    "object": object(),
    "mixed": [1.0, "a"],
    "ragged": [[1.0, 2.0], [3.0]],
    "cube": np.zeros((2, 3, 4)),
    "nans": np.full(3, np.nan),
    "words": np.array(["a", "b", "c"]),
    "function": lambda *args: None,
    "class": int,
}

MORE = """
>>> steel, section = assembly.steel, assembly.rectangle(0.05, 0.02)
>>> round_sections = assembly.circle(0.02), assembly.tube(0.03, 0.02)
>>> axis = assembly.unit_axis((0, 0, 1), "axis")
>>> assembly.i_profile(0.1, 0.05, 0.006, 0.008)
>>> beam = assembly.beam(1.0, section, steel, 3, clamped="start")
>>> mass = assembly.attach_mass(beam, "end", 1.0)
>>> damper = assembly.attach_damper(beam, "end", 2.0)
>>> bar = assembly.bar(1.0, section, steel, 3, clamped="start")
>>> ring = assembly.ring(0.5, section, steel, 6)
>>> crank = assembly.rigid_body(0.5, 1e-3, planar=True)
>>> free = assembly.rigid_body(5.0, np.diag([1.0, 2.0, 2.8]))
>>> for joint in (assembly.revolute, assembly.fixed, assembly.spherical):
...     made = joint("ground", (0, 0, 0), "crank", (0, 0, 0), name="A")
>>> for joint in (assembly.prismatic, assembly.cylindrical):
...     made = joint("ground", (0, 0, 0), "crank", (0, 0, 0), axis=(1, 0, 0), name="A")
>>> mount = assembly.bushing("ground", (0, 0), "crank", (0, 0), stiffness=(1e4, 1e4, 0), name="m")
>>> motions = assembly.ramp(10.0, 1.0, (0, 0, 1)), assembly.swing(0.1, 2.0, (0, 0, 1))
>>> turning = assembly.moving(beam, assembly.spin(10.0, (0, 0, 1)))
>>> system = beam.freeze(omega=(0, 0, 10.0))
>>> files = modal.write_matrices("k.mtx", system)
>>> places = modal.placed_bodies(turning, {"time": 0.0}, np.zeros((system.n, 1)))
"""


class Slow(BaseException):
    """A call took more than SECONDS."""


@dataclass(frozen=True)
class Call:
    """A valid call of a public function or class."""

    name: str
    thing: Any
    arguments: dict[str, Any]

    def outcome(self, argument: str, value: Any) -> str:
        """What the call says with one argument replaced."""
        signature = inspect.signature(self.thing)
        bound = signature.bind_partial()
        bound.arguments = self.arguments | {argument: value}
        kind = signature.parameters[argument].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[argument] = (value,)
        if kind is inspect.Parameter.VAR_KEYWORD:
            first = next(iter(self.arguments[argument]), "x")
            bound.arguments[argument] = self.arguments[argument] | {first: value}
        try:
            with _limited(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                self.thing(*bound.args, **bound.kwargs)
        except FrozenMotionError:
            return "refused"
        except Slow:
            return "slow"
        except Exception as fault:
            return f"{type(fault).__name__}: {fault}"
        return "accepted"


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def valid_calls(examples: bool = True) -> list[Call]:
    """Those of the examples and of MORE, or of MORE alone, one of each set of arguments; made in
    the present folder."""
    found: dict[tuple[str, frozenset[str]], Call] = {}
    originals = public()

    def recorder(name: str, thing: Any) -> Any:
        signature = inspect.signature(thing)

        @functools.wraps(thing, updated=())
        def recorded(*args: Any, **kwargs: Any) -> Any:
            result = thing(*args, **kwargs)
            arguments = dict(signature.bind(*args, **kwargs).arguments)
            found.setdefault((name, frozenset(arguments)), Call(name, thing, arguments))
            return result

        return recorded

    functions = {n: t for n, t in originals.items() if inspect.isfunction(t)}
    texts = [inspect.getdoc(t) or "" for t in originals.values() if examples] + [MORE]
    packages = {"assembly": assembly, "modal": modal}
    try:
        for name, thing in functions.items():
            setattr(packages[name.split(".")[0]], name.split(".")[1], recorder(name, thing))
        for text in texts:
            names = {"assembly": assembly, "modal": modal, "np": np}
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                for example in doctest.DocTestParser().get_examples(text):
                    if doctest.SKIP not in example.options:
                        with contextlib.suppress(() if text is MORE else FrozenMotionError):
                            exec(compile(example.source, "example", "single"), names)
    finally:
        for name, thing in functions.items():
            setattr(packages[name.split(".")[0]], name.split(".")[1], thing)
    return list(found.values())


def wrong_calls(calls: list[Call]) -> list[tuple[Call, str, str]]:
    """Call, argument, and name of the wrong value, of all of them."""
    return [(call, a, wrong) for call in calls for a in call.arguments for wrong in WRONG]


def outcomes(
    seed: int = 0, count: int | None = None, examples: bool = True
) -> list[tuple[str, str]]:
    """What was called and what it said, of a seeded draw or of all; in a folder of its own."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            every = wrong_calls(valid_calls(examples))
            order = np.random.default_rng(seed).permutation(len(every))
            chosen = [every[i] for i in (order if count is None else order[:count])]
            return [
                (f"{call.name}({a}={wrong})", call.outcome(a, WRONG[wrong]))
                for call, a, wrong in chosen
            ]
        finally:
            os.chdir(here)


def foreign(said: list[tuple[str, str]]) -> list[str]:
    """The calls that ended with an exception of Python or another library."""
    return [f"{c}: {o}" for c, o in said if o not in ("accepted", "refused", "slow")]


if __name__ == "__main__":
    SAID = outcomes(*map(int, sys.argv[1:]))
    print(*foreign(SAID), sep="\n")
    print(Counter(o if o in ("accepted", "refused", "slow") else "foreign" for _, o in SAID))
