// SPDX-License-Identifier: MIT
/* Options, memory, hashes and reports of the two demo programs. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "demo.h"

static const char *program;
static bool first_member = true;

static void wrong_usage(bool with_file)
{
	fprintf(stderr, "usage: %s [OPTION]...%s\n"
		"  --device    of gda_open(3) [" GDA_DEVICE_SOFT "]\n"
		"  --socket    to meet at: a unix socket, a leading @: abstract; or tcp:HOST:PORT, where\n"
		"              the receiver listens [@gda-demo]\n"
		"  --deadline  bound of every step [30]\n"
		"  --json      report as one JSON object\n"
		"  --syscall   negative control: make one system call inside the window\n",
		program, with_file ? " FILE" : "");
	exit(2);
}

void options_parse(struct options *o, int argc, char **argv, bool with_file)
{
	static const struct option names[] = {
		{ "device", required_argument, NULL, 'g' },
		{ "socket", required_argument, NULL, 's' },
		{ "deadline", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "syscall", no_argument, NULL, 'x' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	*o = (struct options){
		.device = GDA_DEVICE_SOFT, .socket = "@gda-demo", .seconds = 30,
	};
	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c == 'g')
			o->device = optarg;
		else if (c == 's')
			o->socket = optarg;
		else if (c == 'd')
			o->seconds = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == 'j')
			o->json = true;
		else if (c == 'x')
			o->syscall = true;
		else
			wrong_usage(with_file);
	}
	if (argc - optind != with_file || !o->seconds || o->seconds > 86400)
		wrong_usage(with_file);
	o->file = argv[optind];
}

void die(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void must(int err, const char *what)
{
	if (err < 0)
		die(DEMO_FAILED, "%s: %s", what, gda_strerror(err));
}

void *shared_memory(uint64_t bytes, int *fd)
{
	int memory = memfd_create("gda-demo", MFD_CLOEXEC);
	void *p;

	if (memory < 0 || ftruncate(memory, (off_t)bytes))
		die(DEMO_FAILED, "memory: %s", strerror(errno));
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
	if (p == MAP_FAILED)
		die(DEMO_FAILED, "memory: %s", strerror(errno));
	if (fd)
		*fd = memory;
	else
		close(memory);
	return p;
}

void sha256_of(int fd, char hex[DEMO_HASH])
{
	int out[2], status;
	ssize_t n = 0;
	pid_t pid;

	if (lseek(fd, 0, SEEK_SET) || pipe(out))
		die(DEMO_FAILED, "sha256sum: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		if (dup2(fd, 0) == 0 && dup2(out[1], 1) == 1)
			execlp("sha256sum", "sha256sum", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	if (pid > 0)
		n = read(out[0], hex, DEMO_HASH - 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status || n != DEMO_HASH - 1)
		die(DEMO_FAILED, "sha256sum failed");
	close(out[0]);
	hex[DEMO_HASH - 1] = 0;
}

void report(const struct options *o, const char *name, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!o->json)
		printf("%-10s %s\n", name, text);
	else if (text[0] && strspn(text, "0123456789.") == strlen(text))
		printf("%s\"%s\": %s", first_member ? "{" : ", ", name, text);
	else
		printf("%s\"%s\": \"%s\"", first_member ? "{" : ", ", name, text);
	first_member = false;
}

void report_end(const struct options *o)
{
	if (o->json)
		printf("}\n");
	fflush(stdout);
}
