# SPDX-License-Identifier: GPL-2.0-only
"""conf: how Sphinx makes the teacher's slides of the staged pages, by reveal.js.

A heading of the page begins a slide. Nothing is asked of the network.
"""

project = "writestall"
root_doc = "docs/course/teacher/slides"
include_patterns = [f"{root_doc}.md"]
extensions = ["myst_parser", "sphinx_revealjs"]
highlight_language = "none"
smartquotes = False

revealjs_style_theme = "white"
revealjs_script_conf = {"hash": True, "slideNumber": True}
revealjs_static_path = ["static"]
revealjs_css_files = ["slides.css"]
