/* SPDX-License-Identifier: MIT */
/*
 * gda-perf: how fast puts are, beside memcpy and raw verbs.
 *
 * The program measures a list of rows. It measures each row several times, for a while each, and
 * all rows take turns, so that other load on the machine disturbs all of them alike; it reports
 * medians. For a row that cannot be measured here it reports the reason.
 */
#ifndef GDA_PERF_H
#define GDA_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define PERF_MAX_ROWS	96
#define PERF_MAX_REPS	101
#define PERF_MAX_SIZES	16
#define PERF_MAX_IDLE	4000
#define PERF_MAX_BYTES	(4U << 20)

enum perf_test { PERF_LAT, PERF_RATE, PERF_BW, PERF_TESTS };

struct perf_options {
	bool test[PERF_TESTS];
	bool json;
	bool check;
	bool peers;		/* measure memcpy and raw verbs, too */
	unsigned int reps;
	unsigned int ms;	/* of one measurement */
	unsigned int idle;	/* number of idle QPs, at most PERF_MAX_IDLE */
	unsigned int depth;
	unsigned int nsizes;
	uint32_t sizes[PERF_MAX_SIZES];
	const char *rdma;	/* device for raw verbs; NULL: the first one that works */
};

/*
 * One measurement. Latencies are in us and have all members, with the median in @value; rates are
 * in million/s, bandwidths in GB/s (10^9). An unknown figure is NaN.
 */
struct perf_sample {
	double value;
	double p90;
	double p99;
	double p999;
	double max;
};

struct perf_row {
	enum perf_test test;
	const char *name;	/* in JSON */
	const char *what;	/* in tables */
	uint32_t bytes;
	int arg;		/* of @measure */
	/* Return: 0, or a negative errno; perf_missing() may have noted a reason. */
	int (*measure)(struct perf_row *row, struct perf_sample *s);
	unsigned int n;
	struct perf_sample sample[PERF_MAX_REPS];
	char missing[96];	/* why there is none */
};

extern struct perf_options perf_options;
extern struct perf_row perf_rows[PERF_MAX_ROWS];
extern unsigned int perf_nrows;

/* main.c */
__attribute__((format(printf, 1, 2), noreturn)) void perf_die(const char *format, ...);
void perf_must(int err, const char *what);

/* row.c */
void perf_row_add(enum perf_test test, const char *name, const char *what, uint32_t bytes,
		  int (*measure)(struct perf_row *row, struct perf_sample *s), int arg);
__attribute__((format(printf, 2, 3)))
int perf_missing(struct perf_row *row, const char *format, ...);
void perf_rows_measure(void);
struct perf_row *perf_row_find(enum perf_test test, const char *name, uint32_t bytes);
double perf_median(const double *values, unsigned int n);
/* The median of the column at @offset in the samples; NaN if there are none. */
double perf_row_median(const struct perf_row *row, size_t offset);
double perf_row_least(const struct perf_row *row, size_t offset);
double perf_row_most(const struct perf_row *row, size_t offset);
/* Sorts @ns. */
void perf_percentiles(uint64_t *ns, unsigned int n, struct perf_sample *s);

/* pair.c */
struct perf_end {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_view *v;
	struct gda_mr *mr;
	char *memory;
};

/* Two contexts of this process, connected; @from puts into the memory of @to. */
struct perf_pair {
	struct perf_end from;
	struct perf_end to;
	uint64_t laddr, raddr;
	uint32_t lkey, rkey;
};

/*
 * PERF_MAX_BYTES of memory. The distance of two such blocks is no power of two, so that they do not
 * compete for the same lines of a cache or of an emulated TLB.
 */
char *perf_memory(void);
void perf_end_open(struct perf_end *e);
void perf_pair_open(struct perf_pair *p);
/* The ends are open. */
void perf_pair_connect(struct perf_pair *p);
/* Create idle QPs. If a step fails, close() destroys those that exist. */
int perf_crowd_open(struct gda_context *ctx, struct gda_qp **qps, unsigned int n);
void perf_crowd_close(struct gda_qp **qps, unsigned int n);
static inline int64_t perf_put(const struct perf_pair *p, uint32_t bytes, unsigned int flags)
{
	return gda_put(p->from.v, p->laddr, p->lkey, p->raddr, p->rkey, bytes,
		       flags | GDA_EXCLUSIVE);
}

/* put.c, pingpong.c, gin.c, two.c, memcpy.c, verbs.c - the measurements */
void perf_put_plan(void);
const char *perf_put_device(void);
int perf_put_rate(const struct perf_pair *p, uint32_t bytes, unsigned int batch, double *rate);
void perf_ping_plan(void);
void perf_gin_plan(void);
void perf_two_plan(void);
void perf_two_end(void);
void perf_memcpy_plan(void);
void perf_verbs_plan(void);

/* threads.c - which thread runs on which CPU */
void perf_threads_init(void);
unsigned int perf_cpus(void);
/* Called around gda_open(), so that its worker gets a CPU of its own. */
void perf_worker_before(void);
void perf_worker_after(const char *what);
/* Let this thread, and threads that it starts meanwhile, run on any CPU; or end that. */
void perf_threads_free(bool any);
/* Bind @tid, or with 0 this thread, to the @n-th CPU, and note it. */
void perf_threads_add(const char *what, pid_t tid, unsigned int n);
const char *perf_threads_text(unsigned int i);

/* Bind this thread to the @n-th CPU, modulo the number of CPUs. */
void perf_threads_bind(unsigned int n);

/* shared.c: exchanges on shared processors. @names: of settings; none means all */
int perf_shared(char **names);

/* report.c */
void perf_report(const char *device);

/* check.c */
struct perf_bar {
	const char *name;
	double bar;
	bool least;		/* the bar is a minimum, else a maximum */
	double measured;	/* NaN: a required measurement is missing */
};

unsigned int perf_bars(const struct perf_bar **bars);
bool perf_bar_met(const struct perf_bar *bar);

#endif /* GDA_PERF_H */
