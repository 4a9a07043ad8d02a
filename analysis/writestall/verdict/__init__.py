# SPDX-License-Identifier: GPL-2.0-only
"""verdict: compare an answer with the injected truth and the scenario."""
