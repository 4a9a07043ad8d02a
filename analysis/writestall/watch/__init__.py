# SPDX-License-Identifier: GPL-2.0-only
"""watch: explain a tracer's events as they come, in bounded memory."""
