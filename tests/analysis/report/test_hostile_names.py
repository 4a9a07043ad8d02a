# SPDX-License-Identifier: GPL-2.0-only
"""This test will put hostile names into a run and find them as text in its page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import build
import webpage
from hostile import NAMES, held_to_our_own, hostile_run
from support import PROJECT
from writestall.cli.main import main


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_text(tmp_path: Path, name: str) -> None:
    """They are in the page unchanged, without invisible characters."""
    run = hostile_run(tmp_path / "run", name)
    page = webpage.read(run)
    held_to_our_own(page)
    visible = "".join(ch if ch.isprintable() else ascii(ch)[1:-1] for ch in name)
    assert any(visible in tree.text for tree in page.all("pre", class_="tree"))
    assert any(visible in head.text for head in page.all("summary"))
    assert visible in page.one("header").text
    assert visible in page.one("footer").text
    record = page.one("script", type="application/json").text
    assert not re.search("[<>&\u2028\u2029]", record)
    assert visible in json.loads(record)["names"]


def test_hostile_names_reach_every_section(tmp_path: Path) -> None:
    """A new picture is none until the hostile run draws it: hostile.py."""
    template = PROJECT / "analysis/writestall/report/templates/page.html"
    names = re.findall(r'figures\.section\("(\w+)"', template.read_text())
    sections = [f"h-{name}" for name in names]
    page = webpage.read(hostile_run(tmp_path / "run", NAMES[0]))
    drawn = [part.attributes["aria-labelledby"] for part in page.all("section")]
    assert len(sections) > 8
    assert sections == drawn, f"hostile_run() draws no {set(sections) - set(drawn)}"


def test_only_our_own_style_and_script_may_run(tmp_path: Path) -> None:
    """The digests of the policy are those of the page's style and script."""
    page = webpage.read(build.run_dir(tmp_path / "run", build.cascade()))
    name = {"http-equiv": "Content-Security-Policy"}
    policy = page.one("meta", **name).attributes["content"]
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none';")
    assert "unsafe" not in policy
    style, (_, script) = page.one("style"), page.all("script")
    for kind, element in (("style", style), ("script", script)):
        digest = hashlib.sha256(element.text.encode()).digest()
        assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_the_page_names_no_address(tmp_path: Path) -> None:
    """Nothing in it could be fetched."""
    page = webpage.made(build.run_dir(tmp_path / "run", build.cascade()))
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", page.read_text())


def test_ids_are_there_once(tmp_path: Path) -> None:
    """Every referenced id exists, once."""
    page = webpage.read(build.run_dir(tmp_path / "run", build.cascade()))
    ids = [e.attributes["id"] for e in page.everything() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in page.everything():
        for value in element.attributes.values():
            for wanted in re.findall(r"url\(#([^)]*)\)", value):
                assert wanted in ids


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=st.text(max_size=40))
def test_no_name_breaks_the_page(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """Whatever the name, the elements nest and are ours."""
    run = hostile_run(tmp_path_factory.mktemp("hostile") / "run", name)
    held_to_our_own(webpage.read(run))


def test_garbage_for_a_manifest_and_logs_does_no_harm(tmp_path: Path) -> None:
    """Values of another type than they should be."""
    run = build.run_dir(
        tmp_path / "run",
        build.cascade(),
        device=["<b>"],
        filesystem=7,
        window={"start_ns": "soon"},
        scenario=None,
    )
    histogram = HdrHistogram(1, 10**14, 3)
    histogram.record_value(10**6)
    packed = histogram.encode().decode()
    lines = (
        "0,1,x,<script>",
        "\x00",
        ",,,,",
        f"nan,1e999,0,{packed}",
        f"-9,1,0,{packed}",
    )
    (run / "writer.hlog").write_text("\n".join(lines))
    (run / "writer.jsonl").write_text('{"ev":"client_write"}\n[[[[')
    held_to_our_own(webpage.read(run))
    assert main(["report", str(run)]) == 0
