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
    """|λ| in a docstring is a modulus, not reStructuredText's substitution; x* not emphasis."""
    lines[:] = [line.replace("|", r"\|").replace("*", r"\*") for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
