"""The architecture page and the contributing guide name what is there."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest
from PIL import Image

from tests.support.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import draw_rooms

PATH = re.compile(r"`((?:assembly|modal|studies|tests|tools|docs)/[\w/.]*)`")


def test_the_table_has_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert re.findall(r"^\| `([\w.]+)` \|", page, flags=re.MULTILINE) == list(draw_rooms.ROOMS)


def test_the_picture_shows_the_arrows_of_today() -> None:
    drawn = draw_rooms.reduced(set(draw_rooms.arrows()))
    with Image.open(draw_rooms.PICTURE) as picture:
        shown = picture.text[draw_rooms.KEY]
    assert shown == draw_rooms.description(drawn), "run: python tools/draw_rooms.py"


def test_reduced_arrows_lead_to_the_same_rooms() -> None:
    """A room reaches the same rooms with the arrows left out as with all of them."""
    pairs = set(draw_rooms.arrows())
    drawn = set(draw_rooms.reduced(pairs))

    def reached(links: set[tuple[str, str]]) -> dict[str, set[str]]:
        """The rooms below each room; ROOMS goes from the ground up."""
        below: dict[str, set[str]] = {}
        for room in draw_rooms.ROOMS:
            direct = {there for here, there in links if here == room}
            below[room] = direct.union(*(below[there] for there in direct))
        return below

    assert reached(drawn) == reached(pairs)
    for arrow in drawn:
        assert arrow[1] not in reached(drawn - {arrow})[arrow[0]]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "docs/architecture.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    for name in PATH.findall((ROOT / page).read_text("utf-8")):
        assert (ROOT / name).exists(), f"{page}: {name}"


def test_the_citation_is_of_this_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert "version" in project["dynamic"]  # that of the tag; the file cites the last release
    assert f"license: {project['license']}" in lines
    assert f"abstract: {project['description']}" in lines
    assert f"  - name: {project['authors'][0]['name']}" in lines
    assert [f"  - {word}" for word in project["keywords"]] == lines[-len(project["keywords"]) :]
