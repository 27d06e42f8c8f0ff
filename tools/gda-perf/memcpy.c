// SPDX-License-Identifier: MIT
/*
 * The cost of copying without a queue: memcpy() of this process, between the same blocks as puts,
 * and the kernel's memcpy(). The latter is measured by a BPF program that updates an element of an
 * array map, which is little more than a memcpy() in the kernel; BPF_PROG_TEST_RUN repeats it and
 * returns the mean time.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "perf.h"

static char *from, *to;

/* Hides from the compiler that all iterations are the same. */
static __attribute__((noinline)) void perf_copies(size_t bytes, unsigned int n)
{
	while (n--) {
		memcpy(to, from, bytes);
		__asm__ __volatile__("" : : : "memory");
	}
}

static int perf_memcpy_user(struct perf_row *row, struct perf_sample *s)
{
	unsigned int some = 1 + (1U << 18) / row->bytes;
	uint64_t begin, now, end, n = 0;

	perf_copies(row->bytes, some);
	begin = gda_clock_ns();
	end = begin + perf_options.ms * 1000000ULL;
	do {
		perf_copies(row->bytes, some);
		n += some;
		now = gda_clock_ns();
	} while (now < end);
	s->value = (double)n * row->bytes / (double)(now - begin);
	return 0;
}

static int perf_bpf(int cmd, union bpf_attr *attr)
{
	int ret = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

/* Create an array map with one element of @bytes. */
static int perf_bpf_array(uint32_t bytes)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = bytes,
		.max_entries = 1,
	};

	return perf_bpf(BPF_MAP_CREATE, &attr);
}

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOVI(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADDI(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define MAP(d, fd)	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd)
#define MAP_END		INSN(0, 0, 0, 0, 0)

/* target[0] = source[0] */
static int perf_bpf_program(int target, int source)
{
	const struct bpf_insn code[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		MAP(BPF_REG_1, source), MAP_END,
		MOV(BPF_REG_2, BPF_REG_10),
		ADDI(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 7, 0),
		MOV(BPF_REG_3, BPF_REG_0),
		MAP(BPF_REG_1, target), MAP_END,
		MOV(BPF_REG_2, BPF_REG_10),
		ADDI(BPF_REG_2, -4),
		MOVI(BPF_REG_4, 0),
		CALL(BPF_FUNC_map_update_elem),
		MOVI(BPF_REG_0, 2 /* XDP_PASS */),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.insns = (uint64_t)(uintptr_t)code,
		.license = (uint64_t)(uintptr_t)"GPL",
	};

	return perf_bpf(BPF_PROG_LOAD, &attr);
}

/* Return: ns per run, of @repeat runs; or a negative errno. */
static long perf_bpf_run(int prog, uint32_t repeat)
{
	static char packet[64];
	union bpf_attr attr = { .test = {
		.prog_fd = (uint32_t)prog,
		.repeat = repeat,
		.data_in = (uint64_t)(uintptr_t)packet,
		.data_size_in = sizeof(packet),
	} };
	int err = perf_bpf(BPF_PROG_TEST_RUN, &attr);

	return err < 0 ? err : (long)attr.test.duration;
}

static int perf_memcpy_kernel_run(int prog, uint32_t bytes, struct perf_sample *s)
{
	long ns = perf_bpf_run(prog, 16);

	if (ns <= 0)
		return ns ? (int)ns : -ENODATA;
	ns = perf_bpf_run(prog, (uint32_t)(perf_options.ms * 1000000L / ns) + 16);
	if (ns <= 0)
		return ns ? (int)ns : -ENODATA;
	s->value = (double)bytes / (double)ns;
	return 0;
}

static int perf_memcpy_kernel(struct perf_row *row, struct perf_sample *s)
{
	int source = perf_bpf_array(row->bytes), target = perf_bpf_array(row->bytes);
	int prog = source < 0 || target < 0 ? -EPERM : perf_bpf_program(target, source);
	int err = prog;

	if (prog >= 0) {
		err = perf_memcpy_kernel_run(prog, row->bytes, s);
		close(prog);
	}
	if (source >= 0)
		close(source);
	if (target >= 0)
		close(target);
	return err ? perf_missing(row, "needs root and BPF: %s", strerror(-err)) : 0;
}

void perf_memcpy_plan(void)
{
	from = perf_memory();
	to = perf_memory();
	for (unsigned int i = 0; i < perf_options.nsizes; i++) {
		uint32_t bytes = perf_options.sizes[i];

		perf_row_add(PERF_BW, "memcpy_user", "memcpy, user space", bytes,
			     perf_memcpy_user, 0);
		perf_row_add(PERF_BW, "memcpy_kernel", "memcpy, kernel", bytes,
			     perf_memcpy_kernel, 0);
	}
}
