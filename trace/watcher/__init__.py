# SPDX-License-Identifier: GPL-2.0-only
"""watcher: watch the stalls of a host for weeks."""
