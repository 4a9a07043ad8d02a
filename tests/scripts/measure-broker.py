#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-broker: measure what a Kafka broker keeps of its throughput under a tracer.

Runs inside a guest whose clock counts instructions, with the packages and jars of
scenario kafka. Clients produce without a pause to a broker whose disk is not slow. A
stretch with the tracer stands between two without; the share is its requests by the
mean of theirs. Prints JSON: the shares of each round, of each engine, without and with
the sleeps of the broker's threads (--waits), of 1 ms and of 10 ms and more; and of core
with the broker's calls and the disk kept (record --profile).
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import lab

ROUNDS, CLIENTS = 3, 4
STRETCH_S, SETTLES_S, WARMS_S = 3.0, 5.0, 8.0
NONE = "none"  # what it measures is the error of the method
APPS = lab.PROJECT / "repro/apps"
FOLDER = lab.MOUNT / "broker"
KEPT = ("--calls-mib", "64", "--series-ms", "100")


def producer() -> Any:
    """The module of kafka-produce, whose name has no suffix."""
    sys.path.insert(0, str(APPS))
    loader = importlib.machinery.SourceFileLoader(
        "kafka_produce", str(APPS / "kafka-produce")
    )
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@contextmanager
def broker() -> Iterator[int]:
    """A broker without the logs of a scenario's; its pid."""
    FOLDER.mkdir()
    paths = {"LAB": str(FOLDER), "OUT": str(FOLDER), "TREE": str(lab.PROJECT)}
    subprocess.run([APPS / "kafka", "prepare"], env=os.environ | paths, check=True)
    jars = ":".join(str(jar) for jar in Path("/mnt/jars").glob("*.jar"))
    java = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", jars]
    command = [*java, "kafka.Kafka", "/tmp/kafka.properties"]
    with (
        (FOLDER / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        yield process.pid
        process.terminate()


class Load:
    """Clients that produce one record after the other, and count them."""

    def __init__(self, connect: Any) -> None:
        self._counts = [0] * CLIENTS
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number, connect()), daemon=True)
            for number in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int, produce: Any) -> None:
        while not self._over.is_set():
            produce()
            self._counts[number] += 1

    def per_s(self) -> float:
        """Requests a second of the next stretch."""
        before, begun_s = sum(self._counts), time.monotonic()
        time.sleep(STRETCH_S)
        return (sum(self._counts) - before) / (time.monotonic() - begun_s)

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def ways(pid: int) -> list[tuple[str, ...]]:
    """What is traced: calls alone, with the waits of the broker, with its long ones."""
    waits = "--waits", str(pid)
    return [(), waits, (*waits, "--floor-us", "10000")]


def kept(events: list[lab.Event]) -> int:
    """How many calls were kept."""
    rows = [event for event in events if event["ev"] == "calls"]
    lab.expect(not any(event["lost"] for event in rows), "lost calls")
    return sum(event["count"] for event in rows)


def measure(options: argparse.Namespace) -> None:
    kafka = producer()
    with lab.disk(), broker() as pid:
        kafka.begin(CLIENTS)
        load = Load(kafka.clients())
        time.sleep(WARMS_S)
        shares: dict[str, list[float]] = {}
        rates = [load.per_s()]
        each = [(NONE, ()), *product(options.engine or lab.serving(), ways(pid))]
        each.append((lab.CORE, (*KEPT, "--pid", str(pid))))
        for engine, words in each * ROUNDS:
            engines = () if engine == NONE else (engine,)
            with lab.tracing(options.modules, engines, *words) as tracers:
                time.sleep(SETTLES_S)
                during = load.per_s()
                events = [event for tracer in tracers for event in tracer.stop()]
            time.sleep(SETTLES_S)
            rates.append(load.per_s())
            name = " ".join((engine, *words))
            share = 2 * during / sum(rates[-2:])
            shares.setdefault(name, []).append(round(share, 3))
            count = f"{len(events)} events, {kept(events)} calls"
            print(f"{name}: {share:.3f}, {count}", file=sys.stderr, flush=True)
        load.end()
    print(json.dumps({"requests per s": round(sum(rates) / len(rates)), **shares}))


if __name__ == "__main__":
    sys.exit(lab.main(measure))
