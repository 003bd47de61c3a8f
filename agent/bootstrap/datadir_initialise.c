/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/data_growth.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/last_words.h"
#include "agent/bootstrap/made_with.h"
#include "agent/bootstrap/mycnf_check.h"
#include "agent/bootstrap/server_features.h"
#include "agent/bootstrap/zones.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

/* MySQL 9 takes 200 MiB (doublewrite, undo, redo) before its first table, MariaDB 130 MiB. */
#define INITIALISE_FREE_MIN (256ULL * KM_MIB)
#define OUTPUT_MAX (64 * KM_KIB)
#define SCRIPT_MAX ((size_t)(4 * KM_MIB))

static int check_space(const struct agent_paths *paths, struct error *err)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;

    if (fs_space(paths->volume_dir, &free_bytes, &total_bytes, err) < 0)
        return -1;
    if (free_bytes < INITIALISE_FREE_MIN)
        return error_set(err, ERROR_TOO_LARGE,
            "the data volume has %llu MiB free of %llu MiB; a new database needs %llu MiB",
            (unsigned long long)(free_bytes / KM_MIB), (unsigned long long)(total_bytes / KM_MIB),
            (unsigned long long)(INITIALISE_FREE_MIN / KM_MIB));
    return 0;
}

/* mariadb-install-db is a shell script that runs the server in --bootstrap mode. No anonymous accounts, no test
 * database. */
static int install_mariadb(const struct agent_paths *paths, const char *options, const char *user, const char *base_dir,
    struct strvec *argv, struct error *err)
{
    char *script = server_binary_search("mariadb-install-db");

    if (!script)
        script = server_binary_search("mysql_install_db");
    if (!script)
        return error_set(err, ERROR_NOT_FOUND, "this image has no mariadb-install-db");
    strvec_push(argv, script);
    free(script);
    strvec_pushf(argv, "--defaults-file=%s", options);
    if (*base_dir)
        strvec_pushf(argv, "--basedir=%s", base_dir);
    strvec_pushf(argv, "--datadir=%s", paths->data_new_dir);
    strvec_push(argv, "--auth-root-authentication-method=socket");
    strvec_pushf(argv, "--auth-root-socket-user=%s", user);
    strvec_push(argv, "--skip-test-db");
    strvec_push(argv, "--skip-name-resolve");
    return 0;
}

/* The server makes root@localhost without a password; it stays locked until the agent has set one. */
static int install_mysql(
    const struct agent_paths *paths, const char *options, const char *server, struct strvec *argv, struct error *err)
{
    _cleanup_(freep) char *file = xasprintf("%s/initialise.sql", paths->run_dir);
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, ZONES_SQL_MAX);
    strbuf_adds(&sql, "ALTER USER 'root'@'localhost' ACCOUNT LOCK;\n");
    if (zones_sql_of_archive(&sql, err) < 0 || fs_write_file_atomic(file, sql.buf, sql.len, 0600, err) < 0)
        return -1;
    strvec_push(argv, server);
    strvec_pushf(argv, "--defaults-file=%s", options);
    strvec_push(argv, "--initialize-insecure");
    strvec_pushf(argv, "--datadir=%s", paths->data_new_dir);
    strvec_pushf(argv, "--init-file=%s", file);
    strvec_push(argv, "--tmpdir=/tmp");
    return 0;
}

/* MySQL 5.6: what its mysql_install_db (perl) gives the server to read, but for the accounts: the init-file makes the
 * agent's at each start, the agent all others. */
static int add_script(const char *dir, const char *name, struct strbuf *sql, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, SCRIPT_MAX);
    if (fs_read_file(path, &text, err) < 0)
        return error_prefix(err, "a script of the server's");
    strbuf_add(sql, text.buf, text.len);
    strbuf_addc(sql, '\n');
    return 0;
}

/* Some of these tools write their errors to standard output. */
static int tell_failure(const char *program, const char *out, const char *tail, struct error *err)
{
    struct last_words words = {.count = 0};
    char telling[ERROR_MESSAGE_MAX / 2];

    last_words_note_all(&words, out);
    last_words_note_all(&words, tail);
    last_words_log(&words, program);
    mycnf_check_reason(tail, telling, sizeof(telling));
    if (!*telling)
        last_words_telling(&words, telling, sizeof(telling));
    return error_set(
        err, err ? err->kind : ERROR_IO, "the server's own tool %s could not make a database: %s", program, telling);
}

static int run_tool(
    const struct agent_paths *paths, const struct strvec *argv, const struct strbuf *input, struct error *err)
{
    struct data_growth growth = {.dir = paths->data_new_dir};
    _cleanup_(strbuf_release) struct strbuf out;
    _cleanup_(strbuf_release) struct strbuf tail;
    struct subprocess_result result;
    struct subprocess_options options = {
        .argv = (const char *const *)argv->v,
        .new_process_group = true,
        .timeout_ms = DATA_GROWTH_PATIENCE_MS,
        .watch = data_growth_watch,
        .watch_arg = &growth,
        .stdin_data = input ? input->buf : NULL,
        .stdin_len = input ? input->len : 0,
    };

    strbuf_init(&out, OUTPUT_MAX);
    strbuf_init(&tail, SUBPROCESS_STDERR_MAX);
    if (subprocess_run(&options, &out, &tail, &result, err) == 0)
        return 0;
    return tell_failure(argv->v[0], out.buf, tail.buf, err);
}

static void bootstrap_command(
    const struct agent_paths *paths, const char *options, const char *server, const char *base_dir, struct strvec *argv)
{
    strvec_push(argv, server);
    strvec_pushf(argv, "--defaults-file=%s", options);
    strvec_pushf(argv, "--datadir=%s", paths->data_new_dir);
    if (*base_dir)
        strvec_pushf(argv, "--basedir=%s", base_dir);
    strvec_push(argv, "--tmpdir=/tmp");
    strvec_push(argv, "--bootstrap");
}

static int make_by_scripts(const struct agent_paths *paths, const char *options, const char *server,
    const struct server_features *features, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf sql;

    strvec_init(&argv);
    strbuf_init(&sql, 2 * SCRIPT_MAX + ZONES_SQL_MAX);
    strbuf_adds(&sql, "CREATE DATABASE mysql;\nUSE mysql;\n");
    if (add_script(features->share_dir, "mysql_system_tables.sql", &sql, err) < 0 ||
        add_script(features->share_dir, "fill_help_tables.sql", &sql, err) < 0 || zones_sql_of_archive(&sql, err) < 0)
        return -1;
    bootstrap_command(paths, options, server, features->base_dir, &argv);
    return run_tool(paths, &argv, &sql, err);
}

/* mariadb-install-db leaves the tables of time zones empty. */
static int fill_mariadb(
    const struct agent_paths *paths, const char *options, const char *server, const char *base_dir, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(strbuf_release) struct strbuf sql;

    strvec_init(&argv);
    strbuf_init(&sql, ZONES_SQL_MAX);
    if (zones_sql_of_archive(&sql, err) < 0)
        return -1;
    if (sql.len == 0)
        return 0;
    bootstrap_command(paths, options, server, base_dir, &argv);
    return run_tool(paths, &argv, &sql, err);
}

int datadir_make_empty_database(
    const struct agent_paths *paths, const struct server_binary *binary, const char *user, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(freep) char *file = xasprintf("%s/initialise.cnf", paths->run_dir);
    bool mariadb = binary->version.flavour == AGENT_FLAVOUR_MARIADB;
    struct server_features features = {0};

    strvec_init(&argv);
    if (made_with_write(paths, file, err) < 0 || server_features_ask(binary, &features, NULL, err) < 0)
        return -1;
    if (!features.initialises)
        return make_by_scripts(paths, file, binary->path, &features, err);
    if ((mariadb ? install_mariadb(paths, file, user, features.base_dir, &argv, err)
                 : install_mysql(paths, file, binary->path, &argv, err)) < 0 ||
        run_tool(paths, &argv, NULL, err) < 0)
        return -1;
    return mariadb ? fill_mariadb(paths, file, binary->path, features.base_dir, err) : 0;
}

int datadir_initialise(
    const struct agent_paths *paths, const struct server_binary *binary, const char *user, struct error *err)
{
    if (check_space(paths, err) < 0)
        return -1;
    if (datadir_begin(paths, err) < 0)
        return -1;
    log_info("making a new database", LOG_STR("server", binary->version.text), LOG_STR("folder", paths->data_dir));
    if (datadir_make_empty_database(paths, binary, user, err) < 0)
        return error_prefix(err, "making a new database");
    return datadir_publish(paths, false, err);
}
