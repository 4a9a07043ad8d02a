# SPDX-License-Identifier: GPL-2.0-only
"""redacted: copy a run without the names that its host's users gave.

Nothing here needs a library: `record --redact` runs where the analysis cannot.
"""
