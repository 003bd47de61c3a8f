/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datadir_beside.h: a restore in place: the database that a backup became waits beside the data, and takes its place
 * when the operator says so.
 *
 * Restores of a cluster are numbered by the operator. A complete data.new is given its number and named `data.restored`
 * (datadir_keep_beside): nothing that serves has changed yet, and datadir_tidy takes it away again when the data is
 * kept. The word to take it (datadir_take) makes the old data `data.before` and `data.restored` the data: by three
 * renames, of which the first two bear the name `data.aside` between them. After a crash datadir_recover goes back
 * where there is no data, and forward where there is; taking it once more then leads to the same end. data.before never
 * becomes the data by itself, and is removed by datadir_drop_before only (I7).
 */
#ifndef KM_AGENT_BOOTSTRAP_DATADIR_BESIDE_H
#define KM_AGENT_BOOTSTRAP_DATADIR_BESIDE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

struct datadir_beside {
    uint64_t data;     /* number of the restore that the data came by; 0: by none */
    uint64_t restored; /* of the one that waits beside it; 0: none does */
    bool has_before;   /* the data from before the last one is still there */
};

/* Cheap. What cannot be read counts as not there. */
struct datadir_beside datadir_beside_look(const struct agent_paths *paths);
/* data.new is complete: synced, numbered, named data.restored; an older one goes. Blocking. */
int datadir_keep_beside(const struct agent_paths *paths, uint64_t number, struct error *err) KM_MUST_CHECK;
/* data.restored of that number becomes the data. Nothing to do where it is the data. ERROR_NOT_FOUND: it is not there;
 * ERROR_EXISTS: an older data.before is, and is left alone. Blocking. */
int datadir_take(const struct agent_paths *paths, uint64_t number, struct error *err) KM_MUST_CHECK;
int datadir_drop_before(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;

#endif
