/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The fuzzer of /dev/gda, in three parts: what an input means (guest.c, guest_buffer.c),
 * and which inputs to try (guest_main.c).
 */
#ifndef GDA_FUZZ_GUEST_H
#define GDA_FUZZ_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel/gda_test.h"

#define GUEST_INPUT_MAX	512

/*
 * Carry an input out, in a process of its own that ends afterwards: whatever it had
 * open or mapped goes as it would for any program that is killed.
 */
void guest_run(const uint8_t *data, size_t size);

/*
 * @len bytes of udmabuf, the heap, gda_test (dma-bufs) or a GPU, by @kind modulo 4: a
 * file descriptor, or -errno. A GPU's memory is mapped, to *@at.
 */
int guest_buffer(unsigned int kind, size_t len, void **at);
/* Take away memory of gda_test's, for good or not. Return: whether none of it changed. */
bool guest_move(int fd, bool gone);
/* A QP of context @fd that lies in dma-buf @buf, mapped, connected to itself. */
int guest_lend(int fd, int buf, uint32_t depth, struct t_qp *to);

#endif /* GDA_FUZZ_GUEST_H */
