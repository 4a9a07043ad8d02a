# SPDX-License-Identifier: GPL-2.0-only
"""moments: show an application's longest pauses, requests or complaints."""

from __future__ import annotations

from dataclasses import dataclass

from writestall.chain.answers import Answer
from writestall.report import application_text
from writestall.report.application_timeline import picture
from writestall.report.timeline import Timeline


@dataclass(frozen=True, slots=True)
class MomentView:
    """One as text and picture: its first line in two parts, and the lines below it."""

    head: str
    who: str
    tree: list[str]
    picture: Timeline


def moment_views(answer: Answer, most: int) -> list[MomentView]:
    """The longest of them, longest first."""
    views = []
    for row in application_text.moments(answer, most):
        head, *tree = application_text.moment(answer, row)
        # Two columns, apart by two spaces or more.
        what, _, who = head.rpartition("  ")
        views.append(MomentView(what.strip(), who, tree, picture(answer, row)))
    return views
