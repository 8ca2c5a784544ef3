"""The examples in the docstrings of the public names run and print what they say."""

from __future__ import annotations

import doctest

import pytest

import modal

FINDER = doctest.DocTestFinder(recurse=False)
EXAMPLES = {
    name: tests[0]
    for name in modal.__all__
    if (tests := FINDER.find(getattr(modal, name), name, globs={}))
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    results = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(EXAMPLES[name])
    assert results.failed == 0


def test_what_users_call_first_has_an_example() -> None:
    assert {"solve", "stability", "Box", "write_dataset"} <= {
        name for name, test in EXAMPLES.items() if test.examples
    }
