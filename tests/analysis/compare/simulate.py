#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""simulate: error rates, coverage and power of a comparison's statistics.

    PYTHONPATH=base:analysis python tests/analysis/compare/simulate.py WHAT [--reps N]

Draws the runs of comparisons from tests/analysis/helpers/run_models.py and judges them
with the code that judges real ones. Rows are printed as Markdown tables;
docs/compare-statistics.md has recorded ones.

- errors  equal options: comparisons with a clear difference (false), a clear A/A (void)
- power   one of the options has longer stalls: found, and found the wrong way
- cover   how often an interval holds what very many runs have
- plan    a first comparison names the rounds that find an effect: is it found in them?
- grow    equal options, read at each look of a growing comparison
- methods the alternatives: the same with other tests
- bound   what a test would find that knew the distributions: no test finds more
- boots   an option on two equal kernels, where each boot has its own factor
- verdict options whose true share is known, held to objectives around it
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
import run_models
from run_models import MODELS, OVER, P999, Array
from writestall.compare import rules, statistics
from writestall.compare.planned import level
from writestall.compare.ranking import Own
from writestall_base import designs

PLAN = designs.PLANNED
NAMES = {OVER: "over SLO", P999: "p99.9"}
Row = dict[str, float]


def drawn(
    draw: np.random.Generator,
    model: str,
    options: int,
    rounds: int,
    scale: float = 1.0,
    measure: int = OVER,
) -> Own:
    """A comparison of a baseline, its repetition and others; the last has `scale`."""
    scales = np.ones(options + 1)
    scales[-1] = scale
    rows = run_models.rounds(draw, model, rounds, scales, measure)
    names = ["0", "0 again", *map(str, range(1, options))]
    return Own(dict(zip(names, rows, strict=True)), "0", "0 again", measure != OVER)


def once(
    seed: int, model: str, options: int, rounds: int, scale: float, measure: int
) -> Row:
    """One comparison: was a difference clear, and was it one?"""
    draw = np.random.default_rng(seed)
    own = drawn(draw, model, options, rounds, scale, measure)
    slowed = str(options - 1) if scale != 1 else ""
    pairs, noise = own.pairs(PLAN), own.noise(PLAN)
    mine = [pair for pair in pairs if pair.option == slowed and pair.clear]
    return {
        "false": any(pair.clear for pair in pairs if pair.option != slowed),
        "void": noise is not None and noise.clear,
        "found": any(not pair.better for pair in mine),
        "wrong": any(pair.better for pair in mine),
    }


# The boot of each run of a round: the baseline's repetition has its own
# (repro/labrun/comparison/axes.py).
BOOTS = {"0@a": 0, "0 again@a": 1, "0@b": 2}


def booted(seed: int, spread: float, apart: bool) -> Row:
    """An option on two equal kernels, whose boots differ by a lognormal factor: was a
    difference clear? Not `apart`: the repetition shares the baseline's boot."""
    draw = np.random.default_rng(seed)
    at = [0 if "again" in name and not apart else boot for name, boot in BOOTS.items()]
    boots = draw.lognormal(0, spread, (3, 20))[at]
    noise = draw.lognormal(0, 0.1, (len(BOOTS), 20))
    rows = draw.lognormal(0, 1, 20) * boots * noise
    own = Own(dict(zip(BOOTS, rows, strict=True)), "0@a", "0 again@a", True)
    noise_pair = own.noise(PLAN)
    return {
        "false": any(pair.clear for pair in own.pairs(PLAN)),
        "void": noise_pair is not None and noise_pair.clear,
    }


def rates(simulation: Callable[[int], Row], reps: int) -> Row:
    """The means of a simulation's numbers, in percent; NaN are left out."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(simulation, range(reps), chunksize=25))
    return {
        key: 100 * float(np.nanmean([float(row[key]) for row in rows]))
        for key in rows[0]
    }


def covered(seed: int, model: str, rounds: int, measure: int, true: Row) -> Row:
    """Whether intervals hold what very many runs have: an option's, and two's."""
    draw = np.random.default_rng(seed)
    own = drawn(draw, model, 2, rounds, 2.0, measure)
    difference, ratio = (statistics.median(v) for v in own.contrast("1"))
    found = {"option": statistics.median(own.of["0"])}
    found |= {"difference": difference, "ratio": ratio}
    return {name: not one.excludes(true[name]) for name, one in found.items()}


def truth(model: str, measure: int, runs: int = 200_000) -> Row:
    """The medians that very many rounds have."""
    own = drawn(np.random.default_rng(1), model, 2, runs, 2.0, measure)
    difference, ratio = own.contrast("1")
    found = {"option": own.of["0"], "difference": difference, "ratio": ratio}
    return {name: float(np.median(values)) for name, values in found.items()}


def planned(seed: int, model: str, options: int, effect: float, measure: int) -> Row:
    """Eight rounds of equal options name the rounds that find the effect."""
    draw = np.random.default_rng(seed)
    own = drawn(draw, model, options, 8, 1.0, measure)
    rounds = own.resolution(effect, PLAN).rounds_for
    if rounds is None:
        return {"named": False, "rounds": float("nan"), "found": float("nan")}
    own = drawn(draw, model, options, rounds, effect, measure)
    mine = next(p for p in own.pairs(PLAN) if p.option == str(options - 1))
    return {
        "named": True,
        "rounds": rounds / 100,
        "found": mine.clear and not mine.better,
    }


LOOKS = (8, 12, 16, 24, 32)


def grown(seed: int, model: str, options: int) -> Row:
    """Equal options, read at each planned look: was one of them ever clear?"""
    whole = drawn(np.random.default_rng(seed), model, options, LOOKS[-1])
    ever = 0
    for rounds in LOOKS:
        rows = {name: row[:rounds] for name, row in whole.of.items()}
        own = Own(rows, whole.baseline, whole.repeated, whole.by_ratio)
        ever |= any(p.clear for p in own.pairs(level(rounds, LOOKS)))
    return {"false": bool(ever)}


def judged(seed: int, model: str, rounds: int, true: float) -> Row:
    """Equal options, held to an objective that their median run just meets or just
    misses: was one of eight judged wrongly?"""
    own = drawn(np.random.default_rng(seed), model, 8, rounds)
    tail = designs.FAMILY_ALPHA * PLAN / 8
    found: dict[str, set[str]] = {}
    for name, limit in (("meets", true * 1.001), ("misses", true * 0.999)):
        found[name] = {
            rules.hold_objective(row, float(row.mean()), limit, tail)[0]
            for row in own.of.values()
        }
    return {"false PASS": "PASS" in found["misses"]}


Test = Callable[[Array, Array, Array], float]


def _sign_test(one: Array, base: Array, _: Array) -> float:
    low, high = int((one < base).sum()), int((one > base).sum())
    return float(stats.binomtest(low, low + high).pvalue) if low + high else 1.0


def _signed_rank(one: Array, base: Array, _: Array) -> float:
    return statistics.within_rounds(np.array([one, base])).p


def _with_repetition(one: Array, base: Array, again: Array) -> float:
    return statistics.within_rounds(np.array([one, base, again])).p


def _mean(one: Array, base: Array, again: Array) -> float:
    def gap(a: Array, b: Array, axis: int = -1) -> Array:
        found: Array = a.mean(axis=axis) - b.mean(axis=axis)
        return found

    both = (one, (base + again) / 2)
    done = stats.permutation_test(
        both, gap, permutation_type="samples", vectorized=True, n_resamples=999
    )
    return float(done.pvalue)


def _unpaired(one: Array, base: Array, again: Array) -> float:
    return float(stats.mannwhitneyu(one, np.concatenate([base, again])).pvalue)


METHODS: dict[str, Test] = {
    "sign test": _sign_test,
    "signed rank": _signed_rank,
    "Quade, baseline twice (chosen)": _with_repetition,
    "mean, signs exchanged": _mean,
    "rank sum, rounds ignored": _unpaired,
}


def alternatives(seed: int, model: str, options: int, rounds: int, scale: float) -> Row:
    """Each method: was the slower option clear, by Holm's 5 % and 1 % of its pair?"""
    own = drawn(np.random.default_rng(seed), model, options, rounds, scale, P999)
    values = {name: np.log(row) for name, row in own.of.items()}
    found: Row = {}
    for name, test in METHODS.items():
        base, again = values["0"], values["0 again"]
        p = np.array([test(values[one], base, again) for one in own.others])
        adjusted = statistics.holm(p)
        found[name] = designs.is_clear(p[-1], adjusted[-1])
    return found


def bounded(model: str, rounds: int, scale: float, measure: int, tail: float) -> float:
    """The power of the likelihood ratio (Neyman and Pearson, 1933), in percent.

    It knows what runs of the baseline and of the slower option measure, in 40 classes.
    A comparison's own test has to learn both from its rounds.
    """
    runs = [run_models.runs(model, factor)[:, measure] for factor in (1.0, scale)]
    edges = np.unique(np.quantile(np.concatenate(runs), np.arange(1, 40) / 40))
    classes = [np.digitize(values, edges) for values in runs]
    counts = [np.bincount(found, minlength=edges.size + 1) + 0.5 for found in classes]
    evidence = np.log(counts[1] / counts[0])
    draw = np.random.default_rng(1)
    equal, slower = (
        evidence[draw.choice(found, (200_000, rounds))].sum(axis=1) for found in classes
    )
    return 100 * float((slower > np.quantile(equal, 1 - tail)).mean())


def errors(reps: int) -> Iterator[tuple[Any, ...]]:
    """Equal options."""
    yield "model", "by", "options", "rounds", "false %", "void %"
    for model in MODELS:
        for measure in NAMES:
            for options in (2, 8, 14):
                for rounds in (8, 20):
                    one = partial(
                        once,
                        model=model,
                        options=options,
                        rounds=rounds,
                        scale=1.0,
                        measure=measure,
                    )
                    found = rates(one, reps)
                    yield (
                        model,
                        NAMES[measure],
                        options,
                        rounds,
                        found["false"],
                        found["void"],
                    )


def power(reps: int) -> Iterator[tuple[Any, ...]]:
    """One slower option."""
    yield (
        "model",
        "by",
        "options",
        "rounds",
        "slower",
        "found %",
        "wrong sign %",
        "false %",
    )
    for model in MODELS:
        for measure in NAMES:
            for options, rounds, scale in (
                *((2, 8, 1.1), (2, 20, 1.3), (8, 8, 2.0)),
                *((8, 20, 1.3), (8, 20, 2.0), (14, 8, 2.0)),
            ):
                one = partial(
                    once,
                    model=model,
                    options=options,
                    rounds=rounds,
                    scale=scale,
                    measure=measure,
                )
                found = rates(one, reps)
                yield (
                    *(model, NAMES[measure], options, rounds, f"{scale}x"),
                    *(found["found"], found["wrong"], found["false"]),
                )


def cover(reps: int) -> Iterator[tuple[Any, ...]]:
    """Intervals; the second option's stalls are twice as long."""
    yield "model", "by", "rounds", "option %", "difference %", "ratio %"
    for model in MODELS:
        for measure in NAMES:
            if model == "drift":  # its rounds have no common median
                continue
            true = truth(model, measure)
            for rounds in (5, 6, 8, 12, 20):
                one = partial(
                    covered, model=model, rounds=rounds, measure=measure, true=true
                )
                found = rates(one, reps)
                yield (
                    *(model, NAMES[measure], rounds),
                    *(found["option"], found["difference"], found["ratio"]),
                )


def plan(reps: int) -> Iterator[tuple[Any, ...]]:
    """The rounds that a first comparison names."""
    yield "model", "by", "options", "effect", "named %", "rounds (mean)", "found %"
    for model in MODELS:
        for measure in NAMES:
            for options, effect in ((2, 1.3), (8, 1.3), (8, 2.0)):
                one = partial(
                    planned,
                    model=model,
                    options=options,
                    effect=effect,
                    measure=measure,
                )
                found = rates(one, reps)
                yield (
                    *(model, NAMES[measure], options, f"{effect}x"),
                    *(found["named"], found["rounds"], found["found"]),
                )


def boots(reps: int) -> Iterator[tuple[Any, ...]]:
    """Boots that differ."""
    yield "boots differ by", "the repetition boots", "false %", "void %"
    for spread in (0.0, 0.1, 0.3, 1.0):
        for apart in (True, False):
            found = rates(partial(booted, spread=spread, apart=apart), reps)
            where = "by itself" if apart else "with the baseline"
            yield str(spread), where, found["false"], found["void"]


def grow(reps: int) -> Iterator[tuple[Any, ...]]:
    """Looks at growing comparisons."""
    yield "model", "options", "looks", "ever false %"
    for model in MODELS:
        for options in (2, 8, 14):
            found = rates(partial(grown, model=model, options=options), reps)
            yield model, options, " ".join(map(str, LOOKS)), found["false"]


def methods(reps: int) -> Iterator[tuple[Any, ...]]:
    """Other tests, by p99.9."""
    yield "model", "options", "rounds", "slower", *(f"{name} %" for name in METHODS)
    for model in ("stall", "pareto", "ar1", "common", "mixed"):
        for options, rounds, scale in ((2, 20, 1.3), (8, 8, 2.0), (8, 12, 2.0)):
            one = partial(
                alternatives, model=model, options=options, rounds=rounds, scale=scale
            )
            found = rates(one, reps)
            yield model, options, rounds, f"{scale}x", *found.values()


def bound(_: int) -> Iterator[tuple[Any, ...]]:
    """The most powerful test where the options of a round share nothing."""
    yield "model", "by", "options", "rounds", "slower", "found at most %"
    for model in ("stall", "pareto", "ar1"):
        for measure in NAMES:
            for options, rounds, scale in ((8, 8, 2.0), (8, 20, 2.0)):
                tail = designs.FAMILY_ALPHA / (options - 1)
                found = bounded(model, rounds, scale, measure, tail)
                yield model, NAMES[measure], options, rounds, f"{scale}x", found


def verdict(reps: int) -> Iterator[tuple[Any, ...]]:
    """Objectives at the median run's own share."""
    yield "model", "rounds", "false PASS %"
    for model in ("stall", "pareto", "ar1", "common", "mixed"):
        true = truth(model, OVER)["option"]
        for rounds in (9, 20):
            found = rates(partial(judged, model=model, rounds=rounds, true=true), reps)
            yield model, rounds, found["false PASS"]


WHAT = (errors, power, cover, plan, boots, grow, methods, bound, verdict)


def cell(value: Any) -> str:
    """A table's cell."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    by_name = {each.__name__: each for each in WHAT}
    parser.add_argument("what", nargs="+", choices=by_name)
    parser.add_argument("--reps", type=int, default=1000, help="comparisons a row")
    options = parser.parse_args(words)
    run_models.prepare((1.0, 1.1, 1.3, 2.0))  # the workers inherit the pools
    for name in options.what:
        for number, row in enumerate(by_name[name](options.reps)):
            print("|", " | ".join(map(cell, row)), "|", flush=True)
            if number == 0:
                print("|", " | ".join("---" for _ in row), "|")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
