# SPDX-License-Identifier: GPL-2.0-only
"""website: the documents of the tree as a site; `./writestall docs` starts it."""
