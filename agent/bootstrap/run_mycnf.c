/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/run_mycnf.h"

#include <ctype.h>

#include "agent/mysql/own_account.h"
#include "agent/mysql/sql_text.h"
#include "common/buffer_pool.h"
#include "common/tls.h"

#define OPTION_NAME_MAX 128
#define CACHE_MIN_MIB UINT64_C(8)
#define CACHE_MAX_MIB UINT64_C(128)
/* Of the operator's comments: its own lines come after the first and the last of them. */
#define MYCNF_OURS "# Written by kube-mysql"
#define MYCNF_THEIRS_BEGIN "# spec.mycnf\n"
#define MYCNF_THEIRS_END "# spec.tls.mode\n"

uint32_t run_mycnf_ordinal(const char *pod_name)
{
    const char *dash = strrchr(str_or_empty(pod_name), '-');

    if (!dash || !isdigit((unsigned char)dash[1]))
        return 0;
    unsigned long ordinal = strtoul(dash + 1, NULL, 10);
    return ordinal > INT32_MAX ? 0 : (uint32_t)ordinal;
}

static void add_identity(const struct run_mycnf_input *input, struct strbuf *out)
{
    uint32_t base = input->instance->server_id_base ? input->instance->server_id_base : 1;

    strbuf_addf(out, "server_id = %u\n", base + run_mycnf_ordinal(input->pod_name));
    if (!str_empty(input->pod_name) && !str_empty(input->instance->service_domain))
        strbuf_addf(out, "report_host = %s.%s\n", input->pod_name, input->instance->service_domain);
    unsigned port = input->port ? input->port : MYSQL_PORT;
    strbuf_addf(out, "report_port = %u\nport = %u\n", port, port);
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

/* The value behind `name =`, in any spelling of option files; NULL: another line. */
static const char *value_of(const char *line, const char *end, const char *name)
{
    const char *at = skip_space(line, end);

    if (end - at > 6 && strncmp(at, "loose", 5) == 0 && (at[5] == '_' || at[5] == '-'))
        at += 6;
    for (size_t i = 0; name[i]; i++, at++) {
        if (at >= end || (*at != name[i] && !(name[i] == '_' && *at == '-')))
            return NULL;
    }
    at = skip_space(at, end);
    return at < end && *at == '=' ? at + 1 : NULL;
}

/* The last value that the text sets it to, up to the end of the line; NULL: it does not set it. */
static const char *last_value_of(const char *text, const char *name)
{
    const char *found = NULL;

    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *value = value_of(line, end, name);
        found = value ? value : found;
        line = *end ? end + 1 : end;
    }
    return found;
}

/* The ConfigMap has a pool where the configuration sets a limit of memory. It has none where the namespace's LimitRange
 * does, and the server's own may be larger than that. */
static void add_pool(const struct run_mycnf_input *input, struct strbuf *out)
{
    int64_t bytes = buffer_pool_bytes((int64_t)MIN_OF(input->memory_max_bytes, (uint64_t)INT64_MAX));
    bool is_set = last_value_of(input->mycnf, "innodb_buffer_pool_size") ||
        last_value_of(input->mycnf, "innodb_dedicated_server");

    if (bytes > 0 && !is_set)
        strbuf_addf(out, "innodb_buffer_pool_size = %lld\n", (long long)bytes);
}

/* MariaDB makes them 128 MiB each, whatever memory there is, and its temporary tables on disk go through the second.
 * MySQL's are small. */
static void add_caches(uint64_t memory_max_bytes, struct strbuf *out)
{
    static const struct {
        const char *name;
        unsigned part; /* of the limit */
    } caches[] = {{"key_buffer_size", 64}, {"aria_pagecache_buffer_size", 16}};

    for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
        uint64_t mib = memory_max_bytes / KM_MIB / caches[i].part;
        strbuf_addf(
            out, "%s = %lluM\n", caches[i].name, (unsigned long long)MAX_OF(CACHE_MIN_MIB, MIN_OF(CACHE_MAX_MIB, mib)));
    }
}

static void add_sizes(const struct run_mycnf_input *input, struct strbuf *out)
{
    if (!input->memory_max_bytes)
        return;
    strbuf_addf(out, RUN_MYCNF_MEMORY_PREFIX "%llu\n", (unsigned long long)input->memory_max_bytes);
    add_pool(input, out);
    if (input->dialect->family == AGENT_FLAVOUR_MARIADB)
        add_caches(input->memory_max_bytes, out);
}

/* What the ConfigMap may say otherwise: a read-only root file system, no commit lost in a crash, dead connections found
 * in seconds. */
static void add_defaults(const struct run_mycnf_input *input, struct strbuf *out)
{
    const struct dialect *dialect = input->dialect;

    strbuf_adds(out, "[mysqld]\ntmpdir = " AGENT_TMP_DIR "\nsecure_file_priv = " AGENT_TMP_DIR "\n");
    strbuf_adds(out, "sync_binlog = 1\ninnodb_flush_log_at_trx_commit = 1\n");
    strbuf_addf(out, "%s\n%s = 4\n", dialect->binlog_expiry, dialect->replication->net_timeout);
    /* MySQL's are so by default, and some versions complain about binlog_format. In MariaDB replicas fetch anew when
     * they start (GTID), and apply one by one where parallel threads would stop them (server_features.h). */
    if (dialect->family == AGENT_FLAVOUR_MARIADB)
        strbuf_addf(out, "binlog_format = ROW\nslave_parallel_threads = %d\nslave_parallel_mode = optimistic\n",
            input->features.log_first ? 4 : 0);
    else
        strbuf_adds(out, "relay_log_recovery = ON\n");
    add_sizes(input, out);
}

/* Where its options could not be listed, it may know any. */
static bool knows(const char *help, const char *option)
{
    return !help || !server_features_has(help, "datadir") || server_features_has(help, option);
}

/* I1: nobody writes, no event runs and nothing is followed until the agent says so. MySQL 8 would read mysqld-auto.cnf
 * (SET PERSIST) after all option files: a server could start writable, without semi-sync. rpl_semi_sync_slave_enabled
 * stays off here: with it, or with init_rpl_role, MariaDB rolls transactions back after a crash that no replica need
 * have, also acknowledged ones of an asynchronous primary. */
static void add_replication(const struct run_mycnf_input *input, struct strbuf *out)
{
    const struct replication_terms *terms = input->dialect->replication;

    strbuf_addf(out, "read_only = ON\nevent_scheduler = OFF\n%s = ON\n", terms->skip_start);
    strbuf_addf(out, "log_bin = binlog\n%s = ON\nrelay_log = relaylog\n", terms->log_updates);
    if (input->dialect->family == AGENT_FLAVOUR_MARIADB)
        strbuf_adds(out, "gtid_strict_mode = ON\n");
    else
        strbuf_addf(out, "%s%sgtid_mode = ON\nenforce_gtid_consistency = ON\n",
            knows(input->help, "persisted_globals_load") ? "loose_persisted_globals_load = OFF\n" : "",
            input->dialect->super_read_only ? "super_read_only = ON\n" : "");
    for (size_t i = 0; i < ARRAY_LEN(terms->semi_plugins); i++) {
        if (terms->semi_plugins[i])
            strbuf_addf(out, "plugin_load_add = %s\n", terms->semi_plugins[i]);
    }
    const char *tls = input->paths->tls_dir;
    strbuf_addf(out, "ssl_ca = %s/ca.crt\nssl_cert = %s/tls.crt\nssl_key = %s/tls.key\n", tls, tls, tls);
}

/* Whether one line of the operator's is of an option that the server does not know. */
static bool is_unknown(const char *line, size_t len, const char *help)
{
    char name[OPTION_NAME_MAX];
    size_t prefix = strlen("loose_");

    if (len < prefix || strncmp(line, "loose_", prefix) != 0)
        return false;
    size_t name_len = strcspn(line + prefix, " =\n");
    if (name_len >= sizeof(name))
        return false;
    memcpy(name, line + prefix, name_len);
    name[name_len] = '\0';
    return !knows(help, name);
}

/* Line by line: mycnf.c of the operator has what is of people between two comments. */
static void add_config(const char *mycnf, const char *help, struct strbuf *out)
{
    bool theirs = true;

    for (const char *line = mycnf; *line;) {
        size_t len = strcspn(line, "\n");
        size_t whole = len + (line[len] == '\n');
        if (str_starts_with(line, MYCNF_THEIRS_BEGIN))
            theirs = true;
        else if (str_starts_with(line, MYCNF_OURS) || str_starts_with(line, MYCNF_THEIRS_END))
            theirs = false;
        if (theirs || !is_unknown(line, len, help))
            strbuf_add(out, line, whole);
        line += whole;
    }
}

void run_mycnf_compose(const struct run_mycnf_input *input, struct strbuf *out)
{
    const struct agent_paths *paths = input->paths;
    char hash[65];

    tls_sha256_hex(input->mycnf, strlen(input->mycnf), hash);
    strbuf_addf(out, RUN_MYCNF_HASH_PREFIX "%s\n", hash);
    add_defaults(input, out);
    strbuf_addc(out, '\n');
    add_config(input->mycnf, input->help, out);
    strbuf_adds(out, "\n\n");
    strbuf_addf(out, "# this instance; the last setting of a key wins\n[mysqld]\ndatadir = %s\nsocket = %s\n",
        paths->data_dir, paths->socket);
    if (*input->features.base_dir)
        strbuf_addf(out, "basedir = %s\n", input->features.base_dir);
    strbuf_addf(out, "pid_file = %s\ninit_file = %s\n", paths->pid_file, paths->init_file);
    add_identity(input, out);
    add_replication(input, out);
    if (input->dialect->auth_plugin)
        strbuf_addf(out, "plugin_load_add = %s\n", input->dialect->auth_plugin);
    if (input->dialect->clone_plugin)
        strbuf_addf(out, "plugin_load_add = %s\n", input->dialect->clone_plugin);
    if (input->dialect->mysqlx)
        strbuf_adds(out, "mysqlx = OFF\n");
}

bool run_mycnf_hash(const char *text, char ret[static 65])
{
    size_t prefix = strlen(RUN_MYCNF_HASH_PREFIX);

    ret[0] = '\0';
    if (strncmp(text, RUN_MYCNF_HASH_PREFIX, prefix) != 0)
        return false;
    if (strspn(text + prefix, "0123456789abcdef") != 64)
        return false;
    memcpy(ret, text + prefix, 64);
    ret[64] = '\0';
    return true;
}

uint64_t run_mycnf_memory(const char *text)
{
    const char *line = strstr(text, "\n" RUN_MYCNF_MEMORY_PREFIX);

    return line ? strtoull(line + 1 + strlen(RUN_MYCNF_MEMORY_PREFIX), NULL, 10) : 0;
}

bool run_mycnf_number(const char *text, const char *name, uint64_t *ret)
{
    const char *value = last_value_of(text, name);

    *ret = 0;
    if (!value)
        return false;
    value += strspn(value, " \t\"'");
    if (!isdigit((unsigned char)*value))
        return false;
    *ret = strtoull(value, NULL, 10);
    return true;
}

/* GRANT … IDENTIFIED WITH makes an account, but refuses one that is there (error 1700). */
static void add_old_account(const char *user, struct strbuf *out)
{
    strbuf_adds(out, "SET sql_mode = '';\nGRANT ALL PRIVILEGES ON *.* TO ");
    sql_add_account(out, user, "localhost");
    strbuf_adds(out, " WITH GRANT OPTION;\n");
    strbuf_adds(out,
        "UPDATE mysql.user SET plugin = 'auth_socket', authentication_string = '', Password = '', password_expired = 'N' "
        "WHERE Host = 'localhost' AND User = ");
    sql_add_string(out, user);
    strbuf_adds(out, ";\nFLUSH PRIVILEGES;\n");
}

void run_mycnf_init_sql(const struct dialect *dialect, const char *user, struct strbuf *out)
{
    strbuf_adds(out, "SET sql_log_bin = 0;\n");
    if (!dialect->account_statements) {
        add_old_account(user, out);
        return;
    }
    for (int i = 0; i < OWN_ACCOUNT_STATEMENTS; i++) {
        own_account_sql(dialect, user, i, out);
        strbuf_adds(out, ";\n");
    }
}
