/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_keeper.h: POST /v1/backups and DELETE /v1/backups/ID: which tool gives the data, one run at a time
 * (backup_run.h), and what the status says of it.
 *
 * MariaDB physical: mariadb-backup as donor.h runs it. MySQL physical, where there is CLONE: our own `copy-out`
 * (copy_process.h), since stock images have no tool that streams; else 400. Logical: mysqldump, mariadb-dump
 * (dump_command.h).
 *
 * What a copy-out that was killed left on the volume is removed when the run is over and when the agent starts; until
 * then there is no other run.
 * Not beside a copy that another member gets, and no such copy beside it. A run that is over is remembered until the
 * next one, for as long as the agent lives.
 */
#ifndef KM_AGENT_BACKUP_KEEPER_H
#define KM_AGENT_BACKUP_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/donor.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

struct backup_keeper;

struct backup_keeper_options {
    struct loop *loop;
    const struct agent_paths *paths; /* not copied, as the others */
    const char *user;                /* account of the socket */
    const struct agent_status *status;
    const struct donor *donor;
    void (*changed)(void *arg); /* from the loop: the report is another */
    void *arg;
};

struct backup_keeper *backup_keeper_new(const struct backup_keeper_options *options);
/* Ends what runs, and turns the loop for a few seconds so that the child can clean up. NULL is fine. */
void backup_keeper_free(struct backup_keeper *keeper);
/* Who asks was checked. */
void backup_keeper_post(struct backup_keeper *keeper, struct http_exchange *exchange);
void backup_keeper_delete(struct backup_keeper *keeper, struct http_exchange *exchange);
const struct backup_report *backup_keeper_report(const struct backup_keeper *keeper);

#endif
