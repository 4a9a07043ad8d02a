# SPDX-License-Identifier: GPL-2.0-only
"""events: read the event contract and the run directory."""
