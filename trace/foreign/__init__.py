# SPDX-License-Identifier: GPL-2.0-only
"""foreign: open and read the files of other users' processes, as root."""
