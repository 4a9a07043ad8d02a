#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will compare the tables of kmod/README.md with the module: the same
# parameters and attributes, the actual defaults, ranges whose ends are accepted and
# nothing beyond, and examples that are accepted.
# expects: biodelay: .*(must be .*|not a whole number|a delay is at most .*|not NS or table .*)
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

readme=${README:-$here/../../kmod/README.md}
insmod "$module"
mkdir "$rules/r"
python3 - "$readme" "$module" "$rules/r" "$disk_name" "$here/../../kmod/attrs.h" <<'PYTHON'
import re, subprocess, sys
from pathlib import Path
readme, module, rule, disk, attrs = sys.argv[1:]
rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| `(.*?)` \|$", Path(readme).read_text(), re.M)
documented = {row[0] for row in rows}
listed = subprocess.run(["modinfo", "-F", "parm", module], capture_output=True, text=True, check=True)
parameters = {line.split(":")[0] for line in listed.stdout.splitlines() if ":" in line}
attributes = {entry.name for entry in Path(rule).iterdir()}
assert documented == parameters, documented ^ parameters
assert attributes == parameters - {"allow_bare_metal", "records_per_cpu", "max_holds"}
for name, _, default, example in rows:
    if name not in attributes:
        continue
    file = Path(rule, name)
    found = file.read_text().strip()
    words = default.split(",")[0].strip("`")
    meaning = {"none": "", "all": {"ops": "read,write,flush,discard,zeroes,other"}.get(name, ""),
               "any": ""}
    assert found == meaning.get(words, words), f"{name}: default {found!r}, README says {default!r}"
def taken(name, number):
    try:
        Path(rule, name).write_text(f"{number}\n")
    except OSError:
        return False
    return True
ranges = {name: re.search(r"\b(\d+) to (\d+)(?! characters)\b", unit)
          for name, unit, _, _ in rows if name in attributes}
ranges = {name: tuple(map(int, found.groups())) for name, found in ranges.items() if found}
numbers = set(re.findall(r"^\tX\((\w+), NUMBER\(", Path(attrs).read_text(), re.M))
numbers |= {"delay", "delay_us"}
assert set(ranges) == numbers, f"README gives no range, or one too many: {set(ranges) ^ numbers}"
def most_processes(documented):
    """PID_MAX_LIMIT (include/linux/threads.h), which is lower with CONFIG_BASE_SMALL."""
    limit = Path("/proc/sys/kernel/pid_max")
    before = limit.read_text()
    try:
        limit.write_text(f"{documented}\n")
    except OSError:
        return 8 * 4096
    limit.write_text(before)
    return documented
ranges["pid"] = (0, most_processes(ranges["pid"][1]))
for name, (low, high) in ranges.items():
    before = Path(rule, name).read_text()
    assert taken(name, high) and taken(name, low), f"{name}: not {low} to {high}"
    assert not taken(name, high + 1) and not taken(name, low - 1), f"{name}: more than {low} to {high}"
    taken(name, before.strip() or low)
for name, _, _, example in rows:
    if name in attributes - {"force"}:
        value = disk if name == "device" else example
        if name == "enabled":
            Path(rule, "mode").write_text("sleep")
            Path(rule, "pid").write_text("4711")
        Path(rule, name).write_text(value + "\n")
PYTHON
