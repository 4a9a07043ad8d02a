# SPDX-License-Identifier: GPL-2.0-only
"""image: build QEMU, the userland tree and the root disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import cache, mirror
from machine.architectures import Architecture
from machine.commands import output, search_path, started
from machine.own import modules as own_modules
from machine.own.find import OwnKernel
from machine.recipe import VM, Recipe
from writestall_base.errors import UserError

# Free space on the root disk: what mke2fs needs for inode tables and slack. Guests
# write to an overlay in memory.
DISK_SLACK_BYTES = 256 << 20
# Of a build's output, for the cause of its failure.
MOST_LINES = 10_000
FINISH = VM / "finish-foreign.sh"
KERNEL_PACKAGES = "linux-image-{0},linux-headers-{0}"
MODULES = "usr/lib/modules"
BINFMT = Path("/proc/sys/fs/binfmt_misc")
DPKG_OPTIONS = [
    "path-exclude=/usr/share/doc/*",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
]


# In mmdebstrap's own namespace, root is a subordinate user, whom a home of mode 0700
# keeps out of the cache (HOME_MODE in Debian 13's /etc/login.defs). In ours, root is
# the calling user.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--map-auto", "--mount")


def as_owner() -> list[str]:
    """Prefix for commands on a tree's files: a user namespace unless root."""
    return [] if os.geteuid() == 0 else list(NAMESPACE)


def entering(tree: Path, binds: Iterable[str], command: Iterable[str]) -> list[str]:
    """The command line that runs a command in a tree, which sees the binds (enter.sh):
    what it writes is gone, but in folders of theirs."""
    return [*as_owner(), str(VM / "enter.sh"), str(tree), *binds, "--", *command]


# A tool's complaint, and APT's; what dpkg and its callers add names no cause.
COMPLAINTS = (re.compile(r"\berror: ", re.I), re.compile(r"^E: "))
FOLLOWS = re.compile(r"^dpkg: error processing|^E: Sub-process ")


def cause(lines: Iterable[str]) -> str | None:
    """The line of a build's output that says why it failed: the first complaint."""
    own = [line.strip() for line in lines if not FOLLOWS.search(line)]
    for complaint in COMPLAINTS:
        for line in own:
            if complaint.search(line):
                return line
    return None


def logged(command: list[str]) -> None:
    """Run a build step; its output goes to our stderr, the cause of a failure last."""
    environment = os.environ | {"PATH": search_path()}
    said: deque[str] = deque(maxlen=MOST_LINES)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        with started(
            command, stdin=subprocess.DEVNULL, env=environment, **pipes
        ) as child:
            for raw in child.stdout or ():
                said.append(line := raw.decode(errors="replace"))
                print(line, end="", file=sys.stderr, flush=True)
            status = child.wait()
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing: ./writestall setup") from None
    if status:
        why = cause(said) or "see its last lines above"
        raise UserError(f"{Path(command[0]).name} failed with status {status}: {why}")


def bootstrap(
    suite: str,
    suites: set[str],
    target: Path,
    extra: list[str],
    *,
    dpkg_options: Iterable[str] = DPKG_OPTIONS,
) -> None:
    """mmdebstrap a tree of `suite` that may also install from `suites`."""
    archive, keys = mirror.mirror(), mirror.keyring()
    sources = [f"deb [signed-by={keys}] {archive} {s} main" for s in sorted(suites)]
    options = [*mirror.apt_options(), 'APT::Install-Recommends "false"']
    target.parent.mkdir(parents=True, exist_ok=True)
    logged(
        [*as_owner(), "mmdebstrap", "--mode=root", "--format=directory"]
        + [f"--aptopt={option}" for option in options]
        + [f"--dpkgopt={option}" for option in dpkg_options]
        + [*extra, suite, str(target), *sources]
    )


def rooted(
    name: str,
    suite: str,
    packages: str,
    *options: str,
    variant: str = "minbase",
    dpkg_options: Iterable[str] = DPKG_OPTIONS,
) -> Path:
    """A tree of a suite with these packages, in the cache; mmdebstrap's options.

    With the variant `extract` it has nothing else, and no script of a package runs.
    """

    def build(part: Path) -> None:
        extra = [f"--variant={variant}", f"--include={packages}", *options]
        bootstrap(suite, {suite}, part, extra, dpkg_options=dpkg_options)
        (part / "mnt").mkdir(exist_ok=True)  # for enter.sh

    key = cache.digest(suite, packages, *options)
    return cache.build(name, key, build, as_owner=as_owner())


def tools_key(recipe: Recipe) -> str:
    return cache.digest(recipe.qemu_suite, recipe.arch.qemu_packages)


def built_tools(recipe: Recipe) -> bool:
    return cache.place("qemu", tools_key(recipe)).exists()


def tools(recipe: Recipe) -> Path:
    """The tree that holds our QEMU and its libraries, and nothing else."""
    packages = recipe.arch.qemu_packages
    return rooted("qemu", recipe.qemu_suite, packages, variant="extract")


def foreign(arch: Architecture) -> list[str]:
    """mmdebstrap's options for a processor that is not the host's."""
    return [] if arch.is_host else [f"--architectures={arch.debian}"]


def check_foreign(arch: Architecture) -> None:
    """Refuse a host whose kernel cannot run programs of that processor.

    The flag F keeps QEMU's program open, so that trees need not have it
    (Documentation/admin-guide/binfmt-misc.rst).
    """
    if arch.is_host:
        return
    row = BINFMT / f"qemu-{arch.name}"
    said = row.read_text() if row.exists() else ""
    if not re.search(r"^flags: \w*F", said, re.M) or not said.startswith("enabled"):
        raise UserError(
            f"this host does not run programs of {arch.name} (no {row} with the flag"
            " F): install qemu-user-static and binfmt-support"
        )


def _pairs(recipe: Recipe) -> str:
    """The kernels as install-kernels.sh takes them."""
    return " ".join(f"{name}={suite}" for name, suite in recipe.kernels.items())


def _tree_key(recipe: Recipe) -> str:
    # The mirror's contents are not an input: `make clean` fetches newer packages.
    words = (recipe.userland_suite, _pairs(recipe), *recipe.packages, *DPKG_OPTIONS)
    if not recipe.arch.is_host:
        return cache.digest(FINISH, KERNEL_PACKAGES, *words, *foreign(recipe.arch))
    return cache.digest(VM / "install-kernels.sh", *words)


def built_tree(recipe: Recipe) -> bool:
    return cache.place("tree", _tree_key(recipe)).exists()


def _install(recipe: Recipe, part: Path) -> None:
    """Install the userland and the kernels."""
    hook = str(VM / "install-kernels.sh")
    suites = {recipe.userland_suite, *recipe.kernels.values()}
    include = ",".join(recipe.packages)
    extra = ["--variant=minbase", f"--include=apt,{include}"]
    extra.append(f'--customize-hook={hook} "$1" {_pairs(recipe)}')
    bootstrap(recipe.userland_suite, suites, part, extra)


def _unpack(recipe: Recipe, suite: str, part: Path, *include: str) -> None:
    options = ["--variant=extract", *foreign(recipe.arch)]
    options += [f"--include={words}" for words in include]
    bootstrap(suite, {suite}, part, options)


def _unpack_all(recipe: Recipe, part: Path) -> None:
    """Unpack the userland, and each kernel with its headers and their compiler.

    Scripts of packages do not run: emulated, they take many times longer than the
    unpacking. finish-foreign.sh does what a machine needs of them.
    """
    check_foreign(recipe.arch)
    packages = ",".join(recipe.packages)
    _unpack(recipe, recipe.userland_suite, part, "?essential", packages)
    side = part.with_name(f"{part.name}-kernel")
    pairs = []
    for name, suite in recipe.kernels.items():
        cache.remove(side, as_owner())
        _unpack(recipe, suite, side, KERNEL_PACKAGES.format(recipe.arch.debian))
        (release,) = (side / MODULES).iterdir()
        pairs.append(f"{name}={release.name}")
        # What the userland has is newer and stays.
        copy = ["cp", "--archive", "--no-clobber", f"{side}/.", str(part)]
        logged([*as_owner(), *copy])
    cache.remove(side, as_owner())
    logged([*as_owner(), str(FINISH), str(part), *pairs])


def tree(recipe: Recipe) -> Path:
    """The userland with the recipe's kernels, as a folder to compile in."""
    how = _install if recipe.arch.is_host else _unpack_all

    def build(part: Path) -> None:
        how(recipe, part)

    done = cache.build("tree", _tree_key(recipe), build, as_owner=as_owner())
    cache.prune("tree", done, as_owner())
    return done


def disk(recipe: Recipe) -> Path:
    """The same userland as a read-only ext4 root disk to boot."""
    source = tree(recipe)

    def build(part: Path) -> None:
        used = output([*as_owner(), "du", "--summarize", "--bytes", str(source)])
        size = int(used.split()[0]) + DISK_SLACK_BYTES
        options = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0"]
        source_and_size = ["-d", str(source), str(part), f"{size >> 10}k"]
        logged([*as_owner(), "mke2fs", *options, *source_and_size])
        part.chmod(0o444)

    done = cache.build("root", _tree_key(recipe), build)
    cache.prune("root", done)
    return done


@dataclass(frozen=True)
class Kernel:
    """A kernel and the userland that it runs with."""

    name: str  # of its files in the cache
    given: str  # what -k takes
    release: str  # `uname -r`
    tree: Path  # the userland
    vmlinuz: Path
    modules: Path
    identity: str  # of its files, for keys of the cache
    shares: tuple[tuple[Path, str], ...] = ()  # what the userland lacks, and its place
    # Entered by PVH, a kernel runs C before KASAN has its shadow memory
    # (arch/x86/platform/pvh/head.S, xen_prepare_pvh()), and resets.
    pvh: bool = True
    compiler: str | None = None  # that its headers call, and the userland lacks

    @property
    def binds(self) -> list[str]:
        """The shares as enter.sh takes them."""
        return [f"{source}:{place}:ro" for source, place in self.shares]


def _vmlinuz(home: Path, release: str) -> Path:
    """The kernel itself. Debian's newer packages have it with its modules, and their
    scripts, which do not run in a tree of another processor, copy it to /boot."""
    places = home / f"boot/vmlinuz-{release}", home / MODULES / release / "vmlinuz"
    return next(filter(Path.exists, places), places[0])


def kernels(recipe: Recipe) -> dict[str, Kernel]:
    """The installed kernels by their short names."""
    home = tree(recipe)
    table = (home / "etc/writestall/kernels").read_text().splitlines()
    return {
        name: Kernel(
            name=name,
            given=name,
            release=release,
            tree=home,
            vmlinuz=_vmlinuz(home, release),
            modules=home / MODULES / release,
            identity=home.name,
            pvh=recipe.arch.is_unpacked,
        )
        for name, release in (line.split() for line in table)
    }


def _own(recipe: Recipe, own: OwnKernel) -> Kernel:
    """A kernel of one's own, with the image's userland."""
    home = tree(recipe)
    identity = f"{home.name} {own.identity}"
    modules = own.modules or _modules(own, home, identity)
    folders = [(folder, str(folder)) for folder in own.folders]
    return Kernel(
        name=own.release,
        given=str(own.given),
        release=own.release,
        tree=home,
        vmlinuz=own.vmlinuz,
        modules=modules,
        identity=identity,
        shares=((modules, f"/{MODULES}/{own.release}"), *folders),
        pvh=not own.checks_itself,
        compiler=_lacking(home, own.compiler),
    )


def _lacking(home: Path, compiler: str | None) -> str | None:
    """The compiler, if a userland has none of that name."""
    there = compiler is None or os.path.lexists(home / "usr/bin" / compiler)
    return None if there else compiler


def _modules(own: OwnKernel, home: Path, identity: str) -> Path:
    """The folder of modules of a tree, as `make modules_install` makes it."""
    place = Path("lib/modules", own.release)

    def build(part: Path) -> None:
        own_modules.collect(own, part / place)
        binds = [f"{part}:/mnt/modules"]
        binds += [f"{folder}:{folder}:ro" for folder in own.folders]
        depmod = ["depmod", "--basedir", "/mnt/modules", own.release]
        logged(entering(home, binds, depmod))

    key = cache.digest(identity, Path(own_modules.__file__), own_modules.state(own))
    return cache.build(f"modules-{own.release}", key, build) / place


def kernel(recipe: Recipe) -> Kernel:
    """The kernel that the recipe was loaded for."""
    if recipe.own:
        return _own(recipe, recipe.own)
    return kernels(recipe)[recipe.kernel]
