/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/made_with.h"

#include "agent/mysql/variables.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/subprocess.h"

#define HELP_TIMEOUT_MS 30000
#define VALUE_MAX 512
#define FILE_MAX ((size_t)KM_MIB)

struct made_variable {
    const char *name;
    int mariadb_until; /* judged of MariaDB below this version only; 0: of all servers */
};

static const struct made_variable fixed[] = {
    {"innodb_data_file_path", 0},
    {"innodb_page_size", 0},
    {"innodb_undo_tablespaces", VERSION_NUMBER(10, 11, 0)},
    {"lower_case_table_names", 0},
};

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        if (str_eq(fixed[i].name, name))
            return true;
    }
    return false;
}

/* ---- given to the initialisation ---- */

static void add_value(struct strbuf *out, const char *value)
{
    strbuf_adds(out, " = \"");
    for (; *value; value++)
        strbuf_addf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    strbuf_adds(out, "\"");
}

int made_with_options(const char *mycnf, struct strbuf *out, struct error *err)
{
    _cleanup_(variable_changes_release) struct variable_changes options = {0};

    if (variables_diff("", mycnf, &options, err) < 0)
        return -1;
    strbuf_adds(out, "[mysqld]\n");
    for (size_t i = 0; i < options.n; i++) {
        if (!is_fixed(options.v[i].name))
            continue;
        strbuf_addf(out, "%s%s", options.v[i].loose ? "loose_" : "", options.v[i].name);
        if (!options.v[i].bare)
            add_value(out, options.v[i].value);
        strbuf_addc(out, '\n');
    }
    return 0;
}

int made_with_write(const struct agent_paths *paths, const char *file, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;
    _cleanup_(strbuf_release) struct strbuf options;

    strbuf_init(&mycnf, FILE_MAX);
    strbuf_init(&options, FILE_MAX);
    if (fs_read_file(paths->run_mycnf, &mycnf, err) < 0 || made_with_options(mycnf.buf, &options, err) < 0)
        return -1;
    return fs_write_file_atomic(file, options.buf, options.len, 0640, err);
}

/* ---- compared ---- */

/* "innodb_page_size=16384", ended by a blank. */
static bool find_in_data(const char *data, const char *name, char ret[static VALUE_MAX])
{
    size_t len = strlen(name);

    for (const char *at = data; (at = strstr(at, name)); at += len) {
        if ((at == data || at[-1] == ' ') && at[len] == '=') {
            at += len + 1;
            snprintf(ret, VALUE_MAX, "%.*s", (int)MIN_OF(strcspn(at, " "), VALUE_MAX - 1), at);
            return true;
        }
    }
    return false;
}

/* "innodb-page-size        16384", on a line of its own. */
static bool find_in_help(const char *help, const char *name, char ret[static VALUE_MAX])
{
    char option[64];
    const char *at = help;

    snprintf(option, sizeof(option), "\n%s ", name);
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    at = strstr(help, option);
    if (!at)
        return false;
    at += strlen(option);
    at += strspn(at, " ");
    snprintf(ret, VALUE_MAX, "%.*s", (int)MIN_OF(strcspn(at, " \r\n"), VALUE_MAX - 1), at);
    return true;
}

static bool is_judged(const struct made_variable *variable, const struct server_version *version)
{
    return variable->mariadb_until == 0 ||
        (version->flavour == AGENT_FLAVOUR_MARIADB && version->number < variable->mariadb_until);
}

int made_with_compare(const char *data, const char *help, const struct server_version *version, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf wrong;
    char has[VALUE_MAX];
    char wanted[VALUE_MAX];

    strbuf_init(&wrong, 4 * KM_KIB);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        const char *name = fixed[i].name;
        if (!is_judged(&fixed[i], version) || !find_in_data(data, name, has) || !find_in_help(help, name, wanted) ||
            str_eq(has, wanted))
            continue;
        strbuf_addf(&wrong, "%s%s: the data was made with %s and keeps it, it cannot become %s", wrong.len ? "; " : "",
            name, has, wanted);
    }
    return wrong.len ? error_set(err, ERROR_INVALID, "%s", wrong.buf) : 0;
}

int made_with_check(const struct server_binary *binary, const char *path, const char *data, struct error *err)
{
    _cleanup_(freep) char *defaults = xasprintf("--defaults-file=%s", path);
    /* Where there is no data folder, MySQL takes the file system for one that does not tell capitals apart, and
     * ends. */
    const char *argv[] = {binary->path, defaults, "--datadir=/tmp", "--verbose", "--help", NULL};
    struct subprocess_options options = {.argv = argv, .new_process_group = true, .timeout_ms = HELP_TIMEOUT_MS};
    struct subprocess_result result;
    _cleanup_(strbuf_release) struct strbuf help;

    strbuf_init(&help, KM_MIB);
    if (subprocess_run(&options, &help, NULL, &result, err) < 0)
        return error_prefix(err, "asking the server what the my.cnf means");
    return made_with_compare(data, help.buf, &binary->version, err);
}

/* ---- asked of a server ---- */

static void add_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    char *text = arg;
    size_t used = strlen(text);

    UNUSED(names);
    if (count != 2 || !values[0] || !values[1] || !*values[1] || strchr(values[1], ' '))
        return;
    int len = snprintf(text + used, MADE_WITH_MAX - used, "%s%s=%s", used ? " " : "", values[0], values[1]);
    if (len < 0 || (size_t)len >= MADE_WITH_MAX - used)
        text[used] = '\0';
}

void made_with_ask(struct session *session, char ret[static MADE_WITH_MAX])
{
    _cleanup_(strbuf_release) struct strbuf sql;
    struct error err = ERROR_INIT;

    strbuf_init(&sql, 4 * KM_KIB);
    ret[0] = '\0';
    strbuf_adds(&sql, "SHOW GLOBAL VARIABLES WHERE Variable_name IN (");
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        strbuf_addf(&sql, "%s'%s'", i ? ", " : "", fixed[i].name);
    strbuf_adds(&sql, ")");
    if (session_query(session, sql.buf, add_row, ret, &err) < 0) {
        log_warn("the server does not say what its data was made with", LOG_ERR(&err));
        ret[0] = '\0';
    }
}
