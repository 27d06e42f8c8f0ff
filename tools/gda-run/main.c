// SPDX-License-Identifier: MIT
/*
 * gda-run -n N PROGRAM [ARGUMENT...] - start N ranks of a program on this machine
 * gda-run --id ID --first R -n N --of M PROGRAM... - start ranks R to R + N - 1 of M here
 *
 * The ranks find each other by gda_comm_create(). Nothing else has to be installed. When a rank
 * fails the others of this machine are ended, and gda-run exits with its status, or 128 plus the
 * signal. The communicator notifies ranks on other machines.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <gda/version.h>
#include "run.h"

#define RUN_TIMED_OUT	124
#define RUN_PATIENCE_NS	2000000000LL	/* from SIGTERM to SIGKILL */
#define RUN_AGAIN_MS	100		/* time until a failed step is retried */

/* The state of the whole run. */
struct run {
	const struct run_options *opt;
	struct run_rank *ranks;
	uint32_t left;		/* ranks that run */
	int status;		/* exit status of the first that failed, and ours */
	int64_t kill_at;	/* ns: when ranks that were told to end are killed; 0: not yet */
	int64_t stop_at;	/* ns: when the time limit is over; 0: there is none */
	int64_t leave_at;	/* ns: when to stop waiting for output; 0: do not stop */
	struct run_output outputs[2];
	uint32_t noutputs;	/* 1 if both streams go to the same file */
	struct run_stream own;	/* lines of gda-run itself */
	uint32_t unsaid;	/* ranks whose failure was not reported yet */
	uint32_t turn;		/* whose lines come first, so that each rank has its turn */
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void print_usage(FILE *to)
{
	fputs("usage: gda-run -n N [options] PROGRAM [ARGUMENT...]\n"
	      "       gda-run --id ID --first R -n N --of M [options] PROGRAM [ARGUMENT...]\n"
	      "       gda-run --new-id [-i NAME]\n"
	      "  -n, -np N        ranks to start here, 1 to 4096\n"
	      "  --of M           ranks on all machines together [N]\n"
	      "  --first R        the first of those here [0]\n"
	      "  --id ID          the same on all machines [$GDA_COMM_ID, with --of]\n"
	      "  --new-id         print an id that the machine of rank 0 can listen for\n"
	      "  -k, --keep       when a rank fails, let the others go on\n"
	      "  -t, --timeout S  end all after S seconds\n"
	      "  -i, --interface NAME  listen there and not on loopback\n"
	      "  -b, --bare       do not put \"[rank] \" before lines\n"
	      "  --bind HOW       none; core: each rank to processors of its own; auto: if enough are\n"
	      "                   free [auto]\n"
	      "  --threads N      processors for each rank [2, or $OMP_NUM_THREADS if that is more]\n"
	      "  --show-bind      say which rank is bound where, or why none is\n"
	      "  -h, --help\n"
	      "  -V, --version\n", to);
}

static int bad(const char *what, const char *value)
{
	fprintf(stderr, "gda-run: %s: \"%s\" (gda-run --help)\n", what, value);
	return 2;
}

enum { RUN_ID = 256, RUN_FIRST, RUN_OF, RUN_NEW_ID, RUN_BIND, RUN_THREADS_EACH, RUN_SHOW_BIND };

/* Parse a number of ranks. Return: 0, or 2 after a message. */
static int parse_ranks(const char *text, uint32_t least, uint32_t *to)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!*text || *end || errno || *text == '-' || n < least || n > RUN_MAX)
		return bad(least ? "no number from 1 to 4096" : "no rank", text);
	*to = (uint32_t)n;
	return 0;
}

/* Take the id from the command line, which all users can read, and erase the secret there. */
static const char *take_id(char *text)
{
	const char *id = strdup(text);

	memset(text, 0, strlen(text));
	return id;
}

/* The argument of -n; -np N and -npN, as mpirun(1) takes them, mean -n N. */
static const char *ranks_text(char **argv)
{
	if (*optarg != 'p')
		return optarg;
	if (optarg[1])
		return optarg + 1;
	return argv[optind] ? argv[optind++] : "";
}

static int bind_option(int c, struct run_options *opt)
{
	if (c == RUN_BIND && bind_parse(optarg, &opt->bind))
		return bad("--bind takes none, core or auto", optarg);
	if (c == RUN_THREADS_EACH && parse_ranks(optarg, 1, &opt->threads))
		return 2;
	opt->show_bind |= c == RUN_SHOW_BIND;
	return 0;
}

static int option(int c, char **argv, struct run_options *opt)
{
	char *end;

	switch (c) {
	case 'n':
		return parse_ranks(ranks_text(argv), 1, &opt->nranks);
	case RUN_OF:
		return parse_ranks(optarg, 1, &opt->of);
	case RUN_FIRST:
		return parse_ranks(optarg, 0, &opt->first);
	case RUN_ID:
		opt->id = take_id(optarg);
		return 0;
	case RUN_NEW_ID:
		opt->new_id = true;
		return 0;
	case 'k':
		opt->keep = true;
		return 0;
	case 't':
		opt->timeout = strtod(optarg, &end);
		if (!*optarg || *end || !(opt->timeout > 0) || opt->timeout > 1e9)
			return bad("no number of seconds", optarg);
		return 0;
	case 'i':
		opt->interface = optarg;
		return 0;
	case 'b':
		opt->bare = true;
		return 0;
	case RUN_BIND:
	case RUN_THREADS_EACH:
	case RUN_SHOW_BIND:
		return bind_option(c, opt);
	case 'h':
		print_usage(stdout);
		exit(0);
	case 'V':
		puts("gda-run " GDA_VERSION_STRING);
		exit(0);
	default:
		print_usage(stderr);
		return 2;
	}
}

/* Ranks on several machines need an existing id; on one machine an id is not allowed. */
static int check_parts(struct run_options *opt)
{
	if (!opt->of && !opt->first && !opt->id) {
		opt->of = opt->nranks;
		return 0;
	}
	if (!opt->id)
		opt->id = getenv("GDA_COMM_ID");
	if (opt->of && opt->id && !opt->interface && opt->first + opt->nranks <= opt->of)
		return 0;
	if (opt->of && opt->id && !opt->interface)
		fprintf(stderr,
			"gda-run: ranks %u to %u do not fit --of %u: give a larger one, or fewer ranks\n",
			opt->first, opt->first + opt->nranks - 1, opt->of);
	else
		print_usage(stderr);
	return 2;
}

/* Report a missing or superfluous argument. */
static int say_missing(const struct run_options *opt)
{
	if (opt->new_id)
		fputs("gda-run: --new-id prints an id, and starts no program: take -n and the program away\n",
		      stderr);
	else if (!opt->nranks && *opt->argv)
		fprintf(stderr, "gda-run: how many ranks of %s? Say so: gda-run -n 2 %s ...\n",
			*opt->argv, *opt->argv);
	else if (opt->nranks)
		fprintf(stderr, "gda-run: which program? Name it behind the options: gda-run -n %u PROGRAM ...\n",
			opt->nranks);
	else
		print_usage(stderr);
	return 2;
}

static int parse(int argc, char **argv, struct run_options *opt)
{
	static const struct option longs[] = {
		{ "id", required_argument, NULL, RUN_ID },
		{ "first", required_argument, NULL, RUN_FIRST },
		{ "of", required_argument, NULL, RUN_OF },
		{ "new-id", no_argument, NULL, RUN_NEW_ID },
		{ "keep", no_argument, NULL, 'k' },
		{ "timeout", required_argument, NULL, 't' },
		{ "interface", required_argument, NULL, 'i' },
		{ "bare", no_argument, NULL, 'b' },
		{ "bind", required_argument, NULL, RUN_BIND },
		{ "threads", required_argument, NULL, RUN_THREADS_EACH },
		{ "show-bind", no_argument, NULL, RUN_SHOW_BIND },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c, ret;

	/* "+": options behind the program belong to the program */
	while ((c = getopt_long(argc, argv, "+n:kt:i:bhV", longs, NULL)) != -1) {
		ret = option(c, argv, opt);
		if (ret)
			return ret;
	}
	opt->argv = argv + optind;
	if (opt->new_id ? !opt->nranks && !*opt->argv : opt->nranks && *opt->argv)
		return opt->new_id ? 0 : check_parts(opt);
	return say_missing(opt);
}

/* Tell all running ranks to end; those that do not are killed a little later. */
static void end_all(struct run *run)
{
	if (run->kill_at)
		return;
	ranks_signal(run->ranks, run->opt->nranks, SIGTERM);
	/* a stopped rank would not receive the signal */
	ranks_signal(run->ranks, run->opt->nranks, SIGCONT);
	run->kill_at = now_ns() + RUN_PATIENCE_NS;
}

/* --- output --- */

static struct run_output *output_of(struct run *run, int stream)
{
	return &run->outputs[run->noutputs == 1 ? 0 : stream];
}

/* Pass on lines of all ranks, then our own, as long as no output blocks. */
static void pass_lines(struct run *run)
{
	uint32_t n = run->opt->nranks, i;
	char mark[32] = "";

	for (i = 0; i < run->noutputs; i++)
		output_flush(&run->outputs[i]);
	for (i = 0; i < 2 * n; i++) {
		uint32_t k = (run->turn + i) % (2 * n), rank = k / 2;
		struct run_output *o = output_of(run, (int)(k % 2));

		if (output_waits(o))
			continue;
		if (!run->opt->bare)
			snprintf(mark, sizeof(mark), "[%u] ", run->opt->first + rank);
		if (stream_lines(&run->ranks[rank].streams[k % 2], o, mark) && output_waits(o))
			run->turn = k + 1;
	}
	stream_lines(&run->own, output_of(run, 1), "");
}

/* Is there output that waits to be written? */
static bool lines_wait(const struct run *run)
{
	uint32_t i;

	for (i = 0; i < run->noutputs; i++)
		if (output_waits(&run->outputs[i]))
			return true;
	for (i = 0; i < 2 * run->opt->nranks; i++)
		if (stream_waits(&run->ranks[i / 2].streams[i % 2]))
			return true;
	return run->unsaid || stream_waits(&run->own);
}

/* --- ends --- */

/* Read the remaining output of an ended rank. Return: whether all of it was passed on. */
static bool drained(struct run_rank *r)
{
	bool all = true;
	int i;

	for (i = 0; i < 2; i++) {
		struct pollfd p = { .fd = r->streams[i].fd, .events = POLLIN };

		while (stream_has_room(&r->streams[i]) && poll(&p, 1, 0) > 0)
			stream_read(&r->streams[i]);
		all &= !stream_waits(&r->streams[i]);
	}
	return all;
}

/* Report a rank's end, after its last output. */
static void report(struct run *run, uint32_t rank)
{
	struct run_rank *r = &run->ranks[rank];
	char before[64] = "";

	if (!r->failed || (!drained(r) && !run->leave_at))
		return;
	if (r->before >= 0)
		snprintf(before, sizeof(before), " (rank %d had ended with status 0 before)",
			 r->before);
	r->failed = false;
	run->unsaid--;
	if (WIFSIGNALED(r->how))
		stream_say(&run->own, "gda-run: rank %u was ended by signal %d (%s)\n",
			   run->opt->first + rank, WTERMSIG(r->how), strsignal(WTERMSIG(r->how)));
	else
		stream_say(&run->own, "gda-run: rank %u exited with status %d%s\n",
			   run->opt->first + rank, WEXITSTATUS(r->how), before);
}

static void rank_ended(struct run *run, uint32_t rank, int status)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	/* do not report a rank that gda-run itself has ended */
	if (!code || run->kill_at)
		return;
	/* it may have left other ranks waiting for it */
	run->ranks[rank].failed = true;
	run->unsaid++;
	run->ranks[rank].how = status;
	if (!run->status) {
		run->status = code;
		/*
		 * show where ranks are: one that waits for this rank in vain does not know the
		 * reason
		 */
		ranks_stood(run->ranks, run->opt, &run->own, true);
	}
	if (!run->opt->keep)
		end_all(run);
}

/*
 * @ended has exited with status 0: note that for all ranks that still run. Skip a rank that is
 * exiting: its connections end before waitid(2) reports it, and @ended may have ended for that
 * reason.
 */
static void note_ended(struct run *run, int ended)
{
	uint32_t rank;

	for (rank = 0; rank < run->opt->nranks; rank++) {
		struct run_rank *r = &run->ranks[rank];

		if (r->pid && r->before < 0 && !rank_is_ending(r))
			r->before = ended;
	}
}

static void reap(struct run *run)
{
	int status, ended = -1;
	uint32_t rank;

	for (rank = 0; rank < run->opt->nranks; rank++) {
		struct run_rank *r = &run->ranks[rank];

		if (!r->pid || waitpid(r->pid, &status, WNOHANG) != r->pid)
			continue;
		/* kill the processes that the rank has started */
		kill(-r->pid, SIGKILL);
		r->pid = 0;
		run->left--;
		drained(r);
		rank_ended(run, rank, status);
		if (!status)
			ended = (int)(run->opt->first + rank);
	}
	if (ended >= 0)
		note_ended(run, ended);
	for (rank = 0; rank < run->opt->nranks; rank++)
		report(run, rank);
}

/* The user or the time limit ends the run: do not wait for output that is not read. */
static void hurry(struct run *run)
{
	end_all(run);
	if (!run->leave_at)
		run->leave_at = now_ns() + RUN_PATIENCE_NS;
}

static void handle_signals(struct run *run, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!run->status)
			run->status = 128 + (int)info.ssi_signo;
		/* only from the second signal on */
		if (run->leave_at)
			run->leave_at = now_ns();
		if (run->kill_at)
			run->kill_at = now_ns();
		hurry(run);
	}
	reap(run);
}

static void handle_time(struct run *run)
{
	int64_t now = now_ns();

	if (run->stop_at && now >= run->stop_at && !run->leave_at) {
		stream_say(&run->own, run->left ? "gda-run: %g s are over: ending %u ranks\n" :
			   "gda-run: %g s are over: nobody reads the output that %u ranks left\n",
			   run->opt->timeout, run->left ? run->left : run->opt->nranks);
		ranks_stood(run->ranks, run->opt, &run->own, false);
		if (!run->status)
			run->status = RUN_TIMED_OUT;
		hurry(run);
	}
	if (run->kill_at && now >= run->kill_at)
		ranks_signal(run->ranks, run->opt->nranks, SIGKILL);
}

static nfds_t fill_polls(const struct run *run, struct pollfd *polls, int signals)
{
	uint32_t n = run->opt->nranks, i;
	nfds_t at = 0;

	polls[at++] = (struct pollfd) { .fd = signals, .events = POLLIN };
	for (i = 0; i < 2 * n; i++) {
		const struct run_stream *s = &run->ranks[i / 2].streams[i % 2];

		polls[at++] = (struct pollfd) {
			.fd = stream_has_room(s) ? s->fd : -1, .events = POLLIN,
		};
	}
	for (i = 0; i < run->noutputs; i++)
		if (output_waits(&run->outputs[i]))
			polls[at++] = (struct pollfd) {
				.fd = run->outputs[i].fd, .events = POLLOUT,
			};
	return at;
}

/* Return: how many ms poll(2) may wait; -1 without limit. */
static int patience(const struct run *run)
{
	const int64_t at[] = {
		run->leave_at ? 0 : run->stop_at, run->kill_at, run->leave_at,
	};
	int64_t now = now_ns(), least = -1;
	uint32_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		int64_t ms = at[i] > now ? (at[i] - now) / 1000000 + 1 : RUN_AGAIN_MS;

		if (at[i] && (least < 0 || ms < least))
			least = ms;
	}
	if (lines_wait(run)) {
		/* if no output is waiting for its reader, there are lines to pass on now */
		for (i = 0; i < run->noutputs && !output_waits(&run->outputs[i]); i++)
			;
		least = i == run->noutputs ? 0 : least < 0 || least > RUN_AGAIN_MS ?
			RUN_AGAIN_MS : least;
	}
	return least < INT_MAX ? (int)least : INT_MAX;
}

/* Do ranks still run, or is there output that may still be read? */
static bool goes_on(const struct run *run)
{
	return run->left || (lines_wait(run) && !(run->leave_at && now_ns() >= run->leave_at));
}

static void loop(struct run *run, struct pollfd *polls, int signals)
{
	uint32_t n = run->opt->nranks, i;
	bool ending = false;

	while (goes_on(run)) {
		poll(polls, fill_polls(run, polls, signals), patience(run));
		for (i = 0; i < 2 * n; i++)
			if (polls[1 + i].revents)
				stream_read(&run->ranks[i / 2].streams[i % 2]);
		pass_lines(run);
		handle_signals(run, signals);
		handle_time(run);
		pass_lines(run);
		for (i = 0; !run->left && !ending && i < 2 * n; i++)
			stream_end(&run->ranks[i / 2].streams[i % 2]);
		ending = !run->left;
	}
	for (i = 0; i < 2 * n; i++)
		stream_free(&run->ranks[i / 2].streams[i % 2]);
}

static int open_outputs(struct run *run)
{
	int err = output_open(&run->outputs[0], STDOUT_FILENO);

	run->own = (struct run_stream) { .fd = -1, .line = malloc(STREAM_LINE) };
	if (!run->own.line)
		return -ENOMEM;
	run->noutputs = output_same(STDOUT_FILENO, STDERR_FILENO) ? 1 : 2;
	if (!err && run->noutputs == 2)
		err = output_open(&run->outputs[1], STDERR_FILENO);
	return err;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	struct run_options opt = { 0 };
	struct run run = { .opt = &opt };
	struct run_binding *binding;
	struct pollfd *polls;
	int signals, ret, i, k;

	ret = parse(argc, argv, &opt);
	if (ret)
		return ret;
	if (opt.new_id)
		return run_id_print(opt.interface);
	ranks_raise_nofile(&opt);
	ret = bind_plan(&opt, &binding);
	if (ret)
		return ret;
	opt.binding = binding;
	run.ranks = calloc(opt.nranks, sizeof(*run.ranks));
	polls = calloc(2 * (size_t)opt.nranks + 3, sizeof(*polls));
	signals = open_signals();
	ret = signals < 0 ? -errno : run.ranks && polls ? open_outputs(&run) : -ENOMEM;
	if (ret) {
		fprintf(stderr,
			"gda-run: cannot begin: %s: start fewer ranks, or raise ulimit -n\n",
			strerror(-ret));
		return 1;
	}
	for (i = 0; i < (int)opt.nranks; i++) {
		run.ranks[i].before = -1;
		for (k = 0; k < 2; k++)
			run.ranks[i].streams[k].fd = -1;
	}
	if (opt.timeout > 0)
		run.stop_at = now_ns() + (int64_t)(opt.timeout * 1e9);
	run.status = ranks_spawn(run.ranks, &opt);
	for (i = 0; i < (int)opt.nranks; i++)
		run.left += run.ranks[i].pid != 0;
	if (run.status)
		end_all(&run);
	loop(&run, polls, signals);
	stream_free(&run.own);
	output_free(&run.outputs[0]);
	output_free(&run.outputs[1]);
	free(run.ranks);
	free(polls);
	free(binding);
	return run.status;
}
