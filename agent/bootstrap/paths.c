/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/paths.h"

#include "common/agent_api.h"
#include "common/alloc.h"

static const char *or_default(const char *given, const char *fallback)
{
    return given ? given : fallback;
}

void agent_paths_init(struct agent_paths *paths, const char *volume_dir, const char *run_dir, const char *config_dir,
    const char *accounts_dir, const char *tls_dir, const char *termination_log)
{
    const char *volume = or_default(volume_dir, AGENT_VOLUME_DIR);
    const char *run = or_default(run_dir, AGENT_RUN_DIR);
    const char *config = or_default(config_dir, AGENT_CONFIG_DIR);

    *paths = (struct agent_paths){
        .volume_dir = xstrdup(volume),
        .data_dir = xasprintf("%s/data", volume),
        .data_new_dir = xasprintf("%s/data.new", volume),
        .data_old_dir = xasprintf("%s/data.old", volume),
        .data_gone_dir = xasprintf("%s/data.gone", volume),
        .data_restored_dir = xasprintf("%s/data.restored", volume),
        .data_aside_dir = xasprintf("%s/data.aside", volume),
        .data_before_dir = xasprintf("%s/data.before", volume),
        .state_dir = xasprintf("%s/.kube-mysql", volume),
        .copy_dir = xasprintf("%s/.kube-mysql/copy", volume),
        .run_dir = xstrdup(run),
        .socket = xasprintf("%s/mysqld.sock", run),
        .pid_file = xasprintf("%s/mysqld.pid", run),
        .run_mycnf = xasprintf("%s/my.cnf", run),
        .init_file = xasprintf("%s/bootstrap.sql", run),
        .server_lock = xasprintf("%s/server.lock", run),
        .leaving = xasprintf("%s/leaving", run),
        .stopping = xasprintf("%s/stopping", run),
        .kept_stopped = xasprintf("%s/.kube-mysql/server-stopped", volume),
        .slow_log = xasprintf("%s/slow.log", run),
        .tmp_look = xasprintf("%s/tmp-look", run),
        .config_dir = xstrdup(config),
        .config_mycnf = xasprintf("%s/my.cnf", config),
        .config_instance = xasprintf("%s/instance.json", config),
        .accounts_dir = xstrdup(or_default(accounts_dir, AGENT_ACCOUNTS_DIR)),
        .tls_dir = xstrdup(or_default(tls_dir, AGENT_TLS_DIR)),
        .termination_log = xstrdup(or_default(termination_log, AGENT_TERMINATION_LOG)),
    };
}

void agent_paths_release(struct agent_paths *paths)
{
    free(paths->volume_dir);
    free(paths->data_dir);
    free(paths->data_new_dir);
    free(paths->data_old_dir);
    free(paths->data_gone_dir);
    free(paths->data_restored_dir);
    free(paths->data_aside_dir);
    free(paths->data_before_dir);
    free(paths->state_dir);
    free(paths->copy_dir);
    free(paths->run_dir);
    free(paths->socket);
    free(paths->pid_file);
    free(paths->run_mycnf);
    free(paths->init_file);
    free(paths->server_lock);
    free(paths->leaving);
    free(paths->stopping);
    free(paths->kept_stopped);
    free(paths->slow_log);
    free(paths->tmp_look);
    free(paths->config_dir);
    free(paths->config_mycnf);
    free(paths->config_instance);
    free(paths->accounts_dir);
    free(paths->tls_dir);
    free(paths->termination_log);
    *paths = (struct agent_paths){0};
}
