#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ext4-buffered-iomap.sh: compare the stalls of ext4's two buffered paths
#
# usage: ext4-buffered-iomap.sh WITHOUT WITH DIR [OPTION]...
# Two built trees (`writestall dev build-kernel`), of one kernel without and with the
# mount option buffered_iomap; DIR is new. The options are those of `writestall lab`.
# DIR/RUN-CELL/latest is a run, DIR/drilldown-CELL/latest the drill-down of page-lock.
# Status 0: all was run.
set -eu
case ${1:-} in
"" | -*)
	echo "usage: $0 WITHOUT WITH DIR [OPTION]...: two kernels, a new folder"
	[ "${1:-}" = --help ] && exit 0
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
without=$(realpath "$1")
with=$(realpath "$2")
mkdir "$3"
out=$(realpath "$3")
shift 3
cd "$here/../.."

# A run's name, the scenario, its seconds, and the time from append to append in us.
runs="page-lock page-lock 22 1_000
page-lock-100-ms page-lock 22 100_000
page-lock-400-ms page-lock 90 400_000
journal-buffer journal-buffer 22 1_000"

scenario() { # NAME SECONDS INTERVAL OPTION: so changed, with one mount option more
	sed -e "s/^duration_s = .*/duration_s = $2/" -e "s/^interval_us = .*/interval_us = $3/" \
		-e "s/^mount_options = \[/&\"$4\", /" "repro/scenarios/$1.toml" |
		awk -v "option=$4" '
			{ lines[NR] = $0; given = given || /^mount_options/ }
			END {
				for (i = 1; i <= NR; i++) {
					print lines[i]
					if (!given && lines[i] == "type = \"ext4\"")
						print "mount_options = [\"" option "\"]"
				}
			}'
}
cell() { # NAME KERNEL MOUNT-OPTION LAB-OPTION...
	cell=$1 kernel=$2 option=$3
	shift 3
	echo "$runs" | while read -r run name seconds interval; do
		folder=$out/$run-$cell
		mkdir "$folder"
		scenario "$name" "$seconds" "$interval" "$option" >"$folder/$name.toml"
		# What it expects is the stall of the other path.
		./writestall lab "$folder/$name.toml" --kernel "$kernel" --out "$folder" "$@" \
			</dev/null || [ -e "$folder/latest/summary.json" ]
	done
	./writestall drilldown "$out/page-lock-$cell/page-lock.toml" --kernel "$kernel" \
		--out "$out/drilldown-$cell" "$@"
}
cell without "$without" data=ordered "$@"
cell buffer_head "$with" nobuffered_iomap "$@"
cell iomap "$with" buffered_iomap "$@"

python3 - "$out" <<'END'
import collections, json, pathlib, sys
def innermost(part):
    """The classes from a wait down to its longest part, and where the first sleeps."""
    yield part["class"], " < ".join(reversed(part["path"]))
    waits = [inner for inner in part.get("parts", ()) if inner["kind"] == "wait"]
    if waits:
        yield from innermost(max(waits, key=lambda inner: inner["dur_ns"]))
for summary in sorted(pathlib.Path(sys.argv[1]).glob("*/latest/summary.json")):
    run, summary = summary.parent, json.loads(summary.read_text())
    total = collections.Counter()
    for chain in json.loads((run / "chains.json").read_text())["chains"]:
        for part in (part for part in chain["parts"] if part["kind"] == "wait"):
            links = list(innermost(part))
            classes = ", ".join(dict.fromkeys(name for name, _ in links))
            total[classes, links[0][1]] += part["dur_ns"]
    print(f"{run.parent.name}: {summary['stalls']} stalls, {summary['stall_ns'] / 1e6:.0f} ms,"
          f" {summary['share_explained']:.1%} explained")
    for (classes, path), ns in total.most_common(6):
        print(f"  {ns / 1e6:8.1f} ms  {classes}: {path}")
END
