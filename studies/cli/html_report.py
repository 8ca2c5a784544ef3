"""One page a run that needs no other file: numbers, figures, animation, settings, provenance."""

from __future__ import annotations

import base64
import html
import inspect
import shlex
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from xarray import Dataset

from modal.explorer.page import section, style
from studies.registry import Study
from studies.reporting.output import OutputFolder

PAGE = "report.html"
PICTURES = {".png": "image/png", ".gif": "image/gif"}


def write(
    out: OutputFolder, study: Study, arguments: Mapping[str, Any], dataset: Dataset, numbers: str
) -> None:
    """Write report.html from what the run has written, in the order it was written.

    arguments: the settings that were given; the others have their defaults. numbers: the short
    table of the run. Raises StorageError when the page cannot be written.
    """
    pictures = [
        path for path in out.written if path.suffix in PICTURES and path.name not in out.apart
    ]
    texts = [path for path in out.written if path.suffix == ".txt"]
    others = [path.name for path in out.written if path.suffix not in PICTURES]
    settings = study.settings | dict(arguments)
    options = " ".join(shlex.quote(f"{k}={v}") for k, v in arguments.items())
    template = resources.files("studies.cli").joinpath("report_template.html")
    page = Template(template.read_text("utf-8"))
    out.write_text(
        PAGE,
        page.substitute(
            title=_text(study.name.replace("-", " ").capitalize()),
            summary=_text(study.summary),
            background=_background(study),
            style=style(),
            explorer=f"<h2>Explore</h2>\n{section(out.views)}" if out.views else "",
            numbers=_text(numbers),
            figures="\n".join(_figure(path, out.captions.get(path.name, "")) for path in pictures),
            texts="\n".join(_listing(path) for path in texts),
            settings="\n".join(_row(k, _setting(k, v, arguments)) for k, v in settings.items()),
            provenance="\n".join(_row(k, v) for k, v in dataset.attrs.items()),
            command=_text(
                f"frozen-motion run {study.name}" + (f" --set {options}" if options else "")
            ),
            files=_text(", ".join(sorted(others))),
        ),
    )


def _background(study: Study) -> str:
    """The study module's own description, a paragraph each."""
    described = inspect.getdoc(sys.modules[study.main.__module__]) or ""
    paragraphs = [" ".join(block.split()) for block in described.split("\n\n")]
    return "\n".join(f"<p>{_text(block)}</p>" for block in paragraphs if block)


def _figure(path: Path, caption: str) -> str:
    encoded = base64.b64encode(path.read_bytes()).decode("ascii")
    source = f"data:{PICTURES[path.suffix]};base64,{encoded}"
    words = _text(caption or path.stem.replace("-", " "))
    return f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'


def _listing(path: Path) -> str:
    title = _text(path.stem.replace("-", " ").capitalize())
    return f"<h2>{title}</h2>\n<pre>{_text(path.read_text('utf-8'))}</pre>"


def _setting(name: str, value: Any, arguments: Mapping[str, Any]) -> str:
    return f"{value}" if name in arguments else f"{value} (default)"


def _row(name: str, value: Any) -> str:
    return f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>"


def _text(value: Any) -> str:
    return html.escape(str(value))
