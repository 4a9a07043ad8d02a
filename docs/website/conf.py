# SPDX-License-Identifier: GPL-2.0-only
"""conf: how Sphinx renders the staged pages; nothing is asked of the network."""

project = "writestall"
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["extra"]
# Headings get the anchors that other readers of Markdown give them.
myst_heading_anchors = 4
# Blocks without a language are terminals and pictures of text.
highlight_language = "none"
# A page of a source file is shown plain where its lexer does not know a line.
suppress_warnings = ["misc.highlighting_failure"]

# `--for` must stay two hyphens, and a quoted name what it is.
smartquotes = False

html_theme = "furo"
html_use_index = False
html_title = "writestall"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
