/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_rig.h: a store, and members whose `init` restores a backup from it, with or without the archived binary logs
 * on top (agent_rig.h, seed_rig.h).
 *
 * The store serves the folder vol of its pod: the backup is in prod/demo/backups/REPLAY_BACKUP, the archive in
 * REPLAY_FOLDER. A donor stands beside it.
 */
#ifndef KM_AGENT_TESTS_REPLAY_RIG_H
#define KM_AGENT_TESTS_REPLAY_RIG_H

#include "common/base.h"

#include "agent/tests/seed_rig.h"
#include "common/backup_manifest.h"
#include "common/backup_seal.h"
#include "common/binlog_segment.h"
#include "common/gtid.h"

#define REPLAY_UID "0f2c"
#define REPLAY_FOLDER "prod/demo/binlogs/" REPLAY_UID
#define REPLAY_BACKUP "b1"
#define REPLAY_SEGMENTS_MAX 16
#define REPLAY_ENDS_S 180 /* a restore, on a busy machine */

struct replay_world {
    const char *root;
    enum backup_method method;
    enum gtid_flavour flavour;
    struct seed_rig *pods; /* donor, member, and `other`: the store */
    struct agent_process store;
    bool sealed; /* the backup and the archive; true at first */
    unsigned char key[BACKUP_KEY_BYTES];
    struct binlog_segment segments[REPLAY_SEGMENTS_MAX]; /* for who archives */
    struct position_pool *positions;                     /* of those */
    unsigned count;
    char last_sha256[65];
    unsigned members; /* each has a name of its own */
};

struct replay_target {
    bool replay;
    const char *until_gtid;
    int64_t until_ms;
    const unsigned char *key; /* NULL: the right one */
};

/* root: as of agent_rig_new_in. The key is 32 bytes of 7. */
struct replay_world *replay_world_new(const char *root, enum backup_method method);
void replay_world_free(struct replay_world *world);

bool replay_is_mysql(const struct replay_world *world);
/* What the server has executed. Caller frees. */
char *replay_position_of(const struct replay_world *world, const struct agent_rig *rig);
/* Of the tables that the stories write. Caller frees. */
char *replay_sums_of(const struct agent_rig *rig);

/* The body of PUT /v1/restore and of POST /v1/backups. Caller frees. */
char *replay_task_text(const struct replay_world *world, const struct replay_target *target);
/* world->pods->member: one with an empty volume. */
void replay_new_member(struct replay_world *world);
/* Starts `init` of the member and sends it the task and an order; replay_begin: the order of a new cluster. */
struct agent_process replay_begin_as(struct replay_world *world, const struct replay_target *target, const char *order);
struct agent_process replay_begin(struct replay_world *world, const struct replay_target *target);
/* After init: server and agent, and the order to be primary. */
void replay_open_member(const struct replay_world *world);
/* All of it: a new member that holds what was asked for, and is open. */
void replay_restore(struct replay_world *world, const struct replay_target *target);
/* Of d.t, whose trigger notes each row. */
void replay_assert_rows(const struct agent_rig *rig, int count, int last);
void replay_assert_holds(const struct replay_world *world, const char *gtids);

#endif
