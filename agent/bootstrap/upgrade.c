/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/upgrade.h"

#include "agent/bootstrap/datadir.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

/* It checks every table; large schemas take their time. */
#define UPGRADE_TIMEOUT_MS (6LL * 60 * 60 * 1000)

static char *find_tool(void)
{
    char *tool = server_binary_search("mariadb-upgrade");

    return tool ? tool : server_binary_search("mysql_upgrade");
}

static int run_tool(const char *tool, const struct agent_paths *paths, const char *user, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf tail;
    struct subprocess_result result;

    strvec_init(&argv);
    strbuf_init(&tail, SUBPROCESS_STDERR_MAX);
    strvec_push(&argv, tool);
    strvec_push(&argv, "--no-defaults");
    strvec_pushf(&argv, "--socket=%s", paths->socket);
    strvec_pushf(&argv, "--user=%s", user);
    struct subprocess_options options = {
        .argv = (const char *const *)argv.v,
        .new_process_group = true,
        .timeout_ms = UPGRADE_TIMEOUT_MS,
    };
    return subprocess_run(&options, NULL, &tail, &result, err);
}

int upgrade_system_tables(const struct agent_paths *paths, const char *user, const struct server_version *server,
    char ret_older[static UPGRADE_VERSION_MAX], struct error *err)
{
    struct datadir_facts facts;

    ret_older[0] = '\0';
    if (server->flavour != AGENT_FLAVOUR_MARIADB)
        return 0;
    if (datadir_inspect(paths, &facts, err) < 0)
        return -1;
    if (!facts.written_by.number || server_version_series(&facts.written_by) >= server_version_series(server))
        return 0;
    _cleanup_(freep) char *tool = find_tool();
    if (!tool) {
        log_warn("the system tables stay of an older series: this image has no mariadb-upgrade",
            LOG_STR("from", facts.written_by.text), LOG_STR("server", server->text));
        snprintf(ret_older, UPGRADE_VERSION_MAX, "%s", facts.written_by.text);
        return 0;
    }
    log_info("upgrading the system tables", LOG_STR("from", facts.written_by.text), LOG_STR("to", server->text));
    if (run_tool(tool, paths, user, err) < 0)
        return error_prefix(err, "upgrading the system tables");
    log_info("upgraded the system tables", LOG_STR("to", server->text));
    return 0;
}
