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
