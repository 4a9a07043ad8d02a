# SPDX-License-Identifier: GPL-2.0-only
"""chain: follow each stalled write to its cause."""
