"""The way of each public verb through the files is no longer than it was."""

from __future__ import annotations

import sys

import pytest

from tests.support.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import draw_paths

# Files of `modal` that a call enters, and hops from file to file to the deepest of them.
LONGEST = {
    "solve": (6, 2),
    "stability": (4, 1),
    "track": (43, 4),
    "track (time)": (37, 5),
    "stability_map": (31, 4),
    "frequency_response": (7, 2),
    "integrate": (17, 2),
    "floquet": (12, 2),
}
VERBS = draw_paths.verbs()


def test_every_verb_has_a_limit() -> None:
    assert LONGEST.keys() == VERBS.keys()


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(verb, marks=pytest.mark.slow if verb in ("track (time)", "floquet") else ())
        for verb in LONGEST
    ],
)
def test_the_path_of_a_verb_is_not_longer(verb: str) -> None:
    route = draw_paths.route(VERBS[verb])
    assert route.files <= LONGEST[verb][0] and route.deepest <= LONGEST[verb][1], route.hops
