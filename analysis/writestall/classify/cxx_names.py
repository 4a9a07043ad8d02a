# SPDX-License-Identifier: GPL-2.0-only
"""cxx_names: the name of a C++ function as its source has it, without the arguments.

A mangled name is _Z and a name, or _ZN, names and E; a name is its length and itself
(Itanium C++ ABI, "Mangling"). One with templates, operators or local names stays as it
is. A demangler would do more, with names that any program may choose.
"""

from __future__ import annotations

import re
from functools import lru_cache

_HEAD = re.compile(r"_Z(?P<nested>N[rVKRO]*)?L?(?=\d)")
_LENGTH = re.compile(r"[1-9]\d{0,2}")
_ENDS = {"E": "", "C1E": "{}", "C2E": "{}", "D0E": "~{}", "D1E": "~{}", "D2E": "~{}"}


@lru_cache(maxsize=65536)
def source_name(symbol: str) -> str:
    """`_ZN7handler7ha_openEP5TABLE` is handler::ha_open; what is not mangled stays."""
    head = _HEAD.match(symbol)
    if not head:
        return symbol
    parts, at = [], head.end()
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
        if not head["nested"]:
            break
    if not parts or at > len(symbol):
        return symbol
    if not head["nested"]:
        return symbol if symbol[at : at + 1] in {"I", "B"} else parts[0]
    for end, last in _ENDS.items():
        if symbol.startswith(end, at):
            return "::".join(parts + [last.format(parts[-1])] * bool(last))
    return symbol
