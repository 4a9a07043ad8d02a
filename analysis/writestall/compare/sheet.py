# SPDX-License-Identifier: GPL-2.0-only
"""sheet: what a comparison decides, for one page that a person can sign.

Text, page and JSON print the same sheet; the tables follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from writestall.compare import durability, planned, ranking, rules, wording
from writestall.compare.durability import Kept
from writestall.compare.folder import WANTED_LOAD
from writestall.compare.ranking import Answer, Pair, Ranked, Resolution
from writestall.compare.rules import Rules, Verdict, Word
from writestall.compare.wording import Number
from writestall_base import designs
from writestall_base.units import many

ENVIRONMENT = ("date", "kernel", "accelerator", "QEMU", "host")
LAST_HEADINGS = ("waited most for", "lost what was fsynced")
WRITTEN = ranking.BY_KEY["disk_bytes_per_request"]


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
    """The page: a table, and `facts` beside it. `fixed` is a hash of what was planned
    before the first run."""

    headline: str
    question: str
    rule: str
    plan: str
    fixed: str
    untested: list[str]
    facts: list[tuple[str, str]]
    headings: tuple[str, ...]
    lines: list[Line]


def of(answer: Answer, held_to: Rules, verdicts: list[Verdict]) -> Sheet:
    comparison = answer.comparison
    question, rule = _question(answer), _rule(answer, held_to)
    plan, fixed = planned.said(comparison.plan), planned.fixed(comparison.plan)
    gaps = list(untested(answer))
    several = bool(comparison.kernels or comparison.severities)
    against = "against" if several else f"against {comparison.baseline.name}"
    compared = (wording.label(answer), against, "lower in")
    facts = [
        ("question", question),
        ("rule", rule),
        ("plan", f"{plan} (fixed as {fixed})"),
        ("noise floor", _noise(answer)),
        *(_elsewhere(answer, 0) if verdicts else ()),
        ("resolution", resolution(answer)),
        ("not tested", "; ".join(gaps)),
        ("environment", _environment(answer)),
        ("after the rollout", _after(answer, verdicts)),
        ("repeat", planned.command(comparison.plan)),
    ]
    return Sheet(
        headline(answer, verdicts),
        *(question, rule, plan, fixed, gaps, facts),
        ("option", "verdict", *compared, *LAST_HEADINGS),
        [_line(answer, row, verdicts) for row in answer.ranking],
    )


def _question(answer: Answer) -> str:
    comparison, plan = answer.comparison, answer.comparison.plan
    baseline, kernels = comparison.baseline, comparison.kernels
    here = baseline.kernel, baseline.severity
    others = [one for one in comparison.others if (one.kernel, one.severity) == here]
    questions = []
    if others or not kernels:
        which = f"which of {many(len(others), 'option')} may"
        which = f"may {others[0].name}" if len(others) == 1 else which
        questions.append(f"{which} replace {baseline.name}")
    if others and comparison.severities[1:]:
        questions[-1] += f", and with {', '.join(comparison.severities[1:])} its delays"
    if kernels:
        questions.append(f"may {', '.join(kernels[1:])} replace {kernels[0]}")
    said = " and ".join(questions)
    where = f"for {plan['workload']['name']} on {plan['profile']['name']}"
    return f"{said[0].upper()}{said[1:]} {where}?"


def _with_interval(one: Number) -> str:
    return f"{one.value} ({one.interval})" if one.interval else one.value


def headline(answer: Answer, verdicts: list[Verdict]) -> str:
    """The decision in a few sentences, and what was lost."""
    baseline, noise = answer.comparison.baseline.name, answer.noise
    if answer.void and noise:
        gap = wording.contrast(answer, noise).value
        return (
            f"Void: {baseline} differs clearly from itself ({gap}), so nothing can be"
            " told from these runs."
        )
    kept = answer.comparison.kept
    lost = [durability.verdict(kept)] if any(one.losing for one in kept) else []
    if verdicts:
        return " ".join([*_by_word(verdicts), *lost])
    if not answer.pairs:
        return f"{baseline} is not compared with anything."
    pairs = _beside(answer, answer.comparison.baseline.severity)
    by_outcome = wording.sorted_out(pairs, "not told apart")
    several = len({pair.baseline for pair in pairs}) > 1
    whom = "their baselines" if several else baseline
    said = [f"Against {whom}, {_by(answer)}: {by_outcome}."] if by_outcome else []
    return " ".join([*said, *(text for _, text in _elsewhere(answer, 1)), *lost])


def _by(answer: Answer) -> str:
    at = answer.comparison.level.load
    load = f" at {at} % of the load" if at != WANTED_LOAD else ""
    return f"by {wording.label(answer)}{load}"


def _beside(answer: Answer, severity: str | None) -> list[Pair]:
    """The pairs of options on a disk of that severity, on one kernel."""
    where = {one.name: (one.kernel, one.severity) for one in answer.comparison.options}
    return [
        pair
        for pair in answer.pairs
        if where[pair.option] == where[pair.baseline]
        and where[pair.option][1] == severity
    ]


def _elsewhere(answer: Answer, beside: int) -> Iterator[tuple[str, str]]:
    """What was found on other kernels, and on each disk but for the first ones, which
    the headline tells."""
    severities = answer.comparison.severities[beside:]
    found = _between_kernels(answer), _by_severity(answer, severities)
    for name, sentences in zip(("kernels", "severity"), found, strict=True):
        if text := " ".join(sentences):
            yield name, text


def _by_severity(answer: Answer, told: Sequence[str]) -> Iterator[str]:
    """A sentence for each of these severities, and for each option whose order with its
    reference turns between two of all."""
    severities = answer.comparison.severities
    for severity in told:
        pairs = _beside(answer, severity)
        if by_outcome := wording.sorted_out(pairs, "not told apart"):
            yield f"With the disk's delays at {severity}: {by_outcome}."
    clear: dict[str, dict[str, str]] = {}
    for severity in severities:
        for pair in _beside(answer, severity):
            if pair.clear:
                name = pair.option.removesuffix(f"@{severity}")
                clear.setdefault(name, {})[severity] = wording.clearness(pair)
    for name, outcomes in clear.items():
        if len(set(outcomes.values())) > 1:
            said = ", ".join(f"{word} at {at}" for at, word in outcomes.items())
            yield f"The order of {name} turns: {said}."


def _cannot_show(least: int) -> str:
    return f"fewer than {least} rounds cannot show a clear difference"


def _between_kernels(answer: Answer) -> Iterator[str]:
    """A sentence for each kernel beside the baseline's."""
    kernels, least = answer.comparison.kernels, answer.resolution.least
    on = {one.name: one.kernel for one in answer.comparison.options}
    across = [pair for pair in answer.pairs if on[pair.option] != on[pair.baseline]]
    for kernel in kernels[1:]:
        pairs = [pair for pair in across if on[pair.option] == kernel]
        enough = all(pair.rounds >= least for pair in pairs)
        none = "no difference found" if enough else _cannot_show(least)
        if by_outcome := wording.sorted_out(pairs, f"{none} for"):
            yield f"{kernel} against {kernels[0]}, {_by(answer)}: {by_outcome}."


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
    """The options by verdict; a baseline that no rule holds has none to tell."""
    told = [one for one in verdicts if one.reasons != [rules.BASELINE]]
    for word in Word:
        if names := [one.option for one in told if one.word is word]:
            yield f"{word}: {', '.join(names)}."


def _rule(answer: Answer, held_to: Rules) -> str:
    limits = []
    if held_to.objective:
        limits.append(f"requests {held_to.objective.text}")
    if held_to.margin:
        label = wording.label(answer)
        kernels = answer.comparison.kernels
        own = f", other kernels of the same on {kernels[0]}" if kernels else ""
        limits.append(f"{label} below {held_to.margin:g}x of the baseline{own}")
    if not limits:
        return "none: --objective and --margin state one"
    lost = "" if held_to.may_lose else "; nothing that fsync(2) confirmed is lost"
    is_planned = held_to == rules.of_plan(answer.comparison.plan)
    late = "" if is_planned else " (given after the plan was made)"
    return "; ".join(limits) + lost + late


def _environment(answer: Answer) -> str:
    """Where the runs were made, and what the host did to them."""
    known = dict(wording.facts(answer))
    parts = [f"{key} {known[key]}" for key in ENVIRONMENT if key in known]
    comparison = answer.comparison
    runs = [run for option in comparison.options for run in option.runs]
    counted = sum(run.why_not is None for run in runs)
    parts.append(f"{counted} of {many(len(runs), 'run')} count")
    aside = (path.glob("disturbed/*/*/*") for path in comparison.paths)
    disturbed = sum(len(list(found)) for found in aside)
    if disturbed:
        parts.append(f"{disturbed} that the host disturbed were set aside")
    return ", ".join(parts)


def _noise(answer: Answer) -> str:
    noise = answer.noise
    if noise is None:
        return "not measured: the plan does not repeat the baseline"
    gap = _with_interval(wording.contrast(answer, noise))
    text = f"{noise.baseline} against itself: {gap}"
    if noise.clear:
        return f"{text}, clear: void"
    text += f", not clear (p {noise.p:.2f})"
    least = designs.least_rounds(1, 2, answer.resolution.level or designs.PLANNED)
    if noise.rounds < least:
        text += f"; {_cannot_show(least)}"
    return text


def resolution(answer: Answer) -> str:
    """What the comparison can find, and what it would take to find the effect."""
    found, rounds = answer.resolution, answer.resolution.rounds
    effect = f"{found.effect:g}x"
    if rounds < found.least:
        return (
            f"{many(rounds, 'round')} cannot show any clear difference among so many"
            f" options; {found.least} can, {_more(answer, found.least)}"
        )
    text = "cannot be told from these runs"
    if found.effect_at:
        text = f"{found.effect_at:g}x is found in 80 % of comparisons"
    if found.rounds_for is None:
        return f"{text}; {effect}: {_why_not(answer, found)}"
    if found.rounds_for <= rounds:
        return text
    more = _more(answer, found.rounds_for)
    return f"{text}; {effect} takes {found.rounds_for} rounds, {more}"


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
    reasons = list(verdict.reasons) if verdict else []
    if row.option.against:
        moved = [one for one in answer.changes if one.option == name]
        if not any(row.option.against in reason for reason in reasons):
            reasons.insert(0, f"against {row.option.against}")
        reasons += map(wording.change, moved)
    reasons += _cost(answer, row)
    return Line(
        name,
        verdict.word if verdict else said,
        wording.number(row.numbers.get(answer.by.key), answer.by.unit),
        wording.contrast(answer, pair) if pair else nothing,
        f"{pair.lower} of {pair.rounds}" if pair else "-",
        row.cause or ("no stall" if row.calm else "-"),
        _lost(answer.comparison.kept, name),
        "; ".join(reasons),
    )


def _cost(answer: Answer, row: Ranked) -> Iterator[str]:
    """What the disk wrote for a request, and how much that is of the baseline's."""
    baseline = answer.comparison.baseline
    mine, base = (
        one.numbers.get(WRITTEN.key)
        for one in (row, *(one for one in answer.ranking if one.option is baseline))
    )
    if mine is None:
        return
    text = f"the disk wrote {wording.amount(mine.value, WRITTEN.unit)} a request"
    if base and base.value and row.option is not baseline:
        text += f" ({mine.value / base.value:.2f}x)"
    yield text


def _lost(kept: list[Kept], name: str) -> str:
    found = next((one for one in kept if one.option == name), None)
    if found is None:
        return "not cut"
    damaged = f", {found.damaged} damaged" if found.damaged else ""
    return f"{found.losing_cuts} cuts ({found.rate}){damaged}"


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
    elif not all(one.volatile for one in kept):
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
