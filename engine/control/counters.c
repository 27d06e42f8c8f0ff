// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Creation of counters: checks, and words in memory of the caller (counters.h). */
#include "access.h"
#include "counters.h"

#define GDA_COUNTER_MEMORY	(GDA_COUNTER_VALUE_MEMORY | GDA_COUNTER_ERRORS_MEMORY)
#define GDA_COUNT_ALL		(GDA_COUNT_READ | GDA_COUNT_WRITE | GDA_COUNT_REMOTE_WRITE)

static bool gda_control_is_blank(const struct gda_counter_memory *at)
{
	return !at->addr && !at->key;
}

/* Return: whether both words are in the same bytes of one MR. */
static bool gda_control_words_overlap(const struct gda_counter_create *cmd)
{
	u64 apart = cmd->value_memory.addr - cmd->errors_memory.addr;

	return (cmd->flags & GDA_COUNTER_MEMORY) == GDA_COUNTER_MEMORY &&
	       cmd->value_memory.key == cmd->errors_memory.key &&
	       (apart < sizeof(u64) || -apart < sizeof(u64));
}

int gda_control_check_counter(const struct gda_counter_create *cmd, u64 features)
{
	u64 needs = GDA_FEATURE_COUNTER;

	if (cmd->flags || cmd->ops || cmd->first_value || cmd->first_errors)
		needs |= GDA_FEATURE_COUNTER_MEMORY;
	if (needs & ~features || cmd->ops & ~GDA_COUNT_ALL)
		return -EOPNOTSUPP;
	if (!(cmd->flags & GDA_COUNTER_VALUE_MEMORY) && !gda_control_is_blank(&cmd->value_memory))
		return -EINVAL;
	if (!(cmd->flags & GDA_COUNTER_ERRORS_MEMORY) &&
	    !gda_control_is_blank(&cmd->errors_memory))
		return -EINVAL;
	if (cmd->flags & GDA_COUNTER_WRAP31 && !(cmd->flags & GDA_COUNTER_MEMORY))
		return -EINVAL;
	return gda_control_words_overlap(cmd) ? -EINVAL : 0;
}

static int gda_control_word_error(u8 cause)
{
	switch (cause) {
	case GDA_CAUSE_NONE:
		return 0;
	case GDA_CAUSE_RIGHTS:
		return -EACCES;
	case GDA_CAUSE_RANGE:
		return -EINVAL;
	case GDA_ACCESS_NO_CPU:
		return -EOPNOTSUPP;
	default:
		return -ENOENT;
	}
}

/* Return: 0, and *@word is in the memory; or why it cannot be used. */
static int gda_control_find_word(const struct gda_engine_counter *c, const struct gda_sge *at,
				 u64 **word)
{
	const struct gda_mem *mem = gda_host_find_mem(c->pd, at->key);
	int err = gda_control_word_error(gda_access_check(mem, c->pd, at, GDA_ACCESS_LOCAL_WRITE));
	void *ptr;
	u32 n;

	if (err)
		return err;
	n = gda_host_span(mem, at->addr - mem->iova, sizeof(u64), &ptr);
	if (!n)
		return -EOPNOTSUPP;
	/* a word that two pages share is not aligned, either */
	if (n != sizeof(u64) || (uintptr_t)ptr % sizeof(u64))
		return -EINVAL;
	*word = ptr;
	return 0;
}

static void gda_control_set_word(struct gda_engine_counter *c, u32 i,
				 const struct gda_counter_memory *at, u64 first)
{
	const struct gda_sge sge = { .addr = at->addr, .len = sizeof(u64), .key = at->key };

	c->word[i] = sge;
	c->stored[i] = first;
}

int gda_control_init_counter(struct gda_engine_counter *c, struct gda_counter_mem *mem,
			     const struct gda_counter_create *cmd, void *ctx)
{
	u64 *word[GDA_COUNTER_WORDS];
	int err = 0;
	u32 i;

	memset(c, 0, sizeof(*c));
	c->mem = mem;
	c->pd = ctx;
	c->ops = cmd->ops;
	c->wrap = cmd->flags & GDA_COUNTER_WRAP31;
	if (cmd->flags & GDA_COUNTER_VALUE_MEMORY)
		gda_control_set_word(c, GDA_COUNTER_VALUE, &cmd->value_memory, cmd->first_value);
	if (cmd->flags & GDA_COUNTER_ERRORS_MEMORY)
		gda_control_set_word(c, GDA_COUNTER_ERRORS, &cmd->errors_memory,
				     cmd->first_errors);
	for (i = 0; i < GDA_COUNTER_WORDS && !err; i++)
		if (c->word[i].len)
			err = gda_control_find_word(c, &c->word[i], &word[i]);
	if (err)
		return err;
	mem->value = cmd->first_value;
	mem->errors = cmd->first_errors;
	for (i = 0; i < GDA_COUNTER_WORDS; i++)
		if (c->word[i].len)
			gda_counter_put(c, word[i], c->stored[i]);
	return 0;
}
