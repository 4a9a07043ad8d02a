# SPDX-License-Identifier: GPL-2.0-only
"""labrun: run one scenario on this Linux machine and write a run directory."""
