"""Sphinx settings of the manual."""

project = "Frozen Motion"
author = "the Frozen Motion engineers"
copyright = "2026, the Frozen Motion engineers"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "deflist"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Frozen Motion"
autodoc_typehints = "description"
nitpicky = False


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings are plain text: |λ| is a modulus, x* no emphasis, and a hanging indent no list.

    Every line becomes a line of a line block, so that reStructuredText reads nothing into it.
    """
    escaped = [line.replace("\\", r"\\").replace("|", r"\|").replace("*", r"\*") for line in lines]
    lines[:] = [f"| {line}" if line.strip() else "" for line in escaped]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
