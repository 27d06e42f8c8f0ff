// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The litmus tests, with the outcomes that the specifications allow, by which they were written.
 * For mlx5 these are the rules of an InfiniBand RC queue: C9-28 (a responder executes writes and
 * atomics in order, and may execute those behind a read before it), the table of operation
 * ordering (a fenced request begins after all reads and atomics before it); no byte of a write is
 * promised before its completion, its immediate or a later message. For efa they are those of
 * SRD: nothing orders two requests but waiting.
 *
 * Beyond these, our executors promise that a write which is done is visible to a third processor,
 * and that an atomic is one to processors; see ordering.rst.
 */
#include "litmus.h"

#define PUT(l, r)	{ LITMUS_PUT, l, r, 1 }
#define PUT2(l, r)	{ LITMUS_PUT, l, r, 2 }
#define FENCED(l, r)	{ LITMUS_PUT_FENCED, l, r, 1 }
#define IMM(l, r)	{ LITMUS_PUT_IMM, l, r, 1 }
#define GET(l, r)	{ LITMUS_GET, l, r, 1 }
#define ADD(l, r)	{ LITMUS_ADD, l, r, 1 }
#define WAIT(post)	{ LITMUS_WAIT, 0, 0, post }
#define LOAD(reg, x)	{ LITMUS_LOAD, x, 0, reg }
#define STORE(x, v)	{ LITMUS_STORE, x, 0, v }
#define IMMS(reg)	{ LITMUS_IMMS, 0, 0, reg }

const struct litmus litmus_tests[] = {
	{ "a flag behind a put", "a1",
	  { PUT('a', 'p'), PUT('a', 'q') },
	  { LOAD(0, 'q'), LOAD(1, 'p') },
	  "00 01 11", "00 01 10 11" },
	{ "two puts to one word", "a1b2",
	  { PUT('a', 'p'), PUT('b', 'p') },
	  { LOAD(0, 'p'), LOAD(1, 'p') },
	  "00 01 02 11 12 22", "00 01 02 11 12 21 22" },
	{ "the last put stays", "a1b2",
	  { PUT('a', 'p'), PUT('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'p') }, { { 0 } },
	  "2", "1 2" },
	{ "a put behind a get of its word", "a1",
	  { GET('b', 'p'), PUT('a', 'p'), WAIT(0), WAIT(1), LOAD(0, 'b'), LOAD(1, 'p') }, { { 0 } },
	  "01 11", "01 11" },
	{ "... fenced", "a1",
	  { GET('b', 'p'), FENCED('a', 'p'), WAIT(0), WAIT(1), LOAD(0, 'b') }, { { 0 } },
	  "0", NULL },
	{ "... posted when the get is done", "a1",
	  { GET('b', 'p'), WAIT(0), PUT('a', 'p'), WAIT(1), LOAD(0, 'b') }, { { 0 } },
	  "0", "0" },
	{ "a get behind a put of its word", "a1",
	  { PUT('a', 'p'), GET('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'b') }, { { 0 } },
	  "1", "0 1" },
	{ "a flag behind a get", "a1b9",
	  { GET('b', 'p'), PUT('a', 'q') },
	  { LOAD(0, 'q'), LOAD(1, 'b') },
	  "09 00 19 10", "09 00 19 10" },
	{ "... fenced", "a1b9",
	  { GET('b', 'p'), FENCED('a', 'q') },
	  { LOAD(0, 'q'), LOAD(1, 'b') },
	  "09 00 10", NULL },
	{ "a get whose old value lands late", "a1b9",
	  { GET('b', 'p'), PUT('a', 'p'), WAIT(0), WAIT(1), LOAD(2, 'b') },
	  { LOAD(0, 'p'), LOAD(1, 'b') },
	  "090 091 000 011 190 191 100 111", "090 091 000 011 190 191 100 111" },
	{ "two gets land", "a9b9",
	  { GET('a', 'p'), GET('b', 'q') },
	  { LOAD(0, 'b'), LOAD(1, 'a') },
	  "99 90 00", "99 90 00 09" },
	{ "two gets of a word that changes", "",
	  { GET('a', 'p'), GET('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'a'), LOAD(1, 'b') },
	  { STORE('p', 1) },
	  "00 01 11", "00 01 10 11" },
	{ "a flag behind an atomic", "a1b9",
	  { ADD('b', 'p'), PUT('a', 'q') },
	  { LOAD(0, 'q'), LOAD(1, 'b') },
	  "09 00 19 10", NULL },
	{ "... fenced", "a1b9",
	  { ADD('b', 'p'), FENCED('a', 'q') },
	  { LOAD(0, 'q'), LOAD(1, 'b') },
	  "09 00 10", NULL },
	{ "a put behind an atomic on its word", "a4b9",
	  { ADD('b', 'p'), PUT('a', 'p') },
	  { LOAD(0, 'p'), LOAD(1, 'b') },
	  "09 00 19 10 49 40", NULL },
	{ "two atomics", "",
	  { ADD('a', 'p'), ADD('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'a'), LOAD(1, 'b') }, { { 0 } },
	  "01", NULL },
	{ "an atomic behind a put", "a4",
	  { PUT('a', 'p'), ADD('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'b'), LOAD(1, 'p') }, { { 0 } },
	  "45", NULL },
	{ "a get behind an atomic", "",
	  { ADD('a', 'p'), GET('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'a'), LOAD(1, 'b') }, { { 0 } },
	  "01", NULL },
	{ "an atomic behind a get", "",
	  { GET('a', 'p'), ADD('b', 'p'), WAIT(0), WAIT(1), LOAD(0, 'a'), LOAD(1, 'b') }, { { 0 } },
	  "00 10", NULL },
	{ "an atomic beside a processor's store", "",
	  { ADD('a', 'p'), WAIT(0), LOAD(0, 'a') },
	  { STORE('p', 4), LOAD(1, 'p') },
	  "04 44 45", NULL },
	{ "the words of one put", "a1b1",
	  { PUT2('a', 'p') },
	  { LOAD(0, 'q'), LOAD(1, 'p') },
	  "00 01 10 11", "00 01 10 11" },
	{ "a flag behind a put of two words", "a1b1",
	  { PUT2('a', 'p'), PUT('a', 'r') },
	  { LOAD(0, 'r'), LOAD(1, 'p'), LOAD(2, 'q') },
	  "000 001 010 011 111", "000 001 010 011 100 101 110 111" },
	{ "a source that changes", "a1",
	  { PUT('a', 'p'), STORE('a', 2) },
	  { LOAD(0, 'p') },
	  "0 1 2", "0 1 2" },
	{ "... when the put is done", "a1",
	  { PUT('a', 'p'), WAIT(0), STORE('a', 2) },
	  { LOAD(0, 'p') },
	  "0 1", "0 1" },
	{ "an immediate behind its bytes", "a1b1",
	  { { LITMUS_PUT_IMM, 'a', 'p', 2 } },
	  { IMMS(0), LOAD(1, 'p'), LOAD(2, 'q') },
	  "000 001 010 011 111", "000 001 010 011 111" },
	{ "an immediate behind another put", "a1",
	  { PUT('a', 'p'), IMM('a', 'q') },
	  { IMMS(0), LOAD(1, 'p') },
	  "00 01 11", "00 01 10 11" },
	{ "what is done is there", "a1",
	  { PUT('a', 'p'), WAIT(0), LOAD(0, 'p') }, { { 0 } },
	  "1", "1" },
	{ "... and what is before it", "a1",
	  { PUT('a', 'p'), PUT('a', 'q'), WAIT(1), LOAD(0, 'p') }, { { 0 } },
	  "1", "0 1" },
	{ "... for a third, who is told", "a1",
	  { PUT('a', 'p'), WAIT(0), STORE('h', 1) },
	  { LOAD(0, 'h'), LOAD(1, 'p') },
	  "00 01 11", "00 01 11" },
};

const u32 litmus_ntests = sizeof(litmus_tests) / sizeof(litmus_tests[0]);
