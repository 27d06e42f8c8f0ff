#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per call of gda/shmem.h and of OpenSHMEM, counted by
# callgrind, with the loop around it. Speaks KTAP.

. selftests/lib/callgrind.sh
limits "a call" 8192 "$(dirname "$0")/bench" <<'END'
direct_p p 30
direct_inc inc 30
queue_p p 110
queue_p_exclusive p_exclusive 85
queue_inc inc 125
queue_put put 200
direct_shmem_p shmem_p 30
direct_shmem_p_data shmem_p_data 40
direct_shmem_put shmem_put 40
direct_shmem_get shmem_get 40
queue_shmem_p shmem_p 110
queue_shmem_inc shmem_inc 125
queue_shmem_p_threads shmem_p 210
queue_shmem_inc_threads shmem_inc 210
END
