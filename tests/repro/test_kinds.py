# SPDX-License-Identifier: GPL-2.0-only
"""test_kinds: load workloads that are applications, and variants, or refuse them."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest
from test_scenario import GOOD, parse, refusal

from labrun.scenario import kinds, variants
from writestall_base.errors import UserError

SAFEPOINT = """
[[workload]]
kind = "safepoint"
name = "gc"
write_bytes = 200
interval_us = 50_000
"""
EXPECT = """
expect.chain = []
expect.stalled_writes_min = 0
expect.stall_ms_min = 0
"""
VARIANT = f"""
[[variant]]
name = "tmpfs"
purpose = "A log that is on no disk."
on_tmpfs = true
{EXPECT}"""
LATWRITER = GOOD[GOOD.index("[[workload]]") : GOOD.index("[expect]")]
APPLICATION = GOOD.replace(LATWRITER, SAFEPOINT) + VARIANT

# Each row: a text of APPLICATION, its replacement, the whole message.
BAD_APPLICATION = [
    (
        'kind = "safepoint"',
        'kind = "safepiont"',
        "x.toml: workload[0].kind: 'safepiont' is not known, did you mean safepoint?",
    ),
    (
        'kind = "safepoint"',
        "kind = 5",
        "x.toml: workload[0].kind: 5 is not known",
    ),
    (
        'kind = "safepoint"',
        'kind = "safepoint"\nwriters = 4',
        "x.toml: workload[0].writers: unknown key, did you mean write_bytes?",
    ),
    (
        'kind = "safepoint"',
        'kind = "safepoint"\nthreads = 0',
        "x.toml: workload[0].threads: want 1 to 1024, got 0",
    ),
    (
        'kind = "safepoint"',
        'kind = "safepoint"\nasynchronous = 1',
        "x.toml: workload[0].asynchronous: want true or false, got 1",
    ),
    (
        'kind = "safepoint"',
        'kind = "broker"\npartitions = "four"',
        "x.toml: workload[0].partitions: want a whole number, got 'four'",
    ),
    (
        'kind = "safepoint"\n',
        "",
        "x.toml: variant[0].on_tmpfs: the first workload is not a safepoint",
    ),
    (
        "stall_ms_min = 500",
        "stall_ms_min = 500\nrequest_ms_min = 5",
        "x.toml: expect.request_ms_min: the first workload is not a broker",
    ),
    (
        "expect.chain = []",
        "expect.chain = []\nexpect.writes_p999_below_us = 5",
        "x.toml: variant[0].expect.writes_p999_below_us:"
        " the first workload is not a broker",
    ),
    (
        "expect.chain = []",
        "expect.chain = 5",
        "x.toml: variant[0].expect.chain: want a list, got 5",
    ),
    (
        EXPECT,
        "",
        "x.toml: variant[0].expect: missing: what the run must show instead",
    ),
    (
        'name = "tmpfs"',
        'name = "plain"',
        "x.toml: variant[0].name: plain is used twice",
    ),
    (
        'name = "tmpfs"',
        'name = "tmpfs"\nfilesystem.type = "ntfs"',
        "x.toml: variant[0].filesystem.type: 'ntfs' is not known, did you mean tmpfs?",
    ),
    (
        'submitter = "jbd2/*"',
        'submitter = "s*"',
        "x.toml: inject[0].submitter: 's*' matches the writer, safepoint;"
        " narrow it or set expect.writer_untouched = false",
    ),
]


@pytest.mark.parametrize(("text", "instead", "message"), BAD_APPLICATION)
def test_an_applications_mistakes_get_one_line_too(
    text: str, instead: str, message: str
) -> None:
    assert text in APPLICATION
    assert refusal(APPLICATION.replace(text, instead, 1)) == message


def test_a_workload_is_of_the_kind_it_names() -> None:
    client = parse(APPLICATION).workload[0]
    assert isinstance(client, kinds.Safepoint)
    assert (client.kind, client.threads, client.on_tmpfs) == ("safepoint", 8, False)
    assert parse(GOOD).workload[0].kind == "latwriter"


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    whole = parse(APPLICATION)
    assert variants.names(whole) == [None, "tmpfs"]
    assert variants.chosen(whole, None) is whole
    found = variants.chosen(whole, "tmpfs")
    client = whole.workload[0]
    assert isinstance(client, kinds.Safepoint)
    assert found.workload[0] == dataclasses.replace(client, on_tmpfs=True)
    assert found.expect
    assert found.expect.chain == ()
    assert (found.filesystem, found.inject) == (whole.filesystem, whole.inject)
    table = variants.as_read(tomllib.loads(APPLICATION), "tmpfs")
    assert table["variant"] == "tmpfs"
    assert table["expect"]["chain"] == []
    assert table["workload"][0]["on_tmpfs"] is True
    assert "variant" not in variants.as_read(tomllib.loads(APPLICATION), None)


def test_a_variant_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="did you mean tmpfs"):
        variants.chosen(parse(APPLICATION), "tmps")
    with pytest.raises(UserError, match="it has none"):
        variants.chosen(parse(GOOD), "tmpfs")
