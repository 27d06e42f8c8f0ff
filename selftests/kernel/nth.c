// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fault injection into what the caller asks of the kernel: /proc/self/fail-nth.
 */
#include <sys/rseq.h>
#include <sys/syscall.h>
#include "gda_test.h"
#include "nth.h"

static int nth_fd = -1;

static int debugfs_set(const char *attr, const char *value)
{
	return t_write_file("/sys/kernel/debug", attr, value);
}

/* Any allocation and any copy can fail, and no word about it. */
int nth_open(void)
{
	static const char *const quiet[] = {
		"failslab/verbose", "fail_page_alloc/verbose", "fail_usercopy/verbose",
		"fail_function/verbose", "fail_futex/verbose",
	};
	const char *verbose = getenv("GDA_FAIL_VERBOSE");

	if (debugfs_set("failslab/ignore-gfp-wait", "N") ||
	    debugfs_set("fail_page_alloc/ignore-gfp-wait", "N") ||
	    debugfs_set("fail_page_alloc/ignore-gfp-highmem", "N") ||
	    debugfs_set("fail_page_alloc/min-order", "0"))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		debugfs_set(quiet[i], verbose ? verbose : "0");
	nth_fd = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	return nth_fd < 0 ? -errno : 0;
}

int nth_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth_fd, text, (size_t)len, 0) == len ? 0 : -errno;
}

/* Return: whether something was failed since nth_arm(). */
bool nth_disarm(void)
{
	char text[16] = "";
	bool fired = true;

	/* A failure that is still due may hit these calls: then it had not fired before. */
	if (pread(nth_fd, text, sizeof(text) - 1, 0) < 0 || strtoul(text, NULL, 0))
		fired = false;
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	return fired;
}

bool nth_expected(struct nth_tally *t, int err)
{
	if (err != -ENOMEM && err != -EFAULT && err != -EAGAIN && err != -EINTR)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!t->errnos[i])
			t->errnos[i] = err;
		if (t->errnos[i] == err)
			return true;
	}
	return false;
}

/* Set the sysctl, unless @value is negative. Return: what it was. */
int nth_panic_on_warn(int value)
{
	FILE *f = fopen("/proc/sys/kernel/panic_on_warn", "r+");
	int old = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &old) != 1)
		old = -1;
	if (value >= 0) {
		rewind(f);
		fprintf(f, "%d\n", value);
	}
	fclose(f);
	return old;
}

/*
 * If a task is preempted while a copy is to fail, the kernel's own read of the task's rseq
 * may be the copy that fails, and the task gets SIGSEGV. So do without rseq.
 */
static void rseq_off(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (__rseq_size)
		syscall(SYS_rseq, area, sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

void nth_begin(void)
{
	rseq_off();
	/* Running out of memory on purpose: the core says so, and where. */
	printf("# dmesg: Call Trace:|vmalloc error: size|");
	printf("WARNING: .* (dma_buf_vmap|event_|jump_label_)|");
	printf("gda_soft: (really_probe: driver_sysfs_add failed|probe .*failed with error -12)|");
	printf("gda_(mr|test): Unknown symbol [a-z_]+ \\(err -12\\)\n");
}
