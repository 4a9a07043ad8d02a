# SPDX-License-Identifier: GPL-2.0-only
"""driver: make targets to set-up, machine, run and answer, stage by stage."""
