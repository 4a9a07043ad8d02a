# SPDX-License-Identifier: GPL-2.0-only
"""artefacts: compile what a run needs for one kernel."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from driver.builds import core
from driver.project import PROJECT, tool
from machine import cache, cross, image, recipe
from machine.commands import started
from machine.image import Kernel
from machine.recipe import Recipe
from machine.run import GUEST_PROJECT
from writestall_base.errors import UserError

IN_GUEST = (
    *("base", "analysis", "trace", "repro"),
    *("tests/scripts", "tests/repro/guest"),
)
SOURCES = {".c", ".h", ".S", ".stp", ""}


@dataclass(frozen=True)
class Part:
    """One folder of sources, the command that compiles it and what comes out.

    `command` runs in the image's root, in a copy of the sources, and leaves its
    results in ../result; `{release}` is `uname -r`, `{compiler}` a program's compiler.
    """

    name: str
    source: str
    command: str
    tools: tuple[str, ...] = ()  # files of other folders, next to source/
    engine: str = ""  # what it is for; empty: any


PARTS = (
    Part(
        "biodelay",
        "kmod",
        "make -s --jobs $(nproc) KDIR=/lib/modules/{release}/build"
        " && cp biodelay.ko ../result",
    ),
    Part("workloads", "repro", "make -s CC='{compiler}' BUILD=../result"),
    Part(
        "stap",
        "stap",
        "export SYSTEMTAP_DIR=/mnt/stap-cache; for script in *.stp; do"
        " ../trace/build ./$script -k {release} -o ../result/stap; done",
        ("trace/build", "trace/build-tree"),
        engine="stap",
    ),
)
# The module as built for kernels without a function tracer (kmod/hook.c), and with a
# pause between claiming a bio and deferring it (kmod/Kbuild).
FOR_TESTS = tuple(
    Part(
        name,
        "kmod",
        f"make -s {option} KDIR=/lib/modules/{{release}}/build"
        f" && mkdir ../result/{name} && cp biodelay.ko ../result/{name}",
    )
    for name, option in {"breakpoint": "BREAKPOINT=1", "pause": "PAUSE_MS=500"}.items()
)
# SystemTap's cache of the commands in the scripts' headers, the lessons among them.
LESSONS = (
    Part(
        "plain",
        "stap",
        "cd ..; ln -s source stap;"
        " tests/scripts/plain-cache.sh {release} $PWD/result/plain.tar",
        ("trace/build-tree", "tests/scripts/plain.py", "tests/scripts/plain-cache.sh"),
        engine="stap",
    ),
)
# Sources go in and results come out as tar streams; the compiler works in a layer in
# memory, which is discarded (vm/enter.sh). Where the linker finds no libelf.so, kernels
# before 5.13 do not run objtool on a module (Makefile, SKIP_STACK_VALIDATION), and one
# without its ORC tables ends the stacks that it is in. SystemTap brings the library.
BUILD = """set -e
{preparation}
mkdir --parents /tmp/lib
ln --symbolic /usr/lib/*/libelf.so.1 /tmp/lib/libelf.so
export LIBRARY_PATH=/tmp/lib
mkdir --parents /tmp/build/result/stap
cd /tmp/build
tar --extract
cd source
({command}) >&2
find ../result -type d -empty -delete
tar --create --directory ../result --owner 0 --group 0 .
"""


def _files(folder: Path) -> list[Path]:
    """The files of a source folder that a compiler may read, sorted."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in SOURCES and path.stat().st_size < 1 << 20
    )


def _command(part: Part, known: Recipe, kernel: Kernel) -> str:
    return part.command.format(
        release=kernel.release, compiler=cross.compiler(known, kernel)
    )


def _key(part: Part, known: Recipe, kernel: Kernel) -> str:
    files = [*_files(PROJECT / part.source), *(PROJECT / name for name in part.tools)]
    names = [str(path.relative_to(PROJECT)) for path in files]
    command = _command(part, known, kernel)
    return cache.digest(kernel.identity, kernel.release, command, *names, *files)


def _sources(part: Part) -> bytes:
    """Return a tar of source/ and the tools."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path in _files(PROJECT / part.source):
            name = path.relative_to(PROJECT / part.source)
            tar.add(path, arcname=f"source/{name}")
        for tool in part.tools:
            tar.add(PROJECT / tool, arcname=tool)
    return stream.getvalue()


def _compile(part: Part, known: Recipe, kernel: Kernel, result: Path) -> None:
    """Run the part's command in the image's root; unpack what it made."""
    stap_cache = cache.root() / "stap-cache"
    stap_cache.mkdir(exist_ok=True)
    binds = [f"{stap_cache}:/mnt/stap-cache", *cross.binds(known, kernel)]
    enter = tool("vm/vm", "enter", "-k", kernel.given, *binds)
    script = BUILD.format(
        preparation=cross.preparation(known), command=_command(part, known, kernel)
    )
    inside = [*enter, "--", "bash", "-c", script]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(inside, **pipes) as child:
        made, _ = child.communicate(_sources(part))
    if child.returncode:
        raise UserError(f"{part.source}/ does not compile for {kernel.release}")
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        tar.extractall(result)


def _bytecode(kernel: Kernel) -> None:
    """Compile the Python that runs in a guest, with the guest's Python.

    In the guest, each start of repro/run spent 3.4 of 5.1 s on it. The bytecode is in
    __pycache__, where a Python of that version looks for it (PEP 3147).
    """
    if not os.access(PROJECT, os.W_OK):
        return
    bind = f"{PROJECT}:{GUEST_PROJECT}"
    enter = tool("vm/vm", "enter", "-k", kernel.given, bind)
    folders = [f"{GUEST_PROJECT}/{name}" for name in IN_GUEST]
    compileall = ["python3", "-m", "compileall", "-q", *folders]
    subprocess.run([*enter, "--", *compileall], check=False, stdout=2)


def build(kernel_name: str | None, more: tuple[Part, ...] = ()) -> Path:
    """A folder with biodelay.ko, the workload programs and stap/*.ko for one kernel,
    the results of `more` parts, and core/ where this host can build that."""
    known = recipe.load(kernel_name)
    kernel = image.kernel(known)
    parts = [
        part for part in (*PARTS, *more) if part.engine in (*known.arch.engines, "")
    ]
    made = [
        cache.build(
            f"{part.name}-{kernel.name}",
            _key(part, known, kernel),
            partial(_compile, part, known, kernel),
        )
        for part in parts
    ]
    if not core.lacking(known.arch):
        made.append(core.build(known))

    def assemble(result: Path) -> None:
        for folder in made:
            shutil.copytree(folder, result, dirs_exist_ok=True)

    _bytecode(kernel)
    key = cache.digest(*(folder.name for folder in made))
    return cache.build(f"artefacts-{kernel.name}", key, assemble)
