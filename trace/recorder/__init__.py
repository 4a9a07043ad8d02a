# SPDX-License-Identifier: GPL-2.0-only
"""recorder: record the stalls of a host as a run directory."""
