# SPDX-License-Identifier: GPL-2.0-only
"""This test will ask for the saved state of machines of equal and of other shapes, and
save machines that do not boot, hang or cannot be saved."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from machine import cache, initramfs, qemu, recipe, snapshot
from machine.own import find
from writestall_base.errors import UserError

KNOWN = recipe.load()
# Programs that stand for QEMU, in a folder with the files of _empty().
BOOTS = f"echo {shlex.quote(initramfs.BOOTED)} >console"
TO = r"""sed -n 's/^migrate "file:\(.*\)"$/\1/p'"""
LEAVES = f'{BOOTS}; touch "$({TO})"'
SAVES = f'{LEAVES}; echo "Status: completed"'
BROKEN = {
    "ends at once": ("exit 1", "no machine of this shape booted"),
    "never boots": ("exec sleep 60", "no machine of this shape booted"),
    "is not saved": (f"{BOOTS}; cat >/dev/null; echo no room", "no room"),
    "is saved in part": (f'{LEAVES}; echo "Status: failed"', "Status: failed"),
    "hangs when saved": (f"{BOOTS}; exec sleep 60", "nothing in 1 s"),
}


@pytest.fixture(autouse=True)
def without_qemu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(qemu, "binary", lambda _: ["qemu"])
    monkeypatch.setattr(snapshot, "SAVE_LIMIT_S", 1.0)
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / "cache"))


def one(folder: Path, **other: object) -> qemu.Machine:
    """A machine whose files lie in that folder."""
    shares = tuple(
        qemu.Share(folder / name, f"/mnt/{name}", name == "job", tag)
        for name, tag in (("job", "job"), ("data", ""))
    )
    machine = qemu.Machine(
        Path("vmlinux"),
        Path("initrd"),
        "tcg",
        root=folder / "root",
        console=folder / "console",
        virtio_disks=(folder / "blk0",),
        scsi_disks=(folder / "scsi0",),
        shares=shares,
        ports={"verdict": 7},
    )
    return replace(machine, **other)  # type: ignore[arg-type]


def runs(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let that script stand for QEMU; machines of any other shape have other words."""
    shape = qemu.command
    monkeypatch.setattr(
        qemu,
        "command",
        lambda known, machine: ["sh", "-c", script, *shape(known, machine)],
    )


def key(machine: qemu.Machine) -> list[str]:
    return qemu.arguments(KNOWN, snapshot._empty(snapshot._filled(machine)))


def test_files_and_shares_are_not_of_the_shape(tmp_path: Path) -> None:
    here, there = one(tmp_path / "a"), one(tmp_path / "b,c")
    assert key(here) == key(there)
    more = replace(here, shares=(*here.shares, here.shares[1]))
    assert key(more) == key(here)
    assert key(replace(here, ports={"verdict": 9}, log_writes=True)) == key(here)


@pytest.mark.parametrize(
    "other",
    [
        {"cpus": 1},
        {"memory_bytes": 1 << 30},
        {"accel": "icount"},
        {"kernel": Path("other")},
        {"initrd": Path("other")},
        {"kernel_options": "tsc_early_khz=1"},
        {"layer": Path("layer")},
        {"virtio_disks": (Path("a"), Path("b"))},
        {"ports": {}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_the_guest_sees_at_its_boot_is_of_the_shape(
    tmp_path: Path, other: dict[str, object]
) -> None:
    assert key(one(tmp_path, **other)) != key(one(tmp_path))


def test_more_shares_than_one_shape_has_are_another(tmp_path: Path) -> None:
    machine = one(tmp_path)
    many = replace(machine, shares=machine.shares * snapshot.SHARES)
    assert len(snapshot._filled(machine).shares) == snapshot.SHARES
    assert key(many) != key(machine)


@pytest.mark.parametrize("name", ["cache", "a b"])
def test_a_shape_is_saved_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / name))
    counted = tmp_path / "starts"
    runs(monkeypatch, f"echo x >>{shlex.quote(str(counted))}; {SAVES}")
    found = {snapshot.started(KNOWN, one(tmp_path), tmp_path).saved for _ in range(2)}
    assert counted.read_text() == "x\n"
    assert [path.exists() for path in found if path] == [True]


@pytest.mark.parametrize(("script", "said"), BROKEN.values(), ids=BROKEN)
def test_one_that_cannot_be_saved_boots_by_itself(
    script: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs(monkeypatch, script)
    machine = one(tmp_path)
    assert snapshot.started(KNOWN, machine, tmp_path) is machine
    assert said in capsys.readouterr().err
    assert not list(cache.root().glob("booted-*[!k]"))
    with pytest.raises(UserError):
        snapshot._state(KNOWN, machine)


@pytest.mark.parametrize("other", [{"accel": "kvm"}, {"interactive": True}], ids=str)
def test_others_are_left_as_they_are(tmp_path: Path, other: dict[str, object]) -> None:
    machine = one(tmp_path, **other)
    assert snapshot.started(KNOWN, machine, tmp_path) is machine


@pytest.mark.parametrize(("driver", "resumes"), [("virtio_blk", False), ("loop", True)])
def test_a_kernel_that_has_found_the_empty_disks_boots(
    driver: str, resumes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / find.BUILTIN).write_text(f"kernel/drivers/block/{driver}.ko\n")
    own = find.OwnKernel(
        *(tmp_path, "6.12.1", tmp_path / "bzImage", frozenset()),
        *(tmp_path, tmp_path, None),
    )
    runs(monkeypatch, SAVES)
    started = snapshot.started(replace(KNOWN, own=own), one(tmp_path), tmp_path)
    assert (started.saved is not None) is resumes
