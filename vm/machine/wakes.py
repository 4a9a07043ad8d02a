# SPDX-License-Identifier: GPL-2.0-only
"""wakes: wake the main loop of QEMU once a second.

While all CPUs are idle, a QEMU that counts instructions advances its clock to the
guest's next timer by a timer of its main loop. The loop can set that one for the timer
by which the CPUs take turns, just before their thread deletes it, and then sleeps with
none set, and with it the guest, until something else wakes the loop (QEMU,
accel/tcg/icount-common.c, icount_start_warp_timer() and icount_warp_rt();
tcg-accel-ops-rr.c, rr_wait_io_event()). The guest's clock stands still meanwhile.

QEMU blocks SIGIO, reads it from a descriptor in the main loop, and does nothing else
with it (util/main-loop.c, qemu_signal_init()).
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

EVERY_S = 1.0
WAKES = signal.SIGIO
BLOCKED = re.compile(r"^SigBlk:\s*([0-9a-f]+)$", re.MULTILINE)  # proc_pid_status(5)


def ended(process: subprocess.Popen[Any], limit_s: float | None) -> bool:
    """Whether it has ended within the limit; wake it meanwhile."""
    until_s = float("inf") if limit_s is None else time.monotonic() + limit_s
    while (left_s := until_s - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(EVERY_S, left_s))
            return True
        if _is_blocked(process.pid):
            process.send_signal(WAKES)
    return process.poll() is not None


def _is_blocked(pid: int) -> bool:
    """Whether the signal is blocked in a process, which it would end otherwise."""
    with suppress(OSError):
        found = BLOCKED.search(Path(f"/proc/{pid}/status").read_text())
        return bool(found and int(found[1], 16) >> (WAKES - 1) & 1)
    return False
