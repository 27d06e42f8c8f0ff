/* SPDX-License-Identifier: MIT */
/*
 * Ranks: the processes, or threads, of one program find each other, exchange bytes, and learn which
 * of them is gone. Front ends use it; a program that connects its own queues uses it to exchange
 * addresses and keys.
 *
 * Rank 0 runs the hub, a thread to which every rank keeps one TCP connection. When a rank exits
 * without gda_comm_destroy() the kernel closes its connection, and the hub tells all others. Each
 * rank has a second thread that listens to the hub, so the words of gda_comm_abort_word() are set
 * whatever the program is doing. When rank 0 is lost, all others learn that, and from then on
 * nothing about each other.
 *
 * The ranks find the hub by a unique id: rank 0 makes it, and the caller, gda-run or PMIx carries
 * it to the others. The id contains a secret of 128 bits. Each end of a connection must prove
 * within a second that it knows the secret, before anything else from it is read, or the connection
 * is closed; the secret itself is not sent. The traffic after that is not encrypted.
 *
 * A communicator is for one process. In a child of fork(2) every call is -ENODEV, and
 * gda_comm_destroy() frees nothing of the parent's.
 */
#ifndef GDA_COMM_H
#define GDA_COMM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_comm;
struct gda_view;

/**
 * define GDA_COMM_MAX_RANKS - most ranks of a communicator
 */
#define GDA_COMM_MAX_RANKS	4096
/**
 * define GDA_COMM_MAX_GATHER - most bytes that a rank gives to one gda_comm_allgather()
 */
#define GDA_COMM_MAX_GATHER	(1U << 20)
/**
 * define GDA_COMM_NO_COLOR - color of a rank that is in no part of gda_comm_split()
 */
#define GDA_COMM_NO_COLOR	UINT32_MAX

/**
 * struct gda_comm_id - the text by which a rank finds the others
 * @text: printable, ends with a zero byte: address, port and secret. Anyone who has it can
 *	join, so keep it out of logs that others read
 */
struct gda_comm_id {
	char text[128];
};

/**
 * struct gda_comm_attr - attributes of a new communicator
 * @size: sizeof(struct gda_comm_attr) of the caller
 * @flags: 0
 * @rank: the caller's, 0 to @nranks - 1
 * @nranks: ranks, 1 to %GDA_COMM_MAX_RANKS; 0: rank and size come from the launcher
 * @id: of gda_comm_id_create() in the process of rank 0, the same for all; or NULL
 * @allgather: if @id is NULL: called once; sends this rank's @bytes bytes at @in to all, and stores
 *	those of all ranks, in order of rank, at @out; returns 0 or a negative errno
 * @arg: first argument of @allgather
 * @timeout_ns: time for which the ranks wait for each other, in gda_comm_create() and in later
 *	calls that are given no deadline; 0: 30 seconds
 */
struct gda_comm_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t rank;
	uint32_t nranks;
	const struct gda_comm_id *id;
	int (*allgather)(void *arg, const void *in, size_t bytes, void *out);
	void *arg;
	uint64_t timeout_ns;
};

/**
 * gda_comm_id_create - make the id of a new communicator
 * @interface: name of the network interface to listen on, "eth0"; NULL: loopback, which
 *	only processes of this machine (and network namespace) reach
 * @id: receives the id
 *
 * Listens from now on, so that the others may connect before rank 0 has created its
 * communicator. An id serves one communicator, whose rank 0 is in this process.
 *
 * Return: 0; -ENODEV no such interface, or one without an address; -EMFILE too many open files;
 * -ENOMEM out of memory.
 */
int gda_comm_id_create(const char *interface, struct gda_comm_id *id);

/**
 * gda_comm_create - join the other ranks
 * @attr: attributes of the communicator; NULL is the same as @attr with nranks 0
 * @comm: receives the communicator
 *
 * Returns when all ranks have joined. Ranks that are threads of one process each call it with the
 * same id. Without @attr, or with 0 ranks, the launcher provides rank and size: gda-run (by
 * GDA_COMM_ID, GDA_COMM_RANK and GDA_COMM_SIZE in the environment), or else PMIx, which mpirun,
 * srun and prterun speak; without either the program is one rank. GDA_COMM_INTERFACE names the
 * interface if PMIx starts ranks on several machines.
 *
 * Return: 0; -ETIMEDOUT ranks did not come (gda_last_error() names them); -ECONNRESET a rank
 * came and died (gda_last_error() names it); -EINVAL a wrong rank, number of ranks, or id;
 * -E2BIG @attr is of a later version, with members set that this library does not know;
 * -EEXIST another rank has this number; -EPROTO ranks do not agree on how many they are, or
 * one has another version; -EOPNOTSUPP unknown flags, or PMIx started this program and the
 * library was built without it; -EACCES the process that answers at the id's address does not
 * know its secret; -EMFILE too many open files; -ENOMEM out of memory; or the error that
 * @allgather returned.
 */
int gda_comm_create(const struct gda_comm_attr *attr, struct gda_comm **comm);

/**
 * gda_comm_destroy - leave a communicator
 * @comm: the communicator, or NULL; gone when the call returns, and its abort words too
 *
 * The others are told that this rank left and was not lost: nothing is aborted. Rank 0 waits until
 * the others have left, as long as a collective call would.
 */
void gda_comm_destroy(struct gda_comm *comm);

/**
 * gda_comm_rank - the caller's rank
 * @comm: the communicator
 *
 * Return: 0 to gda_comm_size() - 1.
 */
uint32_t gda_comm_rank(const struct gda_comm *comm);

/**
 * gda_comm_size - the number of ranks, including those that are gone
 * @comm: the communicator
 *
 * Return: at least 1.
 */
uint32_t gda_comm_size(const struct gda_comm *comm);

/**
 * gda_comm_allgather - send some bytes to every rank and receive those of all
 * @comm: the communicator
 * @in: bytes of this rank
 * @bytes: number of bytes, the same on all ranks, at most %GDA_COMM_MAX_GATHER
 * @out: receives gda_comm_size() times @bytes, in order of rank
 * @deadline: in ns of gda_clock_ns(); 0: the communicator's time-out from now
 *
 * A collective call: all ranks make the same collective calls in the same order, from one thread at
 * a time. After one has failed, each later one fails with the same error.
 *
 * Return: 0; -ECONNRESET a rank has died; -ESHUTDOWN a rank has left; -ETIMEDOUT a rank did not
 * come before the earliest deadline of the ranks that did (gda_comm_failed() says which, at the
 * latest a second after @deadline); -EPROTO ranks gave different numbers of bytes; -EMSGSIZE
 * @bytes is too large; -ENODEV in a child of fork(2); -ENOMEM out of memory.
 */
int gda_comm_allgather(struct gda_comm *comm, const void *in, size_t bytes, void *out,
		       uint64_t deadline);

/**
 * gda_comm_barrier - wait until all ranks have made this call
 * @comm: the communicator
 * @deadline: in ns of gda_clock_ns(); 0: the communicator's time-out from now
 *
 * Return: as gda_comm_allgather().
 */
int gda_comm_barrier(struct gda_comm *comm, uint64_t deadline);

/**
 * gda_comm_split - make a communicator of the ranks of each color
 * @comm: the communicator
 * @color: of this rank, any number; %GDA_COMM_NO_COLOR: it is in no part
 * @deadline: in ns of gda_clock_ns(); 0: the communicator's time-out from now
 * @part: receives the communicator; NULL for %GDA_COMM_NO_COLOR
 *
 * Collective. The ranks of a part are in the order of @comm.
 *
 * Return: 0; or a negative errno: those of gda_comm_allgather() and gda_comm_create().
 */
int gda_comm_split(struct gda_comm *comm, uint32_t color, uint64_t deadline,
		   struct gda_comm **part);

/**
 * gda_comm_split_machine - make a communicator of the ranks of each machine
 * @comm: the communicator
 * @deadline: in ns of gda_clock_ns(); 0: the communicator's time-out from now
 * @part: receives the communicator
 *
 * Collective. Ranks are on one machine if they run on the same boot of a kernel.
 *
 * Return: as gda_comm_split().
 */
int gda_comm_split_machine(struct gda_comm *comm, uint64_t deadline, struct gda_comm **part);

/**
 * gda_comm_state - the state of a rank
 * @comm: the communicator
 * @rank: a rank of @comm
 *
 * Return: 0 it is alive, as far as is known; -ECONNRESET it died; -ETIMEDOUT it did not come to a
 * collective call; -ESHUTDOWN it left; -EINVAL no such rank; -ENODEV in a child of fork(2).
 */
int gda_comm_state(const struct gda_comm *comm, uint32_t rank);

/**
 * gda_comm_failed - the rank that failed first
 * @comm: the communicator
 *
 * First in the order in which the hub noticed; the same on all ranks.
 *
 * Return: a rank that died or did not come, or -1; -ENODEV in a child of fork(2).
 */
int gda_comm_failed(const struct gda_comm *comm);

/**
 * gda_comm_abort_word - the word that is set when a rank is lost
 * @comm: the communicator
 * @rank: a rank of @comm
 *
 * The word is 0 until the rank has died or did not come; then it is 1 for good. The words of
 * all ranks are an array, in order of rank.
 *
 * Return: the word, valid until gda_comm_destroy(); NULL no such rank.
 */
const uint32_t *gda_comm_abort_word(const struct gda_comm *comm, uint32_t rank);

/**
 * gda_comm_watch - end the waits of a view when its peer is lost
 * @comm: the communicator
 * @rank: the peer
 * @view: a view whose queue is connected to @rank, and to which CPU threads post
 *
 * Points view->abort at the word of @rank: posts that wait for room, and waits, return -ESHUTDOWN
 * once it is set. If the ranks on this machine, with a worker each, outnumber the processors that
 * this thread may run on, waits yield from then on, as after gda_view_yield(). No thread may use
 * @view during the call, nor after gda_comm_destroy().
 *
 * Return: 0; -EINVAL no such rank.
 */
int gda_comm_watch(const struct gda_comm *comm, uint32_t rank, struct gda_view *view);

#ifdef __cplusplus
}
#endif

#endif /* GDA_COMM_H */
