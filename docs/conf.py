"""Sphinx settings of the manual."""

import inspect
import re
import sys
from pathlib import Path

import assembly
import modal

sys.path.insert(0, str(Path(__file__).parent))  # gallery_style

project = "Frozen Motion"
author = "the Frozen Motion engineers"
copyright = "2026, the Frozen Motion engineers"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "gallery", "templates"]
templates_path = ["templates"]
html_theme = "furo"
html_title = "Frozen Motion"
autodoc_typehints = "description"
napoleon_google_docstring = False
napoleon_use_ivar = True
nitpicky = False
suppress_warnings = ["ref.python"]  # attributes of the same name in several classes

# Pages of classes: `Rotor` and `rotor` are one file where case does not count.
autosummary_filename_map = {
    f"{package.__name__}.{name}": f"{package.__name__}.{name}-class"
    for package in (assembly, modal)
    for name in package.__all__
    if inspect.isclass(getattr(package, name))
}

# An example that fails fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "run_stale_examples": True,
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("gallery_style.reset",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}


SECTION = re.compile(r"^\s*-{3,}\s*$")
FIELDS = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Yields")
MARKUP = re.compile(r"[\\|*]|(?<=\w)_(?!\w)")
PAGE = re.compile(r"docs/(\w+)\.md")


def link_pages(app, what, name, obj, options, lines):
    """Pages of the manual become links. Napoleon takes what is before a colon in the first line of
    a property for its type: a dash is put there.
    """
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ", 1)


def escape_markup(app, what, name, obj, options, lines):
    """Docstrings are plain text: |λ| is a modulus and x* no emphasis. Before Napoleon reads them.

    Without NumPy-style sections every line below the first paragraph becomes a line of a line
    block, so that hanging indents stay. Examples, and names and types of fields, are left as they
    are.
    """
    if not any(SECTION.match(line) for line in lines):
        escaped = [MARKUP.sub(r"\\\g<0>", line) for line in lines]
        head = next((n for n, line in enumerate(escaped) if not line.strip()), len(escaped))
        block = [f"| {line}" if line.strip() else "" for line in escaped[head:]]
        lines[:] = [line.strip() for line in escaped[:head]] + block
        return
    section = ""
    for n, line in enumerate(lines):
        if n + 1 < len(lines) and SECTION.match(lines[n + 1]):
            section = line.strip()
        elif section == "Examples" or SECTION.match(line):
            continue
        elif section not in FIELDS or line.startswith(" "):
            lines[n] = MARKUP.sub(r"\\\g<0>", line)


def setup(app):
    app.connect("autodoc-process-docstring", escape_markup, priority=400)
    app.connect("autodoc-process-docstring", link_pages, priority=410)
