// SPDX-License-Identifier: MIT
/* Opens a device and says which one it is. */
#include <stdio.h>
#include <gda/gda.h>

int main(void)
{
	struct gda_query query = { .size = sizeof(query) };
	struct gda_context *ctx;
	int err = gda_open(NULL, &ctx);

	if (!err)
		err = gda_context_query(ctx, &query);
	if (err) {
		fprintf(stderr, "%s\n", gda_last_error());
		return 1;
	}
	printf("this is device %s\n", (const char *)query.device);
	gda_close(ctx);
	return 0;
}
