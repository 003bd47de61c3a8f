/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/seed_path.h"

#include <unistd.h>

#include "common/alloc.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/subprocess.h"

#define HELP_TIMEOUT_MS 30000

enum seed_path seed_path_choose(const struct server_version *version, bool has_tool)
{
    if (version->flavour == AGENT_FLAVOUR_MARIADB)
        return has_tool ? SEED_PATH_PHYSICAL : SEED_PATH_LOGICAL;
    return dialect_for(version)->clone_plugin && has_tool ? SEED_PATH_CLONE : SEED_PATH_LOGICAL;
}

/* "plugin-dir        /usr/lib/mysql/plugin/"; an empty text if it is not there. */
static char *find_plugin_dir(const char *help)
{
    const char *at = strstr(help, "\nplugin-dir ");

    if (!at)
        return xstrdup("");
    at += strlen("\nplugin-dir ");
    at += strspn(at, " ");
    return xstrndup(at, strcspn(at, "\r\n"));
}

static bool has_plugin(const struct server_binary *binary, const char *plugin)
{
    const char *argv[] = {binary->path, "--no-defaults", "--verbose", "--help", NULL};
    struct subprocess_options options = {.argv = argv, .new_process_group = true, .timeout_ms = HELP_TIMEOUT_MS};
    struct subprocess_result result;
    struct error err = ERROR_INIT;
    _cleanup_(strbuf_release) struct strbuf help;

    strbuf_init(&help, KM_MIB);
    if (subprocess_run(&options, &help, NULL, &result, &err) < 0)
        log_warn("the server does not say where its plugins are", LOG_ERR(&err));
    _cleanup_(freep) char *dir = find_plugin_dir(help.buf);
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, plugin);
    return *dir && access(path, R_OK) == 0;
}

/* Both names: server_binary_search. */
static bool has_tool(const char *name, const char *old_name)
{
    _cleanup_(freep) char *path = server_binary_search(name);
    _cleanup_(freep) char *old_path = server_binary_search(old_name);

    return path || old_path;
}

enum seed_path seed_path_find(const struct server_binary *binary)
{
    const char *plugin = dialect_for(&binary->version)->clone_plugin;
    bool mariadb = binary->version.flavour == AGENT_FLAVOUR_MARIADB;
    bool can = mariadb ? has_tool("mariadb-backup", "mariabackup") && has_tool("mbstream", "xbstream")
                       : plugin && has_plugin(binary, plugin);
    enum seed_path path = seed_path_choose(&binary->version, can);

    if (mariadb && path == SEED_PATH_LOGICAL)
        log_info("this image has no mariadb-backup: a copy would come as statements, which takes longer");
    return path;
}
