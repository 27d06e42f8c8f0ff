/* SPDX-License-Identifier: MIT */
/*
 * Between the files of gda-run.
 */
#ifndef GDA_RUN_H
#define GDA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define RUN_MAX 4096
/* Threads of a rank that poll: one that waits, and the worker of its context. */
#define RUN_THREADS 2

enum run_bind {
	RUN_BIND_AUTO,	/* if there are processors enough that nobody else uses */
	RUN_BIND_NONE,
	RUN_BIND_CORE,	/* or it is an error */
};

struct run_binding;

struct run_options {
	uint32_t nranks;	/* that are started here */
	uint32_t first;		/* the rank of the first of them */
	uint32_t of;		/* ranks on all machines; @nranks if there is no @id */
	const char *id;		/* NULL: one of our own */
	bool new_id;		/* print one, and that is all */
	bool keep;		/* survivors go on when a rank fails */
	bool bare;		/* lines are not marked */
	double timeout;		/* seconds, 0: none */
	const char *interface;
	enum run_bind bind;
	uint32_t threads;	/* processors that each rank is to have, 0: not said */
	bool show_bind;
	const struct run_binding *binding;	/* NULL: ranks are not bound */
	struct rlimit nofile;	/* of the ranks, if gda-run has another one */
	bool nofile_raised;
	char **argv;
};

#define STREAM_LINE 65536U

/* Lines of one stream of one rank, on their way to ours. */
struct run_stream {
	int fd;			/* our end of the pipe, or -1 at its end */
	char *line;		/* STREAM_LINE bytes; the last line may not have ended yet; not
				 * NULL while @fd is open
				 */
	size_t used;
	bool ending;		/* only @last more bytes are read */
	size_t last;
};

/* One of our own. */
struct run_output {
	int fd;
	bool socket;
	size_t most;		/* bytes of a write that does not wait */
	char *data;		/* a line, marked */
	size_t used;
	size_t sent;
};

struct run_rank {
	pid_t pid;		/* 0 once it was waited for */
	bool failed;		/* how, is not said yet: its last words come before */
	int how;		/* status of waitpid(2) */
	int before;		/* a rank that had ended with status 0 while this one ran, or -1 */
	struct run_stream streams[2];
};

/* bind.c */

/* Return: 0, or -EINVAL if @text is no such word. */
int bind_parse(const char *text, enum run_bind *to);
/* Decide which processors each rank gets. Return: 0 with @binding, or NULL there if they are not
 * bound; 1 after a message.
 */
int bind_plan(const struct run_options *opt, struct run_binding **binding);
/* By the process that is to be @rank, counted from 0 on this machine. */
void bind_apply(const struct run_binding *b, uint32_t rank);

/* output.c */

/* Write to @fd, without waiting. Return: 0 or -ENOMEM. */
int output_open(struct run_output *o, int fd);
bool output_same(int a, int b);
/* Is a line not out yet? Then there may be no other one. */
bool output_waits(const struct run_output *o);
void output_flush(struct run_output *o);
void output_line(struct run_output *o, const char *mark, const char *line, size_t bytes);
void output_free(struct run_output *o);

/* stream.c */

int stream_open(struct run_stream *s, int *theirs);
bool stream_has_room(const struct run_stream *s);
/* Take what is there, as far as there is room. */
void stream_read(struct run_stream *s);
/* Pass on lines, each with @mark in front, until @o has to wait. Return: whether there was one. */
bool stream_lines(struct run_stream *s, struct run_output *o, const char *mark);
/* Only what is in the pipe now is still read: who writes later is no rank. */
void stream_end(struct run_stream *s);
/* Has it a line, or does it end and has not been read yet? */
bool stream_waits(const struct run_stream *s);
/* Nothing more is read; what there is can still be passed on. */
void stream_close(struct run_stream *s);
void stream_free(struct run_stream *s);
/* Add a line of gda-run's own. */
void stream_say(struct run_stream *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* spawn.c */

struct gda_comm_id;
/* Return: the socket that listens for @id, or -1 after a message. */
int run_id_new(const char *interface, struct gda_comm_id *id);

/* Print an id, for which nothing listens until rank 0 is started. Return: an exit status. */
int run_id_print(const char *interface);

/* As many descriptors as may be, for gda-run alone: @opt has the limit that ranks get. */
void ranks_raise_nofile(struct run_options *opt);
/* Start the ranks of this machine. Return: 0, or 1 after a message; @ranks has those that run. */
int ranks_spawn(struct run_rank *ranks, const struct run_options *opt);
void ranks_signal(const struct run_rank *ranks, uint32_t nranks, int sig);

/* stood.c */

/* Has it begun to end, or has it ended? */
bool rank_is_ending(const struct run_rank *r);

/* Say in @own where each rank that runs stands, or each that is stopped. */
void ranks_stood(const struct run_rank *ranks, const struct run_options *opt,
		 struct run_stream *own, bool stopped);

#endif /* GDA_RUN_H */
