# SPDX-License-Identifier: GPL-2.0-only
"""This test will build the OCI image, and start it as its DaemonSet says."""

from __future__ import annotations

import shutil
from pathlib import Path

from driver.packaging import oci, trees


def test_the_image_starts_with_the_rights_of_the_daemonset(
    packages: Path, versions: tuple[str, str], tmp_path: Path
) -> None:
    version = versions[1]
    archive = oci.build(tmp_path, sorted((packages / "new").glob("*.deb")), version)
    script = Path(__file__).with_name("start_image.py")
    shutil.copy(script, tmp_path)
    text = oci.daemonset(archive, version)
    (tmp_path / oci.DAEMONSET.name).write_text(text)
    command = ["python3", f"{trees.HOST}/{script.name}", version]
    trees.enter(trees.workshop(), [f"{tmp_path}:{trees.HOST}"], command)
    assert "start it with the host's" in (tmp_path / "done").read_text()
