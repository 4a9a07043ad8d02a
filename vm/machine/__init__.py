# SPDX-License-Identifier: GPL-2.0-only
"""machine: a recipe to a throwaway virtual machine that runs one command."""
