/* SPDX-License-Identifier: MIT */
/*
 * For tests with kernels that speak KTAP: a call that fails ends the program with its text, and a
 * kernel that hangs ends it with the name of its test.
 */
#ifndef GDA_KTAP_CUH
#define GDA_KTAP_CUH

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <cuda_runtime.h>
#include <gda/gda.h>

#define BAIL_OUT(...) do { \
	printf("Bail out! " __VA_ARGS__); \
	fflush(stdout); \
	_Exit(1); \
} while (0)

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) \
		BAIL_OUT("%s: %s\n", #call, cudaGetErrorString(err_)); \
} while (0)

#define GDA(call) do { \
	int err_ = (call); \
	if (err_) \
		BAIL_OUT("%s: %s (%s)\n", #call, gda_strerror(err_), gda_last_error()); \
} while (0)

static const char *ktap_running;

static inline void ktap_hangs(int)
{
	static const char end[] = " hangs\n";

	if (write(1, "Bail out! ", 10) < 0 ||
	    write(1, ktap_running, strlen(ktap_running)) < 0 ||
	    write(1, end, sizeof(end) - 1) < 0)
		_Exit(2);
	_Exit(1);
}

/* Run the @n tests whose names contain @only; @run returns 0, or -EOPNOTSUPP to skip one. */
template<typename test>
static int ktap_run(const test *tests, size_t n, const char *only, int (*run)(const test *, int))
{
	const char *seconds = getenv("GDA_TEST_SECONDS");
	int devices = 0, status = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* lazily loaded code would wait for an idle GPU while another's kernel runs */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	/* a copy within a GPU must not share a connection with the kernel that waits for it */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	setenv("GDA_INPROC_WORKERS", "2", 0);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here\n");
		return 0;
	}
	signal(SIGALRM, ktap_hangs);
	printf("TAP version 13\n1..%zu\n# %d GPUs\n", n, devices);
	for (size_t i = 0; i < n; i++) {
		int failed;

		if (!strstr(tests[i].name, only)) {
			printf("ok %zu %s # SKIP not asked for\n", i + 1, tests[i].name);
			continue;
		}
		ktap_running = tests[i].name;
		alarm(seconds ? atoi(seconds) : 60);
		failed = run(&tests[i], devices);
		alarm(0);
		if (failed == -EOPNOTSUPP) {
			printf("ok %zu %s # SKIP %s\n", i + 1, tests[i].name, gda_last_error());
			continue;
		}
		printf("%sok %zu %s\n", failed ? "not " : "", i + 1, tests[i].name);
		status |= failed != 0;
	}
	return status;
}

#endif /* GDA_KTAP_CUH */
