# SPDX-License-Identifier: GPL-2.0-only
"""planned: what a plan fixed before the first run, and the command that repeats it."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from typing import Any

from writestall.compare.folder import WANTED_LOAD
from writestall_base.designs import PLANNED, RECORDED_CALLS
from writestall_base.units import many

# Keys of a plan that change when rounds are added, or carried out in another way.
GROWS = ("rounds", "cells", "added", "beside")


def said(plan: dict[str, Any]) -> str:
    """Its rounds and its looks."""
    rounds = many(plan["rounds"], "round")
    text = f"{rounds} of {plan['duration_s']} s, options shuffled in each"
    if plan.get("added"):
        text += f"; looks were added at {', '.join(map(str, plan['added']))} rounds"
    elif len(plan.get("looks", ())) > 1:
        text += f"; looks at {', '.join(map(str, plan['looks']))} rounds"
    if folders := plan.get("folders"):
        text += f"; {len(folders)} folders, joined after they were run"
    return text


def level(rounds: int, looks: Sequence[int], added: Sequence[int] = ()) -> float:
    """The part of the error probability that a read at so many rounds may spend, 0 to
    1; 0 where no look was planned.

    A comparison may be read, get more rounds and be read again. The parts of all reads
    sum to 1, so that the error rates of statistics.py hold for all of them together,
    however they depend on each other (Bonferroni's inequality). The looks that the plan
    names share PLANNED alike; each that was added later gets half of what is left then.
    """
    if rounds in looks:
        return PLANNED / len(looks)
    if rounds in added:
        return (1 - PLANNED) / 2.0 ** (1 + list(added).index(rounds))
    return 0.0


def fixed(plan: dict[str, Any]) -> str:
    """A hash of the plan, but for what added rounds change."""
    kept = {key: value for key, value in plan.items() if key not in GROWS}
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# A plan's keys, and the options of `writestall compare` that make it again.
OPTIONS = {"rounds": "rounds", "duration_s": "duration", "seed": "seed"}
OPTIONS |= {"aged_percent": "aged"}


def _load(plan: dict[str, Any]) -> list[str]:
    """The options that name the disk and the workload."""
    disk, workload = plan["profile"], plan["workload"]["name"]
    named = ["--workload", workload]
    if "run" not in disk:
        return ["--profile", disk["name"], *named]
    words = ["--from", disk["run"]]
    if device := disk.get("device"):
        words += ["--from-device", device]
    return words if workload == RECORDED_CALLS else words + named


def command(plan: dict[str, Any]) -> str:
    """The command that makes the comparison again, or joins its folders again."""
    if folders := plan.get("folders"):
        return shlex.join(["writestall", "compare-options", *folders])
    names = [row["name"] for row in plan["options"] if not row.get("repeats")]
    options = dict.fromkeys(name.partition("@")[0] for name in names)
    words = ["writestall", "compare", *_load(plan), "--fs", ",".join(options)]
    words += ["--baseline", names[0]]
    if kernels := [row["given"] for row in plan.get("kernels", ())]:
        words += ["--kernel", ",".join(kernels)]
    if factors := plan.get("severities"):
        words += ["--severity", ",".join(f"{factor:g}" for factor in factors)]
    for key, option in OPTIONS.items():
        if plan.get(key):
            words += [f"--{option}", str(plan[key])]
    if plan["loads"] != [WANTED_LOAD]:
        words += ["--load", ",".join(map(str, plan["loads"]))]
    for name, value in (plan.get("rules") or {}).items():
        if value:
            option = f"--{name.replace('_', '-')}"
            words += [option] if value is True else [option, value]
    return " ".join([shlex.join(words), *filter(None, [plan.get("beside")])])
