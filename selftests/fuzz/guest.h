/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The fuzzer of /dev/gda, in two parts: what an input means (guest.c), and which
 * inputs to try (guest_main.c).
 */
#ifndef GDA_FUZZ_GUEST_H
#define GDA_FUZZ_GUEST_H

#include <stddef.h>
#include <stdint.h>

#define GUEST_INPUT_MAX	512

/*
 * Carry an input out, in a process of its own that ends afterwards: whatever it had
 * open or mapped goes as it would for any program that is killed.
 */
void guest_run(const uint8_t *data, size_t size);

#endif /* GDA_FUZZ_GUEST_H */
