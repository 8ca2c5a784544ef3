"""The list of mutants follows the source: `make mutants` takes minutes, this none."""

from __future__ import annotations

import pytest

from tests.support.paths import ROOT
from tools.mutants import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_has_its_tests(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text().count(mutant.pattern) == 1
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / path).read_text()
