# SPDX-License-Identifier: GPL-2.0-only
"""whatif: compute what a class of waiting costs."""
