# SPDX-License-Identifier: GPL-2.0-only
"""export: write an answer in the formats of other programs."""
