// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Every way to store a doorbell rings it, when its page is silent (SECURITY.md E3). On x86-64 the
 * fault decodes a MOV of 4 or 8 bytes to memory, of a register or an immediate, makes the store and
 * serves the queue; netlink counts that (GDA_A_CONTEXT_FAULT_VISITS). All other stores wake the
 * worker, as each does on other processors.
 */
#include "gda_fixture.h"
#include "nl.h"

FIXTURE(stores) {
	struct t_end end[2];
	struct t_nl nl;
	uint32_t id;			/* of the first end's context */
};

T_SETUP(stores)
{
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_pair_open(self->end, 256, T_PAGE));
	self->id = t_nl_my_context(&self->nl) - 1;
}

T_TEARDOWN(stores)
{
	t_pair_close(self->end);
	t_nl_close(&self->nl);
}

struct way {
	const char *name;
	bool decoded;
	void (*store)(volatile __be64 *db, __be64 value);
};

static void by_atomic(volatile __be64 *db, __be64 value)
{
	__atomic_store_n(db, value, __ATOMIC_RELEASE);
}

/* Of the index, only the lower byte has changed. */
static void by_byte(volatile __be64 *db, __be64 value)
{
	((volatile uint8_t *)db)[2] = ((const uint8_t *)&value)[2];
}

static void by_exchange(volatile __be64 *db, __be64 value)
{
	__atomic_exchange_n(db, value, __ATOMIC_ACQ_REL);
}

static void by_memcpy(volatile __be64 *db, __be64 value)
{
	uint8_t line[64] = { 0 };

	memcpy(line, &value, sizeof(value));
	memcpy((void *)(uintptr_t)db, line, sizeof(line));
}

#ifdef __x86_64__
/* @insn stores @val with @base as the doorbell's address, moved by what the operand adds. */
#define WAY(name, shift, insn, ...)						\
static void by_##name(volatile __be64 *db, __be64 value)			\
{										\
	uintptr_t base = (uintptr_t)db - (uintptr_t)(shift);			\
										\
	asm volatile(insn : : [base] "r"(base), [val] "r"(value) : "memory",	\
		     ##__VA_ARGS__);						\
}

WAY(base, 0, "movq %[val], (%[base])")
WAY(disp8, 0x40, "movq %[val], 0x40(%[base])")
WAY(disp8_negative, -0x80, "movq %[val], -0x80(%[base])")
WAY(disp32, 0x12345678, "movq %[val], 0x12345678(%[base])")
WAY(half, 0, "movl %k[val], (%[base])")
WAY(r8, 0, "movq %[val], %%r8; movq %[base], %%r9; movq %%r8, (%%r9)", "r8", "r9")
WAY(r12, 0, "movq %[val], %%r11; movq %[base], %%r12; movq %%r11, (%%r12)", "r11", "r12")
WAY(r13, 0, "movq %[val], %%r14; movq %[base], %%r13; movq %%r14, (%%r13)", "r13", "r14")
WAY(rbx, 0, "movq %[val], %%rbx; movq %[base], %%rdi; movq %%rbx, (%%rdi)", "rbx", "rdi")
WAY(rsi, 0, "movq %[val], %%rsi; movq %[base], %%rdx; movq %%rsi, (%%rdx)", "rsi", "rdx")
WAY(rcx, 0, "movq %[val], %%rcx; movq %[base], %%rax; movq %%rcx, (%%rax)", "rax", "rcx")
WAY(r15, 0, "movq %[val], %%r15; movq %[base], %%r10; movl %%r15d, (%%r10)", "r15", "r10")
WAY(index, 24, "movq $3, %%rcx; movq %[val], (%[base],%%rcx,8)", "rcx")
WAY(index_disp8, 40, "movq $3, %%rcx; movq %[val], 16(%[base],%%rcx,8)", "rcx")
WAY(index_disp32, 0x1008, "movq $2, %%r9; movq %[val], 0x1000(%[base],%%r9,4)", "r9")
WAY(no_base, 0x100, "movq %[base], %%rcx; movq %[val], 0x100(,%%rcx,1)", "rcx")
WAY(rsp_base, 0, "movq %%rsp, %%r8; movq %[base], %%r9; xchgq %%r9, %%rsp; movq %[val], (%%rsp);"
		 "movq %%r8, %%rsp", "r8", "r9")
WAY(xmm, 0, "movq %[val], %%xmm0; movq %%xmm0, (%[base])", "xmm0")
WAY(movnti, 0, "movnti %[val], (%[base]); sfence")
WAY(push, 0, "movq %%rsp, %%r8; leaq 8(%[base]), %%rsp; pushq %[val]; movq %%r8, %%rsp", "r8")
WAY(stosq, 0, "movq %[base], %%rdi; movq %[val], %%rax; stosq", "rdi", "rax")
WAY(cmpxchg, 0, "movq (%[base]), %%rax; lock cmpxchgq %[val], (%[base])", "rax", "cc")
WAY(segment, 0, ".byte 0x3e; movq %[val], (%[base])")
WAY(word, 0, "movq %[val], %%rcx; shrq $16, %%rcx; movw %%cx, 2(%[base])", "rcx", "cc")
WAY(unaligned, 0, "movq %[val], %%rcx; shrq $8, %%rcx; movl %%ecx, 1(%[base])", "rcx", "cc")

/*
 * MOV of an immediate to (%rdi), in a page of its own: long, as the lower half of @value, or at
 * the very end of memory that can be read.
 */
static void by_text(volatile __be64 *db, __be64 value, bool at_end)
{
	uint8_t code[] = { 0xc7, 0x07, 0, 0, 0, 0, 0xc3 };
	uint8_t *text = mmap(NULL, 2 * T_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = text + (at_end ? T_PAGE - sizeof(code) : 0);
	void (*run)(volatile __be64 *db);

	if (text == MAP_FAILED)
		return;
	memcpy(code + 2, &value, 4);
	memcpy(at, code, sizeof(code));
	munmap(text + T_PAGE, T_PAGE);
	mprotect(text, T_PAGE, PROT_READ | PROT_EXEC);
	memcpy(&run, &at, sizeof(run));
	run(db);
	munmap(text, T_PAGE);
}

static void by_immediate(volatile __be64 *db, __be64 value)
{
	by_text(db, value, false);
}

static void by_last_bytes(volatile __be64 *db, __be64 value)
{
	by_text(db, value, true);
}

#define IS(name)	{ #name, true, by_##name }
#define IS_NOT(name)	{ #name, false, by_##name }

static const struct way ways[] = {
	IS(atomic), IS(base), IS(disp8), IS(disp8_negative), IS(disp32), IS(half), IS(r8), IS(r12),
	IS(r13), IS(rbx), IS(rsi), IS(rcx), IS(r15), IS(index), IS(index_disp8), IS(index_disp32),
	IS(no_base), IS(rsp_base), IS(immediate), IS(last_bytes),
	IS_NOT(byte), IS_NOT(word), IS_NOT(unaligned), IS_NOT(exchange), IS_NOT(memcpy),
	IS_NOT(xmm),
	IS_NOT(movnti), IS_NOT(push), IS_NOT(stosq), IS_NOT(cmpxchg), IS_NOT(segment),
};
#else
static const struct way ways[] = {
	{ "atomic", false, by_atomic }, { "byte", false, by_byte },
	{ "exchange", false, by_exchange }, { "memcpy", false, by_memcpy },
};
#endif

/* Post @wr, write the record, and ring this way. */
static uint64_t post_by(struct t_qp *qp, const struct t_wr *wr, const struct way *way)
{
	uint64_t index = t_post(qp, wr);

	__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(qp->next), __ATOMIC_RELEASE);
	way->store(qp->db, gda_mlx5_doorbell(qp->next, qp->qpc.qpn));
	return index;
}

static uint64_t visits(FIXTURE_DATA(stores) *self)
{
	return t_nl_context(&self->nl, self->id, GDA_A_CONTEXT_FAULT_VISITS);
}

static uint64_t wakeups(FIXTURE_DATA(stores) *self)
{
	return t_nl_context(&self->nl, self->id, GDA_A_CONTEXT_WORKER_WAKEUPS);
}

/* Every way rings, stores what it is to store, and those that are decoded wake no worker. */
TEST_F(stores, E3_every_store_rings)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;

	/* the bytes that some ways leave out */
	ASSERT_OK(t_run(qp, &nop, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		bool served = !ways[i].decoded;
		uint64_t before, woken, index;

		/*
		 * Where the worker happens to look, it serves the queue: that says nothing of the store.
		 * On a busy machine this may go on for some time, so each pause is longer than the last.
		 */
		for (int tries = 0; tries < 10 && (!served || !tries); tries++) {
			ASSERT_TRUE(t_nl_asleep(&self->nl, self->id));
			/* posts that come soon one after the other have the worker poll */
			usleep(2000U << tries);
			before = visits(self);
			woken = wakeups(self);
			index = post_by(qp, &nop, &ways[i]);
			ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("%s", ways[i].name);
			EXPECT_EQ(gda_mlx5_doorbell(qp->next, qp->qpc.qpn), *qp->db) {
				TH_LOG("%s", ways[i].name);
			}
			if (ways[i].decoded)
				served = visits(self) == before + 1 && wakeups(self) == woken;
			else
				served = visits(self) == before;
		}
		EXPECT_TRUE(served) TH_LOG("%s", ways[i].name);
	}
}

/* The upper half of such a store is the first of the page: it faults there, and all of it is made. */
TEST_F(stores, E3_a_store_that_begins_before_the_page)
{
	uint8_t *area = mmap(NULL, 2 * T_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	uintptr_t db = (uintptr_t)qp->db;
	uint32_t first, lower, upper = 0x1234567;
	volatile uint64_t *at;
	uint8_t *page;

	ASSERT_OK(t_run(qp, &nop, NULL));
	ASSERT_NE(MAP_FAILED, area);
	memset(area, 0, T_PAGE);
	page = mremap((uint8_t *)qp->db - db % T_PAGE, T_PAGE, T_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      area + T_PAGE);
	ASSERT_EQ(area + T_PAGE, page);
	qp->db = (void *)(page + db % T_PAGE);
	ASSERT_TRUE(t_nl_asleep(&self->nl, self->id));
	usleep(2000);
	memcpy(&first, page, sizeof(first));
	ASSERT_TRUE(t_nl_asleep(&self->nl, self->id));
	at = (volatile uint64_t *)(page - 4);
	*at = (uint64_t)first << 32 | upper;
	memcpy(&lower, page, sizeof(lower));
	EXPECT_EQ(first, lower);
	memcpy(&lower, page - 4, sizeof(lower));
	EXPECT_EQ(upper, lower);
	EXPECT_OK(t_run(qp, &nop, NULL));
	munmap(area, (size_t)2 * T_PAGE);
}

TEST_HARNESS_MAIN
