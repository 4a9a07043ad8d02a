# SPDX-License-Identifier: GPL-2.0-only
"""machine: build and run throwaway virtual machines."""
