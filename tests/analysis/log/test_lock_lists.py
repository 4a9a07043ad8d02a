# SPDX-License-Identifier: GPL-2.0-only
"""This test will tell who holds a lock of lockdep's lists from who waits for it."""

from __future__ import annotations

from log_stacks import Shown, explained, named
from writestall.log.links import REPORTED

HEAD = "Showing all locks held in the system:"
MUTEX = "schedule __mutex_lock "
OPEN = " #0: ffff88801a (&disk->open_mutex){+.+.}-{3:3}, at: "
OTHER = " #1: ffff88801b (&lo->lo_mutex){+.+.}-{3:3}, at: "
CLOSES = Shown("closes", 11, MUTEX + "blkdev_put blkdev_close __fput")
OPENS = Shown("opens", 12, MUTEX + "blkdev_get_by_dev blkdev_open do_dentry_open")
FREEZES = Shown("freezes", 14, "schedule blk_mq_freeze_queue_wait loop_set_status")


def listed(name: str, *entries: str) -> list[str]:
    """The locks of one task."""
    return [f"{len(entries)} locks held by {name}:", *entries]


def test_the_part_of_a_function_that_takes_the_lock() -> None:
    """The compiler's names of a list and those of a stack are of one function."""
    answer = explained(
        CLOSES.report(),
        OPENS.report(),
        HEAD,
        listed("closes/11", OPEN + "blkdev_put+0x97/0x9e0"),
        listed("opens/12", OPEN + "blkdev_get_by_dev.part.0+0x9b/0xb50"),
    )
    assert not answer.links


def test_who_sleeps_for_a_lock_elsewhere_than_its_list_says_is_in_doubt() -> None:
    """A third that has gone on surely holds it."""
    answer = explained(
        CLOSES.report(),
        Shown("opens", 12, MUTEX + "odd_function").report(),
        Shown("probes", 13, "schedule foo_probe/foo bdev_open").report(),
        HEAD,
        listed("closes/11", OPEN + "blkdev_put+0x97/0x9e0"),
        listed("opens/12", OPEN + "bdev_open+0x9b/0xb50"),
        listed("probes/13", OPEN + "bdev_open+0x9b/0xb50"),
    )
    assert named(answer)["closes"] == ("probes", REPORTED)


def test_a_task_without_a_stack_waits_for_what_another_holds() -> None:
    """A mutex has one owner, who sleeps for something else."""
    lists = [
        *listed(
            "udevd/13",
            OPEN + "blkdev_get_by_dev+0x9b/0xb50",
            OTHER + "lo_open+0x75/0x120",
        ),
        *listed("freezes/14", OTHER.replace("#1", "#0") + "loop_set_status+0x2a/0x9"),
    ]
    answer = explained(OPENS.report(), FREEZES.report(), HEAD, lists[:3], lists[3:])
    assert not named(answer) or "udevd" not in named(answer)
    opens = listed("opens/12", OPEN + "blkdev_get_by_dev+0x9b/0xb50")
    answer = explained(OPENS.report(), FREEZES.report(), HEAD, opens, lists)
    assert named(answer) == {
        "opens": ("udevd", REPORTED),
        "udevd": ("freezes", REPORTED),
    }


def test_readers_of_a_lock_do_not_wait_for_each_other() -> None:
    """{++++}: some have taken it for reading."""
    lock = " #0: ffff88801c (&type->s_umount_key#3){++++}-{4:4}, at: "
    waits = Shown("waits", 11, "schedule rwsem_down_write_slowpath down_write odd")
    answer = explained(
        waits.report(),
        FREEZES.report(),
        HEAD,
        listed("waits/11", lock + "odd+0x1/0x2"),
        listed("udevd/13", lock + "foo+0x1/0x2"),
        listed("freezes/14", lock + "loop_set_status+0x1/0x2"),
    )
    assert "udevd" not in named(answer)


def test_a_task_that_cannot_die_and_is_blocked_is_one_report() -> None:
    """linux-next reports both, one after the other."""
    lines = [
        line
        for task in (CLOSES, FREEZES)
        for word in ("can't die", "blocked")
        for line in (row.replace("blocked", word) for row in task.report())
    ]
    answer = explained(lines)
    assert len(answer.tasks) == 2 and {len(task.seen) for task in answer.tasks} == {1}


def test_a_list_that_names_each_inlined_function() -> None:
    """The one that a stack shows is not the last."""
    name = "ffff88801d (&type->s_umount_key#3){++++}-{3:3}, at: "
    waits = Shown("umount", 11, "schedule down_write __super_lock deactivate_super")
    inlined = [f" #0: {name}{at}" for at in ("__super_lock super.c:56 [inline]", "foo")]
    answer = explained(
        waits.report(),
        HEAD,
        ["1 lock held by umount/11:", *inlined],
        listed(
            "writes/13", f" #0: {name}super_lock+0x1/0x2", OTHER + "lo_open+0x1/0x2"
        ),
    )
    assert named(answer)["umount"] == ("writes", REPORTED)


def test_a_number_on_a_line_of_its_own() -> None:
    """What stands before the entries of the inlined functions, as a mailer cut it."""
    entry = OPEN.removeprefix(" #0: ")
    cut = [" #0:", entry + "inode_lock fs.h:1 [inline]", entry + "odd+0x1/0x2"]
    answer = explained(
        CLOSES.report(),
        FREEZES.report(),
        HEAD,
        listed("closes/11", OPEN + "blkdev_put+0x97/0x9e0"),
        ["1 lock held by freezes/14:", *cut],
    )
    assert named(answer)["closes"] == ("freezes", REPORTED)


def test_a_stack_of_doubtful_frames_sleeps_for_the_last_lock_of_its_list() -> None:
    lines = CLOSES.report()
    doubtful = [row.replace(" ", " ? ", 1) if "+0x" in row else row for row in lines]
    answer = explained(
        doubtful,
        FREEZES.report(),
        HEAD,
        listed("closes/11", OPEN + "lock_it+0x97/0x9e0"),
        listed("freezes/14", OPEN + "loop_set_status+0x2a/0x9"),
    )
    assert named(answer)["closes"] == ("freezes", REPORTED)


def test_a_mutex_that_a_function_holds_while_it_waits_for_other_things() -> None:
    """Its list names the function, and its stack has no function of a mutex."""
    held = " #0: ffffff01 (rcu_state.exp_mutex){+.+.}-{3:3}, at: "
    funnel = MUTEX + "exp_funnel_lock synchronize_rcu_expedited"
    answer = explained(
        Shown("waits", 11, "schedule synchronize_rcu_expedited mnt_drop").report(),
        Shown("queues", 12, funnel).report(),
        HEAD,
        listed("waits/11", held + "synchronize_rcu_expedited+0x4f/0x9e0"),
        listed("queues/12", held + "exp_funnel_lock+0x1c/0x500"),
    )
    assert named(answer) == {"queues": ("waits", REPORTED)}
