// SPDX-License-Identifier: MIT
/*
 * The order that the fast path and the executor owe each other, a function for each thread. They
 * are compiled for arm64 by the functions of gda/barrier.h and of the engine's hosts, and litmus.sh
 * gives the instructions to herd7, which tries every execution that the architecture allows.
 *
 * Of a test NAME the threads are NAME_0(), NAME_1()...; their parameters name words in memory, 0 at
 * first, and the same name is the same word. Above them stand
 *
 *	never: CONDITION	on those words at the end, which no execution may meet
 *	weaker: N FROM TO	one does if FROM is made TO in thread N (TO `-': left out): the
 *				order is there because of this instruction
 */
#include <gda_os.h>
#include <gda/barrier.h>

/*
 * gda_ring(): a queue entry is seen by the executor that sees the doorbell.
 *
 * never: saw_db=1 /\ saw=0
 * weaker: 0 stlr str
 * weaker: 1 ldar ldr
 */
void entry_0(uint64_t *entry, uint32_t *record, uint64_t *db)
{
	*entry = 1;
	gda_nic_store32(record, 1);
	gda_nic_store64(db, 1);
}

void entry_1(uint64_t *entry, uint64_t *db, uint64_t *saw_db, uint64_t *saw)
{
	*saw_db = smp_load_acquire(db);
	*saw = *entry;
}

/*
 * gda_ring(): so is the doorbell record.
 *
 * never: saw_db=1 /\ saw=0
 * weaker: 0 stlr str
 * weaker: 1 ldar ldr
 */
void record_0(uint32_t *record, uint64_t *db)
{
	gda_nic_store32(record, 1);
	gda_nic_store64(db, 1);
}

void record_1(uint32_t *record, uint64_t *db, uint64_t *saw_db, uint32_t *saw)
{
	*saw_db = smp_load_acquire(db);
	*saw = *record;
}

/*
 * gda_cqe_completed(): the bytes of a get are there for the poster that sees its completion.
 *
 * never: saw_cqe=1 /\ saw=0
 * weaker: 0 stlr str
 * weaker: 1 ldar ldr
 */
void completion_0(uint64_t *bytes, uint32_t *cqe)
{
	*bytes = 1;
	smp_store_release(cqe, 1);
}

void completion_1(uint64_t *bytes, uint32_t *cqe, uint32_t *saw_cqe, uint64_t *saw)
{
	*saw_cqe = gda_nic_load32(cqe);
	*saw = *bytes;
}

/*
 * A slot that is written again after its completion was seen is not what the executor had read.
 *
 * never: done=1 /\ read=2
 * weaker: 0 stlr str
 */
void reuse_0(uint64_t *entry, uint32_t *cqe, uint64_t *read)
{
	*read = *entry;
	smp_store_release(cqe, 1);
}

void reuse_1(uint64_t *entry, uint32_t *cqe, uint32_t *done)
{
	uint32_t seen = gda_nic_load32(cqe);

	*done = seen;
	if (seen)
		*entry = 2;
}

/*
 * gda_combine(): who has the combining role rings for others, whose entries the executor sees.
 *
 * never: saw_db=1 /\ saw=0
 * weaker: 0 swpal swpa
 */
void combine_0(uint64_t *entry, uint32_t *slot, uint32_t *old)
{
	*entry = 1;
	*old = gda_exchange32(slot, 1);
}

void combine_1(uint32_t *slot, uint64_t *db)
{
	if (gda_load_acquire32(slot) == 1)
		gda_nic_store64(db, 1);
}

void combine_2(uint64_t *entry, uint64_t *db, uint64_t *saw_db, uint64_t *saw)
{
	*saw_db = smp_load_acquire(db);
	*saw = *entry;
}

/*
 * gda_combine(): the role is left at slot 1. Its poster finds it there, and then rings for both.
 *
 * never: saw_db=2 /\ saw_first=0
 * weaker: 0 casal casa
 */
void handover_0(uint64_t *first, uint32_t *slot, uint32_t *left)
{
	*first = 1;
	*left = (uint32_t)gda_cas32(slot, 0, 2);
}

void handover_1(uint32_t *slot, uint64_t *db, uint32_t *old)
{
	*old = gda_exchange32(slot, 1);
	if (*old == 2)
		gda_nic_store64(db, 2);
}

void handover_2(uint64_t *first, uint64_t *db, uint64_t *saw_db, uint64_t *saw_first)
{
	*saw_db = smp_load_acquire(db);
	*saw_first = *first;
}

/*
 * gda_cpu_publish(): the role cannot be lost. Either it is left at a slot that is not ready, and
 * the poster of that slot gets it; or the slot was ready, and the walk goes on.
 *
 * never: (left=1 /\ old=0) \/ (left=0 /\ old=2)
 */
void role_0(uint32_t *slot, uint32_t *left)
{
	*left = (uint32_t)gda_cas32(slot, 0, 2);
}

void role_1(uint32_t *slot, uint32_t *old)
{
	*old = gda_exchange32(slot, 1);
}

/*
 * gda_poll_completed(): what one thread has seen complete is complete, bytes and all, for another
 * that reads the index it stored.
 *
 * never: saw_index=1 /\ saw=0
 * weaker: 0 stlr str
 * weaker: 2 ldar ldr
 */
void index_0(uint64_t *bytes, uint32_t *cqe)
{
	*bytes = 1;
	smp_store_release(cqe, 1);
}

void index_1(uint32_t *cqe, uint64_t *completed)
{
	if (gda_nic_load32(cqe) == 1)
		gda_store_release64(completed, 1);
}

void index_2(uint64_t *bytes, uint64_t *completed, uint64_t *saw_index, uint64_t *saw)
{
	*saw_index = gda_load_acquire64(completed);
	*saw = *bytes;
}

/*
 * gda_cqe_note_error(): who sees that a queue has failed sees why.
 *
 * never: saw_failed=1 /\ saw_why=0
 * weaker: 0 stlr str
 * weaker: 1 ldar ldr
 */
void error_0(uint64_t *why, uint64_t *failed)
{
	gda_store_relaxed64(why, 1);
	gda_store_release64(failed, 1);
}

void error_1(uint64_t *why, uint64_t *failed, uint64_t *saw_failed, uint64_t *saw_why)
{
	*saw_failed = gda_load_acquire64(failed);
	*saw_why = gda_load_relaxed64(why);
}

/*
 * The engine: a word that is put behind bytes is seen behind them.
 *
 * never: saw_word=1 /\ saw=0
 * weaker: 0 dmb -
 * weaker: 1 ldar ldr
 */
void word_0(uint64_t *bytes, uint64_t *word)
{
	*bytes = 1;
	smp_wmb();
	WRITE_ONCE(*word, 1);
}

void word_1(uint64_t *bytes, uint64_t *word, uint64_t *saw_word, uint64_t *saw)
{
	*saw_word = gda_nic_load64(word);
	*saw = *bytes;
}

/*
 * gda_add64(): who sees a counter's sum sees what was done before it was raised.
 *
 * never: saw_sum=1 /\ saw=0
 * weaker: 0 ldaddl ldadd
 * weaker: 1 ldar ldr
 */
void counter_0(uint64_t *bytes, uint64_t *sum)
{
	*bytes = 1;
	gda_add64(sum, 1);
}

void counter_1(uint64_t *bytes, uint64_t *sum, uint64_t *saw_sum, uint64_t *saw)
{
	*saw_sum = gda_load_acquire64(sum);
	*saw = *bytes;
}

/*
 * gda_inproc_sync(): a helper that takes its seat sees that a queue was unlinked, or the thread
 * that unlinks it sees the seat taken and waits.
 *
 * never: linked=0 /\ seen=0
 * weaker: 0 dmb -
 * weaker: 1 dmb -
 */
void seat_0(uint64_t *unlinked, uint64_t *seat, uint64_t *seen)
{
	WRITE_ONCE(*unlinked, 1);
	smp_mb();
	*seen = READ_ONCE(*seat);
}

void seat_1(uint64_t *unlinked, uint64_t *seat, uint64_t *linked)
{
	WRITE_ONCE(*seat, 1);
	smp_mb();
	*linked = READ_ONCE(*unlinked);
}
