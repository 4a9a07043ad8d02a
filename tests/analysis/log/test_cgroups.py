# SPDX-License-Identifier: GPL-2.0-only
"""This test will tell limits of cgroups apart, and name the cgroup where it is said."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained
from writestall.log import reading
from writestall.log.headline import sentence
from writestall.log.links import explain_log
from writestall.log.text import log_json, report

SUBMIT = (
    " __rq_qos_throttle blk_mq_submit_bio submit_bio_noacct ext4_file_write_iter/ext4"
)
WAITS = (
    ("io_schedule rq_qos_wait wbt_wait" + SUBMIT, "wbt"),
    ("io_schedule ioc_rqos_throttle" + SUBMIT, "share of its cgroup (io.weight)"),
    ("io_schedule rq_qos_wait blkcg_iolatency_throttle" + SUBMIT, "io.latency"),
    ("io_schedule blkcg_maybe_throttle_current exit_to_user_mode_loop", "name of its"),
    ("schedule __blk_throtl_bio submit_bio_noacct", "the io.max of its cgroup"),
)


@pytest.mark.parametrize(("stack", "words"), WAITS)
def test_each_limit_in_words(stack: str, words: str) -> None:
    """One class, and only the one limit is named."""
    answer = explained(Shown("hog", 71, stack).report())
    said = sentence(answer, "log")
    assert answer.tasks[0].verdict.cls == "block_queue" and words in said
    assert [text for _, text in WAITS if text in said] == [words]


def test_who_throttles_is_not_told_where_the_stack_is_cut_off() -> None:
    """rq_qos_wait() serves several (block/blk-rq-qos.c)."""
    said = sentence(
        explained(Shown("hog", 71, "io_schedule rq_qos_wait").report()), "log"
    )
    assert not [text for _, text in WAITS if text in said]


FRAMES = "[<0>] ioc_rqos_throttle+0x1e5/0x6a0\n[<0>] __rq_qos_throttle+0x25/0x40\n"
FORMS = {
    "head": "==> /proc/71/comm <==\nhog\n==> /proc/71/cgroup <==\n0::/a.slice/b.service"
    "\n\n==> /proc/71/stack <==\n" + FRAMES,
    "grep": "/proc/71/comm:hog\n/proc/71/cgroup:0::/a.slice/b.service\n"
    + "".join(f"/proc/71/stack:{row}\n" for row in FRAMES.splitlines()),
    "thread": "/proc/70/task/71/cgroup:0::/a.slice/b.service\n"
    "==> /proc/70/task/71/stack <==\n" + FRAMES,
    "behind": "==> /proc/71/stack <==\n"
    + FRAMES
    + "==> /proc/71/cgroup <==\n0::/a.slice/b.service\n",
    "version 1": "==> /proc/71/cgroup <==\n9:memory:/other\n"
    "4:cpu,blkio:/a.slice/b.service\n1:name=systemd:/third\n==> /proc/71/stack <==\n"
    + FRAMES,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_cgroup_beside_a_stack(form: str) -> None:
    """As people print /proc: the answer's first line, row and table name it."""
    answer = explain_log(reading.read([FORMS[form].encode()]).tasks)
    (task,) = answer.tasks
    assert (task.task.pid, task.task.cgroup) == (71, "/a.slice/b.service")
    lines = list(report(answer, "log"))
    assert "its cgroup /a.slice/b.service" in lines[0]
    assert lines[-1].endswith("in cgroup /a.slice/b.service")
    assert log_json(answer)["tasks"][0]["cgroup"] == "/a.slice/b.service"


OOM = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
    "oom_memcg=/k,task_memcg=/k/node,task=hog,pid={},uid=0"
)
HOG = Shown("hog", 71, "schedule jbd2_log_wait_commit/jbd2 ext4_sync_file/ext4 do_exit")


@pytest.mark.parametrize(
    ("pid", "between", "cgroup"),
    [
        (71, "", "/k/node"),
        (72, "", None),
        (71, "sysrq: Show Blocked State", "/k/node"),
        (71, "Linux version 6.18.2 (gcc) #1", None),
    ],
)
def test_the_cgroup_that_the_oom_killer_names(
    pid: int, between: str, cgroup: str | None
) -> None:
    """mm/oom_kill.c: for the task it kills; after a boot the pid is another's."""
    answer = explained(OOM.format(pid), between, HOG.report())
    assert answer.tasks[0].task.cgroup == cgroup


def test_the_oom_killer_far_from_the_stack() -> None:
    noise = "kernel: usb 1-1: new device\n" * 500
    log = OOM.format(71) + "\n" + noise + "\n".join(HOG.report())
    (task,) = reading.read([log.encode()]).tasks
    assert task.cgroup == "/k/node"
