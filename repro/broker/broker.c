// SPDX-License-Identifier: GPL-2.0-only
// broker.c: serve requests on a schedule, each under the lock of its partition

/*
 * Simulate a message broker: a fixed number of threads serve requests in order of
 * arrival, and each appends to the log of a partition under the lock of that
 * partition (Kafka: num.io.threads, and UnifiedLog.append(), which holds the log's
 * lock during the write(2)).
 *
 * Open loop: the schedule is the queue. A thread takes the next request and sleeps
 * until it arrives, unless it has arrived already.
 */

#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char program_name[] = "broker";

static void serve(struct broker *broker, struct request *request)
{
	struct partition *partition = &broker->partitions[request->partition];

	request->dequeued_ns = now_ns();
	pthread_mutex_lock(&partition->mutex);
	timed_write(&partition->target, &broker->options->common, broker->data,
		    &request->written);
	pthread_mutex_unlock(&partition->mutex);
}

/* Waits for the next request; NULL: none is left, or the run has ended. */
static struct request *next_request(struct broker *broker)
{
	int64_t seq = broker->taken++;
	struct request *request;

	if (seq >= broker->schedule.planned)
		return NULL;
	request = &broker->requests[seq];
	request->free_ns = now_ns();
	return wait_for(&broker->schedule, seq) ? request : NULL;
}

/* The first failed write ends the run: later latencies would be those of errors. */
static void *serve_requests(void *argument)
{
	struct broker *broker = argument;
	struct request *request;
	int32_t tid = gettid();

	while ((request = next_request(broker))) {
		request->tid = tid;
		serve(broker, request);
		if (request->written.ret < 0)
			stop_all();
	}
	return NULL;
}

/* A directory per partition, like Kafka's topic-partition: PATH-N/00000000.log */
static void open_partition(struct partition *partition, const char *path,
			   int64_t number)
{
	char *folder = join("%s-%" PRId64, path, number);

	if (mkdir(folder, 0755) && errno != EEXIST)
		die(EXIT_WRITES_FAILED, "%s: %s", folder, strerror(errno));
	partition->target = open_target(join("%s/00000000.log", folder),
					O_APPEND | O_EXCL);
	pthread_mutex_init(&partition->mutex, NULL);
}

static void prepare(struct broker *broker, const struct options *options)
{
	const struct common *common = &options->common;
	uint64_t random = common->seed;

	*broker = (struct broker){
		.options = options,
		.partitions = zeroed(options->partitions,
				     sizeof(*broker->partitions),
				     "partitions"),
		.schedule = make_schedule(common->duration_ns,
					  options->interval_ns),
		.cgroup = own_cgroup(),
	};
	broker->requests = zeroed(broker->schedule.planned,
				  sizeof(*broker->requests), "requests");
	for (int64_t seq = 0; seq < broker->schedule.planned; seq++)
		broker->requests[seq].partition =
			next_random(&random) % options->partitions;
	broker->data = make_data(common);
	for (int64_t i = 0; i < options->partitions; i++)
		open_partition(&broker->partitions[i], common->path, i);
}

static void run_threads(struct broker *broker, const struct timing *timing)
{
	struct schedule *schedule = &broker->schedule;
	int64_t count = broker->options->threads;
	pthread_t threads[count];

	start_schedule(schedule, timing, 0);
	for (int64_t i = 0; i < count; i++)
		threads[i] = start_thread(serve_requests, broker);
	join_threads(threads, count);
	for (int64_t seq = 0; seq < schedule->planned; seq++)
		schedule->begun += broker->requests[seq].dequeued_ns != 0;
	end_schedule(schedule);
}

int main(int argc, char **argv)
{
	struct options options = {};
	struct broker broker;
	struct timing timing;

	read_options(argc, argv, &options);
	hold_signals();
	lock_memory(planned(options.common.duration_ns, options.interval_ns),
		    sizeof(struct request));
	prepare(&broker, &options);
	timing = start_soon(options.common.duration_ns);
	run_threads(&broker, &timing);
	return report(&broker, &timing);
}
