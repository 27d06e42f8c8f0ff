// SPDX-License-Identifier: MIT
/*
 * Starts ranks. Each has its own process group, so that processes that it starts end with it, and
 * is killed if gda-run is killed (PR_SET_PDEATHSIG). On the machine of rank 0 gda-run creates the
 * communicator's listening socket and passes it to rank 0, so that faster ranks can already
 * connect.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <gda/comm.h>
#include "comm_internal.h"
#include "run.h"

/*
 * gda-run needs a descriptor for each claimed processor and two for each rank, so raise the limit
 * to its maximum. Ranks get the old limit, from @opt.
 */
void ranks_raise_nofile(struct run_options *opt)
{
	struct rlimit all;

	if (getrlimit(RLIMIT_NOFILE, &opt->nofile))
		return;
	all = opt->nofile;
	all.rlim_cur = all.rlim_max;
	opt->nofile_raised = !setrlimit(RLIMIT_NOFILE, &all);
}

static void set_number(const char *name, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	setenv(name, text, 1);
}

/* Turn this process into the rank; returns only after a failure. */
static void become(uint32_t rank, const struct run_options *opt, int listener, pid_t parent)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	bind_apply(opt->binding, rank);
	if (opt->nofile_raised)
		setrlimit(RLIMIT_NOFILE, &opt->nofile);
	set_number("GDA_COMM_RANK", opt->first + rank);
	if (listener >= 0) {
		fcntl(listener, F_SETFD, 0);
		set_number("GDA_COMM_FD", listener);
	}
	execvp(opt->argv[0], opt->argv);
	fprintf(stderr, "gda-run: %s: %s: give a program that is in PATH, or its path\n",
		opt->argv[0], strerror(errno));
	_exit(127);
}

/*
 * The first rank inherits our input, unless that is a terminal, where it is not in the foreground.
 */
static int redirect(const int out[2], uint32_t rank)
{
	int null = STDIN_FILENO;

	if (rank || isatty(STDIN_FILENO))
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return dup2(null, 0) < 0 || dup2(out[0], 1) < 0 || dup2(out[1], 2) < 0 ? -errno : 0;
}

static int rank_spawn(struct run_rank *r, uint32_t rank, const struct run_options *opt,
		      int listener)
{
	int theirs[2] = { -1, -1 };
	pid_t parent = getpid();
	int err;

	err = stream_open(&r->streams[0], &theirs[0]);
	if (!err)
		err = stream_open(&r->streams[1], &theirs[1]);
	if (!err) {
		fflush(NULL);
		r->pid = fork();
		if (!r->pid && !redirect(theirs, rank))
			become(rank, opt, listener, parent);
		if (!r->pid)
			_exit(1);
		if (r->pid < 0) {
			err = -errno;
			r->pid = 0;
		} else {
			/*
			 * in the parent as well, so that the group exists before any rank is
			 * signalled
			 */
			setpgid(r->pid, r->pid);
		}
	}
	if (theirs[0] >= 0)
		close(theirs[0]);
	if (theirs[1] >= 0)
		close(theirs[1]);
	return err;
}

int run_id_new(const char *interface, struct gda_comm_id *id)
{
	int err = gda_comm_id_create(interface, id);

	if (err)
		fprintf(stderr, "gda-run: %s\n", gda_last_error());
	return err ? -1 : gda_comm_id_listener(id);
}

int run_id_print(const char *interface)
{
	struct gda_comm_id id;
	int fd = run_id_new(interface, &id);

	if (fd < 0)
		return 1;
	close(fd);
	puts(id.text);
	return 0;
}

/* Find the id and its socket, which is -1 if another machine has rank 0, and -2 after a message. */
static int open_id(const struct run_options *opt, struct gda_comm_id *id)
{
	struct gda_comm_secret secret;
	struct sockaddr_storage at;
	int fd;

	if (!opt->id) {
		fd = run_id_new(opt->interface, id);
		return fd < 0 ? -2 : fd;
	}
	snprintf(id->text, sizeof(id->text), "%s", opt->id);
	if (gda_comm_id_parse(id, &secret, &at)) {
		fputs("gda-run: --id is no id: make one with gda-run --new-id\n", stderr);
		return -2;
	}
	if (opt->first)
		return -1;
	fd = gda_comm_id_reopen(id);
	if (fd >= 0)
		return fd;
	fprintf(stderr,
		"gda-run: cannot listen where the id says: %s: start rank 0 once, on the machine of --new-id\n",
		strerror(-fd));
	return -2;
}

int ranks_spawn(struct run_rank *ranks, const struct run_options *opt)
{
	struct gda_comm_id id;
	uint32_t rank;
	int listener = open_id(opt, &id), err = 0;

	if (listener == -2)
		return 1;
	setenv("GDA_COMM_ID", id.text, 1);
	set_number("GDA_COMM_SIZE", opt->of);
	unsetenv("GDA_COMM_FD");
	for (rank = 0; rank < opt->nranks && !err; rank++) {
		err = rank_spawn(&ranks[rank], rank, opt, rank ? -1 : listener);
		if (err)
			fprintf(stderr,
				"gda-run: cannot start rank %u: %s: start fewer%s\n",
				opt->first + rank, strerror(-err),
				err == -EMFILE ? ", or raise ulimit -n" :
				err == -EAGAIN ? ", or raise ulimit -u" : "");
	}
	if (listener >= 0)
		close(listener);
	return err != 0;
}

void ranks_signal(const struct run_rank *ranks, uint32_t nranks, int sig)
{
	uint32_t rank;

	for (rank = 0; rank < nranks; rank++)
		if (ranks[rank].pid)
			kill(-ranks[rank].pid, sig);
}
