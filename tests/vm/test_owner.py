# SPDX-License-Identifier: GPL-2.0-only
"""This test will let a user with a closed home directory own, below it, files of other
users, as building an image without root requires."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from machine import image

UID, SUBORDINATE, OTHER = 4242, 2_000_000, 7
USER = {
    "passwd": f"builder:x:{UID}:{UID}::/:/bin/sh\n",
    "subuid": f"builder:{SUBORDINATE}:65536\n",
    "subgid": f"builder:{SUBORDINATE}:65536\n",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
@pytest.mark.skipif(not shutil.which("newuidmap"), reason="no newuidmap (uidmap)")
def test_a_closed_home_can_hold_an_image() -> None:
    with tempfile.TemporaryDirectory(prefix="writestall-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "home"
        home.mkdir(0o700)
        os.chown(home, UID, UID)
        mounts = []
        for table, line in USER.items():
            known = Path("/etc", table)
            text = known.read_text() if known.exists() else ""
            (folder / table).write_text(text + line)
            mounts.append(f"mount --bind {folder / table} {known}")
        inside = f"touch {home}/file && chown {OTHER} {home}/file"
        become = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        command = shlex.join([*become, *image.NAMESPACE, "sh", "-c", inside])
        script = " && ".join([*mounts, command])
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert SUBORDINATE <= (home / "file").stat().st_uid < SUBORDINATE + 65536
