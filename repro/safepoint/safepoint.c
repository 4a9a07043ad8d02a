// SPDX-License-Identifier: GPL-2.0-only
// safepoint.c: stop all threads on a schedule and log a line during each stop

/*
 * Simulate a JVM: threads poll for a stop between short units of work; one thread
 * stops all of them, works, logs a line with a plain write(2), and only then
 * releases them, so the application is stopped until that write has returned
 * (OpenJDK's SafepointSynchronize::begin() and end(),
 * src/hotspot/share/runtime/safepoint.cpp; since JDK 17 -Xlog:async gives the
 * line to a separate thread, JDK-8229517).
 */

#include "safepoint.h"

#include <fcntl.h>
#include <unistd.h>

const char program_name[] = "safepoint";

/* Called with the mutex held. */
static void wait_for_release(struct application *app)
{
	int64_t number = app->wanted;
	int64_t since_ns = now_ns();
	struct pause *pause = app->pause;
	int64_t stopped_ns;

	app->stopped++;
	pthread_cond_signal(&app->arrived);
	while (app->released_number < number)
		pthread_cond_wait(&app->released, &app->mutex);
	stopped_ns = now_ns() - since_ns;
	if (!pause->shortest_ns || stopped_ns < pause->shortest_ns)
		pause->shortest_ns = stopped_ns;
}

/*
 * Waits until a unit is due. A stop called meanwhile takes effect at once, because a
 * JVM does not wait for sleeping threads. False if no unit follows.
 */
static bool wait_for_unit(struct worker *worker, int64_t seq)
{
	struct application *app = worker->application;
	int64_t wanted_ns = intended_ns(&worker->schedule, seq);
	bool over;

	pthread_mutex_lock(&app->mutex);
	for (;;) {
		struct timespec until = next_look(wanted_ns);

		while (app->released_number < app->wanted)
			wait_for_release(app);
		over = is_over(&worker->schedule);
		if (over || now_ns() >= wanted_ns)
			break;
		pthread_cond_timedwait(&app->called, &app->mutex, &until);
	}
	pthread_mutex_unlock(&app->mutex);
	return !over;
}

static void work(int64_t unit_ns)
{
	int64_t end_ns = now_ns() + unit_ns;

	while (now_ns() < end_ns)
		;
}

static void *work_on_schedule(void *argument)
{
	struct worker *worker = argument;
	struct application *app = worker->application;

	for (int64_t seq = 0; seq < worker->schedule.planned; seq++) {
		if (!wait_for_unit(worker, seq))
			break;
		work(app->options->unit_ns);
		worker->done_ns[seq] = now_ns();
		worker->schedule.begun = seq + 1;
	}
	end_schedule(&worker->schedule);
	pthread_mutex_lock(&app->mutex);
	app->present--;
	pthread_cond_signal(&app->arrived);
	pthread_mutex_unlock(&app->mutex);
	return NULL;
}

static void stop_threads(struct application *app, struct pause *pause)
{
	pthread_mutex_lock(&app->mutex);
	pause->requested_ns = now_ns();
	app->stopped = 0;
	app->pause = pause;
	app->wanted++;
	pthread_cond_broadcast(&app->called);
	while (app->stopped < app->present)
		pthread_cond_wait(&app->arrived, &app->mutex);
	pause->threads = app->stopped;
	pause->reached_ns = now_ns();
	pthread_mutex_unlock(&app->mutex);
}

static void release_threads(struct application *app, struct pause *pause)
{
	pthread_mutex_lock(&app->mutex);
	app->released_number = app->wanted;
	pthread_cond_broadcast(&app->released);
	pause->released_ns = now_ns();
	pthread_mutex_unlock(&app->mutex);
}

/*
 * A stopped application makes no garbage: scheduled times that pass during a stop
 * are skipped.
 */
static int64_t next_time(const struct schedule *schedule, int64_t seq)
{
	int64_t passed = (now_ns() - schedule->first_ns) /
			 schedule->interval_ns;

	return passed > seq ? passed + 1 : seq + 1;
}

static void *pause_on_schedule(void *argument)
{
	struct application *app = argument;
	struct schedule *schedule = &app->schedule;
	int64_t seq = 0;

	app->tid = gettid();
	while (seq < schedule->planned && wait_for(schedule, seq)) {
		struct pause *pause = &app->pauses[seq];

		stop_threads(app, pause);
		log_line(app, pause);
		pause->logged_ns = now_ns();
		release_threads(app, pause);
		app->stops++;
		schedule->begun = seq + 1;
		seq = next_time(schedule, seq);
	}
	end_schedule(schedule);
	close_queue(&app->log);
	return NULL;
}

/* The only condition with a timeout, which uses CLOCK_MONOTONIC. */
static void prepare_call(struct application *app)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&app->called, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void prepare(struct application *app, const struct options *options)
{
	const struct common *common = &options->common;
	struct log *log = &app->log;

	*app = (struct application){
		.options = options,
		.workers = zeroed(options->threads, sizeof(*app->workers),
				  "threads"),
		.present = options->threads,
		.schedule = make_schedule(common->duration_ns,
					  options->interval_ns),
	};
	app->pauses = zeroed(app->schedule.planned, sizeof(*app->pauses),
			     "pauses");
	log->queue = zeroed(app->schedule.planned, sizeof(*log->queue),
			    "lines");
	log->data = make_data(common);
	log->target = open_target(join("%s", common->path), O_APPEND | O_EXCL);
	pthread_mutex_init(&app->mutex, NULL);
	prepare_call(app);
	pthread_cond_init(&app->arrived, NULL);
	pthread_cond_init(&app->released, NULL);
	pthread_mutex_init(&log->mutex, NULL);
	pthread_cond_init(&log->changed, NULL);
}

/* Units of different threads are due at different times, like requests. */
static void prepare_worker(struct application *app, int64_t index)
{
	const struct options *options = app->options;
	struct worker *worker = &app->workers[index];

	worker->application = app;
	worker->schedule = make_schedule(options->common.duration_ns,
					 options->unit_interval_ns);
	worker->done_ns = zeroed(worker->schedule.planned,
				 sizeof(*worker->done_ns), "units");
}

static void run_threads(struct application *app, const struct timing *timing)
{
	const struct options *options = app->options;
	pthread_t threads[options->threads + 2];
	int64_t count = 0;

	start_schedule(&app->schedule, timing, 0);
	for (int64_t i = 0; i < options->threads; i++) {
		start_schedule(&app->workers[i].schedule, timing,
			       i * options->unit_interval_ns /
			       options->threads);
		threads[count++] = start_thread(work_on_schedule,
						&app->workers[i]);
	}
	if (options->async)
		threads[count++] = start_thread(write_lines, app);
	threads[count++] = start_thread(pause_on_schedule, app);
	join_threads(threads, count);
}

int main(int argc, char **argv)
{
	struct application app;
	struct options options = {};
	struct timing timing;

	read_options(argc, argv, &options);
	hold_signals();
	lock_memory(options.threads * planned(options.common.duration_ns,
					      options.unit_interval_ns) +
		    planned(options.common.duration_ns, options.interval_ns),
		    sizeof(struct pause));
	prepare(&app, &options);
	for (int64_t i = 0; i < options.threads; i++)
		prepare_worker(&app, i);
	timing = start_soon(options.common.duration_ns);
	run_threads(&app, &timing);
	return report(&app, &timing);
}
