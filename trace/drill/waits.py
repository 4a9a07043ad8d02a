# SPDX-License-Identifier: GPL-2.0-only
"""waits: name what a sleeping task waits for, by the rules of analysis/.

Where analysis/ is not importable, stacks stay without a class; `PYTHONPATH=analysis`
makes it so in a checkout.
"""

from __future__ import annotations

from collections.abc import Sequence

try:
    from writestall.classify.stack import classify
except ModuleNotFoundError:
    CLASSIFIES = False
else:
    CLASSIFIES = True


def wait(kstack: Sequence[str]) -> str:
    """Return the class of a stack and the reason for it; "" without analysis/."""
    if not CLASSIFIES:
        return ""
    found = classify(tuple(kstack))
    return f"{found.cls}: {found.rule.why}" if found.rule else found.cls
