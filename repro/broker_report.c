// SPDX-License-Identifier: GPL-2.0-only
// broker_report.c: requests to logs, words and an exit status

#include "broker.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/hlog.h"
#include "client/jsonl.h"

/* One that never began waited at least until the run's end. */
static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct broker *broker = owner;
	const struct request *request = &broker->requests[seq];

	return (request->dequeued_ns ? request->written_ns :
		broker->schedule.stopped_ns) -
	       intended_ns(&broker->schedule, seq);
}

static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct request *request =
		&((const struct broker *)owner)->requests[seq];

	return request->dequeued_ns ?
		request->written_ns - request->locked_ns : -1;
}

/*
 * How long after its arrival a free thread began it. Only what lasts as long
 * as a slow write counts.
 */
static int64_t own_delay_ns(const struct broker *broker, int64_t seq)
{
	const struct request *request = &broker->requests[seq];
	int64_t ready_ns = intended_ns(&broker->schedule, seq);
	int64_t delay_ns;

	if (request->free_ns > ready_ns)
		ready_ns = request->free_ns;
	delay_ns = request->dequeued_ns - ready_ns;
	return delay_ns < broker->options->common.slow_ns ? 0 : delay_ns;
}

static int64_t late_ns(const struct broker *broker)
{
	int64_t sum_ns = 0;

	for (int64_t seq = 0; seq < broker->schedule.planned; seq++)
		if (broker->requests[seq].dequeued_ns)
			sum_ns += own_delay_ns(broker, seq);
	return sum_ns;
}

static void print_request(FILE *file, const struct broker *broker, int64_t seq)
{
	const struct request *request = &broker->requests[seq];
	int64_t wanted_ns = intended_ns(&broker->schedule, seq);

	fprintf(file, "{\"ev\":\"request\",\"seq\":%" PRId64 ",\"t_ns\":%"
		PRId64 ",\"dur_ns\":%" PRId64 ",\"tid\":%" PRId32
		",\"partition\":%" PRId32 ",\"queue_ns\":%" PRId64
		",\"lock_ns\":%" PRId64 ",\"write_ns\":%" PRId64 ",\"path\":",
		seq, wanted_ns, request->written_ns - wanted_ns, request->tid,
		request->partition, request->dequeued_ns - wanted_ns,
		request->locked_ns - request->dequeued_ns,
		request->written_ns - request->locked_ns);
	print_json_string(file,
			  broker->partitions[request->partition].short_path);
	fprintf(file, ",\"bytes\":%" PRId64 ",\"ret\":%" PRId32 "}\n",
		broker->options->common.bytes, request->ret);
}

static void print_write(FILE *file, const struct broker *broker, int64_t seq)
{
	const struct request *request = &broker->requests[seq];

	print_client_write(file, &(struct client_write){
		.seq = seq,
		.intended_ns = intended_ns(&broker->schedule, seq),
		.t_ns = request->locked_ns,
		.dur_ns = request->written_ns - request->locked_ns,
		.tid = request->tid,
		.call = "write",
		.path = broker->partitions[request->partition].short_path,
		.offset = request->offset,
		.bytes = broker->options->common.bytes,
		.ret = request->ret,
	});
}

static void print_both(FILE *file, const struct broker *broker, int64_t seq)
{
	const struct common *common = &broker->options->common;
	const struct request *request = &broker->requests[seq];

	if (!request->dequeued_ns)
		return;
	if (latency_ns(broker, seq) >= common->slow_ns)
		print_request(file, broker, seq);
	if (is_notable(common, service_ns(broker, seq), request->ret))
		print_write(file, broker, seq);
}

static void write_slow_log(const struct broker *broker, int64_t start_ns,
			   const struct totals *totals)
{
	const struct options *options = broker->options;
	const char *path = options->common.slow_log;
	char *more;
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	fprintf(file, "{\"ev\":\"begin\",\"t_ns\":%" PRId64
		",\"program\":\"%s\",\"interval_ns\":%" PRId64 ",\"bytes\":%"
		PRId64 ",\"threads\":%" PRId64 ",\"partitions\":%" PRId64
		",\"slow_ns\":%" PRId64 "}\n", start_ns, program_name,
		options->interval_ns, options->common.bytes, options->threads,
		options->partitions, options->common.slow_ns);
	for (int64_t seq = 0; seq < broker->schedule.planned; seq++)
		print_both(file, broker, seq);
	more = join(",\"late_ns\":%" PRId64, late_ns(broker));
	print_end(file, broker->schedule.stopped_ns, totals, more);
	free(more);
	close_log(file, path);
}

static struct totals add_up(const struct broker *broker)
{
	struct totals totals = {
		.planned = broker->schedule.planned,
		.missed = broker->schedule.missed,
	};

	for (int64_t seq = 0; seq < broker->schedule.planned; seq++)
		if (broker->requests[seq].dequeued_ns)
			add_write(&totals, &broker->options->common,
				  service_ns(broker, seq),
				  broker->requests[seq].ret);
	return totals;
}

/* One line for each write that failed; returns the longest latency. */
static int64_t report_failures(const struct broker *broker)
{
	int64_t longest_ns = 0;

	for (int64_t seq = 0; seq < broker->schedule.planned; seq++) {
		const struct request *request = &broker->requests[seq];

		if (request->ret < 0)
			report_failure("write", broker->partitions
				       [request->partition].path, request->ret,
				       seq + 1, broker->schedule.planned);
		if (request->dequeued_ns &&
		    latency_ns(broker, seq) > longest_ns)
			longest_ns = latency_ns(broker, seq);
	}
	return longest_ns;
}

int report(const struct broker *broker, const struct timing *timing)
{
	const struct common *common = &broker->options->common;
	struct totals totals = add_up(broker);
	struct series requests = { &broker->schedule, broker, 0 };
	struct series writes = requests;
	int64_t longest_ns;

	write_histogram_log(common->hlog,
			    "of requests from the intended start", timing,
			    &requests, 1, latency_ns);
	write_histogram_log(common->hlog_service, "of the call", timing,
			    &writes, 1, service_ns);
	write_slow_log(broker, timing->start_ns, &totals);
	longest_ns = report_failures(broker);
	return report_totals(&totals, join("slowest request %.1f ms; ",
					   longest_ns / 1e6));
}
