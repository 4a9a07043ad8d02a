# SPDX-License-Identifier: GPL-2.0-only
"""log: explain a pasted kernel log."""
