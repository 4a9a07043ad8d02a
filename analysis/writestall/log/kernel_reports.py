# SPDX-License-Identifier: GPL-2.0-only
"""kernel_reports: read what a log reports of disks, servers and the kernel itself.

These lines are no stacks, but tell why a disk does not answer, or who died with a lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from writestall.log.boots import Boots
from writestall.log.logged import LoggedTask
from writestall.log.times import Time, gap_s, time_of

_SCSI = r"\d{1,4}:\d{1,4}:\d{1,4}:\d{1,8}"
# What stands in each such line, its form, what it reports, and who prints it.
KINDS: tuple[tuple[str, str, str, str], ...] = (
    (
        " error, dev ",
        r" error, dev (?P<what>[\w!-]{1,32})\b",
        "I/O errors of {what}",
        "block/blk-mq.c blk_print_req_error()",
    ),
    (
        "Buffer I/O error on dev",
        r"Buffer I/O error on dev(?:ice)? (?P<what>[\w!-]{1,32})\b",
        "I/O errors of {what}",
        "fs/buffer.c buffer_io_error()",
    ),
    (
        " resetting link",
        r"\b(?P<what>ata\d{1,4})(?:\.\d{1,3})?: (?:hard|soft) resetting link",
        "resets of the link {what}",
        "drivers/ata/libata-eh.c ata_eh_reset()",
    ),
    (
        ": failed command: ",
        r"\b(?P<what>ata\d{1,4})\.\d{1,3}: failed command: ",
        "failed commands of {what}",
        "drivers/ata/libata-eh.c ata_eh_link_report()",
    ),
    (
        "timing out command, waited",
        r"\[(?P<what>\w{1,16})\] .{0,20}timing out command, waited",
        "commands of {what} that time out",
        "drivers/scsi/scsi_lib.c scsi_cmd_runtime_exceeced()",
    ),
    (
        "Sense Key : ",
        r"\[(?P<what>\w{1,16})\] .{0,20}Sense Key : (?:Hardware|Medium) Error",
        "hardware or medium errors of {what}",
        "drivers/scsi/scsi_logging.c scsi_log_print_sense_hdr()",
    ),
    (
        "rejecting I/O to ",
        rf"(?P<what>{_SCSI}): .{{0,20}}rejecting I/O to (?:offline|dead)",
        "I/O that the SCSI device {what} rejects, for it is offline",
        "drivers/scsi/scsi_lib.c scsi_device_state_check()",
    ),
    (
        "Device offlined - not ready",
        rf"(?P<what>{_SCSI}): Device offlined - not ready",
        "the SCSI device {what} that error recovery took offline",
        "drivers/scsi/scsi_error.c scsi_eh_offline_sdevs()",
    ),
    (
        "ttempting task abort",
        rf"(?P<what>{_SCSI}): .{{0,20}}ttempting task abort",
        "commands of the SCSI device {what} that are aborted",
        "drivers/scsi/mpt3sas/mpt3sas_scsih.c scsih_abort()",
    ),
    (
        "nvme nvme",
        r"\bnvme (?P<what>nvme\d{1,4}): I/O (?:tag )?\d{1,6} .{1,80} timeout, ",
        "timeouts of {what}",
        "drivers/nvme/host/pci.c nvme_timeout()",
    ),
    (
        "controller is down; will reset",
        r"\bnvme (?P<what>nvme\d{1,4}): controller is down; will reset",
        "resets of {what}",
        "drivers/nvme/host/pci.c nvme_warn_reset()",
    ),
    (
        "imeout waiting for hardware interrupt",
        r"\b(?P<what>mmc\d{1,3}): Timeout waiting for hardware interrupt",
        "timeouts of {what}",
        "drivers/mmc/host/sdhci.c sdhci_timeout_timer()",
    ),
    (
        "USB disconnect, ",
        r"\busb (?P<what>[\d.-]{1,16}): USB disconnect, ",
        "the USB device {what} that went away",
        "drivers/usb/core/hub.c usb_disconnect()",
    ),
    (
        "peed USB device number ",
        r"\busb (?P<what>[\d.-]{1,16}): reset \S{1,24} USB device number ",
        "resets of the USB device {what}",
        "drivers/usb/core/hub.c hub_port_init()",
    ),
    (
        "Failing path ",
        r"multipath: (?:\d{1,5}:\d{1,7}: )?Failing path (?P<what>[\d:]{3,12})",
        "the path {what} of a multipath device that failed",
        "drivers/md/dm-mpath.c fail_path()",
    ),
    (
        "blocked FC remote port",
        r"blocked FC remote port time out",
        "a Fibre Channel port that is gone",
        "drivers/scsi/scsi_transport_fc.c fc_timeout_deleted_rport()",
    ),
    (
        "ping timeout of ",
        r"ping timeout of \d{1,6} secs expired",
        "a connection of iSCSI that does not answer",
        "drivers/scsi/libiscsi.c iscsi_check_transport_timeouts()",
    ),
    (
        "session recovery timed out",
        r"session recovery timed out after",
        "a session of iSCSI that is lost",
        "drivers/scsi/scsi_transport_iscsi.c session_recovery_timedout()",
    ),
    (
        "PingAck did not arrive",
        r"drbd .{0,40}PingAck did not arrive in time",
        "a peer of DRBD that does not answer",
        "drivers/block/drbd/drbd_receiver.c drbd_ack_receiver()",
    ),
    (
        "Disk failure on ",
        r"\bmd/\S{1,40} Disk failure on (?P<what>\w{1,32})",
        "the member {what} of an array that failed",
        "drivers/md/raid1.c raid1_error()",
    ),
    (
        "out-of-data-space",
        r"device-mapper: thin: .{0,60}out-of-data-space",
        "a thin pool without space",
        "drivers/md/dm-thin.c notify_of_pool_mode_change()",
    ),
    (
        " not responding, ",
        r": server (?P<what>\S{1,80}) not responding, (?:still trying|timed out)",
        "the server {what} that does not respond",
        "net/sunrpc/clnt.c rpc_check_timeout()",
    ),
    (
        "has not responded in ",
        r"(?:Server |\\)(?P<what>[\w.:-]{1,80}) has not responded in \d",
        "the SMB server {what} that does not respond",
        "fs/smb/client/connect.c server_unresponsive()",
    ),
    (
        "reached pool quota",
        r"libceph: FULL or reached pool quota",
        "a pool of Ceph that is full",
        "net/ceph/osd_client.c (4.7 to 4.12)",
    ),
    (
        "full or reached quota",
        r"libceph: .{0,60}pool \d{1,20} is full or reached quota",
        "a pool of Ceph that is full",
        "net/ceph/osd_client.c __submit_request()",
    ),
    (
        "Aborting journal on device",
        r"Aborting journal on device (?P<what>[\w!-]{1,40})",
        "the aborted journal of {what}",
        "fs/jbd2/journal.c jbd2_journal_abort()",
    ),
    (
        "emounting filesystem read-only",
        r"\((?P<what>[\w!-]{1,40})\): Remounting filesystem read-only",
        "{what} that was remounted read-only",
        "fs/ext4/super.c ext4_handle_error()",
    ),
    (
        "EXT4-fs error (device ",
        r"EXT4-fs error \(device (?P<what>[\w!-]{1,40})\)",
        "errors of ext4 on {what}",
        "fs/ext4/super.c __ext4_error()",
    ),
    (
        "BTRFS error (device ",
        r"BTRFS error \(device (?P<what>[\w!-]{1,40})",
        "errors of btrfs on {what}",
        "fs/btrfs/messages.c btrfs_printk()",
    ),
    (
        "metadata I/O error",
        r"XFS \((?P<what>[\w!-]{1,40})\): metadata I/O error",
        "I/O errors of the metadata of XFS on {what}",
        "fs/xfs/xfs_buf.c xfs_buf_ioerror_alert()",
    ),
    (
        "Shutting down filesystem",
        r"XFS \((?P<what>[\w!-]{1,40})\): .{0,160}Shutting down filesystem",
        "{what} that XFS has shut down",
        "fs/xfs/xfs_fsops.c xfs_do_force_shutdown()",
    ),
    (
        "possible memory allocation deadlock",
        r"possible memory allocation deadlock",
        "allocations of XFS that find no memory",
        "fs/xfs/kmem.c kmem_alloc() (before 6.9)",
    ),
    (
        "Out of memory: ",
        r"Out of memory: Kill",
        "processes that were killed to free memory",
        "mm/oom_kill.c __oom_kill_process()",
    ),
    (
        "soft lockup - CPU#",
        r"soft lockup - CPU#(?P<what>\d{1,5}) stuck for",
        "CPU {what} that is locked up",
        "kernel/watchdog.c watchdog_timer_fn()",
    ),
    (
        "workqueue lockup - pool",
        r"BUG: workqueue lockup - pool",
        "a pool of workers that makes no progress",
        "kernel/workqueue.c wq_watchdog_timer_fn()",
    ),
    (
        "detected stall",
        r"\brcu_\w{1,40} (?:self-)?detected stalls? on",
        "grace periods of RCU that do not end",
        "kernel/rcu/tree_stall.h print_other_cpu_stall()",
    ),
    (
        "detected expedited stalls",
        r"\brcu_\w{1,40} detected expedited stalls on",
        "grace periods of RCU that do not end",
        "kernel/rcu/tree_exp.h synchronize_rcu_expedited_stall()",
    ),
    (
        "nable to handle kernel ",
        r"\b[Uu]nable to handle kernel ",
        "an oops (who died may have held a lock)",
        "arch/x86/mm/fault.c show_fault_oops()",
    ),
    (
        "unable to handle page fault",
        r"BUG: unable to handle page fault",
        "an oops (who died may have held a lock)",
        "arch/x86/mm/fault.c show_fault_oops()",
    ),
    (
        "general protection fault",
        r"\bgeneral protection fault.{0,80}: 0000 \[#\d",
        "an oops (who died may have held a lock)",
        "arch/x86/kernel/traps.c exc_general_protection()",
    ),
    (
        "kernel BUG at ",
        r"\bkernel BUG at (?P<what>\S{1,80}?)!",
        "a BUG at {what} (who died may have held a lock)",
        "lib/bug.c __report_bug()",
    ),
)
SIGNS = tuple(dict.fromkeys(sign for sign, *_ in KINDS))
_FORMS = tuple((sign, re.compile(form), words) for sign, form, words, _ in KINDS)
_ANY = re.compile("|".join(map(re.escape, SIGNS)))
# What was reported longer than this before the first stack is another matter.
BEFORE_S = 12 * 3600
SHOWN = 4
_MOST = 1000  # of one host


@dataclass(slots=True)
class Report:
    """What one or several lines report: `line` is the first, `time` that of the last;
    `host` is empty where the log names none."""

    line: int
    words: str
    time: Time | None
    host: str = ""
    times: int = 1


class ReportLines:
    """Collects what the lines of a host report; takes no line away."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Report] = {}

    def line(self, number: int, body: str, stamp: str, boot: int) -> None:
        """Take the next line, of that boot; `stamp` has its time."""
        if not _ANY.search(body):
            return
        for sign, form, words in _FORMS:
            if sign in body and (match := form.search(body)):
                said = words.format(**match.groupdict())
                known = self._found.get((said, boot))
                if known:
                    known.times, known.time = known.times + 1, time_of(stamp)
                elif len(self._found) < _MOST:
                    self._found[said, boot] = Report(number, said, time_of(stamp))
                return

    def near(self, tasks: Iterable[LoggedTask], boots: Boots) -> Iterator[Report]:
        """What was reported in the boots of these tasks, BEFORE_S before at most."""
        firsts: dict[int, LoggedTask] = {}
        for task in tasks:
            firsts.setdefault(boots.number(task.line), task)
        for (_, boot), report in self._found.items():
            first = firsts.get(boot)
            if first and (gap_s(report.time, first.time) or 0) <= BEFORE_S:
                yield report


def said(reports: list[Report]) -> str:
    """What the log has besides stacks, in one line; empty without anything."""
    found = [
        f"{one.words} ({f'{one.times} times, from ' if one.times > 1 else ''}"
        f"line {one.line})"
        for one in reports[:SHOWN]
    ]
    if len(reports) > SHOWN:
        found.append(f"and {len(reports) - SHOWN} more")
    return f"the log also reports: {'; '.join(found)}" if found else ""
