# SPDX-License-Identifier: GPL-2.0-only
"""packaging: packages, images and releases, from the files of packaging/."""

from driver.project import PROJECT

RECIPES = PROJECT / "packaging"
OUT = PROJECT / "out"
