/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datadir.h: what lies on the data volume, and how an empty one becomes a database.
 *
 * A database is made (or copied) in `data.new` and renamed to `data` when it is whole and on the disk: after a crash at
 * any point there is either no `data` or a complete one. Leftovers in `data.new` are ours and are removed; anything
 * else that we did not make is never touched (I7, I8).
 *
 * Where a complete `data.new` replaces data that was proven to be of no more use, both change names in one step
 * (RENAME_EXCHANGE), and what then is `data.new` is removed. A file system that cannot do that (NFS) sees the old data
 * move to `data.old` for a moment; a crash in that moment is undone by datadir_recover. Where the volume cannot hold
 * both, the old data goes before the new arrives: it gets the name `data.gone` first, so that a crash never leaves half
 * of it under the name `data`. What a restore in place makes of the folders is in datadir_beside.h.
 */
#ifndef KM_AGENT_BOOTSTRAP_DATADIR_H
#define KM_AGENT_BOOTSTRAP_DATADIR_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_binary.h"
#include "common/error.h"

enum datadir_kind {
    DATADIR_EMPTY,    /* nothing there: to be initialised */
    DATADIR_DATABASE, /* holds a database */
    DATADIR_FOREIGN,  /* holds something else: refuse */
    /* the volume's top folder itself holds a database: refuse rather than start an empty one beside it */
    DATADIR_STRAY,
};

struct datadir_facts {
    enum datadir_kind kind;
    char foreign_name[64];            /* one of the unexpected names */
    bool has_mysql_ibd;               /* MySQL 8 or later made it */
    bool has_aria;                    /* MariaDB made it */
    struct server_version written_by; /* number 0: cannot be told cheaply */
};

int datadir_inspect(const struct agent_paths *paths, struct datadir_facts *ret, struct error *err) KM_MUST_CHECK;
/* Pure. Whether this server may be started on what is there: flavour and direction of the version. ERROR_INVALID says
 * why not. */
int datadir_check(
    const struct datadir_facts *facts, const struct server_version *server, struct error *err) KM_MUST_CHECK;
/* Pure. What would be found in the data of a running server that calls itself so (VERSION()). ERROR_PROTOCOL: that is
 * no version. */
int datadir_facts_of(const char *version, struct datadir_facts *ret, struct error *err) KM_MUST_CHECK;
/* Pure. The version in the files that servers leave: "10.11.19-MariaDB", or MySQL's JSON history (its last entry). */
int datadir_parse_version(const char *text, enum agent_flavour flavour, struct server_version *ret);

/* Makes a database in data_dir, which is empty or missing. user: the operating system's user name. ERROR_IO,
 * ERROR_TOO_LARGE (no space), ERROR_TIMEOUT. */
int datadir_initialise(const struct agent_paths *paths, const struct server_binary *binary, const char *user,
    struct error *err) KM_MUST_CHECK;

/* The part of it that makes a database in data.new, which is empty: with the image's own tool, to be filled or
 * published by others. Blocking. */
int datadir_make_empty_database(const struct agent_paths *paths, const struct server_binary *binary, const char *user,
    struct error *err) KM_MUST_CHECK;
/* An empty data.new, whatever was left of earlier attempts. Blocking: it may have to remove large folders. */
int datadir_begin(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* data.new is complete: synced, then named data. replace: a database that is there goes; without it that is an error.
 * Blocking. */
int datadir_publish(const struct agent_paths *paths, bool replace, struct error *err) KM_MUST_CHECK;
/* The data, which was proven to be of no more use, goes now. After a crash it is whole or gone; what is left is removed
 * by datadir_begin and datadir_tidy. Nothing to do without data. Blocking. */
int datadir_discard(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* So much is free on the volume, or becomes so by discarding the data, which only `replace` allows. what: needs it, for
 * the message. ERROR_TOO_LARGE. Blocking. */
int datadir_make_room(const struct agent_paths *paths, uint64_t needed_bytes, bool replace, const char *what,
    struct error *err) KM_MUST_CHECK;
/* Removes data.new, data.old, data.gone, data.restored and what a backup left (copy_dir): rubbish of ours beside a
 * complete database. Blocking. */
int datadir_tidy(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* What a crash in the middle of a replacement left: the old data gets its name back. Of a restore in place:
 * datadir_beside.h. */
int datadir_recover(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;

/* Renames a folder of the volume; on the disk when it returns. For datadir_*.c. */
int datadir_move(const struct agent_paths *paths, const char *from, const char *to, struct error *err) KM_MUST_CHECK;

#endif
