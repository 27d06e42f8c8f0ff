// SPDX-License-Identifier: MIT
/*
 * Options of ThreadSanitizer for tests: the first report ends the process, which is the
 * failure; and every test is a process, which would otherwise sleep a second at its end.
 */
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "atexit_sleep_ms=50:halt_on_error=1";
}
