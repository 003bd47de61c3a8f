/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_features.h"

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

void server_features_parse(enum agent_flavour flavour, const char *help, struct server_features *ret)
{
    *ret = (struct server_features){
        .log_first = flavour != AGENT_FLAVOUR_MARIADB || has_option(help, "log-ddl-recovery"),
    };
}

int server_features_ask(const struct server_binary *binary, struct server_features *ret, struct error *err)
{
    /* Where there is no data folder, MySQL takes the file system for one that does not tell capitals apart, and
     * ends. */
    const char *argv[] = {binary->path, "--no-defaults", "--datadir=/tmp", "--verbose", "--help", NULL};
    struct subprocess_options options = {.argv = argv, .new_process_group = true, .timeout_ms = HELP_TIMEOUT_MS};
    struct subprocess_result result;
    _cleanup_(strbuf_release) struct strbuf help;

    strbuf_init(&help, KM_MIB);
    if (subprocess_run(&options, &help, NULL, &result, err) < 0)
        return error_prefix(err, "asking the server program for its options");
    server_features_parse(binary->version.flavour, help.buf, ret);
    return 0;
}
