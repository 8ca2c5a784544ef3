"""Sphinx settings of the manual."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # gallery_style

project = "Frozen Motion"
author = "the Frozen Motion engineers"
copyright = "2026, the Frozen Motion engineers"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "gallery"]
html_theme = "furo"
html_title = "Frozen Motion"
autodoc_typehints = "description"
nitpicky = False

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


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings are plain text: |λ| is a modulus, x* no emphasis, and a hanging indent no list.

    Every line becomes a line of a line block, so that reStructuredText reads nothing into it.
    """
    escaped = [line.replace("\\", r"\\").replace("|", r"\|").replace("*", r"\*") for line in lines]
    lines[:] = [f"| {line}" if line.strip() else "" for line in escaped]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
