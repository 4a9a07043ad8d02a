# SPDX-License-Identifier: GPL-2.0-only
"""jvm: what a JVM's own records say of an answer."""
