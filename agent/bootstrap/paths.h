/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h: the places of agent_api.h as one value, so that tests can move them.
 */
#ifndef KM_AGENT_BOOTSTRAP_PATHS_H
#define KM_AGENT_BOOTSTRAP_PATHS_H

#include "common/base.h"

struct agent_paths {
    char *volume_dir;    /* the data volume */
    char *data_dir;      /* volume_dir/data */
    char *data_new_dir;  /* volume_dir/data.new: an initialisation that is not complete */
    char *data_old_dir;  /* volume_dir/data.old: the data, where it cannot be exchanged with data.new (datadir.h) */
    char *data_gone_dir; /* volume_dir/data.gone: data that is being removed */
    /* volume_dir/data.restored: a restored database that waits beside the data (datadir_beside.h) */
    char *data_restored_dir;
    char *data_aside_dir;  /* volume_dir/data.aside: the data while data.restored takes its place */
    char *data_before_dir; /* volume_dir/data.before: the data from before the last restore in place */
    char *state_dir;       /* volume_dir/.kube-mysql */
    char *copy_dir;        /* state_dir/copy: what a backup of MySQL's files is sent from; rubbish when none runs */
    char *run_dir;
    char *socket;
    char *pid_file;
    char *run_mycnf;
    char *init_file;   /* run_dir/bootstrap.sql: executed by the server at every start */
    char *server_lock; /* run_dir/server.lock: held by the server process while it lives */
    char *leaving;     /* run_dir/leaving: there from the beginning of the preStop hook to the next start of a server */
    char *stopping;    /* run_dir/stopping: there from the end of the preStop hook to the next start of a server */
    char *kept_stopped; /* state_dir/server-stopped: while it is there no server is started */
    char *slow_log;     /* run_dir/slow.log: where spec.logs.slow lets the server write it (agent/slow_log.h) */
    char *tmp_look;     /* run_dir/tmp-look: what the server's temporary files take (agent/tmp_scout.h) */
    char *config_dir;
    char *config_mycnf;
    char *config_instance;
    char *accounts_dir;
    char *tls_dir;
    char *termination_log;
};

/* Any argument may be NULL: the place of agent_api.h. */
void agent_paths_init(struct agent_paths *paths, const char *volume_dir, const char *run_dir, const char *config_dir,
    const char *accounts_dir, const char *tls_dir, const char *termination_log);
void agent_paths_release(struct agent_paths *paths);

#endif
