# SPDX-License-Identifier: GPL-2.0-only
"""drill: where inside a slow call the time goes, found round by round."""
