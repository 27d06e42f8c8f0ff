/* SPDX-License-Identifier: MIT */
/*
 * The checks of gdactl doctor, each of which prints one line.
 */
#ifndef GDACTL_DOCTOR_H
#define GDACTL_DOCTOR_H

#include <stdbool.h>
#include <gda/gda.h>

#define REASON_MAX	256

/*
 * One answer. @reason says why not, or gives a figure worth knowing; @advice is what to do next, if
 * anything.
 */
struct answer {
	bool works;
	char reason[REASON_MAX];
	char advice[REASON_MAX];
};

/* Results for later checks: NULL without a context. */
struct patient {
	struct gda_context *ctx;
	struct gda_query query;
};

struct check {
	const char *group;
	const char *name;
	void (*run)(struct patient *p, struct answer *a);
	bool needs_ctx;
};

/* check.c: the table ends with a group of NULL. */
extern const struct check checks[];

void works(struct answer *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void fails(struct answer *a, const char *advice, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* memory.c */
void check_user_memory(struct patient *p, struct answer *a);
void check_udmabuf(struct patient *p, struct answer *a);
void check_dma_heap(struct patient *p, struct answer *a);
void check_peer_memory(struct patient *p, struct answer *a);
void check_cuda_memory(struct patient *p, struct answer *a);

/* front.c: front ends between processes of this machine, unless noted otherwise */
void check_shmem(struct patient *p, struct answer *a);
void check_gin(struct patient *p, struct answer *a);
void check_async(struct patient *p, struct answer *a);
void check_dpa(struct patient *p, struct answer *a);
void check_nccl(struct patient *p, struct answer *a);

/* rdma.c */
void check_rdma_device(struct patient *p, struct answer *a);
void check_rdma_address(struct patient *p, struct answer *a);
void check_rdma_memory(struct patient *p, struct answer *a);
void check_rdma_user(struct patient *p, struct answer *a);
void check_rdma_kernel(struct patient *p, struct answer *a);
void check_rdma_library(struct patient *p, struct answer *a);
void check_rdma_programs(struct patient *p, struct answer *a);

#endif /* GDACTL_DOCTOR_H */
