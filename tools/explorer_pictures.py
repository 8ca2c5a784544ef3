"""Take the pictures of the manual's page on exploring: docs/images/explorer-*.png.

    python tools/explorer_pictures.py [FOLDER]

`make docs` takes them again for the manual that it builds. Needs a browser (tools/browser) and
playwright (pip install "frozen-motion[browser]").
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import modal  # noqa: E402
from studies.rotating_blade.study import beam_model  # noqa: E402
from studies.slider_crank.machine import model  # noqa: E402
from tests.support.browser import NAMES, browser, opened  # noqa: E402

IMAGES = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
WIDE = {"viewport": {"width": 1180, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 760}, "device_scale_factor": 1.5, "is_mobile": True}
POINT = (
    "(chosen) => { const e = document.querySelector('.fm').explorer; e.open(chosen[0]);"
    " e.pinned = true; e.choose(chosen[1], chosen[2]); e.machine.phase = 0; e.machine.move(); }"
)


def views() -> list[modal.ExplorerView]:
    """A slider-crank over one turn, and the map of a beam that is spun about its length."""
    crank = model(elements=12, rayleigh=(0.0, 5e-6))
    assert crank.period is not None
    tracks = modal.track(crank, times=np.linspace(0.0, crank.period, 81), k=6, progress=False)
    beam, axis = beam_model(damping=2e-6), (1.0, 0.0, 0.0)
    grid = modal.stability_map(
        beam, omega=np.linspace(0.0, 1000.0, 41), epsilon=np.linspace(-1000.0, 1000.0, 41),
        axis=axis, k=4, progress=False,
    )  # fmt: skip
    return [
        modal.explorer_view(tracks, crank, title="slider-crank over one turn"),
        modal.explorer_view(grid, beam, title="beam spun about its length", modes=4, axis=axis),
    ]


def main() -> None:
    pictures = {  # view, point, mode; options of the browser
        "tracks-light": ((0, 24, 1), {**WIDE, "color_scheme": "light"}),
        "map-dark": ((1, 35 * 41 + 8, None), {**WIDE, "color_scheme": "dark"}),
        "phone": ((0, 12, 2), {**PHONE, "color_scheme": "light"}),
        "phone-dark": ((1, 35 * 41 + 8, None), {**PHONE, "color_scheme": "dark"}),
    }
    if not any(map(shutil.which, NAMES)):
        print("no browser: the manual has the pictures of the repository")
        return
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        page = modal.write_explorer(Path(folder) / "page.html", views())
        for name, (chosen, options) in pictures.items():
            with opened(running, page, reduced_motion="reduce", **options) as shown:
                shown.wait_for_selector(".fm-values dd")
                shown.evaluate(POINT, list(chosen))
                shown.wait_for_timeout(500)
                picture = IMAGES / f"explorer-{name}.png"
                if name.startswith("phone"):
                    shown.screenshot(path=picture)
                else:
                    shown.locator(".fm").screenshot(path=picture)


if __name__ == "__main__":
    main()
