# SPDX-License-Identifier: GPL-2.0-only
"""drill: find where inside a slow call the time goes, round by round."""
