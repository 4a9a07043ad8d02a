// SPDX-License-Identifier: GPL-2.0-only
// report.c: write broker's logs and print its counts

#include "broker.h"

#include <inttypes.h>

#include "client/report.h"

static const struct target *target_of(const struct broker *broker,
				      const struct request *request)
{
	return &broker->partitions[request->partition].target;
}

static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct broker *broker = owner;
	const struct request *request = &broker->requests[seq];

	return latency_to(&broker->schedule, seq, request->dequeued_ns ?
			  ended_ns(&request->written) : 0);
}

static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct broker *broker = owner;

	return service_ns_of(&broker->requests[seq].written);
}

static void print_request(FILE *file, const struct broker *broker, int64_t seq)
{
	const struct request *request = &broker->requests[seq];
	const struct written *written = &request->written;
	int64_t wanted_ns = intended_ns(&broker->schedule, seq);

	fprintf(file, "{\"ev\":\"request\",\"seq\":%" PRId64 ",\"t_ns\":%"
		PRId64 ",\"dur_ns\":%" PRId64 ",\"tid\":%" PRId32
		",\"partition\":%" PRId32 ",\"queue_ns\":%" PRId64
		",\"lock_ns\":%" PRId64 ",\"write_ns\":%" PRId64 ",\"path\":",
		seq, wanted_ns, ended_ns(written) - wanted_ns, request->tid,
		request->partition, request->dequeued_ns - wanted_ns,
		written->start_ns - request->dequeued_ns, written->dur_ns);
	print_json_string(file, target_of(broker, request)->short_path);
	fprintf(file, ",\"bytes\":%" PRId64 ",\"ret\":%" PRId32,
		broker->options->common.bytes, written->ret);
	if (broker->cgroup)
		fprintf(file, ",\"cgroup\":%" PRIu64 "}\n", broker->cgroup);
	else
		fputs(",\"cgroup\":null}\n", file);
}

static void fill_line(const void *owner, int64_t seq, struct client_write *line)
{
	const struct broker *broker = owner;
	const struct request *request = &broker->requests[seq];

	line->tid = request->tid;
	line->path = target_of(broker, request)->short_path;
	line->written = request->written;
}

static void print_both(FILE *file, const void *owner,
		       const struct client_write *line)
{
	const struct broker *broker = owner;
	const struct common *common = &broker->options->common;

	if (line->written.start_ns &&
	    latency_ns(broker, line->seq) >= common->slow_ns)
		print_request(file, broker, line->seq);
	print_if_notable(file, common, line);
}

int report(const struct broker *broker, const struct timing *timing)
{
	const struct options *options = broker->options;
	const struct common *common = &options->common;
	const struct schedule *schedule = &broker->schedule;
	struct series series = { schedule, broker, 0 };
	struct report report = {
		.common = common,
		.timing = timing,
		.series = &series,
		.count = 1,
		.write_at = fill_line,
		.print_lines = print_both,
	};
	int64_t late_ns = 0, longest_ns = 0;

	write_histogram_log(common->hlog,
			    "of requests from the intended start", timing,
			    &series, 1, latency_ns);
	write_histogram_log(common->hlog_service, "of the call", timing,
			    &series, 1, service_ns);
	add_up(&report);
	for (int64_t seq = 0; seq < schedule->planned; seq++) {
		const struct request *request = &broker->requests[seq];

		if (!request->dequeued_ns)
			continue;
		late_ns += own_delay_ns(common, intended_ns(schedule, seq),
					request->free_ns,
					request->dequeued_ns);
		if (latency_ns(broker, seq) > longest_ns)
			longest_ns = latency_ns(broker, seq);
		if (request->written.ret < 0)
			report_failure("write", target_of(broker, request)->path,
				       request->written.ret, seq + 1,
				       schedule->planned);
	}
	return finish_report(&report,
			     join(",\"program\":\"%s\",\"interval_ns\":%" PRId64
				  ",\"bytes\":%" PRId64 ",\"threads\":%" PRId64
				  ",\"partitions\":%" PRId64 ",\"slow_ns\":%"
				  PRId64, program_name, options->interval_ns,
				  common->bytes, options->threads,
				  options->partitions, common->slow_ns),
			     join(",\"late_ns\":%" PRId64, late_ns),
			     join("slowest request %.1f ms; ",
				  longest_ns / 1e6));
}
