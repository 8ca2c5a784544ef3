"""A headless browser for tests of pages; tests are skipped where there is none, not in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Root needs --no-sandbox; 3-D graphics without a graphics card.
OPTIONS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser of playwright."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        _missing(f"no browser: none of {', '.join(NAMES)}; tools/browser installs one")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing('playwright is not installed: pip install "frozen-motion[browser]"')
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield running
        running.close()


def _missing(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{why} (in CI these tests must run)")
    pytest.skip(why)


@contextmanager
def opened(running: Any, path: Path, **options: Any) -> Iterator[Any]:
    """The page of a file, without a network; whatever it asks for or complains of is kept.

    `page.asked`: addresses that are not of the file itself. `page.faults`: errors of the console.
    """
    script = options.pop("before", None)
    context = running.new_context(offline=True, **options)
    if script:
        context.add_init_script(script)
    page = context.new_page()
    page.asked, page.faults = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda m: page.faults.append(m.text) if m.type == "error" else None)
    page.goto(path.as_uri())
    yield page
    context.close()
