# SPDX-License-Identifier: GPL-2.0-only
"""wording: word a comparison's answer for all its reports."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from writestall.compare import durability
from writestall.compare.changes import Change
from writestall.compare.folder import Comparison, Level, Option
from writestall.compare.ranking import COLUMNS, Answer, Pair, Ranked
from writestall.compare.statistics import Estimate
from writestall_base import designs
from writestall_base.units import MS_NS, many, ms, percent


@dataclass(frozen=True, slots=True)
class Number:
    """A value and its interval as text (empty if there is none), and as a number."""

    value: str
    interval: str
    raw: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """An option's row: numbers in the order of COLUMNS."""

    name: str
    what: str
    runs: str
    numbers: list[Number]
    cause: str
    root: str
    counts: bool


def amount(value: float, unit: str) -> str:
    """Format a number with its unit."""
    if unit == "ns":
        return ("-" if value < 0 else "") + ms(abs(round(value)))
    if unit == "share":
        return f"{100 * value:.2f} %"
    if unit == "B":
        return f"{value:,.0f} B"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def number(estimate: Estimate | None, unit: str) -> Number:
    """Format an estimate; a dash if there is none."""
    if estimate is None:
        return Number("-", "", None)
    return _number(estimate, lambda value: amount(value, unit))


def _number(estimate: Estimate, text: Callable[[float], str]) -> Number:
    between = ""
    if estimate.low is not None and estimate.high is not None:
        between = _between(text(estimate.low), text(estimate.high))
    return Number(text(estimate.value), between, estimate.value)


def rows(answer: Answer) -> list[Row]:
    """The rows of the table, best option first."""
    return [_row(ranked) for ranked in answer.ranking]


def _row(ranked: Ranked) -> Row:
    option = ranked.option
    return Row(
        option.name,
        option.what,
        f"{ranked.runs} of {len(option.runs)}",
        [number(ranked.numbers.get(col.key), col.unit) for col in COLUMNS],
        ranked.cause or ("no stall" if ranked.calm else "-"),
        ranked.root or "-",
        bool(ranked.runs),
    )


def label(answer: Answer) -> str:
    """What decides, in a sentence: `share of requests over 65 ms`."""
    column = answer.by
    if column.group and column.unit == "ns":
        return f"{column.heading} of {column.group}s"
    if column.unit == "share":
        return f"share of requests over {answer.slo_ns / MS_NS:g} ms"
    return column.heading


LOAD_HEADINGS = ("load", "requests/s", "held by", "overloaded")


def loads(answer: Answer) -> list[tuple[str, ...]]:
    """The cells of each level of load, by LOAD_HEADINGS; empty if there is only one."""
    levels = answer.comparison.levels
    return [_load(level) for level in levels] if len(levels) > 1 else []


def _load(level: Level) -> tuple[str, ...]:
    beyond = [f"{name} (did {percent(share)})" for name, share in level.beyond.items()]
    known = sum(1 for option in level.options if option.counted)
    return (
        f"{level.load} %",
        amount(level.wanted_per_s, "/s"),
        f"{known - len(beyond)} of {known}",
        ", ".join(beyond) or "-",
    )


def chosen_load(answer: Answer) -> str:
    """Name the load that the numbers are of, and why it was chosen."""
    level = answer.comparison.level
    held = "some option did not hold" if level.beyond else "every option held"
    return f"The numbers below are at {level.load} %, a load that {held}."


def contrast(answer: Answer, pair: Pair) -> Number:
    """How an option differs from the baseline: `1.95x`, `+0.42 %-points`, `-12 s/h`."""
    if answer.by.by_ratio:
        return _number(pair.contrast, lambda factor: f"{factor:.2f}x")
    return _number(pair.contrast, lambda gap: _signed(gap, answer.by.unit))


def _between(low: str, high: str) -> str:
    """`16.9 to 36.7 ms`: the unit once."""
    _, blank, words = high.partition(" ")
    return f"{low.removesuffix(blank + words)} to {high}"


def _signed(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:+.2f} %-points"
    return f"{value:+.1f} {unit}"


def clearness(pair: Pair) -> str:
    """Whether a pair's difference is clear, and in which direction."""
    if not pair.clear:
        return "not clear"
    return "clearly lower" if pair.better else "clearly higher"


def sorted_out(pairs: Iterable[Pair], open_word: str) -> str:
    """Which options are clearly lower, clearly higher, and neither: empty of none."""
    words: dict[str, list[str]]
    words = {"clearly lower": [], "clearly higher": [], open_word: []}
    for pair in pairs:
        words[clearness(pair) if pair.clear else open_word].append(pair.option)
    parts = (f"{word} {', '.join(names)}" for word, names in words.items() if names)
    return "; ".join(parts)


def change(found: Change) -> str:
    """What an option's stalls wait for more or less than its reference's."""
    parts = [f"stalls {_signed(found.s_per_hour, 's/h')} in the mean"]
    if part := found.wait_class:
        up = part.s_per_hour > 0
        count, word = (part.higher, "more") if up else (part.lower, "less")
        parts.append(
            f"changed most: {part.name} {_signed(part.s_per_hour, 's/h')}"
            f" ({word} in {count} of {many(found.rounds, 'round')})"
        )
    if part := found.root:
        parts.append(f"root {part.name} {_signed(part.s_per_hour, 's/h')}")
    return ", ".join(parts)


def caveats(answer: Answer) -> Iterator[str]:
    """List what limits the numbers, and which runs do not count."""
    options = answer.comparison.options
    shared = _shared_notes(options)
    yield from (f"every run: {note}" for note in sorted(shared))
    for option in options:
        yield from (f"{option.name} round {line}" for line in _of_runs(option, shared))
    yield from _elsewhere(answer.comparison)
    loads = [str(level.load) for level in answer.comparison.levels]
    less = max(1, answer.comparison.levels[0].load // 2)
    for name, share in answer.comparison.level.beyond.items():
        yield (
            f"{name} did {percent(share)} of the requested load: it is overloaded,"
            " and its latencies grow with the length of the run;"
            f" LOAD={less},{','.join(loads)} make compare tries lower loads"
        )
    for option in options:
        if option.caveat:
            yield f"{option.name} {option.caveat}"
    fewest = min(row.runs for row in answer.ranking if row.runs)
    if fewest < designs.LEAST_RUNS:
        yield f"no interval is given of fewer than {designs.LEAST_RUNS} runs"
    for machine in answer.comparison.machines:
        for line in machine.get("complaints") or []:
            yield f"a machine of this comparison complained: {line}"
    if not answer.comparison.kept:
        yield durability.NOT_SHOWN


def _elsewhere(comparison: Comparison) -> Iterator[str]:
    """List excluded runs at loads that the numbers do not show."""
    for level in comparison.levels:
        runs = [run for option in level.options for run in option.runs]
        why_not = [run.why_not for run in runs if run.why_not]
        if why_not and level is not comparison.level:
            yield (
                f"at {level.load} % of the load {len(why_not)} of"
                f" {many(len(runs), 'run')} do not count: {why_not[0]}"
            )


def _shared_notes(options: list[Option]) -> set[str]:
    """Notes that all counted runs share; empty if there is only one run."""
    notes = [set(run.notes) for option in options for run in option.counted]
    return set.intersection(*notes) if len(notes) > 1 else set()


def _of_runs(option: Option, shared: set[str]) -> Iterator[str]:
    for run in option.runs:
        if run.why_not:
            yield f"{run.round} does not count: {run.why_not}"
        yield from (f"{run.round}: {note}" for note in run.notes if note not in shared)


def facts(answer: Answer) -> list[tuple[str, str]]:
    """List what ran, where and when; leave out what is unknown."""
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
        "kernels by name": ", ".join(
            f"{row['name']}: {row['given']}" for row in plan.get("kernels", ())
        ),
        "accelerator": _each(comparison.machines, "accel"),
        "QEMU": _each(comparison.machines, "qemu"),
        "host": _hosts(comparison.machines),
        "disk": f"{profile['name']}: {profile.get('purpose', '')}",
        "the disk's provenance": profile.get("provenance"),
        "workload": f"{work['name']}: {work.get('purpose', '')}",
        "runs": f"{many(plan['rounds'], 'round')} of {plan['duration_s']} s, shuffled",
        "seed": plan.get("seed"),
        "load": f"{comparison.level.load} % of the workload's",
        "file systems": f"aged by a churn, {aged} % full" if aged else "fresh",
        "objective": ms(answer.slo_ns),
    }
    return [(name, str(value)) for name, value in found.items() if value]


def _hosts(machines: list[dict[str, Any]]) -> str:
    """Where the machines ran, and how busy their hosts were before and after."""
    hosts = [row["host"] for row in machines if row.get("host")]
    try:
        nodes = sorted({f"{one['node']} ({many(one['cpus'], 'CPU')})" for one in hosts})
        loads = [one[key] for one in hosts for key in ("load_before", "load_after")]
        if not loads:
            return ""
        steal = max(one["steal_share"] for one in hosts)
        text = f"{', '.join(nodes)}, load {min(loads):.1f} to {max(loads):.1f}"
        return f"{text}, steal up to {percent(steal)}"
    except (LookupError, TypeError, ValueError):
        return ""


def _each(machines: list[dict[str, Any]], key: str) -> str:
    return ", ".join(sorted({str(row[key]) for row in machines if row.get(key)}))


def _date(ns: int | None) -> str | None:
    if ns is None:
        return None
    when = datetime.datetime.fromtimestamp(ns / 1e9, datetime.UTC)
    return when.strftime("%Y-%m-%d")


HOW = (
    "Requests are measured from their intended start, writes from the call. A number is"
    " the median of what an option's runs measure, and below it is its interval: 95 %,"
    " or 93.75 % of five runs."
)
