# SPDX-License-Identifier: GPL-2.0-only
"""frames: parse the text of a stack frame into symbol and module.

Compilers split and clone functions; the suffixes they add name the same source
function: `.isra.N`, `.constprop.N`, `.part.N`, `.cold`, `.llvm.N`, `.lto_priv.N`,
in old kernels `.clone.N` (GCC manual, "Optimize Options": -fipa-sra, -fipa-cp,
-fpartial-inlining; gcc/cgraph clone names). The kernel itself strips them for the
same reason: kernel/kallsyms.c, cleanup_symbol_name() (commit 6eb4bd92c1ce,
"kallsyms: strip LTO suffixes"). Kernels of Oracle name functions with DTrace probes
`__dta_NAME_NUMBER` where NAME is a static one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_SUFFIX = re.compile(r"(\.(isra|clone|constprop|part|cold|llvm|lto_priv)\b[.\d]*)+$")
_DTRACE = re.compile(r"__dta_(\w+)_\d+")
# include/linux/syscalls.h, up to 4.16: the name of a system call to the linker.
_SYSTEM_CALL = re.compile(r"^(compat_)?SyS_")
# `name`, then `+0xoff` and perhaps `/0xsize`, then ` [module]`. Modules may carry a
# build id behind the name (kernel/module/kallsyms.c, commit 9294523e3768, 5.14).
_FRAME = re.compile(
    r"(?P<symbol>[A-Za-z_.$][\w.$]*)"
    r"(?:\+0x[0-9a-fA-F]+(?:/0x[0-9a-fA-F]+)?)?"
    r"(?:\s+\[(?P<module>[\w-]+)(?:\s+[0-9a-f]+)?\])?$"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One function of a stack; `symbol` is without offset and compiler suffixes."""

    symbol: str
    module: str | None = None


@lru_cache(maxsize=65536)
def parse_frame(text: str) -> Frame | None:
    """Parse `ext4_map_blocks.part.0+0x1a/0x30 [ext4]`; None for a bare address."""
    match = _FRAME.match(text.strip())
    if not match:
        return None
    return frame(match["symbol"], match["module"])


@lru_cache(maxsize=65536)
def frame(symbol: str, module: str | None) -> Frame:
    """Make a frame from a symbol as printed, with compiler suffixes."""
    return Frame(_DTRACE.sub(r"\1", _SUFFIX.sub("", symbol)), module)


def of_log(symbol: str, module: str | None = None) -> Frame:
    """The same from a log, whose system calls have one name in all kernels."""
    return frame(_SYSTEM_CALL.sub(r"\1sys_", symbol), module)


def parse_stack(stack: tuple[str, ...]) -> tuple[Frame, ...]:
    """Parse a stack, innermost frame first; omit addresses without a symbol."""
    return tuple(frame for text in stack if (frame := parse_frame(text)))
