// SPDX-License-Identifier: GPL-2.0-only
// report.c: write broker's logs and print its counts

#include "broker.h"

#include <inttypes.h>

#include "client/report.h"

static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct broker *broker = owner;
	const struct request *request = &broker->requests[seq];

	return latency_to(&broker->schedule, seq, request->dequeued_ns ?
			  request->written_ns : 0);
}

static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct request *request =
		&((const struct broker *)owner)->requests[seq];

	return request->dequeued_ns ?
		request->written_ns - request->locked_ns : -1;
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
	fprintf(file, ",\"bytes\":%" PRId64 ",\"ret\":%" PRId32,
		broker->options->common.bytes, request->ret);
	if (broker->cgroup)
		fprintf(file, ",\"cgroup\":%" PRIu64 "}\n", broker->cgroup);
	else
		fputs(",\"cgroup\":null}\n", file);
}

static bool write_line(const void *owner, int64_t seq,
		       struct client_write *line)
{
	const struct broker *broker = owner;
	const struct request *request = &broker->requests[seq];

	*line = (struct client_write){
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
	};
	return request->dequeued_ns;
}

static void print_both(FILE *file, const void *owner, int64_t seq)
{
	const struct broker *broker = owner;
	const struct common *common = &broker->options->common;
	struct client_write line;

	if (!write_line(broker, seq, &line))
		return;
	if (latency_ns(broker, seq) >= common->slow_ns)
		print_request(file, broker, seq);
	print_if_notable(file, common, &line);
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
		.write_at = write_line,
		.print_at = print_both,
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
		if (request->ret < 0)
			report_failure("write", broker->partitions
				       [request->partition].path, request->ret,
				       seq + 1, schedule->planned);
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
