# SPDX-License-Identifier: GPL-2.0-only
"""symbols: resolve bpftrace's stacks to frames in the event contract's format."""

from __future__ import annotations

import bisect
import re
from operator import itemgetter
from pathlib import Path

# A line of /proc/kallsyms: `ffffffff81000000 T _text`, `... t ext4_sync\t[ext4]`; its
# sixteen digits sort as text as they do as numbers: few lines are ever taken apart.
ADDRESS, KIND, NAME = slice(16), 17, slice(19, None)
FRAMES = 48  # a stack shows at most so many
USER_FRAME = re.compile(r"([0-9a-f]+) (.*)\+(\d+) \((.*)\)")
# The tracer's own frames, innermost first: the program and its trampoline, with a
# name or without, bpf_trace_run4 (kernel/trace/bpf_trace.c), and with two tracers on
# one tracepoint the function that calls each of them.
OWN = re.compile(
    r"0x|bpf_prog_|bpf_trampoline_|bpf_trace_run\d|__traceiter_|__bpf_trace_"
)


class KernelSymbols:
    """/proc/kallsyms; read again when the list of modules has changed."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._modules = ""
        self._starts: list[str] = []
        self._lines: list[str] = []
        self._known: dict[int, str] = {}

    def load(self) -> None:
        """Read the table before the first frame needs it: it takes half a second."""
        self._load(self._loaded_modules())

    def _loaded_modules(self) -> str:
        # names and addresses alone: use counts change all the time
        try:
            lines = (self._proc / "modules").read_text().splitlines()
        except FileNotFoundError:  # a kernel without CONFIG_MODULES
            lines = []
        return "\n".join(f"{line.split()[0]} {line.split()[5]}" for line in lines)

    def _load(self, modules: str) -> None:
        with (self._proc / "kallsyms").open() as lines:
            self._lines = [line for line in lines if line[KIND] in "tTwW"]
        # stable: the first of aliases stays first
        self._lines.sort(key=itemgetter(ADDRESS))
        self._starts = [line[ADDRESS] for line in self._lines]
        self._modules = modules
        self._known.clear()

    def _text(self, address: int) -> str:
        at = bisect.bisect_right(self._starts, f"{address:016x}") - 1
        if at < 0:
            return f"0x{address:x}"
        start = self._starts[at]
        line = self._lines[bisect.bisect_left(self._starts, start)]
        name, _, module = line[NAME].rstrip().partition("\t")
        offset = address - int(start, 16)
        if offset > 1 << 20:  # no function is that long: a hole between modules
            return f"0x{address:x}"
        return f"{name}+0x{offset:x}" + (f" {module}" if module else "")

    def frame(self, address: int) -> str:
        """Return `symbol+0xoff [module]`, or the bare address."""
        if address not in self._known:
            modules = self._loaded_modules()
            if modules != self._modules:
                self._load(modules)
            self._known[address] = self._text(address)
        return self._known[address]

    def kernel_stack(self, text: str) -> list[str]:
        """Return the frames, innermost first, of a stack printed by kstack(perf)."""
        frames = [
            self.frame(int(line.split()[0], 16))
            for line in text.split("\n")
            if line.strip()
        ]
        own = 0
        while own < len(frames) and OWN.match(frames[own]):
            own += 1
        return frames[own : own + FRAMES]


def user_addresses(text: str) -> list[int]:
    """Return the addresses of what ustack(perf) printed, innermost first."""
    return [int(line.split()[0], 16) for line in _user_lines(text)]


def user_stack(text: str) -> list[str]:
    """Return `symbol+0xoff [file]` or bare addresses, for what ustack(perf) printed."""
    frames = []
    for line in _user_lines(text):
        found = USER_FRAME.fullmatch(line)
        if found:
            file = found[4].rpartition("/")[2]
            frames.append(f"{found[2]}+0x{int(found[3]):x} [{file}]")
        else:
            frames.append(f"0x{line.split()[0]}")
    return frames


def _user_lines(text: str) -> list[str]:
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and int(line.split()[0], 16)][:FRAMES]
