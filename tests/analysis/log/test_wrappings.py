# SPDX-License-Identifier: GPL-2.0-only
"""This test will read one report in all forms in which logs are pasted."""

from __future__ import annotations

import bz2
import gzip
import html
import json
import lzma
import quopri
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_stacks import Shown, explained
from writestall.cli.main import main
from writestall.log import reading
from writestall.log.links import REPORTED
from writestall.log.reading import Log, LoggedTask
from writestall_base.errors import UserError

Capture = pytest.CaptureFixture[str]

SYMBOLS = (
    "__schedule io_schedule folio_wait_bit_common __folio_lock write_cache_pages "
    "ext4_writepages do_writepages writeback_sb_inodes wb_workfn process_one_work "
    "worker_thread kthread ret_from_fork ret_from_fork_asm"
).split()
LINES = [
    "INFO: task kworker/u9:2:412 blocked for more than 245 seconds.",
    "      Tainted: G        W  O       6.17.4 #3",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "task:kworker/u9:2    state:D stack:0     pid:412   tgid:412   ppid:2      "
    "task_flags:0x4208060 flags:0x00080000",
    "Workqueue: writeback wb_workfn (flush-253:3)",
    "Call Trace:",
    " <TASK>",
    *(f" {name}+0x{31 * at + 9:x}/0x{400 + at:x}" for at, name in enumerate(SYMBOLS)),
    " </TASK>",
]
STAMPED = [f"[{800 + at / 1e6:12.6f}] {line}" for at, line in enumerate(LINES)]
SYSLOG = [f"Mar  9 04:30:01 vault kernel: {line}" for line in STAMPED]
TEXT = "\n".join(STAMPED) + "\n"


def read(data: bytes | str) -> Log:
    """The log in a text, passed in small pieces."""
    raw = data.encode() if isinstance(data, str) else data
    return reading.read(raw[at : at + 100] for at in range(0, len(raw), 100))


def one(data: bytes | str) -> LoggedTask:
    """The only stack in a text; nothing may be missing."""
    (task,) = read(data).tasks
    assert (task.comm, task.pid, task.state) == ("kworker/u9:2", 412, "D")
    assert [frame.symbol for frame in task.frames] == SYMBOLS
    assert task.workqueue and "flush-253:3" in task.workqueue
    return task


def double_spaced(end: str) -> str:
    return "".join(line + end for line in STAMPED)


@pytest.mark.parametrize("end", ["\r\r\n", "\n\n", "\r\n\r\n", "\n\n\n", "\n\r", "\r"])
def test_line_ends_of_consoles_and_copies(end: str) -> None:
    """Serial consoles write CR CR LF; copies from web pages are double-spaced."""
    one(double_spaced(end))


def test_a_blank_line_inside_a_stack() -> None:
    """A page break: the frame after it belongs to the same task."""
    for at in range(8, len(LINES) - 1):
        one("\n".join([*STAMPED[:at], "", *STAMPED[at:]]))


def test_stacks_with_a_blank_line_between_them_stay_two() -> None:
    frames = ["[<0>] submit_bio_wait+0x5/0x9", "[<0>] ext4_sync_fs+0x5/0x9"]
    tasks = read("\n".join([*frames, "", *frames[:1]])).tasks
    assert [len(task.frames) for task in tasks] == [2, 1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    """Windows consoles save UTF-16, with a byte order mark or without."""
    one(TEXT.encode(encoding))


def zstd(data: bytes) -> bytes:
    done = subprocess.run(["zstd", "-q"], input=data, capture_output=True, check=True)
    return done.stdout


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstd,
}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_files(suffix: str, tmp_path: Path, capsys: Capture) -> None:
    """By content; the file name does not matter."""
    if suffix == "zst" and not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    path = tmp_path / "rotated"
    path.write_bytes(COMPRESSED[suffix](TEXT.encode()))
    assert main(["explain", str(path)]) == 0
    assert "kworker/u9:2/412 (writeback)  page_lock" in capsys.readouterr().out


def test_a_compressed_file_that_is_cut_off(tmp_path: Path, capsys: Capture) -> None:
    """The part before the end is answered, and the rest is reported as missing."""
    path = tmp_path / "messages.gz"
    noise = "".join(f"Mar 9 vault cron[{at**7}]: a job\n" for at in range(20_000))
    path.write_bytes(gzip.compress((TEXT + noise).encode())[:-2000])
    assert main(["explain", "--log", str(path)]) == 0
    out = capsys.readouterr().out
    assert "kworker/u9:2/412" in out and "damaged or cut off" in out


def journald(line: str) -> str:
    return json.dumps({"_HOSTNAME": "vault", "PRIORITY": "3", "MESSAGE": line})


RECORDS = {
    "journald": journald,
    "docker": lambda line: json.dumps({"log": line + "\n", "stream": "stdout"}),
    "cloud": lambda line: json.dumps(
        {"jsonPayload": {"message": line}, "labels": {"hostname": "vault"}}
    ),
    "bytes": lambda line: json.dumps(
        {"MESSAGE": list(line.encode()) if "Workqueue" in line else line}
    ),
    "loki": lambda line: json.dumps(
        {"stream": {"host": "vault"}, "values": [["1712", line]]}
    ),
    "pretty": lambda line: json.dumps({"MESSAGE": line, "_HOSTNAME": "v"}, indent=8),
    "export": lambda line: f"__CURSOR=s=1\nMESSAGE={line}\n_HOSTNAME=vault\n",
}


@pytest.mark.parametrize("form", RECORDS)
def test_records_of_loggers(form: str) -> None:
    """A line in a field of each record: JSON, and journalctl's other formats."""
    task = one("\n".join(map(RECORDS[form], LINES)))
    assert task.host in ("vault", "v", "")
    assert bool(task.host) == (form not in ("docker", "bytes"))


def test_one_string_of_json() -> None:
    """A whole log in one field, or one string, its newlines escaped."""
    one(json.dumps(TEXT))
    one(json.dumps({"issue": {"body": TEXT}, "message": None})[:-1] + "}")
    one(json.dumps([journald(line) for line in LINES]))
    one(TEXT.replace("\n", "\\n"))
    one(TEXT.replace("\n", "#012"))


def test_html() -> None:
    """Tags and entities; `<TASK>` is no tag of HTML."""
    escaped = html.escape(TEXT)
    one(f'<html><body><pre class="log">{escaped}</pre></body></html>')
    one(escaped.replace("\n", "<br />\n"))
    one(escaped.replace("\n", "<br>"))
    one("".join(f"<div><span>{html.escape(it)}</span></div>" for it in LINES))
    one(escaped.replace("+", "&#43;").replace(" ", "&nbsp;"))


def test_colours() -> None:
    """`dmesg --color=always`, and how rsyslog escapes it."""
    one(
        "".join(
            f"\x1b[32m{line[:14]}\x1b[0m\x1b[1m{line[14:]}\x1b[0m\n" for line in STAMPED
        )
    )
    one("".join(f"#033[32m{line}#033[0m\n" for line in STAMPED))


@pytest.mark.parametrize(
    "lines", [LINES, STAMPED, SYSLOG], ids=["bare", "time", "syslog"]
)
@pytest.mark.parametrize("between", [" ", "  ", "\t"])
def test_lost_newlines(lines: list[str], between: str) -> None:
    """Everything on one line, as form fields and a shell's $(..) leave it."""
    one(between.join(lines))


def test_mail() -> None:
    """Quoted twice, encoded (RFC 2045), and wrapped at 72 columns."""
    one("".join(f"> > {line}\n" for line in STAMPED))
    encoded = quopri.encodestring(TEXT.encode()).decode()
    assert "=\n" in encoded
    one(encoded)
    head = "Content-Transfer-Encoding: quoted-printable\n\n"
    one(head + encoded.replace("\n", "\r\n"))
    cut = TEXT.replace("blocked for more", "blocked for\n more")
    one(cut.replace(" ppid:2", "\n ppid:2").replace("(flush-", "(flush-"))


def test_inlined_functions_in_lines_of_their_own() -> None:
    """scripts/faddr2line, addr2line -i: where a frame has its code, inner first."""
    text = TEXT.replace(
        "io_schedule+0x28/0x191\n",
        "io_schedule+0x28/0x191:\n"
        "io_schedule_prepare at kernel/sched/core.c:7607\n"
        " (inlined by) io_schedule_finish at kernel/sched/core.c:7620\n"
        " (inlined by) io_schedule_more at kernel/sched/core.c:7621 (discriminator 4)\n"
        "(discriminator 2)\n"
        " (inlined by) io_schedule_most at kernel/sched/core.c:7622\n"
        " (inlined by) io_schedule at kernel/sched/core.c:7634\n",
    )
    assert text != TEXT
    (task,) = read(text).tasks
    names = [frame.symbol for frame in task.frames]
    assert [name for name in names if not name.startswith("io_schedule_")] == SYMBOLS
    assert names[1:6] == [
        "io_schedule_prepare",
        "io_schedule_finish",
        "io_schedule_more",
        "io_schedule_most",
        "io_schedule",
    ]


ELF = b"\x7fELF\x02\x01\x01" + b"\0" * 9


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x04\0" + b"\0" * 40,
            "a userspace core",
        ),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x04\0VMCOREINFO", "a kernel dump"),
        (b"KDUMP   \6\0\0\0", "a kernel dump"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "an image"),
        (b"LPKSHHRH" + b"\0" * 40, "journalctl --file"),
        (b"PK\x03\x04\x14", "a zip archive"),
        (b"\0\1\2\3" * 400, "binary data"),
        ("io_schedule+Ox46/Ox7O\nwb_workfn+0xl3/0xZ0\n" * 2, "a screenshot's OCR"),
        (
            "Thread 2 (LWP 71):\n#0  0x00007f1a2b3c4d5e in fsync (fd=3) at x.c:1\n",
            "gdb",
        ),
        ("goroutine 18 [syscall, 4 minutes]:\nos.(*File).Sync()\n", "Go"),
        (
            '"main" #1 prio=5\n   at java.io.FileOutputStream.write(Native Method)\n',
            "Java",
        ),
        ("Traceback (most recent call last):\n  File x\n", "Python"),
        ("[pid  71] fsync(3)                 = 0\n", "strace"),
        ("  PID STAT WCHAN  COMMAND\n  71 D    wait_o dd\n", "the output of ps"),
    ],
)
def test_what_is_no_log_is_named(
    text: bytes | str, kind: str, tmp_path: Path, capsys: Capture
) -> None:
    """In one line, with a remedy and a status that is not 0."""
    path = tmp_path / "given"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    for words in (["--log", str(path)], [str(path)]):
        assert main(["explain", *words]) == 2
        out, err = capsys.readouterr()
        (line,) = err.splitlines()
        assert out == "" and "this is " in line and kind in line


pieces = st.lists(
    st.one_of(
        st.sampled_from(SYSLOG),
        st.sampled_from(STAMPED).map(journald),
        st.sampled_from(STAMPED).map(html.escape),
        st.sampled_from(['{"a":[', "=", "&#", "\\n", "<pre>", '"MESSAGE" : [', "\0"]),
        st.text(max_size=60),
    ),
    max_size=40,
)


@given(pieces, st.sampled_from(["\n", "\r\r\n", " ", "", "=\n", "\\n"]))
def test_no_mixture_crashes_the_reader(parts: list[str], between: str) -> None:
    """No frame is invented from any mixture."""
    text = between.join(parts).encode("utf-8", "replace")
    for task in tasks_or_refusal(text):
        assert task.guesses and task.line >= 1


@given(st.binary(max_size=600))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    """Reported as binary, or read as text without a stack."""
    assert tasks_or_refusal(data) == []


def tasks_or_refusal(data: bytes) -> list[LoggedTask]:
    """The stacks in a text; none if it is refused with a reason."""
    try:
        return read(data).tasks
    except UserError as error:
        assert str(error).startswith("this is ")
        return []


def test_a_head_that_a_mailer_wrapped_behind_its_pid_has_that_pid() -> None:
    """The next line goes on with another word, so no digit is missing."""
    owner = Shown(
        "kworker/2:2", 2582, "schedule wait_func foo_load", "sync_wq foo_work"
    )
    waiter = Shown("kworker/u8:1", 1671, "schedule __mutex_lock foo_lock foo_report")
    said = "INFO: task kworker/u8:1:1671 is blocked on a "
    said += "mutex likely owned by task kworker/2:2:2582."
    text = "\n".join([*waiter.report(said), *owner.lines()])
    text = re.sub(r" *( tgid:| for more| on a)", r"\n\1", text)
    stamp = "[  242.744002][ T1644] "
    answer = explained(
        *(
            line if re.match(" tgid| for| on", line) else stamp + line
            for line in text.split("\n")
        )
    )
    assert [task.task.pid for task in answer.tasks] == [1671, 2582]
    (link,) = answer.links.values()
    assert link.holder.frames and link.confidence == REPORTED


def test_line_ends_that_a_mailer_encoded() -> None:
    """`=0A` and a soft break behind each, however short the line is."""
    (task,) = read(
        b"stack trace below:=0A=\n=0A=\n"
        b"[<0>] folio_wait_bit_common+0x138/0x310=0A=\n"
        b"[<0>] filemap_read_folio+0x94/0xe0=0A=\n"
        b"[<0>] do_read_cache_folio+0x80/0x1c0=0A=\n"
        b"[<0>] read_lba+0x91/0x110=0A=\n"
    ).tasks
    assert len(task.frames) == 4


def test_a_ruler_is_no_soft_break() -> None:
    """A line of `=` ends in one, as a line that a mailer broke does."""
    head = "evms          D DA4D8F1C     0 12863  12861 12874               (NOTLB)"
    text = f"{'=' * 60}\n{head}\nCall Trace:\n[<c02d4ad5>] io_schedule+0x26/0x30\n"
    (task,) = read(text.encode()).tasks
    assert (task.comm, task.pid) == ("evms", 12863)
