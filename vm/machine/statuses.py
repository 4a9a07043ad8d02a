# SPDX-License-Identifier: GPL-2.0-only
"""statuses: exit statuses of `vm/vm run` besides the command's (0 to 119)."""

EXIT_CUT = 121  # the command had the machine's power cut
EXIT_SPLAT = 122  # the command ended, but the kernel complained
EXIT_LOST = 123  # the machine ended before its verdict
EXIT_TIMEOUT = 124  # the time limit passed
EXIT_SETUP = 125  # no machine was started
