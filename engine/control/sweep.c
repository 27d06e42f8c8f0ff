// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The sweep over busy and idle queues (sweep.h). */
#include "sweep.h"

void gda_sweep_begin(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 words, bool all)
{
	pass->words = words;
	pass->word = 0;
	pass->left = s->busy[0] & READ_ONCE(s->used[0]);
	pass->idle = 0;
	pass->all = all;
	if (all)
		s->cursor = 0;
}

/* The sweep has passed the last queue: queues without work in this sweep become idle. */
static void gda_sweep_end(struct gda_sweep *s, u32 words)
{
	u32 i;

	s->cursor = 0;
	for (i = 0; i < words; i++) {
		s->busy[i] = s->fresh[i];
		s->fresh[i] = 0;
	}
}

static bool gda_sweep_next_idle(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 *i)
{
	u32 word;

	for (word = s->cursor / GDA_SWEEP_WORD; word < pass->words; word++) {
		unsigned long from = ~0UL << s->cursor % GDA_SWEEP_WORD;
		unsigned long idle = READ_ONCE(s->used[word]) & ~s->busy[word] & from;

		if (idle && !pass->idle && !pass->all)
			return false;
		if (idle) {
			pass->idle--;
			*i = word * GDA_SWEEP_WORD + (u32)__builtin_ctzl(idle);
			s->cursor = *i + 1;
			return true;
		}
		s->cursor = (word + 1) * GDA_SWEEP_WORD;
	}
	gda_sweep_end(s, pass->words);
	return false;
}

bool gda_sweep_next(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 *i)
{
	while (pass->word < pass->words) {
		if (pass->left) {
			*i = pass->word * GDA_SWEEP_WORD + (u32)__builtin_ctzl(pass->left);
			pass->left &= pass->left - 1;
			pass->idle += GDA_SWEEP_IDLE;
			return true;
		}
		if (++pass->word < pass->words)
			pass->left = s->busy[pass->word] & READ_ONCE(s->used[pass->word]);
		else if (!pass->idle)
			pass->idle = GDA_SWEEP_IDLE;
	}
	return gda_sweep_next_idle(s, pass, i);
}
