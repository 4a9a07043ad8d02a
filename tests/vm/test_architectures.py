# SPDX-License-Identifier: GPL-2.0-only
"""This test will read the table of architectures, and machines of each row."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine import accel, architectures, image, qemu, recipe, tsc
from machine.architectures import AARCH64, ARCHITECTURES, X86_64, Architecture
from machine.qemu import Machine
from writestall_base.errors import UserError

MACHINE = Machine(Path("/kernel"), Path("/initrd"), "tcg")


pytestmark = pytest.mark.usefixtures("_on_x86")


def test_the_guest_is_as_the_host_unless_one_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert recipe.load().arch == X86_64
    monkeypatch.setenv(architectures.CHOICE, "aarch64")
    assert recipe.load().arch == AARCH64
    monkeypatch.setenv(architectures.CHOICE, "m68k")
    with pytest.raises(
        UserError, match="unknown architecture 'm68k': there are x86_64"
    ):
        recipe.load()


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_a_row_is_all_that_the_command_line_needs(
    arch: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(architectures.CHOICE, arch.name)
    monkeypatch.setattr(image, "tools", lambda _: Path("/tools"))
    words = qemu.command(recipe.load(), MACHINE)
    # The program is the guest's, its loader the host's.
    assert f"/tools/usr/bin/qemu-system-{arch.name}" in words
    assert "/tools/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" in words
    assert words[words.index("-cpu") + 1] == arch.tcg_cpu
    options = words[words.index("-append") + 1]
    assert f"console={arch.serial} " in options
    assert ("tsc=" in options) == arch.has_tsc


@pytest.mark.usefixtures("_aarch64")
def test_another_architecture_is_emulated_and_never_by_kvm() -> None:
    choice = accel.remembered()
    assert choice
    assert (choice.name, choice.reason) == (
        "tcg",
        "a guest of aarch64 on a x86_64 host is emulated",
    )
    with pytest.raises(UserError, match="--accel kvm: a guest of aarch64"):
        accel.remembered("kvm")
    assert tsc.kernel_option(recipe.load(), "tcg") == ""


def test_images_of_architectures_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = recipe.load()
    monkeypatch.setenv(architectures.CHOICE, "aarch64")
    other = recipe.load()
    assert image._tree_key(own) != image._tree_key(other)
    assert image.tools_key(own) != image.tools_key(other)


@pytest.mark.usefixtures("_aarch64")
@pytest.mark.parametrize(
    ("row", "good"),
    [
        (None, False),
        ("disabled\nflags: PF\n", False),
        ("enabled\nflags: P\n", False),
        ("enabled\ninterpreter /usr/bin/qemu\nflags: PF\n", True),
    ],
)
def test_a_host_that_runs_no_foreign_programs_is_told_what_to_install(
    row: str | None, good: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(image, "BINFMT", tmp_path)
    if row is not None:
        (tmp_path / "qemu-aarch64").write_text(row)
    if good:
        image.check_foreign(AARCH64)
        return
    with pytest.raises(UserError, match=r"does not run programs of aarch64 .*install"):
        image.check_foreign(AARCH64)


@pytest.mark.usefixtures("_aarch64")
def test_a_kernel_of_ones_own_is_refused_there() -> None:
    with pytest.raises(UserError, match="one's own are for x86_64 alone"):
        recipe.load("/some/tree")
