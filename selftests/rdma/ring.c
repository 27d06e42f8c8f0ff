// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An MPI program: a number goes round a ring of ranks, and a message of 100 kB behind it, which is long
 * enough for the library to have it read from the sender's memory. programs.sh runs it.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS	50
#define BYTES	100000

static char message[BYTES], expected[BYTES];

/* Round @i. Return: what came back or came in is wrong. */
static int turn(int rank, int ranks, int i)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, number = i;

	memset(expected, i, BYTES);
	memset(message, rank ? 0 : i, BYTES);
	if (rank) {
		MPI_Recv(&number, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(message, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		number++;
	}
	MPI_Send(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
	MPI_Send(message, BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD);
	if (!rank) {
		memset(message, 0, BYTES);
		MPI_Recv(&number, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(message, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return number != i + (rank ? rank : ranks - 1) || memcmp(message, expected, BYTES);
}

int main(int argc, char **argv)
{
	int rank, ranks, wrong = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < ROUNDS; i++)
		wrong += turn(rank, ranks, i);
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d rounds of %d ranks, %d wrong\n", ROUNDS, ranks, all);
	MPI_Finalize();
	return ranks < 2 || all;
}
