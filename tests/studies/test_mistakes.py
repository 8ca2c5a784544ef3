"""The page of mistakes: each of them says what the page prints, in one line, and leaves no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mistakes import Bench, Section, sections

SECTIONS = sections()
LONGEST = 330  # characters of a line


def test_the_page_has_200_mistakes() -> None:
    typed = [(section.name, mistake.typed) for section in SECTIONS for mistake in section.mistakes]
    assert len(typed) == len(set(typed)) >= 200


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_each_says_what_the_page_prints(section: Section, tmp_path: Path) -> None:
    """One line that says what, where, and what would be right. Python's own errors are those of a
    call with the wrong arguments."""
    bench = Bench(section, tmp_path)
    wrong = []
    for mistake in section.mistakes:
        kind, line = bench.make(mistake)
        assert "\n" not in line and len(line) < LONGEST, line
        assert kind != "TypeError" or "argument" in line, line
        if not mistake.matches(kind, line):
            wrong.append(f"{mistake.typed}: {kind}: {line}")
    assert not wrong, "\n".join(wrong)
