# SPDX-License-Identifier: GPL-2.0-only
"""check: compare an answer with the injector's record.

docs/how-causes-are-inferred.md, "How the answer is checked", defines each number.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from writestall.chain.answers import Answer, gaps
from writestall.chain.collect import Question, Source
from writestall.chain.parts import Chain
from writestall.chain.roots import Root, Roots, largest_first, limits
from writestall.common.windows import window_of
from writestall.events.rows import R, Records, read_records
from writestall.events.run_directory import RunDir
from writestall.verdict import witness
from writestall.verdict.caps import CapTruth, Throttled
from writestall.verdict.delays import BioDelay, Truth
from writestall_base import wait_classes as c
from writestall_base.errors import UserError

RECORD = "truth.jsonl"
SHARES = ("root_right_share", "owner_right_share", "precision", "recall")
# None on kernels that do not report what lock a task sleeps on.
LOCK_SHARES = ("holder_right_share", "lock_seen_share")
# What must reach the bound. Unknown ones of SHARES fail, too.
HELD = (*SHARES, "holder_right_share")
# An injected delay is the cause of a stall if it covers this share of it.
CAUSE_SHARE = 0.5


@dataclass(slots=True)
class Verdict:
    """How right an answer is; shares are 0 to 1, None if there is nothing to compare.

    `errors_ns` has as many entries as `stalls`; `wrong` are the writes with a wrong
    root, as (t_ns, line). `violations` are delays that no rule asked for, `gaps` what
    the tracer could not have seen: shares of the rest are no verdict on the whole.
    `holders` is what witness.compared() returns.
    """

    stalls: int = 0
    roots_right: int = 0
    attributed_ns: int = 0
    injected_ns: int = 0
    covered_ns: int = 0
    right_ns: int = 0
    errors_ns: array[int] = field(default_factory=lambda: array("q"))
    wrong: list[tuple[int, str]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    holders: witness.Holders = field(default_factory=Counter)

    def shares(self) -> dict[str, float | None]:
        """The SHARES and LOCK_SHARES.

        root_right_share   of the stalled writes: those whose main root is right
        owner_right_share  of the delayed time attributed to the device: that in which
                           a delay of the named owner was in force, not only another's
        precision          of the time attributed to the device: what a delay covers
        recall             of the injected stall time: what is attributed to the device
        holder_right_share  of the waits for locks that named their owner: those whose
                           holder is that task, or one that it passed the lock on to
        lock_seen_share    of the waits for known locks: those whose holder is seen
        """
        ns = Counter[str]()
        for (_, how), how_ns in self.holders.items():
            ns[how] += how_ns
        right_ns = ns[witness.SAME] + ns[witness.PASSED_ON]
        parts = {
            "root_right_share": (self.roots_right, self.stalls),
            "owner_right_share": (self.right_ns, self.covered_ns),
            "precision": (self.right_ns, self.attributed_ns),
            "recall": (self.right_ns, self.injected_ns),
            "holder_right_share": (right_ns, right_ns + ns[witness.OTHER]),
            "lock_seen_share": (right_ns + ns[witness.RELEASED], ns.total()),
        }
        return {name: part / of if of else None for name, (part, of) in parts.items()}

    def join(self, other: Verdict) -> None:
        """Add the numbers of other chains."""
        self.stalls += other.stalls
        self.roots_right += other.roots_right
        self.attributed_ns += other.attributed_ns
        self.injected_ns += other.injected_ns
        self.covered_ns += other.covered_ns
        self.right_ns += other.right_ns
        self.errors_ns += other.errors_ns
        self.wrong += other.wrong
        self.holders += other.holders

    @property
    def wrong_lines(self) -> list[str]:
        """Lines for the writes with a wrong root, by time."""
        return [line for _, line in sorted(self.wrong)]

    def as_json(self) -> dict[str, Any]:
        """The output of `check --json`."""
        mean_ns = sum(self.errors_ns) // len(self.errors_ns) if self.errors_ns else None
        return {
            "stalls": self.stalls,
            **{
                name: None if share is None else round(share, 6)
                for name, share in self.shares().items()
            },
            "holders_ns": witness.by_class(self.holders),
            "attribution_error_ns": mean_ns,
            "attribution_error_max_ns": max(self.errors_ns, default=None),
            "attributed_ns": self.attributed_ns,
            "injected_ns": self.injected_ns,
            "right_ns": self.right_ns,
            "wrong": self.wrong_lines,
            "violations": self.violations,
            "gaps": self.gaps,
            "notes": self.notes,
        }

    def failures(self, least: float) -> list[str]:
        """Why the check fails, one line each; empty if it passes."""
        failures = self.violations + self.gaps
        if not self.stalls:
            return [*failures, "no stalled write to check"]
        low = [
            f"{name} {'unknown' if share is None else format(share, '.4f')} < {least:g}"
            for name, share in self.shares().items()
            if name in HELD and (name in SHARES if share is None else share < least)
        ]
        return failures + low


def unjudged(run: RunDir) -> str | None:
    """Why a run's answer cannot be checked: its manifest says that the injector keeps
    no record. None if it can.
    """
    if run.of_host:
        return (
            f"not checked: {run.path}: a host was recorded; there is no injector whose"
            " record could be compared with the answer"
        )
    injector = run.get("injector")
    if not isinstance(injector, dict) or injector.get("record", RECORD) is not None:
        return None
    return (
        f"not checked: {run.path}: {injector.get('name')} keeps no record of what it "
        "delayed, so there is nothing to compare the answer with"
    )


def check(answer: Answer) -> Verdict:
    """Compare an answer with the run's `truth.jsonl`, or the log of blk-throttle where
    nothing was injected; raise if there is none.
    """
    if log := limits_log(answer.run):
        verdict = _check_caps(answer, log)
    else:
        verdict = _check_delays(answer, answer.run.path / RECORD)
    verdict.gaps += gaps(answer.stream)
    return verdict


def limits_log(run: RunDir) -> Path | None:
    """The log of blk-throttle, where nothing was injected and it is the record."""
    log = run.get("throttle_log")
    judged_by = isinstance(log, str) and not run.get("injector")
    return run.path / log if judged_by else None


def _check_delays(answer: Answer, path: Path) -> Verdict:
    """Compare an answer with the delays of an injector."""
    missing = f"{path}: missing; was the injector armed in this run?"
    verdict, records = _recorded(path, BioDelay, missing)
    lost = (records.end or {}).get("lost")
    if records.end is None:
        verdict.notes.append(f"{path.name}: no end line: the record was cut off")
    elif lost:
        verdict.notes.append(f"{path.name}: the injector lost {lost} records")
    verdict.violations += _unasked(answer, records.rows)
    truth = Truth(records.rows, answer.stream)
    verdict.join(answer.gathered(Question(Judged, (truth,))))
    return verdict


def _check_caps(answer: Answer, path: Path) -> Verdict:
    """Compare an answer with the times in which limits kept I/O back."""
    missing = f"{path}: missing; was the limit in force in this run?"
    verdict, records = _recorded(path, Throttled, missing)
    lost = (records.end or {}).get("lost")
    if records.end is None or lost:
        verdict.violations.append(f"{path.name}: lines were lost: {lost or 'the end'}")
    limited = {group for group, limit in limits(answer.run).items() if limit}
    for group in {row.cgroup for row in records.rows} - limited:
        verdict.violations.append(f"{path.name}: {group} has no limit, and waited")
    verdict.join(answer.gathered(Question(Judged, (CapTruth(records.rows),))))
    return verdict


def _recorded(path: Path, kind: type[R], missing: str) -> tuple[Verdict, Records[R]]:
    """A record, and a verdict that notes its first damaged lines; raise where it is
    missing, or every line is damaged: that is no verdict.
    """
    if not path.exists():
        raise UserError(missing)
    records = read_records(path, kind)
    if records.problems and not (records.rows or records.begin or records.end):
        raise UserError(
            f"{path.parent / str(records.problems[0])}: damaged, no record could be"
            " read; take the file from the run again"
        )
    return Verdict(notes=list(map(str, records.problems[:3]))), records


def _unasked(answer: Answer, rows: Sequence[BioDelay]) -> Iterator[str]:
    """Yield a line for delays that no rule of the scenario asked for."""
    rules = answer.run.get("scenario", "inject")
    if not isinstance(rules, list):
        yield "manifest.json: no scenario.inject: the submitters to delay are not known"
        return
    rules = [rule for rule in rules if isinstance(rule, dict)]
    wanted = [str(rule.get("submitter", "*")) for rule in rules]
    for comm, count in Counter(row.comm or "?" for row in rows).items():
        if not any(fnmatchcase(comm, pattern) for pattern in wanted):
            yield f"{count} bios of {comm!r} were delayed, wanted only {wanted}"
    devices = {_device_of(answer, rule.get("disk")) for rule in rules}
    for dev, count in Counter(row.dev for row in rows).items():
        if None not in devices and dev and dev not in devices:
            only = ", ".join(sorted(filter(None, devices)))
            yield f"{count} bios of device {dev} were delayed, wanted only {only}"


def _device_of(answer: Answer, disk: str | None) -> str | None:
    """The device (MAJ:MIN) of a rule's disk (docs/scenario-format.md)."""
    get = answer.run.get
    if disk == "journal":
        dev = get("journal_device", "dev")
    else:
        dev = get("backing_device", "dev") or get("device", "dev")
    return dev if isinstance(dev, str) else None


class Judged(Verdict):
    """The numbers of all chains, compared with the injector's record."""

    def __init__(self, truth: Truth | CapTruth) -> None:
        super().__init__()
        self._truth: Truth | CapTruth | None = truth

    def add(self, chain: Chain, source: Source) -> None:
        truth = self._truth
        assert truth is not None
        write, attributed_ns = chain.write, 0
        injected_ns = truth.every.common_ns(window_of(write))
        for leaf in chain.leaves():
            if leaf.start_ns is None:
                continue
            window = (leaf.start_ns, leaf.start_ns + leaf.dur_ns)
            own_ns = truth.of_ns(leaf, window)
            if leaf.kind == c.RUNQUEUE and truth.submitter_delayed:
                # The injector counts until its task runs again; that is not the delay.
                injected_ns -= own_ns
            elif truth.names(leaf) and leaf.explained:
                attributed_ns += leaf.dur_ns
                self.covered_ns += truth.every.common_ns(window)
                self.right_ns += own_ns
        self.holders += witness.compared(chain)
        self.stalls += 1
        self.attributed_ns += attributed_ns
        self.injected_ns += injected_ns
        self.errors_ns.append(abs(attributed_ns - injected_ns))
        caused = injected_ns >= CAUSE_SHARE * write.dur_ns
        main = next(iter(largest_first(source.roots.of(chain).items())), None)
        if _is_delayed(chain, source.roots, main, truth) == caused:
            self.roots_right += 1
            return
        line = (
            f"event {chain.id}: {write.dur_ns / 1e6:.0f} ms, delayed for "
            f"{injected_ns / 1e6:.0f} ms of it, root found: {main or 'nothing'}"
        )
        self.wrong.append((write.t_ns, line))

    def close(self) -> None:
        """Drop the record."""
        self._truth = None


def _is_delayed(
    chain: Chain, roots: Roots, main: Root | None, truth: Truth | CapTruth
) -> bool:
    """Whether the main root is the device, for a submitter whose I/O was delayed then,
    or the limit that was in force.
    """
    if main is None or not truth.names(main):
        return False
    blamed_ns = delayed_ns = 0
    for leaf in chain.leaves():
        if leaf.start_ns is not None and roots.leaf(chain, leaf) == main:
            window = (leaf.start_ns, leaf.start_ns + leaf.dur_ns)
            blamed_ns += leaf.dur_ns
            delayed_ns += truth.of_ns(leaf, window)
    return delayed_ns >= CAUSE_SHARE * blamed_ns


def lines(verdict: Verdict, path: Path, least: float) -> Iterator[str]:
    row = verdict.as_json()
    failures = verdict.failures(least)
    yield f"{'FAILED' if failures else 'agrees'}: {path}, at least {least:g} wanted"
    yield from (f"  {line}" for line in failures)
    for name in ("stalls", *SHARES, *LOCK_SHARES):
        yield f"  {name:<22} {row[name]}"
    for name in ("attribution_error_ns", "attribution_error_max_ns"):
        value = row[name]
        yield f"  {name:<22} {value}" + (f" ({value / 1e6:.2f} ms)" if value else "")
    yield from (f"  {line}" for line in verdict.wrong_lines[:10])
    yield from (f"  note: {note}" for note in verdict.notes)
