/* SPDX-License-Identifier: MIT */
/*
 * PEs as threads and as processes, for the tests of gda/shmem.h.
 */
#ifndef PES_H
#define PES_H

#include <gda/shmem.h>
#include <sys/mman.h>
#include "../comm/ranks.h"

/* In a body: the line is the result. */
#define CHECK(what)					\
	do {						\
		if (!(what))				\
			return __LINE__;		\
	} while (0)

struct p_pe {
	struct gda_comm_id *id;
	uint32_t pe, npes;
	struct gda_shmem_attr attr;
	int (*body)(struct gda_shmem *s, struct gda_comm *comm);
	pthread_t thread;
	pid_t pid;
	int result;
	char why[256];
};

static inline void *p_main(void *arg)
{
	struct p_pe *p = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = p->pe, .nranks = p->npes, .id = p->id,
	};
	struct gda_comm *comm;
	struct gda_shmem *s;

	p->result = gda_comm_create(&attr, &comm);
	if (p->result) {
		snprintf(p->why, sizeof(p->why), "%s", gda_last_error());
		return NULL;
	}
	p->result = gda_shmem_create(comm, &p->attr, &s);
	if (p->result) {
		snprintf(p->why, sizeof(p->why), "%s", gda_last_error());
	} else {
		p->result = p->body(s, comm);
		/* others may still be at it; one that failed is not waited for */
		if (!p->result && gda_comm_failed(comm) < 0)
			gda_comm_barrier(comm, 0);
		gda_shmem_destroy(s);
	}
	gda_comm_destroy(comm);
	return NULL;
}

/*
 * Run @body on @npes PEs, each with @attr. Return: 0, or what the first PE that failed
 * returned: the line of a CHECK(), or a negative errno of the set-up, with p[PE].why.
 */
static inline int p_run(struct p_pe *p, uint32_t npes, bool processes,
			const struct gda_shmem_attr *attr,
			int (*body)(struct gda_shmem *s, struct gda_comm *comm))
{
	struct gda_comm_id id;
	uint32_t i;
	int status;
	pid_t pid;

	if (gda_comm_id_create(NULL, &id))
		return -1;
	for (i = 0; i < npes; i++) {
		p[i] = (struct p_pe) {
			.id = &id, .pe = i, .npes = npes, .attr = *attr, .body = body,
		};
		p[i].attr.size = sizeof(*attr);
		if (!processes) {
			pthread_create(&p[i].thread, NULL, p_main, &p[i]);
			continue;
		}
		pid = fork();
		if (!pid) {
			p_main(&p[i]);
			_exit(0);
		}
		p[i].pid = pid;		/* not by the child, which shares it */
	}
	for (i = 0; i < npes; i++) {
		if (!processes) {
			pthread_join(p[i].thread, NULL);
		} else if (waitpid(p[i].pid, &status, 0) == p[i].pid && status) {
			p[i].result = -1;
		}
	}
	for (i = 0; i < npes; i++)
		if (p[i].result)
			return p[i].result;
	return 0;
}

/* Of PEs that are processes, too: what they leave in it is seen by the test. */
static inline struct p_pe *p_alloc(void)
{
	return mmap(NULL, sizeof(struct p_pe) * R_MAX, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

#endif /* PES_H */
