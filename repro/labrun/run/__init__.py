# SPDX-License-Identifier: GPL-2.0-only
"""run: run one scenario from the command line."""
