"""The examples in the docstrings of the public names of `modal` run and give what they print."""

from __future__ import annotations

import doctest

import pytest

import modal
from tests.support.cases import with_slow

FINDER = doctest.DocTestFinder(recurse=False)
CASES = {
    name: case
    for name in modal.__all__
    for case in FINDER.find(getattr(modal, name), name, globs={})
    if case.examples
}
SLOW = ("crosscheck_amplitudes", "rotor_verdict")


@pytest.mark.parametrize("name", with_slow(sorted(CASES), SLOW))
def test_example_gives_what_it_prints(name: str) -> None:
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(CASES[name], out=failures.append)
    assert not failures, "".join(failures)
