/* SPDX-License-Identifier: MIT */
/*
 * Teams: ranks at a constant stride. A team is three numbers, passed by value; its ranks are
 * converted to ranks of the world, which every verb of gda/gin.h takes. Included by gda/gin.h.
 *
 * Local ranks reach each other through memory (LSA in NCCL) and are consecutive. A rail
 * has one rank of each local team, all of the same number in it.
 */
#ifndef GDA_GIN_TEAM_H
#define GDA_GIN_TEAM_H

#include <stdint.h>
#include <gda/barrier.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_team - some ranks, seen by one of them
 * @nranks: number of ranks
 * @rank: the caller's in the team, less than @nranks
 * @stride: ranks of the world from one member to the next, at least 1
 *
 * It never grows: it is passed by value, and never part of a structure with a size.
 */
struct gda_team {
	uint32_t nranks;
	uint32_t rank;
	uint32_t stride;
};

GDA_HELPER struct gda_team gda_team_make(uint32_t nranks, uint32_t rank, uint32_t stride)
{
	struct gda_team team;

	team.nranks = nranks;
	team.rank = rank;
	team.stride = stride;
	return team;
}

/**
 * gda_team_to_world - the world's number of a member
 * @team: the team
 * @world: the caller's rank in the world, as gda_gin.rank
 * @rank: of the member in @team
 *
 * Any thread may call it; it reads no memory.
 *
 * Return: its rank in the world.
 */
GDA_API uint32_t gda_team_to_world(struct gda_team team, uint32_t world, uint32_t rank)
{
	return world + (rank - team.rank) * team.stride;
}

/**
 * gda_team_contains - test whether a member of one team is in another one
 * @to: the other team
 * @from: a team; the caller is in both
 * @rank: of the member in @from
 *
 * Return: 1 if it is, else 0.
 */
GDA_API int gda_team_contains(struct gda_team to, struct gda_team from, uint32_t rank)
{
	int64_t distance = ((int64_t)rank - from.rank) * from.stride;
	int64_t at = to.rank + distance / to.stride;

	return distance % to.stride == 0 && at >= 0 && at < to.nranks;
}

/**
 * gda_team_convert - the number of a member in another team
 * @to: the other team
 * @from: a team; the caller is in both
 * @rank: of the member in @from, for which gda_team_contains() is true
 *
 * Return: its rank in @to.
 */
GDA_API uint32_t gda_team_convert(struct gda_team to, struct gda_team from, uint32_t rank)
{
	int64_t distance = ((int64_t)rank - from.rank) * from.stride;

	return (uint32_t)(to.rank + distance / to.stride);
}

/**
 * gda_team_inner - groups of consecutive members
 * @team: the team
 * @size: members of a group; divides team.nranks
 *
 * Return: the group that the caller is in.
 */
GDA_API struct gda_team gda_team_inner(struct gda_team team, uint32_t size)
{
	return gda_team_make(size, team.rank % size, team.stride);
}

/**
 * gda_team_outer - the members with the same place in their groups
 * @team: the team
 * @size: members of a group of gda_team_inner(); divides team.nranks
 *
 * Return: the members with the caller's place, one from each group.
 */
GDA_API struct gda_team gda_team_outer(struct gda_team team, uint32_t size)
{
	return gda_team_make(team.nranks / size, team.rank / size, team.stride * size);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_TEAM_H */
