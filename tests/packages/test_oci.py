# SPDX-License-Identifier: GPL-2.0-only
"""This test will build the OCI image, and start it as its DaemonSet says."""

from __future__ import annotations

import shutil
from pathlib import Path

from driver.packaging import container, trees


def test_the_image_starts_with_the_rights_of_the_daemonset(
    packages: Path, versions: tuple[str, str], tmp_path: Path
) -> None:
    version = versions[1]
    container.build(tmp_path, sorted((packages / "new").glob("*.deb")), version)
    script = Path(__file__).with_name("start_image.py")
    for path in (script, container.DAEMONSET):
        shutil.copy(path, tmp_path)
    command = ["python3", f"{trees.HOST}/{script.name}", version]
    trees.enter(trees.workshop(), [f"{tmp_path}:{trees.HOST}"], command)
    assert "start it with the host's" in (tmp_path / "done").read_text()
