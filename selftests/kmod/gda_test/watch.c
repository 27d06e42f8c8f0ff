// SPDX-License-Identifier: GPL-2.0
/*
 * A waiter of an eventfd: an open file waits for one, as irqfd and vhost do, and records which
 * task signals the eventfd. Being called takes as long as the test says: a tenant can have
 * any number of waiters.
 *
 * @lock guards @eventfd. The callback writes @seen under the lock of the eventfd's wait
 * queue; @seen is read without it, because the signalling task holds it all the while.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include <gda/compat.h>

#include "ioctl.h"
#include "parts.h"

#define TEST_WATCH_MAX_US	100000U

struct test_watch {
	struct mutex lock;		/* guards the next one */
	struct file *eventfd;		/* NULL: none yet */
	poll_table table;
	wait_queue_entry_t entry;
	wait_queue_head_t *queue;
	u32 busy_us;
	struct gda_test_watched seen;
};

static int test_watch_called(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct test_watch *watch = container_of(entry, struct test_watch, entry);
	u64 end;

	lockdep_assert_held(&watch->queue->lock);
	/* a reader calls as well, who tells writers that there is room */
	if (!(key_to_poll(key) & EPOLLIN))
		return 0;
	WRITE_ONCE(watch->seen.pid, task_pid_nr(current));
	WRITE_ONCE(watch->seen.count, watch->seen.count + 1);
	end = ktime_get_ns() + watch->busy_us * NSEC_PER_USEC;
	while (ktime_get_ns() < end)
		cpu_relax();
	return 0;
}

static void test_watch_enter(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	struct test_watch *watch = container_of(table, struct test_watch, table);

	watch->queue = queue;
	add_wait_queue(queue, &watch->entry);
}

static int test_watch_begin(struct test_watch *watch, const struct gda_test_watch *cmd)
{
	if (cmd->busy_us > TEST_WATCH_MAX_US)
		return -EINVAL;
	if (watch->eventfd)
		return -EBUSY;
	watch->eventfd = eventfd_fget(cmd->fd);
	if (IS_ERR(watch->eventfd)) {
		int ret = PTR_ERR(watch->eventfd);

		watch->eventfd = NULL;
		return ret;
	}
	watch->busy_us = cmd->busy_us;
	init_waitqueue_func_entry(&watch->entry, test_watch_called);
	init_poll_funcptr(&watch->table, test_watch_enter);
	vfs_poll(watch->eventfd, &watch->table);
	return 0;
}

static int test_watch_seen(struct test_watch *watch, struct gda_test_watched *seen)
{
	if (!watch->eventfd)
		return -ENOTCONN;
	seen->pid = READ_ONCE(watch->seen.pid);
	seen->count = READ_ONCE(watch->seen.count);
	return 0;
}

static long test_watch_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	struct test_watch *watch = file->private_data;
	struct gda_test_watched seen;
	struct gda_test_watch cmd;
	long ret = -ENOTTY;

	if (nr == GDA_TEST_WATCH && copy_from_user(&cmd, (void __user *)arg, sizeof(cmd)))
		return -EFAULT;
	mutex_lock(&watch->lock);
	if (nr == GDA_TEST_WATCH)
		ret = test_watch_begin(watch, &cmd);
	else if (nr == GDA_TEST_WATCHED)
		ret = test_watch_seen(watch, &seen);
	mutex_unlock(&watch->lock);
	if (!ret && nr == GDA_TEST_WATCHED && copy_to_user((void __user *)arg, &seen, sizeof(seen)))
		ret = -EFAULT;
	return ret;
}

static int test_watch_open(struct inode *inode, struct file *file)
{
	struct test_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL);

	if (!watch)
		return -ENOMEM;
	mutex_init(&watch->lock);
	file->private_data = watch;
	return 0;
}

static int test_watch_release(struct inode *inode, struct file *file)
{
	struct test_watch *watch = file->private_data;

	if (watch->eventfd) {
		remove_wait_queue(watch->queue, &watch->entry);
		fput(watch->eventfd);
	}
	mutex_destroy(&watch->lock);
	kfree(watch);
	return 0;
}

static const struct file_operations test_watch_fops = {
	.owner = THIS_MODULE,
	.open = test_watch_open,
	.release = test_watch_release,
	.unlocked_ioctl = test_watch_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

struct miscdevice test_watch_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gda_test_watch",
	.mode = 0600,
	.fops = &test_watch_fops,
};
