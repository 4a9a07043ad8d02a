# SPDX-License-Identifier: GPL-2.0-only
"""stack_lines: find the frames of a stack in a line of a kernel log.

`symbol+0x1a/0x30 [module]` (kernel/kallsyms.c), its forms of older kernels and other
architectures, of crash(8), of scripts/decode_stacktrace.sh and of syzkaller.
"""

from __future__ import annotations

import re

from writestall.classify.frames import Frame, of_log
from writestall.classify.stack import is_sleep
from writestall.log.cuts import completed

# `symbol+0x1a/0x30 [module 0123abcd]`, `? ` before it where it is a guess. crash(8)
# prints `#1 [ffff...] symbol at ffff... [module]` instead, `bt -s` with `symbol+26`;
# a mail's author may note something behind an arrow.
# 64-bit PowerPC's first ABI marks code by a dot: `.schedule+0x80/0x7d4`. x86_64 named
# modules in front up to 2.6.24: `:jbd:log_wait_commit+0xa3/0xf5`.
_FRAME = re.compile(
    r"(?P<guess>\?\s{1,4})?(?<![\w.$])(?::(?P<module3>[a-z][\w-]{1,63}):|\.)?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r"(?:\+0x(?P<offset>[0-9a-f]{1,8})(?:/0x(?P<size>[0-9a-f]{1,8}))?"
    r"(?:\s{1,4}\[(?P<module>[\w-]{1,64})(?:\s[0-9a-f]{8,64})?\])?"
    r"(?P<doubt>\s{1,4}\(unreliable\))?"
    r"|(?:\+\d{1,8})? at [0-9a-f]{8,16}(?:\s{1,4}\[(?P<module2>[\w-]{1,64})\])?"
    r"(?:\s{1,40}<-.{0,200})?$)",
    re.IGNORECASE,
)
# A line with one such frame and nothing else, as most are.
_ALONE = re.compile(
    r"\s{0,16}(?:\[<[0-9a-fx]{1,18}>\]\s{1,4})?(?P<guess>\?\s{1,4})?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})\+0x(?P<offset>[0-9a-f]{1,8})"
    r"/0x(?P<size>[0-9a-f]{1,8})(?:\s{1,4}\[(?P<module>[\w-]{1,64})\])?\s{0,16}"
)
# By x86_64 up to 2.6.17, several in a line, with decimal offsets:
# `<ffffffff804e5522>{schedule_timeout+34} <ffffffff8802c111>{:nbd:sock_xmit+273}`.
_BRACED = re.compile(
    r"<[0-9a-f]{16}>\{(?::(?P<module>[a-z][\w-]{1,63}):)?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})\+(?P<offset>\d{1,8})\}"
)
# The same by scripts/decode_stacktrace.sh, `symbol (fs/file.c:12 fs/file.h:3) module`,
# by drgn, `#2  symbol (fs/file.c:12:3)`, and by syzkaller, which names functions that
# are inlined too: `symbol fs/file.c:12 [inline]`.
_DECODED = re.compile(
    r"\s{0,16}(?:#\d{1,3}\s{1,4})?(?P<guess>\?\s{1,4})?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r"(?: \((?:[\w./+-]{1,120}\.(?:[chS]|rs):\d{1,6}|\?\?:\?).{0,400}\)"
    r"(?: \[?(?P<module>[\w-]{1,64})\]?)?"
    r"| [\w./+-]{1,120}:-?\d{1,6} \[inline\])\s{0,16}$"
)
# By crash(8) of 32-bit ARM: `#0 [<c0b420ec>] (__schedule) from [<c0b423c8>]`.
_FROM = re.compile(
    r"\s{0,16}#\d{1,3}\s{1,4}\[<[0-9a-f]{8}>\] \((?P<symbol>[A-Za-z_][\w.$]{0,120})\)"
    r" from \[<[0-9a-f]{8}>\]\s{0,16}"
)
# By gdb, of a kernel: `#2  0xffff in schedule () at kernel/sched/core.c:12`.
_GDB = re.compile(
    r"\s{0,16}#\d{1,3}\s{1,4}(?:0x[0-9a-f]{8,16} in )?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r" \(.{0,400}\) at (?:\./|/[\w./+-]{0,160}linux[\w.+-]{0,40}/)?"
    r"(?:kernel|mm|fs|block|drivers|arch|lib|net|io_uring|include|ipc|security)/"
    r"[\w./+-]{1,120}:\d{1,6}\s{0,16}"
)
# By crash(8), wrapped by a mailer before the address, or without all addresses.
_WRAPPED = re.compile(
    r"\s{0,16}#\d{1,3}\s{1,4}(?:\[[0-9a-f]{8,16}\] (?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r"(?:\+\d{1,8})? at\s{0,4}|(?P<symbol2>[a-z_][a-z0-9_.]{0,120})\s{0,16})"
)
# The same, whose `#` and addresses somebody has taken out.
_BARE = re.compile(
    r"\s{0,16}#?\d{1,3}\s{1,4}(?:\[(?:[0-9a-f]{0,16}|\.{2,3})\]\s)?"
    r"(?P<symbol>[A-Za-z_][\w.$]{0,120})(?:\+\d{1,8})? at (?:[0-9a-f]{8,16}|\.{2,3})"
    r"(?:\s{1,4}\[(?P<module>[\w-]{1,64})\])?\s{0,16}"
)
# The name alone, as who writes a stack down by hand leaves it.
_NAME = re.compile(
    r"\s{0,16}(?P<symbol>[a-z_][a-z0-9_.]{2,120})(?:\(\))?"
    r"(?:\s{1,4}\[(?P<module>[\w-]{1,64})\])?\s{0,16}"
)
# A frame that the edge of a terminal cuts off, in its name or behind that. A longer
# word is no function, but of base64.
_CUT = re.compile(
    r"\s{0,16}(?:\[<[0-9a-fx]{1,18}>\]\s{1,4})?(?P<guess>\?\s{1,4})?"
    r"(?![0-9a-f]{8})(?P<symbol>[A-Za-z_][\w.$]{2,63})(?P<plus>\+(?:0x?)?)?"
)
# Where addr2line -i, scripts/faddr2line and scripts/decode_stacktrace.sh find a frame's
# code: functions inlined into it first, its own last, a line for each.
_PLACE = re.compile(
    r"\s{0,16}(?:\(inlined by\) )?(?P<symbol>[A-Za-z_][\w.$]{0,120})"
    r" at (?:[\w./+-]{1,160}:(?:\d{1,6}|\?)|\?\?:\S)"
    r"(?: \(discriminator \d{1,4}\))?\s{0,16}"
    r"|\s{0,16}\(discriminator \d{1,4}\)|\s{0,16}\(inlined by\) "
    r"(?P<symbol2>[A-Za-z_][\w.$]{0,120})(?: \([\w./+-]{1,160}:\d{1,6}.{0,40}\))?"
)
# Where stacks begin: nothing calls these. arch/x86/entry/entry_64.S,
# arch/arm64/kernel/entry.S, arch/arm/kernel/entry-common.S, arch/ia64/kernel/head.S.
_BOTTOM = re.compile(
    r"ret_from_(?:fork|kernel_thread)\w*|child_rip|kernel_thread_helper"
    r"|entry_SYSCALL_64\w*|system_call_fastpath|el0_sync|el0_svc|el0t_64_sync"
    r"|start_kernel_thread|ret_fast_syscall|system_call|syscall_exit|ppc_clone|ret_from_except\w*"
)
_FIRST = re.compile(r"\s{0,16}(?:#0|0 \[[0-9a-f]{0,16}\])\s")
# /proc/PID/stack ends so before 5.2: ULONG_MAX (kernel/stacktrace.c).
_END = re.compile(r"\b0xf{8}(?:f{8})?$")
# Lines with symbols that are no frames: registers, locks held (lockdep), faults,
# backtrace_symbols(3), the holders of a glock (fs/gfs2/glock.c dump_holder()).
_NO_FRAMES = re.compile(
    r"\b(?:[RE]?IP|PC|LR|pc|lr|epc|NIP) ?(?::|is at)|\bat: |^\s*#\d+:|Code:"
    r"|Modules linked|\([\w.$]*\+0x[0-9a-f]+\) ?\[0x"
    r"|^\s*H: s:"
)


def alone(body: str) -> re.Match[str] | None:
    """The frame of a line that holds nothing else, as most lines of a stack do."""
    return _ALONE.fullmatch(body)


def _whole(body: str) -> re.Match[str] | None:
    """The frame of a line in a form that takes all of it."""
    match = (
        _DECODED.match(body)
        or _GDB.fullmatch(body)
        or _FROM.fullmatch(body)
        or _WRAPPED.fullmatch(body)
        or _BARE.fullmatch(body)
    )
    name = match and match.groupdict().get("symbol2")
    # A number and a word may be a list of anything.
    is_word = name and not ("_" in name or is_sleep(name) or is_bottom(name))
    return None if is_word else match


def found(body: str) -> list[re.Match[str]]:
    """The frames of a line."""
    if match := alone(body):
        return [match]
    if _NO_FRAMES.search(body):
        return []
    if match := _whole(body):
        return [match]
    return list((_BRACED if ">{" in body else _FRAME).finditer(body))


def name_alone(body: str) -> re.Match[str] | None:
    """The frame of a line that holds nothing but a function's name, and maybe its
    module. Behind others of a stack any word may be one."""
    return _NAME.fullmatch(body)


def cut(body: str) -> tuple[Frame, bool] | None:
    """The frame of a line that is cut off, and whether its name may go on."""
    match = _CUT.fullmatch(body)
    if match is None or match["guess"]:
        return None
    if match["plus"]:
        return of_log(match["symbol"]), False
    return Frame(completed(match["symbol"])), True


def place(body: str) -> str | None:
    """The function in a line that only says where the frame before it has its code;
    an empty text where it is left out; None for any other line."""
    match = _PLACE.fullmatch(body)
    return (match["symbol"] or match["symbol2"] or "") if match else None


def frame_of(match: re.Match[str]) -> Frame:
    """What a match stands for."""
    groups = match.groupdict()
    symbol = match["symbol"] or match["symbol2"]
    modules = (groups.get(name) for name in ("module", "module2", "module3"))
    return of_log(symbol, next(filter(None, modules), None))


# Forms that take a whole line, or that no other text has.
_WHOLE = (_ALONE, _DECODED, _GDB, _FROM, _WRAPPED, _BARE, _NAME, _BRACED)


def is_mention(match: re.Match[str]) -> bool:
    """True where a frame stands inside other text, which may only speak of it."""
    return match.re not in _WHOLE and "[<" not in match.string


def is_guess(match: re.Match[str]) -> bool:
    """True for an address the kernel found on the stack and does not vouch for: marked
    `?`, on PowerPC `(unreliable)` (arch/powerpc/kernel/process.c show_stack()). The
    first there mostly is schedule(): where a task sleeps is no doubt."""
    groups = match.groupdict()
    doubt = groups.get("doubt") and not is_sleep(match["symbol"])
    return bool(groups.get("guess") or doubt)


def is_pointer(match: re.Match[str], guess: bool) -> bool:
    """True for what is no return address but a pointer to a function.

    Nothing returns to a function's first byte: it is the callback of a wait, mostly. It
    is printed as `f+0x0`, where it is a guess since 2.6.39 as the end of the function
    before it, as in `e+0x70/0x70` (Documentation/core-api/printk-formats.rst, %pB).
    """
    groups = match.groupdict()
    offset, size = groups.get("offset"), int(groups.get("size") or "0", 16)
    if offset is None or not (guess or size or match.re is _BRACED):
        return False
    return int(offset, 16) in (0, size) if guess else int(offset, 16) == 0


def is_innermost(text: str) -> bool:
    """True for a frame with the number 0, of crash(8) or drgn: it begins a stack."""
    return _FIRST.match(text) is not None


def is_bottom(symbol: str) -> bool:
    """True for a function in which stacks begin."""
    return _BOTTOM.fullmatch(symbol) is not None


def starts_bottom(symbol: str) -> bool:
    """True for these and their parts: a stack may begin with several."""
    return _BOTTOM.match(symbol) is not None


def is_end(body: str) -> bool:
    """True for the line that ends a stack of /proc in old kernels."""
    return _END.search(body) is not None
