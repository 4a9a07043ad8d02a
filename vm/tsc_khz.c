// SPDX-License-Identifier: GPL-2.0-only
/*
 * tsc_khz.c: this host's clock and cycle counter to the counter's rate in kHz
 *
 * Each end of the measured second is the tightest of many clock-counter-clock
 * readings, so being kept off the CPU costs a reading and not the result.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES 20000

struct instant {
	int64_t clock_ns;
	uint64_t tsc;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct instant tightest(void)
{
	struct instant best = { 0, 0 };
	int64_t best_gap_ns = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		int64_t before_ns = now_ns();
		uint64_t tsc = __rdtsc();
		int64_t gap_ns = now_ns() - before_ns;

		if (gap_ns < best_gap_ns) {
			best_gap_ns = gap_ns;
			best.clock_ns = before_ns + gap_ns / 2;
			best.tsc = tsc;
		}
	}
	return best;
}

int main(void)
{
	struct timespec second = { 1, 0 };
	struct instant first = tightest(), last;

	nanosleep(&second, NULL);
	last = tightest();
	printf("%.0f\n", (double)(last.tsc - first.tsc) * 1e6 /
			 (double)(last.clock_ns - first.clock_ns));
	return 0;
}
