/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_features.h"

#include <unistd.h>

#include "common/alloc.h"
#include "common/strbuf.h"
#include "common/subprocess.h"

#define HELP_TIMEOUT_MS 30000

/* The list of values at the end: a name at the beginning of a line, and its value. */
static bool has_option(const char *help, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = help; (at = strstr(at, name)); at += len) {
        if ((at == help || at[-1] == '\n') && (at[len] == ' ' || at[len] == '\n'))
            return true;
    }
    return false;
}

bool server_features_has(const char *help, const char *option)
{
    _cleanup_(freep) char *name = xstrdup(option);

    for (char *at = name; (at = strchr(at, '_')); at++)
        *at = '-';
    return has_option(help, name);
}

/* "lc-messages-dir        /usr/share/mysql/" */
static void find_value(const char *help, const char *name, char *ret, size_t size)
{
    _cleanup_(freep) char *line = xasprintf("\n%s ", name);
    const char *at = strstr(help, line);

    *ret = '\0';
    if (!at)
        return;
    at += strlen(line);
    at += strspn(at, " ");
    snprintf(ret, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

void server_features_parse(enum agent_flavour flavour, const char *help, struct server_features *ret)
{
    bool mariadb = flavour == AGENT_FLAVOUR_MARIADB;

    *ret = (struct server_features){
        .log_first = !mariadb || has_option(help, "log-ddl-recovery"),
        .initialises = mariadb || has_option(help, "initialize"),
        .super_read_only = mariadb || has_option(help, "super-read-only"),
        .lossless_semi_sync =
            has_option(help, "rpl-semi-sync-master-wait-point") || has_option(help, "rpl-semi-sync-source-wait-point"),
    };
    find_value(help, "lc-messages-dir", ret->share_dir, sizeof(ret->share_dir));
}

const char *server_features_lacking(const struct server_features *features)
{
    if (features->super_read_only)
        return "";
    return features->lossless_semi_sync ? "super_read_only" : "super_read_only and no lossless semi-sync";
}

static bool has_share(const char *dir)
{
    _cleanup_(freep) char *path = xasprintf("%s/share", dir);

    return access(path, F_OK) == 0;
}

void server_features_base_dir(const char *said, const char *program, char *ret, size_t size)
{
    _cleanup_(freep) char *dir = xstrdup(program);

    *ret = '\0';
    for (int i = 0; i < 2; i++) { /* bin/mysqld */
        char *slash = strrchr(dir, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    if (*dir && *said && !has_share(said) && has_share(dir))
        snprintf(ret, size, "%s", dir);
}

static int ask(const struct server_binary *binary, const char *plugin, struct server_features *ret, struct strbuf *help,
    struct error *err)
{
    /* Where there is no data folder, MySQL takes the file system for one that does not tell capitals apart, and
     * ends. */
    const char *argv[] = {binary->path, "--no-defaults", "--datadir=/tmp", "--verbose", "--help", plugin, NULL};
    struct subprocess_options options = {.argv = argv, .new_process_group = true, .timeout_ms = HELP_TIMEOUT_MS};
    struct subprocess_result result;

    if (subprocess_run(&options, help, NULL, &result, err) < 0)
        return error_prefix(err, "asking the server program for its options");
    char said[SERVER_SHARE_DIR_SIZE];
    server_features_parse(binary->version.flavour, help->buf, ret);
    find_value(help->buf, "basedir", said, sizeof(said));
    server_features_base_dir(said, binary->path, ret->base_dir, sizeof(ret->base_dir));
    if (*ret->base_dir)
        snprintf(ret->share_dir, sizeof(ret->share_dir), "%s/share", ret->base_dir);
    return 0;
}

int server_features_ask(
    const struct server_binary *binary, struct server_features *ret, struct strbuf *help, struct error *err)
{
    const char *plugin = dialect_for(&binary->version)->replication->semi_plugins[0];
    struct server_features more = {0};
    _cleanup_(strbuf_release) struct strbuf own;

    strbuf_init(&own, SERVER_HELP_MAX);
    if (ask(binary, NULL, ret, help ? help : &own, err) < 0)
        return -1;
    if (ret->super_read_only || !plugin)
        return 0;
    /* What else it lacks: a plugin's options are listed if it is loaded, and that may fail. */
    _cleanup_(freep) char *load = xasprintf("--plugin-load-add=%s", plugin);
    strbuf_reset(&own);
    if (ask(binary, load, &more, &own, NULL) == 0)
        ret->lossless_semi_sync = more.lossless_semi_sync;
    return 0;
}
