# SPDX-License-Identifier: GPL-2.0-only
"""driver: the commands of ./writestall that need the checkout, a module each.

A command has arguments(parser) and main(args); analysis/writestall/cli lists them all.
"""
