# SPDX-License-Identifier: GPL-2.0-only
"""test_reported_lines: a stall is one line with task, file, wait, holder and root."""

from __future__ import annotations

import json

from golden_runs import HOMES
from streamed import fed, lines_of
from writestall.events.run_directory import RunDir, open_run
from writestall.watch.reporting import Reported, Reporter

POD = (
    "/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod0123456789abcdef0123456789abcdef0123.slice/"
    f"cri-containerd-{'4f1d' * 16}.scope"
)


def _reported(
    name: str, *changed: tuple[bytes, bytes]
) -> tuple[Reporter, list[Reported]]:
    run = open_run(HOMES[name])
    lines = lines_of(run)
    for old, new in changed:
        lines = [line.replace(old, new) for line in lines]
    _, found = fed(run, lines)
    reporter = Reporter(run)
    return reporter, [reporter.reported(one) for one in found]


def test_the_line_names_what_was_waited_for_who_held_it_and_the_root() -> None:
    reporter, reported = _reported("page-lock-6.12")
    line = reporter.line(next(one for one in reported if "page_lock" in one.by_class))
    for part in (
        "latwriter/",
        "write(2) lab/gc.log 600 B took ",
        "held by jbd2/vdb-8/",
        "(inferred), which waited for device_io",
        "root: vdb slow for jbd2 (9",
        "explained ",
    ):
        assert part in line, line
    assert "\n" not in line


def test_the_fields_say_the_same() -> None:
    reporter, reported = _reported("page-lock-6.12")
    fields = reporter.fields(reported[0])
    assert fields["COMM"] == "latwriter"
    assert fields["CALL"] == "write"
    assert fields["FILE"] == "lab/gc.log"
    assert (fields["DEVICE"], fields["FS"]) == ("vdb", "ext4")
    assert str(fields["HOLDER"]).startswith("jbd2/vdb-8/")
    assert fields["HOLDER_INFERRED"] is True
    assert (fields["TID"], fields["DURATION_MS"]) == (202, 1205)
    assert fields["ROOT"] == "vdb slow for jbd2"
    assert all(name.isupper() for name in fields)


def test_a_container_is_reported_by_its_name() -> None:
    run = open_run(HOMES["page-lock-6.12"])
    path = {"ev": "cgroup", "t_ns": 1, "id": 77, "version": 2, "path": POD}
    first, *rest = lines_of(run)
    lines = [first, json.dumps(path).encode() + b"\n"]
    lines += [line.replace(b'"comm":"latwriter"', b'"comm":"latwriter","cgroup":77')
              if b'"ev":"write"' in line else line for line in rest]  # fmt: skip
    _, found = fed(run, lines)
    reporter = Reporter(run, lambda group: f"<{group[-20:]}>")
    reported = [reporter.reported(one) for one in found]
    own = [one for one in reported if one.chain.task.comm == "latwriter"]
    assert own and all(one.group.startswith("<") for one in own)
    assert f"in {own[0].group}" in reporter.line(own[0])
    assert reporter.fields(own[0])["CONTAINER"] == own[0].group


def test_a_limit_that_events_report_is_forgotten_with_them() -> None:
    """A host's manifest has no limits; its cgroups are ever new."""
    run = open_run(HOMES["io-max-7.2"])
    host = RunDir(run.path, {k: v for k, v in run.manifest.items() if k != "cgroups"})
    limit = b',"io_max":"8:0 wbps=3145728"}'
    lines = [
        line.rstrip()[:-1] + limit + b"\n" if b'"ev":"cgroup"' in line else line
        for line in lines_of(run)
    ]
    _, found = fed(host, lines)
    reporter = Reporter(host, lambda group: f"pod {group[-1:]}")
    roots = {reporter.reported(one).root[0] for one in found}
    assert "pod b, capped at 3 MiB/s by io.max" in roots
    reporter.forget()
    assert not reporter._roots._limits


def test_a_limit_is_reported_by_the_name_of_its_container() -> None:
    run = open_run(HOMES["io-max-7.2"])
    _, found = fed(run, lines_of(run))
    reporter = Reporter(run, lambda group: f"pod {group[-1:]}")
    roots = {reporter.reported(one).root[0] for one in found}
    assert "pod b, capped at 2 MiB/s by io.max" in roots


def test_names_from_users_do_not_reach_the_terminal() -> None:
    reporter, reported = _reported("page-lock-6.12", (b"gc.log", rb"\u001b[2J\nx"))
    line = reporter.line(reported[0])
    assert line.isprintable()
    assert r"\x1b[2J\nx" in line
