# SPDX-License-Identifier: GPL-2.0-only
"""run_models: draw what runs of a comparison would measure, from models of stalls.

A run is 12 s of 1,000 requests per second. A request that was to start in a stall waits
for its end, so that latencies of a run depend on each other. Models:

- stall   latency lognormal(0.3 ms, 0.5); Poisson(3) stalls at random times, each
          lognormal(0.5 s, 0.6) times a factor lognormal(1, 0.4) of the run
- pareto  the same with stalls of Pareto(0.2 s, 1.5), 10 s at most
- ar1     log latency is an AR(1) process: correlation time 1 s, sigma 1.2, median 2 ms,
          and a factor lognormal(1, 0.5) of the run
- common  stalls as in `stall`, of which all options of a round meet the same; each
          option's run adds a factor lognormal(1, 0.05)
- mixed   as `common`, with a factor lognormal(1, 0.3)
- rare    latency lognormal(0.3 ms, 0.5); a tenth of the runs has a stall of `pareto`
- drift   as `stall`, and stalls grow from round to round, by a factor of 4 in all
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import signal

Array = npt.NDArray[np.float64]
DURATION_S, RATE_PER_S = 12, 1000
REQUESTS = DURATION_S * RATE_PER_S
SLO_NS = 65e6
POOL = 2000
OF_ROUND = {"common": 0.05, "mixed": 0.3}
MODELS = ("stall", "pareto", "ar1", "common", "mixed", "rare", "drift")
# What is measured of a run: the share of requests over SLO_NS, and its own quantiles.
OVER, P99, P999 = range(3)


def _stalls(draw: np.random.Generator, model: str) -> list[tuple[float, float]]:
    """Start and length of a run's stalls, in s."""
    count = draw.binomial(1, 0.1) if model == "rare" else draw.poisson(3)
    factor = draw.lognormal(0, 0.4)
    long_s = (
        draw.lognormal(np.log(0.5), 0.6, count)
        if model == "stall"
        else np.minimum(10.0, 0.2 * (1 + draw.pareto(1.5, count)))
    )
    return list(zip(draw.uniform(0, DURATION_S, count), long_s * factor, strict=True))


def _measured(draw: np.random.Generator, model: str, scale: float) -> Array:
    """What a run measures: a value for OVER, P99 and P999."""
    if model == "ar1":
        keep = np.exp(-1 / RATE_PER_S)
        noise = draw.normal(0, 1.2 * np.sqrt(1 - keep**2), REQUESTS)
        noise[0] = draw.normal(0, 1.2)
        path = signal.lfilter([1], [1, -keep], noise)
        latency_ns = np.exp(path + np.log(2e6) + draw.normal(0, 0.5)) * scale
    else:
        latency_ns = draw.lognormal(np.log(0.3e6), 0.5, REQUESTS)
        at_s = np.arange(REQUESTS) / RATE_PER_S
        for start_s, long_s in _stalls(draw, model):
            left_s = start_s + long_s * scale - at_s
            hit = (at_s >= start_s) & (left_s > 0)
            latency_ns[hit] = np.maximum(latency_ns[hit], left_s[hit] * 1e9)
    p99, p999 = np.quantile(latency_ns, [0.99, 0.999], method="higher")
    return np.array([(latency_ns > SLO_NS).mean(), p99, p999])


@cache
def runs(model: str, scale: float) -> Array:
    """Many runs, from which rounds are drawn: a row for each."""
    draw = np.random.default_rng([MODELS.index(model), round(1000 * scale)])
    return np.array([_measured(draw, model, scale) for _ in range(POOL)])


def rounds(
    draw: np.random.Generator, model: str, count: int, scales: Array, measure: int
) -> Array:
    """A measure of each option (rows) in each round (columns).

    `scales` has a factor for each option's stalls: 2.0 are twice as long.
    """
    if model in OF_ROUND:
        shared = runs("stall", 1.0)[draw.integers(POOL, size=count), measure]
        own = draw.lognormal(0, OF_ROUND[model], (len(scales), count))
        found: Array = shared * own * scales[:, None]
        most: Array = np.minimum(found, 1.0)
        return most if measure == OVER else found
    if model == "drift":
        steps = np.geomspace(1, 4, count)
        pools = [[runs("stall", _near(s * step)) for step in steps] for s in scales]
        return np.array(
            [[pool[draw.integers(POOL), measure] for pool in row] for row in pools]
        )
    return np.array(
        [runs(model, s)[draw.integers(POOL, size=count), measure] for s in scales]
    )


def _near(scale: float) -> float:
    """The scale of a pool: few of them serve any drift."""
    return float(2 ** (round(2 * np.log2(scale)) / 2))


def prepare(scales: Sequence[float]) -> None:
    """Make the pools of these scales."""
    for model in MODELS:
        if model not in OF_ROUND and model != "drift":
            for scale in scales:
                runs(model, scale)
    for step in np.geomspace(1, 4, 20):
        for scale in scales:
            runs("stall", _near(scale * float(step)))
