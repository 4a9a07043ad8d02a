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


def test_digest_separates_bounds() -> None:
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


def logged(*lines: str) -> list[watch.Record]:
    """Records of the kernel, `LEVEL text` each, as /dev/kmsg gives them."""
    split = [line.split(" ", 1) for line in lines]
    stream = [f"{level},{at},9,-;{text}" for at, (level, text) in enumerate(split)]
    return watch.records("\n".join(stream))


def test_each_line_of_level_warning_or_worse_is_a_complaint() -> None:
    said = [
        "6 sysrq: Trigger a crash",
        "3 configfs: Tried to unregister non-empty subsystem!",
        "5 random: crng init done",
        "12 told by a program",
        "4 a line of two\\x0alines",
    ]
    two = r"a line of two\x0alines"
    assert watch.complaints(logged(*said)) == [said[1][2:], said[3][3:], two]
    expected = ["configfs: .* subsystem", "a line of two.*lines$"]
    assert watch.complaints(logged(*said), None, expected) == [said[3][3:]]


KCSAN = (
    "3 ====",
    "3 BUG: KCSAN: data-race in {} / xas_load+0x1/0x2",
    "3 write to 0xffff8880 of 4 bytes by task 7 on cpu 1:",
    "3 ====",
)


def test_what_the_table_allows_is_none() -> None:
    taints = "4 biodelay: loading out-of-tree module taints kernel."
    race = [line.format("ext4_setattr+0x1/0x2") for line in KCSAN]
    assert watch.complaints(logged(taints, *race)) == []
    race = [line.format("hold_claim+0x1/0x2 [biodelay]") for line in KCSAN]
    assert len(watch.complaints(logged(taints, *race))) == 4
    assert watch.complaints(logged(f"{taints}x")) == [f"{taints}x"[2:]]


UNLOADED = (
    "4 ------------[ cut here ]------------",
    "4 debugfs file owner did not clean up at exit: record",
    "4 CPU: 1 PID: 1160 Comm: python3 Tainted: G           O      {} #1",
    "4 RIP: 0010:full_proxy_open+0x75/0x1a0",
    "4 ---[ end trace ac36017327ef6c0c ]---",
)


@pytest.mark.parametrize(
    ("release", "left"), [("4.19.108", 0), ("5.8.18", 0), ("5.10.0-32-amd64", 5)]
)
def test_an_old_kernel_may_warn_of_a_file_of_a_module_that_goes(
    release: str, left: int
) -> None:
    said = [line.format(release) for line in UNLOADED]
    assert len(watch.complaints(logged(*said))) == left
    assert watch.complaints(logged(*said, "4 x"))[left:] == ["x"]
    # Two CPUs: the other's first line is among these.
    both = [*said[:2], said[0], *said[2:], *said[1:]]
    assert len(watch.complaints(logged(*both))) == 2 * left


HUNG = (
    "3 INFO: task dd:7 blocked for more than 60 seconds.",
    "3       Tainted: G           OE      6.12.117+deb13-amd64 #1",
    '3 "echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "6  hold+0x1/0x2 [biodelay]",
)


def test_hung_tasks_count_unless_somebody_is_held_on_purpose() -> None:
    assert len(watch.complaints(logged(*HUNG))) == 3
    assert len(watch.complaints(logged(*HUNG), r"\[other\]")) == 3
    assert watch.complaints(logged(*HUNG), r"\[biodelay\]") == []
    assert watch.complaints(logged(*HUNG, "4 x"), r"\[biodelay\]") == ["x"]


def test_a_log_that_was_not_read_whole_is_a_complaint() -> None:
    read = watch.records(
        f"6,0,1,-;boots\n6,5,2,-;{watch.BEGINS}\n6,5,2,-;{watch.BEGINS}\n6,9,3,-;x"
    )
    assert [record.number for record in watch.of_job(read)] == [5, 9]
    (complaint,) = watch.complaints(watch.of_job(read))
    assert complaint.startswith("3 lines of the kernel log were lost")
    assert not watch.is_whole(watch.of_job(read))
    assert watch.of_job(read[:1]) == []


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


def test_a_kernel_is_where_its_package_has_it(tmp_path: Path) -> None:
    """In /boot, or with its modules where no script has copied it."""
    boot = tmp_path / "boot/vmlinuz-7.2"
    assert image._vmlinuz(tmp_path, "7.2") == boot
    inside = tmp_path / image.MODULES / "7.2/vmlinuz"
    for path in (inside, boot):
        path.parent.mkdir(parents=True)
        path.touch()
        assert image._vmlinuz(tmp_path, "7.2") == path
