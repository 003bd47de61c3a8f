/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <unistd.h>

#include "agent/agent.h"
#include "agent/backup/archive_process.h"
#include "agent/backup/download_process.h"
#include "agent/backup/replay_process.h"
#include "agent/backup/upload_process.h"
#include "agent/bootstrap/memory_limit.h"
#include "agent/bootstrap/zones.h"
#include "agent/check_command.h"
#include "agent/check_process.h"
#include "agent/copy_process.h"
#include "agent/options.h"
#include "agent/pre_stop.h"
#include "agent/seed.h"
#include "agent/server_start.h"
#include "agent/store.h"
#include "agent/termination_log.h"
#include "common/alloc.h"
#include "common/ca_bundle.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/version.h"

static int command_copy(const struct agent_options *options, struct error *err)
{
    _cleanup_(freep) char *to = xasprintf("%s/kube-mysql-agent", options->copy_dir);
    _cleanup_(freep) char *bundle = ca_bundle_find();
    _cleanup_(freep) char *bundle_to = xasprintf("%s/" CA_BUNDLE_NAME, options->copy_dir);

    /* The image that the copy runs in may have neither authorities nor time zones. */
    if (fs_mkdir_all(options->copy_dir, 0755, err) < 0 || (bundle && fs_copy_file(bundle, bundle_to, 0644, err) < 0) ||
        zones_archive_copy(options->copy_dir, err) < 0)
        return -1;
    return fs_copy_file("/proc/self/exe", to, 0755, err);
}

static int command_of_child(const struct agent_options *options, struct error *err)
{
    bool up = options->command == COMMAND_UPLOAD;
    struct backup_child_options child = {
        .tls_dir = options->paths.tls_dir, .keys_grace_ms = up ? UPLOAD_KEYS_GRACE_MS : 0};

    if (options->command == COMMAND_CHECK_DATA)
        return check_process_run(&options->paths, err);
    if (agent_command_is_tool(options->command))
        return copy_process_run(options, err);
    if (options->command == COMMAND_REPLAY)
        return replay_process_run(&child, err);
    if (options->command == COMMAND_ARCHIVE)
        return archive_process_run(&child, options->paths.data_dir, err);
    return up ? upload_process_run(&child, err) : download_process_run(&child, err);
}

/* fault: of `init`. */
static int run_command(const struct agent_options *options, enum agent_init_fault *fault, struct error *err)
{
    if (agent_command_is_child(options->command))
        return command_of_child(options, err);
    switch (options->command) {
    case COMMAND_COPY:
        return command_copy(options, err);
    case COMMAND_INIT:
        return seed_run(options, fault, err);
    case COMMAND_CHECK:
        return check_command_run(options, err);
    case COMMAND_SERVER:
        return server_start(options, err);
    case COMMAND_RUN:
        return agent_run(options, err);
    case COMMAND_PRE_STOP:
        return pre_stop_run(options, err);
    case COMMAND_LINGER:
        return linger_run(options, err);
    case COMMAND_STORE:
        return store_run(options, err);
    default:
        fputs(options->command == COMMAND_VERSION ? KM_VERSION "\n" : agent_options_help, stdout);
        return 0;
    }
}

#ifndef KM_COMMIT
#define KM_COMMIT ""
#endif

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct agent_options options;
    enum agent_init_fault fault = AGENT_INIT_FAULT_OTHER;

    build_commit = KM_COMMIT;
    if (agent_options_parse(argc, argv, &options, &err) < 0) {
        fprintf(stderr, "kube-mysql-agent: %s\n%s", err.message, agent_options_help);
        return 2;
    }
    log_setup(options.log_level, options.log_format, STDERR_FILENO);
    bool is_bounded = options.command == COMMAND_INIT || options.command == COMMAND_CHECK;
    uint64_t kills = is_bounded ? memory_kills() : 0;
    int rc = run_command(&options, &fault, &err);
    if (rc < 0 && is_bounded && memory_blame(kills, &err))
        fault = AGENT_INIT_FAULT_MEMORY;
    if (rc < 0 && !agent_command_is_tool(options.command)) {
        log_error("the agent ends", LOG_ERR(&err));
        if (!agent_command_is_child(options.command))
            termination_log_write(options.paths.termination_log, err.message);
    }
    bool tells = options.command == COMMAND_INIT || fault == AGENT_INIT_FAULT_MEMORY;
    int failed = tells ? agent_init_exit_code(fault) : 1;
    agent_options_release(&options);
    return rc < 0 ? failed : 0;
}
