/* SPDX-License-Identifier: MIT */
/*
 * A symmetric heap as posters see it: plain data like struct gda_view, with 64-bit addresses that
 * are valid where the posters run, and the translation of a symmetric address to the memory of a
 * PE. Included by gda/shmem.h.
 */
#ifndef GDA_SHMEM_PEER_H
#define GDA_SHMEM_PEER_H

#include <gda/chunk.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_SHMEM_VERSION - layout of struct gda_shmem; fields are only appended
 */
#define GDA_SHMEM_VERSION	1

/**
 * define GDA_SHMEM_QP - choose a queue pair to the PE, for the flags of a call
 * @id: of a connection, below 65536; those that differ by less than the number of queue
 *	pairs to a PE use different ones
 */
#define GDA_SHMEM_QP(id)	((uint32_t)(id) << 16)

/**
 * define GDA_SHMEM_MAX_QPS - most queue pairs to a PE
 */
#define GDA_SHMEM_MAX_QPS	1024

/**
 * define GDA_SHMEM_ANY_PE - any PE, in place of the one whose loss ends a wait
 */
#define GDA_SHMEM_ANY_PE	UINT32_MAX

/**
 * define GDA_SHMEM_FOREVER - no deadline; the wait still ends if a PE is lost
 */
#define GDA_SHMEM_FOREVER	UINT64_MAX

/**
 * define GDA_SHMEM_DATA_ATOMICS - atomics by queue are only for words in @data
 *
 * Set in gda_shmem.caps of a heap in GPU memory, which is not registered for words.
 */
#define GDA_SHMEM_DATA_ATOMICS	(1U << 16)
/**
 * define GDA_SHMEM_UNORDERED - queues complete in any order, and have no atomics
 *
 * Set in gda_shmem.caps by gda_shmem_create() for queues of a dialect without %GDA_CAN_ORDER. Then
 * a fence is a quiet, a put with signal waits until all before the signal is done, and of atomics
 * and signals only %GDA_SHMEM_SET without the old value, and %GDA_SHMEM_FETCH, do not return
 * -EOPNOTSUPP.
 */
#define GDA_SHMEM_UNORDERED	(1U << 17)

/**
 * enum gda_shmem_op - the operation of an atomic on the word
 * @GDA_SHMEM_FETCH: nothing; for those that fetch
 * @GDA_SHMEM_SET: becomes the value
 * @GDA_SHMEM_SWAP: the same
 * @GDA_SHMEM_ADD: the value is added
 * @GDA_SHMEM_AND: bitwise and
 * @GDA_SHMEM_OR: bitwise or
 * @GDA_SHMEM_XOR: bitwise exclusive or
 */
enum gda_shmem_op {
	GDA_SHMEM_FETCH,
	GDA_SHMEM_SET,
	GDA_SHMEM_SWAP = GDA_SHMEM_SET,
	GDA_SHMEM_ADD,
	GDA_SHMEM_AND,
	GDA_SHMEM_OR,
	GDA_SHMEM_XOR,
};

/**
 * struct gda_shmem_qp - a queue pair to a PE
 * @view: address of its struct gda_view
 * @flush: one more than the ticket of the newest read that a quiet posted behind the rest
 * @quiet: everything below is visible to all PEs
 * @reserved: 0
 *
 * An element of an array, so it never grows.
 */
struct gda_shmem_qp {
	uint64_t view;
	uint64_t flush;
	uint64_t quiet;
	uint64_t reserved;
};

/**
 * struct gda_shmem_peer - a PE, and how it is reached
 * @heap: address of its heap here; 0: it is reached by queue
 * @data: address of its data segment here, or 0
 * @abort: its abort word, see gda_comm_abort_word()
 * @qps: by queue: array of struct gda_shmem_qp
 * @map: by queue: its MRs, by symmetric addresses of the caller
 * @reserved: 0
 *
 * An element of an array, so it never grows.
 */
struct gda_shmem_peer {
	uint64_t heap;
	uint64_t data;
	uint64_t abort;
	uint64_t qps;
	struct gda_chunk_map map;
	uint64_t reserved[2];
};

/**
 * struct gda_shmem - a symmetric heap
 * @size: sizeof(struct gda_shmem) of the library that made it
 * @version: %GDA_SHMEM_VERSION of that library
 * @pe: number of the caller
 * @npes: number of PEs
 * @qps: queue pairs to each PE; 0 if none is reached by queue
 * @caps: %GDA_VIEW_YIELD: waits yield; %GDA_SHMEM_DATA_ATOMICS, %GDA_SHMEM_UNORDERED
 * @heap: the heap of the caller, page aligned
 * @heap_bytes: its bytes, a multiple of a page
 * @data: the range that was made symmetric in place, or 0
 * @data_bytes: its bytes
 * @peers: array of @npes struct gda_shmem_peer
 * @timeout_ns: bound of waits that are not given a deadline
 * @stage: by queue: registered memory, whose first 16 bytes receive unused old values
 * @stage_key: its key, for work requests of the caller
 * @reserved: 0
 * @owner: private to the library
 * @words: in GPU memory: which words of @stage are used by requests, struct gda_shmem_words
 */
struct gda_shmem {
	uint32_t size;
	uint32_t version;
	uint32_t pe;
	uint32_t npes;
	uint32_t qps;
	uint32_t caps;
	uint64_t heap;
	uint64_t heap_bytes;
	uint64_t data;
	uint64_t data_bytes;
	uint64_t peers;
	uint64_t timeout_ns;
	uint64_t stage;
	uint32_t stage_key;
	uint32_t reserved;
	uint64_t owner;
	uint64_t words;
};

/*
 * Words for values fetched by a GPU's requests, in @stage behind the unused old values: a cache
 * line and a bit each.
 */
#define GDA_SHMEM_GPU_SINK	4096U
#define GDA_SHMEM_GPU_LINE	64U
#define GDA_SHMEM_GPU_WORDS	1024U

/**
 * struct gda_shmem_words - which of a heap's words for fetched values are used
 * @used: a bit for each word, set and cleared by kernels
 */
struct gda_shmem_words {
	uint64_t used[GDA_SHMEM_GPU_WORDS / 64];
};

/* The PE of a call, or NULL. */
GDA_HELPER const struct gda_shmem_peer *gda_shmem_peer(const struct gda_shmem *s, uint32_t pe)
{
	const struct gda_shmem_peer *peers = (const struct gda_shmem_peer *)(uintptr_t)s->peers;

	return gda_unlikely(pe >= s->npes) ? NULL : &peers[pe];
}

/* The address here of @bytes at @symmetric of a direct PE; NULL if any byte is not symmetric. */
GDA_HELPER char *gda_shmem_mapped(const struct gda_shmem *s, const struct gda_shmem_peer *p,
				  const void *symmetric, uint64_t bytes)
{
	uint64_t at = (uintptr_t)symmetric - s->heap;

	if (at < s->heap_bytes && bytes <= s->heap_bytes - at)
		return (char *)(uintptr_t)(p->heap + at);
	at = (uintptr_t)symmetric - s->data;
	if (at < s->data_bytes && bytes <= s->data_bytes - at)
		return (char *)(uintptr_t)(p->data + at);
	return NULL;
}

/* Do the queues complete in any order? In programs that speak no such dialect a constant. */
GDA_HELPER int gda_shmem_unordered(const struct gda_shmem *s)
{
	return GDA_WQE_UNORDERED && s->caps & GDA_SHMEM_UNORDERED;
}

/* May an atomic by queue access this word? On a CPU it may access any. */
GDA_HELPER int gda_shmem_has_atomics(const struct gda_shmem *s, const void *word)
{
	(void)s;
	(void)word;
	return GDA_HERE(1, !(s->caps & GDA_SHMEM_DATA_ATOMICS) ||
			   (uintptr_t)word - s->data < s->data_bytes);
}

/**
 * gda_shmem_is_symmetric - test whether a range is symmetric
 * @s: the heap
 * @addr: the caller's address
 * @bytes: of the range; 0 bytes are always symmetric
 *
 * Any thread may call it.
 *
 * Return: 1 if all of it is in the heap or in the data segment, else 0.
 */
GDA_API int gda_shmem_is_symmetric(const struct gda_shmem *s, const void *addr, uint64_t bytes)
{
	uint64_t heap = (uintptr_t)addr - s->heap, data = (uintptr_t)addr - s->data;

	return !bytes || (heap < s->heap_bytes && bytes <= s->heap_bytes - heap) ||
	       (data < s->data_bytes && bytes <= s->data_bytes - data);
}

/**
 * gda_shmem_ptr - the address at which memory of a PE is mapped here
 * @s: the heap
 * @symmetric: an address of the caller's own symmetric memory
 * @pe: any PE
 *
 * For loads and stores of the program's own. I-17.
 *
 * Return: the address; NULL if @symmetric is not symmetric, or there is no such PE, or it
 * is reached by queue.
 */
GDA_API void *gda_shmem_ptr(const struct gda_shmem *s, const void *symmetric, uint32_t pe)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	return p && p->heap ? gda_shmem_mapped(s, p, symmetric, 1) : NULL;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_PEER_H */
