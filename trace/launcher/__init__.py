# SPDX-License-Identifier: GPL-2.0-only
"""launcher: run tracing scripts with either engine, as the event contract has it."""
