# SPDX-License-Identifier: GPL-2.0-only
"""wording: turns a comparison's answer into the words that all reports print."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from writestall.common.units import many, ms, percent
from writestall.compare import durability, statistics
from writestall.compare.folder import WANTED_LOAD, Comparison, Level, Option
from writestall.compare.ranking import COLUMNS, Answer, Column, Pair, Standing
from writestall.compare.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Number:
    """A value in words, its interval in words (empty where there is none), raw."""

    value: str
    interval: str
    raw: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """An option's line: numbers in the order of COLUMNS."""

    name: str
    what: str
    runs: str
    numbers: list[Number]
    cause: str
    root: str
    counts: bool


@dataclass(frozen=True, slots=True)
class Versus:
    """A pair in words, the better one first."""

    better: str
    worse: str
    difference: Number
    p: str
    verdict: str
    clear: bool


@dataclass(frozen=True, slots=True)
class Load:
    """A level of load in words: who held it, and who was beyond it."""

    percent: str
    wanted: str
    held: str
    beyond: str


def amount(value: float, unit: str) -> str:
    """A number in its unit, three digits or so."""
    if unit == "ns":
        return ("-" if value < 0 else "") + ms(abs(round(value)))
    if unit == "share":
        return f"{100 * value:.2f} %"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def number(estimate: Estimate | None, unit: str) -> Number:
    """An estimate in words; a dash where there is none."""
    if estimate is None:
        return Number("-", "", None)
    value = amount(estimate.value, unit)
    if estimate.low is None or estimate.high is None:
        return Number(value, "", estimate.value)
    low, high = amount(estimate.low, unit), amount(estimate.high, unit)
    # The unit once: `16.9 to 36.7 ms`.
    _, blank, words = high.partition(" ")
    return Number(value, f"{low.removesuffix(blank + words)} to {high}", estimate.value)


def rows(answer: Answer) -> list[Row]:
    """The table, best option first."""
    return [_row(standing) for standing in answer.standings]


def _row(standing: Standing) -> Row:
    option = standing.option
    return Row(
        option.name,
        option.what,
        f"{standing.runs} of {len(option.runs)}",
        [number(standing.numbers.get(col.key), col.unit) for col in COLUMNS],
        standing.cause or ("no stall" if standing.calm else "-"),
        standing.root or "-",
        bool(standing.runs),
    )


def told(column: Column) -> str:
    """A column in a sentence: `p99.9 of requests`."""
    if column.group and column.unit == "ns":
        return f"{column.heading} of {column.group}s"
    return {"share": "share of requests over the objective"}.get(
        column.unit, column.heading
    )


def headline(answer: Answer) -> str:
    """The answer in a sentence or two."""
    known = [row for row in answer.standings if row.numbers]
    best, key, unit = known[0], answer.by.key, answer.by.unit
    value = number(best.numbers[key], unit)
    load = answer.comparison.level.load
    at = f" at {load} % of the load" if load != WANTED_LOAD else ""
    told_by = f"{told(answer.by)}{at}"
    told_best = f"{best.option.name} has the lowest {told_by}: {value.value}"
    if value.interval:
        told_best += f" ({value.interval})"
    if len(known) == 1:
        return f"{told_best}."
    if not answer.pairs:
        return f"{told_best}; with a run of each no difference can be clear."
    ties, others = answer.ties, len(known) - 1
    if not ties:
        all_others = f"each of the {others} others" if others > 1 else "the other one"
        return f"{told_best}; {all_others} is clearly worse."
    if len(ties) == others:
        return f"{told_best}; of no other one is it clear that it is worse."
    return (
        f"{told_best}; {others - len(ties)} of the {others} others are clearly worse,"
        f" not so {', '.join(ties)}."
    )


LOAD_HEADINGS = ("load", "requests/s", "held by", "beyond their breaking point")


def loads(answer: Answer) -> list[Load]:
    """Each level of load in words; none where there is a single one."""
    levels = answer.comparison.levels
    return [_load(level) for level in levels] if len(levels) > 1 else []


def _load(level: Level) -> Load:
    beyond = [f"{name} (did {percent(share)})" for name, share in level.beyond.items()]
    known = sum(1 for option in level.options if option.counted)
    return Load(
        f"{level.load} %",
        amount(level.wanted_per_s, "/s"),
        f"{known - len(beyond)} of {known}",
        ", ".join(beyond) or "-",
    )


def chosen_load(answer: Answer) -> str:
    """Which of the levels the numbers are of, and why that."""
    level = answer.comparison.level
    held = "some option did not hold" if level.beyond else "every option held"
    return f"What follows is at {level.load} %, a load that {held}."


def versus(answer: Answer, pair: Pair) -> Versus:
    """A pair in words."""
    if pair.clear:
        verdict = "clear"
    elif pair.needed is None:
        verdict = f"not clear, nor likely with {statistics.SIZES[-1]} runs each"
    else:
        verdict = f"not clear; about {many(pair.needed, 'run')} each would do"
    return Versus(
        pair.better,
        pair.worse,
        number(pair.difference.estimate, answer.by.unit),
        f"{pair.p:.3f}",
        verdict,
        pair.clear,
    )


def against(answer: Answer, name: str) -> list[Versus]:
    """All pairs that this option is one of."""
    return [versus(answer, p) for p in answer.pairs if name in (p.better, p.worse)]


def baseline(answer: Answer) -> str:
    """What the others are set against: the plan's first option."""
    return answer.comparison.options[0].name


def doubts(answer: Answer) -> Iterator[str]:
    """What the numbers do not say, and which runs do not count."""
    options = answer.comparison.options
    shared = _shared_notes(options)
    yield from (f"every run: {note}" for note in sorted(shared))
    for option in options:
        yield from (f"{option.name} round {told}" for told in _of_runs(option, shared))
    yield from _elsewhere(answer.comparison)
    loads = [str(level.load) for level in answer.comparison.levels]
    less = max(1, answer.comparison.levels[0].load // 2)
    for name, share in answer.comparison.level.beyond.items():
        yield (
            f"{name} did {percent(share)} of what was wanted: it is beyond its breaking"
            " point, and its latencies grow with the length of the run;"
            f" LOAD={less},{','.join(loads)} make compare tries less"
        )
    for option in options:
        if option.caveat:
            yield f"{option.name} {option.caveat}"
    yield from _too_few(min(row.runs for row in answer.standings if row.runs))
    for machine in answer.comparison.machines:
        for line in machine.get("complaints") or []:
            yield f"a machine of this comparison complained: {line}"
    if not answer.comparison.kept:
        yield durability.NOT_SHOWN


def _elsewhere(comparison: Comparison) -> Iterator[str]:
    """Runs at other loads that do not count, which the numbers do not show."""
    for level in comparison.levels:
        runs = [run for option in level.options for run in option.runs]
        why_not = [run.why_not for run in runs if run.why_not]
        if why_not and level is not comparison.level:
            yield (
                f"at {level.load} % of the load {len(why_not)} of"
                f" {many(len(runs), 'run')} do not count: {why_not[0]}"
            )


def _shared_notes(options: list[Option]) -> set[str]:
    """What is true of every run that counts; nothing where there is only one."""
    notes = [set(run.notes) for option in options for run in option.counted]
    return set.intersection(*notes) if len(notes) > 1 else set()


def _of_runs(option: Option, shared: set[str]) -> Iterator[str]:
    for run in option.runs:
        if run.why_not:
            yield f"{run.round} does not count: {run.why_not}"
        yield from (f"{run.round}: {note}" for note in run.notes if note not in shared)


def _too_few(fewest: int) -> Iterator[str]:
    """What the option with the fewest runs cannot show."""
    most = statistics.most_coverage(fewest)
    if fewest > 1 and most < statistics.CONFIDENCE:
        yield (
            f"Intervals of {fewest} runs reach no further than the runs do: they"
            f" promise {100 * most:.0f} % at most, not 95 %."
        )
    if fewest < statistics.LEAST_RUNS:
        yield (
            f"With fewer than {statistics.LEAST_RUNS} runs a side no difference can be"
            " clear: the permutation test has too few permutations."
        )


def facts(answer: Answer) -> list[tuple[str, str]]:
    """What ran where and when; what is not known is left out."""
    comparison, plan = answer.comparison, answer.comparison.plan
    runs = [run for option in comparison.options for run in option.counted]
    kernels = sorted({run.kernel for run in runs if run.kernel})
    profile, work = plan["profile"], plan["workload"]
    aged = plan.get("aged_percent")
    found = {
        "date": _date(
            min((run.began_ns for run in runs if run.began_ns), default=None)
        ),
        "kernel": ", ".join(kernels),
        "accelerator": _each(comparison.machines, "accel"),
        "QEMU": _each(comparison.machines, "qemu"),
        "disk": f"{profile['name']}: {profile.get('purpose', '')}",
        "the disk's provenance": profile.get("provenance"),
        "workload": f"{work['name']}: {work.get('purpose', '')}",
        "runs": f"{plan['rounds']} rounds of {plan['duration_s']} s each, shuffled",
        "seed": plan.get("seed"),
        "load": f"{comparison.level.load} % of the workload's",
        "file systems": f"aged, {aged} % full once" if aged else "fresh",
        "objective": ms(answer.slo_ns),
    }
    return [(name, str(value)) for name, value in found.items() if value]


def _each(machines: list[dict[str, Any]], key: str) -> str:
    return ", ".join(sorted({str(row[key]) for row in machines if row.get(key)}))


def _date(ns: int | None) -> str | None:
    if ns is None:
        return None
    when = datetime.datetime.fromtimestamp(ns / 1e9, datetime.UTC)
    return when.strftime("%Y-%m-%d")


HOW = (
    "Requests count from when they were meant to start, writes are the calls alone."
    " Numbers are of all runs of an option together; below each stands its bootstrap"
    " interval of 95 %, whole runs being drawn. Differences are of the runs' own"
    " values on average; p is a permutation test's, adjusted for all pairs at once"
    " (Benjamini-Hochberg), and below 0.05 a difference is called clear."
)
