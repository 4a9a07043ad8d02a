# SPDX-License-Identifier: GPL-2.0-only
"""report: render an answer as text and as a page."""
