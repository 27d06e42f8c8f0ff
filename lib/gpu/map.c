// SPDX-License-Identifier: MIT
/*
 * Regions of libgda in the GPU's address space. QPs share regions of doorbells and records, and
 * CUDA registers memory only once: so users are counted. Unregistering waits for all running
 * kernels.
 */
#include <errno.h>
#include <stdlib.h>
#include "cuda_internal.h"

static int gda_cuda_map_new(struct gda_cuda *cuda, const struct gda_region *region,
			    struct gda_cuda_map **map)
{
	struct gda_cuda_map *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->host = region->addr;
	m->length = region->length;
	err = gda_cu_errno(gda_cu.host_register(m->host, m->length,
						GDA_CU_HOST_PORTABLE | GDA_CU_HOST_DEVICEMAP));
	if (err)
		goto err_free;
	err = gda_cu_errno(gda_cu.host_address(&m->addr, m->host, 0));
	if (err)
		goto err_unregister;
	m->next = cuda->maps;
	cuda->maps = m;
	*map = m;
	return 0;

err_unregister:
	gda_cu.host_unregister(m->host);
err_free:
	free(m);
	return err;
}

int gda_cuda_map_get(struct gda_cuda *cuda, const struct gda_region *region, uint64_t host,
		     uint64_t *addr, struct gda_cuda_map **map)
{
	struct gda_cuda_map *m;
	int err = 0;

	pthread_mutex_lock(&cuda->lock);
	m = cuda->maps;
	while (m && m->host != region->addr)
		m = m->next;
	if (!m)
		err = gda_cuda_map_new(cuda, region, &m);
	if (!err) {
		m->users++;
		*addr = m->addr + (host - (uintptr_t)m->host);
		*map = m;
	}
	pthread_mutex_unlock(&cuda->lock);
	return err;
}

void gda_cuda_map_put(struct gda_cuda *cuda, struct gda_cuda_map *map)
{
	struct gda_cuda_map **link;

	if (!map)
		return;
	pthread_mutex_lock(&cuda->lock);
	if (--map->users == 0) {
		for (link = &cuda->maps; *link != map;)
			link = &(*link)->next;
		*link = map->next;
		gda_cu.host_unregister(map->host);
		free(map);
	}
	pthread_mutex_unlock(&cuda->lock);
}
