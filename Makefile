# SPDX-License-Identifier: GPL-2.0-only
# Makefile: call ./writestall; a variable becomes the option of its name
#
# Variables: SCENARIO, KERNEL, ENGINE, INJECTOR, MODE, ACCEL, OUT, V=1 (--verbose), RUN,
# SIZES; of make compare: PROFILE, WORKLOAD, FS, ROUNDS, DURATION, LOAD, SLO, AGED, SEED,
# NAME, JOBS, EXECUTOR, CUT; of make soak-tracers: STALLS. ./writestall COMMAND --help
# says what they take. WRITESTALL_CACHE and WRITESTALL_MIRROR are read as they are.

export PYTHONDONTWRITEBYTECODE = 1
option = $(if $($1),--$2 '$($1)')
MACHINE = $(call option,KERNEL,kernel) $(call option,ACCEL,accel) $(call option,OUT,out) $(if $(V),--verbose)
ENGINES = $(call option,ENGINE,engine)
RUNNING = $(if $(SCENARIO),'$(SCENARIO)') $(ENGINES) $(call option,INJECTOR,injector) $(call option,MODE,mode) $(MACHINE)
FILES = $(call option,FS,fs) $(call option,DURATION,duration)
COMPARING = $(call option,PROFILE,profile) $(call option,WORKLOAD,workload) \
	$(call option,ROUNDS,rounds) $(call option,LOAD,load) $(call option,SLO,slo) \
	$(call option,AGED,aged) $(call option,SEED,seed) $(call option,NAME,name) \
	$(call option,JOBS,jobs) $(call option,EXECUTOR,executor) $(call option,CUT,cut)

.DEFAULT_GOAL := help
.PHONY: help lab variants compare crash test test-scenarios soak check gold bench-analysis bench-tracers soak-tracers bench-injector setup doctor drilldown shell scenarios explain clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26

lab: ## make write(2) stall in a throwaway VM and say why (SCENARIO=, KERNEL=, ENGINE=, INJECTOR=)
	@./writestall lab $(RUNNING)

variants: ## the same for a scenario and all its variants, to one table (SCENARIO=gc-log)
	@./writestall variants $(RUNNING)

compare: ## which file system stalls least on such a disk (PROFILE=, WORKLOAD=, FS=)
	@./writestall compare $(COMPARING) $(FILES) $(ENGINES) $(MACHINE)

crash: ## cut the machine during its writes: what does each file system keep (FS=, DURATION=)
	@./writestall crash $(FILES) $(MACHINE)

test: ## set up, run every test this machine can run
	@./writestall test

test-scenarios: ## every scenario on every kernel with both engines, to its chain
	@./writestall test --every-kernel --side-by-side -- tests/lab/test_scenarios.py

soak: ## 500 cycles of loading and unloading biodelay under load, on every kernel
	@WRITESTALL_SOAK=1 ./writestall test -- tests/guest -k survives-cycles-under-load

check: ## the quick tests and linters, no VM
	@./writestall test --quick

gold: ## record the golden answers of tests/data anew (RUN= keeps runs there first)
	@$(if $(RUN),tests/analysis/golden/keep_run.py $(RUN))
	@GOLD=1 ./writestall test --quick -- tests/analysis/golden

bench-analysis: ## what explain, report and check cost at 10^4 to 10^7 events (SIZES=)
	@./writestall bench-analysis $(SIZES)

bench-tracers: ## what each tracer leaves of the throughput of writes (ROUNDS=, KERNEL=)
	@./writestall bench-tracers $(call option,ROUNDS,rounds) $(MACHINE)

soak-tracers: ## what tracers hold and lose over many stalls (ENGINE=, DURATION=, STALLS=)
	@./writestall soak-tracers $(ENGINES) $(call option,STALLS,stalls) $(call option,DURATION,duration) $(MACHINE)

bench-injector: ## compare biodelay with dm-delay and scsi_debug: accuracy, cost (KERNEL=)
	@./writestall bench-injector $(call option,ROUNDS,rounds) $(MACHINE)

setup: ## install what the lab and its tests need on this host
	@./writestall setup --tests

doctor: ## say what this machine can do and what is missing; change nothing
	@./writestall doctor

drilldown: ## find the function and the lock in which write(2) sleeps (SCENARIO=, KERNEL=)
	@./writestall drilldown $(RUNNING)

shell: ## an interactive shell in the VM (KERNEL=)
	@./writestall vm $(call option,KERNEL,kernel) $(call option,ACCEL,accel)

scenarios: ## list the scenarios with one sentence each
	@./writestall scenarios

explain: ## explain a run again (RUN=out/latest)
	@./writestall explain '$(or $(RUN),out/latest)'

clean: ## delete compiled parts and the image; the next build fetches newer packages
	@./writestall clean
