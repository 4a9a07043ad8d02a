/* SPDX-License-Identifier: GPL-2.0-only */
/* flock_of_syncer: requests wait for flock(2) of a file that another process holds.
 *
 * That process syncs the file while it has the lock. Truth: the disk, for as long as it
 * was in write(2) and fsync(2).
 */
#define _GNU_SOURCE
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include "truths.h"

struct shared {
	_Atomic long count;
	struct call calls[MOST_CALLS];
};

static void hold(struct shared *shared, int log)
{
	for (long i = 0; i < MOST_CALLS; i++) {
		flock(log, LOCK_EX);
		shared->calls[i] = synced(log);
		shared->count = i + 1;
		flock(log, LOCK_UN);
		pause_ms(150);
	}
}

int main(void)
{
	long end_ns = ends_ns();
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *file = requests();

	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		hold(shared, opened("database"));
	}
	int log = opened("database");

	while (now_ns() < end_ns) {
		long start_ns = now_ns();

		flock(log, LOCK_EX);
		flock(log, LOCK_UN);
		ended(file, start_ns, shared->calls, shared->count);
		pause_ms(50);
	}
	return fclose(file);
}
