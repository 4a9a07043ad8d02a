# SPDX-License-Identifier: GPL-2.0-only
"""This test will damage a file of calls, which repro/replay takes from anybody: it
makes them within its bounds, or refuses them in one line."""

from __future__ import annotations

import resource
import shutil
import subprocess
from pathlib import Path

from drawing import drawn
from hypothesis import strategies as st

from made_calls import FOLDER, REGULAR, built, content, row

FILE_BYTES, PATIENCE_S = 1 << 20, 0.3
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ROWS = [
    *(row(i, 1, "write", 1, i * 100, 100, flags=1) for i in range(4)),
    *(row(i, 2, what, 1, 0, 50) for i, what in enumerate(("read", "fsync"))),
    *(row(2, 2, what, 2, flags=16) for what in ("open", "close")),
    *(row(3, 2, what, 2, 1, 9) for what in ("rename", "truncate", "allocate")),
    *(row(4, 1, what, 1, 100, 90, flags=1) for what in ("fault", "msync")),
    *(row(4, 1, what, 1, 100, 90, flags=64) for what in ("write", "read")),
    *(row(4, tid, "wake", 0, 3 - tid) for tid in (1, 2)),
    row(4, 2, "unlink", 2),
    row(5, 2, "fsync", 3),
]
WHOLE = content([(300, REGULAR, 1), (0, REGULAR, 40), (0, FOLDER)], ROWS)


# Numbers at the bounds of fields, by their bytes.
ODD = [
    value.to_bytes(size, "little")
    for size in (1, 2, 4, 8)
    for value in (0, 1, 2, 127, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1))
] + [b"\xff" * 8]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The whole file with a few fields replaced, or cut off."""
    data = bytearray(WHOLE)
    for _ in range(draw(st.integers(0, 4))):
        at, odd = draw(st.integers(0, len(data) - 1)), draw(st.sampled_from(ODD))
        data[at : at + len(odd)] = odd
    if draw(st.integers(0, 9)) == 0:
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data)


def limited() -> None:
    """Let no file grow large: such a write fails, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


def test_no_file_breaks_the_replay(tmp_path: Path) -> None:
    program = built(tmp_path, *SANITIZED)
    calls, place = tmp_path / "calls.bin", tmp_path / "place"

    def taken(data: bytes) -> None:
        calls.write_bytes(data)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for words in (["--prepare"], []):
            with subprocess.Popen(
                [program, *words, calls, place],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=limited,
                env={"ASAN_OPTIONS": "detect_leaks=0"},  # it ends at once
                restore_signals=False,
            ) as child:
                try:
                    _, said = child.communicate(timeout=PATIENCE_S)
                except subprocess.TimeoutExpired:
                    child.terminate()
                    _, said = child.communicate(timeout=60)
            assert child.returncode in (0, 1, 2, -15, 128 + 15), said
            assert len(said.splitlines()) <= 1, said

    assert drawn(damaged(), taken)
