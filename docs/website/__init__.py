# SPDX-License-Identifier: GPL-2.0-only
"""website: the documents of the tree as a site; `./writestall dev docs` starts it."""
