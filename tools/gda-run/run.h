/* SPDX-License-Identifier: MIT */
/*
 * Private to gda-run.
 */
#ifndef GDA_RUN_H
#define GDA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define RUN_MAX 4096
/* Polling threads of a rank: a waiting thread, and the worker of its context. */
#define RUN_THREADS 2

enum run_bind {
	RUN_BIND_AUTO,	/* bind if there are enough unused processors */
	RUN_BIND_NONE,
	RUN_BIND_CORE,	/* bind, or fail */
};

struct run_binding;

struct run_options {
	uint32_t nranks;	/* that are started here */
	uint32_t first;		/* number of the first rank on this machine */
	uint32_t of;		/* ranks on all machines; equals @nranks without @id */
	const char *id;		/* NULL: create an id */
	bool new_id;		/* print a new id, and exit */
	bool keep;		/* when a rank fails, let the others go on */
	bool bare;		/* lines are not marked */
	double timeout;		/* seconds, 0: none */
	const char *interface;
	enum run_bind bind;
	uint32_t threads;	/* processors for each rank; 0: default */
	bool show_bind;
	const struct run_binding *binding;	/* NULL: ranks are not bound */
	struct rlimit nofile;	/* the ranks' limit, if gda-run has raised its own */
	bool nofile_raised;
	char **argv;
};

#define STREAM_LINE 65536U

/* Lines of one stream of a rank, to be passed on. */
struct run_stream {
	int fd;			/* read end of the pipe; -1 after its end */
	char *line;		/* STREAM_LINE bytes, not NULL while @fd is open */
	size_t used;
	bool ending;		/* read only @last more bytes */
	size_t last;
};

/* One of our own. */
struct run_output {
	int fd;
	bool socket;
	size_t most;		/* most bytes of a write that does not block */
	char *data;		/* a line, marked */
	size_t used;
	size_t sent;
};

struct run_rank {
	pid_t pid;		/* 0 after it was waited for */
	bool failed;		/* its failure was not reported yet: its last output comes first */
	int how;		/* status of waitpid(2) */
	int before;		/* a rank that exited with status 0 while this one ran, or -1 */
	struct run_stream streams[2];
};

/* bind.c */

/* Return: 0, or -EINVAL if @text is unknown. */
int bind_parse(const char *text, enum run_bind *to);
/* Choose the processors of each rank. Return: 0, with @binding NULL if ranks are not bound; 1 after
 * a message.
 */
int bind_plan(const struct run_options *opt, struct run_binding **binding);
/* Called by the process that becomes @rank, counted from 0 on this machine. */
void bind_apply(const struct run_binding *b, uint32_t rank);

/* output.c */

/* Prepare to write to @fd without blocking. Return: 0 or -ENOMEM. */
int output_open(struct run_output *o, int fd);
bool output_same(int a, int b);
/* Is a line not written yet? Then no other line may be added. */
bool output_waits(const struct run_output *o);
void output_flush(struct run_output *o);
void output_line(struct run_output *o, const char *mark, const char *line, size_t bytes);
void output_free(struct run_output *o);

/* stream.c */

int stream_open(struct run_stream *s, int *theirs);
bool stream_has_room(const struct run_stream *s);
/* Read what has arrived, as far as there is room. */
void stream_read(struct run_stream *s);
/* Pass on lines, each prefixed by @mark, until @o blocks. Return: whether there was a line. */
bool stream_lines(struct run_stream *s, struct run_output *o, const char *mark);
/* Read only what is in the pipe now: any later writer is no rank. */
void stream_end(struct run_stream *s);
/* Does the stream have a line, or unread bytes at its end? */
bool stream_waits(const struct run_stream *s);
/* Stop reading; lines in the buffer can still be passed on. */
void stream_close(struct run_stream *s);
void stream_free(struct run_stream *s);
/* Add a line of gda-run's own. */
void stream_say(struct run_stream *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* spawn.c */

struct gda_comm_id;
/* Return: the listening socket of @id, or -1 after a message. */
int run_id_new(const char *interface, struct gda_comm_id *id);

/*
 * Print an id without a listening socket; that is created when rank 0 is started. Return: an exit
 * status.
 */
int run_id_print(const char *interface);

/* Raise the limit of descriptors for gda-run alone; @opt keeps the ranks' limit. */
void ranks_raise_nofile(struct run_options *opt);
/*
 * Start the ranks of this machine. Return: 0, or 1 after a message; @ranks has those that were
 * started.
 */
int ranks_spawn(struct run_rank *ranks, const struct run_options *opt);
void ranks_signal(const struct run_rank *ranks, uint32_t nranks, int sig);

/* stood.c */

/* Has the process begun to exit, or has it ended? */
bool rank_is_ending(const struct run_rank *r);

/* Write to @own where each running rank, or each stopped one, is. */
void ranks_stood(const struct run_rank *ranks, const struct run_options *opt,
		 struct run_stream *own, bool stopped);

#endif /* GDA_RUN_H */
