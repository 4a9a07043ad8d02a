# SPDX-License-Identifier: GPL-2.0-only
"""test_module: compile the module without warnings, with static analysis.

In the image's root, for each kernel, with the compiler of that kernel, and as DKMS does
it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from machine import image, recipe
from support import DEFAULT, KERNELS, ON_DEMAND, PROJECT, tool

SOURCE = PROJECT / "kmod"
COMPLAINT = re.compile(r".*\b(?:warning|error):.*")
ANALYZER = "KCFLAGS=-fanalyzer -fdiagnostics-path-format=none"
THOROUGH = ("W=1", ANALYZER)
LESS = {
    # gcc 10 has the first version of the analyzer: after a comparison of a pointer it
    # assumes that it may be NULL.
    "5.10": ("W=1",),
    # With W=1 kernel-doc reads comments. That of 6.12 is Perl, of which the default
    # image lacks parts; older kernels are in the full image, and that of 7.2 is Python.
    "6.12": ("W=1", ANALYZER, "cmd_checkdoc=:"),
}
# On demand each kernel with both. Else the analyzer is the newest compiler's, which has
# W=1 whole, and sparse reads the headers of the default kernel.
ANALYZED = KERNELS if ON_DEMAND else KERNELS[-1:]
READ_BY_SPARSE = KERNELS if ON_DEMAND else (DEFAULT,)
NO_SPARSE = re.compile(r".* C=2 specified, but .*")

Make = Callable[..., str]


def _dkms(kernel_source: str) -> dict[str, str]:
    """The variables of dkms.conf, read by bash as DKMS reads it."""
    names = ("PACKAGE_NAME", "PACKAGE_VERSION", "BUILT_MODULE_NAME", "MAKE")
    script = f"kernel_source_dir={kernel_source}; source {SOURCE}/dkms.conf\n"
    script += "".join(f"echo ${name}\n" for name in names)
    done = subprocess.run(
        ["bash", "-euc", script], capture_output=True, text=True, check=True
    )
    return dict(zip(names, done.stdout.splitlines(), strict=True))


@pytest.fixture
def make(kernel: str, tmp_path: Path) -> Make:
    """Compile a copy of the module for a kernel; return the output."""
    shutil.copytree(SOURCE, tmp_path / "kmod")
    (tmp_path / "bin").mkdir()
    if sparse := shutil.which("sparse"):
        shutil.copy(sparse, tmp_path / "bin")
    release = image.kernel(recipe.load(kernel)).release
    dkms = _dkms(f"/lib/modules/{release}/build")

    def run(*variables: str) -> str:
        words = " ".join(f"'{variable}'" for variable in variables)
        command = f"cd /mnt/build/kmod && {dkms['MAKE']} {words} 2>&1"
        enter = ("vm/vm", "enter", "-k", kernel, f"{tmp_path}:/mnt/build")
        done = tool(*enter, "--", "bash", "-c", command)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        made = tmp_path / "kmod" / f"{dkms['BUILT_MODULE_NAME']}.ko"
        assert made.exists()
        return done.stdout

    return run


@pytest.mark.parametrize("kernel", ANALYZED, indirect=True)
def test_neither_the_compiler_nor_its_analyzer_complains(
    kernel: str, make: Make
) -> None:
    assert not COMPLAINT.findall(make(*LESS.get(kernel, THOROUGH)))


@pytest.mark.parametrize("kernel", READ_BY_SPARSE, indirect=True)
def test_sparse_does_not_complain(kernel: str, make: Make) -> None:
    said = make("C=2", "CHECK=/mnt/build/bin/sparse")
    if cannot := NO_SPARSE.search(said):
        pytest.skip(cannot[0])
    assert not COMPLAINT.findall(said)


@pytest.mark.parametrize("header", ["attrs.h", "names.h", "record.h", "trace.h"])
def test_a_header_compiles_alone(kernel: str, tmp_path: Path, header: str) -> None:
    """With its own includes only, and the code that a tracepoint's header generates."""
    shutil.copytree(SOURCE, tmp_path / "kmod")
    alone = tmp_path / "kmod/alone.c"
    alone.write_text(f'#define CREATE_TRACE_POINTS\n#include "{header}"\n')
    release = image.kernel(recipe.load(kernel)).release
    command = (
        f"make -C /lib/modules/{release}/build M=/mnt/build/kmod"
        " KCFLAGS=-I/mnt/build/kmod alone.o 2>&1"
    )
    enter = ("vm/vm", "enter", "-k", kernel, f"{tmp_path}:/mnt/build")
    done = tool(*enter, "--", "bash", "-c", command)
    assert done.returncode == 0, done.stdout[-3000:]


def test_dkms_gets_the_module_s_own_version() -> None:
    version = re.search(
        r'define BIODELAY_VERSION "(.*)"', (SOURCE / "biodelay.h").read_text()
    )
    assert version
    assert _dkms("")["PACKAGE_VERSION"] == version[1]
