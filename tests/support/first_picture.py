"""The first picture of the README, and its caption, from a run of the slider-crank study.

    frozen-motion run slider-crank --set chart_points=53
    python -m tests.support.first_picture outputs/slider-crank
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import modal
from studies.slider_crank.comparison import first_look
from tests.support.paths import ROOT

IMAGES = ROOT / "docs" / "images"
PICTURE = re.compile(r"!\[[^]]*\]\(docs/images/first-look\.png\)\n\n\*([^*]+)\*\n")


def caption() -> str:
    """Computed from the data that the picture shows."""
    return first_look(*(modal.read_dataset(IMAGES / f"first-look-{n}.nc") for n in FILES))


FILES = ("chart", "growth")


def main(folder: Path) -> None:
    for name in FILES:
        shutil.copy(folder / f"{name}.nc", IMAGES / f"first-look-{name}.nc")
    shutil.copy(folder / "growth.png", IMAGES / "first-look.png")
    page = ROOT / "README.md"
    text = page.read_text("utf-8")
    old = PICTURE.search(text)
    assert old is not None
    page.write_text(text[: old.start(1)] + caption() + text[old.end(1) :], "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
