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
from studies.registry import study
from studies.slider_crank.comparison import first_look
from tests.support.paths import ROOT

IMAGES = ROOT / "docs" / "images"
PICTURE = re.compile(r"!\[[^]]*\]\(docs/images/first-look\.png\)\n\n\*([^*]+)\*\n")


def caption() -> str:
    """Computed from the data that the picture shows, with the command that makes them."""
    chart, growth = (modal.read_dataset(IMAGES / f"first-look-{n}.nc") for n in FILES)
    points, default = chart.sizes["speed_rpm"], study("slider-crank").settings["chart_points"]
    made = f"`frozen-motion run slider-crank --set chart_points={points}`"
    return f"{first_look(chart, growth)} Made by {made}; {default} speeds are the default."


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
