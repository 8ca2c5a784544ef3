"""Wrong calls of the public functions end with an error of the suite: a seeded draw of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import assembly
import modal
from tests.support.wrong_calls import foreign, outcomes

ALLOWED = 0.01  # share of foreign exceptions


@pytest.mark.parametrize(
    ("count", "examples"), [(80, False), pytest.param(700, True, marks=pytest.mark.slow)]
)
def test_few_wrong_calls_end_with_foreign_exceptions(count: int, examples: bool) -> None:
    said = outcomes(seed=1, count=count, examples=examples)
    assert len(said) == count
    assert sum(outcome == "refused" for _, outcome in said) > 0.5 * count
    assert len(foreign(said)) < ALLOWED * count, "\n".join(foreign(said))


def test_a_fault_of_a_function_of_the_user_stays_what_it_is() -> None:
    """The arguments fit: the boundary does not call them wrong."""

    def faulty(t: float) -> np.ndarray:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        modal.floquet(faulty, 1.0)


def test_memory_that_runs_out_has_an_error_of_its_own() -> None:
    """A petabyte, from verbs of functions and from methods of models: size and advice."""

    def large(t: float) -> np.ndarray:
        return np.zeros((10**7, 10**7))

    for verb in (
        lambda: modal.floquet(large, 1.0),
        lambda: modal.integrate(large, (0.0, 1.0), np.ones(2)),
        lambda: modal.crosscheck(large, period=1.0),
        lambda: assembly.moving(BEAM, lambda t: large(t)).freeze(0.0),
        lambda: modal.hill_chart(lambda a, b: large, 1.0, a=[1.0, 2.0], b=[1.0, 2.0]),
    ):
        with pytest.raises(assembly.MemoryLimitError, match=r"out of memory: .*TiB.*; take fewer"):
            verb()


def test_methods_of_results_explain_wrong_calls_whatever_was_used_before() -> None:
    """The class of a body is no name that this process has used."""
    lines = [
        "import assembly",
        "section = assembly.rectangle(0.05, 0.02)",
        "beam = assembly.beam(1.0, section, assembly.steel, 2, clamped='start')",
        "try: beam.freeze_kinematics(3)",
        "except assembly.InputError as fault: print(fault)",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.stdout == "motion: expected a Kinematics, got 3\n", done.stderr


BEAM = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 2, clamped="start")
