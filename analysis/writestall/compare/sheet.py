# SPDX-License-Identifier: GPL-2.0-only
"""sheet: what a comparison decides, for one page that a person can sign.

Text, page and JSON print the same sheet; the tables follow it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from writestall.compare import rules, wording
from writestall.compare.durability import Kept
from writestall.compare.folder import WANTED_LOAD
from writestall.compare.ranking import Answer, Ranked, Resolution
from writestall.compare.rules import Rules, Verdict, Word
from writestall.compare.wording import Number
from writestall_base import designs
from writestall_base.units import many

ENVIRONMENT = ("date", "kernel", "accelerator", "QEMU")
# Keys of a plan that change when rounds are added.
GROWS = ("rounds", "cells", "added")
LAST_HEADINGS = ("waited most for", "lost in a cut")


@dataclass(frozen=True, slots=True)
class Line:
    """An option's line: its verdict or, without a rule, whether it differs clearly."""

    option: str
    verdict: str
    value: Number
    against: Number
    lower: str
    cause: str
    lost: str
    reasons: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Its cells, in the order of the sheet's headings."""
        both = (_with_interval(one) for one in (self.value, self.against))
        return (self.option, self.verdict, *both, self.lower, self.cause, self.lost)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The page; `fixed` is a hash of what was planned before the first run."""

    headline: str
    question: str
    rule: str
    plan: str
    fixed: str
    noise: str
    resolution: str
    value: str
    baseline: str
    lines: list[Line]
    untested: list[str]
    after: str
    environment: str
    command: str

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What the page states beside its table."""
        return [
            ("question", self.question),
            ("rule", self.rule),
            ("plan", f"{self.plan} (fixed as {self.fixed})"),
            ("noise floor", self.noise),
            ("resolution", self.resolution),
            ("not tested", "; ".join(self.untested)),
            ("environment", self.environment),
            ("after the rollout", self.after),
            ("repeat", self.command),
        ]

    @property
    def headings(self) -> tuple[str, ...]:
        """The table's headings."""
        against = f"against {self.baseline}"
        return ("option", "verdict", self.value, against, "lower in", *LAST_HEADINGS)


def of(answer: Answer, held_to: Rules, verdicts: list[Verdict]) -> Sheet:
    """The sheet of an answer and its verdicts."""
    comparison = answer.comparison
    plan = comparison.plan
    baseline = comparison.baseline.name
    return Sheet(
        headline(answer, verdicts),
        f"Which of {many(len(comparison.others), 'option')} may replace {baseline} for"
        f" {plan['workload']['name']} on {plan['profile']['name']}?",
        _rule(answer, held_to),
        _plan(answer),
        fixed(plan),
        _noise(answer),
        resolution(answer),
        wording.label(answer.by),
        baseline,
        [_line(answer, row, verdicts) for row in answer.ranking],
        list(untested(answer)),
        _after(answer, verdicts),
        _environment(answer),
        _command(plan),
    )


def _with_interval(one: Number) -> str:
    return f"{one.value} ({one.interval})" if one.interval else one.value


def fixed(plan: dict[str, Any]) -> str:
    """A hash of the plan, but for what added rounds change."""
    kept = {key: value for key, value in plan.items() if key not in GROWS}
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def headline(answer: Answer, verdicts: list[Verdict]) -> str:
    """The decision in one or two sentences."""
    baseline, noise = answer.comparison.baseline.name, answer.noise
    if answer.void and noise:
        gap = wording.contrast(answer, noise).value
        return (
            f"Void: {baseline} differs clearly from itself ({gap}), so nothing can be"
            " told from these runs."
        )
    if verdicts:
        return " ".join(_by_word(verdicts))
    lower = [pair.option for pair in answer.pairs if pair.clear and pair.better]
    higher = [pair.option for pair in answer.pairs if pair.clear and not pair.better]
    open_ = [pair.option for pair in answer.pairs if not pair.clear]
    at = answer.comparison.level.load
    load = f" at {at} % of the load" if at != WANTED_LOAD else ""
    if not answer.pairs:
        return f"{baseline} is not compared with anything."
    said = [f"Against {baseline}, by {wording.label(answer.by)}{load}:"]
    said += [f"clearly lower {', '.join(lower)};"] if lower else []
    said += [f"clearly higher {', '.join(higher)};"] if higher else []
    said += [f"not told apart {', '.join(open_)};"] if open_ else []
    return " ".join(said).removesuffix(";") + "."


def decided(answer: Answer, verdicts: list[Verdict]) -> bool:
    """Whether more rounds could hardly change the answer.

    By rules, each verdict is known; without one, each difference is clear, or the
    effect would have been found.
    """
    if answer.void:
        return True
    if verdicts:
        return all(one.word is not Word.UNKNOWN for one in verdicts)
    found = answer.resolution
    fine = found.effect_at is not None and found.effect_at <= found.effect
    return fine or all(pair.clear for pair in answer.pairs)


def _by_word(verdicts: list[Verdict]) -> Iterator[str]:
    for word in Word:
        if names := [one.option for one in verdicts if one.word is word]:
            yield f"{word}: {', '.join(names)}."


def _rule(answer: Answer, held_to: Rules) -> str:
    told = []
    if held_to.objective:
        told.append(f"requests {held_to.objective.text}")
    if held_to.margin:
        label = wording.label(answer.by)
        told.append(f"{label} below {held_to.margin:g}x of the baseline")
    if not told:
        return "none: --objective and --margin state one"
    lost = "" if held_to.may_lose else "; nothing that fsync(2) confirmed is lost"
    late = "" if held_to == _planned(answer) else " (given after the plan was made)"
    return "; ".join(told) + lost + late


def _planned(answer: Answer) -> Rules:
    return rules.of_plan(answer.comparison.plan)


def _plan(answer: Answer) -> str:
    plan = answer.comparison.plan
    rounds = many(plan["rounds"], "round")
    told = f"{rounds} of {plan['duration_s']} s, options shuffled in each"
    if plan.get("added"):
        told += f"; looks were added at {', '.join(map(str, plan['added']))} rounds"
    elif len(plan.get("looks", ())) > 1:
        told += f"; looks at {', '.join(map(str, plan['looks']))} rounds"
    return told


def _environment(answer: Answer) -> str:
    """Where the runs were made, and what the host did to them."""
    known = dict(wording.facts(answer))
    told = [f"{key} {known[key]}" for key in ENVIRONMENT if key in known]
    comparison = answer.comparison
    runs = [run for option in comparison.options for run in option.runs]
    counted = sum(run.why_not is None for run in runs)
    told.append(f"{counted} of {many(len(runs), 'run')} count")
    disturbed = len(list(comparison.path.glob("disturbed/*/*/*")))
    if disturbed:
        told.append(f"{disturbed} that the host disturbed were set aside")
    return ", ".join(told)


# A plan's keys, and the options of `writestall compare` that make it again.
OPTIONS = {"rounds": "rounds", "duration_s": "duration", "seed": "seed"}
OPTIONS |= {"aged_percent": "aged"}


def _command(plan: dict[str, Any]) -> str:
    """The command that makes the comparison again."""
    options = [row["name"] for row in plan["options"] if not row.get("repeats")]
    words = ["writestall", "compare", "--profile", plan["profile"]["name"]]
    words += ["--workload", plan["workload"]["name"], "--fs", ",".join(options)]
    words += ["--baseline", options[0]]
    for key, option in OPTIONS.items():
        if plan.get(key):
            words += [f"--{option}", str(plan[key])]
    if plan["loads"] != [WANTED_LOAD]:
        words += ["--load", ",".join(map(str, plan["loads"]))]
    for name, value in (plan.get("rules") or {}).items():
        if value:
            option = f"--{name.replace('_', '-')}"
            words += [option] if value is True else [option, value]
    return shlex.join(words)


def _noise(answer: Answer) -> str:
    noise = answer.noise
    if noise is None:
        return "not measured: the plan does not repeat the baseline"
    gap = wording.contrast(answer, noise)
    between = f" ({gap.interval})" if gap.interval else ""
    told = f"{noise.baseline} against itself: {gap.value}{between}"
    if noise.clear:
        return f"{told}, clear: void"
    told += f", not clear (p {noise.p:.2f})"
    least = designs.least_rounds(1, 2, answer.resolution.level or designs.PLANNED)
    if noise.rounds < least:
        told += f"; fewer than {least} rounds cannot show a clear one"
    return told


def resolution(answer: Answer) -> str:
    """What the comparison can find, and what it would take to find the effect."""
    found, rounds = answer.resolution, answer.resolution.rounds
    effect = f"{found.effect:g}x"
    if rounds < found.least:
        return (
            f"{many(rounds, 'round')} cannot show any clear difference among so many"
            f" options; {found.least} can, {_more(answer, found.least)}"
        )
    told = "cannot be told from these runs"
    if found.effect_at:
        told = f"{found.effect_at:g}x is found in 80 % of comparisons"
    if found.rounds_for is None:
        return f"{told}; {effect}: {_why_not(answer, found)}"
    if found.rounds_for <= rounds:
        return told
    more = _more(answer, found.rounds_for)
    return f"{told}; {effect} takes {found.rounds_for} rounds, {more}"


def _why_not(answer: Answer, found: Resolution) -> str:
    if found.effect_at is None:
        return (
            "most runs measure 0, or too few rounds are complete; longer runs show more"
        )
    return "takes more than 1000 rounds; longer runs or another disk show more"


def _more(answer: Answer, rounds: int) -> str:
    """How many rounds more, and what they cost."""
    more = rounds - answer.resolution.rounds
    cells = len(answer.comparison.options) * len(answer.comparison.levels)
    each_s = seconds_a_run(answer)
    cost = f", about {more * cells * each_s / 60:.0f} minutes" if each_s else ""
    return f"{more} more{cost}"


def seconds_a_run(answer: Answer) -> float | None:
    """What a run took, its machine's share included: the median from start to start."""
    began = sorted(
        run.began_ns
        for level in answer.comparison.levels
        for option in level.options
        for run in option.runs
        if run.began_ns
    )
    gaps = [after - before for before, after in pairwise(began) if after > before]
    return median(gaps) / 1e9 if gaps else None


def _line(answer: Answer, row: Ranked, verdicts: list[Verdict]) -> Line:
    name, pair = row.option.name, row.pair
    verdict = next((one for one in verdicts if one.option == name), None)
    nothing = Number("-", "", None)
    baseline = row.option is answer.comparison.baseline
    said = wording.clearness(pair) if pair else "the baseline" if baseline else "no run"
    return Line(
        name,
        verdict.word if verdict else said,
        wording.number(row.numbers.get(answer.by.key), answer.by.unit),
        wording.contrast(answer, pair) if pair else nothing,
        f"{pair.lower} of {pair.rounds}" if pair else "-",
        row.cause or ("no stall" if row.calm else "-"),
        _lost(answer.comparison.kept, name),
        "; ".join(verdict.reasons) if verdict else "",
    )


def _lost(kept: list[Kept], name: str) -> str:
    found = next((one for one in kept if one.option == name), None)
    if found is None:
        return "not cut"
    return f"{found.synced.lost_synced} of {found.synced.synced}"


def untested(answer: Answer) -> Iterator[str]:
    """What these runs cannot show."""
    plan, kept = answer.comparison.plan, answer.comparison.kept
    kernels = {run.kernel for run in answer.comparison.level.counted if run.kernel}
    yield f"other kernels than {', '.join(sorted(kernels)) or 'that of the runs'}"
    yield "aged file systems" if not plan.get("aged_percent") else "fresh file systems"
    if len(answer.comparison.levels) == 1:
        yield "other loads"
    if not kept:
        yield "losses: no machine was cut"
    else:
        yield "losses of a volatile cache: the disk kept every completed write"
    slow = [option.name for option in answer.comparison.options if option.caveat]
    if slow:
        yield f"commits of {', '.join(slow)}, which are rarer than these runs are long"


def _after(answer: Answer, verdicts: list[Verdict]) -> str:
    """The alert that says whether the fleet does as the best option did here."""
    passed = {one.option for one in verdicts if one.word is Word.PASS}
    for row in answer.ranking:
        stalled = row.numbers.get("stall_s_per_hour")
        if stalled is None or (verdicts and row.option.name not in passed):
            continue
        most = stalled.high if stalled.high is not None else stalled.value
        return (
            f"{row.option.name}: sum by (instance) (rate(writestall_stall_seconds_sum"
            f"[1h])) * 3600 > {most:.0f}  # of `writestall watch`, on such a disk"
        )
    return "none: no option is known to do better"
