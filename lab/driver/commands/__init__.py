# SPDX-License-Identifier: GPL-2.0-only
"""commands: a module for each command of the lab: arguments(parser) and main(args)."""
