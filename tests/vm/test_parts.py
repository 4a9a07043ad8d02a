# SPDX-License-Identifier: GPL-2.0-only
"""test_parts: check the parts of the machine that need no machine."""

from __future__ import annotations

import argparse
import lzma
import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import support  # noqa: F401 (puts vm/ on the path)
from machine import cache, commands, image, layer, mirror, vmlinux, watch
from writestall_base.errors import UserError

DEB822 = """# a comment
Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb deb-src
# another
URIs: http://mirror.example/debian/
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WRITESTALL_MIRROR", raising=False)
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_mirror_from_deb822_skips_disabled_and_security(apt: Path) -> None:
    (apt / "sources.list.d/debian.sources").write_text(DEB822)
    assert mirror.mirror(apt) == "http://mirror.example/debian"


def test_mirror_from_one_line_sources(apt: Path) -> None:
    line = "deb [arch=amd64 signed-by=/k] http://one.example/debian trixie main\n"
    (apt / "sources.list").write_text(
        "# deb http://no.example/debian trixie main\n" + line
    )
    assert mirror.mirror(apt) == "http://one.example/debian"


def test_no_mirror_names_the_remedy(apt: Path) -> None:
    with pytest.raises(UserError, match="WRITESTALL_MIRROR"):
        mirror.mirror(apt)


def test_mirror_can_be_overridden(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRITESTALL_MIRROR", "http://mine.example/debian")
    assert mirror.mirror(apt) == "http://mine.example/debian"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path))
    return tmp_path


def test_an_interrupted_build_is_not_mistaken_for_a_finished_one(place: Path) -> None:
    def interrupted(part: Path) -> None:
        part.mkdir()
        (part / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.build("thing", "k", interrupted)
    assert not (place / "thing-k").exists()

    def whole(part: Path) -> None:
        part.mkdir()
        (part / "all").touch()

    done = cache.build("thing", "k", whole)
    assert [file.name for file in done.iterdir()] == ["all"]


def test_a_finished_build_is_not_built_again(place: Path) -> None:
    cache.build("thing", "k", lambda part: part.touch())
    cache.build("thing", "k", lambda part: pytest.fail("built twice"))


def test_digest_tells_bounds_apart() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")


def test_what_was_not_used_for_long_makes_room_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path))
    made = {key: cache.build("thing", key, lambda part: part.touch()) for key in "abc"}
    for key in "ab":
        os.utime(f"{made[key]}.lock", (0, 0))
    cache.build("thing", "b", lambda part: pytest.fail("built twice"))
    cache.prune("thing", made["c"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("thing-b", "thing-b.lock"),
        *("thing-c", "thing-c.lock"),
    ]


def _elf(*notes: int) -> bytes:
    """A 64-bit ELF file with one segment of Xen's notes, of these types."""
    body = b"".join(
        struct.pack("<III4sQ", 4, 8, kind, b"Xen\0", 0x1000000) for kind in notes
    )
    header = bytearray(b"\x7fELF\x02\x01" + bytes(58))
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 1)
    segment = struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(body), len(body), 4)
    return bytes(header) + segment + body


def _bzimage(payload: bytes) -> bytes:
    header = bytearray(512 * 3)
    header[vmlinux.SETUP_SECTS_AT] = 2
    struct.pack_into("<II", header, vmlinux.PAYLOAD_AT, 64, len(payload) + 4)
    return bytes(header) + bytes(64) + payload + b"size" + b"what follows"


def test_a_packed_kernel_is_unpacked_or_left_alone() -> None:
    elf = _elf(6, vmlinux.PVH_ENTRY)
    assert vmlinux.unpack(_bzimage(lzma.compress(elf))) == elf
    assert vmlinux.unpack(_bzimage(b"LZOP or whatever comes")) is None


def test_only_a_kernel_with_a_pvh_note_is_entered_by_it() -> None:
    assert vmlinux.enters_by_pvh(_elf(6, 8, vmlinux.PVH_ENTRY))
    assert not vmlinux.enters_by_pvh(_elf(6, 8))


COMPLAINTS = [
    "[    3.1] Kernel panic - not syncing: sysrq triggered crash",
    "[    3.1][  T12] Oops: 0002 [#1] SMP NOPTI",
    "[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "[    3.1] BUG: sleeping function called from invalid context at x.c:1",
    "[    3.1] WARNING: CPU: 0 PID: 1 at kernel/x.c:3 f+0x1/0x2",
    "[    3.1] WARNING: possible recursive locking detected",
    "[    3.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "[    3.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]",
    "[    3.1] refcount_t: underflow; use-after-free.",
    "[    3.1] BUG: KASAN: slab-use-after-free in rule_show+0x1/0x2 [biodelay]",
    "[    3.1] BUG: KCSAN: data-race in find+0x1/0x2 / hold_claim+0x1/0x2 [biodelay]",
    "[    3.1] UBSAN: shift-out-of-bounds in kmod/match.c:1:2",
    "[    3.1] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "[    3.1] INFO: trying to register non-static key.",
]
HARMLESS = [
    "[    3.1] biodelay: loading out-of-tree module taints kernel.",
    "[    3.1] BUG: KCSAN: data-race in ext4_setattr+0x1/0x2 / xas_load+0x1/0x2",
    "[    3.1] EXT4-fs (vdb): mounted filesystem r/w with ordered data mode.",
    "",
]


@pytest.mark.parametrize("line", COMPLAINTS)
def test_a_complaint_is_one(line: str) -> None:
    assert len(watch.complaints(f"first\n{line}\nlast")) == 1


@pytest.mark.parametrize("line", HARMLESS)
def test_chatter_is_none(line: str) -> None:
    assert watch.complaints(line) == []


HUNG = "INFO: task dd:7 blocked for more than 60 seconds.\n hold+0x1/0x2 [biodelay]\n"


def test_hung_tasks_count_unless_somebody_is_held_on_purpose() -> None:
    assert len(watch.complaints(HUNG)) == 1
    assert len(watch.complaints(HUNG, r"\[other\]")) == 1
    assert watch.complaints(HUNG, r"\[biodelay\]") == []


@pytest.mark.parametrize(("parent", "said"), [([], "ran\n"), (["sh", "-c"], "")])
def test_a_command_whose_parent_ended_before_it_began_does_not_begin(
    parent: list[str], said: str
) -> None:
    """The kernel would never signal that end to it: it would run for ever."""
    command = commands.ends_with_us(signal.SIGKILL, ["echo", "ran"])
    between = [*parent, '"$@"; exit $?', "sh"] if parent else []
    done = subprocess.run([*between, *command], capture_output=True, text=True)
    assert (done.stdout, done.returncode == 0) == (said, bool(said))


# What mmdebstrap printed of a JRE, in short.
FAILED_BUILD = """\
Setting up openjdk-21-jre-headless:amd64 (21.0.8+9-1) ...
update-alternatives: error: error creating symbolic link '/usr/share/man/man1/x.1.gz'
dpkg: error processing package openjdk-21-jre-headless:amd64 (--configure):
Errors were encountered while processing:
E: Sub-process /usr/bin/dpkg returned an error code (1)
"""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (FAILED_BUILD, FAILED_BUILD.splitlines()[1]),
        (
            "Reading...\nE: Unable to locate package x\n",
            "E: Unable to locate package x",
        ),
        ("Reading...\ndone\n", None),
    ],
)
def test_the_cause_of_a_failed_build_is_its_first_complaint(
    said: str, cause: str | None
) -> None:
    assert image.cause(said.splitlines()) == cause


def test_a_word_that_names_no_package_is_refused() -> None:
    assert layer.words("etcd-server,libc6") == ("etcd-server", "libc6")
    with pytest.raises(
        argparse.ArgumentTypeError, match="'--reinstall': want the name of a Debian"
    ):
        layer.words("--reinstall")
