# SPDX-License-Identifier: GPL-2.0-only
"""This test will report what the kernel prints about lock owners, in every form."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, named
from writestall.log.headline import sentence
from writestall.log.links import POSSIBLE, REPORTED, explain_log
from writestall.log.reading import read
from writestall.log.text import log_json, report

WAITS = Shown("editor", 41, "schedule down_write ext4_fallocate/ext4 vfs_fallocate")
OTHER = Shown("packer", 42, "schedule mutex_lock ext4_trim_fs/ext4 ext4_ioctl/ext4")
DISK = "io_schedule blk_mq_get_tag submit_bio_noacct ext4_bread/ext4 ext4_ioctl/ext4"
OWNER = Shown("checker", 77, DISK)
FORMS = (
    "is blocked on a mutex likely owned by task checker:77.",
    "blocked on a semaphore likely last held by task checker:77",
    "is blocked on a semaphore likely last held by task checker:77",
    "<writer> blocked on an rw-semaphore likely owned by task checker:77 <writer>",
    "<reader> blocked on an rw-semaphore likely owned by task checker:77 <writer>",
    "<writer> blocked on an rw-semaphore likely owned by task checker:77 <reader>",
    "<writer> is blocked on an rw-semaphore likely owned by task checker:77 <reader>",
    "is blocked on an rw-semaphore likely owned by reader task checker:77.",
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_names_the_owner(form: str) -> None:
    """kernel/hung_task.c debug_show_blocker(), since 6.16."""
    said = f"INFO: task editor:41 {form}"
    answer = explained(WAITS.report(said), OWNER.lines())
    assert named(answer) == {"editor": ("checker", REPORTED)}
    assert len(answer.tasks) == 2


def test_a_line_cut_by_a_mailer() -> None:
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task"
    answer = explained(WAITS.report(said, "checker:77."), OWNER.lines())
    assert named(answer) == {"editor": ("checker", REPORTED)}


@pytest.mark.parametrize(
    "form",
    [
        "is blocked on a mutex, but the owner is not found.",
        "is blocked on a semaphore, but the last holder is not found.",
        "is blocked on an rw-semaphore, but the owner is not found.",
    ],
)
def test_an_owner_that_is_not_found(form: str) -> None:
    """The line is not the header of a stack, and names no known task."""
    answer = explained(WAITS.report(f"INFO: task editor:41 {form}"), OWNER.report())
    assert [task.task.comm for task in answer.tasks] == ["editor", "checker"]
    assert REPORTED not in {link.confidence for link in answer.links.values()}


@pytest.mark.parametrize(
    ("state", "words"),
    [("S", "sleeps interruptibly"), ("R", "holds the lock and runs")],
)
def test_an_owner_in_another_state(state: str, words: str) -> None:
    """The kernel shows an owner in any state; the chain continues to it."""
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task checker:77."
    owner = Shown("checker", 77, DISK, state=state)
    answer = explained(WAITS.report(said), owner.lines())
    assert named(answer) == {"editor": ("checker", REPORTED)} and answer.not_stuck == 0
    first = next(report(answer, "log"))
    assert first.startswith("1 stuck task in log: editor/41 comes down to checker/77")
    assert words in first


def test_an_owner_without_a_stack() -> None:
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task gone:78."
    answer = explained(WAITS.report(said))
    assert named(answer) == {"editor": ("gone", REPORTED)}
    row = log_json(answer)["tasks"][1]
    assert (row["comm"], row["pid"], row["owner"]) == ("gone", 78, True)
    assert "its stack is not in the log" in next(report(answer, "log"))


@pytest.mark.parametrize(
    "header", [[], ["INFO: task waiter:80 blocked for more than 122 seconds."]]
)
def test_a_waiter_without_a_stack(header: list[str]) -> None:
    """A ring buffer that has wrapped, or lines that were dropped, may leave the line
    about the owner alone."""
    said = [
        "INFO: task waiter:80 is blocked on a mutex likely owned by task editor:41.",
        "INFO: task editor:41 is blocked on a mutex likely owned by task gone:78.",
    ]
    lines = [*header, said[0], *WAITS.report(said[1])]
    log = read(["\n".join(lines).encode()])
    answer = explain_log(log.tasks)
    assert named(answer) == {
        "waiter": ("editor", REPORTED),
        "editor": ("gone", REPORTED),
    }
    assert not log.unshown
    text = "\n".join(report(answer, "log"))
    assert "waiter/80 (other)  is stuck; its stack is not in the log" in text


def test_a_pid_under_another_name_is_another_task() -> None:
    """The owner has gone, and its number was given again."""
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task gone:42."
    answer = explained(WAITS.report(said), OTHER.report())
    assert named(answer) == {"editor": ("gone", REPORTED)}
    assert [task.task.comm for task in answer.tasks] == ["editor", "packer", "gone"]
    assert "gone/42 (other), which holds the lock (its stack" in sentence(answer, "log")


@pytest.mark.parametrize(
    ("form", "sure"),
    [
        ("is blocked on a mutex likely owned by task {}.", True),
        ("blocked on a semaphore likely last held by task {}", False),
        ("<writer> blocked on an rw-semaphore likely owned by task {} <writer>", True),
        ("<writer> blocked on an rw-semaphore likely owned by task {} <reader>", False),
    ],
)
def test_who_held_it_last_may_have_released_it(form: str, sure: bool) -> None:
    """kernel/locking/semaphore.c, rwsem.c: it took it, and may have released it."""
    lines = []
    for task, owner in ((WAITS, OTHER), (OTHER, WAITS)):
        said = form.format(f"{owner.comm}:{owner.pid}")
        lines += task.report(f"INFO: task {task.comm}:{task.pid} {said}")
    text = sentence(explained(lines), "log")
    assert ("deadlock" in text) is sure and ("may wait in a circle" in text) is not sure
    text = sentence(explained(lines[: len(lines) // 2], OTHER.report()), "log")
    assert ("may come down" in text) is not sure


def test_a_list_that_contradicts_the_owner_is_said() -> None:
    """They are printed at different moments; neither is proven."""
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task checker:77."
    answer = explained(
        WAITS.report(said),
        OWNER.report(),
        OTHER.report(),
        HEAD,
        lock_list(WAITS, WANTED),
        lock_list(OTHER, HELD),
    )
    assert named(answer)["editor"] == ("checker", REPORTED)
    assert "may come down to checker/77" in sentence(answer, "log")
    assert "#9 as held by packer/42" in "\n".join(report(answer, "log"))


def test_an_owner_belongs_to_its_report() -> None:
    """The task is reported twice, in two waits; each has its own owner."""
    first = (
        "INFO: task editor:41 is blocked on a mutex likely owned by task checker:77."
    )
    again = Shown("editor", 41, "schedule mutex_lock ext4_trim_fs/ext4 ext4_ioctl/ext4")
    last = "INFO: task editor:41 is blocked on a mutex likely owned by task packer:42."
    answer = explained(
        WAITS.report(first), OWNER.lines(), again.report(last), OTHER.report()
    )
    found = {
        answer.tasks[at].verdict.cls: link.holder.task.comm
        for at, link in answer.links.items()
    }
    assert found["inode_lock"] == "checker" and found["fs_lock"] == "packer"


def test_an_owner_shown_twice_begins_no_new_shot() -> None:
    """Two tasks wait for one owner, which the kernel shows after each of them."""
    said = "INFO: task {}:{} is blocked on a mutex likely owned by task checker:77."
    answer = explained(
        WAITS.report(said.format("editor", 41)),
        OWNER.lines(),
        OTHER.report(said.format("packer", 42)),
        OWNER.lines(),
    )
    assert {task.shots for task in answer.tasks} == {frozenset({0})}
    assert len(answer.tasks) == 3


HEAD = "Showing all locks held in the system:"


def lock_list(task: Shown, *locks: str) -> list[str]:
    """The locks of a task as lockdep prints them."""
    entries = [f" #{at}: {lock}" for at, lock in enumerate(locks)]
    return [f"{len(locks)} locks held by {task.comm}/{task.pid}:", *entries]


WANTED = (
    "ffff88810a (&sb->s_type->i_mutex_key#9){++++}-{4:4}, at: ext4_fallocate+0x8a/0x2"
)
HELD = "ffff88810a (&sb->s_type->i_mutex_key#9){++++}-{4:4}, at: ext4_setattr+0x2/0x3"
ELSE = "ffff8881ff (&sb->s_type->i_mutex_key#9){++++}-{4:4}, at: ext4_setattr+0x2/0x3"
WRITERS = "ffff888109 (sb_writers#3){.+.+}-{0:0}, at: vfs_fallocate+0x1/0x2"


def test_lockdep_shows_the_holder() -> None:
    """The last lock of a waiter's list is the one it waits for."""
    answer = explained(
        WAITS.report(),
        OWNER.report(),
        HEAD,
        lock_list(WAITS, WRITERS, WANTED),
        lock_list(OWNER, WRITERS, HELD),
    )
    assert named(answer)["editor"] == ("checker", REPORTED)


def test_lockdep_another_lock_of_the_class_is_another_lock() -> None:
    answer = explained(
        WAITS.report(),
        OWNER.report(),
        HEAD,
        lock_list(WAITS, WANTED),
        lock_list(OWNER, ELSE),
    )
    assert named(answer) == {}


def test_lockdep_two_waiters_hold_nothing_of_each_other() -> None:
    twin = Shown("editor", 43, WAITS.stack)
    answer = explained(
        WAITS.report(),
        twin.report(),
        HEAD,
        lock_list(WAITS, WANTED),
        lock_list(twin, WANTED),
    )
    assert answer.links == {}


def test_lockdep_may_print_an_entry_for_each_inlined_function() -> None:
    """Logs of syzkaller do this: one number, twice."""
    inlined = WANTED.replace("ext4_fallocate+0x8a/0x2", "inode_lock fs.h:1 [inline]")
    twin = Shown("editor", 43, WAITS.stack)
    answer = explained(
        WAITS.report(),
        twin.report(),
        HEAD,
        lock_list(WAITS, inlined, WANTED),
        lock_list(twin, inlined, WANTED),
    )
    assert answer.links == {}


def test_lockdep_a_lock_taken_before_a_completion_is_held() -> None:
    """The last of its list was taken where it sleeps, but it sleeps for no lock."""
    waits = Shown(
        "btrfs",
        71,
        "schedule schedule_timeout wait_for_completion btrfs_quota_disable/btrfs "
        "btrfs_ioctl/btrfs",
    )
    scans = Shown(
        "kworker/u9:1",
        72,
        "schedule btrfs_commit_transaction/btrfs btrfs_qgroup_rescan_worker/btrfs "
        "btrfs_work_helper/btrfs process_one_work worker_thread",
    )
    taken = "ffff8881aa (&fs_info->qgroup_ioctl_lock){+.+.}-{4:4}, at: "
    work = "ffff8881bb ((wq_completion)btrfs-qgroup-rescan){+.+.}-{0:0}, at: "
    answer = explained(
        waits.report(),
        scans.report(),
        HEAD,
        lock_list(waits, WRITERS, taken + "btrfs_quota_disable+0x1/0x2 [btrfs]"),
        lock_list(scans, work + "process_one_work+0x1/0x2"),
    )
    assert named(answer)["btrfs"][0] == "kworker/u9:1"


def test_lockdep_shows_who_cannot_be_the_holder() -> None:
    """A task inside a file operation, if its list has another inode."""
    truncates = Shown("shrinker", 88, "io_schedule __wait_on_buffer ext4_setattr/ext4")
    tasks = [*WAITS.report(), *truncates.report()]
    assert named(explained(tasks)) == {"editor": ("shrinker", POSSIBLE)}
    answer = explained(
        tasks, HEAD, lock_list(WAITS, WANTED), lock_list(truncates, ELSE)
    )
    assert named(answer) == {}


def test_an_owner_on_a_cpu_holds_the_lock_and_runs() -> None:
    """`hung_task_sys_info=all_bt`: stacks of running tasks have no state."""
    said = "INFO: task editor:41 is blocked on a mutex likely owned by task spins:79."
    cpu = [
        "NMI backtrace for cpu 3",
        "CPU: 3 UID: 0 PID: 79 Comm: spins Not tainted 6.18.2 #1",
        "Call Trace:",
        " <NMI>",
        " nmi_cpu_backtrace+0x10/0x90",
        " ext4_trim_fs+0x10/0x90",
        " </TASK>",
    ]
    answer = explained(WAITS.report(said), cpu)
    assert named(answer) == {"editor": ("spins", REPORTED)}
    assert "holds the lock and runs" in next(report(answer, "log"))


def test_lockdep_names_a_holder_without_a_stack() -> None:
    quiet = Shown("backup", 90, "")
    answer = explained(
        WAITS.report(), HEAD, lock_list(WAITS, WANTED), lock_list(quiet, HELD)
    )
    assert named(answer) == {"editor": ("backup", REPORTED)}


def test_lockdep_without_addresses_is_no_more_than_possible() -> None:
    """Before 4.15 a list names classes only; two holders of one class are no answer."""
    lock = " (&sb->s_type->i_mutex_key#9){+.+.+.}, at: [<ffffffff811d9d5c>] {}+0x1/0x2"
    wanted, held = (
        lock.replace("{}", "ext4_fallocate"),
        lock.replace("{}", "do_truncate"),
    )
    two = [*WAITS.report(), *OWNER.report(), HEAD, *lock_list(WAITS, wanted)]
    answer = explained(two, lock_list(OWNER, held))
    assert named(answer)["editor"] == ("checker", POSSIBLE)
    answer = explained(two, lock_list(OWNER, held), lock_list(OTHER, held))
    assert named(answer) == {}


def test_entries_of_a_list_that_a_mailer_cut() -> None:
    """Neither a lock nor the function that took it begins a stack of its own."""
    cut = {
        "two": WANTED.replace("}, at: ", "}, at:\n"),
        "three": WANTED.replace("(&", "\n(&").replace("}, at: ", "}, at:\n"),
    }
    for form, text in cut.items():
        wanted, held = (lock_list(WAITS, text), lock_list(OWNER, HELD))
        lines = "\n".join([*wanted, *held]).splitlines()
        answer = explained(WAITS.report(), OWNER.report(), HEAD, lines)
        assert named(answer)["editor"] == ("checker", REPORTED), form
        assert len(answer.tasks) == 2, form


def test_a_cut_entry_takes_no_report_with_it() -> None:
    cut = lock_list(WAITS, WANTED.split(", at:")[0])
    answer = explained(WAITS.report(), HEAD, cut, OWNER.report())
    assert [task.task.comm for task in answer.tasks] == ["editor", "checker"]


def test_lockdep_turned_off_is_said() -> None:
    answer = explained(WAITS.report(), "INFO: lockdep is turned off.")
    assert any("lockdep is turned off" in line for line in report(answer, "log"))
    answer = explained(WAITS.report())
    assert not any("lockdep" in line for line in report(answer, "log"))


def test_a_stack_of_proc_behind_the_line_that_names_the_owner() -> None:
    """The kernel showed no stack; somebody printed them from /proc afterwards."""
    answer = explained(
        "[  453.55] INFO: task bash:2644 blocked for more than 147 seconds.",
        "[  453.55] INFO: task bash:2644 is blocked on a mutex likely owned by task "
        "rpc.nfsd:2761.",
        "cat /proc/2644/stack",
        "[<0>] write_v4_end_grace+0x1/0x2 [nfsd]",
        "[<0>] vfs_write+0x1/0x2",
        "cat /proc/2761/stack",
        "[<0>] call_usermodehelper_exec+0x1/0x2",
        "[<0>] nfsd_svc+0x1/0x2 [nfsd]",
    )
    (link,) = answer.links.values()
    assert (link.waiter.task.pid, link.holder.task.pid) == (2644, 2761)
    assert link.confidence == REPORTED
