/* SPDX-License-Identifier: GPL-2.0-only */
/* mutex_of_worker: requests wait for a mutex that a thread holds while it computes.
 *
 * A third thread syncs a log all the time, which no request needs. Truth: no disk.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "truths.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		for (long end_ns = now_ns() + 700000000; now_ns() < end_ns;)
			;
		pthread_mutex_unlock(&mutex);
		pause_ms(100);
	}
	return unused;
}

static void *audit(void *unused)
{
	for (int log = opened("audit.log");; pause_ms(20))
		synced(log);
	return unused;
}

int main(void)
{
	long end_ns = ends_ns();
	pthread_t thread;
	FILE *file = requests();

	pthread_create(&thread, NULL, work, NULL);
	pthread_create(&thread, NULL, audit, NULL);
	while (now_ns() < end_ns) {
		long start_ns = now_ns();

		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		ended(file, start_ns, NULL, 0);
		pause_ms(50);
	}
	return fclose(file);
}
