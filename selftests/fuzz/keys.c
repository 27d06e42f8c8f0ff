// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of keys as libgda has it, by itself and under registrations of two contexts,
 * against models: which number comes next, at the wrap of 24 bits, too, who is found by
 * a number, and whom a guessed, stale or neighbouring key names, in which domain.
 */
#include "fuzz.h"
#include "inproc.h"
#include "access.h"

#define NUMBERS	(GDA_INPROC_LEAF * GDA_INPROC_LEAVES)
#define LIVE	(3 * GDA_INPROC_LEAF)
#define MRS	32U
#define STALE	16U
#define STEPS	96

/* --- the table by itself --- */

static struct gda_inproc_table table;
static uint64_t value[NUMBERS];		/* 0: free, RESERVED, or what was published */
static uint32_t live[LIVE], nlive;	/* numbers that are not free, in no order */
static uint32_t in_leaf[GDA_INPROC_LEAVES];
static uint32_t stale[STALE], nstale;
static uint64_t serial;

#define RESERVED	1U

MODEL static void look(uint32_t index)
{
	uint64_t want = value[index] == RESERVED ? 0 : value[index];

	HOLDS((uintptr_t)gda_inproc_table_find(&table, index) == want);
}

/* Never twice the same: who is found was published last. */
MODEL static void publish(uint32_t index)
{
	serial += 2;
	value[index] = serial << 24 | index;
	gda_inproc_table_publish(&table, index, (void *)(uintptr_t)value[index]);
	look(index);
}

MODEL static void reserve(bool found)
{
	uint32_t want = table.next % NUMBERS, got;

	if (nlive == LIVE)
		return;
	while (!want || value[want])
		want = (want + 1) % NUMBERS;
	HOLDS(!gda_inproc_table_reserve(&table, &got));
	HOLDS(got == want && table.next == want + 1);
	value[got] = RESERVED;
	live[nlive++] = got;
	in_leaf[got / GDA_INPROC_LEAF]++;
	look(got);
	if (found)
		publish(got);
}

MODEL static void erase(uint32_t n)
{
	uint32_t index = live[n], leaf = index / GDA_INPROC_LEAF;
	void *dead = gda_inproc_table_erase(&table, index);

	live[n] = live[--nlive];
	value[index] = 0;
	stale[nstale++ % STALE] = index;
	/* a leaf without numbers is given up, and is its caller's to free */
	HOLDS(!dead == (--in_leaf[leaf] != 0));
	HOLDS(!dead == !!table.leaf[leaf]);
	free(dead);
	look(index);
}

/* Before an edge: of a leaf, of all numbers; or anywhere. As if others came and went. */
static uint32_t jump(struct input *in)
{
	uint8_t v = take8(in);
	uint32_t back = v >> 2;

	switch (v & 3) {
	case 0:
		return NUMBERS - back;
	case 1:
		return (take8(in) + 1) * GDA_INPROC_LEAF - back;
	case 2:
		return take32(in) % NUMBERS;
	default:
		return back;
	}
}

/* A number near one that is or was in use, or any. */
static uint32_t some_number(struct input *in)
{
	uint8_t v = take8(in);
	uint32_t of = nlive ? live[take32(in) % nlive] : 0;

	switch (v & 3) {
	case 0:
		return of;
	case 1:
		return of ^ 1U << (v >> 2) % 24;
	case 2:
		return stale[(v >> 2) % STALE];
	default:
		return take32(in) >> 8;
	}
}

/* A few; seldom more than there are in a leaf. */
static uint32_t how_many(struct input *in)
{
	uint8_t v = take8(in);

	return v < 250 ? v % 32 : GDA_INPROC_LEAF + v;
}

static void table_step(struct input *in, uint8_t what)
{
	uint32_t n;

	switch (what & 7) {
	case 0:
		reserve(false);
		break;
	case 1:
		reserve(true);
		break;
	case 2:
		n = nlive ? live[take8(in) % nlive] : 0;
		if (n)
			publish(n);
		break;
	case 3:
		if (nlive)
			erase(take32(in) % nlive);
		break;
	case 4:
		table.next = jump(in);
		break;
	case 5:
		for (n = how_many(in); n; n--)
			reserve(what & 8);
		break;
	case 6:
		for (n = how_many(in); n && nlive; n--)
			erase(nlive - 1);
		break;
	default:
		look(some_number(in));
	}
}

MODEL static void table_empty(void)
{
	while (nlive)
		erase(nlive - 1);
	for (uint32_t i = 0; i < GDA_INPROC_LEAVES; i++)
		HOLDS(!table.leaf[i]);
	table.next = 0;
}

/* --- under registrations --- */

static struct mr {
	uint32_t key, handle, owner, access;
} mrs[MRS];

static uint32_t nmrs, dead_keys[STALE], ndead;
static struct gda_context *ctx[2];

MODEL static bool taken(uint32_t index)
{
	for (uint32_t i = 0; i < nmrs; i++)
		if (mrs[i].key >> 8 == index)
			return true;
	return !index;
}

/* Memory that no CPU reaches: nobody looks whether it is there, and there is none. */
static void reg(uint8_t what)
{
	struct gda_mr_reg_user cmd = { .size = sizeof(cmd), .addr = 1U << 16, .length = 64 };
	uint32_t want = gda_inproc.keys.next % NUMBERS, owner = what >> 3 & 1;

	if (nmrs == MRS)
		return;
	while (taken(want))
		want = (want + 1) % NUMBERS;
	cmd.access = (what >> 4 & GDA_ACCESS_ALL) | GDA_ACCESS_LOCAL_WRITE;
	HOLDS(!gda_inproc_mr_reg_no_cpu(ctx[owner]->device, &cmd, NULL));
	HOLDS(cmd.key >> 8 == want);
	mrs[nmrs++] = (struct mr) { cmd.key, cmd.handle, owner, cmd.access };
}

static void dereg(uint32_t n)
{
	struct mr mr = mrs[n];

	HOLDS(!gda_destroy_handle(ctx[mr.owner], mr.handle));
	HOLDS(!gda_host_mem(NULL, mr.key));
	mrs[n] = mrs[--nmrs];
	dead_keys[ndead++ % STALE] = mr.key;
}

/* Compare the engine's answer on a key in each domain with the model's. */
static void use(uint32_t key)
{
	const struct gda_sge range = { .addr = 1U << 16, .len = 64, .key = key };

	for (uint32_t owner = 0; owner < 2; owner++) {
		u8 want = GDA_MLX5_VENDOR_KEY;

		for (uint32_t i = 0; i < nmrs; i++)
			if (mrs[i].key == key && mrs[i].owner == owner)
				want = GDA_ACCESS_NO_CPU;
		HOLDS(gda_access_check(gda_host_mem(NULL, key), ctx[owner]->device, &range,
				       0) == want);
	}
}

/* One that is known, one bit of it or its index changed; one that was; any. */
static uint32_t some_key(struct input *in)
{
	uint8_t v = take8(in);
	uint32_t of = nmrs ? mrs[take8(in) % nmrs].key : take32(in);

	switch (v & 7) {
	case 0:
		return of;
	case 1:
	case 2:
		return of ^ 1U << (v >> 3);
	case 3:
		return of + 0x100;
	case 4:
		return of - 0x100;
	case 5:
	case 6:
		return dead_keys[(v >> 3) % STALE];
	default:
		return take32(in);
	}
}

static void mr_step(struct input *in, uint8_t what)
{
	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		reg(what);
		break;
	case 3:
		if (nmrs)
			dereg(take8(in) % nmrs);
		break;
	case 4:
		gda_inproc.keys.next = jump(in);
		break;
	default:
		use(some_key(in));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	for (int i = 0; i < 2 && !ctx[i]; i++)
		HOLDS(!gda_open(GDA_DEVICE_INPROC, &ctx[i]));
	gda_inproc.keys.next = 1;
	for (int i = 0; i < STEPS && in.left; i++) {
		uint8_t what = take8(&in);

		if (what & 0x80)
			mr_step(&in, what);
		else
			table_step(&in, what);
	}
	table_empty();
	while (nmrs)
		dereg(nmrs - 1);
	memset(stale, 0, sizeof(stale));
	memset(dead_keys, 0, sizeof(dead_keys));
	nstale = 0;
	ndead = 0;
	return 0;
}
