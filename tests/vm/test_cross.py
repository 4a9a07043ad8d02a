# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the compiler for an image, and what its root needs for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine import cross, image, recipe
from machine.image import Kernel
from writestall_base.errors import UserError

RELEASE = "6.12.1-arm64"


pytestmark = pytest.mark.usefixtures("_on_x86")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """A kernel whose headers were made by Debian with gcc 14."""
    headers = tmp_path / f"usr/src/linux-headers-{RELEASE}"
    headers.mkdir(parents=True)
    (headers / ".kernelvariables").write_text(
        "override ARCH = arm64\nCC = $(CCACHE) $(CROSS_COMPILE)gcc-14\n"
    )
    nowhere = tmp_path / "none"
    return Kernel("6.12", "6.12", RELEASE, tmp_path, nowhere, nowhere, "identity")


def test_an_image_of_the_hosts_processor_has_its_own(kernel: Kernel) -> None:
    known = recipe.load("6.12")
    assert cross.compiler(known, kernel) == "gcc"
    assert cross.binds(known, kernel) == []
    assert cross.preparation(known) == ":"


@pytest.mark.usefixtures("_aarch64")
def test_another_has_the_one_of_its_kernel_that_runs_on_this_host(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[str]]] = []
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / "cache"))

    def bootstrap(
        suite: str, _suites: set[str], part: Path, extra: list[str], **_: object
    ) -> None:
        asked.append((suite, extra))
        part.mkdir()

    monkeypatch.setattr(image, "bootstrap", bootstrap)
    known = recipe.load("6.12")
    whole, libraries = cross.binds(known, kernel)
    # The suite is that of the kernel, not of the userland.
    package = "--include=gcc-14-aarch64-linux-gnu"
    assert asked == [(known.kernels["6.12"], ["--variant=extract", package])]
    assert whole.endswith(f":{cross.PLACE}:ro")
    assert libraries.endswith(":/usr/lib/x86_64-linux-gnu:ro")
    compiler, *options = cross.compiler(known, kernel).split()
    assert compiler == "aarch64-linux-gnu-gcc-14"
    assert "-B/usr/lib/aarch64-linux-gnu" in options
    assert " /lib64/ld-linux-x86-64.so.2 " in f"{cross.preparation(known)} "


@pytest.mark.usefixtures("_aarch64")
def test_headers_that_name_no_compiler_are_named(kernel: Kernel) -> None:
    file = kernel.tree / f"usr/src/linux-headers-{RELEASE}/.kernelvariables"
    file.write_text("override ARCH = arm64\n")
    with pytest.raises(UserError, match=r"\.kernelvariables names no compiler"):
        cross.binds(recipe.load("6.12"), kernel)
