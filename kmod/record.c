// SPDX-License-Identifier: GPL-2.0-only
/* record.c: print delayed bios as JSON Lines, from bounded per-CPU queues */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include "biodelay.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

#define LINE_MAX_BYTES 512

/**
 * struct queue - finished records of a CPU, oldest first
 * @lock: protects the rest; taken by writers on this CPU and the one reader
 * @slots: @mask + 1 records
 * @head: next to write, free-running
 * @tail: next to read, free-running
 * @written: records queued since load
 * @lost: records dropped because the queue was full
 */
struct queue {
	raw_spinlock_t lock;
	struct biodelay_record *slots;
	unsigned int head;
	unsigned int tail;
	u64 written;
	u64 lost;
};

static DEFINE_PER_CPU(struct queue, queues);
static unsigned int mask;
static DEFINE_MUTEX(reader_lock); /* one reader takes records at a time */
static DECLARE_WAIT_QUEUE_HEAD(readers);

static void push(const struct biodelay_record *record)
{
	struct queue *queue;
	unsigned long flags;

	local_irq_save(flags);
	queue = this_cpu_ptr(&queues);
	raw_spin_lock(&queue->lock);
	if (queue->head - queue->tail <= mask) {
		queue->slots[queue->head++ & mask] = *record;
		queue->written++;
	} else {
		queue->lost++;
	}
	raw_spin_unlock(&queue->lock);
	local_irq_restore(flags);
	if (wq_has_sleeper(&readers))
		wake_up_interruptible(&readers);
}

/**
 * biodelay_record_begin() - fill a bio's record as its delay begins
 * @record: the record
 * @rule: the rule that the bio is delayed by
 * @spec: the rule's spec
 * @bio: the current task's bio
 *
 * Context: the probe's handler.
 */
void biodelay_record_begin(struct biodelay_record *record,
			   struct biodelay_rule *rule,
			   const struct biodelay_spec *spec,
			   const struct bio *bio)
{
	record->t_ns = ktime_get_ns();
	record->dur_ns = 0;
	record->requested_ns = biodelay_draw_delay_ns(rule, spec, record->t_ns);
	record->sector = biodelay_device_sector(&spec->device, bio);
	record->bytes = bio->bi_iter.bi_size;
	record->dev = spec->device.dev;
	record->flags = biodelay_flags_of(bio);
	record->op = biodelay_op_of(bio);
	record->mode = spec->mode;
	record->tid = current->pid;
	memcpy(record->comm, current->comm, TASK_COMM_LEN);
	memcpy(record->rule, rule->name, BIODELAY_NAME_LEN);
}

/**
 * biodelay_record_end() - count and record a bio whose delay has ended
 * @record: its record, complete except for the duration
 * @rule: the rule that it was delayed by
 *
 * Context: any but NMI.
 */
void biodelay_record_end(struct biodelay_record *record,
			 struct biodelay_rule *rule)
{
	record->dur_ns = ktime_get_ns() - record->t_ns;
	biodelay_count(rule, BIODELAY_DELAYED, 1);
	biodelay_count(rule, BIODELAY_TOTAL_DELAY_NS, record->dur_ns);
	push(record);
	trace_bio_delay(record);
}

/* The queue with the oldest record, by the end of the delay. */
static struct queue *peek(struct biodelay_record *oldest)
{
	struct queue *best = NULL;
	u64 best_ns = U64_MAX;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct queue *queue = per_cpu_ptr(&queues, cpu);
		const struct biodelay_record *record;

		raw_spin_lock_irq(&queue->lock);
		record = &queue->slots[queue->tail & mask];
		if (queue->head != queue->tail &&
		    record->t_ns + record->dur_ns < best_ns) {
			*oldest = *record;
			best_ns = record->t_ns + record->dur_ns;
			best = queue;
		}
		raw_spin_unlock_irq(&queue->lock);
	}
	return best;
}

static void pop(struct queue *queue)
{
	lockdep_assert_held(&reader_lock);
	raw_spin_lock_irq(&queue->lock);
	queue->tail++;
	raw_spin_unlock_irq(&queue->lock);
}

/* Escape @s for a JSON string; @out has 6 bytes for each byte of @s. */
static void json_escape(char *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = *s;

		if (c < 0x20 || c == 0x7f)
			out += sprintf(out, "\\u%04x", c);
		else
			out += sprintf(out, c == '"' || c == '\\' ? "\\%c" :
				       "%c", c);
	}
	*out = '\0';
}

/* Format: docs/events.md, "The injector's record". */
static int format_line(char *out, const struct biodelay_record *r)
{
	char comm[6 * TASK_COMM_LEN], rule[6 * BIODELAY_NAME_LEN], flags[64];

	json_escape(comm, r->comm);
	json_escape(rule, r->rule);
	biodelay_mask_print(biodelay_flag_names, r->flags, "\"", flags,
			    sizeof(flags));
	return scnprintf(out, LINE_MAX_BYTES,
			 "{\"ev\":\"bio_delay\",\"t_ns\":%llu,\"dur_ns\":%llu,"
			 "\"requested_ns\":%llu,\"rule\":\"%s\",\"mode\":\"%s\","
			 "\"dev\":\"%u:%u\",\"sector\":%llu,\"bytes\":%u,"
			 "\"op\":\"%s\",\"flags\":[%s],\"tid\":%d,"
			 "\"comm\":\"%s\"}\n",
			 r->t_ns, r->dur_ns, r->requested_ns, rule,
			 biodelay_mode_names[r->mode], MAJOR(r->dev),
			 MINOR(r->dev), r->sector, r->bytes,
			 biodelay_op_names[r->op], flags, r->tid, comm);
}

/*
 * Return complete lines only, and remove a record from its queue after it was
 * copied, so a reader may stop at any point without losing one. An empty queue is
 * an end of file; poll() waits for more.
 */
static ssize_t record_read(struct file *file, char __user *buf, size_t size,
			   loff_t *pos)
{
	char line[LINE_MAX_BYTES];
	struct biodelay_record record;
	struct queue *queue;
	ssize_t done = 0;

	if (mutex_lock_interruptible(&reader_lock))
		return -ERESTARTSYS;
	while ((queue = peek(&record))) {
		int n = format_line(line, &record);

		if (n > size - done) {
			done = done ?: -EINVAL;
			break;
		}
		if (copy_to_user(buf + done, line, n)) {
			done = done ?: -EFAULT;
			break;
		}
		pop(queue);
		done += n;
		if (signal_pending(current))
			break;
	}
	mutex_unlock(&reader_lock);
	if (done > 0)
		*pos += done;
	return done;
}

static __poll_t record_poll(struct file *file, poll_table *wait)
{
	struct biodelay_record record;

	poll_wait(file, &readers, wait);
	return peek(&record) ? EPOLLIN | EPOLLRDNORM : 0;
}

const struct file_operations biodelay_record_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.read = record_read,
	.poll = record_poll,
};

/**
 * biodelay_records_count() - the number of records since load
 * @written: queued, read or not
 * @lost: dropped because their queue was full
 */
void biodelay_records_count(u64 *written, u64 *lost)
{
	int cpu;

	*written = 0;
	*lost = 0;
	for_each_possible_cpu(cpu) {
		*written += per_cpu_ptr(&queues, cpu)->written;
		*lost += per_cpu_ptr(&queues, cpu)->lost;
	}
}

/** biodelay_records_exit() - undo biodelay_records_init(), even if it failed */
void biodelay_records_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu_ptr(&queues, cpu)->slots);
}

/**
 * biodelay_records_init() - allocate the queues
 * @per_cpu: records that each CPU's queue keeps until they are read; rounded up
 *           to a power of two
 *
 * Return: 0 or -ENOMEM.
 */
int biodelay_records_init(unsigned int per_cpu)
{
	int cpu;

	mask = roundup_pow_of_two(per_cpu) - 1;
	for_each_possible_cpu(cpu) {
		struct queue *queue = per_cpu_ptr(&queues, cpu);

		raw_spin_lock_init(&queue->lock);
		queue->slots = kvcalloc(mask + 1, sizeof(*queue->slots),
					GFP_KERNEL);
		if (!queue->slots) {
			biodelay_records_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
