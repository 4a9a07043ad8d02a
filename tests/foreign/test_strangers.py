# SPDX-License-Identifier: GPL-2.0-only
"""This test will record processes of another user that try to have root read for them.

Only root reads for others, so the traps are skipped for everybody else.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recorder.tasks import Tasks
from strangers import NOBODY, SECRET, secret, stranger

HONEST = "open(mine, 'w').write('1000 10 compiled\\n')"
LINK = "a link"
LINK_TO_FOLDER = "a link in the place of /tmp, with a root of its own"
# How a map of compiled code can be something else.
TRAPS = {
    LINK: "os.symlink(secret, mine)",
    "a file of root's, mounted there": """
open(mine, "w").close()
mount(secret, mine, flags=BIND)
""",
    "the same, by a process whose /proc files are root's": """
open(mine, "w").close()
mount(secret, mine, flags=BIND)
libc.prctl(4, 0, 0, 0, 0)
""",
    LINK_TO_FOLDER: """
os.mkdir("/tmp/root")
os.symlink(os.path.dirname(secret), "/tmp/root/tmp")
os.chroot("/tmp/root")
""",
    "a file of the kernel's": """
open(mine, "w").close()
mount("/proc/self/environ", mine, flags=BIND)
""",
    "a FIFO": "os.mkfifo(mine)",
    "a device": """
open(mine, "w").close()
mount("/dev/zero", mine, flags=BIND)
""",
    "a sparse file of 1 TiB": "open(mine, 'w').truncate(1 << 40)",
}


def kept(pid: int, run: Path) -> str | None:
    """What a recording keeps of the map of that process; None: nothing."""
    (run / "events").mkdir(parents=True)
    noting = Tasks(run, [pid])
    noting.start()
    assert [task["pid"] for task in noting.end()] == [pid]
    assert not noting.is_alive()
    place = run / "symbols" / f"perf-{pid}.map"
    return place.read_text() if place.exists() else None


def test_a_map_of_its_own_is_kept(tmp_path: Path) -> None:
    with secret() as place, stranger(HONEST, place) as pid:
        assert kept(pid, tmp_path) == "1000 10 compiled\n"


@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_is_kept_of(trap: str, tmp_path: Path) -> None:
    with secret() as place, stranger(TRAPS[trap], place) as pid:
        if trap == LINK_TO_FOLDER:
            (place.parent / f"perf-{pid}.map").write_text(SECRET)
        assert not kept(pid, tmp_path)


@pytest.mark.parametrize("trap", [LINK, LINK_TO_FOLDER])
def test_no_link_is_followed_to_a_file_of_its_own_user(
    trap: str, tmp_path: Path
) -> None:
    """It may be where the process may not go: in another container, for example."""
    with secret() as place, stranger(TRAPS[trap], place) as pid:
        named = place.parent / f"perf-{pid}.map"
        named.write_text(SECRET)
        for path in (place, named):
            os.chown(path, NOBODY, NOBODY)
        place.parent.chmod(0o700)
        assert not kept(pid, tmp_path)
