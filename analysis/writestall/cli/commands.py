# SPDX-License-Identifier: GPL-2.0-only
"""commands: the table of all commands, by groups as `writestall --help` prints them.

A command's module has main(args), and arguments(parser) where it takes any. Those of
`driver` are in lab/ of a checkout; `recorder`, `watcher` and `launcher` are in trace/,
which the Debian package writestall-tracers has, too; the others are installed with the
package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

# The package of the commands that only a checkout has.
CHECKOUT = "driver"
CLONE = "a clone of the tree"
TRACERS = f"root and the Debian package writestall-tracers, or {CLONE}"


@dataclass(frozen=True)
class Command:
    """A command, its module, and what it needs.

    `extras` are the groups of pyproject.toml whose libraries it imports; None: it
    imports none, not even those of the package. `tail` names what may follow `--`.
    """

    name: str
    help: str
    example: str
    module: str
    extras: tuple[str, ...] | None = None
    root: bool = False
    tail: str = ""

    @property
    def packaged(self) -> bool:
        """Whether it is part of this package."""
        return self._top == "writestall"

    @property
    def lacks(self) -> str:
        """What it needs and is not here, outside a checkout; or nothing."""
        if self._top == CHECKOUT:
            return CLONE
        return "" if find_spec(self._top) else TRACERS

    @property
    def _top(self) -> str:
        return self.module.partition(".")[0]


def _lab(name: str, text: str, words: str = "", tail: str = "") -> Command:
    """A command of lab/driver."""
    module = f"driver.commands.{name.replace('-', '_')}"
    return Command(name, text, f"{name} {words}".strip(), module, tail=tail)


def _made(name: str, text: str, words: str = "") -> Command:
    """A command of lab/driver/packaging."""
    return Command(name, text, f"{name} {words}".strip(), f"driver.packaging.{name}")


def _run(name: str, text: str, words: str, *extras: str) -> Command:
    """A command of the analysis; its example is for a run in out/latest."""
    module = f"writestall.cli.{name.replace('-', '_')}"
    return Command(name, text, f"{name} {words}", module, extras)


TRACE = "run a tracing script on this host until Ctrl-C"
GROUPS: dict[str, tuple[Command, ...]] = {
    "Make write(2) stall in a throwaway VM": (
        _lab(
            "lab",
            "run a scenario in a VM and explain its stalls",
            "page-lock --kernel 7.2 --engine both --mode defer",
        ),
        _lab("variants", "run a scenario and its variants, to one table", "gc-log"),
        _lab(
            "drilldown", "find the function and lock that writes sleep in", "page-lock"
        ),
        _lab(
            "compare",
            "compare file systems and their options on one disk",
            "--fs ext4,xfs --objective 'over 65ms < 1%' --budget 2h",
        ),
        _lab("crash", "cut a machine and show what file systems kept", "--fs ext4,xfs"),
        _lab("scenarios", "list the scenarios"),
        _lab("vm", "open a shell in a VM, or run a command", "--kernel 7.2", "COMMAND"),
    ),
    "Read a run": (
        _run("demo", "explain a run that comes with the program", "--no-browser"),
        _run("explain", "explain a run's slowest writes", "out/latest --top 3"),
        _run("report", "write the answer as an HTML page", "out/latest -o stalls.html"),
        _run("hist", "show the distribution of latencies", "out/latest", "export"),
        _run("heatmap", "show time by latency", "out/latest -o run.svg", "export"),
        _run(
            "export",
            "convert a run to another program's format",
            "out/latest --to perfetto -o run.pftrace",
            "export",
        ),
        _run("check", "compare the answer with the injector's record", "out/latest"),
        _run(
            "compare-options",
            "rank the options of a comparison",
            "out/compare/dying-hdd-appenders-6.12 --slo 65ms",
            "compare",
        ),
    ),
    "Learn it": (
        Command(
            "course",
            "start, answer and grade the labs of docs/course",
            "course start 1 --seed anna --recorded",
            "writestall.course.command",
            (),
        ),
        _lab(
            "source",
            "print a function of the lab's kernel, with line numbers",
            "do_get_write_access --around wait_on_bit",
        ),
    ),
    "Trace a host": (
        Command(
            "record",
            "record why calls stall on this host, as a run",
            "record -p 4711 --for 60s",
            "recorder.cli",
            root=True,
            tail="COMMAND",
        ),
        Command(
            "watch",
            "report every stall of this host as it ends, for weeks",
            "watch --path /var/lib/etcd --listen 127.0.0.1:9709",
            "watcher.cli",
            root=True,
        ),
        Command("trace", TRACE, "trace stalled_writes", "launcher.command", root=True),
    ),
    "Set up and test": (
        _lab("doctor", "list what this host can do and what is missing"),
        _lab("setup", "install what the lab needs", "--tests"),
        _lab("build", "compile for one kernel", "--kernel 6.12"),
        _lab("test", "run the tests", "-- tests/guest -k page", "PYTEST-ARGUMENT"),
    ),
    "Shell": (_run("completion", "print completion for a shell", "bash", "export"),),
}
# Who changes the tree has these besides, as `writestall dev COMMAND`.
DEV = "dev"
DEV_GROUPS: dict[str, tuple[Command, ...]] = {
    "Build and measure": (
        Command(
            "build-kernel",
            "build a kernel from its source tree, for --kernel",
            "build-kernel ~/src/linux-4.19",
            "driver.builds.kernel_tree",
        ),
        Command(
            "debug-kernel",
            "build a kernel that checks itself",
            "debug-kernel --flavour kcsan",
            "driver.builds.debug_kernel",
        ),
        Command(
            "docs",
            "build the documents as a site, and check its links",
            "docs --out out/site",
            "driver.builds.website",
        ),
        _lab("render", "write the documents' tables, answers, pictures", "--check"),
        _lab("clean", "delete the cache: image, kernels, compiled parts"),
        _lab("bench-injector", "compare the injectors' accuracy and cost"),
        _lab("bench-tracers", "measure what tracers cost in throughput"),
        _lab("soak-tracers", "measure what tracers lose and hold", "--engine core"),
        _lab("bench-analysis", "measure what explain costs", "10000 100000"),
        _lab("kernel-support", "record which script works where", "out/junit"),
    ),
    "Parts of lab, variants and compare": (
        _run("expect", "check that a run shows its scenario's chain", "out/latest"),
        _run("compare-engines", "compare what both engines saw of a run", "out/latest"),
        _run(
            "compare-variants",
            "print the table of a folder of variants",
            "out/latest-variants",
            "compare",
        ),
        _lab(
            "job",
            "run a round of a planned comparison, or its cuts",
            "round 1 out/compare/NAME --kernel 6.12",
        ),
    ),
    "Package": (
        _made("deb", "build the Debian packages", "-o out/deb"),
        _made("oci", "build an OCI image of the packages", "-o out/oci"),
        _made("box", "build a Vagrant box of the VM's image", "-o out/box"),
        _made("release", "check, build all packages, write SHA256SUMS"),
        _run("man", "print the man page", "| man -l -", "export"),
    ),
}
OF_DEV = {row.name for rows in DEV_GROUPS.values() for row in rows}
EVERY_GROUP = (*GROUPS.values(), *DEV_GROUPS.values())
COMMANDS = {row.name: row for rows in EVERY_GROUP for row in rows}


def spelled(command: Command) -> str:
    """Its words behind `writestall`."""
    return f"{DEV} {command.name}" if command.name in OF_DEV else command.name


def overview(groups: Mapping[str, tuple[Command, ...]] = GROUPS) -> Iterable[str]:
    """The list that `writestall --help` prints, or `writestall dev --help`."""
    dev = f" {DEV}" if groups is DEV_GROUPS else ""
    yield f"usage: writestall{dev} COMMAND [OPTION]..."
    yield ""
    yield "Say why write(2) stalled: which lock, held by whom, waiting for what."
    for title, rows in groups.items():
        yield f"\n{title}:"
        yield from (f"  {row.name:<18}{row.help}" for row in rows)
    yield f"\nSee writestall{dev} COMMAND --help."
    if not dev:
        yield "Example: writestall explain out/latest"
        yield "Commands for developers of the tree: writestall dev --help"
