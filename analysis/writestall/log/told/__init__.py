# SPDX-License-Identifier: GPL-2.0-only
"""told: read what single lines say beside the stacks: boots, cgroups, locks."""
