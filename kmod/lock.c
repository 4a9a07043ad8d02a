// SPDX-License-Identifier: GPL-2.0-only
/* lock.c: the lock of the rules */
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include "biodelay.h"

/*
 * Outermost. Held bios are never waited for with it: they may be on a disk that does not
 * answer.
 */
static DEFINE_MUTEX(rules_lock);
static struct task_struct *owner; /* who holds it */

/** biodelay_rules_lock() - take the lock of the rules */
void biodelay_rules_lock(void)
{
	mutex_lock(&rules_lock);
	WRITE_ONCE(owner, current);
}

/** biodelay_rules_unlock() - release it */
void biodelay_rules_unlock(void)
{
	WRITE_ONCE(owner, NULL);
	mutex_unlock(&rules_lock);
}

/**
 * biodelay_rules_are_mine() - whether the current task holds the lock
 *
 * It reads block devices and paths then, to find and to guard a rule's device.
 *
 * Context: any.
 */
bool biodelay_rules_are_mine(void)
{
	return READ_ONCE(owner) == current;
}

/** biodelay_rules_assert_held() - warn, with lockdep, if the lock is not held */
void biodelay_rules_assert_held(void)
{
	lockdep_assert_held(&rules_lock);
}
