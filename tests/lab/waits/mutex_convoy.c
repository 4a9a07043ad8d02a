/* SPDX-License-Identifier: GPL-2.0-only */
/* mutex_convoy: three threads sync one log, each with a mutex held.
 *
 * Truth: the disk, for as long as any of them was in write(2) and fsync(2).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "truths.h"

#define THREADS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct call calls[MOST_CALLS];
static long count, end_ns;
static int log_fd;
static FILE *file;

static void *request(void *unused)
{
	while (now_ns() < end_ns) {
		long start_ns = now_ns();

		pthread_mutex_lock(&mutex);
		calls[count++] = synced(log_fd);
		ended(file, start_ns, calls, count);
		pthread_mutex_unlock(&mutex);
		pause_ms(100);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	end_ns = ends_ns();
	file = requests();
	log_fd = opened("wal.log");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, request, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return fclose(file);
}
