// SPDX-License-Identifier: GPL-2.0-only
// latwriter.c: write on a schedule and measure the latency of each write

/*
 * Open loop: the schedule does not wait for the file. A write that ends late delays
 * the following ones, and their latency counts from their intended start, so a stall
 * shows in every write that it delayed.
 *
 * All memory is allocated and locked before the first write; the measured loop
 * sleeps, writes and fills one preallocated sample per write. Logs are written
 * afterwards.
 */

#include "latwriter.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

const char program_name[] = "latwriter";

static void timed_fsync(struct writer *writer, struct sample *sample)
{
	int64_t start_ns = now_ns();

	sample->fsync_ret = result(fsync(writer->target.fd));
	sample->fsync_ns = now_ns() - start_ns;
}

/* The first error ends the writer: later latencies would be those of errors. */
static void *write_on_schedule(void *argument)
{
	struct writer *writer = argument;
	const struct options *options = writer->options;
	uint64_t random = options->common.seed + writer->index;
	int64_t slots = options->region_bytes / options->common.bytes;

	writer->tid = gettid();
	for (int64_t seq = 0; seq < writer->schedule.planned; seq++) {
		struct sample *sample = &writer->samples[seq];

		if (slots)
			sample->written.offset = next_random(&random) % slots *
						 options->common.bytes;
		if (!wait_for(&writer->schedule, seq))
			break;
		timed_write(&writer->target, &options->common, writer->data,
			    &sample->written);
		writer->schedule.begun = seq + 1;
		if (options->fsync_every && sample->written.ret >= 0 &&
		    (seq + 1) % options->fsync_every == 0)
			timed_fsync(writer, sample);
		if (sample->written.ret < 0 || sample->fsync_ret < 0)
			break;
	}
	end_schedule(&writer->schedule);
	return NULL;
}

static char *file_name(const struct options *options, int64_t index)
{
	const char *path = options->common.path;
	struct stat status;
	bool one = options->writers == 1 || options->shared_file;

	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		return join("%s/writer-%" PRId64 ".log", path,
			    one ? 0 : index);
	return one ? join("%s", path) : join("%s.%" PRId64, path, index);
}

static void prepare(struct writer *writer, const struct options *options,
		    int64_t index, const unsigned char *data)
{
	int flags = options->region_bytes ? 0 : O_APPEND;

	if (!options->shared_file || index == 0)
		flags |= O_EXCL;
	*writer = (struct writer){
		.options = options,
		.data = data,
		.index = index,
		.schedule = make_schedule(options->common.duration_ns,
					  options->interval_ns),
	};
	writer->samples = zeroed(writer->schedule.planned,
				 sizeof(*writer->samples), "writes");
	writer->target = open_target(file_name(options, index), flags);
}

static void run_writers(struct writer *writers, const struct options *options,
			const struct timing *timing)
{
	pthread_t threads[options->writers];

	for (int64_t i = 0; i < options->writers; i++) {
		start_schedule(&writers[i].schedule, timing,
			       i * options->interval_ns / options->writers);
		threads[i] = start_thread(write_on_schedule, &writers[i]);
	}
	join_threads(threads, options->writers);
}

int main(int argc, char **argv)
{
	struct options options = {};
	struct writer *writers;
	struct timing timing;
	unsigned char *data;

	read_options(argc, argv, &options);
	hold_signals();
	lock_memory(options.writers *
		    (options.common.duration_ns / options.interval_ns + 1),
		    sizeof(struct sample));
	data = make_data(&options.common);
	writers = zeroed(options.writers, sizeof(*writers), "threads");
	for (int64_t i = 0; i < options.writers; i++)
		prepare(&writers[i], &options, i, data);

	timing = start_soon(options.common.duration_ns);
	run_writers(writers, &options, &timing);
	return report(writers, &options, &timing);
}
