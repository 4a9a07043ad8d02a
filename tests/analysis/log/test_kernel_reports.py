# SPDX-License-Identifier: GPL-2.0-only
"""This test will name what the kernel reports of disks, servers and itself."""

from __future__ import annotations

import time

import pytest

from log_stacks import Shown
from writestall.log import reading, remarks
from writestall.log.kernel_reports import SHOWN, said
from writestall.log.links import explain_log
from writestall.log.report_kinds import KINDS
from writestall.log.text import log_json, report

WAITS = Shown("jbd2/sda1-8", 1, "io_schedule __wait_on_buffer kjournald2").report()
# A line of each kind, and what it reports.
LINES = {
    "blk_update_request: I/O error, dev sda, sector 8 op 0x0": "I/O errors of sda",
    "critical medium error, dev sdb, sector 8": "I/O errors of sdb",
    "Buffer I/O error on device sda3, logical block 7": "I/O errors of sda3",
    "Buffer I/O error on dev dm-2, logical block 7": "I/O errors of dm-2",
    "ata3: hard resetting link": "resets of the link ata3",
    "ata3.00: failed command: READ FPDMA QUEUED": "failed commands of ata3",
    "sd 1:0:0:0: [sdc] tag#5 timing out command, waited 180s": "of sdc that time out",
    "sr 7:0:0:0: [sr0] Sense Key : Hardware Error [current]": "errors of sr0",
    "sd 1:0:0:0: [sdc] tag#1 rejecting I/O to offline device": "device 1:0:0:0 rejects",
    "sd 1:0:0:0: rejecting I/O to dead device": "device 1:0:0:0 rejects",
    "sd 1:0:0:0: Device offlined - not ready after error recovery": "took offline",
    "sd 1:0:0:0: attempting task abort! scmd(00000000ab)": "1:0:0:0 that are aborted",
    "nvme nvme0: I/O 12 QID 3 timeout, aborting": "timeouts of nvme0",
    "nvme nvme0: I/O tag 12 (100c) opcode 0x1 (I/O Cmd) QID 3 timeout, reset": "nvme0",
    "nvme nvme0: controller is down; will reset: CSTS=0x3": "resets of nvme0",
    "mmc0: Timeout waiting for hardware interrupt.": "timeouts of mmc0",
    "usb 1-1.2: USB disconnect, device number 4": "USB device 1-1.2 that went away",
    "usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd": "device 2-1",
    "device-mapper: multipath: 253:3: Failing path 8:16.": "path 8:16 of a multipath",
    "rport-3:0-1: blocked FC remote port time out: removing": "Fibre Channel port",
    "connection1:0: ping timeout of 5 secs expired, recv timeout 5": "of iSCSI",
    "session1: session recovery timed out after 120 secs": "session of iSCSI",
    "drbd r0: PingAck did not arrive in time.": "a peer of DRBD",
    "md/raid1:md0: Disk failure on sdb1, disabling device.": "the member sdb1",
    "device-mapper: thin: 253:4: switching pool to out-of-data-space": "a thin pool",
    "nfs: server 10.0.0.1 not responding, still trying": "the server 10.0.0.1",
    r"CIFS: VFS: \\srv has not responded in 180 seconds. Reconnecting...": "server srv",
    "libceph: FULL or reached pool quota": "a pool of Ceph that is full",
    "libceph: (uuid c1) pool 4 is full or reached quota": "a pool of Ceph that is full",
    "Aborting journal on device sda1-8.": "the aborted journal of sda1-8",
    "EXT4-fs (sda1): Remounting filesystem read-only": "sda1 that was remounted",
    "EXT4-fs error (device sda1): ext4_find_entry:1455": "errors of ext4 on sda1",
    "BTRFS error (device sdc1 state EA): parent transid": "errors of btrfs on sdc1",
    "XFS (dm-0): metadata I/O error in xfs_buf_ioend": "metadata of XFS on dm-0",
    "XFS (dm-0): Log I/O Error Detected.  Shutting down filesystem": "dm-0 that XFS",
    "XFS: fio(9) possible memory allocation deadlock size 64 in kmem": "find no memory",
    "Out of memory: Killed process 9 (java) total-vm:1kB": "killed to free memory",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [a:9]": "CPU 3 that is locked",
    "BUG: workqueue lockup - pool cpus=1 node=0": "a pool of workers",
    "pool 96: cpus=24 node=3 flags=0x0 nice=0 hung=64s workers=3 idle: 7": "not begun",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:": "grace periods of RCU",
    "INFO: rcu_sched self-detected stall on CPU": "grace periods of RCU",
    "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {": "of RCU",
    "BUG: unable to handle kernel NULL pointer dereference at 08": "an oops",
    "Unable to handle kernel paging request at virtual address 8": "an oops",
    "BUG: unable to handle page fault for address: ffff8880": "an oops",
    "general protection fault, probably for non-canonical: 0000 [#1] SMP": "an oops",
    "WARNING: CPU: 27 PID: 9 at kernel/sched/deadline.c:1995 enqueue": "a warning at k",
    "xhci_hcd 0000:00:14.0: xHCI host controller not responding, assume dead": "xHCI",
    "block nbd0: Connection timed out, retrying (1/2 alive)": "timeouts of nbd0",
    "block nbd0: Possible stuck request 0000ab: control (write@0,4096B)": "of nbd0",
    "NFS: state manager: lease expired failed on NFSv4 server srv with error 5": "srv",
    "libceph: osd3 down": "osd3 of Ceph that does not answer",
    "libceph: osd3 (1)10.0.0.1:6801 socket closed (con state OPEN)": "osd3 of Ceph",
    "ceph: mds0 hung": "mds0 of Ceph that does not answer",
    "Pool 'tank' has encountered an uncorrectable I/O failure and has": "pool tank",
    "java: page allocation stalls for 10100ms, order:0": "allocations that stall",
    "audit: audit_backlog=65 > audit_backlog_limit=64": "a queue of audit that is full",
    "sched: RT throttling activated": "real-time tasks",
    "CPU1: Watchdog detected hard LOCKUP on cpu 3": "CPU 3 that is locked up",
    "WARNING: possible circular locking dependency detected": "a circle of locks",
    "WARNING: possible recursive locking detected": "a lock that is taken twice",
    "kernel BUG at fs/inode.c:518!": "a BUG at fs/inode.c:518 (who died",
}


def read(*parts: list[str]) -> reading.Log:
    text = "\n".join(line for lines in parts for line in lines) + "\n"
    return reading.read([text.encode()])


def at(seconds: int, *lines: str) -> list[str]:
    return [f"[{seconds:5}.125000] {line}" for line in lines]


@pytest.mark.parametrize(("line", "words"), LINES.items())
def test_each_kind_is_read(line: str, words: str) -> None:
    (one,) = read(at(90, line), at(100, *WAITS)).reports
    assert words in one.words and (one.line, one.times) == (1, 1)


def test_each_kind_has_a_line_and_a_source() -> None:
    for sign, form, *_, source in KINDS:
        assert any(sign in line for line in LINES), form
        path = source.removeprefix("OpenZFS, ").partition(" ")[0]
        assert path.endswith((".c", ".h"))


def test_lines_of_one_thing_are_counted() -> None:
    log = read(at(90, *["ata3: hard resetting link"] * 3), at(100, *WAITS))
    assert said(log.reports) == (
        "the log also reports: resets of the link ata3 (3 times, from line 1)"
    )
    (row,) = remarks.as_json(log)["reports"]
    assert (row["line"], row["times"], row["host"]) == (1, 3, None)


def test_the_next_step_is_the_disk_that_fails() -> None:
    """For who waits for a disk, and only where one is reported."""
    others = "kernel BUG at fs/inode.c:518!", "usb 1-1: USB disconnect, device number 4"
    for lines, begins in (
        ((*others, "ata3: hard resetting link"), "see to the disk that fails (resets "),
        (others, "see whether the disk answers"),
    ):
        log = read(at(90, *lines), at(100, *WAITS))
        answer = explain_log(log.tasks)
        assert log_json(answer, log.reports)["next"].startswith(begins)
        assert f"next: {begins}" in "\n".join(report(answer, "log", log.reports))


def test_many_are_a_short_line() -> None:
    lines = [f"ata{number}: hard resetting link" for number in range(2000)]
    log = read(at(90, *lines), at(100, *WAITS))
    assert len(log.reports) == 1000
    assert said(log.reports).count("ata") == SHOWN
    assert said(log.reports).endswith("; and 996 more")


def test_what_is_of_another_boot_is_left_out() -> None:
    before = at(90, "ata3: hard resetting link")
    assert not read(before, at(0, "Linux version 6.18.2 (a@b) #1", *WAITS)).reports


def test_what_another_program_says_is_left_out() -> None:
    """Unlike the kernel's, its lines have a number."""
    stuck = [f"Nov  1 10:00:00 host kernel: {line}" for line in WAITS]
    other = ["Nov  1 10:00:00 host smartd[7]: ata3: hard resetting link"]
    assert not read(stuck[:1], other, stuck[1:]).reports


def test_what_is_long_over_is_left_out() -> None:
    log = read(at(90, "ata3: hard resetting link"), at(90_000, *WAITS))
    assert not log.reports


def test_it_is_found_far_from_any_stack() -> None:
    filler = at(95, *(f"eth0: link is up {number}" for number in range(30_000)))
    log = read(at(90, "ata3: hard resetting link"), filler, at(100, *WAITS))
    assert [(one.line, one.times) for one in log.reports] == [(1, 1)]
    assert log.tasks[0].line == 30_002


def test_hosts_stand_apart() -> None:
    link = at(90, "ata3: hard resetting link")
    stuck = at(100, *WAITS)

    def of(host: str, *lines: str) -> list[str]:
        return [f"Nov  1 10:00:00 {host} kernel: {line}" for line in lines]

    assert not read(of("alpha", *link), of("beta", *stuck)).reports
    log = read(*(of(host, *link, *stuck) for host in ("alpha", "beta")))
    assert "ata3 on alpha (line 1); resets of the link ata3 on beta" in said(
        log.reports
    )


def test_no_line_takes_long() -> None:
    begun_s = time.process_time()
    for line in LINES:
        read([line * 2000], at(100, *WAITS))
    assert time.process_time() - begun_s < 30
