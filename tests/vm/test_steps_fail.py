# SPDX-License-Identifier: GPL-2.0-only
"""This test will make each program that builds a machine fail, be missing or run out of
space, and check that one line names it, and that nothing is mounted or left half built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from machine import image, qemu, recipe, statuses, tsc, vmlinux
from support import PROJECT
from writestall_base.errors import UserError

REFUSAL = "error: made to fail"
# A userland as mmdebstrap leaves it, with no kernel's files in it; the folder is the
# word before the archive's lines.
MAKES_A_TREE = """
for word; do case $word in deb*) break ;; *) tree=$word ;; esac; done
mkdir -p "$tree/etc/writestall" "$tree/boot" "$tree/usr/bin"
head -c 3500000 /dev/urandom >"$tree/usr/bin/program"
echo "6.12 6.12.0-made-up" >"$tree/etc/writestall/kernels"
"""
FAILS = f"echo '{REFUSAL}' >&2; exit 3"
# The program that fails, the others that are replaced, the part that is built.
STEPS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("mmdebstrap", {}, "qemu"),
    ("mmdebstrap", {}, "tree"),
    ("mke2fs", {"mmdebstrap": MAKES_A_TREE}, "disk"),
    ("du", {"mmdebstrap": MAKES_A_TREE}, "disk"),
)


def _programs(folder: Path, scripts: dict[str, str], without: str = "") -> str:
    """A search path on which these scripts come first, and one program is missing."""
    folder.mkdir()
    for place in os.environ["PATH"].split(":"):
        for program in Path(place).glob("*") if without else ():
            if program.name != without and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    for name, script in scripts.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder) if without else f"{folder}:{os.environ['PATH']}"


def _build(part: str, cache: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": path, "WRITESTALL_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, str(PROJECT / "vm/vm"), "build", part],
        env=environment | {"WRITESTALL_MIRROR": "http://127.0.0.1:9/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache of its own; nothing may stay mounted."""
    (tmp_path / "cache").mkdir()
    yield tmp_path / "cache"
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


def _refused(done: subprocess.CompletedProcess[str], cache: Path, said: str) -> None:
    """Nothing was published, and the last line names what failed."""
    assert done.returncode == statuses.EXIT_SETUP, done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stderr.strip().splitlines()[-1]
    made = [path.name for path in cache.iterdir() if path.suffix not in (".lock", "")]
    assert all(name.endswith(".part") for name in made), made


@pytest.mark.parametrize(("program", "others", "part"), STEPS)
def test_a_program_that_fails_is_named(
    program: str, others: dict[str, str], part: str, cache: Path, tmp_path: Path
) -> None:
    path = _programs(tmp_path / "bin", others | {program: FAILS})
    done = _build(part, cache, path)
    _refused(done, cache, program)
    # The next build removes what is half done.
    again = _build(part, cache, path)
    assert again.returncode == done.returncode


# Those of sbin folders are found there, whatever the search path says.
@pytest.mark.parametrize(
    ("program", "others", "part"), [step for step in STEPS if step[0] != "mke2fs"]
)
def test_a_program_that_is_missing_is_named(
    program: str, others: dict[str, str], part: str, cache: Path, tmp_path: Path
) -> None:
    done = _build(part, cache, _programs(tmp_path / "bin", others, without=program))
    _refused(done, cache, program)


def _compiles(folder: Path, failing: Path) -> None:
    """Measure the cycle counter with a compiler that fails in the image's root."""
    shutil.copy(failing, folder / "enter.sh")
    (folder / "tsc_khz.c").write_text("")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tsc, "VM", folder)
        patched.setattr(image, "VM", folder)
        patched.setattr(image, "as_owner", lambda: [])
        patched.setattr(image, "tree", lambda _: folder)
        tsc._measure(recipe.load(), folder / "tsc")


def _unpacks(folder: Path, failing: Path) -> None:
    """Read a module that zstd packed."""
    shutil.copy(failing, folder / "zstd")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        vmlinux.decompressed(b"\x28\xb5\x2f\xfd packed")


def _asks_its_version(folder: Path, failing: Path) -> None:
    """Ask QEMU for its version."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(qemu, "binary", lambda _: [str(failing)])
        qemu.version(recipe.load())


@pytest.mark.parametrize(
    ("step", "named"),
    [(_compiles, "enter.sh"), (_unpacks, "zstd"), (_asks_its_version, "failing")],
)
def test_a_short_command_that_fails_is_named(
    step: Callable[[Path, Path], None], named: str, tmp_path: Path
) -> None:
    failing = tmp_path / "failing"
    failing.write_text(f"#!/bin/bash\n{FAILS}\n")
    failing.chmod(0o755)
    with pytest.raises(UserError, match=f"^{named} failed .* 3: {REFUSAL}$"):
        step(tmp_path, failing)


def test_a_full_disk_is_named(cache: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("mke2fs", path="/sbin:/usr/sbin"):
        pytest.skip("mounting a small file system needs root, and mke2fs")
    path = _programs(tmp_path / "bin", {"mmdebstrap": MAKES_A_TREE})
    small = ["mount", "-t", "tmpfs", "-o", "size=5M", "tmpfs", str(cache)]
    subprocess.run(small, check=True)
    try:
        _refused(_build("disk", cache, path), cache, "mke2fs")
    finally:
        subprocess.run(["umount", str(cache)], check=True)


def test_a_container_without_namespaces_is_told_what_it_needs(tmp_path: Path) -> None:
    path = _programs(tmp_path / "bin", {"unshare": FAILS})
    command = [str(recipe.VM / "enter.sh"), str(tmp_path), "--", "true"]
    environment = {"PATH": path}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "seccomp=unconfined" in done.stderr
