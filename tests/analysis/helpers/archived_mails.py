# SPDX-License-Identifier: GPL-2.0-only
"""archived_mails: read reports of mailing lists, where their texts are present.

They are other people's and no part of this tree: WRITESTALL_MAILS names a folder with
the mails, one a file and as they were sent. The lists' archives have each by its id.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from writestall.common.compressed import Bound
from writestall.log import remarks
from writestall.log.links import POSSIBLE, LogAnswer, explain_log
from writestall.log.reading import LoggedTask

JUDGED = Path(__file__).parents[2] / "data" / "links-of-archived-mails.toml"
_ID = re.compile(rb"^message-id:\s*<([^>]+)>", re.IGNORECASE | re.MULTILINE)


def judgements() -> list[dict[str, Any]]:
    """What was judged of each mail."""
    table: list[dict[str, Any]] = tomllib.loads(JUDGED.read_text())["mail"]
    return table


def answers() -> Iterator[tuple[dict[str, Any], LogAnswer]]:
    """Each judged mail that is there, with its answer; skips where none is."""
    folder = os.environ.get("WRITESTALL_MAILS")
    if not folder:
        pytest.skip("WRITESTALL_MAILS names no folder of mails")
    mails = {
        found[1].decode("utf-8", "replace"): path
        for path in sorted(Path(folder).iterdir())
        if (found := _ID.search(path.read_bytes()))
    }
    for mail in judgements():
        if path := mails.get(mail["id"]):
            yield mail, explain_log(remarks.read_place(str(path), Bound()).tasks)


def _key(task: LoggedTask) -> str:
    if task.comm is None and task.pid is None:
        return "-"
    return f"{task.comm or ''}/{'' if task.pid is None else task.pid}"


def count(mail: dict[str, Any], answer: LogAnswer) -> Counter[str]:
    """How many stacks, classes and links of an answer are right, and how many not."""
    found: Counter[str] = Counter(stacks=len(mail["tasks"]))
    seen = {_key(task.task): task.verdict.cls for task in answer.tasks}
    found["classes"] = sum(
        seen.get(name) in classes for name, classes in mail["tasks"].items()
    )
    right, allowed = mail.get("links", {}), mail.get("allowed", {})
    found["links"] = len(right)
    for link in answer.links.values():
        waiter, holder = _key(link.waiter.task), _key(link.holder.task)
        if holder in right.get(waiter, ()):
            found["found"] += 1
        elif holder not in allowed.get(waiter, ()) or link.confidence != POSSIBLE:
            found["false"] += 1
            found["surely false"] += link.confidence != POSSIBLE
    return found
