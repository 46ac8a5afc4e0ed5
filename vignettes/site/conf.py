"""Sphinx configuration of the documentation: ``make docs`` builds it into ``build/docs``.

The build needs no network and leaves nothing to the reader's network either. Formulas become
MathML, which browsers draw themselves (``_ext/mathml.py``), instead of MathJax from a server; there
is no intersphinx, whose inventories are downloads; the theme brings its own styles. The notebooks
are shown with the outputs that they are kept with, so that nothing is run (``_ext/notebooks.py``),
and the page of the command line is made from the program itself (``_ext/commandline.py``).
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE / "_ext"), str(HERE.parent)]

import ewp

project = "ewp"
author = "The ewp developers"
copyright = author
version = release = ewp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "mathml",
    "notebooks",
    "commandline",
    "signatures",
]
exclude_patterns = ["_ext"]
# Names between single backquotes in docstrings are links where they name something.
default_role = "autolink"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
# Members are listed by autodoc, each with its own entry in the index.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"ewp {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
