# SPDX-License-Identifier: GPL-2.0-only
# Makefile: a target's name to the program that does it; no logic of its own
#
# Variables: SCENARIO, KERNEL, ENGINE (stap, bpftrace, both), INJECTOR (biodelay,
# dm-delay, scsi_debug), MODE (sleep, defer, spin), ACCEL (kvm, tcg, icount,
# icount-warp), V=1 (show everything), SIZES (of make bench-analysis), WRITESTALL_CACHE,
# WRITESTALL_MIRROR. make compare has more: PROFILE, WORKLOAD, FS, ROUNDS, DURATION,
# LOAD, SLO, AGED, SEED, NAME, JOBS, EXECUTOR, CUT (docs/compare.md).

export SCENARIO KERNEL ENGINE INJECTOR MODE ACCEL V
export PROFILE WORKLOAD FS ROUNDS DURATION LOAD SLO AGED SEED NAME JOBS EXECUTOR CUT STALLS
export PYTHONDONTWRITEBYTECODE = 1

.DEFAULT_GOAL := help
.PHONY: help lab variants compare crash test test-scenarios soak check gold bench-analysis bench-tracers soak-tracers bench-injector setup doctor drilldown shell scenarios explain clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26

lab: ## make write(2) stall in a throwaway VM and say why (SCENARIO=, KERNEL=, ENGINE=, INJECTOR=)
	@lab/run

variants: ## the same for a scenario and all its variants, to one table (SCENARIO=gc-log)
	@lab/variants

compare: ## which file system stalls least on such a disk (PROFILE=, WORKLOAD=, FS=)
	@lab/compare

crash: ## cut the machine amid its writes: what does each file system keep (FS=, DURATION=)
	@lab/crash

test: ## set up, run every test this machine can run
	@lab/test

test-scenarios: ## every scenario on every kernel with both engines, to its chain
	@WRITESTALL_EVERY_KERNEL=1 lab/test --side-by-side -- tests/lab/test_scenarios.py

soak: ## 500 cycles of loading and unloading biodelay under load, on every kernel
	@WRITESTALL_SOAK=1 lab/test -- tests/guest -k survives-cycles-under-load

check: ## the quick tests and linters, no VM
	@lab/test --quick

gold: ## record the golden answers of tests/data anew (RUN= keeps runs there first)
	@$(if $(RUN),tests/analysis/golden/keep_run.py $(RUN))
	@GOLD=1 lab/test --quick -- tests/analysis/golden

bench-analysis: ## what explain, report and check cost at 10^4 to 10^7 events (SIZES=)
	@PYTHONPATH=analysis:tests/analysis/helpers "$$(lab/setup --tests)" tests/analysis/speed/bench.py $(SIZES)

bench-tracers: ## what each tracer leaves of the throughput of writes (ROUNDS=, KERNEL=)
	@lab/bench-tracers

soak-tracers: ## what tracers hold and lose over many stalls (ENGINE=, DURATION=, STALLS=)
	@lab/soak-tracers

bench-injector: ## biodelay beside dm-delay and scsi_debug: accuracy, cost (KERNEL=)
	@lab/bench-injector

setup: ## install what the lab and its tests need on this host
	@lab/setup --tests

doctor: ## say what this machine can do and what is missing; change nothing
	@lab/doctor

drilldown: ## find the function and the lock in which write(2) sleeps (SCENARIO=, KERNEL=)
	@lab/drilldown

shell: ## an interactive shell in the VM (KERNEL=)
	@vm/run $(if $(KERNEL),-k $(KERNEL)) --shell

scenarios: ## list the scenarios with one sentence each
	@repro/run --list

explain: ## explain a run again (RUN=out/latest)
	@lab/writestall explain $(or $(RUN),out/latest)

clean: ## forget compiled parts and the image, so that newer packages are fetched
	@lab/clean
