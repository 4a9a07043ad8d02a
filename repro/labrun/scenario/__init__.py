# SPDX-License-Identifier: GPL-2.0-only
"""scenario: what a scenario file may say, and how it is read."""
