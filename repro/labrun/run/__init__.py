# SPDX-License-Identifier: GPL-2.0-only
"""run: one scenario from the command line to a run directory."""
