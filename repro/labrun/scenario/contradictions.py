# SPDX-License-Identifier: GPL-2.0-only
"""contradictions: find values of a scenario that exclude each other."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from labrun.scenario import rule, variants
from labrun.scenario.keys import AnyWorkload, Expect, Scenario, Workload
from labrun.scenario.kinds import FIO_JOBS, GIVEN, JAR_LISTS, SECOND_US, Command, Fio
from labrun.scenario.schema import did_you_mean
from writestall_base.releases import version

Found = Iterator[tuple[str, str]]
# Keys of `expect` for one kind of client.
ASKS = {
    "safepoint": ("pause_ms_min", "logging_ms_max", "threads_stopped"),
    "broker": ("request_ms_min", "writes_p999_below_us"),
}
# Keys of a variant for one kind of client.
CHANGES = {"safepoint": ("asynchronous", "on_tmpfs")}


def contradictions(scenario: Scenario, stem: str) -> Found:
    """List pairs of a place and the mistake there."""
    if scenario.name != stem:
        yield "name", f"want {stem!a}, the file's name"
    kernel = scenario.kernel
    if kernel.max is not None and version(kernel.max) < version(kernel.min):
        yield "kernel.max", f"older than kernel.min, {kernel.min}"
    yield from _workloads(scenario)
    filesystem = scenario.filesystem
    if filesystem.external_journal and filesystem.type != "ext4":
        yield "filesystem.external_journal", "only ext4 has one"
    yield from _memory(scenario)
    yield from _cgroups(scenario, "cgroup")
    yield from _jars(scenario)
    for index, inject in enumerate(scenario.inject):
        for at, why in rule.mistakes(inject):
            yield f"inject[{index}].{at}", why
    yield from _disks(scenario, "filesystem")
    yield from _inject(scenario, "expect")
    if scenario.trace.stall_us < scenario.trace.floor_us:
        yield "trace.stall_us", "shorter than trace.floor_us"
    if scenario.expect:
        yield from _asks(scenario, scenario.expect, "expect")
    yield from _variants(scenario)


def _workloads(scenario: Scenario) -> Found:
    names = [workload.name for workload in scenario.workload]
    for index, workload in enumerate(scenario.workload):
        place = f"workload[{index}]"
        if workload.name in names[:index]:
            yield f"{place}.name", f"{workload.name} is used twice"
        if _beyond(workload):
            yield f"{place}.region_bytes", "smaller than one write"
        if isinstance(workload, Fio):
            yield from _fio(workload, place)
        if isinstance(workload, Command):
            yield from _environment(workload.environment, place)


def _environment(environment: dict[str, str | int], place: str) -> Found:
    for name in GIVEN:
        if name in environment:
            yield f"{place}.environment.{name}", "it is set in any case; take another"


def _beyond(workload: AnyWorkload) -> bool:
    """Whether a write does not fit in the region."""
    return isinstance(workload, Workload) and (
        0 < workload.region_bytes < workload.write_bytes
    )


def _fio(workload: Fio, place: str) -> Found:
    if not workload.job_file.is_file():
        known = [path.stem for path in FIO_JOBS.glob("*.fio")]
        yield f"{place}.job", f"not known{did_you_mean(workload.job, known)}"
    if SECOND_US % workload.interval_us:
        yield f"{place}.interval_us", "want a whole number of writes a second"


def _memory(scenario: Scenario) -> Found:
    filesystem, memory = scenario.filesystem, scenario.memory
    if filesystem.loop and filesystem.type == "tmpfs" and not memory:
        yield "filesystem.loop", "tmpfs has no disk"
    if memory and filesystem.type != "tmpfs":
        yield "memory", f"{filesystem.type} uses the disk; only tmpfs leaves it to swap"
    elif memory and scenario.inject and not filesystem.loop:
        yield "filesystem.loop", "want true: no rule delays a disk that is swap itself"


def _cgroups(scenario: Scenario, place: str) -> Found:
    names = [group.name for group in scenario.cgroup]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{place}[{index}].name", f"{name} is used twice"
    for index, workload in enumerate(scenario.workload):
        if workload.cgroup is not None and workload.cgroup not in names:
            yield f"workload[{index}].cgroup", f"{workload.cgroup} is not in [[cgroup]]"
    if names and scenario.memory:
        yield place, "[memory] has a cgroup of its own; leave one of them out"


def _jars(scenario: Scenario) -> Found:
    known = [path.stem for path in JAR_LISTS.glob("*.jars")]
    name = scenario.machine.jars
    if name is not None and name not in known:
        yield "machine.jars", f"not known{did_you_mean(name, known)}"


def _disks(scenario: Scenario, filesystem: str) -> Found:
    for index, inject in enumerate(scenario.inject):
        if inject.disk == "journal" and not scenario.filesystem.external_journal:
            why = f"the journal has no disk; set {filesystem}.external_journal = true"
            yield f"inject[{index}].disk", why


def _inject(scenario: Scenario, expect: str) -> Found:
    if not (scenario.expect and scenario.expect.writer_untouched):
        return
    writers = dict.fromkeys(workload.kind for workload in scenario.workload)
    for index, inject in enumerate(scenario.inject):
        for comm in writers:
            if fnmatch.fnmatchcase(comm, inject.submitter):
                what = f"{inject.submitter!a} matches the writer, {comm}"
                remedy = f"narrow it or set {expect}.writer_untouched = false"
                yield f"inject[{index}].submitter", f"{what}; {remedy}"


def _asks(scenario: Scenario, expect: Expect, place: str) -> Found:
    client = scenario.workload[0].kind
    for kind, names in ASKS.items():
        for name in names:
            if kind != client and getattr(expect, name) is not None:
                yield f"{place}.{name}", f"the first workload is not a {kind}"


def _variants(scenario: Scenario) -> Found:
    taken = [variants.PLAIN]
    kinds = [workload.kind for workload in scenario.workload]
    for index, variant in enumerate(scenario.variant):
        place = f"variant[{index}]"
        if variant.name in taken:
            yield f"{place}.name", f"{variant.name} is used twice"
            continue
        taken.append(variant.name)
        for kind, names in CHANGES.items():
            for name in names:
                if kind != kinds[0] and getattr(variant, name):
                    yield f"{place}.{name}", f"the first workload is not a {kind}"
                    return
        yield from _environment(variant.environment, place)
        if variant.environment and "command" not in kinds:
            yield f"{place}.environment", "no workload is a command"
        yield from _asks(scenario, variant.expect, f"{place}.expect")
        applied = variants.applied(scenario, variant)
        yield from _disks(applied, f"{place}.filesystem")
        if variant.cgroup is not None:
            yield from _cgroups(applied, f"{place}.cgroup")
        yield from _inject(applied, f"{place}.expect")
