# SPDX-License-Identifier: GPL-2.0-only
"""This test will link no reports that hours separate, whatever clock the log has."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linked_stacks import STACKS
from log_stacks import Shown, explained, named
from writestall.log.headline import sentence
from writestall.log.links import LIKELY, POSSIBLE, REPORTED, explain_log
from writestall.log.reading import read_log
from writestall.log.text import log_json, report

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def _date(seconds: float) -> tuple[int, str]:
    """Day of November 2026 and time of day."""
    day, rest = divmod(int(seconds), DAY_S)
    return day + 1, f"{rest // HOUR_S:02}:{rest // MINUTE_S % 60:02}:{rest % 60:02}"


def boot(seconds: float) -> str:
    """The kernel's own time, in seconds since the boot."""
    return f"[{seconds:12.6f}] "


def ctime(seconds: float) -> str:
    """As dmesg -T prints it."""
    day, time = _date(seconds)
    return f"[Sun Nov {day:2} {time} 2026] "


def journal(seconds: float) -> str:
    """As journalctl and a syslog of old print it."""
    day, time = _date(seconds)
    return f"Nov {day:02} {time} vault kernel: "


def iso(seconds: float) -> str:
    """RFC 5424, and journalctl -o short-iso."""
    day, time = _date(seconds)
    return f"2026-11-{day:02}T{time}.123456+01:00 vault kernel: "


def both(seconds: float) -> str:
    """A machine that was started again each day: its own time tells nothing."""
    day, time = _date(seconds)
    return f"Nov {day:2} {time} vault kernel: [{seconds % DAY_S:12.6f}] "


def slashes(seconds: float) -> str:
    """Viewers that print the month before the day."""
    day, time = _date(seconds)
    return f"11/{day:02}/2026 {time} vault kernel: "


def dots(seconds: float) -> str:
    """And the day before the month."""
    day, time = _date(seconds)
    return f"{day:02}.11.2026 {time} vault kernel: "


def year_first(seconds: float) -> str:
    """Viewers that print slashes in the order of ISO 8601."""
    day, time = _date(seconds)
    return f"2026/11/{day:02} {time} vault kernel: "


def levelled(seconds: float) -> str:
    """dmesg -x -T: with facility and level."""
    return f"kern  :err   : {ctime(seconds)}"


CLOCKS = (boot, ctime, journal, iso, both, slashes, dots, year_first, levelled)
Clock = Callable[[float], str]


def at(clock: Clock, seconds: float, lines: list[str]) -> list[str]:
    """The same lines, printed at that time."""
    return [clock(seconds) + line for line in lines]


def task(name: str, pid: int, comm: str = "") -> Shown:
    """One of the stacks of the tests of holders."""
    return Shown(comm or name[:15], pid, STACKS[name])


BACKUP, JOURNAL = task("handle", 4101, "backup"), task("updates", 350, "jbd2/sda1-8")
PG = task("fsync", 77, "pg")


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("gap_s", [20 * MINUTE_S, 3 * HOUR_S, 8 * DAY_S])
def test_reports_apart_are_not_joined(clock: Clock, gap_s: int) -> None:
    answer = explained(
        at(clock, 1000, BACKUP.report()),
        at(clock, 1000 + gap_s, JOURNAL.report()),
        at(clock, 1001 + gap_s, PG.report()),
    )
    assert named(answer) == {"pg": ("jbd2/sda1-8", LIKELY)}
    text = sentence(answer, "log")
    assert "3 stuck tasks in log, in 2 moments: 2 of them come down to" in text


@pytest.mark.parametrize("clock", CLOCKS)
def test_reports_of_one_check_are_joined(clock: Clock) -> None:
    """kernel/hung_task.c: until the next check, and that after it."""
    answer = explained(
        at(clock, 1000, BACKUP.report()), at(clock, 1200, JOURNAL.report())
    )
    assert named(answer) == {"backup": ("jbd2/sda1-8", LIKELY)}
    assert "moments" not in sentence(answer, "log")


def test_a_new_year_is_no_gap() -> None:
    answer = explained(
        at(lambda _: "Dec 31 23:59:59 vault kernel: ", 0, BACKUP.report()),
        at(lambda _: "Jan  1 00:00:01 vault kernel: ", 0, JOURNAL.report()),
    )
    assert named(answer) == {"backup": ("jbd2/sda1-8", LIKELY)}


@pytest.mark.parametrize(("timeout_s", "joined"), [(122, False), (622, True)])
def test_the_timeout_is_the_reports_own(timeout_s: int, joined: bool) -> None:
    """kernel.hung_task_timeout_secs."""
    reports = [
        line.replace("122 seconds", f"{timeout_s} seconds")
        for line in (
            *at(boot, 1000, BACKUP.report()),
            *at(boot, 2000, JOURNAL.report()),
        )
    ]
    assert bool(explained(reports).links) is joined


@pytest.mark.parametrize(("hung_s", "joined"), [(245, False), (1106, True)])
def test_who_hung_when_another_was_reported(hung_s: int, joined: bool) -> None:
    """A report says since when: kernel/hung_task.c counts from the last switch."""
    later = [
        line.replace("122 seconds", f"{hung_s} seconds") for line in JOURNAL.report()
    ]
    answer = explained(at(boot, 1000, BACKUP.report()), at(boot, 2000, later))
    assert bool(answer.links) is joined


def test_reports_that_are_suppressed_end_no_moment() -> None:
    """After hung_task_warnings a task that is still stuck is not reported again."""
    answer = explained(
        at(boot, 1000, BACKUP.report()),
        "[ 1000.100000] Future hung task reports are suppressed, see sysctl "
        "kernel.hung_task_warnings",
        at(boot, 9000, JOURNAL.report()),
    )
    ((link),) = answer.links.values()
    assert link.confidence == POSSIBLE and link.hint
    assert "2.2 h later" in link.why


def test_small_gaps_add_up() -> None:
    """Each report follows the one before, and the first is long over at the last."""
    between = [task("lookup", 500 + at_s, f"x{at_s}") for at_s in range(3)]
    rows = [BACKUP, *between, JOURNAL]
    answer = explained(
        *(at(boot, 1000 + 200 * n, row.report()) for n, row in enumerate(rows))
    )
    assert "backup" not in named(answer)


LOCK = "ffff8a14161a39c8 (&sb->s_type->i_mutex_key#17){+.+.}-{3:3}, at: %s+0x1/0x9"
WANTS = Shown("a", 101, "schedule down_write btrfs_remap_file_range/btrfs vfs_ioctl")
HOLDS = Shown("b", 102, "schedule wait_current_trans/btrfs btrfs_clone/btrfs vfs_ioctl")
LISTS = [
    "Showing all locks held in the system:",
    "1 lock held by a/101:",
    " #0: " + LOCK % "btrfs_remap_file_range",
    "1 lock held by b/102:",
    " #0: " + LOCK % "btrfs_clone",
]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("gap_s", "confidence"), [(1, REPORTED), (3 * HOUR_S + 36 * MINUTE_S, LIKELY)]
)
def test_a_list_of_locks_has_its_time(
    clock: Clock, gap_s: int, confidence: str
) -> None:
    answer = explained(
        at(clock, 1000, WANTS.lines()),
        at(clock, 1000, HOLDS.lines()),
        at(clock, 1000 + gap_s, LISTS),
    )
    assert named(answer) == {"a": ("b", confidence)}
    late = confidence == LIKELY
    assert ("3.6 h after the stack" in answer.links[0].why) is late
    assert ("may come down to" in sentence(answer, "log")) is late


def test_a_list_of_the_next_boot_shows_nothing() -> None:
    answer = explained(
        at(boot, 1000, WANTS.lines()),
        at(boot, 1000, HOLDS.lines()),
        "[    0.000000] Linux version 6.18.2",
        at(boot, 1001, LISTS),
    )
    assert "lockdep" not in " ".join(link.why for link in answer.links.values())


def test_the_list_beside_the_stack_comes_first() -> None:
    """A list of hours later names another owner by then."""
    later = [line.replace("b/102", "c/103") for line in LISTS]
    answer = explained(
        at(boot, 1000, [*WANTS.lines(), *HOLDS.lines(), *LISTS]),
        at(boot, 9000, later),
    )
    assert named(answer) == {"a": ("b", REPORTED)}


def test_the_answer_says_when() -> None:
    answer = explained(
        at(ctime, 1000, BACKUP.report()), at(ctime, DAY_S, JOURNAL.report())
    )
    rows = list(report(answer, "log"))
    assert any("backup/4101" in row and "at Nov  1 00:16:40" in row for row in rows)
    times = [row["time"] for row in log_json(answer)["tasks"]]
    assert times == ["Nov  1 00:16:40 2026", "Nov  2 00:00:00 2026"]


def clock_only(seconds: float) -> str:
    """A time of the day without a day."""
    return f"{_date(seconds)[1]} vault kernel: "


def test_times_of_a_day() -> None:
    """Midnight is no gap; hours are."""
    near = explained(
        at(clock_only, DAY_S - 30, BACKUP.report()),
        at(clock_only, DAY_S + 30, JOURNAL.report()),
    )
    assert named(near) == {"backup": ("jbd2/sda1-8", LIKELY)}
    far = explained(
        at(clock_only, 3 * HOUR_S, BACKUP.report()),
        at(clock_only, 9 * HOUR_S, JOURNAL.report()),
    )
    assert not far.links


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sun Nov  1 03:00:00 UTC 2026", "Sun Nov  1 09:00:00 UTC 2026"),
        ("Sun Nov  1 03:00:00 AM CET 2026", "Mon Nov  2 03:00:00 AM CET 2026"),
        ("2026-11-01 03:00:00+01:00", "2026-11-01 09:00:00+01:00"),
        (" 03:00:00 up 10 days,  1:02,  2 users", " 09:00:00 up 10 days,  7:02"),
        (
            "Every 2.0s: cat /proc/1/stack   vault: Sun Nov  1 03:00:00 2026",
            "Every 2.0s: cat /proc/1/stack   vault: Sun Nov  1 09:00:00 2026",
        ),
    ],
)
def test_a_line_that_is_a_date(one: str, other: str) -> None:
    """Stacks without times of their own, and what date(1) printed before them."""
    stacks = [
        ["cat /proc/4101/stack", "[<0>] start_this_handle+0x1/0x9 [jbd2]"],
        ["cat /proc/350/stack", "[<0>] jbd2_journal_commit_transaction+0x1/0x9 [jbd2]"],
    ]
    assert explained(one, stacks[0], one, stacks[1]).links
    assert not explained(one, stacks[0], other, stacks[1]).links


@pytest.mark.parametrize(("gap_s", "sure"), [(0, REPORTED), (3 * HOUR_S, LIKELY)])
def test_an_owner_named_hours_later(gap_s: int, sure: str) -> None:
    said = "INFO: task backup:4101 is blocked on a mutex likely owned by task v:12."
    answer = explained(at(boot, 1000, BACKUP.report()), at(boot, 1000 + gap_s, [said]))
    ((link),) = answer.links.values()
    assert link.confidence == sure
    assert ("3.0 h after the stack" in link.why) is bool(gap_s) is link.hint


TIMES = st.lists(
    st.tuples(
        st.sampled_from(sorted(STACKS)), st.integers(1, 9), st.integers(0, 30 * 60)
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=150)
@given(TIMES, st.sampled_from(CLOCKS), st.booleans(), st.booleans())
def test_no_link_crosses_moments_unmarked(
    drawn: list[tuple[str, int, int]], clock: Clock, suppressed: bool, owners: bool
) -> None:
    """Each says so, and is a step less sure."""
    lines: list[str] = []
    for name, pid, seconds in sorted(drawn, key=lambda one: one[2]):
        shown = Shown(f"t{pid}", pid, STACKS[name])
        said = f"INFO: task t{drawn[0][1]}:{drawn[0][1]} is blocked on a mutex likely "
        said += f"owned by task t{pid}:{pid}."
        lines += at(clock, seconds, shown.report(*([said] if owners else [])))
        if suppressed:
            lines += at(clock, seconds, ["Future hung task reports are suppressed"])
    for link in explain_log(read_log(lines)).links.values():
        near = any(
            abs(one - other) <= 2 * 122
            for n1, p1, one in drawn
            for n2, p2, other in drawn
            if p1 == link.waiter.task.pid and p2 == link.holder.task.pid
        )
        # A line about a task whose stack comes later is of its own moment.
        same = link.waiter.shots & link.holder.shots
        near |= not link.waiter.task.frames and bool(same)
        marked = "it was reported" in link.why or "after the stack" in link.why
        assert near or (link.hint and marked and link.confidence != REPORTED)


@pytest.mark.parametrize(("quoted", "joined"), [("> ", True), ("> > ", False)])
def test_what_mails_quoted_is_of_other_moments(quoted: str, joined: bool) -> None:
    """Stacks of /proc have no time; those of another mail are of another day."""
    lines = [
        *("> cat /proc/7/stack", "> [<0>] wait_current_trans+0x1/0x2"),
        "> [<0>] start_transaction+0x1/0x2",
        *(f"{quoted}cat /proc/8/stack", f"{quoted}[<0>] write_all_supers+0x1/0x2"),
        f"{quoted}[<0>] btrfs_commit_transaction+0x1/0x2",
    ]
    assert bool(explained(*lines).links) is joined
    # One of them has a time, which says nothing of the other.
    timed = [re.sub(r"(?<=> )(?=\[<0>\] w)", "[  363.1] ", line) for line in lines]
    assert bool(explained(*timed).links) is joined


def test_a_head_that_a_mailer_wrapped_keeps_its_time() -> None:
    """Both reports are wrapped behind `more than`, and 12 minutes apart."""
    lines = []
    for start, comm, pid, stack in (
        (43621, "kjournald2", 702, "schedule jbd2_journal_commit_transaction kthread"),
        (44346, "writer", 732, "schedule wait_transaction_locked start_this_handle"),
    ):
        at = f"> [{start}.876315] "
        lines += [
            f"{at}INFO: task {comm}:{pid} blocked for more than",
            "> 120 seconds.",
            f"{at}      Not tainted 4.19.0 #1",
            f"{at}{comm} D    0 {pid}      2 0x80000000",
            f"{at}Call Trace:",
            *(f"{at} {name}+0x10/0x90" for name in stack.split()),
        ]
    answer = explain_log(read_log(lines))
    assert [row.task.pid for row in answer.tasks] == [702, 732]
    assert not answer.links
