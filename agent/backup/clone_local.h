/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_local.h: MySQL makes a copy of itself in a folder of its own volume: CLONE LOCAL DATA DIRECTORY (8.0.17 and
 * later), for a backup of its files. https://dev.mysql.com/doc/refman/8.0/en/clone-plugin-local.html
 *
 * The copy needs as much room as the data, beside it; a full volume would stop the database. So room is asked for
 * before (clone_local_check_room), and a copy is ended while half of the reserve is still free: while the server makes
 * it, and by clone_local_may_go_on as long as it lies there.
 *
 * Facts (manual; tried on 9.7.4): the statement is silent until it is through, is in no binary log, and needs
 * BACKUP_ADMIN and the plugin. A server makes one copy at a time, another member's CLONE counted. Tables of other
 * engines than InnoDB come out empty: such are refused here. Until 8.0.26 DDL waits for it.
 * The copy has no binary log; its executed GTIDs are in its tables, and only a server on it says them exactly: what has
 * been committed while the last pages are copied is in it, or not. What is told here (ret->gtid) is what had been
 * committed before that: it holds all of it, and perhaps a moment more.
 *
 * All of it is blocking, for a process or thread of its own.
 */
#ifndef KM_AGENT_BACKUP_CLONE_LOCAL_H
#define KM_AGENT_BACKUP_CLONE_LOCAL_H

#include "common/base.h"

#include "common/agent_order.h"
#include "common/error.h"

/* Whoever asks for it may be gone: looked at while the server copies. */
#define CLONE_LOCAL_LOOK_MS 200
/* A tenth of the data stays free on the volume, at least this. */
#define CLONE_LOCAL_RESERVE_MIN ((uint64_t)(128 * KM_MIB))

struct clone_local {
    const char *socket, *user; /* the server's; the account of the operating system's user */
    const char *data_dir;
    const char *folder; /* made by the server: not there yet, but what it lies in is. Nobody else's */
    /* Words for people, a line each. */
    void (*say)(void *arg, const char *line);
    /* Nobody wants the copy any more. */
    bool (*is_unwanted)(void *arg);
    void *arg;
};

struct clone_local_made {
    char *gtid;       /* owned */
    uint64_t reserve; /* bytes */
};

/* Pure. ERROR_TOO_LARGE with the numbers; ret_reserve: what must stay free. */
int clone_local_check_room(
    uint64_t data_bytes, uint64_t free_bytes, uint64_t *ret_reserve, struct error *err) KM_MUST_CHECK;
/* Pure. ERROR_TOO_LARGE: half of the reserve is used. */
int clone_local_check_left(uint64_t free_bytes, uint64_t reserve, struct error *err) KM_MUST_CHECK;
/* Whether a copy may lie there any longer. ERROR_CANCELLED, ERROR_TOO_LARGE. */
int clone_local_may_go_on(const struct clone_local *clone, uint64_t reserve, struct error *err) KM_MUST_CHECK;

/* ERROR_INVALID: the server cannot, or a table would be lost; ERROR_TOO_LARGE: no room; ERROR_CONFLICT: it makes
 * another copy for too long; ERROR_CANCELLED. What is in the folder after a failure is for clone_local_remove. */
int clone_local_make(const struct clone_local *clone, struct clone_local_made *ret, struct error *err) KM_MUST_CHECK;

/* Ends a CLONE into this folder that still runs (of a process that was killed), waits until it has, and removes the
 * folder. A server that does not answer runs none. */
int clone_local_remove(const char *socket, const char *user, const char *folder, struct error *err) KM_MUST_CHECK;

#endif
