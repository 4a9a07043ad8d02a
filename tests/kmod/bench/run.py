# SPDX-License-Identifier: GPL-2.0-only
"""run: measure biodelay and other injectors in this machine; write one JSON file.

run.py --build DIR --out FILE [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import accuracy
import cost
from injectors import disks, injectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--disk", default="vdb", help="another disk than the slow one")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    biodelay = options.build / "biodelay.ko"
    begun_s = time.monotonic()
    with disks():
        costs = cost.measure(
            cost.arms(biodelay, options.build / "empty_probe.ko", options.disk),
            2 * options.rounds,
        )
        attribute_writes_ns = cost.attribute_writes_ns(biodelay)
        print(f"cost: {time.monotonic() - begun_s:.0f} s", flush=True)
        arms = accuracy.measure(injectors(biodelay), options.rounds)
    print(f"all: {time.monotonic() - begun_s:.0f} s", flush=True)
    result = {
        "kernel": os.uname().release,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": options.rounds,
        "accuracy": arms,
        "cost": costs,
        "attribute_writes_ns": attribute_writes_ns,
    }
    options.out.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
